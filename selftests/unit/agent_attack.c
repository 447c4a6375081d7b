// SPDX-License-Identifier: BSD-2-Clause
/*
 * What somebody on the wire may try against encrypted connections (user/agent/steer.c, sec.c), after
 * XDP let it pass: each attempt is refused for its own reason and changes nothing.
 */
#include "agent_attack.h"

static void setup(uint8_t version)
{
	struct stage_frame f;

	stage_open(version);
	stage_next(1, &f);
	accepted(&f);
}

static int fresh(void **state)
{
	(void)state;
	setup(FALCON_PSP_AES_GCM_128);
	return 0;
}

static int done(void **state)
{
	(void)state;
	stage_close();
	return 0;
}

/* With a key of his own, the attacker's packets are perfect but for the ICV. */
static void forged(void **state)
{
	const uint8_t key[PSP_KEY_MAX] = "my own";
	struct sa *own = stage.peer[1].sa;
	struct stage_frame f;

	(void)state;
	stage.peer[1].sa = sa_new(SA_SEAL, FALCON_PSP_AES_GCM_128, sa_spi(own), key);
	stage_next(1, &f);
	refused(&f, FALCON_V_drop_auth);
	sa_free(stage.peer[1].sa);
	stage.peer[1].sa = own;
	stage.peer[1].psn--;
	stage_next(1, &f);
	accepted(&f);
}

/* Every bit from the PSP header to the ICV: refused by XDP's checks or by authentication. */
static void flip_all(uint8_t version)
{
	struct stage_frame f, g;
	struct falcon_frame p;

	setup(version);
	stage_next(1, &f);
	p = where(&f);
	for (uint32_t bit = p.sec_off * 8u; bit < f.len * 8; bit++) {
		enum falcon_verdict v;

		g = f;
		g.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		v = stage_receive(&g);
		if (v != FALCON_V_pass_not_falcon && v < FALCON_V_drop_truncated)
			fail_msg("version %u, bit %u: verdict %d", version, bit, v);
		/* Which verdict it is does not matter, that nothing changes does. */
		refused(&g, v);
	}
	accepted(&f);
	stage_close();
}

static void flipped(void **state)
{
	(void)state;
	for (uint8_t version = 0; version < 4; version++)
		flip_all(version);
}

static void truncated(void **state)
{
	struct stage_frame f, g;
	struct falcon_frame p;

	(void)state;
	stage_next(1, &f);
	p = where(&f);
	for (uint32_t len = 0; len < f.len; len++) {
		g = f;
		g.len = len;
		refused(&g, len < p.sec_off + 16u ? FALCON_V_pass_not_falcon
						  : FALCON_V_drop_ip_length);
	}
	/* IP and UDP changed to match: too short for its headers, or another ICV. */
	for (uint32_t len = 8 + 16 + 8; len < p.udp_len; len++) {
		g = f;
		set_length(&g, len);
		refused(&g, len < 8 + 16 + 8 + 16 ? FALCON_V_drop_truncated : FALCON_V_drop_auth);
	}
	g = f;
	set_length(&g, p.udp_len + 1u);
	refused(&g, FALCON_V_drop_auth);
	accepted(&f);
}

/* Within the margin a replayed packet is a duplicate, which is answered; beyond it, it is nothing. */
static void replayed(void **state)
{
	struct stage_frame f, g;
	uint64_t remote_time;

	(void)state;
	stage_next(1, &f);
	accepted(&f);
	stage_next(1, &g);
	accepted(&g);
	remote_time = stage.shared[1].rx.remote_time;
	for (int i = 0; i < 3; i++) {
		uint32_t pushes = stage.pushes;

		/* In or below the window, depending on whether it has been acknowledged. */
		assert_true(falcon_verdict_answers(stage_receive(&f)));
		assert_int_equal(stage.pushes, pushes);
		assert_int_equal(stage.shared[1].rx.remote_time, remote_time);
	}
	stage.peer[1].clock += stage.config.replay_margin;
	stage_next(1, &g);
	accepted(&g);
	refused(&f, FALCON_V_drop_replay);
}

