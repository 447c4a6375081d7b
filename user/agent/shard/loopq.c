// SPDX-License-Identifier: BSD-2-Clause
#include "agent/shard/loopq.h"

#include <stdlib.h>
#include <string.h>

struct loopq {
	struct loopq_frame *free;
	struct loopq_frame *first, **last;
	struct pile returned;		/* by other shards */
	struct loopq_frame frames[LOOPQ_FRAMES];
};

struct loopq *loopq_create(uint32_t shard)
{
	size_t size = (sizeof(struct loopq) + 63) / 64 * 64;
	struct loopq *q = aligned_alloc(64, size);

	if (!q)
		return NULL;
	q->free = NULL;
	q->first = NULL;
	q->last = &q->first;
	q->returned = (struct pile){};
	for (unsigned int i = LOOPQ_FRAMES; i-- > 0;) {
		q->frames[i].handle = (struct xsk_frame){ .index = i };
		q->frames[i].queue = q;
		q->frames[i].shard = shard;
		loopq_put(&q->frames[i]);
	}
	return q;
}

void loopq_destroy(struct loopq *q)
{
	free(q);
}

static void take_returned(struct loopq *q)
{
	for (struct xsk_frame *f = pile_take(&q->returned), *next; f; f = next) {
		next = f->next;
		loopq_put((struct loopq_frame *)f);
	}
}

static struct loopq_frame *take_free(struct loopq *q)
{
	struct loopq_frame *f;

	if (!q->free)
		take_returned(q);
	pile_want(&q->returned, !q->free);
	/* What was put before that was announced. */
	if (!q->free)
		take_returned(q);
	f = q->free;
	if (f)
		q->free = f->next;
	return f;
}

struct loopq_frame *loopq_frame_of(struct loopq *q, const struct fcore_packet *p)
{
	uint32_t len = p->hdr_len + p->ulp_hdr_len + p->payload_len;
	struct loopq_frame *f = len > sizeof(f->data) ? NULL : take_free(q);

	if (!f)
		return NULL;
	memcpy(f->data, p->hdr, p->hdr_len);
	if (p->ulp_hdr_len)
		memcpy(f->data + p->hdr_len, p->ulp_hdr, p->ulp_hdr_len);
	if (p->payload_len)
		memcpy(f->data + p->hdr_len + p->ulp_hdr_len, p->payload, p->payload_len);
	f->len = (uint16_t)len;
	f->type = p->type;
	f->flow = p->flow;
	return f;
}

void loopq_send(struct loopq_frame *f)
{
	struct loopq *q = f->queue;

	f->next = NULL;
	*q->last = f;
	q->last = &f->next;
}

struct loopq_frame *loopq_take(struct loopq *q)
{
	struct loopq_frame *f = q->first;

	if (!f)
		return NULL;
	q->first = f->next;
	if (!q->first)
		q->last = &q->first;
	return f;
}

void loopq_put(struct loopq_frame *f)
{
	f->next = f->queue->free;
	f->queue->free = f;
}

bool loopq_return(struct loopq_frame *f)
{
	return pile_put(&f->queue->returned, &f->handle, &f->handle);
}

bool loopq_refillable(const struct loopq *q)
{
	return q->returned.wanted && !q->free && !pile_empty(&q->returned);
}

bool loopq_empty(const struct loopq *q)
{
	return !q->first;
}
