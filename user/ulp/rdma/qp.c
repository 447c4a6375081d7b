// SPDX-License-Identifier: BSD-2-Clause
/* Queue pairs: their numbers, life, links, and their turns. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ulp/rdma/qp.h"

int rdma_qps_open(struct rdma *r)
{
	struct rdma_qps *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	q->r = r;
	TAILQ_INIT(&q->ready);
	LIST_INIT(&q->timed);
	/* Bounded by queue pair: what one has under way, and holds back, must not stop another. */
	rdma_slab_init(&q->txns, sizeof(struct rdma_txn), UINT32_MAX);
	rdma_slab_init(&q->items, sizeof(struct rdma_item), UINT32_MAX);
	rdma_slab_init(&q->pieces, sizeof(struct rdma_piece), UINT32_MAX);
	rdma_pool_init(&q->pool);
	r->qps = q;
	return 0;
}

void rdma_qps_close(struct rdma *r)
{
	struct rdma_qps *q = r->qps;

	if (!q)
		return;
	rdma_slab_free(&q->txns);
	rdma_slab_free(&q->items);
	rdma_slab_free(&q->pieces);
	rdma_pool_free(&q->pool);
	free(q->slots);
	free(q);
	r->qps = NULL;
}

/* ---- numbers ---- */

static bool grow_slots(struct rdma_qps *q)
{
	uint32_t n = q->nslots ? q->nslots * 2 : 64;
	struct rdma_qp_slot *slots;

	if (n > 1U << RDMA_QPN_INDEX_BITS)
		return false;
	slots = realloc(q->slots, n * sizeof(*slots));
	if (!slots)
		return false;
	q->slots = slots;
	for (uint32_t i = n; i-- > q->nslots;) {
		slots[i] = (struct rdma_qp_slot){ .next = q->free_slot };
		if (i >= QP_FIRST_INDEX)
			q->free_slot = i;
	}
	q->nslots = n;
	return true;
}

/* The variant changes with each use, so that a peer's old number is nobody's. */
static bool take_number(struct rdma *r, struct rdma_qp *qp)
{
	struct rdma_qps *q = r->qps;
	struct rdma_qp_slot *s;

	if (!q->free_slot && !grow_slots(q))
		return false;
	s = &q->slots[q->free_slot];
	s->variant++;
	qp->num = ((uint32_t)s->variant << RDMA_GROUP_BITS | r->member) << RDMA_QPN_INDEX_BITS & 0xffffff;
	qp->num |= q->free_slot;
	q->free_slot = s->next;
	s->qp = qp;
	return true;
}

static void give_number(struct rdma_qps *q, uint32_t num)
{
	uint32_t i = num & ((1U << RDMA_QPN_INDEX_BITS) - 1);

	q->slots[i].qp = NULL;
	q->slots[i].next = q->free_slot;
	q->free_slot = i;
}

struct rdma_qp *rdma_qp_find(struct rdma *r, uint32_t num)
{
	uint32_t i = num & ((1U << RDMA_QPN_INDEX_BITS) - 1);
	struct rdma_qp *qp = i < r->qps->nslots ? r->qps->slots[i].qp : NULL;

	return qp && qp->num == num ? qp : NULL;
}

uint32_t rdma_qp_num(const struct rdma_qp *qp)
{
	return qp->num;
}

const struct rdma_qp_stats *rdma_qp_stats(const struct rdma_qp *qp)
{
	return &qp->stats;
}

uint32_t rdma_qp_events(const struct rdma_qp *qp)
{
	return qp->async_events;
}

const struct rdma_qp_init *rdma_qp_parts(const struct rdma_qp *qp)
{
	return &qp->init;
}

struct rdma_mr **rdma_qp_windows(struct rdma_qp *qp)
{
	return &qp->windows;
}

/* ---- life ---- */

