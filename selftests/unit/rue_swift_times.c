// SPDX-License-Identifier: BSD-2-Clause
/* Swift's measurements, target, pacing and timeout (Falcon 10.1, 10.3.4), rule by rule. */
#include "rue_env.h"

enum { ONE = 1024, TIME_MAX = 0xffffff };

/*
 * The four delays, before and across the wrap, also with a turn-round longer than the round trip.
 */
static void delays(void **state)
{
	static const struct {
		uint32_t t1, t2, t3, t4, expected[4];
	} cases[] = {
		{ 1000, 1100, 1120, 1300, { 300, 280, 100, 180 } },
		{ 0xffff00, 0xffffff, 0x10, 0x20, { 0x120, 0x10f, 0xff, 0x10 } },
		{ 100, 50, 60, 200, { 100, 90, 0xffffce, 140 } },
		{ 100, 120, 320, 200, { 100, 0xffff9c, 20, 0xffff88 } },
		{ 7, 7, 7, 7, { 0, 0, 0, 0 } },
	};
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		v.t1 = cases[i].t1;
		v.t2 = cases[i].t2;
		v.t3 = cases[i].t3;
		v.t4 = cases[i].t4;
		for (v.select = 0; v.select < 4; v.select++) {
			rue_env_run(&v);
			assert_int_equal(rue_env_get(&v, delay_state), cases[i].expected[v.select]);
			assert_int_equal(rue_env_get(&v, delay_select), v.select);
		}
	}
	rue_env_fini(&v);
}

/* The weight is the old value's, and the result is cut, not rounded. */
static void smoothing(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.params.delay_smoothing_alpha = 0.5;
	rue_env_params(&v);
	rue_env_rtt(&v, 103);
	v.rtt = 200;				/* 150 + 25.75 */
	v.delay = 200;				/* 151.5 */
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, rtt_state), 175);
	assert_int_equal(rue_env_get(&v, delay_state), 151);
	v.rtt = v.delay = TIME_MAX;
	rue_env_rtt(&v, TIME_MAX);
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, rtt_state), TIME_MAX);
	assert_int_equal(rue_env_get(&v, delay_state), TIME_MAX);
	rue_env_fini(&v);
}

/* The target, found as the largest delay at which the window still grows, plus one. */
static uint32_t target(struct rue_env *v)
{
	uint32_t lo = 1, hi = TIME_MAX;

	v->acked = 1023;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		v->fmarker = v->now;		/* guarded, lest it be cut */
		rue_env_rtt(v, mid);
		rue_env_run(v);
		if (rue_env_fcwnd(v) > v->fcwnd)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Base delay, plus what flows share, cut to whole units and limited, plus what hops take. */
static void targets(void **state)
{
	static const struct {
		uint32_t fcwnd, hops, expected;
	} cases[] = {
		{ 255 * ONE, 0, 191 },		/* 0.03 */
		{ 64 * ONE, 0, 191 + 15 },	/* 15.38 */
		{ 64 * ONE, 15, 191 + 15 + 120 },
		{ ONE, 1, 191 + 230 + 8 },	/* 230.76 */
		{ ONE / 4, 0, 191 + 476 },	/* 476.91 */
		{ 103, 0, 191 + 760 },		/* 760.72: just over the smallest scaled window */
		{ 102, 0, 191 + 763 },		/* 764.51, limited */
		{ 10, 0, 191 + 763 },
	};
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		v.fcwnd = cases[i].fcwnd;
		v.hops = cases[i].hops;
		assert_int_equal(target(&v), cases[i].expected);
	}
	v.params.fabric_base_delay = TIME_MAX - 1;	/* the sum saturates */
	rue_env_params(&v);
	v.hops = 15;
	assert_int_equal(target(&v), TIME_MAX);
	rue_env_fini(&v);
}

/*
 * The gap of a window below one: what one packet each rtt/w leaves after a round trip, in 512 ns.
 */
