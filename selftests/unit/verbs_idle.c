// SPDX-License-Identifier: BSD-2-Clause
/* What a thread does that polls and finds nothing. Times are ns. */
#include "unit.h"

#include <verbs/idle.h>

enum {
	POLL = 60,		/* what an empty poll takes */
	NOTHING = 200,
	FEW = 100000,
};

static struct fv_idle spell;
static uint64_t now;

/* The thread was away for |away|, and polls: what comes of it. A yield takes |yield|. */
static enum fv_idle_act polled(uint64_t away, uint64_t yield, uint32_t linger)
{
	enum fv_idle_act act = fv_idle_enter(&spell, now += away, NOTHING, linger);

	now += act == FV_IDLE_YIELD ? yield : POLL;
	fv_idle_leave(&spell, now, false);
	return act;
}

/* How many of |n| polls nap. */
static unsigned int naps(unsigned int n, uint64_t away, uint64_t yield, uint32_t linger)
{
	unsigned int found = 0;

	while (n--)
		found += polled(away, yield, linger) == FV_IDLE_NAP;
	return found;
}

static int setup(void **state)
{
	(void)state;
	spell = (struct fv_idle){ 0 };
	now = 1000000;
	return 0;
}

static void first_polls_cost_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 7; i++)
		assert_int_equal(polled(20, 300, 0), FV_IDLE_GO);
	assert_int_not_equal(polled(20, 300, 0), FV_IDLE_GO);
}

static void nothing_but_polling_naps(void **state)
{
	(void)state;
	assert_int_equal(naps(7, 20, 300, FEW), 0);
	/* It yields for as long as it lingers, then each poll naps. */
	while (now - spell.since + 20 < FEW)
		assert_int_equal(polled(20, 300, FEW), FV_IDLE_YIELD);
	assert_int_equal(naps(1000, 20, 300, FEW), 1000);
}

/* As one that drains its queues for each page that it copies: it never waits for them. */
static void work_between_polls_does_not(void **state)
{
	(void)state;
	for (int page = 0; page < 1000; page++) {
		assert_int_not_equal(polled(1000, 300, 0), FV_IDLE_NAP);
		assert_int_not_equal(polled(20, 300, 0), FV_IDLE_NAP);
	}
	assert_int_equal(naps(1000, 50000, 300, 0), 0);
	/* Others have the CPU while it yields: that is not its work, and does not hide it. */
	assert_int_equal(naps(1000, 500, 100000, 0), 0);
	/* Once it does nothing else any more, that is forgotten within some polls. */
	assert_in_range(naps(1000, 20, 300, 0), 800, 999);
}

/* As an event loop that has several queues to look at. */
static void several_queues_are_one_spell(void **state)
{
	unsigned int found = 0;

	(void)state;
	for (int turn = 0; turn < 1000; turn++)
		found += naps(1, 400, 300, 0) + naps(3, 30, 300, 0);
	assert_in_range(found, 3900, 4000);
}

static void completion_or_post_ends_it(void **state)
{
	(void)state;
	naps(1000, 20, 300, 0);
	assert_int_equal(polled(20, 300, 0), FV_IDLE_NAP);
	fv_idle_end(&spell);
	assert_int_equal(naps(7, 20, 300, FEW), 0);
	assert_int_equal(polled(20, 300, FEW), FV_IDLE_YIELD);
	/* What it was away for before does not count. */
	fv_idle_end(&spell);
	now += 1000000000;
	assert_int_equal(naps(1000, 20, 300, 0), 993);
}

/* A nap that began at once and took |took|. */
static void napped(uint64_t took)
{
	fv_idle_end(&spell);
	fv_idle_enter(&spell, now, NOTHING, 0);
	fv_idle_leave(&spell, now += took, true);
}

static void lingers_where_it_pays(void **state)
{
	(void)state;
	for (uint32_t linger = 4000; linger <= 32000; linger *= 2) {
		napped(10000);
		assert_int_equal(spell.linger, linger);
	}
	napped(10000);
	assert_int_equal(spell.linger, 32000);
	for (uint32_t linger = 16000; linger >= 4000; linger /= 2) {
		napped(100000);
		assert_int_equal(spell.linger, linger);
	}
	napped(100000);
	assert_int_equal(spell.linger, 0);
	/* By default a spell lasts as long. */
	napped(10000);
	fv_idle_end(&spell);
	assert_int_equal(naps(7, 20, 300, 0), 0);
	while (now - spell.since + 20 < 4000)
		assert_int_equal(polled(20, 300, 0), FV_IDLE_YIELD);
	assert_int_equal(polled(20, 300, 0), FV_IDLE_NAP);
}

static void nothing_is_measured(void **state)
{
	uint32_t nothing = fv_idle_nothing();

	(void)state;
	assert_true(nothing >= 100);
	assert_int_equal(fv_idle_nothing(), nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(first_polls_cost_nothing, setup),
		cmocka_unit_test_setup(nothing_but_polling_naps, setup),
		cmocka_unit_test_setup(work_between_polls_does_not, setup),
		cmocka_unit_test_setup(several_queues_are_one_spell, setup),
		cmocka_unit_test_setup(completion_or_post_ends_it, setup),
		cmocka_unit_test_setup(lingers_where_it_pays, setup),
		cmocka_unit_test(nothing_is_measured),
	};

	return unit_run(tests);
}
