// SPDX-License-Identifier: BSD-2-Clause
/*
 * What somebody on the wire may try against connections in ESP, as agent_attack.c does against those
 * in PSP: each attempt is refused for its own reason and changes nothing. Last, what the peer itself
 * may try, who has the key.
 */
#include "agent_attack.h"

enum {
	ESP_MIN = 8 + 16 + 8 + 2 + 16,	/* UDP's length of the shortest packet that may be Falcon's */
	INNER_LEN = 20,
};

static void open_stage(uint8_t encap)
{
	struct stage_frame f;

	stage_open(encap);
	stage_next(1, &f);
	accepted(&f);
}

static int fresh(void **state)
{
	(void)state;
	open_stage(FALCON_ESP_AES_GCM_128);
	return 0;
}

static int done(void **state)
{
	(void)state;
	stage_close();
	for (unsigned int i = 0; i < ARRAY_SIZE(stage.sadb); i++)
		assert_int_equal(stage.sadb[i].spi, 0);
	return 0;
}

static void set_spi(struct stage_frame *f, uint32_t spi)
{
	*(uint32_t *)(f->data + where(f).sec_off) = htonl(spi);
}

static void forged(void **state)
{
	const uint8_t key[SA_KEY_MAX] = "my own";
	struct sa *own = stage.peer[1].sa;
	struct stage_frame f;

	(void)state;
	stage.peer[1].sa = sa_new(SA_SEAL, FALCON_ESP_AES_GCM_128, sa_spi(own), key);
	stage_next(1, &f);
	refused(&f, FALCON_V_drop_auth);
	sa_free(stage.peer[1].sa);
	stage.peer[1].sa = own;
	stage.peer[1].psn--;
	stage_next(1, &f);
	accepted(&f);
}

/* Every bit from the ESP header to the ICV. */
static void flip_all(uint8_t encap)
{
	struct stage_frame f, g;
	uint32_t first;

	open_stage(encap);
	stage_next(1, &f);
	first = where(&f).sec_off * 8u;
	for (uint32_t bit = first; bit < f.len * 8; bit++) {
		enum falcon_verdict want = FALCON_V_drop_auth, v;

		g = f;
		g.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		v = stage_receive(&g);
		if (bit < first + 32) {
			/* Nobody's SPI, or another connection's. */
			want = v == FALCON_V_drop_auth ? v : FALCON_V_pass_spi;
		} else if (bit >= first + 64 && bit < first + 128 && v == FALCON_V_drop_replay) {
			want = v;	/* an IV of long ago */
		}
		refused(&g, want);
	}
	accepted(&f);
	stage_close();
}

static void flipped(void **state)
{
	(void)state;
	flip_all(FALCON_ESP_AES_GCM_128);
	flip_all(FALCON_ESP_AES_GCM_256);
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
	/* IP and UDP changed to match: too short, not in whole words, or another ICV. */
	for (uint32_t len = 8 + 16; len < p.udp_len; len++) {
		g = f;
		set_length(&g, len);
		refused(&g, len < ESP_MIN ? FALCON_V_drop_truncated
					  : len % 4 ? FALCON_V_drop_esp : FALCON_V_drop_auth);
	}
	g = f;
	set_length(&g, p.udp_len + 4u);
	refused(&g, FALCON_V_drop_auth);
	accepted(&f);
}

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

		/* Within the margin the windows know it. */
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

	(void)state;
	stage_next(1, &f);
	g = f;
	g.data[where(&f).sec_off + FALCON_ESP_IV_OFF] ^= 0x10;
	refused(&g, FALCON_V_drop_auth);
	accepted(&f);
}

/* Our own packets sent back to us. */
static void reflected(void **state)
{
	struct frame_template t;
	struct frame_route r = { .encap = FALCON_ESP_AES_GCM_128 };
	struct falcon_hdr h = { .cid = 1, .type = FALCON_PUSH_DATA, .psn = STAGE_PSN + 1 };
	struct fcore_packet pkt = {};
	struct stage_frame f;

	(void)state;
	stage_address(r.src_addr, 2);
	stage_address(r.dst_addr, 1);
	frame_template_init(&t, &r);
	pkt.hdr_len = falcon_hdr_pack(&h, pkt.hdr);
	f.len = (uint32_t)frame_build(&t, stage.conn[1].sec.tx, &pkt, 2000000000, f.data);
	refused(&f, FALCON_V_pass_spi);
	set_spi(&f, stage.shared[1].id.cur_spi);
	refused(&f, FALCON_V_drop_auth);
	*(uint32_t *)(f.data + ETH_HLEN + 12) = htonl(0x0a000001);
	refused(&f, FALCON_V_drop_address);
}

