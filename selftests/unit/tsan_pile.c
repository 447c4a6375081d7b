// SPDX-License-Identifier: BSD-2-Clause
/* Piles of frames between threads: nothing is lost or comes twice, what one thread puts stays in order. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <io/pile.h>

enum { THREADS = 3, FRAMES = 30000, CHAIN_MAX = 5 };

static struct pile pile;
static struct xsk_frame frames[THREADS][FRAMES];

static int fresh(void **state)
{
	(void)state;
	pile = (struct pile){};
	for (uint32_t t = 0; t < THREADS; t++)
		for (uint32_t i = 0; i < FRAMES; i++)
			frames[t][i] = (struct xsk_frame){ .len = t, .index = i };
	return 0;
}

/* Put frames[t][first] to [first + n - 1], in this order. */
static bool put_chain(uint32_t t, uint32_t first, uint32_t n)
{
	for (uint32_t i = first + 1; i < first + n; i++)
		frames[t][i].next = &frames[t][i - 1];
	return pile_put(&pile, &frames[t][first + n - 1], &frames[t][first]);
}

static void order(void **state)
{
	struct xsk_frame *f;

	(void)state;
	assert_true(pile_empty(&pile));
	assert_null(pile_take(&pile));
	put_chain(0, 0, 3);
	put_chain(0, 3, 1);
	put_chain(0, 4, 4);
	assert_false(pile_empty(&pile));
	f = pile_oldest_first(pile_take(&pile));
	for (uint32_t i = 0; i < 8; i++, f = f->next) {
		assert_non_null(f);
		assert_int_equal(f->index, i);
	}
	assert_null(f);
	assert_true(pile_empty(&pile));
	assert_null(pile_oldest_first(NULL));
}

static void wanted(void **state)
{
	(void)state;
	assert_false(put_chain(0, 0, 1));
	pile_want(&pile, true);
	assert_true(put_chain(0, 1, 1));
	pile_want(&pile, false);
	assert_false(put_chain(0, 2, 1));
}

static void *put_all(void *arg)
{
	uint32_t t = *(uint32_t *)arg, n;

	for (uint32_t i = 0; i < FRAMES; i += n) {
		n = 1 + i % CHAIN_MAX;
		if (n > FRAMES - i)
			n = FRAMES - i;
		put_chain(t, i, n);
	}
	return NULL;
}

static void many_threads(void **state)
{
	uint32_t number[THREADS], next[THREADS] = { 0 }, total = 0;
	pthread_t thread[THREADS];

	(void)state;
	for (uint32_t t = 0; t < THREADS; t++) {
		number[t] = t;
		assert_int_equal(pthread_create(&thread[t], NULL, put_all, &number[t]), 0);
	}
	while (total < THREADS * FRAMES) {
		struct xsk_frame *f = pile_oldest_first(pile_take(&pile));

		if (!f)
			sched_yield();
		for (; f; f = f->next, total++)
			assert_int_equal(f->index, next[f->len]++);
	}
	for (uint32_t t = 0; t < THREADS; t++) {
		pthread_join(thread[t], NULL);
		assert_int_equal(next[t], FRAMES);
	}
	assert_true(pile_empty(&pile));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(order, fresh),
		cmocka_unit_test_setup(wanted, fresh),
		cmocka_unit_test_setup(many_threads, fresh),
	};

	return unit_run(tests);
}
