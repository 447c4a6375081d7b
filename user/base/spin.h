/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting without sleeping, for as long as nobody else wants the CPU.
 *
 * Agents and applications answer one another within microseconds, and a sleep costs more than that:
 * so a waiter looks again and again, offering the CPU in between. Those who spin likewise hand it
 * back at once. Somebody who computes does not, and keeps it for a whole time slice; then a sleeper
 * is better off, because its wake-up preempts. A yield that took long tells, and spinning stops
 * for a while.
 *
 * Who is answered by a disk waits longer, but not for ever: sleeps that were short make the next waits
 * spin longer, as far as would have done without them; long ones undo it.
 */
#ifndef FALCON_BASE_SPIN_H
#define FALCON_BASE_SPIN_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SPIN_NS (50ULL * 1000)			/* how long a wait may spin, at first */
#define SPIN_MAX_NS (250ULL * 1000)		/* and at most; a longer sleep was worth it */
#define SPIN_YIELD_MAX_NS (200ULL * 1000)	/* a longer yield: the CPU is contended */
#define SPIN_HOLD_NS (50ULL * 1000 * 1000)	/* then no spinning for so long */

struct spin {
	uint64_t hold_until;	/* ns, CLOCK_MONOTONIC; 0: never contended */
	uint64_t more;		/* ns that waits may spin beyond SPIN_NS */
};

static inline uint64_t spin_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* A wait that began at |since| does not go on spinning at |now|. */
static inline bool spin_over(const struct spin *s, uint64_t since, uint64_t now)
{
	return now < s->hold_until || now - since >= SPIN_NS + s->more;
}

/*
 * Offer the CPU once, in a wait that began at |since|; |now| is the time. False: do not go on
 * spinning, sleep.
 */
static inline bool spin_once(struct spin *s, uint64_t since, uint64_t now)
{
	uint64_t after;

	if (spin_over(s, since, now))
		return false;
	sched_yield();
	after = spin_clock();
	if (after - now > SPIN_YIELD_MAX_NS)
		s->hold_until = after + SPIN_HOLD_NS;
	return true;
}

/* A sleep took |ns|; |woken|: what was waited for has ended it. */
static inline void spin_slept(struct spin *s, uint64_t ns, bool woken)
{
	if (ns >= SPIN_MAX_NS)
		s->more /= 2;
	else if (woken)
		s->more = s->more * 2 + SPIN_NS;
	if (s->more > SPIN_MAX_NS - SPIN_NS)
		s->more = SPIN_MAX_NS - SPIN_NS;
}

#endif /* FALCON_BASE_SPIN_H */
