// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls between control and a shard's thread: each is made once, in order, by that thread, however it sleeps;
 * what was changed in calls is seen by both. Drains are answered. Without a thread calls are made at once.
 */
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <agent/shard/call.h>

enum { CALLS = 2000, PATIENCE_MS = 60000 };

static struct call_slot slot;
static pthread_t server;
static uint32_t made, drains, slept;	/* the server's */
static bool stop, overslept;
static unsigned int nested;

static void count(void *arg)
{
	*(uint32_t *)arg += 1;
}

static void count_nested(void *arg)
{
	assert_true(call_within());
	call_run(&slot, count, arg);
	nested++;
}

static void end(void *arg)
{
	*(bool *)arg = true;
}

/* False if nothing has come for a minute: a call or a drain was slept over. */
static bool nap(void)
{
	struct pollfd p = { .fd = slot.fd, .events = POLLIN };
	uint64_t n;

	slept++;
	if (poll(&p, 1, PATIENCE_MS) != 1)
		return false;
	return read(slot.fd, &n, sizeof(n)) == sizeof(n);
}

static void *serve(void *arg)
{
	(void)arg;
	while (!stop && !overslept) {
		uint32_t number = call_drain_wanted(&slot);

		if (number) {
			drains++;
			call_drained(&slot, number);
		}
		if (call_waits(&slot)) {
			call_serve(&slot);
			continue;
		}
		if (number || !call_sleep_begin(&slot))
			continue;
		overslept = !nap();
		call_sleep_end(&slot);
	}
	return NULL;
}

static void calls_are_made_once(void **state)
{
	(void)state;
	assert_int_equal(call_open(&slot), 0);
	slot.served = true;
	stop = false;
	made = drains = slept = nested = 0;
	assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
	for (uint32_t i = 0; i < CALLS; i++) {
		call_run(&slot, i % 3 ? count : count_nested, &made);
		/* Control reads what calls have changed. */
		assert_int_equal(made, i + 1);
		if (i % 100 == 0)
			call_drain(&slot);
	}
	call_run(&slot, end, &stop);
	pthread_join(server, NULL);
	assert_false(overslept);
	assert_int_equal(made, CALLS);
	assert_int_equal(drains, CALLS / 100);
	assert_int_equal(nested, (CALLS + 2) / 3);
	assert_true(slept > 0);
	call_close(&slot);
}

/* ---- several ---- */

enum { SERVERS = 3, ROUNDS = 300 };

static struct call_slot slots[SERVERS];
static bool ends[SERVERS];
static uint64_t turns_of[SERVERS];	/* each server's, without locks: read in calls of all */

static void *turn(void *arg)
{
	struct call_slot *c = arg;
	size_t i = (size_t)(c - slots);

	while (!ends[i]) {
		turns_of[i]++;
		if (call_waits(c))
			call_serve(c);
	}
	return NULL;
}

/* Nobody turns meanwhile: what they count stays as it is. */
static void look_twice(void *arg)
{
	uint64_t seen[SERVERS];

	for (int i = 0; i < SERVERS; i++)
		seen[i] = turns_of[i];
	sched_yield();
	for (int i = 0; i < SERVERS; i++)
		assert_true(seen[i] == turns_of[i]);
	*(uint32_t *)arg += 1;
}

static void all_hold_still(void **state)
{
	struct call_slot *all[SERVERS];
	pthread_t threads[SERVERS];
	uint32_t n = 0;

	(void)state;
	for (int i = 0; i < SERVERS; i++) {
		assert_int_equal(call_open(&slots[i]), 0);
		slots[i].served = true;
		all[i] = &slots[i];
		assert_int_equal(pthread_create(&threads[i], NULL, turn, &slots[i]), 0);
	}
	for (uint32_t i = 0; i < ROUNDS; i++) {
		call_run_all(all, SERVERS, look_twice, &n);
		assert_int_equal(n, i + 1);
		if (i % 7 == 0)
			call_run(&slots[i % SERVERS], count, &n), n--;
	}
	for (int i = 0; i < SERVERS; i++) {
		call_run(&slots[i], end, &ends[i]);
		pthread_join(threads[i], NULL);
		call_close(&slots[i]);
	}
}

static void nobody_serves(void **state)
{
	uint32_t n = 0;

	(void)state;
	slot = (struct call_slot){};
	call_run(&slot, count, &n);
	call_run(&slot, count_nested, &n);
	call_run_all(&(struct call_slot *){ &slot }, 1, count, &n);
	assert_int_equal(n, 3);
	assert_false(call_within());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_made_once),
		cmocka_unit_test(all_hold_still),
		cmocka_unit_test(nobody_serves),
	};

	return unit_run(tests);
}
