// SPDX-License-Identifier: BSD-2-Clause
/* The event queue: a binary heap by time and, at one time, by the order of making. */
#include "sim.h"

#include <stdlib.h>

static bool before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

void sim_at(struct sim *s, uint64_t at, enum event_kind kind, void *p, uint32_t n)
{
	struct event ev = { .at = at > s->now ? at : s->now, .seq = s->seq++,
			    .kind = (uint8_t)kind, .n = n, .p = p };
	uint32_t i = s->nheap++;

	if (s->nheap > s->heap_size) {
		s->heap_size = s->heap_size ? s->heap_size * 2 : 1024;
		s->heap = realloc(s->heap, s->heap_size * sizeof(*s->heap));
		if (!s->heap)
			abort();
	}
	for (; i && before(&ev, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = ev;
}

bool sim_next(struct sim *s, struct event *ev)
{
	struct event last;
	uint32_t i = 0;

	if (!s->nheap)
		return false;
	*ev = s->heap[0];
	last = s->heap[--s->nheap];
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= s->nheap)
			break;
		if (child + 1 < s->nheap && before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!before(&s->heap[child], &last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	return true;
}
