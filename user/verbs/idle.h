/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread does that polls completion queues and finds nothing: go on, offer the CPU to others, or sleep
 * until there is news (poll.c).
 *
 * A nap costs whoever has other things to do; it is right only in a spell of empty polls, of whichever
 * queues, with nothing between them. A completion or a post ends a spell. How long the thread is away between
 * two polls says whether it has other work: an event loop that progresses several queues is away for as
 * long as it takes to call the next, a program that polls now and then while it computes is away for much
 * longer. What counts as nothing is a matter of the machine, and measured (fv_idle_nothing()).
 */
#ifndef FALCON_VERBS_IDLE_H
#define FALCON_VERBS_IDLE_H

#include <stdbool.h>
#include <stdint.h>

enum fv_idle_act {
	FV_IDLE_GO,	/* return to the application at once */
	FV_IDLE_YIELD,	/* offer the CPU */
	FV_IDLE_NAP,	/* sleep, if there is no news */
};

/* A thread's spell of empty polls. Owner: the thread. Starts as zeros. */
struct fv_idle {
	uint32_t polls;		/* of this spell, halved with |between|: what is past fades; 0: none */
	uint32_t linger;	/* ns that a spell lasts before naps; learned from naps, outlives spells */
	uint64_t since;		/* ns, CLOCK_MONOTONIC: when the spell began */
	uint64_t left;		/* ns: when its latest poll returned */
	uint64_t between;	/* ns between its polls */
};

/* ns of absence between two polls that are nothing: a few times what it costs to read the clock here. */
uint32_t fv_idle_nothing(void);

/*
 * A poll has found nothing at |now|, ns. |nothing|: as fv_idle_nothing() says; |linger|: ns that the spell
 * has to last before a nap, 0: as learned.
 */
enum fv_idle_act fv_idle_enter(struct fv_idle *s, uint64_t now, uint32_t nothing, uint32_t linger);

/* The same poll returns at |now|, ns. |learn|: it has napped, and that says how long to linger. */
void fv_idle_leave(struct fv_idle *s, uint64_t now, bool learn);

/* The thread has found something, or has posted something. */
static inline void fv_idle_end(struct fv_idle *s)
{
	s->polls = 0;
}

#endif /* FALCON_VERBS_IDLE_H */