/* An IV from the future would shut the peer out: it must be authenticated first. */
static void remote_time_moves_only_after_authentication(void **state)
{
	struct stage_frame f, g;
	struct falcon_frame p;

	(void)state;
	stage_next(1, &f);
	p = where(&f);
	g = f;
	g.data[p.sec_off + 8] ^= 0x10;
	refused(&g, FALCON_V_drop_auth);
	accepted(&f);
}

/* Our own packets sent back to us, as ours and as the peer's. */
static void reflected(void **state)
{
	struct frame_template t;
	struct frame_route r = { .encap = FALCON_PSP_AES_GCM_128 };
	struct falcon_hdr h = { .cid = 1, .type = FALCON_PUSH_DATA, .psn = STAGE_PSN + 1 };
	struct fcore_packet pkt = {};
	struct stage_frame f;

	(void)state;
	stage_address(r.src_addr, 1);
	stage_address(r.dst_addr, 2);
	frame_template_init(&t, &r);
	pkt.hdr_len = falcon_hdr_pack(&h, pkt.hdr);
	f.len = (uint32_t)frame_build(&t, stage.conn[1].sec.tx, &pkt, 2000000000, f.data);
	refused(&f, FALCON_V_drop_address);
	/* Addresses exchanged, by chance even the CIDs are the same. */
	stage_address(f.data + ETH_HLEN + 12, 2);
	stage_address(f.data + ETH_HLEN + 16, 1);
	f.len = (uint32_t)frame_build(&t, stage.conn[1].sec.tx, &pkt, 2000000000, f.data);
	*(uint32_t *)(f.data + ETH_HLEN + 12) = htonl(0x0a000002);
	*(uint32_t *)(f.data + ETH_HLEN + 16) = htonl(0x0a000001);
	refused(&f, FALCON_V_drop_spi);
	/* And the SPI is made ours. */
	*(uint32_t *)(f.data + ETH_HLEN + 20 + 8 + 4) = htonl(stage.shared[1].id.cur_spi);
	refused(&f, FALCON_V_drop_auth);
}

static void set_cid(struct stage_frame *f, uint32_t cid)
{
	f->data[where(f).falcon_off + 3] = (uint8_t)cid;
}

static void set_spi(struct stage_frame *f, uint32_t spi)
{
	*(uint32_t *)(f->data + where(f).sec_off + 4) = htonl(spi);
}

/* A packet of one connection passed off as another's, which only the key keeps apart. */
static void cross_connection(void **state)
{
	struct stage_frame f, g;

	(void)state;
	stage_next(1, &f);
	g = f;
	set_cid(&g, 2);
	refused(&g, FALCON_V_drop_spi);
	set_spi(&g, stage.shared[2].id.cur_spi);
	refused(&g, FALCON_V_drop_auth);
	/* A peer with a key of its own, connection 2's, speaks as connection 1. */
	stage_next(2, &g);
	set_cid(&g, 1);
	set_spi(&g, stage.shared[1].id.cur_spi);
	refused(&g, FALCON_V_drop_auth);
	accepted(&f);
}

static void wrong_cid(void **state)
{
	struct stage_frame f;

	(void)state;
	stage_next(1, &f);
	set_cid(&f, STAGE_CONNS + 1);
	refused(&f, FALCON_V_drop_cid);
	set_cid(&f, 0);
	refused(&f, FALCON_V_drop_not_alive);
}

static void wrong_spi(void **state)
{
	struct stage_frame f;

	(void)state;
	stage_next(1, &f);
	set_spi(&f, 0);
	refused(&f, FALCON_V_drop_spi);
	set_spi(&f, stage.shared[1].id.cur_spi ^ 0x80000000);
	refused(&f, FALCON_V_drop_spi);
}

static void wrong_pcid(void **state)
{
	struct stage_frame f;

	(void)state;
	stage_close();
	stage_open(FALCON_PSP_AES_GCM_128);
	stage_drop(1);
	stage.config.pcid_match = 1;
	stage.a.config.agent.pcid = true;
	stage_connect(1, FALCON_PSP_AES_GCM_128);
	assert_true(stage.conn[1].sec.pcid != 0);
	stage_next(1, &f);
	f.data[where(&f).sec_off + 16] ^= 1;
	refused(&f, FALCON_V_drop_pcid);
	f.data[where(&f).sec_off + 16] ^= 1;
	accepted(&f);
}

