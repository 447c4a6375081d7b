// SPDX-License-Identifier: BSD-2-Clause
/* The requesting side: requests taken in their order, handed to the core, completed in their order. */
#include <errno.h>
#include <string.h>

#include "falcon/receive/sink.h"
#include "ulp/rdma/objects.h"
#include "ulp/rdma/qp.h"

/* What is looked at is a copy, whatever the compiler knows about memcpy(). */
static void copy_once(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	__asm__ volatile("" : : : "memory");
}

/* Fetch the next request into qp->cut. False: there is none. */
static bool fetch(struct rdma_qp *qp)
{
	struct rdma_ring *sq = &qp->init.sq;
	uint32_t waiting = falcon_load(&rdma_ring_idx(sq)->tail) - sq->pos;
	struct rdma_cut *cut = &qp->cut;
	struct rdma_op *op;

	if (!waiting)
		return false;
	if (waiting > sq->entries - (sq->pos - qp->op_head)) {
		rdma_qp_fatal(qp, IBV_EVENT_QP_FATAL);
		return false;
	}
	copy_once(&cut->wqe, rdma_ring_at(sq, sq->pos), sizeof(cut->wqe));
	op = &qp->ops[sq->pos++ & (sq->entries - 1)];
	*op = (struct rdma_op){ .wr_id = cut->wqe.wr_id, .opcode = cut->wqe.opcode };
	op->signaled = qp->init.req.sq_sig_all || cut->wqe.flags & IBV_SEND_SIGNALED;
	cut->op = op;
	cut->started = false;
	cut->nsge = cut->at_sge = cut->at_off = cut->total = cut->sent = 0;
	cut->inline_data = NULL;
	return true;
}

static bool is_local(uint8_t opcode)
{
	return opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_BIND_MW;
}

