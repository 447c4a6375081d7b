// SPDX-License-Identifier: BSD-2-Clause
/* The end of work that is under way: errors of queue pairs, flushes, resets. */
#include <errno.h>
#include <string.h>

#include "ipc/sleep.h"
#include "ulp/rdma/qp.h"

/*
 * Transactions that the core has end when it says so; nobody is told then. What waits for its bytes
 * ends with the copies, which touch nothing any more. |keep|: datagrams whose sends are over are sent on.
 */
static void abandon_requests(struct rdma_qp *qp, bool keep)
{
	struct rdma_txn *t, *next;

	if (qp->core)
		fcore_sinks_close(qp->core);
	for (t = LIST_FIRST(&qp->txns); t; t = next) {
		next = LIST_NEXT(t, all);
		if (keep && !t->op)
			continue;
		if (t->state == RDMA_TXN_HELD)
			rdma_ud_unhold(t);
		LIST_REMOVE(t, all);
		rdma_txn_orphan(t);
		rdma_move_cancel(&t->move);
		if (t->state == RDMA_TXN_READY)
			rdma_txn_free(t);
	}
	STAILQ_INIT(&qp->txq);
	qp->ntxns = qp->reads = qp->sends = 0;
	qp->cut.op = NULL;
}

/* A receive request that was taken ends without a message. */
static void flush_recv(struct rdma_qp *qp, struct rdma_cq *cq, uint64_t wr_id)
{
	struct fverbs_cqe cqe = rdma_qp_cqe(qp, cq, wr_id, IBV_WC_WR_FLUSH_ERR);

	cqe.opcode = IBV_WC_RECV;
	qp->stats.flushed++;
	rdma_rq_done(qp);
	rdma_cq_post(cq, &cqe, true);
}

static void answer_late(struct rdma_qp *qp, struct rdma_item *it)
{
	if (it->answered)
		return;
	if (falcon_rdma_is_pull(it->opcode)) {
		it->nak = FALCON_RDMA_NAK_SEQUENCE;
		rdma_resp_error(it, qp->rx_core);
		return;
	}
	it->answered = true;
	if (qp->rx_core)
		fcore_push_done(qp->rx_core, it->rsn, FCORE_PUSH_NRE, 0, FALCON_RDMA_NAK_SEQUENCE,
				qp->r->now);
}

static void flush_item(struct rdma_qp *qp, struct rdma_item *it, bool flush)
{
	if (flush && it->cq)
		flush_recv(qp, it->cq, it->cqe.wr_id);
	it->cq = NULL;
}

/* Items in the order of their sequence numbers or arrival, then the messages that were not complete. */
static void abandon_items(struct rdma_qp *qp, bool flush)
{
	struct rdma_item *it;

	for (; qp->ring && qp->rx_base != qp->rx_next; qp->rx_base++) {
		struct rdma_item **slot = &qp->ring[qp->rx_base % QP_WINDOW];

		it = *slot;
		*slot = NULL;
		if (it)
			flush_item(qp, it, flush);
	}
	STAILQ_FOREACH(it, &qp->arrived, wait)
		flush_item(qp, it, flush);
	STAILQ_INIT(&qp->arrived);
	while ((it = LIST_FIRST(&qp->items))) {
		if (it->waits)
			STAILQ_REMOVE(&qp->parked, it, rdma_item, wait);
		it->waits = it->in_ring = false;
		flush_item(qp, it, flush);
		/* Copies first: answering gives back the memory that they read from. */
		rdma_move_cancel(&it->move);
		/* Behind a queue pair that goes nothing is answered any more: link_leave.c. */
		if (flush)
			answer_late(qp, it);
		LIST_REMOVE(it, all);
		qp->buffers -= it->buf != NULL;
		it->qp = NULL;
		rdma_item_put(it);
	}
	for (uint32_t i = 0; i < qp->nmsgs && qp->msgs; i++) {
		struct rdma_msg *m = &qp->msgs[(qp->rx_rmsn + i) % qp->nmsgs];

		if (flush && m->used && !m->given)
			flush_recv(qp, m->srq && rdma_srq_cq(m->srq) ? rdma_srq_cq(m->srq) :
				       qp->init.recv_cq, m->recv.wr_id);
		*m = (struct rdma_msg){ 0 };
	}
	qp->rx_kind = RDMA_RX_IDLE;
	qp->rx_stopped = false;
}

/* What |srq| has given to |qp| has nowhere to go. */
static void forget_srq(struct rdma_qp *qp, const struct rdma_srq *srq)
{
	struct rdma_item *it;

	LIST_FOREACH(it, &qp->items, all)
		if (it->srq == srq)
			it->cq = NULL;
	for (uint32_t i = 0; i < qp->nmsgs; i++) {
		if (qp->msgs[i].used && qp->msgs[i].srq == srq) {
			qp->msgs[i].used = false;
			qp->rx_kind = RDMA_RX_IDLE;
		}
	}
}

void rdma_qps_srq_gone(struct rdma *r, struct rdma_srq *srq)
{
	for (uint32_t i = 0; i < r->qps->nslots; i++) {
		struct rdma_qp *qp = r->qps->slots[i].qp;

		if (qp && qp->type == IBV_QPT_XRC_RECV)
			forget_srq(qp, srq);
	}
}

