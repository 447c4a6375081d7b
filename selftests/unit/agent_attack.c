// SPDX-License-Identifier: BSD-2-Clause
/*
 * What somebody on the wire may try against encrypted connections (user/agent/shard/steer.c, sec.c), after
 * XDP let it pass: each attempt is refused for its own reason and changes nothing.
 */
#include "agent_attack.h"

static struct attack on = {
	.encap = FALCON_PSP_AES_GCM_128,
	.spi_off = 4,
	.iv_off = 8,
	.min = 8 + 16 + 8 + 16,
	.word = 1,
	.reflected = FALCON_V_drop_address,
	.not_ours = FALCON_V_drop_spi,
};

/* By XDP's checks or by authentication: which does not matter, that nothing changes does. */
static enum falcon_verdict any_drop(uint32_t bit, enum falcon_verdict v)
{
	if (v != FALCON_V_pass_not_falcon && v < FALCON_V_drop_truncated)
		fail_msg("bit %u: verdict %d", bit, v);
	return v;
}

static void flipped(void **state)
{
	(void)state;
	for (uint8_t version = 0; version < 4; version++)
		flip_all(version, any_drop);
}

static void wrong_cid(void **state)
{
	struct stage_frame f;

	(void)state;
	stage_next(1, &f);
	set_cid(&f, 2);
	refused(&f, FALCON_V_drop_spi);
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
	set_spi(&on, &f, 0);
	refused(&f, FALCON_V_drop_spi);
	set_spi(&on, &f, stage.shared[1].id.cur_spi ^ 0x80000000);
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

static void downgraded(void **state)
{
	(void)state;
	downgraded_to(FALCON_PSP_CLEAR);
}

/* The peer itself, but outside of the tunnel, or from another inner address. */
static void out_of_the_tunnel(void **state)
{
	struct frame_route r = { .encap = FALCON_PSP_AES_GCM_128, .tunnel = true };
	struct sec *sec = &stage.conn[1].sec;
	struct stage_frame f;

	(void)state;
	sec->tunnel = true;
	stage.shared[1].id.flags |= FALCON_CONN_TUNNEL;
	stage_address(sec->inner_local.b, 101);
	stage_address(sec->inner_peer.b, 102);
	stage_next(1, &f);
	refused(&f, FALCON_V_drop_inner);
	stage_address(r.dst_addr.b, 1);
	stage_address(r.src_addr.b, 2);
	stage_address(r.inner_src.b, 103);
	stage_address(r.inner_dst.b, 101);
	frame_template_init(&stage.peer[1].tmpl, &r);
	stage_next(1, &f);
	refused(&f, FALCON_V_drop_inner);
	stage_address(r.inner_src.b, 102);
	frame_template_init(&stage.peer[1].tmpl, &r);
	stage.peer[1].psn -= 2;
	stage_next(1, &f);
	accepted(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ATTACK(forged),
		cmocka_unit_test(flipped),
		ATTACK(truncated),
		ATTACK(replayed),
		ATTACK(remote_time_moves_only_after_authentication),
		ATTACK(reflected),
		ATTACK(cross_connection),
		ATTACK(wrong_cid),
		ATTACK(wrong_spi),
		ATTACK(cross_tenant),
		ATTACK(wrong_pcid),
		ATTACK(downgraded),
		ATTACK(out_of_the_tunnel),
		ATTACK(old_spi_and_expired_generation),
	};

	return unit_run(tests);
}
