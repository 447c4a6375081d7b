// SPDX-License-Identifier: BSD-2-Clause
/* Transactions of ours: buffers, what the core says of them, responses. */
#include <string.h>

#include "ulp/rdma/qp.h"

struct rdma_txn *rdma_txn_new(struct rdma_qp *qp)
{
	struct rdma_txn *t;

	if (qp->ntxns >= FCORE_MAX_TXNS)
		return NULL;
	t = rdma_slab_get(&qp->qps->txns, sizeof(*t));
	if (!t) {
		qp->qps->starved = true;
		return NULL;
	}
	t->qps = qp->qps;
	t->qp = qp;
	t->op = qp->cut.op;
	t->state = RDMA_TXN_FETCH;
	return t;
}

bool rdma_txn_buffer(struct rdma_txn *t, uint32_t len)
{
	t->buf = rdma_pool_get(&t->qps->pool, len, t->qp->buffers);
	t->buf_len = len;
	t->payload = t->buf;
	if (t->buf)
		t->qp->buffers++;
	else
		t->qps->starved = true;
	return t->buf;
}

void rdma_txn_orphan(struct rdma_txn *t)
{
	t->qp->buffers -= t->buf != NULL;
	t->qp->nloose -= t->loose;
	t->qp = NULL;
}

void rdma_txn_free(struct rdma_txn *t)
{
	if (t->span.mr)
		rdma_span_put(&t->span);
	if (t->qp)
		rdma_txn_orphan(t);
	rdma_pool_put(&t->qps->pool, t->buf, t->buf_len);
	t->qps->fed = true;
	rdma_slab_put(&t->qps->txns, t);
}

/* The rest of a message that cannot be sent: its last packet says so (RDMA 8.2, CE). */
static void end_in_error(struct rdma_qp *qp, struct rdma_txn *t)
{
	uint8_t transport = t->hdr.opcode & FALCON_RDMA_TRANSPORT_MASK;
	bool first = !t->hdr.offset;
	struct rdma_txn *next;

	while ((next = STAILQ_NEXT(t, queue)) && next->op == t->op) {
		STAILQ_REMOVE(&qp->txq, next, rdma_txn, queue);
		LIST_REMOVE(next, all);
		qp->ntxns--;
		t->op->left--;
		rdma_txn_orphan(next);
		if (next->state == RDMA_TXN_READY)
			rdma_txn_free(next);
		else
			rdma_move_cancel(&next->move);
	}
	t->hdr.opcode = (uint8_t)(transport | rdma_push_opcode(t->op->opcode, first, true));
	t->hdr.ce = 1;
	t->hdr.length = 0;
	t->hdr.pad = 0;
	t->len = 0;
	t->state = RDMA_TXN_READY;
	t->op->status = IBV_WC_LOC_PROT_ERR;
	t->op->cut = true;
	if (qp->cut.op == t->op)
		qp->cut.op = NULL;
	rdma_req_submit(qp);
}

void rdma_txn_fetched(struct rdma_move *m)
{
	struct rdma_txn *t = (struct rdma_txn *)((char *)m - offsetof(struct rdma_txn, move));
	struct rdma_qp *qp = t->qp;

	if (!qp) {
		rdma_txn_free(t);
		return;
	}
	if (m->error)
		rdma_copy_failed(qp, m->error);
	if (m->error && qp->cie) {
		end_in_error(qp, t);
		return;
	}
	if (m->error) {
		STAILQ_REMOVE(&qp->txq, t, rdma_txn, queue);
		rdma_txn_end(t, IBV_WC_LOC_PROT_ERR, kCmplAck);
		return;
	}
	t->state = RDMA_TXN_READY;
	if (STAILQ_FIRST(&qp->txq) == t)
		rdma_req_submit(qp);
}

/* ---- what comes back ---- */

static uint8_t status_of_nak(uint8_t nak)
{
	switch (nak) {
	case FALCON_RDMA_NAK_SEQUENCE: return IBV_WC_RETRY_EXC_ERR;
	case FALCON_RDMA_NAK_INVALID: return IBV_WC_REM_INV_REQ_ERR;
	case FALCON_RDMA_NAK_ACCESS: return IBV_WC_REM_ACCESS_ERR;
	default: return IBV_WC_REM_OP_ERR;
	}
}

static uint8_t status_of(enum falcon_completion_code code, uint8_t ulp_code)
{
	switch (code) {
	case kCmplAck: return IBV_WC_SUCCESS;
	case kCmplTargetNackCIE:
	case kCmplTargetNackNRE: return status_of_nak(ulp_code);
	case kCmplOpErr: return IBV_WC_BAD_RESP_ERR;
	case kCmplLocalRsrc:
	case kCmplLocalXlr: return IBV_WC_GENERAL_ERR;
	default: return IBV_WC_RETRY_EXC_ERR;
	}
}

