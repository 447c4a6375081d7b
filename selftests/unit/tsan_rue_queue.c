// SPDX-License-Identifier: BSD-2-Clause
/*
 * The CC event and result queues between two threads, as the agent and an engine use them: events
 * one way, results the other, both sides sleeping whenever they find nothing. Built with
 * ThreadSanitizer; the test watches that every entry arrives once, whole and in order, and that
 * nobody sleeps over an entry.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "falcon/abi/rue_queue.h"
#include "unit.h"

enum { TOTAL = 200000, ENTRIES = 64, PATIENCE_MS = 60000 };

struct way {
	struct falcon_rue_queue *q;
	int wake;		/* eventfd that ends the consumer's sleep */
};

static struct way events, results;
static unsigned int garbled;	/* entries that were not what is expected; the engine's */

static void make(struct way *w)
{
	size_t bytes = falcon_rue_queue_bytes(ENTRIES);

	w->q = aligned_alloc(FALCON_CACHE_LINE, bytes);
	memset(w->q, 0, bytes);
	falcon_rue_queue_init(w->q, ENTRIES);
	w->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

static void wake(const struct way *w, struct falcon_rue_producer *p)
{
	const uint64_t one = 1;

	if (falcon_rue_must_wake(p))
		assert_int_equal(write(w->wake, &one, sizeof(one)), sizeof(one));
}

/* False if nobody woke us: a wake-up was lost. */
static bool sleep_on(const struct way *w, struct falcon_rue_consumer *c)
{
	struct pollfd fd = { .fd = w->wake, .events = POLLIN };
	uint64_t n;

	if (!falcon_rue_sleep(c))
		return true;
	if (poll(&fd, 1, PATIENCE_MS) != 1)
		return false;
	return read(w->wake, &n, sizeof(n)) == sizeof(n);
}

static void fill(__u64 w[8], uint64_t n)
{
	for (unsigned int i = 0; i < 8; i++)
		w[i] = n * (i + 1) & ~(1ULL << 63);
}

static bool is_entry(const __u64 w[8], uint64_t n)
{
	for (unsigned int i = 0; i < 8; i++)
		if ((w[i] & ~(1ULL << 63)) != (n * (i + 1) & ~(1ULL << 63)))
			return false;
	return true;
}

static void *engine(void *arg)
{
	struct falcon_rue_consumer in;
	struct falcon_rue_producer out;
	__u64 w[8];

	(void)arg;
	falcon_rue_consume_from(&in, events.q);
	falcon_rue_produce_into(&out, results.q);
	for (uint64_t n = 0; n < TOTAL;) {
		if (!falcon_rue_get(&in, w)) {
			if (!sleep_on(&events, &in))
				return (void *)1;
			continue;
		}
		garbled += !is_entry(w, n);
		fill(w, n++);
		while (!falcon_rue_put(&out, w))
			sched_yield();
		wake(&results, &out);
	}
	return NULL;
}

static void queue__carries_all_both_ways_between_threads(void **state)
{
	struct falcon_rue_producer out;
	struct falcon_rue_consumer in;
	uint64_t sent = 0, back = 0;
	pthread_t thread;
	void *lost;
	__u64 w[8];

	(void)state;
	make(&events);
	make(&results);
	falcon_rue_produce_into(&out, events.q);
	falcon_rue_consume_from(&in, results.q);
	assert_int_equal(pthread_create(&thread, NULL, engine, NULL), 0);
	while (back < TOTAL) {
		while (sent < TOTAL && sent - back < ENTRIES) {
			fill(w, sent);
			if (!falcon_rue_put(&out, w))
				break;
			sent++;
		}
		wake(&events, &out);
		if (falcon_rue_get(&in, w))
			assert_true(is_entry(w, back++));
		else
			assert_true(sleep_on(&results, &in));
	}
	pthread_join(thread, &lost);
	assert_null(lost);
	assert_int_equal(garbled, 0);
	free(events.q);
	free(results.q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue__carries_all_both_ways_between_threads),
	};

	return unit_run(tests);
}
