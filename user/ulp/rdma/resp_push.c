// SPDX-License-Identifier: BSD-2-Clause
/* SENDs and WRITEs of peers: receive requests, messages, and where their bytes go. */
#include <errno.h>

#include "ulp/rdma/qp.h"

/* Where a message's receive request comes from; NULL: the queue pair's own, or, with XRC, no such SRQ. */
static struct rdma_srq *srq_of(struct rdma_qp *qp, const struct falcon_rdma_hdr *h)
{
	struct rdma_srq *srq;

	if (qp->type != IBV_QPT_XRC_RECV)
		return qp->init.srq;
	srq = rdma_srq_find(qp->r, h->xrc_srq);
	return srq && rdma_srq_xrcd(srq) == qp->init.xrcd ? srq : NULL;
}

struct rdma_pd *rdma_qp_remote_pd(struct rdma_qp *qp, const struct falcon_rdma_hdr *h)
{
	struct rdma_srq *srq;

	if (qp->type != IBV_QPT_XRC_RECV)
		return qp->init.pd;
	srq = srq_of(qp, h);
	return srq ? rdma_srq_pd(srq) : NULL;
}

uint8_t rdma_scatter(struct rdma_move *m, struct rdma_pd *pd, const struct rdma_recv *recv,
		     uint32_t off, const uint8_t *data, uint32_t len)
{
	for (uint32_t i = 0; i < recv->num_sge && len; i++) {
		const struct fverbs_sge *s = &recv->sge[i];
		struct rdma_span span;
		uint32_t n;

		if (off >= s->len) {
			off -= s->len;
			continue;
		}
		n = s->len - off < len ? s->len - off : len;
		if (rdma_resolve_local(pd, s->lkey, s->addr + off, n, IBV_ACCESS_LOCAL_WRITE, &span))
			return IBV_WC_LOC_PROT_ERR;
		if (rdma_move_add(m, RDMA_COPY_WRITE, &span, (void *)(uintptr_t)data))
			return IBV_WC_GENERAL_ERR;
		data += n;
		len -= n;
		off = 0;
	}
	return len ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
}

/* ---- receive requests ---- */

static struct rdma_cq *cq_of(const struct rdma_qp *qp, const struct rdma_msg *m)
{
	struct rdma_cq *cq = m->srq ? rdma_srq_cq(m->srq) : NULL;

	return cq ? cq : qp->init.recv_cq;
}

/* Take a receive request for |m|. As rdma_recv_take(). */
static int take(struct rdma_qp *qp, struct rdma_msg *m, struct rdma_srq *srq, uint32_t rmsn)
{
	int rc = srq ? rdma_srq_take(srq, &m->recv) :
		       rdma_recv_take(&qp->init.rq, qp->init.req.max_recv_sge, &m->recv);

	if (rc == 0 || rc == -EPROTO)
		return rc;
	m->used = true;
	m->rmsn = rmsn;
	m->got = m->end = 0;
	m->total = UINT32_MAX;
	m->given = false;
	m->srq = srq;
	return rc;
}

/* The packet stays with the core, which delivers it again. */
static void not_ready(struct rdma_qp *qp, uint32_t rsn)
{
	qp->stats.not_ready++;
	fcore_push_done(qp->rx_core, rsn, FCORE_PUSH_RNR, qp->attr.min_rnr_timer, 0, qp->r->now);
}

/* |m|'s last packet came early, and does not end it after all. False: it has done so already. */
static bool take_back(struct rdma_qp *qp, const struct rdma_msg *m)
{
	struct rdma_item *it;

	LIST_FOREACH(it, &qp->items, all) {
		if (!it->cq || it->rmsn != m->rmsn)
			continue;
		it->cq = NULL;
		it->invalidate = false;
		return true;
	}
	return false;
}

/* |it| completes the receive request of |m| with |status|, and nobody else does. */
static void complete(struct rdma_item *it, struct rdma_msg *m, uint8_t status)
{
	struct rdma_qp *qp = it->qp;

	if (!m->given || take_back(qp, m)) {
		it->cq = cq_of(qp, m);
		it->srq = m->srq;
		it->cqe = rdma_qp_cqe(qp, it->cq, m->recv.wr_id, status);
		it->cqe.opcode = IBV_WC_RECV;
		it->cqe.src_qp = qp->attr.dest_qp_num;
	}
	m->used = false;
}

/* It ends here, as an item that has failed. */
static void reject(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn,
		   enum falcon_rdma_nak nak, int event, struct rdma_msg *m, uint8_t status)
{
	struct rdma_item *it = rdma_item_new(qp, h, rsn);

	if (!it) {
		not_ready(qp, rsn);
		return;
	}
	rdma_resp_took(qp, h);
	rdma_item_fail(it, nak, event);
	if (m)
		complete(it, m, status);
	rdma_item_placed(it);
}

static void reject_invalid(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn)
{
	qp->rx_kind = RDMA_RX_IDLE;
	reject(qp, h, rsn, FALCON_RDMA_NAK_INVALID, IBV_EVENT_QP_REQ_ERR, NULL, 0);
}

