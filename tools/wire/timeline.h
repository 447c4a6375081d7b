/* SPDX-License-Identifier: BSD-2-Clause */
/* What is to happen, by time: a binary heap of fixed size. */
#ifndef FALCON_WIRE_TIMELINE_H
#define FALCON_WIRE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

struct timeline_event {
	uint64_t at;		/* ns */
	uint64_t order;		/* breaks ties: first in, first out */
	uint32_t what;		/* the owner's */
};

/* Zero, with |heap| pointing to |size| events, is empty. */
struct timeline {
	struct timeline_event *heap;
	uint32_t size, used;
	uint64_t order;
};

/* Add an event; the caller sees to it that there is room. Returns its order. */
uint64_t timeline_add(struct timeline *t, uint64_t at, uint32_t what);

/* Take the earliest event, if it is not later than |now|. */
bool timeline_take(struct timeline *t, uint64_t now, struct timeline_event *event);

/* Take out the event of that order, which is there. Slow: it looks through all. */
void timeline_cancel(struct timeline *t, uint64_t order);

/* When the earliest is due, UINT64_MAX if there is none. */
static inline uint64_t timeline_next(const struct timeline *t)
{
	return t->used ? t->heap[0].at : UINT64_MAX;
}

#endif /* FALCON_WIRE_TIMELINE_H */
