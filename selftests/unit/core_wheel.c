// SPDX-License-Identifier: BSD-2-Clause
/* The timing wheel: nothing fires early, nothing late, nothing is forgotten however far away. */
#include "unit.h"

#include <stdbool.h>
#include <string.h>

#include <core/wheel.h>

enum { WHEEL_TIMERS = 300, TICK = 1 << FC_WHEEL_TICK_SHIFT };

struct probe {
	struct fc_timer t;
	uint64_t deadline, fired;
};

static struct fc_wheel wheel;
static struct probe probes[WHEEL_TIMERS];
static uint64_t fired;

static void reset(uint64_t now)
{
	memset(&wheel, 0, sizeof(wheel));
	memset(probes, 0, sizeof(probes));
	fired = 0;
	wheel.tick = now >> FC_WHEEL_TICK_SHIFT;
}

static void note(void *arg, struct fc_timer *t, uint64_t now)
{
	struct probe *p = (struct probe *)t;

	assert_ptr_equal(arg, &wheel);
	assert_false(fc_timer_armed(t));
	assert_true(now >= p->deadline);
	p->fired = now;
	fired++;
}

static void advance(uint64_t now)
{
	fc_wheel_advance(&wheel, now, note, &wheel);
}

static void arm(int i, uint64_t deadline)
{
	probes[i].deadline = deadline;
	probes[i].fired = 0;
	fc_timer_arm(&wheel, &probes[i].t, deadline);
}

static void empty(void **state)
{
	(void)state;
	reset(0);
	assert_int_equal(fc_wheel_next(&wheel), UINT64_MAX);
	advance(123456789);
	assert_int_equal(fired, 0);
}

static void fires_once_and_on_time(void **state)
{
	static const uint64_t after[] = {
		1, TICK - 1, TICK, TICK + 1, 63 * TICK, 64 * TICK, 65 * TICK, 4096 * TICK,
		4097 * TICK, 262144ULL * TICK, 1000000007ULL, 3600000000000ULL,
	};
	static const uint64_t start[] = { 0, 63 * TICK, 64 * TICK - 1, 12345678901234ULL,
					  (1ULL << 40) - 1 };

	(void)state;
	for (uint32_t s = 0; s < ARRAY_SIZE(start); s++) {
		for (uint32_t i = 0; i < ARRAY_SIZE(after); i++) {
			uint64_t due = start[s] + after[i];

			reset(start[s]);
			arm(0, due);
			assert_true(fc_wheel_next(&wheel) <= due + TICK);
			advance(due - 1);
			assert_int_equal(fired, 0);
			advance(due + TICK);
			assert_int_equal(fired, 1);
			advance(due + 100 * TICK);
			assert_int_equal(fired, 1);
			assert_int_equal(fc_wheel_next(&wheel), UINT64_MAX);
		}
	}
}

/* The last deadline there is. */
static void farthest(void **state)
{
	(void)state;
	reset(1000);
	arm(0, UINT64_MAX);
	advance(UINT64_MAX - 2 * TICK);
	assert_int_equal(fired, 0);
	assert_true(fc_timer_armed(&probes[0].t));
}

/* Following fc_wheel_next() reaches every timer in few steps. */
static void next_leads_there(void **state)
{
	uint64_t due = 987654321987ULL, now;
	int steps = 0;

	(void)state;
	reset(1000);
	arm(0, due);
	while (!fired) {
		now = fc_wheel_next(&wheel);
		assert_true(now < due + TICK);
		advance(now);
		assert_true(++steps <= FC_WHEEL_LEVELS);
	}
	assert_true(probes[0].fired >= due);
}

static void past_deadline(void **state)
{
	(void)state;
	reset(5000 * TICK);
	arm(0, 17);
	assert_true(fc_wheel_next(&wheel) <= 5001 * TICK);
	advance(5001 * TICK);
	assert_int_equal(fired, 1);
}

static void moved_and_cancelled(void **state)
{
	(void)state;
	reset(0);
	arm(0, 100 * TICK);
	arm(0, 10 * TICK);
	advance(20 * TICK);
	assert_int_equal(fired, 1);
	advance(200 * TICK);
	assert_int_equal(fired, 1);

	arm(1, 300 * TICK);
	fc_timer_arm_earlier(&wheel, &probes[1].t, 400 * TICK);
	fc_timer_arm_earlier(&wheel, &probes[1].t, 250 * TICK);
	probes[1].deadline = 250 * TICK;
	advance(250 * TICK);
	assert_int_equal(fired, 2);

	arm(2, 500 * TICK);
	fc_timer_cancel(&wheel, &probes[2].t);
	fc_timer_cancel(&wheel, &probes[2].t);
	advance(1000 * TICK);
	assert_int_equal(fired, 2);
}

/* Random timers against a plain list, across every level boundary. */
static void against_a_list(void **state)
{
	uint64_t random = 7, now = (1ULL << 36) - 50 * TICK;

	(void)state;
	reset(now);
	for (int step = 0; step < 20000; step++) {
		int i = (int)(unit_random(&random) % WHEEL_TIMERS);
		uint64_t span = 1ULL << (unit_random(&random) % 34);

		if (unit_random(&random) % 8)
			arm(i, now + unit_random(&random) % span);
		else
			fc_timer_cancel(&wheel, &probes[i].t);
		if (step % 4)
			continue;
		now += unit_random(&random) % (1ULL << (unit_random(&random) % 30));
		advance(now);
		for (int n = 0; n < WHEEL_TIMERS; n++)
			if (fc_timer_armed(&probes[n].t))
				assert_true(probes[n].deadline + TICK > now);
	}
	assert_true(fired > 5000);
}

static void rearm(void *arg, struct fc_timer *t, uint64_t now)
{
	fired++;
	if (fired < 10)
		fc_timer_arm(arg, t, now);
}

/* Armed from its own expiry for "now", a timer comes with the next tick, not in a loop. */
static void rearmed_while_firing(void **state)
{
	(void)state;
	reset(0);
	fc_timer_arm(&wheel, &probes[0].t, TICK);
	for (uint64_t tick = 1; tick <= 20; tick++)
		fc_wheel_advance(&wheel, tick * TICK, rearm, &wheel);
	assert_int_equal(fired, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(fires_once_and_on_time),
		cmocka_unit_test(farthest),
		cmocka_unit_test(next_leads_there),
		cmocka_unit_test(past_deadline),
		cmocka_unit_test(moved_and_cancelled),
		cmocka_unit_test(against_a_list),
		cmocka_unit_test(rearmed_while_firing),
	};

	return unit_run(tests);
}
