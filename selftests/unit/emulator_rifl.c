// SPDX-License-Identifier: BSD-2-Clause
/* falcon-wire's paths that speak RIFL: nothing is lost, altered or overtaken, whatever the errors. */
#include "../../tools/wire/hop.h"
#include "emulator_env.h"

/* Slots of 256 ns; a packet of 1000 bytes is 34 frames, of which one has room for 30 bytes. */
#define RIFL "rifl=256 rate=1gbit delay=10us "
#define SLOT 256ULL

enum { SEGMENTS = 34, DELAY_SLOTS = 40, BYTES = 1000 };

static struct hop_stats stats_of(const struct wire_env *e, unsigned int port)
{
	struct hop_stats s;

	hop_stats(e->w->hop[0], port, &s);
	return s;
}

/* |n| packets came out at port 1, in order. */
static void assert_in_order(const struct wire_env *e, uint32_t n)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < e->outs; i++)
		if (e->out[i].to == 1)
			assert_int_equal(e->out[i].number, next++);
	assert_int_equal(next, n);
}

static void times_are_those_of_slots(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, RIFL);

	(void)state;
	env_send(e, 0, BYTES, 5000, 0);
	env_send(e, 0, BYTES, 5000, 1);
	env_drain(e);
	assert_int_equal(e->outs, 2);
	assert_int_equal(e->out[0].at, (SEGMENTS - 1 + DELAY_SLOTS) * SLOT);
	assert_int_equal(e->out[1].at, (2 * SEGMENTS - 1 + DELAY_SLOTS) * SLOT);
	/* The second is on the wire when the last frame of the first is. */
	assert_int_equal(env_stats(e)->wait.max, (SEGMENTS - 1) * SLOT);
	assert_int_equal(env_stats(e)->delay.max, e->out[1].at);
	assert_int_equal(stats_of(e, 1).damaged + stats_of(e, 1).retransmissions, 0);
	/* After a rest the clock of the slots begins with the packet. */
	e->now = 123456789;
	env_send(e, 0, BYTES, 5000, 2);
	env_drain(e);
	assert_int_equal(e->out[2].at, 123456789 + (SEGMENTS - 1 + DELAY_SLOTS) * SLOT);
	env_close(e);
}

/* Both ways at once, which is what an error stops. */
static void errors_lose_nothing(void **state)
{
	struct wire_env *e = env_open(2, 1, 7, "rifl=256 rate=1gbit delay=1us ber=1e-5 queue=2000p");
	struct hop_stats s;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		env_send(e, 0, 64 + i, 5000, i);
		env_send(e, 1, 1500 - i, 5000, i);
		env_run(e, e->now + 9000);
	}
	env_drain(e);
	assert_int_equal(e->outs, 2000);
	assert_in_order(e, 1000);
	for (unsigned int port = 0; port < 2; port++) {
		s = stats_of(e, port);
		/* At least 17 000 frames of 256 bits. */
		assert_in_range(s.damaged, 20, 400);
		assert_true(s.errors >= s.damaged / 2);
		assert_in_range(s.retransmissions, 10, s.damaged);
		assert_int_equal(s.altered + s.restarts, 0);
		assert_int_equal(e->w->link[port][0].stats.bit_errors, 0);
		assert_int_equal(e->w->link[port][0].stats.delivered, 1000);
	}
	wire_reset_stats(e->w);
	s = stats_of(e, 1);
	assert_int_equal(s.frames + s.damaged + s.errors + s.retransmissions, 0);
	env_close(e);
}

static void ethernet_loses_what_has_an_error(void **state)
{
	struct wire_env *e = env_open(2, 1, 7, "ber=1e-5");
	uint32_t frame;

	(void)state;
	env_volley(e, 2000, BYTES, 1000);
	/* 8032 bits with the FCS: 7.7 %. */
	assert_in_range(env_stats(e)->bit_errors, 110, 200);
	assert_int_equal(e->outs, 2000 - env_stats(e)->bit_errors);
	/* But nothing that is no flow. */
	e->outs = 0;
	for (uint32_t i = 0; i < 1000; i++) {
		frame = env_frame(e, BYTES);
		env_packet(pool_data(&e->pool, frame), BYTES, 5000, i);
		pool_data(&e->pool, frame)[0] = 1;
		wire_input(e->w, 0, 0, frame, e->now);
	}
	assert_int_equal(e->outs, 1000);
	env_close(e);
}

