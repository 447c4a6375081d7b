/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting without sleeping, for as long as nobody else wants the CPU.
 *
 * Agents and applications answer one another within microseconds, and a sleep costs more than that:
 * so a waiter looks again and again, offering the CPU in between. Those who spin likewise hand it
 * back at once. Somebody who computes does not, and keeps it for a whole time slice; then a sleeper
 * is better off, because its wake-up preempts. A yield that took long tells, and spinning stops
 * for a while.
 */
#ifndef FALCON_IO_SPIN_H
#define FALCON_IO_SPIN_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SPIN_NS (50ULL * 1000)			/* how long a wait may spin */
#define SPIN_YIELD_MAX_NS (200ULL * 1000)	/* a longer yield: the CPU is contended */
#define SPIN_HOLD_NS (50ULL * 1000 * 1000)	/* then no spinning for so long */

struct spin {
	uint64_t hold_until;	/* ns, CLOCK_MONOTONIC; 0: never contended */
};

static inline uint64_t spin_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/*
 * Offer the CPU once, in a wait that began at |since|; |now| is the time. False: do not go on
 * spinning, sleep.
 */
static inline bool spin_once(struct spin *s, uint64_t since, uint64_t now)
{
	uint64_t after;

	if (now < s->hold_until || now - since >= SPIN_NS)
		return false;
	sched_yield();
	after = spin_clock();
	if (after - now > SPIN_YIELD_MAX_NS)
		s->hold_until = after + SPIN_HOLD_NS;
	return true;
}

#endif /* FALCON_IO_SPIN_H */
