// SPDX-License-Identifier: BSD-2-Clause
/*
 * Polling and arming completion queues.
 *
 * Applications poll in a loop. Whoever finds nothing again and again offers the CPU to others: as a
 * rule it is the agent that has to run before anything can be found (io/spin.h).
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "verbs/fv.h"

enum {
	IDLE_YIELD = 8,		/* empty polls in a row before each gives the CPU away */
	IDLE_CHECK = 4096,	/* and between looks whether the agent is still there */
};

static void to_wc(struct ibv_wc *wc, const struct fverbs_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = cqe->slid;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = cqe->dlid_path_bits;
}

bool fv_cq_take(struct fv_cq *cq, struct fverbs_cqe *out)
{
	struct fv_ctx *ctx = FV_CAST(struct fv_ctx, v.context, cq->cq.context);

	if (falcon_load(&cq->shm->idx.tail) != cq->head) {
		*out = cq->entries[cq->head++ & cq->mask];
		falcon_store(&cq->shm->idx.head, cq->head);
		return true;
	}
	return !fv_live(&ctx->agent) && fv_flush_next(cq, out);
}

void fv_cq_clean(struct fv_cq *cq, uint64_t qp_cookie)
{
	uint32_t tail, to;

	fv_lock(&cq->lock);
	tail = to = falcon_load(&cq->shm->idx.tail);
	/* What is not yet read is ours to move: close the gaps towards the tail. */
	for (uint32_t from = tail; from != cq->head;) {
		const struct fverbs_cqe *cqe = &cq->entries[--from & cq->mask];

		if (cqe->qp_cookie != qp_cookie)
			cq->entries[--to & cq->mask] = *cqe;
	}
	cq->head = to;
	falcon_store(&cq->shm->idx.head, to);
	fv_unlock(&cq->lock);
}

void fv_cq_idle(struct fv_cq *cq)
{
	struct fv_ctx *ctx = FV_CAST(struct fv_ctx, v.context, cq->cq.context);
	uint32_t idle = __atomic_add_fetch(&cq->idle, 1, __ATOMIC_RELAXED);

	if (idle % IDLE_CHECK == 0)
		fv_agent_check(&ctx->agent);
	if (idle >= IDLE_YIELD && !ctx->spin)
		sched_yield();
}

/* The agent is gone: what is left of the ring, then what never completed. */
static int poll_rest(struct fv_cq *cq, int n, struct ibv_wc *wc)
{
	struct fverbs_cqe cqe;
	int got = 0;

	while (got < n && fv_cq_take(cq, &cqe))
		to_wc(&wc[got++], &cqe);
	return got;
}

int fv_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct fv_ctx *ctx = FV_CAST(struct fv_ctx, v.context, ibcq->context);
	struct fv_cq *cq = fv_cq(ibcq);
	uint32_t ready;
	int got = 0;

	if (!fv_live(&ctx->agent) && falcon_load(&ctx->agent.state) == FV_FORKED)
		return -1;
	fv_lock(&cq->lock);
	if (!fv_live(&ctx->agent)) {
		got = poll_rest(cq, n, wc);
		goto out;
	}
	ready = falcon_load(&cq->shm->idx.tail) - cq->head;
	while (got < n && (uint32_t)got < ready)
		to_wc(&wc[got++], &cq->entries[cq->head++ & cq->mask]);
	if (got)
		falcon_store(&cq->shm->idx.head, cq->head);
out:
	fv_unlock(&cq->lock);
	if (got)
		__atomic_store_n(&cq->idle, 0, __ATOMIC_RELAXED);
	else if (n > 0)
		fv_cq_idle(cq);
	return got;
}

int fv_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct fv_ctx *ctx = fv_ctx_of(ibcq->context);
	struct fv_cq *cq = fv_cq(ibcq);
	uint32_t want = solicited_only ? FVERBS_ARMED_SOLICITED : FVERBS_ARMED_ANY;
	uint32_t armed = falcon_load(&cq->shm->armed);

	if (falcon_load(&ctx->agent.state) == FV_FORKED)
		return fv_agent_usable(&ctx->agent);
	/* Being told of all completions includes the solicited ones. */
	while (armed < want &&
	       !__atomic_compare_exchange_n(&cq->shm->armed, &armed, want, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_ACQUIRE))
		;
	if (!fv_live(&ctx->agent) && fv_flush_pending(cq)) {
		pthread_mutex_lock(&ctx->lock);
		fv_wake_waiter(cq);
		pthread_mutex_unlock(&ctx->lock);
	}
	return 0;
}