static void sunk(struct rdma_move *m)
{
	struct rdma_txn *t = (struct rdma_txn *)((char *)m - offsetof(struct rdma_txn, move));

	if (m->error && t->qp)
		rdma_copy_failed(t->qp, m->error);
	rdma_txn_end(t, m->error ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS, kCmplAck);
}

/* Place |len| bytes of the response where the request said. */
static uint8_t sink(struct rdma_txn *t, const void *data, uint32_t len)
{
	if (!t->span.mr)
		return IBV_WC_SUCCESS;
	memcpy(t->buf, data, len);
	rdma_move_init(&t->move, t->qps, sunk);
	return rdma_move_add(&t->move, RDMA_COPY_WRITE, &t->span, t->buf) ? IBV_WC_GENERAL_ERR :
									    IBV_WC_SUCCESS;
}

/* Of a peer that gives no reasons, the bits are reserved. */
static bool knows_reasons(const struct rdma_qp *qp)
{
	return qp->link && rdma_link_reasons(qp->link);
}

static uint8_t take_response(struct rdma_txn *t, const struct falcon_rdma_hdr *h,
			     const uint8_t *data, uint32_t len)
{
	bool read = (t->hdr.opcode & FALCON_RDMA_OPCODE_MASK) == FALCON_RDMA_READ_REQUEST;
	uint8_t op = h->opcode & FALCON_RDMA_OPCODE_MASK;

	if (!falcon_rdma_is_response(h->opcode) || read != (op != FALCON_RDMA_ATOMIC_RESPONSE) ||
	    (h->opcode ^ t->hdr.opcode) & FALCON_RDMA_TRANSPORT_MASK || h->sn != t->hdr.sn ||
	    h->dest_qp != t->qp->num || h->sink_va != t->hdr.sink_va ||
	    h->sink_lkey != t->hdr.sink_lkey)
		return IBV_WC_BAD_RESP_ERR;
	if (read && t->qp->link && rdma_link_pads(t->qp->link) && t->qp->core)
		fcore_conn_pad_pulls(t->qp->core, h->room);
	if (h->ce)
		return status_of_nak(knows_reasons(t->qp) ? h->reason : FALCON_RDMA_NAK_OPERATION);
	if (!read)
		return len ? IBV_WC_BAD_RESP_ERR : sink(t, &h->original, sizeof(h->original));
	return len == t->hdr.length ? sink(t, data, len) : IBV_WC_BAD_RESP_ERR;
}

void rdma_qps_pull_data(struct rdma *r, uint64_t cookie, const void *payload, uint32_t len)
{
	struct rdma_txn *t = (struct rdma_txn *)(uintptr_t)cookie;
	struct falcon_rdma_hdr h;
	uint32_t n;

	(void)r;
	if (!t->qp || !t->pull)
		return;
	t->answered = true;
	if (!payload) {
		t->status = IBV_WC_SUCCESS;
		return;
	}
	if (!len) {
		t->status = IBV_WC_REM_OP_ERR;
		return;
	}
	n = falcon_rdma_unpack(payload, len, &h);
	t->status = n ? take_response(t, &h, (const uint8_t *)payload + n, len - n - h.pad) :
			IBV_WC_BAD_RESP_ERR;
}

bool rdma_qps_rnr(struct rdma *r, uint64_t cookie, uint8_t times)
{
	struct rdma_txn *t = (struct rdma_txn *)(uintptr_t)cookie;
	enum { FOR_EVER = 7 };

	(void)r;
	if (!t->qp || t->datagram)
		return false;
	if (t->qp->attr.rnr_retry == FOR_EVER || times <= t->qp->attr.rnr_retry)
		return true;
	/* The core would go on: with its queue pair, the transaction is of no interest to anybody. */
	t->qp->cie = false;
	rdma_req_fail(t->qp, t->op, IBV_WC_RNR_RETRY_EXC_ERR, kCmplAck);
	return false;
}

void rdma_qps_completion(struct rdma *r, uint64_t cookie, enum falcon_completion_code code,
			 uint8_t ulp_code)
{
	struct rdma_txn *t = (struct rdma_txn *)(uintptr_t)cookie;
	uint8_t status = status_of(code, ulp_code);

	(void)r;
	if (t->pull && code == kCmplAck)
		status = t->answered ? t->status : IBV_WC_REM_OP_ERR;
	/* Datagrams are lost silently. */
	if (t->datagram)
		status = IBV_WC_SUCCESS;
	/* The target has not seen the packet: no mode lets the sequence go on. */
	else if (t->qp && (code == kCmplLocalRsrc || code == kCmplLocalXlr))
		t->qp->cie = false;
	/* A response ends with its copy. */
	if (t->move.pending)
		t->state = RDMA_TXN_SINK;
	else
		rdma_txn_end(t, status, (uint8_t)code);
}
