// SPDX-License-Identifier: BSD-2-Clause
#include "agent/shard/handover.h"

#include "agent/agent.h"
#include "agent/conn/loopback.h"
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
		struct shard *s = &from->agent->shards[to];

		pile_put(&s->handover.inbox, h->out[to].first, h->out[to].last);
		h->out[to].first = NULL;
		call_nudge(&s->call);
	}
}

uint32_t handover_take(struct shard *s)
{
	struct xsk_frame *f = pile_oldest_first(pile_take(&s->handover.inbox)), *next;
	uint32_t n = 0;

	for (; f; f = next, n++) {
		next = f->next;
		if (f->xsk)
			shard_handle(s, &(struct xsk_rx_item){ .frame = f, .data = f->data, .len = f->len });
		else
			loopback_deliver(s, f);
	}
	return n;
}

bool handover_waiting(const struct shard *s)
{
	return !pile_empty(&s->handover.inbox);
}

void handover_release(struct shard *s, struct xsk_frame *f)
{
	if (!f->xsk)
		loopback_release(s, f);
	else if (f->xsk->thread == s->index)
		xsk_frame_put(f);
	else if (xsk_frame_return(f))
		call_nudge(&s->agent->shards[f->xsk->thread].call);
}
