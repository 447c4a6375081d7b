// SPDX-License-Identifier: BSD-2-Clause
/* The simulator's event queue against the plainest one: all events in an array, the first taken. */
#include "unit.h"

#include "../../tools/sim/event.h"

enum {
	MOST = 300,
	STEPS = 60000,
};

struct plain {
	uint64_t at, seq;
	uint32_t index;		/* in the queue under test */
};

static struct event_queue q;
static struct plain events[MOST];
static uint32_t n;

static uint32_t first(void)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++)
		if (events[i].at < events[best].at ||
		    (events[i].at == events[best].at && events[i].seq < events[best].seq))
			best = i;
	return best;
}

static void add(uint64_t *seed, uint64_t seq, uint64_t now)
{
	/* Distances of every order of magnitude, many of them equal. */
	uint64_t at = now + (unit_random(seed) >> (20 + unit_random(seed) % 44));

	if (unit_random(seed) % 8 == 0)
		at &= ~1023ULL;
	events[n] = (struct plain){ .at = at > now ? at : now, .seq = seq };
	events[n++].index = event_add(&q, at, (uint8_t)seq, &q, (uint32_t)seq);
}

static void take(uint64_t *now)
{
	uint32_t i = first();
	struct event ev;

	assert_true(event_take(&q, &ev));
	assert_int_equal(ev.at, events[i].at);
	assert_int_equal(ev.n, (uint32_t)events[i].seq);
	assert_int_equal(ev.kind, (uint8_t)events[i].seq);
	assert_ptr_equal(ev.p, &q);
	*now = ev.at;
	events[i] = events[--n];
}

static void any_order__comes_back_by_time_and_making(void **state)
{
	uint64_t seed = 7, now = 1000;

	(void)state;
	event_open(&q, now);
	for (uint64_t step = 0; step < STEPS; step++) {
		uint64_t what = unit_random(&seed) % 8;

		if (n && (what < 3 || n == MOST)) {
			take(&now);
		} else if (n && what == 3) {
			uint32_t i = (uint32_t)(unit_random(&seed) % n);

			event_cancel(&q, events[i].index);
			events[i] = events[--n];
		} else {
			add(&seed, step, now);
		}
		assert_int_equal(q.pending, n);
	}
	while (n)
		take(&now);
	event_close(&q);
}

static void empty__has_nothing(void **state)
{
	struct event ev;

	(void)state;
	event_open(&q, UINT64_MAX - 5);
	assert_false(event_take(&q, &ev));
	event_add(&q, UINT64_MAX, 1, NULL, 0);
	event_add(&q, 0, 2, NULL, 0);
	assert_true(event_take(&q, &ev));
	assert_int_equal(ev.kind, 2);
	assert_int_equal(ev.at, UINT64_MAX - 5);
	assert_true(event_take(&q, &ev));
	assert_int_equal(ev.at, UINT64_MAX);
	assert_false(event_take(&q, &ev));
	event_close(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order__comes_back_by_time_and_making),
		cmocka_unit_test(empty__has_nothing),
	};

	return unit_run(tests);
}