static const char *check_init(const struct rdma_qp_init *init)
{
	const struct fverbs_create_qp *req = &init->req;

	switch (req->type) {
	case IBV_QPT_RC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		break;
	case IBV_QPT_UC:
		return "unreliable connected queue pairs (UC) have no place in RDMA over Falcon; use RC";
	default:
		return "queue pairs of that type do not exist here: RC, UD and XRC do";
	}
	if (req->ordering > FVERBS_UNORDERED || req->errors > FVERBS_COMPLETE_IN_ERROR)
		return "no such ordering or error mode";
	if (req->ordering == FVERBS_UNORDERED && req->errors != FVERBS_COMPLETE_IN_ERROR)
		return "unordered queue pairs complete in error (RDMA 6.4)";
	if (req->ordering == FVERBS_UNORDERED &&
	    (req->type == IBV_QPT_XRC_SEND || req->type == IBV_QPT_XRC_RECV))
		return "XRC queue pairs are strongly or weakly ordered";
	if (req->type != IBV_QPT_XRC_RECV && (!init->pd || !init->send_cq || !init->sq.base))
		return "a queue pair needs a protection domain, a send queue and its completion queue";
	if ((req->type == IBV_QPT_RC || req->type == IBV_QPT_UD) && !init->recv_cq)
		return "a queue pair needs a completion queue for what it receives";
	if (req->type == IBV_QPT_XRC_RECV && !init->xrcd)
		return "a receiving XRC queue pair needs a domain";
	if (req->max_send_sge > FVERBS_SGE_MAX || req->max_recv_sge > FVERBS_SGE_MAX ||
	    req->max_inline > FVERBS_INLINE_MAX)
		return "more scatter/gather elements or inline data than there can be";
	return NULL;
}

static struct rdma_qp *new_qp(const struct rdma_qp_init *init)
{
	struct rdma_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->init = *init;
	qp->type = (uint8_t)init->req.type;
	qp->ordered = init->req.ordering == FVERBS_STRONGLY_ORDERED;
	qp->unordered = init->req.ordering == FVERBS_UNORDERED;
	qp->cie = init->req.errors == FVERBS_COMPLETE_IN_ERROR;
	qp->transport = qp->type == IBV_QPT_RC ? FALCON_RDMA_RC :
			qp->type == IBV_QPT_UD ? FALCON_RDMA_UD : FALCON_RDMA_XRC;
	qp->nmsgs = qp->ordered ? 1 : QP_MSGS;
	qp->deadline = UINT64_MAX;
	STAILQ_INIT(&qp->txq);
	STAILQ_INIT(&qp->parked);
	STAILQ_INIT(&qp->arrived);
	if (init->sq.base)
		qp->ops = calloc(init->sq.entries, sizeof(*qp->ops));
	if (qp->type != IBV_QPT_UD) {
		qp->ring = calloc(QP_WINDOW, sizeof(*qp->ring));
		qp->msgs = calloc(qp->nmsgs, sizeof(*qp->msgs));
	}
	if ((init->sq.base && !qp->ops) || (qp->type != IBV_QPT_UD && (!qp->ring || !qp->msgs))) {
		free(qp->ops);
		free(qp->ring);
		free(qp->msgs);
		free(qp);
		return NULL;
	}
	qp->op_head = init->sq.pos;
	return qp;
}

int rdma_qp_create(struct rdma *r, const struct rdma_qp_init *init, struct rdma_qp **out, char *err,
		   size_t errlen)
{
	const char *why = check_init(init);
	struct rdma_qp *qp;

	if (why) {
		snprintf(err, errlen, "%s", why);
		return -EINVAL;
	}
	qp = new_qp(init);
	if (!qp) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	qp->r = r;
	qp->qps = r->qps;
	if (!take_number(r, qp)) {
		snprintf(err, errlen, "there are %u queue pairs, the most there can be",
			 r->qps->nslots - QP_FIRST_INDEX);
		free(qp->ops);
		free(qp->ring);
		free(qp->msgs);
		free(qp);
		return -ENOSPC;
	}
	qp->attr.path_mtu = IBV_MTU_1024;
	*out = qp;
	return 0;
}

static void keep_stats(struct rdma_qp_stats *sum, const struct rdma_qp_stats *s)
{
	RDMA_QP_STATS(STAT_ADD)
}

void rdma_qp_destroy(struct rdma_qp *qp)
{
	rdma_qp_abandon(qp, false);
	rdma_async_forget(qp->init.ctx, &qp->async_events);
	if (qp->is_ready)
		TAILQ_REMOVE(&qp->qps->ready, qp, ready);
	keep_stats(&qp->r->past.qp, &qp->stats);
	give_number(qp->qps, qp->num);
	rdma_ring_close(&qp->init.sq);
	rdma_ring_close(&qp->init.rq);
	free(qp->ops);
	free(qp->ring);
	free(qp->msgs);
	free(qp);
}

