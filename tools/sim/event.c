// SPDX-License-Identifier: BSD-2-Clause
#include "event.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST_EVENTS = 1024,
	DIGIT = EVENT_SLOTS - 1,
};

void event_open(struct event_queue *q, uint64_t now)
{
	q->now = now;
	q->pending = 0;
	memset(q->used, 0, sizeof(q->used));
	memset(q->words, 0, sizeof(q->words));
	q->pool = NULL;
	q->size = 0;
	q->free = EVENT_NONE;
}

void event_close(struct event_queue *q)
{
	free(q->pool);
	q->pool = NULL;
}

/* Twice as many events as there were, all new ones unused. */
static void grow(struct event_queue *q)
{
	uint32_t size = q->size ? q->size * 2 : FIRST_EVENTS;

	q->pool = realloc(q->pool, size * sizeof(*q->pool));
	if (!q->pool)
		abort();
	for (uint32_t i = size - 1; i >= q->size && i != EVENT_NONE; i--) {
		q->pool[i].next = q->free;
		q->free = i;
	}
	q->size = size;
}

/* The level of |at|: that of the highest digit in which it differs from the queue's time. */
static uint32_t level_of(const struct event_queue *q, uint64_t at)
{
	uint64_t differs = at ^ q->now;

	return differs ? (63U - (uint32_t)__builtin_clzll(differs)) / EVENT_BITS : 0;
}

/* Append the event |i| to the slot that its time belongs to. */
static void link_event(struct event_queue *q, uint32_t i)
{
	struct event *ev = &q->pool[i];
	uint32_t level = level_of(q, ev->at);
	uint32_t digit = (uint32_t)(ev->at >> (level * EVENT_BITS)) & DIGIT;
	struct event_list *l = &q->slots[level * EVENT_SLOTS + digit];
	uint64_t *word = &q->used[level][digit / 64], bit = 1ULL << (digit % 64);

	ev->slot = (uint16_t)(level * EVENT_SLOTS + digit);
	ev->next = EVENT_NONE;
	if (*word & bit) {
		ev->prev = l->tail;
		q->pool[l->tail].next = i;
	} else {
		*word |= bit;
		q->words[level] |= 1U << (digit / 64);
		ev->prev = EVENT_NONE;
		l->head = i;
	}
	l->tail = i;
}

static void clear_slot(struct event_queue *q, uint32_t slot)
{
	uint32_t level = slot / EVENT_SLOTS, digit = slot & DIGIT;

	q->used[level][digit / 64] &= ~(1ULL << (digit % 64));
	if (!q->used[level][digit / 64])
		q->words[level] &= ~(1U << (digit / 64));
}

static void unlink_event(struct event_queue *q, uint32_t i)
{
	const struct event *ev = &q->pool[i];
	struct event_list *l = &q->slots[ev->slot];

	if (ev->prev == EVENT_NONE && ev->next == EVENT_NONE) {
		clear_slot(q, ev->slot);
		return;
	}
	if (ev->prev == EVENT_NONE)
		l->head = ev->next;
	else
		q->pool[ev->prev].next = ev->next;
	if (ev->next == EVENT_NONE)
		l->tail = ev->prev;
	else
		q->pool[ev->next].prev = ev->prev;
}

static void release(struct event_queue *q, uint32_t i)
{
	q->pool[i].next = q->free;
	q->free = i;
	q->pending--;
}

uint32_t event_add(struct event_queue *q, uint64_t at, uint8_t kind, void *p, uint32_t n)
{
	uint32_t i;

	if (q->free == EVENT_NONE)
		grow(q);
	i = q->free;
	q->free = q->pool[i].next;
	q->pending++;
	q->pool[i].at = at > q->now ? at : q->now;
	q->pool[i].kind = kind;
	q->pool[i].p = p;
	q->pool[i].n = n;
	link_event(q, i);
	return i;
}

void event_cancel(struct event_queue *q, uint32_t i)
{
	unlink_event(q, i);
	release(q, i);
}

/* The first slot in use of |level|: all that are lie ahead of the queue's digit there. */
static uint32_t first_slot(const struct event_queue *q, uint32_t level)
{
	uint32_t word = (uint32_t)__builtin_ctz(q->words[level]);

	return level * EVENT_SLOTS + word * 64 + (uint32_t)__builtin_ctzll(q->used[level][word]);
}

/* Move the events of the next slot in use at |level| to lower levels. */
static void descend(struct event_queue *q, uint32_t level)
{
	uint32_t slot = first_slot(q, level), shift = level * EVENT_BITS;
	uint32_t i = q->slots[slot].head;
	uint64_t above = shift + EVENT_BITS < 64 ? q->now >> (shift + EVENT_BITS) : 0;

	clear_slot(q, slot);
	q->now = (above << EVENT_BITS | (slot & DIGIT)) << shift;
	while (i != EVENT_NONE) {
		uint32_t next = q->pool[i].next;

		link_event(q, i);
		i = next;
	}
}

bool event_take(struct event_queue *q, struct event *ev)
{
	uint32_t level, i;

	if (!q->pending)
		return false;
	while (!q->words[0]) {
		for (level = 1; !q->words[level]; level++)
			;
		descend(q, level);
	}
	i = q->slots[first_slot(q, 0)].head;
	*ev = q->pool[i];
	q->now = ev->at;
	unlink_event(q, i);
	release(q, i);
	return true;
}