/* Of another connection's key, which only the key itself keeps apart. */
static void cross_connection(void **state)
{
	struct stage_frame f, g;

	(void)state;
	stage_next(1, &f);
	g = f;
	set_spi(&g, stage.shared[2].id.cur_spi);
	refused(&g, FALCON_V_drop_auth);
	stage_next(2, &g);
	set_spi(&g, stage.shared[1].id.cur_spi);
	refused(&g, FALCON_V_drop_auth);
	accepted(&f);
}

static void wrong_spi(void **state)
{
	struct stage_frame f;

	(void)state;
	stage_next(1, &f);
	set_spi(&f, stage.shared[1].id.cur_spi ^ 0x80000000);
	refused(&f, FALCON_V_pass_spi);
	/* What falcon_sadb says is not enough: it has to be the connection's. */
	assert_int_equal(maps_sadb_add(&stage.a.maps, 9999, 1), 0);
	set_spi(&f, 9999);
	refused(&f, FALCON_V_drop_spi);
	maps_sadb_del(&stage.a.maps, 9999);
	set_spi(&f, 0);
	assert_int_equal(stage_receive(&f), FALCON_V_pass_not_falcon);
}

/* Right in every other way, but clear, or PSP. */
static void downgraded(void **state)
{
	static const uint8_t encaps[] = { FALCON_PSP_CLEAR, FALCON_PSP_AES_GCM_128 };
	struct frame_template keep = stage.peer[1].tmpl;
	struct sa *own = stage.peer[1].sa;
	struct stage_frame f;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(encaps); i++) {
		struct frame_route r = { .encap = encaps[i], .path = 5 };

		r.spi = stage.shared[1].id.cur_spi;
		stage_address(r.dst_addr, 1);
		stage_address(r.src_addr, 2);
		frame_template_init(&stage.peer[1].tmpl, &r);
		stage.peer[1].sa = sa_new(SA_SEAL, encaps[i], r.spi, stage.peer[1].told.key);
		stage_next(1, &f);
		refused(&f, FALCON_V_drop_psp_version);
		sa_free(stage.peer[1].sa);
	}
	stage.peer[1].sa = own;
	stage.peer[1].tmpl = keep;
}

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
	refused(&f, FALCON_V_pass_spi);
	assert_int_equal(rekey_all(&stage.a, err, sizeof(err)), 0);
	stage_turn(1);
	for (uint32_t cid = 1; cid <= STAGE_CONNS; cid++)
		stage_answer(cid);
	stage_turn(stage.a.config.agent.key_settle_ns);
	refused(&g, FALCON_V_pass_spi);
	/* Not even if the connection still named the SPI. */
	stage.shared[2].id.cur_spi_gen--;
	stage_next(2, &g);
	refused(&g, FALCON_V_drop_spi);
}

/* The peer of |cid| seals |len| bytes of |contents|, and says that they are |next_header|. */
static void seal_as(uint32_t cid, const void *contents, uint32_t len, uint8_t next_header,
		    struct stage_frame *f)
{
	struct stage_peer *p = &stage.peer[cid];
	uint32_t sec_off = p->tmpl.sec_off;
	int n;

	memcpy(f->data, p->tmpl.hdr, p->tmpl.len);
	p->clock += 1000;
	assert_int_equal(sa_stamp(p->sa, f->data + sec_off, p->clock), 0);
	memcpy(f->data + sec_off + FALCON_ESP_HDR_LEN, contents, len);
	n = sa_seal(p->sa, f->data + sec_off, FALCON_ESP_HDR_LEN + len, STAGE_FRAME - sec_off,
		    next_header);
	assert_true(n > 0);
	f->len = sec_off + (uint32_t)n;
	*(uint16_t *)(f->data + p->tmpl.udp_off + 4) = htons((uint16_t)(8 + n));
	*(uint16_t *)(f->data + ETH_HLEN + 2) = htons((uint16_t)(20 + 8 + n));
}

/* An authentic packet is of its association's connection, and of no other. */
static void cid_within(void **state)
{
	struct falcon_hdr h = { .cid = 2, .type = FALCON_PUSH_DATA, .psn = STAGE_PSN + 1 };
	uint8_t falcon[64] = {};
	struct stage_frame f;
	uint32_t len = falcon_hdr_pack(&h, falcon);

	(void)state;
	seal_as(1, falcon, len, FALCON_NEXT_HEADER, &f);
	refused(&f, FALCON_V_drop_cid);
	falcon[3] = 1;
	seal_as(1, falcon, len, FALCON_NEXT_HEADER, &f);
	accepted(&f);
	falcon[0] = 0x20;
	seal_as(1, falcon, len, FALCON_NEXT_HEADER, &f);
	refused(&f, FALCON_V_drop_version);
}