/* One on the wire, and as many waiting as the limit says. */
static void queue_holds_what_its_limit_says(void **state)
{
	static const struct {
		const char *limit;
		uint32_t fit;
	} cases[] = {
		{ RIFL "queue=0p", 1 }, { RIFL "queue=999", 1 },
		{ RIFL "queue=1000", 2 }, { RIFL "queue=7p", 8 },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++)
		env_assert_fit(cases[i].limit, cases[i].fit);
}

/* What happens, and when, does not depend on when falcon-wire gets to it. */
static void results_do_not_depend_on_when_slots_are_run(void **state)
{
	struct wire_env *exact = env_open(2, 1, 3, RIFL "ber=2e-5 queue=2000p");
	struct wire_env *late = env_open(2, 1, 3, RIFL "ber=2e-5 queue=2000p");

	(void)state;
	for (uint32_t i = 0; i < 500; i++) {
		env_send(exact, i % 3 == 0, BYTES, 5000, i);
		env_run(exact, exact->now + 7777);
		env_send(late, i % 3 == 0, BYTES, 5000, i);
		late->now += 7777;
	}
	env_drain(exact);
	env_drain(late);
	for (unsigned int port = 0; port < 2; port++) {
		const struct link_stats *a = &exact->w->link[port][0].stats;
		const struct link_stats *b = &late->w->link[port][0].stats;
		struct hop_stats s = stats_of(exact, port), t = stats_of(late, port);

		assert_true(s.retransmissions > 0);
		assert_int_equal(a->delivered, b->delivered);
		assert_int_equal(a->delay.sum, b->delay.sum);
		assert_int_equal(a->wait.sum, b->wait.sum);
		assert_memory_equal(&s, &t, sizeof(s));
	}
	env_close(exact);
	env_close(late);
}

static void failure_loses_what_is_under_way(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, RIFL "queue=100p");

	(void)state;
	for (uint32_t n = 0; n < 10; n++)
		env_send(e, 0, BYTES, 5000, n);
	env_run(e, (2 * SEGMENTS - 1 + DELAY_SLOTS) * SLOT);
	assert_int_equal(e->outs, 2);
	env_set_down(e, true);
	env_send(e, 0, BYTES, 5000, 10);
	env_drain(e);
	assert_int_equal(e->outs, 2);
	assert_int_equal(env_stats(e)->down, 9);
	env_set_down(e, false);
	env_send(e, 0, BYTES, 5000, 2);
	env_drain(e);
	assert_in_order(e, 3);
	env_assert_idle(e);
	env_close(e);
}

/* One end alone begins anew, as if it had taken a frame for another: the ends are made to agree again. */
static void ends_that_disagree_begin_again(void **state)
{
	struct wire_env *e = env_open(2, 1, 5, RIFL "queue=100p");
	uint64_t came;

	(void)state;
	for (uint32_t n = 0; n < 50; n++)
		env_send(e, 0, BYTES, 5000, n);
	env_run(e, 5 * SEGMENTS * SLOT);
	rifl_lane_reset(&e->w->hop[0]->rifl.way[1].lane);
	env_drain(e);
	assert_int_equal(stats_of(e, 1).restarts, 1);
	assert_int_equal(env_stats(e)->bit_errors + env_stats(e)->delivered, 50);
	came = env_stats(e)->delivered;
	e->outs = 0;
	for (uint32_t n = 0; n < 3; n++)
		env_send(e, 0, BYTES, 5000, n);
	env_drain(e);
	assert_in_order(e, 3);
	assert_int_equal(env_stats(e)->delivered, came + 3);
	env_assert_idle(e);
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_those_of_slots),
		cmocka_unit_test(errors_lose_nothing),
		cmocka_unit_test(ethernet_loses_what_has_an_error),
		cmocka_unit_test(queue_holds_what_its_limit_says),
		cmocka_unit_test(results_do_not_depend_on_when_slots_are_run),
		cmocka_unit_test(failure_loses_what_is_under_way),
		cmocka_unit_test(ends_that_disagree_begin_again),
	};

	return unit_run(tests);
}
