/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames on their way between threads. A pile is a stack without locks: any thread puts frames on it, and one
 * thread, its owner, takes all at once. Zeros are an empty pile.
 */
#ifndef FALCON_IO_PILE_H
#define FALCON_IO_PILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xsk;

/* A received frame. The address of this struct is the handle that the core holds. */
struct xsk_frame {
	struct xsk *xsk;		/* whose it is; NULL: no socket's, but of a queue in memory */
	struct xsk_frame *next;		/* while it is on a pile */
	uint8_t *data;			/* Ethernet header on; set when another thread is to handle it */
	uint32_t len;			/* bytes of |data| */
	uint32_t index;			/* frame number in the buffer area */
};

struct pile {
	struct xsk_frame *top;		/* atomic */
	uint32_t wanted;		/* the owner is out of frames, atomic */
};

/*
 * By any thread: put the frames from |first| to |last|, each of which has as |next| the one before it. True:
 * the owner waits for frames, and is to be woken if it sleeps.
 */
static inline bool pile_put(struct pile *p, struct xsk_frame *first, struct xsk_frame *last)
{
	struct xsk_frame *top = __atomic_load_n(&p->top, __ATOMIC_RELAXED);

	do
		last->next = top;
	while (!__atomic_compare_exchange_n(&p->top, &top, first, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	return __atomic_load_n(&p->wanted, __ATOMIC_SEQ_CST);
}

/*
 * By the owner: whether it is empty. Sequentially consistent, as pile_put() is: an owner that has announced
 * its sleep (ipc/sleep.h), or that it wants frames, and looks then, misses none.
 */
static inline bool pile_empty(const struct pile *p)
{
	return !__atomic_load_n(&p->top, __ATOMIC_SEQ_CST);
}

/* By the owner: all frames, linked by |next|, the latest first; NULL: none. */
static inline struct xsk_frame *pile_take(struct pile *p)
{
	/* Most looks find nothing, and should not write. */
	return pile_empty(p) ? NULL : __atomic_exchange_n(&p->top, NULL, __ATOMIC_ACQUIRE);
}

/* By the owner: it is out of frames, or no longer. */
static inline void pile_want(struct pile *p, bool wanted)
{
	if (p->wanted != wanted)
		__atomic_store_n(&p->wanted, wanted, __ATOMIC_SEQ_CST);
}

/* What pile_take() has returned, the oldest first. */
static inline struct xsk_frame *pile_oldest_first(struct xsk_frame *f)
{
	struct xsk_frame *first = NULL;

	while (f) {
		struct xsk_frame *next = f->next;

		f->next = first;
		first = f;
		f = next;
	}
	return first;
}

#endif /* FALCON_IO_PILE_H */
