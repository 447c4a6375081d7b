// SPDX-License-Identifier: BSD-2-Clause
/*
 * Completion queues. Completions are written when they come and shown to the application once a round,
 * with at most one event for all of them (InfiniBand 11.4.2.2).
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "ipc/sleep.h"
#include "ulp/rdma/objects.h"

struct rdma_ctx *rdma_cq_ctx(const struct rdma_cq *cq)
{
	return cq->ctx;
}

static void mark_dirty(struct rdma_cq *cq)
{
	struct rdma *r = cq->ctx->r;

	if (cq->dirty)
		return;
	cq->dirty = true;
	STAILQ_INSERT_TAIL(&r->dirty_cqs, cq, dirty_link);
}

/* Its queue pairs are told at the end of the round: one of them may have called. */
static void overrun(struct rdma_cq *cq)
{
	struct rdma *r = cq->ctx->r;

	cq->stats.dropped++;
	if (cq->ignore_overrun || cq->failed)
		return;
	cq->failed = cq->failing = true;
	cq->failed_next = r->failed_cqs;
	r->failed_cqs = cq;
}

void rdma_cq_post(struct rdma_cq *cq, const struct fverbs_cqe *cqe, bool solicited)
{
	struct rdma_ring *ring = &cq->ring;
	struct fverbs_cqe *at = (struct fverbs_cqe *)rdma_ring_at(ring, ring->pos);

	/* A head that cannot be counts as full, too. */
	if (cq->failed || ring->pos - falcon_load(&rdma_ring_idx(ring)->head) >= ring->entries) {
		overrun(cq);
		return;
	}
	*at = *cqe;
	at->timestamp = cq->ctx->r->now;
	ring->pos++;
	cq->stats.completions++;
	cq->solicited |= solicited || cqe->status != IBV_WC_SUCCESS;
	mark_dirty(cq);
}

uint64_t rdma_cq_written(const struct rdma_cq *cq)
{
	return cq->stats.completions;
}

uint64_t rdma_cq_polled(const struct rdma_cq *cq)
{
	uint32_t unread = cq->ring.pos - falcon_load(&rdma_ring_idx(&cq->ring)->head);

	/* A head that cannot be has seen nothing. */
	return unread <= cq->stats.completions ? cq->stats.completions - unread : 0;
}

/* Has the application asked for an event, and is it due? Then it has been, from now on. */
static bool claim_event(struct rdma_cq *cq)
{
	uint32_t *armed = &((struct fverbs_cq_shm *)cq->ring.base)->armed;
	uint32_t was;

	sleep_published();
	was = falcon_load(armed);
	while (was == FVERBS_ARMED_ANY || (was == FVERBS_ARMED_SOLICITED && cq->solicited)) {
		if (__atomic_compare_exchange_n(armed, &was, (uint32_t)FVERBS_ARMED_NO, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

static void publish(struct rdma_cq *cq)
{
	cq->dirty = false;
	if (cq->published == cq->ring.pos)
		return;
	cq->published = cq->ring.pos;
	falcon_store(&rdma_ring_idx(&cq->ring)->tail, cq->ring.pos);
	cq->ctx->shown = true;
	if (cq->channel && claim_event(cq))
		rdma_channel_notify(cq);
	cq->solicited = false;
}

/* Every queue pair that |cq| is of is in error (InfiniBand 11.6.3.2). */
static void fail_queue_pairs(struct rdma_cq *cq)
{
	struct rdma_ctx *ctx = cq->ctx;

	if (!cq->uses)
		return;
	for (uint32_t h = 1; h < ctx->handles_size; h++) {
		struct rdma_qp *qp = rdma_qp_of_handle(ctx, h);
		const struct rdma_qp_init *parts = qp ? rdma_qp_parts(qp) : NULL;

		if (parts && (parts->send_cq == cq || parts->recv_cq == cq))
			rdma_qp_fatal(qp, IBV_EVENT_QP_FATAL);
	}
}

static void tell_failed(struct rdma *r)
{
	struct rdma_cq *cq;

	while ((cq = r->failed_cqs)) {
		r->failed_cqs = cq->failed_next;
		cq->failing = false;
		rdma_async_event(cq->ctx, cq->cookie, IBV_EVENT_CQ_ERR, &cq->events.async);
		fail_queue_pairs(cq);
	}
}

uint32_t rdma_cqs_publish(struct rdma *r)
{
	struct rdma_cq *cq;
	uint32_t n = 0;

	tell_failed(r);
	for (; (cq = STAILQ_FIRST(&r->dirty_cqs)); n++) {
		STAILQ_REMOVE_HEAD(&r->dirty_cqs, dirty_link);
		publish(cq);
	}
	return n;
}

int rdma_cq_move(struct rdma_cq *cq, struct rdma_ring *ring)
{
	uint32_t head = falcon_load(&rdma_ring_idx(&cq->ring)->head);
	uint32_t unread = cq->ring.pos - head;
	uint32_t hidden = cq->ring.pos - cq->published;

	if (unread > cq->ring.entries || unread > ring->entries)
		return -EINVAL;
	for (; ring->pos < unread; ring->pos++)
		memmove(rdma_ring_at(ring, ring->pos), rdma_ring_at(&cq->ring, head + ring->pos),
			sizeof(struct fverbs_cqe));
	((struct fverbs_cq_shm *)ring->base)->armed =
		falcon_load(&((struct fverbs_cq_shm *)cq->ring.base)->armed);
	/* What is not shown yet is by publish(), with the event that may be due. */
	cq->published = ring->pos - hidden;
	falcon_store(&rdma_ring_idx(ring)->tail, cq->published);
	rdma_ring_close(&cq->ring);
	cq->ring = *ring;
	return 0;
}

void rdma_cq_forget(struct rdma_cq *cq)
{
	struct rdma *r = cq->ctx->r;
	struct rdma_cq **p;

	if (cq->dirty)
		STAILQ_REMOVE(&r->dirty_cqs, cq, rdma_cq, dirty_link);
	if (cq->failing) {
		for (p = &r->failed_cqs; *p != cq; p = &(*p)->failed_next)
			;
		*p = cq->failed_next;
	}
	rdma_async_forget(cq->ctx, &cq->events.async);
	rdma_channel_forget(cq);
}
