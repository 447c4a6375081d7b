// SPDX-License-Identifier: BSD-2-Clause
/* falcon-wire's model of a link: rate and queue are exact, in virtual time; a failure loses all. */
#include "emulator_env.h"

/* 1000 bytes at 8 Mbit/s take 1 ms. */
#define SLOW "rate=8mbit "
#define MS 1000000ULL

static void rate_is_exact_over_many_packets(void **state)
{
	/* 64 bytes at 3 Gbit/s: 170.667 ns, which no whole number of ns is. */
	struct wire_env *e = env_open(2, 1, 1, "rate=3gbit queue=3000p");

	(void)state;
	for (uint32_t i = 0; i < 3000; i++)
		env_send(e, 0, 64, 5000, i);
	env_drain(e);
	assert_int_equal(e->outs, 3000);
	assert_int_equal(e->out[2].at, 512);
	assert_int_equal(e->out[2999].at, 512000);
	env_close(e);
}

static void packets_leave_one_after_the_other(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, SLOW "delay=5ms");

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		env_send(e, 0, 1000, 5000, i);
	env_drain(e);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(e->out[i].at, (i + 1) * MS + 5 * MS);
	assert_int_equal(env_stats(e)->wait.max, 3 * MS);
	assert_int_equal(env_stats(e)->delay.max, 9 * MS);
	assert_int_equal(env_stats(e)->max_packets, 3);
	env_close(e);
}

static void idle_wire_starts_at_once(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, SLOW);

	(void)state;
	env_volley(e, 3, 1000, 10 * MS);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(e->out[i].at, i * 10 * MS + MS);
	assert_int_equal(env_stats(e)->wait.max, 0);
	env_close(e);
}

static void overhead_takes_time_too(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, SLOW "overhead=24");

	(void)state;
	env_send(e, 0, 976, 5000, 0);
	env_drain(e);
	assert_int_equal(e->out[0].at, MS);
	assert_int_equal(e->out[0].len, 976);
	env_close(e);
}

/* One on the wire, and as many waiting as the limit says; the rest is dropped. */
static void queue_holds_what_its_limit_says(void **state)
{
	static const struct {
		const char *limit;
		uint32_t fit;
	} cases[] = {
		{ SLOW "queue=0", 1 },	     { SLOW "queue=999", 1 },   { SLOW "queue=1000", 2 },
		{ SLOW "queue=3999b", 4 },   { SLOW "queue=4000", 5 },  { SLOW "queue=0p", 1 },
		{ SLOW "queue=1p", 2 },      { SLOW "queue=7p", 8 },    { SLOW "queue=1000p", 20 },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++)
		env_assert_fit(cases[i].limit, cases[i].fit);
}

static void depth_is_what_arrivals_find(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, SLOW);

	(void)state;
	for (uint32_t n = 0; n < 5; n++)
		env_send(e, 0, 1000, 5000, n);
	assert_int_equal(env_stats(e)->depth.count, 5);
	assert_int_equal(env_stats(e)->depth.sum, 0 + 0 + 1000 + 2000 + 3000);
	assert_int_equal(env_stats(e)->depth.max, 3000);
	env_close(e);
}

/* Marked from the threshold on, and only what understands it. */
static void ecn_marks_behind_the_threshold(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, SLOW "ecn=2000");
	uint32_t frame;

	(void)state;
	for (uint32_t n = 0; n < 6; n++)
		env_send(e, 0, 1000, 5000, n);
	frame = env_frame(e, 1000);
	env_packet(pool_data(&e->pool, frame), 1000, 5000, 6);
	pool_data(&e->pool, frame)[15] = 0;
	wire_input(e->w, 0, 0, frame, e->now);
	env_drain(e);
	for (uint32_t n = 0; n < 7; n++)
		assert_int_equal(e->out[n].tos, n == 6 ? 0 : n < 3 ? 2 : 3);
	assert_int_equal(env_stats(e)->marked, 3);
	env_close(e);
}

static void rate_changes_with_the_next_packet(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, SLOW);
	struct wire_settings set = e->w->link[1][0].set;

	(void)state;
	for (uint32_t n = 0; n < 4; n++)
		env_send(e, 0, 1000, 5000, n);
	set.rate *= 10;
	wire_configure(e->w, 1, 0, &set);
	env_run(e, MS + MS / 10);
	set.rate = 0;
	wire_configure(e->w, 1, 0, &set);
	env_drain(e);
	assert_int_equal(e->out[0].at, MS);
	assert_int_equal(e->out[1].at, MS + MS / 10);
	assert_int_equal(e->out[2].at, MS + 2 * MS / 10);
	assert_int_equal(e->out[3].at, MS + 2 * MS / 10);
	env_close(e);
}

/* What is on the wire, in the queue, and in flight is lost; later packets of the path are, too. */
static void failure_loses_what_is_under_way(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, SLOW "delay=2ms");

	(void)state;
	for (uint32_t n = 0; n < 10; n++)
		env_send(e, 0, 1000, 5000, n);
	env_run(e, 4 * MS + MS / 2);	/* 0 and 1 arrived, 2 and 3 fly, 4 on the wire */
	assert_int_equal(e->outs, 2);
	env_set_down(e, true);
	env_send(e, 0, 1000, 5000, 10);
	env_run(e, 20 * MS);
	assert_int_equal(e->outs, 2);
	assert_int_equal(env_stats(e)->down, 9);
	env_assert_idle(e);
	env_set_down(e, false);
	env_send(e, 0, 1000, 5000, 11);
	env_drain(e);
	assert_int_equal(e->outs, 3);
	assert_int_equal(e->out[2].number, 11);
	env_close(e);
}

/* The same queue for all senders: the bottleneck towards one receiver. */
static void senders_share_the_queue_of_the_receiver(void **state)
{
	struct wire_env *e = env_open(4, 1, 1, SLOW "queue=6p");
	uint32_t frame;

	(void)state;
	/* The receiver, MAC ...02, is behind port 3: it has sent something. */
	frame = env_frame(e, 64);
	env_packet(pool_data(&e->pool, frame), 64, 1, 0);
	memcpy(pool_data(&e->pool, frame), "\x02\0\0\0\0\x09\x02\0\0\0\0\x02", 12);
	wire_input(e->w, 3, 0, frame, 0);
	env_drain(e);
	e->outs = 0;
	for (uint32_t n = 0; n < 9; n++)
		env_send(e, n % 3, 1000, 5000, n);
	env_drain(e);
	assert_int_equal(e->outs, 7);
	assert_int_equal(e->w->link[3][0].stats.queue_full, 2);
	for (uint32_t n = 0; n < 7; n++) {
		assert_int_equal(e->out[n].to, 3);
		assert_int_equal(e->out[n].number, n);
	}
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_is_exact_over_many_packets),
		cmocka_unit_test(packets_leave_one_after_the_other),
		cmocka_unit_test(idle_wire_starts_at_once),
		cmocka_unit_test(overhead_takes_time_too),
		cmocka_unit_test(queue_holds_what_its_limit_says),
		cmocka_unit_test(depth_is_what_arrivals_find),
		cmocka_unit_test(ecn_marks_behind_the_threshold),
		cmocka_unit_test(rate_changes_with_the_next_packet),
		cmocka_unit_test(failure_loses_what_is_under_way),
		cmocka_unit_test(senders_share_the_queue_of_the_receiver),
	};

	return unit_run(tests);
}
