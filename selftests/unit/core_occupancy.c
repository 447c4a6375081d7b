// SPDX-License-Identifier: BSD-2-Clause
/* The buffer level of ACKs and NACKs (Falcon 10.2): averages, levels, and which pools count. */
#include "core_held.h"
#include "core_target_env.h"

static void levels_divide_the_pool(void **state)
{
	struct fcore_occupancy o;

	(void)state;
	fcore_occupancy_init(&o, 320, 100);
	assert_int_equal(o.level, 0);
	for (uint32_t used = 0; used <= 340; used++) {
		uint32_t before = o.level;
		bool changed = fcore_occupancy_set(&o, used);

		assert_int_equal(o.level, used / 10 < 31 ? used / 10 : 31);
		assert_int_equal(changed, o.level != before);
	}
	assert_true(fcore_occupancy_set(&o, 0));
	assert_int_equal(o.level, 0);
}

/* 31 does not divide; a pool of one packet is full or empty. */
static void levels_of_odd_pools(void **state)
{
	struct fcore_occupancy o;

	(void)state;
	fcore_occupancy_init(&o, 33, 100);
	for (uint32_t used = 34; used-- > 0;) {
		fcore_occupancy_set(&o, used);
		assert_int_equal(o.level, used < 33 ? used * 32 / 33 : 31);
	}
	fcore_occupancy_init(&o, 1, 100);
	assert_true(fcore_occupancy_set(&o, 1));
	assert_int_equal(o.level, 31);
	fcore_occupancy_init(&o, FCORE_NO_LIMIT, 100);
	assert_true(fcore_occupancy_set(&o, FCORE_NO_LIMIT / 2 + 1));
	assert_int_equal(o.level, 16);
}

/* A quarter of the way at each change, both ways. */
static void s10_2_moving_average(void **state)
{
	static const uint32_t up[] = { 8, 14, 18, 21 }, down[] = { 16, 12, 9, 6 };
	struct fcore_occupancy o;

	(void)state;
	fcore_occupancy_init(&o, 1024, 25);
	for (uint32_t i = 0; i < ARRAY_SIZE(up); i++) {
		fcore_occupancy_set(&o, 1024);
		assert_int_equal(o.level, up[i]);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(down); i++) {
		fcore_occupancy_set(&o, 0);
		assert_int_equal(o.level, down[i]);
	}
	for (uint32_t i = 0; i < 64; i++)
		fcore_occupancy_set(&o, 0);
	assert_int_equal(o.ema, 0);
}

/* Pools of 32 packets and 64 cells of 128 bytes; what is seen is what is held. */
static void open_small(void)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	cfg.total[FCORE_NET_PKT_RX] = 32;
	cfg.total[FCORE_NET_BUF_RX] = 64;
	cfg.rx_ema[0] = cfg.rx_ema[1] = 100;
	cfg.alpha = 1000 * FCORE_ALPHA_ONE;
	env_open_with(&p, &cfg);
}

/* Both pools count, the fuller one is told; given back, it falls at once, without a packet. */
static void s10_2_the_fuller_pool_counts(void **state)
{
	(void)state;
	open_small();
	for (uint32_t i = 0; i < 4; i++)
		held_receive(false, i, i, 0);
	assert_int_equal(env.rx_level, 4);
	assert_int_equal(env.rx_levels, 4);
	held_receive(false, 4, 4, 1000);
	held_receive(false, 5, 5, 1000);
	assert_int_equal(env.rx_level, 8);
	assert_int_equal(fcore_rx_level(env.core), 8);
	for (uint32_t i = 0; i < 6; i++)
		done(i, FCORE_PUSH_ACK, 0, 0);
	assert_int_equal(env.rx_level, 0);
	env_close();
}

static void s10_2_what_waits_in_rings_counts(void **state)
{
	(void)state;
	open_small();
	held_receive(false, 0, 0, 0);
	assert_int_equal(env.rx_level, 1);
	fcore_rx_waiting(env.core, 20);
	assert_int_equal(env.rx_level, 20);
	held_receive(false, 1, 1, 0);
	assert_int_equal(env.rx_level, 20);
	fcore_rx_waiting(env.core, 0);
	assert_int_equal(env.rx_level, 2);
	env_close();
}

/* The level is that of the moment, whatever it was when the packet came. */
static void s10_2_acks_carry_the_level_of_the_moment(void **state)
{
	(void)state;
	open_small();
	held_receive(false, 0, 0, 0);
	fcore_rx_waiting(env.core, 9);
	env.nsent = 0;
	done(0, FCORE_PUSH_ACK, 0, 0);
	env.now += 10000000;
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_BACK);
	assert_int_equal(env.sent[0].ack.buffer_level, 9);
	env_close();
}

static void s10_2_nacks_carry_it_too(void **state)
{
	(void)state;
	open_small();
	for (uint32_t i = 0; i < 8; i++)
		held_receive(false, i, i, 1000);
	env.nsent = 0;
	held_receive(false, 8, 8, 1000);
	expect_nack(0, FALCON_NACK_RESOURCE, 8);
	assert_int_equal(env.sent[0].ack.buffer_level, 31);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_divide_the_pool),
		cmocka_unit_test(levels_of_odd_pools),
		cmocka_unit_test(s10_2_moving_average),
		cmocka_unit_test(s10_2_the_fuller_pool_counts),
		cmocka_unit_test(s10_2_what_waits_in_rings_counts),
		cmocka_unit_test(s10_2_acks_carry_the_level_of_the_moment),
		cmocka_unit_test(s10_2_nacks_carry_it_too),
	};

	return unit_run(tests);
}
