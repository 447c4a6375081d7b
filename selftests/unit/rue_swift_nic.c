// SPDX-License-Identifier: BSD-2-Clause
/*
 * Swift's NIC window, its direction and its marker (Falcon 10.3.1, 10.3.3, 10.3.6), rule by rule.
 */
#include "rue_env.h"

enum { ONE = 1024, DOWN = 0, UP = 1, TARGET = 15, RTT = 220 };

struct nic_case {
	uint32_t level, direction, age;		/* of the marker */
	uint32_t ncwnd;				/* expected, 1/1024; from 64 */
	uint32_t new_direction, new_age;
};

static void check(struct rue_env *v, const struct nic_case *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		v->level = c[i].level;
		v->direction = c[i].direction;
		v->nmarker = v->now - c[i].age;
		v->state.ncwnd_fraction = 0;
		rue_env_run(v);
		assert_int_equal(rue_env_ncwnd(v), c[i].ncwnd);
		assert_int_equal(rue_env_get(v, ncwnd_direction), c[i].new_direction);
		assert_int_equal(v->now - rue_env_get(v, nic_window_time_marker), c[i].new_age);
	}
}

/* An ACK: one step up or down a round trip; up at once after a step down. */
static void acks(void **state)
{
	static const struct nic_case cases[] = {
		{ 0, UP, RTT, 65 * ONE, UP, 0 },
		{ TARGET - 1, UP, RTT, 65 * ONE, UP, 0 },
		{ TARGET - 1, UP, RTT - 1, 64 * ONE, UP, RTT - 1 },
		{ TARGET - 1, DOWN, 0, 65 * ONE, UP, 0 },
		{ TARGET, UP, 5000, 64 * ONE, UP, RTT },	/* cuts nothing, trails */
		{ TARGET, DOWN, RTT, 64 * ONE, DOWN, RTT },
		{ TARGET + 1, UP, RTT, 64 * ONE - 3277, DOWN, 0 },	/* by 3276.8 */
		{ TARGET + 1, UP, RTT - 1, 64 * ONE, UP, RTT - 1 },
		{ 31, DOWN, RTT, 64 * ONE - 27060, DOWN, 0 },	/* by 27060.03 */
		{ 31, DOWN, RTT - 1, 64 * ONE, DOWN, RTT - 1 },
	};
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	check(&v, cases, ARRAY_SIZE(cases));
	v.type = kRueEventTypeNack;		/* not for want of resources: the same */
	v.nack = 2;
	check(&v, cases, ARRAY_SIZE(cases));
	v.type = kRueEventTypeAck;		/* an ACK with a stray code */
	v.nack = 1;
	check(&v, cases, ARRAY_SIZE(cases));
	rue_env_fini(&v);
}

/* A NACK for want of resources: the largest cut, at once after a step up, whatever the level. */
static void exhausted(void **state)
{
	static const struct nic_case cases[] = {
		{ 0, UP, 0, 32 * ONE, DOWN, 0 },
		{ 31, UP, 0, 32 * ONE, DOWN, 0 },
		{ 0, DOWN, RTT, 32 * ONE, DOWN, 0 },
		{ 0, DOWN, RTT - 1, 64 * ONE, DOWN, RTT - 1 },
	};
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.type = kRueEventTypeNack;
	v.nack = 1;
	check(&v, cases, ARRAY_SIZE(cases));
	rue_env_fini(&v);
}

/* Without the smallest or largest window, the largest cut is the parameter's. */
static void largest_cut(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.params.target_rx_buffer_level = 1;
	v.params.nic_multiplicative_decrease_factor = 0.99;
	rue_env_params(&v);
	v.level = 31;
	rue_env_run(&v);
	assert_int_equal(rue_env_ncwnd(&v), 32 * ONE);
	rue_env_fini(&v);
}

/* With a target of 0 no level is below it, and none at it cuts. */
static void target_zero(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.params.target_rx_buffer_level = 0;
	rue_env_params(&v);
	rue_env_run(&v);
	assert_int_equal(rue_env_ncwnd(&v), 64 * ONE);
	v.level = 1;
	rue_env_run(&v);
	assert_int_equal(rue_env_ncwnd(&v), 32 * ONE);
	rue_env_fini(&v);
}

/* The lower bound is a step down and the upper one a step up, however the window came there. */
static void bounds(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.ncwnd = 1;
	v.level = TARGET;
	v.nmarker = v.now;
	rue_env_run(&v);
	assert_int_equal(rue_env_ncwnd(&v), ONE);
	assert_int_equal(rue_env_get(&v, ncwnd_direction), DOWN);
	v.level = 31;
	v.nmarker = v.now - 1000;
	rue_env_run(&v);
	assert_int_equal(rue_env_ncwnd(&v), ONE);
	assert_int_equal(rue_env_get(&v, nic_window_time_marker), v.now);
	v.ncwnd = 256;
	v.direction = DOWN;
	v.level = TARGET;
	v.nmarker = v.now - 10;
	rue_env_run(&v);
	assert_int_equal(rue_env_ncwnd(&v), 256 * ONE);
	assert_int_equal(rue_env_get(&v, ncwnd_direction), UP);
	assert_int_equal(rue_env_get(&v, nic_window_time_marker), v.now);
	v.ncwnd = 2047;				/* above: clamped, which is a step down */
	rue_env_run(&v);
	assert_int_equal(rue_env_ncwnd(&v), 256 * ONE);
	assert_int_equal(rue_env_get(&v, ncwnd_direction), DOWN);
	v.ncwnd = 0;				/* below: clamped, which is still the lower bound */
	rue_env_run(&v);
	assert_int_equal(rue_env_ncwnd(&v), ONE);
	assert_int_equal(rue_env_get(&v, ncwnd_direction), DOWN);
	rue_env_fini(&v);
}

/* The fraction: kept outside of the event, and 1024 where the rest rounds to a whole. */
static void fraction(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.params.nic_additive_increment_factor = 1.9996;
	rue_env_params(&v);
	v.ncwnd = 63;
	v.state.ncwnd_fraction = 0;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, ncwnd), 64);
	assert_int_equal(v.state.ncwnd_fraction, 1024);
	v.ncwnd = 64;				/* counts as 65 */
	v.level = TARGET;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, ncwnd), 65);
	assert_int_equal(v.state.ncwnd_fraction, 0);
	v.params.nic_additive_increment_factor = 1 + 0.5 / 1024;	/* a half is rounded up */
	rue_env_params(&v);
	v.ncwnd = 63;
	v.level = 0;
	rue_env_run(&v);
	assert_int_equal(v.state.ncwnd_fraction, 1);
	rue_env_fini(&v);
}

/* A retransmission leaves all of it alone, even what is out of bounds. */
static void retransmission(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.type = kRueEventTypeRetx;
	v.retx = 1;
	v.nack = 1;
	v.level = 31;
	v.ncwnd = 2000;
	v.state.ncwnd_fraction = 77;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, ncwnd), 2000);
	assert_int_equal(v.state.ncwnd_fraction, 77);
	assert_int_equal(rue_env_get(&v, ncwnd_direction), UP);
	assert_int_equal(rue_env_get(&v, nic_window_time_marker), v.nmarker);
	rue_env_fini(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acks),		cmocka_unit_test(exhausted),
		cmocka_unit_test(largest_cut),	cmocka_unit_test(target_zero),
		cmocka_unit_test(bounds),	cmocka_unit_test(fraction),
		cmocka_unit_test(retransmission),
	};

	return unit_run(tests);
}
