// SPDX-License-Identifier: BSD-2-Clause
/*
 * Polling and arming completion queues.
 *
 * Applications poll in a loop. Whoever finds nothing again and again offers the CPU to others: as a
 * rule it is the agent that has to run before anything can be found (base/spin.h). Where the agents do
 * not get the CPUs that they need, offering is not enough: then a thread that does nothing but poll
 * naps until there is news (idle.h). What comes soon is waited for without, since to sleep and to be
 * woken takes longer; whether that is worth while is learned from the naps. Whoever has few requests under
 * way waits for each of them, and lingers always; with many there is work for the agents, which want the CPU.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/spin.h"
#include "ipc/sleep.h"
#include "verbs/fv.h"
#include "verbs/idle.h"

enum {
	IDLE_CHECK = 4096,	/* empty polls of a queue between looks whether the agent is still there */
	LINGER_FEW_NS = 160000,	/* with 1 to FEW requests under way */
	FEW = 3,
	NAP_NS = 100 * 1000,	/* at most: the application may have other things to look at */
};

static __thread struct fv_idle spell;

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

	if (fv_forked(&ctx->agent))
		return false;
	if (falcon_load(&cq->shm->idx.tail) != cq->head) {
		*out = cq->entries[cq->head++ & cq->mask];
		falcon_store(&cq->shm->idx.head, cq->head);
		return true;
	}
	return !fv_live(&ctx->agent) && fv_flush_next(cq, out);
}

void fv_cq_clean(struct fv_cq *cq, uint64_t qp_cookie)
{
	const struct fv_ctx *ctx = FV_CAST(struct fv_ctx, v.context, cq->cq.context);
	uint32_t tail, to;

	if (fv_forked(&ctx->agent))
		return;
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

static bool is_empty(struct fv_cq *cq)
{
	bool empty;

	fv_lock(&cq->lock);
	empty = falcon_load(&cq->shm->idx.tail) == cq->head;
	fv_unlock(&cq->lock);
	return empty;
}

/* Sleep until the agent has shown us something, of any queue, or for a little while. */
static void nap(struct fv_ctx *ctx, struct fv_cq *cq)
{
	static const struct timespec most = { .tv_nsec = NAP_NS };
	struct fverbs_ctx_shm *shm = ctx->agent.shm;
	uint32_t news = falcon_load(&shm->news);

	sleep_enter(&shm->nappers);
	if (is_empty(cq))
		syscall(SYS_futex, &shm->news, FUTEX_WAIT, news, &most, NULL, 0);
	sleep_leave(&shm->nappers);
}

static bool has_few(const struct fv_cq *cq)
{
	uint32_t n = __atomic_load_n(&cq->under_way, __ATOMIC_RELAXED);

	return n >= 1 && n <= FEW;
}

static bool may_nap(const struct fv_ctx *ctx)
{
	return ctx->poll == FV_POLL_NAP ||
	       (ctx->poll == FV_POLL_AUTO && falcon_load(&ctx->agent.shm->cpu_pressure));
}

void fv_busy(void)
{
	fv_idle_end(&spell);
}

void fv_cq_idle(struct fv_cq *cq)
{
	struct fv_ctx *ctx = FV_CAST(struct fv_ctx, v.context, cq->cq.context);
	bool few = has_few(cq);
	enum fv_idle_act act;

	if (__atomic_add_fetch(&cq->idle, 1, __ATOMIC_RELAXED) % IDLE_CHECK == 0)
		fv_agent_check(&ctx->agent);
	if (ctx->poll == FV_POLL_SPIN)
		return;
	act = fv_idle_enter(&spell, spin_clock(), fv_idle_nothing(), few ? LINGER_FEW_NS : 0);
	if (act == FV_IDLE_NAP && !may_nap(ctx))
		act = FV_IDLE_YIELD;
	if (act == FV_IDLE_NAP)
		nap(ctx, cq);
	else if (act == FV_IDLE_YIELD)
		sched_yield();
	fv_idle_leave(&spell, spin_clock(), act == FV_IDLE_NAP && !few);
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

	if (!fv_live(&ctx->agent) && fv_forked(&ctx->agent))
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
		fv_busy();
	else if (n > 0)
		fv_cq_idle(cq);
	return got;
}

void fv_cq_arm(struct fv_cq *cq, uint32_t want)
{
	uint32_t armed = falcon_load(&cq->shm->armed);

	/* Being told of all completions includes the solicited ones. */
	while (armed < want &&
	       !__atomic_compare_exchange_n(&cq->shm->armed, &armed, want, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		;
	/* The last look for work is the application's: it polls once more before it waits. */
	sleep_announced();
}

int fv_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct fv_ctx *ctx = fv_ctx_of(ibcq->context);
	struct fv_cq *cq = fv_cq(ibcq);

	if (fv_forked(&ctx->agent))
		return fv_agent_usable(&ctx->agent);
	/* Not the queue's lock: whoever is between start_poll() and end_poll() may arm, too. */
	pthread_mutex_lock(&ibcq->mutex);
	fv_cq_arm(cq, solicited_only ? FVERBS_ARMED_SOLICITED : FVERBS_ARMED_ANY);
	pthread_mutex_unlock(&ibcq->mutex);
	if (!fv_live(&ctx->agent) && fv_flush_pending(cq))
		fv_wake_late(cq);
	return 0;
}