static void contents(void **state)
{
	uint8_t falcon[64] = {};
	struct falcon_hdr h = { .cid = 1, .type = FALCON_PUSH_DATA, .psn = STAGE_PSN + 1 };
	uint32_t len = falcon_hdr_pack(&h, falcon);
	struct stage_frame f;

	(void)state;
	/* A dummy packet (RFC 4303 2.6), and protocols that are not for us. */
	seal_as(1, falcon, len, FALCON_ESP_NEXT_NONE, &f);
	refused(&f, FALCON_V_drop_esp);
	seal_as(1, falcon, len, IPPROTO_TCP, &f);
	refused(&f, FALCON_V_drop_esp);
	/* Falcon, they say, and then there is nothing; all that counts it is the key's use. */
	seal_as(1, falcon, 7, FALCON_NEXT_HEADER, &f);
	refused(&f, FALCON_V_drop_truncated);
	for (uint32_t n = 8; n < len; n++) {
		seal_as(1, falcon, n, FALCON_NEXT_HEADER, &f);
		assert_int_equal(stage_receive(&f), FALCON_V_drop_truncated);
	}
	/* Bytes too many, as padding against traffic analysis would be (RFC 4303 2.7). */
	seal_as(1, falcon, len + 4, FALCON_NEXT_HEADER, &f);
	assert_int_equal(stage_receive(&f), FALCON_V_drop_length);
	assert_int_equal(stage.pushes, 1);
}

static void put_inner(uint8_t *ip, uint32_t len)
{
	memset(ip, 0, INNER_LEN);
	ip[0] = 0x45;
	ip[3] = (uint8_t)(INNER_LEN + len);
	ip[9] = FALCON_NEXT_HEADER;
	memcpy(ip + 12, "\x0a\x00\x00\x66\x0a\x00\x00\x65", 8);
}

/* Another inner header than the tunnel's, or one that is not asked for: known after decryption. */
static void out_of_the_tunnel(void **state)
{
	static const uint8_t bad_at[] = { 0, 3, 6, 9, 15, 19 };
	struct falcon_hdr h = { .cid = 1, .type = FALCON_PUSH_DATA, .psn = STAGE_PSN + 1 };
	struct sec *sec = &stage.conn[1].sec;
	uint8_t packet[128] = {};
	uint32_t len = falcon_hdr_pack(&h, packet + INNER_LEN);
	struct stage_frame f;

	(void)state;
	put_inner(packet, len);
	seal_as(1, packet, INNER_LEN + len, FALCON_NEXT_IPV4, &f);
	refused(&f, FALCON_V_drop_inner);
	sec->tunnel = true;
	stage.shared[1].id.flags |= FALCON_CONN_TUNNEL;
	stage_address(sec->inner_local, 101);
	stage_address(sec->inner_peer, 102);
	seal_as(1, packet + INNER_LEN, len, FALCON_NEXT_HEADER, &f);
	refused(&f, FALCON_V_drop_inner);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad_at); i++) {
		uint8_t *byte = &packet[bad_at[i]];

		*byte ^= 1;
		seal_as(1, packet, INNER_LEN + len, FALCON_NEXT_IPV4, &f);
		refused(&f, bad_at[i] == 0 || bad_at[i] == 9 ? FALCON_V_drop_esp : FALCON_V_drop_inner);
		*byte ^= 1;
	}
	seal_as(1, packet, INNER_LEN + len, FALCON_NEXT_IPV6, &f);
	refused(&f, FALCON_V_drop_esp);
	seal_as(1, packet, INNER_LEN + len, FALCON_NEXT_IPV4, &f);
	accepted(&f);
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
		cmocka_unit_test_setup_teardown(wrong_spi, fresh, done),
		cmocka_unit_test_setup_teardown(cross_tenant, fresh, done),
		cmocka_unit_test_setup_teardown(downgraded, fresh, done),
		cmocka_unit_test_setup_teardown(old_spi_and_expired_generation, fresh, done),
		cmocka_unit_test_setup_teardown(cid_within, fresh, done),
		cmocka_unit_test_setup_teardown(contents, fresh, done),
		cmocka_unit_test_setup_teardown(out_of_the_tunnel, fresh, done),
	};

	return unit_run(tests);
}
