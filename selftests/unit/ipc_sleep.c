// SPDX-License-Identifier: BSD-2-Clause
/*
 * The handshake of those who sleep: what each function does to the word, and that of a sleeper and a waker
 * who meet, one sees the other. Two threads run into each round together, for where both have a CPU, some
 * rounds in a thousand would be missed without the barriers.
 */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "ipc/sleep.h"

enum {
	ROUNDS = 50000,
	PATIENCE = 1000,	/* looks before the CPU is given away: the other may need it */
};

/* What a round needs is on lines of its own, so that stores wait in their buffers. */
struct round {
	uint32_t word FALCON_ALIGNED;		/* the announcement, or a count of sleepers */
	uint32_t work FALCON_ALIGNED;		/* 1: published */
	bool seen FALCON_ALIGNED;		/* the sleeper saw the work */
	bool claimed FALCON_ALIGNED;		/* the waker saw the announcement */
};

static struct round rounds[ROUNDS];
static uint32_t at[2] FALCON_ALIGNED;		/* the round that each thread has come to */

/* Go into round |i| together with the other thread. */
static void meet(int self, uint32_t i)
{
	uint32_t looks = 0;

	falcon_store(&at[self], i + 1);
	while (falcon_load(&at[!self]) <= i)
		if (++looks % PATIENCE == 0)
			sched_yield();
}

static void *announces(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		meet(0, i);
		sleep_announce(&rounds[i].word);
		rounds[i].seen = falcon_load(&rounds[i].work);
	}
	return NULL;
}

static void *enters(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		meet(0, i);
		sleep_enter(&rounds[i].word);
		rounds[i].seen = falcon_load(&rounds[i].work);
	}
	return NULL;
}

/* How the waker publishes and looks. */
static bool stores(struct round *r)
{
	falcon_store(&r->work, 1U);
	return sleep_claim(&r->word);
}

static bool modifies(struct round *r)
{
	__atomic_fetch_or(&r->work, 1U, __ATOMIC_SEQ_CST);
	return sleep_claim_after_rmw(&r->word);
}

static bool counts(struct round *r)
{
	falcon_store(&r->work, 1U);
	return sleep_any(&r->word);
}

/* Returns how many rounds there were in which neither saw the other. */
static unsigned int missed(void *(*sleeper)(void *arg), bool (*waker)(struct round *r))
{
	unsigned int n = 0;
	pthread_t thread;

	memset(rounds, 0, sizeof(rounds));
	memset(at, 0, sizeof(at));
	assert_int_equal(pthread_create(&thread, NULL, sleeper, NULL), 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		meet(1, i);
		rounds[i].claimed = waker(&rounds[i]);
	}
	pthread_join(thread, NULL);
	for (uint32_t i = 0; i < ROUNDS; i++)
		n += !rounds[i].seen && !rounds[i].claimed;
	return n;
}

static void nobody_is_missed(void **state)
{
	(void)state;
	assert_int_equal(missed(announces, stores), 0);
}

static void nobody_is_missed__after_an_atomic_publication(void **state)
{
	(void)state;
	assert_int_equal(missed(announces, modifies), 0);
}

static void nobody_is_missed__of_many(void **state)
{
	(void)state;
	assert_int_equal(missed(enters, counts), 0);
}

static void one_signal_a_sleep(void **state)
{
	uint32_t word = 0;

	(void)state;
	assert_false(sleep_claim(&word));
	sleep_announce(&word);
	assert_int_equal(word, 1);
	assert_true(sleep_claim(&word));
	assert_int_equal(word, 0);
	assert_false(sleep_claim(&word));
	assert_false(sleep_claim_after_rmw(&word));
	sleep_announce(&word);
	sleep_over(&word);
	assert_false(sleep_claim(&word));
	/* Whatever else a stranger writes is an announcement. */
	word = 7;
	assert_true(sleep_claim_after_rmw(&word));
	assert_int_equal(word, 0);
}

static void many_sleepers_stay_announced(void **state)
{
	uint32_t count = 0;

	(void)state;
	assert_false(sleep_any(&count));
	sleep_enter(&count);
	sleep_enter(&count);
	assert_true(sleep_any(&count));
	assert_true(sleep_any(&count));
	sleep_leave(&count);
	assert_true(sleep_any(&count));
	sleep_leave(&count);
	assert_false(sleep_any(&count));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_signal_a_sleep),
		cmocka_unit_test(many_sleepers_stay_announced),
		cmocka_unit_test(nobody_is_missed),
		cmocka_unit_test(nobody_is_missed__after_an_atomic_publication),
		cmocka_unit_test(nobody_is_missed__of_many),
	};

	return unit_run(tests);
}