/* A clear packet that is right in every other way. */
static void downgraded(void **state)
{
	struct frame_route r = { .encap = FALCON_PSP_CLEAR, .path = 5 };
	struct frame_template keep = stage.peer[1].tmpl;
	struct stage_frame f;

	(void)state;
	r.spi = stage.shared[1].id.cur_spi;
	stage_address(r.dst_addr, 1);
	stage_address(r.src_addr, 2);
	frame_template_init(&stage.peer[1].tmpl, &r);
	stage_next(1, &f);
	refused(&f, FALCON_V_drop_psp_version);
	stage.peer[1].tmpl = keep;
}

/* The peer itself, but outside of the tunnel, or from another inner address. */
static void out_of_the_tunnel(void **state)
{
	struct frame_route r = { .encap = FALCON_PSP_AES_GCM_128, .path = 5, .tunnel = true };
	struct sec *sec = &stage.conn[1].sec;
	struct stage_frame f;

	(void)state;
	sec->tunnel = true;
	stage.shared[1].id.flags |= FALCON_CONN_TUNNEL;
	stage_address(sec->inner_local, 101);
	stage_address(sec->inner_peer, 102);
	stage_next(1, &f);
	refused(&f, FALCON_V_drop_inner);
	stage_address(r.dst_addr, 1);
	stage_address(r.src_addr, 2);
	stage_address(r.inner_src, 103);
	stage_address(r.inner_dst, 101);
	frame_template_init(&stage.peer[1].tmpl, &r);
	stage_next(1, &f);
	refused(&f, FALCON_V_drop_inner);
	stage_address(r.inner_src, 102);
	frame_template_init(&stage.peer[1].tmpl, &r);
	stage.peer[1].psn -= 2;
	stage_next(1, &f);
	accepted(&f);
}

/* Nothing of what was sealed with a key that is gone. */
static void old_spi_and_expired_generation(void **state)
{
	struct stage_frame f, g;
	char err[128];

	(void)state;
	stage_next(1, &f);
	stage_next(2, &g);
	assert_int_equal(rekey_conn(&stage.conn[1], err, sizeof(err)), 0);
	stage_turn(1);
	stage_answer(1);
	stage_turn(stage.a.config.agent.key_settle_ns);
	refused(&f, FALCON_V_drop_spi);
	assert_int_equal(rekey_all(&stage.a, err, sizeof(err)), 0);
	stage_turn(1);
	for (uint32_t cid = 1; cid <= STAGE_CONNS; cid++)
		stage_answer(cid);
	stage_turn(stage.a.config.agent.key_settle_ns);
	assert_false(stage.a.rekey.rotating);
	refused(&g, FALCON_V_drop_spi);
	/* Not even if the connection still named the SPI. */
	stage.shared[2].id.cur_spi = stage.shared[2].id.prev_spi = sa_spi(stage.peer[2].sa);
	stage.shared[2].id.cur_spi_gen--;
	stage_next(2, &g);
	refused(&g, FALCON_V_drop_spi);
}

static void cross_tenant(void **state)
{
	(void)state;
	for_another_function(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(forged, fresh, done),
		cmocka_unit_test(flipped),
		cmocka_unit_test_setup_teardown(truncated, fresh, done),
		cmocka_unit_test_setup_teardown(replayed, fresh, done),
		cmocka_unit_test_setup_teardown(remote_time_moves_only_after_authentication, fresh,
						done),
		cmocka_unit_test_setup_teardown(reflected, fresh, done),
		cmocka_unit_test_setup_teardown(cross_connection, fresh, done),
		cmocka_unit_test_setup_teardown(wrong_cid, fresh, done),
		cmocka_unit_test_setup_teardown(wrong_spi, fresh, done),
		cmocka_unit_test_setup_teardown(cross_tenant, fresh, done),
		cmocka_unit_test_setup_teardown(wrong_pcid, fresh, done),
		cmocka_unit_test_setup_teardown(downgraded, fresh, done),
		cmocka_unit_test_setup_teardown(out_of_the_tunnel, fresh, done),
		cmocka_unit_test_setup_teardown(old_spi_and_expired_generation, fresh, done),
	};

	return unit_run(tests);
}