static void gaps(void **state)
{
	static const struct {
		uint32_t fcwnd, rtt, gap;
	} cases[] = {
		{ ONE, 1000, 0 },
		{ ONE / 2, 1000, 256 },
		{ ONE / 4, 1000, 768 },
		{ ONE / 2, 2, 1 },		/* 0.512 */
		{ ONE / 2, 1, 0 },		/* 0.256 */
		{ ONE - 1, 1000, 0 },		/* 0.2503 */
		{ ONE - 1, 2000, 1 },		/* 0.5005 */
		{ ONE / 2, 0, 0 },
		{ 20, 100000, 65535 },		/* saturates */
		{ 0, 100000, 65535 },
		{ ONE / 2, 255998, 65535 },	/* 65535.488 */
	};
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.type = kRueEventTypeRetx;		/* which changes nothing at a count of 0 */
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		v.fcwnd = cases[i].fcwnd;
		v.rtt = cases[i].rtt;
		rue_env_run(&v);
		assert_int_equal(rue_env_get(&v, inter_packet_gap), cases[i].gap);
	}
	v.params.ipg_bits = 20;
	rue_env_params(&v);
	v.fcwnd = 10;
	v.rtt = TIME_MAX;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, inter_packet_gap), (1 << 20) - 1);
	rue_env_fini(&v);
}

/* The NIC window paces too, if it may be below one; of a retransmission it is clamped first. */
static void nic_gap(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.params.min_nic_congestion_window = 0.125;
	rue_env_params(&v);
	v.ncwnd = 0;
	v.state.ncwnd_fraction = 256;
	v.rtt = 1000;
	v.fcwnd = ONE / 2;
	v.type = kRueEventTypeRetx;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, inter_packet_gap), 768);
	v.state.ncwnd_fraction = 0;		/* counts as an eighth */
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, inter_packet_gap), 1792);
	assert_int_equal(v.state.ncwnd_fraction, 0);
	v.fcwnd = ONE / 16;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, inter_packet_gap), 3840);
	rue_env_fini(&v);
}

/* The gap of an ACK is of the new window, unrounded, and of the raw or smoothed round trip. */
static void ack_gap(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.fcwnd = ONE / 2;
	v.acked = 0;
	v.fmarker = v.now;
	v.rtt = 3000;
	rue_env_rtt(&v, 1000);
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, inter_packet_gap), 256);
	v.params.calc_rtt_smooth = true;	/* 2500 */
	rue_env_params(&v);
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, inter_packet_gap), 640);
	v.params.calc_rtt_smooth = false;
	rue_env_params(&v);
	v.fcwnd = 10;				/* 0.01, though the field holds 10/1024: 99 * 256 */
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, inter_packet_gap), 25344);
	rue_env_fini(&v);
}

/* The timeout: smoothed round trips, and the gap; at least the minimum, at most the field. */
static void timeouts(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	rue_env_run(&v);			/* 440 */
	assert_int_equal(rue_env_get(&v, retransmit_timeout), 1907);
	v.rtt = 4000;
	rue_env_rtt(&v, 4001);			/* smoothed 4000 */
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, retransmit_timeout), 8000);
	v.params.retransmit_timeout_scalar = 1.3333;
	rue_env_params(&v);
	v.type = kRueEventTypeRetx;		/* 4000: 5333.2 */
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, retransmit_timeout), 5333);
	v.fcwnd = ONE / 2;			/* gap 1024, which is 4000 units */
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, inter_packet_gap), 1024);
	assert_int_equal(rue_env_get(&v, retransmit_timeout), 9333);
	v.rtt = TIME_MAX;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, retransmit_timeout), TIME_MAX);
	v.params.retransmit_timeout_scalar = 1000000;
	rue_env_params(&v);
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, retransmit_timeout), TIME_MAX);
	v.rtt = 0;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, retransmit_timeout), 1907);
	rue_env_fini(&v);
}

/* A retransmission measures nothing: both averages stay. */
static void retransmission_keeps(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.type = kRueEventTypeRetx;
	v.delay = 12345;
	v.rtt = 54321;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, delay_state), 12345);
	assert_int_equal(rue_env_get(&v, rtt_state), 54321);
	rue_env_fini(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delays),   cmocka_unit_test(smoothing),
		cmocka_unit_test(targets),  cmocka_unit_test(gaps),
		cmocka_unit_test(nic_gap),  cmocka_unit_test(ack_gap),
		cmocka_unit_test(timeouts), cmocka_unit_test(retransmission_keeps),
	};

	return unit_run(tests);
}