static bool takes_receive(uint8_t opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool reads(uint8_t opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* May the request in qp->cut begin (InfiniBand 10.8.3.3)? */
static bool may_start(const struct rdma_qp *qp)
{
	const struct rdma_cut *cut = &qp->cut;

	/* What changes keys waits for all that may still use them. */
	if (is_local(cut->op->opcode))
		return qp->op_head + 1 == qp->init.sq.pos;
	if (cut->wqe.flags & IBV_SEND_FENCE && qp->reads)
		return false;
	if (reads(cut->op->opcode) && qp->reads && qp->reads >= qp->attr.max_rd_atomic)
		return false;
	return qp->ordered || !takes_receive(cut->op->opcode) || qp->sends < QP_MSGS;
}

static void run_local(struct rdma_qp *qp)
{
	struct rdma_cut *cut = &qp->cut;
	struct rdma_op *op = cut->op;
	int rc = op->opcode == IBV_WR_BIND_MW ? rdma_mw_bind(qp, &cut->wqe) :
						rdma_key_invalidate(qp, cut->wqe.imm, false);

	cut->op = NULL;
	op->cut = op->done = true;
	op->status = (uint8_t)rc;
	qp->stopped |= rc && !qp->cie;
	rdma_req_retire(qp);
}

/* Begin the request in qp->cut. */
static void start(struct rdma_qp *qp)
{
	struct rdma_cut *cut = &qp->cut;
	struct rdma_op *op = cut->op;
	uint8_t status = rdma_req_check(qp);

	if (status != IBV_WC_SUCCESS) {
		cut->op = NULL;
		op->cut = true;
		rdma_req_fail(qp, op, status, kCmplAck);
		return;
	}
	if (is_local(op->opcode)) {
		run_local(qp);
		return;
	}
	cut->started = true;
	op->byte_len = cut->total;
	op->reading = reads(op->opcode);
	op->sending = takes_receive(op->opcode);
	qp->reads += op->reading;
	qp->sends += op->sending;
	cut->rmsn = qp->tx_rmsn;
	qp->tx_rmsn += op->sending;
}

/* Make transactions until there is nothing to make them of. Returns how many steps it took. */
static uint32_t prepare(struct rdma_qp *qp)
{
	struct rdma_cut *cut = &qp->cut;
	uint32_t n = 0;

	for (; n < QP_BUDGET && !qp->stopped; n++) {
		if (qp->state != IBV_QPS_RTS && (qp->state != IBV_QPS_SQD || !cut->op))
			break;
		if (!cut->op && !fetch(qp))
			break;
		if (!cut->started) {
			if (!may_start(qp) || (qp->type == IBV_QPT_UD && !rdma_ud_begin(qp)))
				break;
			start(qp);
		} else if (!rdma_req_cut(qp)) {
			break;
		}
	}
	return n;
}

static void check_drained(struct rdma_qp *qp)
{
	if (qp->state != IBV_QPS_SQD || !qp->draining || qp->op_head != qp->init.sq.pos)
		return;
	qp->draining = false;
	rdma_qp_event(qp, IBV_EVENT_SQ_DRAINED);
}

static bool has_requests(const struct rdma_qp *qp)
{
	const struct rdma_ring *sq = &qp->init.sq;

	return qp->op_head != sq->pos || falcon_load(&rdma_ring_idx(sq)->tail) != sq->pos;
}

/* No packet can be sent any more: the oldest request ends with that, unless the core is about to say. */
static void fail_lost(struct rdma_qp *qp)
{
	const struct rdma_txn *t;
	struct rdma_op *op;

	LIST_FOREACH(t, &qp->txns, all)
		if (t->state == RDMA_TXN_CORE)
			return;
	if (qp->op_head == qp->init.sq.pos && !fetch(qp))
		return;
	if (qp->state == IBV_QPS_ERR)
		return;
	op = &qp->ops[qp->op_head & (qp->init.sq.entries - 1)];
	qp->cut.op = NULL;
	rdma_req_fail(qp, op, IBV_WC_RETRY_EXC_ERR, kCmplDeadConn);
}

uint32_t rdma_req_run(struct rdma_qp *qp)
{
	uint32_t n;

	if (!qp->init.sq.base)
		return 0;
	if (qp->type != IBV_QPT_UD && !qp->core) {
		if (!has_requests(qp)) {
			check_drained(qp);
		} else if (!qp->lost) {
			rdma_qp_await_link(qp);
		} else {
			fail_lost(qp);
		}
		return 0;
	}
	n = prepare(qp);
	n += rdma_req_submit(qp);
	if (n >= QP_BUDGET)
		rdma_qp_kick(qp);
	check_drained(qp);
	return n;
}

/* Where XDP may place the response to |t|: in offload memory. False: nowhere. */
static bool describe_sink(const struct rdma_txn *t, const struct fcore_conn *c, struct falcon_sink *out)
{
	const struct rdma_area *area = t->span.mr ? t->span.mr->area : NULL;
	uint8_t op = t->hdr.opcode & FALCON_RDMA_OPCODE_MASK;
	const struct falcon_pull pull = { .opcode = op, .length = t->span.len, .sn = t->hdr.sn,
					  .sink_va = t->hdr.sink_va, .sink_lkey = t->hdr.sink_lkey };
	bool read = falcon_pull_is_read(&pull);

	if (!area || !area->memory || t->qp->type != IBV_QPT_RC || pull.length > FALCON_COPY_MAX ||
	    (!read && t->span.addr % sizeof(uint64_t)))
		return false;
	*out = (struct falcon_sink){ .offset = t->span.addr, .memory = area->memory - 1 };
	falcon_sink_expect(out, &pull, t->qp->num, read && fcore_conn_pads_pulls(c));
	return true;
}

int rdma_txn_submit(struct rdma_txn *t, struct fcore_conn *c)
{
	struct rdma_qp *qp = t->qp;
	uint32_t len = t->pull ? 0 : t->len - t->hdr.pad;
	uint8_t hdr[FALCON_RDMA_MAX_HDR], was = t->state;
	struct fcore_txn txn = { .proto = FALCON_PROTO_RDMA, .ulp_hdr = hdr,
				 .payload = t->payload, .len = t->len, .cookie = (uintptr_t)t };
	struct falcon_sink sink;
	int rc;

	if (!c)
		return -ENOTCONN;
	t->hdr.sn = t->datagram ? 0 : qp->tx_sn;
	if (t->pull && describe_sink(t, c, &sink))
		txn.sink = &sink;
	txn.ulp_hdr_len = falcon_rdma_pack(&t->hdr, hdr);
	t->state = RDMA_TXN_CORE;
	/* It may end before this returns, and with it the queue pair's work. */
	rc = t->pull ? fcore_pull(c, &txn, qp->r->now) : fcore_push(c, &txn, qp->r->now);
	if (rc) {
		t->state = was;
		return rc;
	}
	qp->tx_sn++;
	qp->stats.tx_packets++;
	qp->stats.tx_bytes += len;
	return 0;
}

uint32_t rdma_req_submit(struct rdma_qp *qp)
{
	struct rdma_txn *t;
	uint32_t n = 0;

	while (!qp->blocked && (t = STAILQ_FIRST(&qp->txq)) && t->state == RDMA_TXN_READY) {
		int rc;

		STAILQ_REMOVE_HEAD(&qp->txq, queue);
		if (t->datagram) {
			rdma_ud_submit(t);
			n++;
			continue;
		}
		rc = rdma_txn_submit(t, qp->core);
		if (!rc) {
			n++;
			continue;
		}
		STAILQ_INSERT_HEAD(&qp->txq, t, queue);
		qp->blocked = rc == -EAGAIN;
		break;
	}
	return n;
}

/* ---- ends ---- */

static void complete(struct rdma_qp *qp, struct rdma_op *op)
{
	struct fverbs_cqe cqe = rdma_qp_cqe(qp, qp->init.send_cq, op->wr_id, op->status);
	static const uint8_t opcodes[] = {
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_SEND] = IBV_WC_SEND,
		[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
		[IBV_WR_LOCAL_INV] = IBV_WC_LOCAL_INV,
		[IBV_WR_BIND_MW] = IBV_WC_BIND_MW,
		[IBV_WR_SEND_WITH_INV] = IBV_WC_SEND,
		[IBV_WR_ATOMIC_WRITE] = IBV_WC_ATOMIC_WRITE,
	};

	op->posted = true;
	if (op->status == IBV_WC_SUCCESS)
		qp->stats.sent++;
	else
		qp->stats.sent_in_error++;
	if (op->status == IBV_WC_SUCCESS && !op->signaled)
		return;
	cqe.opcode = op->opcode < sizeof(opcodes) ? opcodes[op->opcode] : IBV_WC_SEND;
	cqe.byte_len = op->byte_len;
	cqe.vendor_err = op->vendor;
	rdma_cq_post(qp->init.send_cq, &cqe, op->status != IBV_WC_SUCCESS);
}

void rdma_req_retire(struct rdma_qp *qp)
{
	struct rdma_ring *sq = &qp->init.sq;
	uint32_t from = qp->op_head;

	while (qp->op_head != sq->pos) {
		struct rdma_op *op = &qp->ops[qp->op_head & (sq->entries - 1)];

		if (!op->done)
			break;
		qp->op_head++;
		if (!op->posted)
			complete(qp, op);
		if (op->status == IBV_WC_SUCCESS || qp->cie)
			continue;
		falcon_store(&rdma_ring_idx(sq)->head, qp->op_head);
		if (qp->type == IBV_QPT_UD)
			rdma_qp_send_error(qp);
		else
			rdma_qp_fatal(qp, -1);
		return;
	}
	if (qp->op_head == from)
		return;
	falcon_store(&rdma_ring_idx(sq)->head, qp->op_head);
	rdma_qp_kick(qp);
}

/* |op| is over as far as the core is concerned, or has failed where that ends the queue pair. */
static void op_ended(struct rdma_qp *qp, struct rdma_op *op)
{
	op->done = true;
	qp->reads -= op->reading;
	qp->sends -= op->sending;
	op->reading = op->sending = false;
	if (op->status != IBV_WC_SUCCESS && !qp->cie)
		qp->stopped = true;
	if (qp->unordered)
		complete(qp, op);
	rdma_req_retire(qp);
	rdma_qp_kick(qp);
}

void rdma_req_fail(struct rdma_qp *qp, struct rdma_op *op, uint8_t status, uint8_t vendor)
{
	if (op->done)
		return;
	if (op->status == IBV_WC_SUCCESS) {
		op->status = status;
		op->vendor = vendor;
	}
	if (qp->cut.op == op) {
		qp->cut.op = NULL;
		op->cut = true;
	}
	/* A lost connection ends the queue pair in any mode. */
	if (status == IBV_WC_RETRY_EXC_ERR)
		qp->cie = false;
	if (!qp->cie || (op->cut && !op->left))
		op_ended(qp, op);
}

/* Of |op|, one transaction less is under way. */
static void one_less(struct rdma_qp *qp, struct rdma_op *op)
{
	qp->ntxns--;
	op->left--;
}

void rdma_op_left(struct rdma_qp *qp, struct rdma_op *op)
{
	one_less(qp, op);
	if (op->cut && !op->left && !op->done)
		op_ended(qp, op);
}

void rdma_txn_end(struct rdma_txn *t, uint8_t status, uint8_t vendor)
{
	struct rdma_qp *qp = t->qp;
	struct rdma_op *op = t->op;

	if (qp)
		LIST_REMOVE(t, all);
	rdma_txn_free(t);
	if (!qp || !op)
		return;
	one_less(qp, op);
	if (status != IBV_WC_SUCCESS)
		rdma_req_fail(qp, op, status, vendor);
	else if (op->cut && !op->left && !op->done)
		op_ended(qp, op);
	if (qp->cut.op)
		rdma_qp_kick(qp);
}
