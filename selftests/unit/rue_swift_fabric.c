// SPDX-License-Identifier: BSD-2-Clause
/* Swift's fabric window and its marker (Falcon 10.3.1, 10.3.2, 10.3.6), rule by rule. */
#include "rue_env.h"

enum { ONE = 1024, MIN_STORED = 10 /* 0.01 */ };

/*
 * * The target at a window of 32, defaults, no hops: 191 + trunc(246.146.. / sqrt(32) - 15.384..) =
 * 219.
 */
enum { TARGET_32 = 219 };

struct ack {
	uint32_t rtt, acked, fcwnd, expected;
};

/* fcwnd, in 1/1024, after an ACK with a delay far below any target. */
static void grow(void **state)
{
	static const struct ack cases[] = {
		{ 100, 1, 32 * ONE, 32 * ONE + 32 },	/* 1/32 packet */
		{ 100, 8, 32 * ONE, 32 * ONE + 256 },
		{ 100, 0, 32 * ONE, 32 * ONE },
		{ 100, 1, ONE, 2 * ONE },		/* at one packet, divided by one */
		{ 100, 3, ONE / 2, 3 * ONE + ONE / 2 },	/* below, added whole */
		{ 100, 1023, MIN_STORED, 256 * ONE },	/* to the maximum */
		{ 100, 100, 1, 100 * ONE + 1 },		/* from below the minimum */
		{ 100, 1023, 256 * ONE, 256 * ONE },
		{ 100, 1, 3 * ONE, 3 * ONE + 341 },	/* 341.33 */
		{ 100, 2, 3 * ONE, 3 * ONE + 683 },	/* 682.67 */
	};
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		v.fcwnd = cases[i].fcwnd;
		v.acked = cases[i].acked;
		rue_env_rtt(&v, cases[i].rtt);
		rue_env_run(&v);
		assert_int_equal(rue_env_fcwnd(&v), cases[i].expected);
	}
	rue_env_fini(&v);
}

/* Below the target, at it and above. */
static void around_target(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	rue_env_rtt(&v, TARGET_32 - 1);
	rue_env_run(&v);
	assert_int_equal(rue_env_fcwnd(&v), 32 * ONE + 32);
	rue_env_rtt(&v, TARGET_32);
	rue_env_run(&v);
	assert_int_equal(rue_env_fcwnd(&v), 32 * ONE);
	rue_env_rtt(&v, TARGET_32 + 1);		/* 1/220 * 0.8 of 32768 is 119.2 */
	rue_env_run(&v);
	assert_int_equal(rue_env_fcwnd(&v), 32 * ONE - 119);
	assert_int_equal(rue_env_get(&v, fabric_window_time_marker), v.now);
	rue_env_fini(&v);
}

/* The largest cut, and a cut that ends at the minimum. */
static void largest_cut(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	rue_env_rtt(&v, 1000);			/* 0.8 * 781/1000 is more than a half */
	v.fmarker = v.now - 1000;
	rue_env_run(&v);
	assert_int_equal(rue_env_fcwnd(&v), 16 * ONE);
	v.fcwnd = 15;
	rue_env_rtt(&v, 100000);
	v.fmarker = v.now - 100000;
	rue_env_run(&v);
	assert_int_equal(rue_env_fcwnd(&v), MIN_STORED);
	rue_env_fini(&v);
}

/* A cut a round trip: the marker must be at least this packet's round trip old, modulo 2^24. */
static void guard(void **state)
{
	static const struct {
		uint32_t now, age;
		bool cut;
	} cases[] = {
		{ 10000, 499, false },	{ 10000, 500, true },	{ 10000, 501, true },
		{ 10000, 0, false },	{ 10, 499, false },	{ 10, 500, true },
		{ 0, 500, true },	{ 0xffffff, 499, false }, { 10000, 0xffffff, true },
	};
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		v.now = cases[i].now;
		rue_env_rtt(&v, 500);
		v.fmarker = (v.now - cases[i].age) & 0xffffff;
		rue_env_run(&v);
		assert_int_equal(rue_env_fcwnd(&v) < 32 * ONE, cases[i].cut);
	}
	rue_env_fini(&v);
}

/* The guard is the raw round trip, also where everything else uses the smoothed one. */
static void guard_is_raw(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.params.calc_rtt_smooth = true;
	rue_env_params(&v);
	v.rtt = 5000;				/* smoothed: 3875 */
	rue_env_rtt(&v, 500);
	v.fmarker = v.now - 500;
	rue_env_run(&v);
	assert_true(rue_env_fcwnd(&v) < 32 * ONE);
	rue_env_fini(&v);
}

/* While nothing is cut the marker follows one round trip behind, once it is older than that. */
static void marker_trails(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	rue_env_rtt(&v, 100);
	v.fmarker = v.now - 100;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, fabric_window_time_marker), v.now - 100);
	v.fmarker = v.now - 99;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, fabric_window_time_marker), v.now - 99);
	v.fmarker = v.now - 101;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, fabric_window_time_marker), v.now - 100);
	v.now = 50;				/* behind the wrap */
	rue_env_rtt(&v, 100);
	v.fmarker = 0xffffff - 1000;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, fabric_window_time_marker), 0xffffff - 49);
	v.params.calc_rtt_smooth = true;	/* now by the smoothed round trip, 190 */
	rue_env_params(&v);
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, fabric_window_time_marker), 0xffffff - 139);
	rue_env_fini(&v);
}

/*
 * A window at its minimum sets the marker at each event; 0.01 is stored as less, and clamped anew.
 */
