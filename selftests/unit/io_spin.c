// SPDX-License-Identifier: BSD-2-Clause
/* user/base/spin.h: when a wait may go on spinning. */
#include "unit.h"

#include "base/spin.h"

static void spin_once__ends_with_its_time(void **state)
{
	uint64_t now = spin_clock();
	/* One each: this machine, too, may be contended. */
	struct spin s[3] = { 0 };

	(void)state;
	assert_true(spin_once(&s[0], now, now));
	assert_true(spin_once(&s[1], now - SPIN_NS + 1, now));
	assert_false(spin_once(&s[2], now - SPIN_NS, now));
}

static void spin_once__holds_after_contention(void **state)
{
	uint64_t now = spin_clock();
	struct spin s = { .hold_until = now + 1 };

	(void)state;
	assert_false(spin_once(&s, now, now));
	assert_true(spin_once(&s, now + 1, now + 1));
}

/* A yield that, as far as the caller's clock tells, took a time slice. */
static void spin_once__learns_from_a_long_yield(void **state)
{
	uint64_t now = spin_clock() - SPIN_YIELD_MAX_NS - 1;
	struct spin s = { 0 };

	(void)state;
	assert_true(spin_once(&s, now, now));
	assert_true(s.hold_until > now + SPIN_HOLD_NS);
	assert_false(spin_once(&s, s.hold_until - 1, s.hold_until - 1));
	assert_true(spin_once(&s, s.hold_until, s.hold_until));
}

/* Short sleeps are spun through the next time, up to a limit; long ones, and timers, are not. */
static void spin_slept__adapts(void **state)
{
	uint64_t now = spin_clock();
	struct spin s = { 0 };

	(void)state;
	spin_slept(&s, SPIN_NS, false);
	assert_int_equal(s.more, 0);
	spin_slept(&s, SPIN_NS, true);
	assert_true(spin_once(&s, now - SPIN_NS, now));
	for (int i = 0; i < 10; i++)
		spin_slept(&s, SPIN_MAX_NS - 1, true);
	assert_int_equal(s.more, SPIN_MAX_NS - SPIN_NS);
	for (int i = 0; i < 40; i++)
		spin_slept(&s, SPIN_MAX_NS, true);
	assert_int_equal(s.more, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spin_once__ends_with_its_time),
		cmocka_unit_test(spin_once__holds_after_contention),
		cmocka_unit_test(spin_once__learns_from_a_long_yield),
		cmocka_unit_test(spin_slept__adapts),
	};

	return unit_run(tests);
}