static bool begins(uint8_t opcode)
{
	uint8_t op = opcode & FALCON_RDMA_OPCODE_MASK;

	return op == FALCON_RDMA_SEND_FIRST || op == FALCON_RDMA_SEND_ONLY ||
	       op == FALCON_RDMA_SEND_ONLY_IMM || op == FALCON_RDMA_SEND_ONLY_INV ||
	       op == FALCON_RDMA_WRITE_FIRST || op == FALCON_RDMA_WRITE_ONLY ||
	       op == FALCON_RDMA_WRITE_ONLY_IMM;
}

static bool ends(uint8_t opcode)
{
	uint8_t op = opcode & FALCON_RDMA_OPCODE_MASK;

	return op != FALCON_RDMA_SEND_FIRST && op != FALCON_RDMA_SEND_MIDDLE &&
	       op != FALCON_RDMA_WRITE_FIRST && op != FALCON_RDMA_WRITE_MIDDLE;
}

/* Requests are taken in the order of messages, also for those whose packets are still to come. */
static struct rdma_msg *take_up_to(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn)
{
	struct rdma_srq *srq = srq_of(qp, h);

	if (qp->type == IBV_QPT_XRC_RECV && !srq) {
		reject_invalid(qp, h, rsn);
		return NULL;
	}
	for (;;) {
		struct rdma_msg *m = &qp->msgs[qp->rx_rmsn % qp->nmsgs];
		int rc = m->used ? 0 : take(qp, m, srq, qp->rx_rmsn);

		if (rc == 0) {
			not_ready(qp, rsn);
			return NULL;
		}
		if (rc == -EPROTO) {
			reject(qp, h, rsn, FALCON_RDMA_NAK_OPERATION, IBV_EVENT_QP_FATAL, NULL, 0);
			return NULL;
		}
		qp->rx_rmsn++;
		if (rc < 0) {
			reject(qp, h, rsn, FALCON_RDMA_NAK_OPERATION, -1, m, IBV_WC_LOC_QP_OP_ERR);
			return NULL;
		}
		if (m->rmsn == h->rmsn)
			return m;
	}
}

/*
 * The message of |h|, whose receive request is taken if it has none. NULL: the packet has been answered
 * (RNR, an error).
 */
static struct rdma_msg *msg_of(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn)
{
	struct rdma_msg *m = &qp->msgs[h->rmsn % qp->nmsgs];
	int32_t ahead = falcon_seq_diff(h->rmsn, qp->rx_rmsn);

	if (m->used && m->rmsn == h->rmsn)
		return m;
	/* Of a message that has ended in error already, or one that cannot be. */
	if (ahead < 0 || ahead >= (int32_t)qp->nmsgs ||
	    (qp->ordered && !begins(h->opcode) &&
	     (h->opcode & FALCON_RDMA_OPCODE_MASK) != FALCON_RDMA_WRITE_LAST_IMM)) {
		reject_invalid(qp, h, rsn);
		return NULL;
	}
	return take_up_to(qp, h, rsn);
}

/* Immediate data or an invalidated key, with the completion. */
static void carry(struct rdma_item *it, const struct falcon_rdma_hdr *h)
{
	uint32_t has = falcon_rdma_headers(h->opcode);

	if (has & FALCON_RDMA_HAS_IMMDT) {
		it->cqe.wc_flags |= IBV_WC_WITH_IMM;
		it->cqe.imm = h->imm;
	}
	if (has & FALCON_RDMA_HAS_IETH) {
		it->invalidate = true;
		it->inv_rkey = h->inv_rkey;
		it->cqe.wc_flags |= IBV_WC_WITH_INV;
		it->cqe.imm = h->inv_rkey;
	}
}

/* ---- SEND ---- */

/* Ordered: do the packets of a message follow one another? */
static bool follows(struct rdma_qp *qp, uint8_t opcode, enum rdma_rx_kind kind)
{
	bool good = qp->rx_kind == (begins(opcode) ? RDMA_RX_IDLE : kind);

	if (!qp->ordered)
		return true;
	/* In complete-in-error mode a peer gives up messages in the middle. */
	if (qp->cie && begins(opcode))
		good = true;
	if (good)
		qp->rx_kind = ends(opcode) ? RDMA_RX_IDLE : kind;
	return good;
}

/* All packets of |m| are here: the completion is that of its last one. */
static bool is_complete(struct rdma_msg *m, const struct falcon_rdma_hdr *h, uint32_t len)
{
	m->got += len;
	m->end = h->offset + len;
	if (ends(h->opcode))
		m->total = m->end;
	return m->got >= m->total;
}

