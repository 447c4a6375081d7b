// SPDX-License-Identifier: BSD-2-Clause
/* The priority of a thread that carries packets, against a kernel that grants it up to some level. */
#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <agent/process/priority.h>

struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static enum priority_level grants;	/* the highest that the kernel grants */
static struct attributes had;		/* those of the thread */
static unsigned int calls;

static enum priority_level level_of(const struct attributes *a)
{
	if (a->policy == SCHED_RR)
		return PRIORITY_REALTIME;
	return a->nice == -20 ? PRIORITY_HIGH : PRIORITY_NORMAL;
}

long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
	const struct attributes *a;
	va_list args;

	va_start(args, number);
	assert_int_equal(number, SYS_sched_setattr);
	assert_int_equal(va_arg(args, int), 0);
	a = va_arg(args, const struct attributes *);
	va_end(args);
	assert_int_equal(a->size, sizeof(*a));
	calls++;
	if (level_of(a) > grants) {
		errno = EPERM;
		return -1;
	}
	had = *a;
	return 0;
}

static void each_level_is_what_it_says(void **state)
{
	struct priority p;

	(void)state;
	for (enum priority_level level = PRIORITY_NORMAL; level < PRIORITY_LEVELS; level++) {
		had = (struct attributes){};
		assert_int_equal(priority_take(&p, level, 1), 0);
		assert_int_equal(priority_granted(&p), level);
		assert_int_equal(had.policy, level == PRIORITY_REALTIME ? SCHED_RR : SCHED_OTHER);
		assert_int_equal(had.priority, level == PRIORITY_REALTIME);
		assert_int_equal(had.runtime, level == PRIORITY_REALTIME ? 0 : 100000);
		/* Threads that it starts have none of it. */
		assert_int_equal(had.flags, 1);
		assert_int_equal(level_of(&had), level);
	}
}

static void what_is_refused_is_said(void **state)
{
	struct priority p;

	(void)state;
	grants = PRIORITY_HIGH;
	assert_int_equal(priority_take(&p, PRIORITY_REALTIME, 1), -EPERM);
	assert_int_equal(priority_granted(&p), PRIORITY_HIGH);
	assert_int_equal(had.nice, -20);
	grants = PRIORITY_NORMAL;
	assert_int_equal(priority_take(&p, PRIORITY_REALTIME, 1), -EPERM);
	assert_int_equal(priority_granted(&p), PRIORITY_NORMAL);
	assert_int_equal(priority_take(&p, PRIORITY_HIGH, 1), -EPERM);
	assert_int_equal(priority_granted(&p), PRIORITY_NORMAL);
	assert_int_equal(priority_take(&p, PRIORITY_NORMAL, 1), 0);
}

static void real_time_is_bounded(void **state)
{
	struct priority p;
	uint64_t now = 1ULL << 40;

	(void)state;
	priority_take(&p, PRIORITY_REALTIME, now);
	assert_false(priority_ran(&p, now += PRIORITY_BURST_NS - 2));
	assert_int_equal(level_of(&had), PRIORITY_REALTIME);
	assert_true(priority_ran(&p, now += 2));
	assert_int_equal(level_of(&had), PRIORITY_HIGH);
	/* Nothing is left, so it sleeps as it is. */
	priority_sleeps(&p);
	assert_int_equal(level_of(&had), PRIORITY_HIGH);
	priority_slept(&p, now += 2000);
	priority_sleeps(&p);
	assert_int_equal(level_of(&had), PRIORITY_REALTIME);
	/* The half of the time that it has slept, and that is all. */
	priority_slept(&p, now += 2000);
	assert_false(priority_ran(&p, now += 3998));
	assert_true(priority_ran(&p, now += 2));
	/* What it did not use it does not keep for ever. */
	priority_slept(&p, now += 1ULL << 50);
	priority_sleeps(&p);
	assert_true(priority_ran(&p, now += PRIORITY_BURST_NS));
}

static void half_of_the_time_at_most(void **state)
{
	struct priority p;
	uint64_t now = 1ULL << 40, raised = 0;

	(void)state;
	priority_take(&p, PRIORITY_REALTIME, now);
	/* A peer that has something for it whenever it is about to sleep. */
	for (int i = 0; i < 100000; i++) {
		raised += p.raised ? 10000 : 0;
		priority_ran(&p, now += 10000);
		priority_sleeps(&p);
		priority_slept(&p, now += 1);
	}
	assert_in_range(raised, 450000000, 510000000);
}

static void it_spins_like_others(void **state)
{
	struct priority p;

	(void)state;
	priority_take(&p, PRIORITY_REALTIME, 1);
	priority_spins(&p);
	assert_int_equal(level_of(&had), PRIORITY_HIGH);
	calls = 0;
	priority_spins(&p);
	assert_int_equal(calls, 0);
	priority_sleeps(&p);
	assert_int_equal(level_of(&had), PRIORITY_REALTIME);
	assert_int_equal(calls, 1);
	/* Beyond its bounds it has what it may have. */
	grants = PRIORITY_NORMAL;
	priority_spins(&p);
	assert_int_equal(level_of(&had), PRIORITY_NORMAL);
}

static void other_levels_cost_nothing(void **state)
{
	struct priority p;

	(void)state;
	for (enum priority_level level = PRIORITY_NORMAL; level < PRIORITY_REALTIME; level++) {
		priority_take(&p, level, 1);
		calls = 0;
		assert_false(priority_ran(&p, 1ULL << 40));
		priority_spins(&p);
		priority_sleeps(&p);
		priority_slept(&p, 1ULL << 41);
		assert_int_equal(calls, 0);
	}
}

static int grant_all(void **state)
{
	(void)state;
	grants = PRIORITY_REALTIME;
	return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, grant_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_level_is_what_it_says),
		TEST(what_is_refused_is_said),
		TEST(real_time_is_bounded),
		TEST(half_of_the_time_at_most),
		TEST(it_spins_like_others),
		TEST(other_levels_cost_nothing),
	};

	return unit_run(tests);
}
