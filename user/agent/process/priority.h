/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The priority of a thread that carries packets, as far as the kernel lets it have one.
 *
 * Whatever it is, the thread asks for the shortest time slice. Kernels from 6.12 on let a thread that
 * wakes up preempt one with a longer slice; the share of the CPU stays the same. Older ones ignore it.
 *
 * Real-time priority is for waking up: the thread gives it up before it spins, and when it has run for too
 * long, and takes it again before it sleeps. It has it for half of the time at most, and a millisecond at a
 * stretch, and does what is beyond as a thread like others: so no peer, and no application, can stop the
 * host by giving it work.
 */
#ifndef FALCON_AGENT_PROCESS_PRIORITY_H
#define FALCON_AGENT_PROCESS_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#define PRIORITY_BURST_NS (1000LL * 1000)	/* with real-time priority at a stretch */

enum priority_level {
	PRIORITY_NORMAL,	/* that of the process */
	PRIORITY_HIGH,		/* nice -20 */
	PRIORITY_REALTIME,	/* SCHED_RR 1, within bounds; nice -20 beyond them */
	PRIORITY_LEVELS,
};

struct priority {
	enum priority_level granted;	/* by the kernel; atomic: others show it */
	int nice;			/* of the process, -20..19 */
	bool raised;			/* the thread has real-time priority at present */
	uint64_t at;			/* ns, CLOCK_MONOTONIC: |budget_ns| is as of then */
	int64_t budget_ns;		/* of time with real-time priority, up to PRIORITY_BURST_NS / 2 */
};

/* "normal", "high" or "realtime". */
const char *priority_name(enum priority_level level);

/*
 * Raise the process's resource limits so that its threads can take |level| when its capabilities are
 * gone. Returns whether it could: if not, CAP_SYS_NICE is needed.
 */
bool priority_allow(enum priority_level level);

/*
 * For the calling thread, at |now|: |level|, or the highest below it that the kernel grants. 0, or the
 * negative errno with which it refused |level|.
 */
int priority_take(struct priority *p, enum priority_level level, uint64_t now);

static inline enum priority_level priority_granted(const struct priority *p)
{
	return __atomic_load_n(&p->granted, __ATOMIC_RELAXED);
}

/* priority.c: as below, of real-time priority. */
bool priority_account(struct priority *p, uint64_t now, bool ran);
void priority_lower(struct priority *p);
void priority_raise(struct priority *p);

/*
 * What follows is the calling thread's, whose |p| it is.
 *
 * It has run until |now|, and gives real-time priority up if that was too long. Returns whether it did.
 */
static inline bool priority_ran(struct priority *p, uint64_t now)
{
	return p->granted == PRIORITY_REALTIME && priority_account(p, now, true);
}

/* It is about to spin. */
static inline void priority_spins(struct priority *p)
{
	if (p->raised)
		priority_lower(p);
}

/* It is about to sleep. */
static inline void priority_sleeps(struct priority *p)
{
	if (p->granted == PRIORITY_REALTIME && !p->raised && p->budget_ns > 0)
		priority_raise(p);
}

/* It has slept until |now|. */
static inline void priority_slept(struct priority *p, uint64_t now)
{
	if (p->granted == PRIORITY_REALTIME)
		priority_account(p, now, false);
}

#endif /* FALCON_AGENT_PROCESS_PRIORITY_H */
