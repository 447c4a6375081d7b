// SPDX-License-Identifier: BSD-2-Clause
/*
 * The receive window under fire: several threads claim PSNs while the agent acknowledges, releases
 * and moves the base across 2^32, and others take the snapshots that ACKs are made of. Built with
 * ThreadSanitizer, which watches the memory accesses; the test watches the promises:
 *
 *   - a PSN is new exactly once, and once more for each release;
 *   - a snapshot never shows a PSN that nobody claimed, nor as acknowledged one that was not;
 *   - the base only passes PSNs that were delivered.
 */
#include <pthread.h>
#include <sched.h>

#include "falcon/abi/maps.h"
#include "falcon/receive/window.h"
#include "unit.h"

enum {
	TOTAL = 200000,		/* PSNs that the base passes */
	CLAIMERS = 3,
	WATCHERS = 1,
	MARGIN = 512,		/* PSNs beyond TOTAL that may be touched */
	BEHIND = 40,		/* how far behind the base claimers reach */
};

static const uint32_t first = 0U - TOTAL / 2;

/* What was promised to whom; indexed by PSN - first. All atomic. */
static uint8_t tried[TOTAL + MARGIN];		/* somebody may have claimed it */
static uint8_t arrived[TOTAL + MARGIN];		/* NEW for somebody, waits for the agent */
static uint8_t accepted[TOTAL + MARGIN];	/* the agent has acknowledged it */
static uint16_t news[TOTAL + MARGIN];		/* times it was NEW */
static uint16_t releases[TOTAL + MARGIN];	/* times the agent released it */

static struct {
	__u64 rx[FALCON_DATA_WORDS], ack[FALCON_DATA_WORDS];
	uint32_t base;
} win;
static bool stop;
static unsigned int lies;			/* snapshots that were untrue */
static unsigned int duplicates;			/* claims that were refused as seen before */

static void *claimer(void *arg)
{
	uint64_t rng = (uintptr_t)arg * 0x9e3779b97f4a7c15 + 1;

	while (!falcon_load(&stop)) {
		uint32_t psn = falcon_load(&win.base) - BEHIND +
			       unit_random(&rng) % (FALCON_DATA_WINDOW + 2 * BEHIND);
		uint32_t i = psn - first;

		if (i >= TOTAL + MARGIN)
			continue;
		falcon_store(&tried[i], 1);
		/* A CPU may stall anywhere between its look at the base and its claim. */
		if (unit_random(&rng) % 64 == 0)
			sched_yield();
		switch (falcon_ring_claim(win.rx, FALCON_DATA_WORDS, &win.base, FALCON_DATA_WINDOW,
					  psn)) {
		case FALCON_CLAIM_NEW:
			falcon_fetch_add(&news[i], 1);
			falcon_store(&arrived[i], 1);
			break;
		case FALCON_CLAIM_DUP:
			falcon_fetch_add(&duplicates, 1U);
			break;
		default:
			break;
		}
	}
	return NULL;
}

/* What an ACK would say, against what is known to be so. */
static void *watcher(void *arg)
{
	uint32_t rx[4], ack[4];

	(void)arg;
	while (!falcon_load(&stop)) {
		uint32_t base = falcon_load(&win.base);

		falcon_ring_snapshot(win.rx, FALCON_DATA_WORDS, base, rx, 4);
		falcon_ring_snapshot(win.ack, FALCON_DATA_WORDS, base, ack, 4);
		for (uint32_t n = 0; n < 128; n++) {
			uint32_t i = base + n - first;
			bool in_rx = rx[n / 32] >> (n % 32) & 1;
			bool in_ack = ack[n / 32] >> (n % 32) & 1;

			if (i < TOTAL + MARGIN && ((in_rx && !falcon_load(&tried[i])) ||
						   (in_ack && !falcon_load(&accepted[i]))))
				falcon_fetch_add(&lies, 1U);
		}
		sched_yield();
	}
	return NULL;
}

/* One delivered PSN: acknowledged, or, as if its frame had been lost on the way, released. */
static void agent_take(uint32_t psn, uint64_t *rng)
{
	uint32_t i = psn - first;

	falcon_store(&arrived[i], 0);
	if (unit_random(rng) % 8 == 0) {
		releases[i]++;
		falcon_ring_release(win.rx, FALCON_DATA_WORDS, psn);
		return;
	}
	falcon_store(&accepted[i], 1);
	falcon_ring_set(win.ack, FALCON_DATA_WORDS, psn);
}

static void agent(void)
{
	uint64_t rng = 7;

	while (win.base - first < TOTAL) {
		for (uint32_t n = 0; n < FALCON_DATA_WINDOW; n++)
			if (falcon_load(&arrived[win.base - first + n]))
				agent_take(win.base + n, &rng);
		falcon_store(&win.base, falcon_ring_first_clear(win.ack, FALCON_DATA_WORDS,
								win.base));
		sched_yield();
	}
}

static void window__one_new_per_psn(void **state)
{
	pthread_t threads[CLAIMERS + WATCHERS];

	(void)state;
	win.base = first;
	falcon_ring_init(win.rx, FALCON_DATA_WORDS, first);
	falcon_ring_init(win.ack, FALCON_DATA_WORDS, first);
	for (uintptr_t i = 0; i < CLAIMERS + WATCHERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, i < CLAIMERS ? claimer : watcher,
						(void *)(i + 1)),
				 0);
	agent();
	falcon_store(&stop, true);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < TOTAL; i++)
		if (news[i] != releases[i] + 1)
			fail_msg("PSN first + %u: %u times new, %u times released", i, news[i],
				 releases[i]);
	assert_int_equal(lies, 0);
	assert_true(duplicates > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window__one_new_per_psn),
	};

	return unit_run(tests);
}
