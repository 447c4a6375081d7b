// SPDX-License-Identifier: BSD-2-Clause
#include "timeline.h"

#include <assert.h>

static bool earlier(const struct timeline_event *a, const struct timeline_event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

/* Put |event| into the hole at |i|, or above it. */
static void sift_up(struct timeline *t, uint32_t i, const struct timeline_event *event)
{
	for (; i && earlier(event, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
		t->heap[i] = t->heap[(i - 1) / 2];
	t->heap[i] = *event;
}

/* Fill the hole at |i| with the last event, in order. */
static void fill_hole(struct timeline *t, uint32_t i)
{
	struct timeline_event last = t->heap[--t->used];
	uint32_t child;

	if (i == t->used)
		return;
	while ((child = 2 * i + 1) < t->used) {
		if (child + 1 < t->used && earlier(&t->heap[child + 1], &t->heap[child]))
			child++;
		if (earlier(&last, &t->heap[child]))
			break;
		t->heap[i] = t->heap[child];
		i = child;
	}
	sift_up(t, i, &last);
}

uint64_t timeline_add(struct timeline *t, uint64_t at, uint32_t what)
{
	struct timeline_event event = { .at = at, .order = t->order++, .what = what };

	assert(t->used < t->size);
	sift_up(t, t->used++, &event);
	return event.order;
}

void timeline_cancel(struct timeline *t, uint64_t order)
{
	for (uint32_t i = 0; i < t->used; i++) {
		if (t->heap[i].order == order) {
			fill_hole(t, i);
			return;
		}
	}
}

bool timeline_take(struct timeline *t, uint64_t now, struct timeline_event *event)
{
	if (!t->used || t->heap[0].at > now)
		return false;
	*event = t->heap[0];
	fill_hole(t, 0);
	return true;
}