static uint8_t wc_opcode(uint8_t opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM: return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP: return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD: return IBV_WC_FETCH_ADD;
	case IBV_WR_BIND_MW: return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV: return IBV_WC_LOCAL_INV;
	case IBV_WR_ATOMIC_WRITE: return IBV_WC_ATOMIC_WRITE;
	default: return IBV_WC_SEND;
	}
}

static void flush_send(struct rdma_qp *qp, uint64_t wr_id, uint8_t opcode)
{
	struct fverbs_cqe cqe = rdma_qp_cqe(qp, qp->init.send_cq, wr_id, IBV_WC_WR_FLUSH_ERR);

	cqe.opcode = wc_opcode(opcode);
	qp->stats.flushed++;
	rdma_cq_post(qp->init.send_cq, &cqe, true);
}

/* Requests that have been fetched: those that ended well are among them only behind one that has not. */
static void flush_ops(struct rdma_qp *qp, bool flush)
{
	struct rdma_ring *sq = &qp->init.sq;

	if (!sq->base)
		return;
	for (; qp->op_head != sq->pos; qp->op_head++) {
		const struct rdma_op *op = &qp->ops[qp->op_head & (sq->entries - 1)];

		if (flush && !op->posted)
			flush_send(qp, op->wr_id, op->opcode);
	}
	/* Without completions they were not ended, as far as the application can see. */
	if (flush)
		falcon_store(&rdma_ring_idx(sq)->head, qp->op_head);
}

void rdma_qp_abandon(struct rdma_qp *qp, bool flush)
{
	rdma_exec_withdraw(qp);
	abandon_requests(qp, false);
	abandon_items(qp, flush);
	flush_ops(qp, flush);
	if (qp->deadline != UINT64_MAX)
		LIST_REMOVE(qp, timed);
	qp->deadline = UINT64_MAX;
	/* While it flushes it stays: who is told of the error last may be the peer. */
	if (qp->link && !flush) {
		struct rdma_link *link = qp->link;

		qp->link = NULL;
		qp->core = qp->rx_core = NULL;
		qp->segment = 0;
		rdma_link_put(link);
	}
}

/* Requests that wait in the send queue. */
static uint32_t flush_sq(struct rdma_qp *qp, uint32_t budget)
{
	struct rdma_ring *sq = &qp->init.sq;
	uint32_t n = 0, waiting;

	if (!sq->base)
		return 0;
	waiting = falcon_load(&rdma_ring_idx(sq)->tail) - sq->pos;
	if (waiting > sq->entries)
		return 0;	/* the application has spoiled it, and that was what ended it */
	for (; n < waiting && n < budget; n++) {
		struct fverbs_send_wqe wqe;

		memcpy(&wqe, rdma_ring_at(sq, sq->pos++), sizeof(wqe));
		flush_send(qp, wqe.wr_id, wqe.opcode);
	}
	qp->op_head = sq->pos;
	falcon_store(&rdma_ring_idx(sq)->head, sq->pos);
	return n;
}

static uint32_t flush_rq(struct rdma_qp *qp, uint32_t budget)
{
	struct rdma_recv recv;
	uint32_t n = 0;

	if (!qp->init.rq.base)
		return 0;
	for (; n < budget; n++) {
		int rc = rdma_recv_take(&qp->init.rq, qp->init.req.max_recv_sge, &recv);

		if (rc == 0 || (rc < 0 && rc != -EINVAL))
			break;
		flush_recv(qp, qp->init.recv_cq, recv.wr_id);
	}
	return n;
}

uint32_t rdma_qp_flush(struct rdma_qp *qp)
{
	uint32_t n = flush_sq(qp, QP_FLUSH_BUDGET);

	if (qp->state == IBV_QPS_ERR)
		n += flush_rq(qp, QP_FLUSH_BUDGET);
	if (n < QP_FLUSH_BUDGET)
		qp->flushing = false;
	else
		rdma_qp_kick(qp);
	return n;
}

static void begin_flush(struct rdma_qp *qp)
{
	struct fverbs_wq_shm *rq = (struct fverbs_wq_shm *)qp->init.rq.base;

	/* What is posted from now on is flushed, too: its poster has to ring. */
	if (rq && qp->state == IBV_QPS_ERR) {
		sleep_announce(&rq->ring);
	}
	qp->flushing = true;
	rdma_qp_kick(qp);
}

void rdma_qp_fatal(struct rdma_qp *qp, int event)
{
	if (qp->state == IBV_QPS_ERR)
		return;
	qp->state = IBV_QPS_ERR;
	rdma_qp_abandon(qp, true);
	if (event >= 0)
		rdma_qp_event(qp, (uint32_t)event);
	if (qp->init.srq || qp->type == IBV_QPT_XRC_RECV)
		rdma_qp_event(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
	begin_flush(qp);
}

void rdma_qp_send_error(struct rdma_qp *qp)
{
	qp->state = IBV_QPS_SQE;
	abandon_requests(qp, true);
	flush_ops(qp, true);
	begin_flush(qp);
}