static void marker_at_minimum(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.fcwnd = MIN_STORED;
	rue_env_rtt(&v, 10000);
	v.fmarker = v.now - 10;			/* guarded: nothing is cut */
	rue_env_run(&v);
	assert_int_equal(rue_env_fcwnd(&v), MIN_STORED);
	assert_int_equal(rue_env_get(&v, fabric_window_time_marker), v.now);
	rue_env_fini(&v);
}

/* A NACK moves the fabric window as an ACK does, whatever its code. */
static void nacks(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.type = kRueEventTypeNack;
	rue_env_rtt(&v, 100);
	for (v.nack = 0; v.nack < 256; v.nack++) {
		rue_env_run(&v);
		assert_int_equal(rue_env_fcwnd(&v), 32 * ONE + 32);
	}
	rue_env_fini(&v);
}

/* The rule on losses: only if it is on, only for these events, and then instead of all others. */
static void drops(void **state)
{
	static const struct {
		uint32_t type, nack, eack, eack_drop;
		bool dropped;
	} cases[] = {
		{ kRueEventTypeAck, 0, 1, 1, true },	{ kRueEventTypeAck, 0, 1, 0, false },
		{ kRueEventTypeAck, 0, 0, 1, false },	{ kRueEventTypeAck, 5, 0, 0, false },
		{ kRueEventTypeNack, 5, 0, 0, true },	{ kRueEventTypeNack, 1, 0, 0, false },
		{ kRueEventTypeNack, 0, 1, 1, false },	{ kRueEventTypeNack, 5, 1, 1, true },
	};
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	rue_env_rtt(&v, 100);
	for (int on = 0; on < 2; on++) {
		v.params.max_decrease_on_eack_nack_drop = on;
		rue_env_params(&v);
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			v.type = cases[i].type;
			v.nack = cases[i].nack;
			v.eack = cases[i].eack;
			v.eack_drop = cases[i].eack_drop;
			v.fmarker = v.now - 100;
			rue_env_run(&v);
			assert_int_equal(rue_env_fcwnd(&v), on && cases[i].dropped ?
					 16 * ONE : 32 * ONE + 32);
			v.fmarker = v.now - 99;	/* guarded: not cut, and not grown either */
			rue_env_run(&v);
			assert_int_equal(rue_env_fcwnd(&v), on && cases[i].dropped ?
					 32 * ONE : 32 * ONE + 32);
		}
	}
	rue_env_fini(&v);
}

/*
 * Retransmissions: the first cuts, from the limit on the window is at its minimum, others do
 * nothing.
 */
static void retransmissions(void **state)
{
	static const uint32_t expected[8] = { 32 * ONE, 16 * ONE, 32 * ONE, MIN_STORED,
					      MIN_STORED, MIN_STORED, MIN_STORED, MIN_STORED };
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.type = kRueEventTypeRetx;
	v.rtt = 300;
	for (v.retx = 0; v.retx < 8; v.retx++) {
		v.fmarker = v.now - 300;
		rue_env_run(&v);
		assert_int_equal(rue_env_fcwnd(&v), expected[v.retx]);
		assert_int_equal(rue_env_get(&v, fabric_window_time_marker),
				 expected[v.retx] == 32 * ONE ? v.fmarker : v.now);
		v.fmarker = v.now - 299;	/* guarded by the smoothed round trip */
		rue_env_run(&v);
		assert_int_equal(rue_env_fcwnd(&v), 32 * ONE);
		assert_int_equal(rue_env_get(&v, fabric_window_time_marker), v.fmarker);
	}
	v.retx = 0;
	v.fmarker = v.now - 301;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, fabric_window_time_marker), v.now - 300);
	v.params.retransmit_limit = 1;		/* the first still only cuts */
	rue_env_params(&v);
	v.retx = 1;
	rue_env_run(&v);
	assert_int_equal(rue_env_fcwnd(&v), 16 * ONE);
	rue_env_fini(&v);
}

/* Windows outside the parameters' bounds come back into them. */
static void out_of_bounds(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	for (v.type = kRueEventTypeAck; v.type <= kRueEventTypeRetx; v.type++) {
		v.acked = 0;
		v.fcwnd = (1 << 21) - 1;
		rue_env_rtt(&v, 100);
		rue_env_run(&v);
		assert_int_equal(rue_env_fcwnd(&v), 256 * ONE);
		v.fcwnd = 0;
		rue_env_run(&v);
		assert_int_equal(rue_env_fcwnd(&v), MIN_STORED);
	}
	rue_env_fini(&v);
}

/* The largest window of all fills its field and stays there. */
static void field_limit(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.params.max_fabric_congestion_window = 2047.9990234375;
	rue_env_params(&v);
	v.fcwnd = 1 << 10;
	v.acked = 1023;
	rue_env_rtt(&v, 100);
	for (int i = 0; i < 2000; i++) {
		rue_env_run(&v);
		assert_true(rue_env_fcwnd(&v) > v.fcwnd || v.fcwnd == (1 << 21) - 1);
		v.fcwnd = rue_env_fcwnd(&v);
	}
	assert_int_equal(v.fcwnd, (1 << 21) - 1);
	rue_env_fini(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grow),
		cmocka_unit_test(around_target),
		cmocka_unit_test(largest_cut),
		cmocka_unit_test(guard),
		cmocka_unit_test(guard_is_raw),
		cmocka_unit_test(marker_trails),
		cmocka_unit_test(marker_at_minimum),
		cmocka_unit_test(nacks),
		cmocka_unit_test(drops),
		cmocka_unit_test(retransmissions),
		cmocka_unit_test(out_of_bounds),
		cmocka_unit_test(field_limit),
	};

	return unit_run(tests);
}
