// SPDX-License-Identifier: BSD-2-Clause
#include "agent/loopq.h"

#include <stdlib.h>
#include <string.h>

struct loopq {
	struct loopq_frame *free;
	struct loopq_frame *first, **last;
	struct loopq_frame frames[LOOPQ_FRAMES];
};

struct loopq *loopq_create(void)
{
	size_t size = (sizeof(struct loopq) + 63) / 64 * 64;
	struct loopq *q = aligned_alloc(64, size);

	if (!q)
		return NULL;
	q->free = NULL;
	q->first = NULL;
	q->last = &q->first;
	for (unsigned int i = LOOPQ_FRAMES; i-- > 0;) {
		q->frames[i].handle = (struct xsk_frame){ .index = i };
		q->frames[i].queue = q;
		loopq_put(&q->frames[i]);
	}
	return q;
}

void loopq_destroy(struct loopq *q)
{
	free(q);
}

struct loopq_frame *loopq_frame_of(struct loopq *q, const struct fcore_packet *p)
{
	struct loopq_frame *f = q->free;
	uint32_t len = p->hdr_len + p->ulp_hdr_len + p->payload_len;

	if (!f || len > sizeof(f->data))
		return NULL;
	q->free = f->next;
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

bool loopq_empty(const struct loopq *q)
{
	return !q->first;
}
