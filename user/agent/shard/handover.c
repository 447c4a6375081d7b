// SPDX-License-Identifier: BSD-2-Clause
#include "agent/shard/handover.h"

#include "agent/shard/plane.h"
#include "agent/shard/shard.h"

void handover_add(struct shard *from, unsigned int to, struct xsk_frame *f)
{
	struct handover *h = &from->handover;

	f->next = h->out[to].first;
	h->out[to].first = f;
	if (!f->next)
		h->out[to].last = f;
	h->filled |= 1U << to;
	from->stats.handed_over++;
}

void handover_flush(struct shard *from)
{
	struct handover *h = &from->handover;

	for (; h->filled; h->filled &= h->filled - 1) {
		unsigned int to = (unsigned int)__builtin_ctz(h->filled);
		struct shard *s = &from->plane->shards[to];

		pile_put(&s->handover.inbox, h->out[to].first, h->out[to].last);
		h->out[to].first = NULL;
		call_nudge(&s->call);
	}
}

struct xsk_frame *handover_take(struct shard *s)
{
	return pile_oldest_first(pile_take(&s->handover.inbox));
}

bool handover_waiting(const struct shard *s)
{
	return !pile_empty(&s->handover.inbox);
}

void handover_release(struct shard *s, struct xsk_frame *f)
{
	if (f->xsk->thread == s->index)
		xsk_frame_put(f);
	else if (xsk_frame_return(f))
		call_nudge(&s->plane->shards[f->xsk->thread].call);
}
