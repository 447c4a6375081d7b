// SPDX-License-Identifier: BSD-2-Clause
/* Shared receive queues. Their numbers mean something to peers only with XRC (RDMA 8, XRCETH). */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/rdma/objects.h"

enum { NUMBERS_FIRST = 64 };	/* elements of the table at first; then it doubles */

static int grow(struct rdma *r)
{
	uint32_t size = r->srqs_size ? 2 * r->srqs_size : NUMBERS_FIRST;
	struct rdma_srq **bigger;

	if (size > 1U << RDMA_SRQN_BITS)
		return -ENOSPC;
	bigger = realloc(r->srqs, size * sizeof(struct rdma_srq *));
	if (!bigger)
		return -ENOMEM;
	memset(bigger + r->srqs_size, 0, (size - r->srqs_size) * sizeof(struct rdma_srq *));
	r->srqs = bigger;
	r->srqs_size = size;
	return 0;
}

/* The next free one after that which was given last: so they are not given again at once. */
static uint32_t free_number(const struct rdma *r)
{
	for (uint32_t i = 1; i < r->srqs_size; i++) {
		uint32_t num = (r->last_srq + i) % r->srqs_size;

		if (num && !r->srqs[num])
			return num;
	}
	return 0;
}

int rdma_srq_number(struct rdma *r, struct rdma_srq *srq)
{
	uint32_t num = free_number(r);
	int rc;

	if (!num) {
		rc = grow(r);
		if (rc < 0)
			return rc;
		num = free_number(r);
	}
	r->srqs[num] = srq;
	r->last_srq = srq->num = num;
	return 0;
}

struct rdma_srq *rdma_srq_find(struct rdma *r, uint32_t num)
{
	return num < r->srqs_size ? r->srqs[num] : NULL;
}

uint32_t rdma_srq_num(const struct rdma_srq *srq)
{
	return srq->num;
}

struct rdma_pd *rdma_srq_pd(const struct rdma_srq *srq)
{
	return srq->pd;
}

struct rdma_cq *rdma_srq_cq(const struct rdma_srq *srq)
{
	return srq->cq;
}

struct rdma_xrcd *rdma_srq_xrcd(const struct rdma_srq *srq)
{
	return srq->xrcd;
}

/* Requests that wait in it. */
static uint32_t waiting_in(const struct rdma_srq *srq)
{
	return falcon_load(&rdma_ring_idx(&srq->ring)->tail) - srq->ring.pos;
}

/* Fewer wait than the limit, which was not so before: tell, once. */
static void check_limit(struct rdma_srq *srq)
{
	if (!srq->limit || waiting_in(srq) >= srq->limit)
		return;
	srq->limit = 0;
	rdma_async_event(srq->ctx, srq->cookie, IBV_EVENT_SRQ_LIMIT_REACHED, &srq->async);
}

void rdma_srq_arm(struct rdma_srq *srq, uint32_t limit)
{
	srq->limit = limit;
	check_limit(srq);
}

int rdma_srq_take(struct rdma_srq *srq, struct rdma_recv *out)
{
	int rc = srq->failed ? -EPROTO : rdma_recv_take(&srq->ring, srq->max_sge, out);

	if (rc == -EPROTO && !srq->failed) {
		srq->failed = true;
		rdma_async_event(srq->ctx, srq->cookie, IBV_EVENT_SRQ_ERR, &srq->async);
	}
	if (rc == 0 || rc == -EPROTO)
		return rc;
	falcon_store(&rdma_ring_idx(&srq->ring)->head, srq->ring.pos);
	srq->taken++;
	check_limit(srq);
	return rc;
}

int rdma_srq_move(struct rdma_srq *srq, struct rdma_ring *ring)
{
	uint32_t waiting = waiting_in(srq);

	if (waiting > srq->ring.entries || waiting > ring->entries ||
	    ring->stride != srq->ring.stride)
		return -EINVAL;
	for (uint32_t i = 0; i < waiting; i++)
		memmove(rdma_ring_at(ring, i), rdma_ring_at(&srq->ring, srq->ring.pos + i),
			ring->stride);
	falcon_store(&rdma_ring_idx(ring)->tail, waiting);
	rdma_ring_close(&srq->ring);
	srq->ring = *ring;
	return 0;
}
