/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event queue: a hierarchical wheel of 1 ns slots that gives events back in the exact order of
 * their times and, at one time, of their making. Putting in, taking out and calling off cost the
 * same however many events there are, and no memory is taken but when there are more than ever.
 *
 * An event lies at the level of the highest digit in which its time differs from that of the event
 * taken last. When the wheel comes to a slot of a higher level, its events move down, the oldest
 * first, before anything younger can get there: so a list's order is the order of making.
 */
#ifndef FALCON_SIM_EVENT_H
#define FALCON_SIM_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum event_const {
	EVENT_LEVELS = 7,
	EVENT_BITS = 10,	/* of a digit: 1024 slots a level; 70 bits hold every time */
	EVENT_SLOTS = 1 << EVENT_BITS,
	EVENT_WORDS = EVENT_SLOTS / 64,
};

#define EVENT_NONE 0U

struct event {
	uint64_t at;		/* ns */
	void *p;
	uint32_t n;
	uint32_t next, prev;	/* in its slot, as indices; EVENT_NONE: none */
	uint16_t slot;		/* level * EVENT_SLOTS + digit */
	uint8_t kind;		/* the owner's */
};

struct event_list {
	uint32_t head, tail;	/* valid if the slot's bit is set */
};

struct event_queue {
	uint64_t now;		/* time of the event taken last */
	struct event *pool;	/* index 0 is EVENT_NONE */
	uint32_t size, free;	/* of the pool; head of the list of unused ones */
	uint32_t pending;	/* how many are in the queue */
	uint64_t used[EVENT_LEVELS][EVENT_WORDS];	/* bit n: slot n is not empty */
	uint32_t words[EVENT_LEVELS];	/* bit n: used[level][n] is not 0 */
	struct event_list slots[EVENT_LEVELS * EVENT_SLOTS];
};

/* An empty queue that stands at |now|. */
void event_open(struct event_queue *q, uint64_t now);
void event_close(struct event_queue *q);
/* Put an event in, at |at| or, if that is past, at once. Its index is good until it is taken. */
uint32_t event_add(struct event_queue *q, uint64_t at, uint8_t kind, void *p, uint32_t n);
/* Call off the event |i|, which is in the queue. */
void event_cancel(struct event_queue *q, uint32_t i);
/* Take the earliest event; false if there is none. */
bool event_take(struct event_queue *q, struct event *ev);

#endif /* FALCON_SIM_EVENT_H */