void rdma_qp_query(const struct rdma_qp *qp, struct fverbs_qp_attr *out)
{
	const struct fverbs_create_qp *req = &qp->init.req;

	*out = qp->attr;
	out->qp_state = out->cur_qp_state = qp->state;
	out->max_send_wr = req->max_send_wr;
	out->max_recv_wr = req->max_recv_wr;
	out->max_send_sge = req->max_send_sge;
	out->max_recv_sge = req->max_recv_sge;
	out->max_inline = req->max_inline;
	out->sq_sig_all = req->sq_sig_all != 0;
	out->sq_draining = qp->state == IBV_QPS_SQD && qp->op_head != qp->init.sq.pos;
}

void rdma_qp_event(struct rdma_qp *qp, uint32_t type)
{
	rdma_async_event(qp->init.ctx, qp->init.req.cookie, type, &qp->async_events);
}

struct fverbs_cqe rdma_qp_cqe(const struct rdma_qp *qp, struct rdma_cq *cq, uint64_t wr_id,
			      uint8_t status)
{
	/* With XRC the completion may be another application's, which has no name for |qp|. */
	bool own = rdma_cq_ctx(cq) == qp->init.ctx;

	return (struct fverbs_cqe){ .wr_id = wr_id, .status = status, .qp_num = qp->num,
				    .qp_cookie = own ? qp->init.req.cookie : 0 };
}

/* ---- turns ---- */

void rdma_qp_kick(struct rdma_qp *qp)
{
	if (qp->is_ready)
		return;
	qp->is_ready = true;
	TAILQ_INSERT_TAIL(&qp->qps->ready, qp, ready);
}

void rdma_qp_rung(struct rdma_qp *qp)
{
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE)
		qp->flushing = true;
	rdma_qp_kick(qp);
}

static uint32_t turn(struct rdma_qp *qp)
{
	uint32_t n = 0;

	if (qp->flushing)
		n += rdma_qp_flush(qp);
	if (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD)
		n += rdma_req_run(qp);
	if (!STAILQ_EMPTY(&qp->parked))
		rdma_resp_unpark(qp);
	return n;
}

/* Each queue pair that has something to do once; one that has more comes back to the list's end. */
static uint32_t turns(struct rdma_qps *q)
{
	struct rdma_qp *last = TAILQ_LAST(&q->ready, rdma_qp_list), *qp;
	uint32_t n = 0;

	if (!last)
		return 0;
	do {
		qp = TAILQ_FIRST(&q->ready);
		TAILQ_REMOVE(&q->ready, qp, ready);
		qp->is_ready = false;
		n += turn(qp);
	} while (qp != last);
	return n;
}

/* Requests have waited for the link for as long as retries would have taken. */
static void expire(struct rdma_qps *q)
{
	struct rdma_qp *qp, *next;

	for (qp = LIST_FIRST(&q->timed); qp; qp = next) {
		next = LIST_NEXT(qp, timed);
		if (qp->deadline > q->r->now)
			continue;
		LIST_REMOVE(qp, timed);
		qp->deadline = UINT64_MAX;
		qp->lost = true;
		rdma_qp_kick(qp);
	}
}

/* Somebody has given buffers back: who waits for them may try. */
static void feed(struct rdma_qps *q)
{
	if (!q->starved || !q->fed)
		return;
	q->starved = q->fed = false;
	for (uint32_t i = 0; i < q->nslots; i++) {
		struct rdma_qp *qp = q->slots[i].qp;

		if (qp && (qp->cut.op || !STAILQ_EMPTY(&qp->parked)))
			rdma_qp_kick(qp);
	}
}

uint32_t rdma_qps_run(struct rdma *r)
{
	struct rdma_qps *q = r->qps;

	expire(q);
	feed(q);
	return turns(q);
}

void rdma_qps_were_away(struct rdma *r, uint64_t ns)
{
	struct rdma_qp *qp;

	LIST_FOREACH(qp, &r->qps->timed, timed)
		qp->deadline += ns;
}

uint64_t rdma_qps_deadline(const struct rdma *r)
{
	const struct rdma_qp *qp;
	uint64_t at = UINT64_MAX;

	if (!TAILQ_EMPTY(&r->qps->ready) || (r->qps->starved && r->qps->fed))
		return r->now;
	LIST_FOREACH(qp, &r->qps->timed, timed)
		at = qp->deadline < at ? qp->deadline : at;
	return at;
}

void rdma_qps_xon(struct rdma *r, struct rdma_link *link)
{
	struct rdma_qp *qp = link ? rdma_link_qp(link) : NULL;

	(void)r;
	if (qp) {
		qp->blocked = false;
		rdma_qp_kick(qp);
	} else if (link) {
		rdma_link_room(link);
	}
}
