// SPDX-License-Identifier: BSD-2-Clause
/* Two ends of a lane over wires with errors at chosen places: all arrives, in order, once, as it was sent. */
#include "rifl_env.h"

static struct env e;

/* What was sent before arrives within |slots|, and nothing came to harm in between. */
static void assert_drains(uint64_t slots)
{
	e.limit = 0;
	env_run(&e, slots);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(e.got[i], e.sent[!i]);
		assert_int_equal(e.end[i].stats.fc_overflows, 0);
		assert_int_equal(rifl_lane_state(&e.end[i]), RIFL_STATE_NORMAL);
	}
}

static void without_errors(void **state)
{
	uint64_t before;

	(void)state;
	env_open(&e);
	env_up(&e);
	/* It begins with a procedure of each end. */
	for (int i = 0; i < 2; i++)
		e.end[i].stats = (struct rifl_stats){ .procedures = e.end[i].stats.procedures - 1 };
	before = e.got[0];
	env_run(&e, 1000);
	assert_int_equal(e.got[0] - before, 1000);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(e.end[i].stats.errors, 0);
		assert_int_equal(e.end[i].stats.procedures, 0);
		assert_int_equal(e.end[i].stats.sent[RIFL_STATE_SEND_RETRANS], 0);
	}
	assert_drains(20);
	env_close(&e);
}

/* Each bit of a frame, from each end: one procedure for one error. */
static void each_bit(void **state)
{
	(void)state;
	for (uint32_t bit = 0; bit < ENV_BITS; bit++) {
		uint32_t from = bit % 2;

		env_open(&e);
		env_up(&e);
		env_hit_bit(&e, e.slot + 3, from, bit);
		env_run(&e, 50);
		assert_drains(300);
		assert_int_equal(e.end[from].stats.procedures, 2);
		assert_int_equal(e.end[!from].stats.procedures, 1);
		assert_int_equal(e.end[!from].stats.sync_lost, bit < 2);
		env_close(&e);
	}
}

/*
 * A second error at any distance, in the same or in the other direction; and a third, in the frame that
 * answers or repeats. So errors meet each slot of a procedure, with the other end in each of its states.
 */
static void errors_at_any_distance(void **state)
{
	(void)state;
	for (uint32_t distance = 0; distance < 260; distance++) {
		for (uint32_t way = 0; way < 4; way++) {
			env_open(&e);
			env_up(&e);
			env_hit_bit(&e, e.slot + 3, 0, 20 + distance % 100);
			env_hit_bit(&e, e.slot + 3 + distance, way & 1, 1 + distance % 120);
			if (way & 2)
				env_hit_bit(&e, e.slot + 3 + 2 * distance, distance & 1, 50);
			env_run(&e, 160);
			assert_drains(700);
			env_close(&e);
		}
	}
}

/* The same frame, and all that repeat it, until the errors end. */
static void errors_in_a_row(void **state)
{
	(void)state;
	for (uint32_t n = 1; n < 60; n++) {
		env_open(&e);
		env_up(&e);
		for (uint32_t k = 0; k < n; k++)
			env_hit_bit(&e, e.slot + 3 + k, n % 3 ? 0 : k % 2, 2 + (k * 7 + n) % 126);
		env_run(&e, 100);
		assert_drains(500);
		env_close(&e);
	}
}

/* Errors from the first slot on, while the link comes up. */
static void errors_at_the_beginning(void **state)
{
	(void)state;
	for (uint64_t slot = 0; slot < 160; slot++) {
		env_open(&e);
		env_hit_bit(&e, slot, slot & 1, 40);
		env_hit_bit(&e, slot + 9, !(slot & 1), slot % 2);
		env_run(&e, 400);
		assert_true(e.got[0] > 0 && e.got[1] > 0);
		assert_drains(500);
		env_close(&e);
	}
}

/* The same far away, where many requests fit between the error and the first data frame. */
static void errors_at_the_beginning_far_away(void **state)
{
	(void)state;
	for (uint64_t slot = 60; slot < 300; slot++) {
		env_open_far(&e, ENV_DELAY_MAX);
		env_hit_bit(&e, slot, slot & 1, 60);
		env_run(&e, 1300);
		assert_true(e.got[0] > 0 && e.got[1] > 0);
		assert_drains(200);
		env_close(&e);
	}
}

/* Nothing is read: the sender stops before the buffer is full, and goes on when there is room. */
static void nobody_reads(void **state)
{
	(void)state;
	for (uint32_t bad = 0; bad < 80; bad++) {
		env_open(&e);
		env_up(&e);
		e.reader_stops[1] = true;
		/* An error near the pause, in one or in the other direction. */
		env_hit_bit(&e, e.slot + bad, bad & 1, 60);
		env_run(&e, 400);
		assert_true(e.end[1].fc_count > e.end[1].cfg.fc_frames / 3 * 2);
		assert_int_equal(e.end[1].stats.fc_overflows, 0);
		assert_int_equal(e.sent[0], e.got[1] + e.end[1].fc_count);
		e.reader_stops[1] = false;
		env_run(&e, 60);
		assert_true(e.sent[0] > e.got[1]);
		assert_drains(400);
		env_close(&e);
	}
}

/* Errors at random, of one bit, in both directions. */
static void errors_at_random(void **state)
{
	uint64_t rng = 7;

	(void)state;
	for (uint32_t n = 0; n < 150; n++) {
		env_open(&e);
		env_up(&e);
		for (uint32_t k = 0; k < ENV_HITS; k++) {
			uint64_t slot = e.slot + unit_random(&rng) % 500;

			env_hit_bit(&e, slot, unit_random(&rng) % 2, unit_random(&rng) % ENV_BITS);
		}
		env_run(&e, 500);
		assert_drains(600);
		env_close(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_errors),
		cmocka_unit_test(each_bit),
		cmocka_unit_test(errors_at_any_distance),
		cmocka_unit_test(errors_in_a_row),
		cmocka_unit_test(errors_at_the_beginning),
		cmocka_unit_test(errors_at_the_beginning_far_away),
		cmocka_unit_test(nobody_reads),
		cmocka_unit_test(errors_at_random),
	};

	return unit_run(tests);
}