static void place_send(struct rdma_item *it, struct rdma_msg *m, const struct falcon_rdma_hdr *h,
		       const uint8_t *data, uint32_t len)
{
	struct rdma_qp *qp = it->qp;
	struct rdma_pd *pd = m->srq ? rdma_srq_pd(m->srq) : qp->init.pd;
	uint8_t status = IBV_WC_SUCCESS;

	if (h->ce)
		status = IBV_WC_REM_ABORT_ERR;
	else if ((uint64_t)h->offset + len > m->recv.total)
		status = IBV_WC_LOC_LEN_ERR;
	else
		status = rdma_scatter(&it->move, pd, &m->recv, h->offset, data, len);
	if (status != IBV_WC_SUCCESS) {
		rdma_move_cancel(&it->move);
		rdma_item_fail(it, status == IBV_WC_LOC_LEN_ERR ? FALCON_RDMA_NAK_INVALID :
								  FALCON_RDMA_NAK_OPERATION, -1);
		complete(it, m, status);
		return;
	}
	if (ends(h->opcode)) {
		complete(it, m, IBV_WC_SUCCESS);
		/* Until is_complete(): unordered, others may be on their way. */
		m->used = m->given = true;
		it->cqe.byte_len = h->offset + len;
		carry(it, h);
	}
	if (is_complete(m, h, len))
		m->used = false;
}

void rdma_resp_send(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn,
		    const uint8_t *data, uint32_t len)
{
	uint8_t kind = qp->rx_kind;
	struct rdma_msg *m;
	struct rdma_item *it;

	if (!follows(qp, h->opcode, RDMA_RX_SEND)) {
		reject_invalid(qp, h, rsn);
		return;
	}
	m = msg_of(qp, h, rsn);
	if (!m) {
		/* It will be delivered again, or the sequence has ended. */
		qp->rx_kind = kind;
		return;
	}
	if (qp->ordered && h->offset != m->end) {
		reject_invalid(qp, h, rsn);
		return;
	}
	it = rdma_item_new(qp, h, rsn);
	if (!it) {
		qp->rx_kind = kind;
		not_ready(qp, rsn);
		return;
	}
	rdma_resp_took(qp, h);
	it->len = 0;
	place_send(it, m, h, data, len);
	if (!it->move.pending)
		rdma_item_placed(it);
}

/* ---- WRITE ---- */

/* The first packet says how long all of it is: nothing is written if that is not allowed. */
static enum rdma_fault check_write(struct rdma_qp *qp, struct rdma_pd *pd,
				   const struct falcon_rdma_hdr *h, uint32_t len,
				   struct rdma_span *span)
{
	enum rdma_fault fault = RDMA_FAULT_NONE;

	*span = (struct rdma_span){ 0 };
	if (begins(h->opcode) && h->length > len) {
		fault = rdma_resolve_remote(qp, pd, h->rkey, h->va, h->length,
					    IBV_ACCESS_REMOTE_WRITE, span);
		if (!fault)
			rdma_span_put(span);
	}
	if (!fault && len)
		fault = rdma_resolve_remote(qp, pd, h->rkey, h->va, len, IBV_ACCESS_REMOTE_WRITE,
					    span);
	return fault;
}

/* Is the length such that the packet can be part of a WRITE? */
static bool write_fits(const struct falcon_rdma_hdr *h, uint32_t len)
{
	if (h->ce)
		return true;
	if (begins(h->opcode) && ends(h->opcode))
		return h->length == len;
	return h->length >= len && (len || ends(h->opcode));
}

static void place_write(struct rdma_item *it, struct rdma_msg *m, struct rdma_pd *pd,
			const struct falcon_rdma_hdr *h, const uint8_t *data, uint32_t len)
{
	struct rdma_qp *qp = it->qp;
	enum rdma_fault fault;
	struct rdma_span span;

	it->len = len;
	if (m) {
		complete(it, m, IBV_WC_SUCCESS);
		it->cqe.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
		carry(it, h);
	}
	if (h->ce) {
		rdma_item_fail(it, FALCON_RDMA_NAK_OPERATION, -1);
		it->cqe.status = IBV_WC_REM_ABORT_ERR;
		return;
	}
	fault = check_write(qp, pd, h, len, &span);
	if (fault)
		rdma_item_fail(it, FALCON_RDMA_NAK_ACCESS, IBV_EVENT_QP_ACCESS_ERR);
	else if (len && rdma_move_add(&it->move, RDMA_COPY_WRITE, &span, (void *)(uintptr_t)data))
		rdma_item_fail(it, FALCON_RDMA_NAK_OPERATION, IBV_EVENT_QP_FATAL);
}

void rdma_resp_write(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn,
		     const uint8_t *data, uint32_t len)
{
	struct rdma_pd *pd = rdma_qp_remote_pd(qp, h);
	uint8_t kind = qp->rx_kind;
	struct rdma_msg *m = NULL;
	struct rdma_item *it;

	if (!pd || !follows(qp, h->opcode, RDMA_RX_WRITE) || !write_fits(h, len) ||
	    !(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE)) {
		reject_invalid(qp, h, rsn);
		return;
	}
	if (falcon_rdma_headers(h->opcode) & FALCON_RDMA_HAS_IMMDT) {
		m = msg_of(qp, h, rsn);
		if (!m) {
			qp->rx_kind = kind;
			return;
		}
	}
	it = rdma_item_new(qp, h, rsn);
	if (!it) {
		qp->rx_kind = kind;
		not_ready(qp, rsn);
		return;
	}
	rdma_resp_took(qp, h);
	place_write(it, m, pd, h, data, len);
	if (!it->move.pending)
		rdma_item_placed(it);
}
