// SPDX-License-Identifier: BSD-2-Clause
/*
 * What becomes of posted work when the agent has gone: it completes as flushed. So does what is posted
 * by threads that have yet to notice.
 */
#include <string.h>

#include "verbs/fv.h"

static bool is_left(const struct fv_wq *wq)
{
	return wq->shm && wq->flushed != falcon_load(&wq->tail);
}

/* The next request of |wq| that the agent had not finished with. */
static const void *next_request(struct fv_wq *wq)
{
	if (!is_left(wq))
		return NULL;
	return wq->entries + (size_t)(wq->flushed++ & wq->mask) * wq->stride;
}

/* Where flushing begins: at what the agent had taken last, if that can be true. */
static void begin(struct fv_wq *wq)
{
	uint32_t head, tail;

	if (!wq->shm)
		return;
	head = falcon_load(&wq->shm->idx.head);
	tail = falcon_load(&wq->tail);
	wq->flushed = tail - head <= wq->mask + 1 ? head : tail;
}

/* All queue pairs whose requests complete on |cq|; with the context's lock held. */
static void begin_all(struct fv_ctx *ctx, struct fv_cq *cq)
{
	for (struct fv_qp *qp = ctx->qps; qp; qp = qp->next) {
		if (qp->qp.send_cq == &cq->cq)
			begin(&qp->sq);
		if (qp->qp.recv_cq == &cq->cq)
			begin(&qp->rq);
	}
	cq->flushing = true;
}

bool fv_flush_pending(struct fv_cq *cq)
{
	struct fv_ctx *ctx = FV_CAST(struct fv_ctx, v.context, cq->cq.context);
	bool found = false;

	pthread_mutex_lock(&ctx->lock);
	if (!cq->flushing)
		begin_all(ctx, cq);
	for (struct fv_qp *qp = ctx->qps; qp && !found; qp = qp->next)
		found = (qp->qp.send_cq == &cq->cq && is_left(&qp->sq)) ||
			(qp->qp.recv_cq == &cq->cq && is_left(&qp->rq));
	pthread_mutex_unlock(&ctx->lock);
	return found;
}

bool fv_flush_next(struct fv_cq *cq, struct fverbs_cqe *out)
{
	struct fv_ctx *ctx = FV_CAST(struct fv_ctx, v.context, cq->cq.context);
	bool found = false;

	pthread_mutex_lock(&ctx->lock);
	if (!cq->flushing)
		begin_all(ctx, cq);
	for (struct fv_qp *qp = ctx->qps; qp && !found; qp = qp->next) {
		const struct fverbs_send_wqe *send = NULL;
		const struct fverbs_recv_wqe *recv = NULL;

		if (qp->qp.send_cq == &cq->cq)
			send = next_request(&qp->sq);
		if (!send && qp->qp.recv_cq == &cq->cq)
			recv = next_request(&qp->rq);
		if (!send && !recv)
			continue;
		memset(out, 0, sizeof(*out));
		out->wr_id = send ? send->wr_id : recv->wr_id;
		out->status = IBV_WC_WR_FLUSH_ERR;
		out->opcode = send ? IBV_WC_SEND : IBV_WC_RECV;
		out->qp_num = qp->qp.qp_num;
		out->qp_cookie = qp->cookie;
		found = true;
	}
	pthread_mutex_unlock(&ctx->lock);
	return found;
}
