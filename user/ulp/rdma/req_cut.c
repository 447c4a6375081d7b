// SPDX-License-Identifier: BSD-2-Clause
/* Requests cut into transactions (RDMA 6.7): checks, headers, and where the bytes come from or go. */
#include <string.h>

#include "ulp/rdma/qp.h"

enum what {
	WHAT_SEND,
	WHAT_WRITE,
	WHAT_READ,
	WHAT_ATOMIC,
	WHAT_LOCAL,
	WHAT_NOTHING,
};

static enum what what_of(uint8_t opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV: return WHAT_SEND;
	/* Of eight bytes, like the 8 bytes of an atomic: the agent that writes them does nothing else. */
	case IBV_WR_ATOMIC_WRITE:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM: return WHAT_WRITE;
	case IBV_WR_RDMA_READ: return WHAT_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD: return WHAT_ATOMIC;
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW: return WHAT_LOCAL;
	default: return WHAT_NOTHING;
	}
}

/* Copy the elements, and find the data that stand in the ring behind them. */
static uint8_t read_sges(struct rdma_qp *qp, bool may_inline)
{
	const struct rdma_ring *sq = &qp->init.sq;
	const uint8_t *at = rdma_ring_at(sq, sq->pos - 1) + sizeof(struct fverbs_send_wqe);
	struct rdma_cut *cut = &qp->cut;
	const struct fverbs_send_wqe *wqe = &cut->wqe;
	bool is_inline = wqe->flags & IBV_SEND_INLINE, copied = wqe->flags & FVERBS_SEND_COPIED;
	uint32_t nsge = is_inline ? 0 : wqe->num_sge, data = is_inline || copied ? wqe->inline_len : 0;
	uint64_t total = 0;

	if (nsge > qp->init.req.max_send_sge || data > FVERBS_INLINE_MAX ||
	    (is_inline && (data > qp->init.req.max_inline || !may_inline)) || (copied && !may_inline) ||
	    sizeof(*wqe) + nsge * sizeof(cut->sge[0]) + data > sq->stride)
		return IBV_WC_LOC_QP_OP_ERR;
	memcpy(cut->sge, at, nsge * sizeof(cut->sge[0]));
	__asm__ volatile("" : : : "memory");
	for (uint32_t i = 0; i < nsge; i++)
		total += cut->sge[i].len;
	if (is_inline)
		total = data;
	if (total > (uint64_t)QP_MESSAGE_MAX || (copied && total != data))
		return IBV_WC_LOC_LEN_ERR;
	cut->nsge = nsge;
	cut->total = (uint32_t)total;
	if (is_inline || copied)
		cut->inline_data = at + nsge * sizeof(cut->sge[0]);
	return IBV_WC_SUCCESS;
}

/* All that it names must be there before a packet is sent (InfiniBand 10.7.2.2). */
static uint8_t check_keys(struct rdma_qp *qp, uint32_t access)
{
	const struct rdma_cut *cut = &qp->cut;

	for (uint32_t i = 0; i < cut->nsge; i++) {
		const struct fverbs_sge *s = &cut->sge[i];
		struct rdma_span span;

		if (!s->len)
			continue;
		if (rdma_resolve_local(qp->init.pd, s->lkey, s->addr, s->len, access, &span))
			return IBV_WC_LOC_PROT_ERR;
		rdma_span_put(&span);
	}
	return IBV_WC_SUCCESS;
}

/* RDMA 6.4: it takes a receive request of a peer that could not put its pieces together. */
static bool is_one_transaction(const struct rdma_qp *qp)
{
	uint8_t opcode = qp->cut.op->opcode;

	return (qp->unordered || qp->type == IBV_QPT_UD) &&
	       (what_of(opcode) == WHAT_SEND || opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
}

/* RDMA 6.4: what a mode does not allow. */
static uint8_t check_mode(const struct rdma_qp *qp, enum what what)
{
	uint8_t opcode = qp->cut.op->opcode;

	if (qp->type == IBV_QPT_UD && (what != WHAT_SEND || opcode == IBV_WR_SEND_WITH_INV))
		return IBV_WC_LOC_QP_OP_ERR;
	if (is_one_transaction(qp) && qp->cut.total > qp->segment)
		return IBV_WC_LOC_LEN_ERR;
	if ((what == WHAT_ATOMIC || opcode == IBV_WR_ATOMIC_WRITE) &&
	    qp->cut.total != sizeof(uint64_t))
		return IBV_WC_LOC_LEN_ERR;
	if (opcode == IBV_WR_ATOMIC_WRITE && qp->cut.wqe.remote_addr % sizeof(uint64_t))
		return IBV_WC_LOC_QP_OP_ERR;
	if ((what == WHAT_READ || what == WHAT_ATOMIC) && !qp->attr.max_rd_atomic)
		return IBV_WC_LOC_QP_OP_ERR;
	return IBV_WC_SUCCESS;
}

uint8_t rdma_req_check(struct rdma_qp *qp)
{
	enum what what = what_of(qp->cut.op->opcode);
	bool push = what == WHAT_SEND || what == WHAT_WRITE;
	uint8_t status;

	if (what == WHAT_NOTHING)
		return IBV_WC_LOC_QP_OP_ERR;
	if (what == WHAT_LOCAL)
		return qp->type == IBV_QPT_UD ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_SUCCESS;
	status = read_sges(qp, push);
	if (status == IBV_WC_SUCCESS)
		status = check_mode(qp, what);
	/* One element in one transaction is looked at when that is made. */
	if (status == IBV_WC_SUCCESS &&
	    (qp->cut.inline_data || qp->cut.nsge > 1 || qp->cut.total > qp->segment))
		status = check_keys(qp, push ? 0 : IBV_ACCESS_LOCAL_WRITE);
	return status;
}

/* ---- headers ---- */

uint8_t rdma_push_opcode(uint8_t wr, bool first, bool last)
{
	switch (wr) {
	case IBV_WR_ATOMIC_WRITE:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		if (!last)
			return first ? FALCON_RDMA_WRITE_FIRST : FALCON_RDMA_WRITE_MIDDLE;
		if (wr == IBV_WR_RDMA_WRITE_WITH_IMM)
			return first ? FALCON_RDMA_WRITE_ONLY_IMM : FALCON_RDMA_WRITE_LAST_IMM;
		return first ? FALCON_RDMA_WRITE_ONLY : FALCON_RDMA_WRITE_LAST;
	default:
		if (!last)
			return first ? FALCON_RDMA_SEND_FIRST : FALCON_RDMA_SEND_MIDDLE;
		if (wr == IBV_WR_SEND_WITH_IMM)
			return first ? FALCON_RDMA_SEND_ONLY_IMM : FALCON_RDMA_SEND_LAST_IMM;
		if (wr == IBV_WR_SEND_WITH_INV)
			return first ? FALCON_RDMA_SEND_ONLY_INV : FALCON_RDMA_SEND_LAST_INV;
		return first ? FALCON_RDMA_SEND_ONLY : FALCON_RDMA_SEND_LAST;
	}
}

static void fill_header(struct rdma_qp *qp, struct rdma_txn *t, uint8_t op, bool last)
{
	const struct rdma_cut *cut = &qp->cut;
	const struct fverbs_send_wqe *wqe = &cut->wqe;

	t->hdr = (struct falcon_rdma_hdr){
		.opcode = (uint8_t)(qp->transport | op),
		.se = last && wqe->flags & IBV_SEND_SOLICITED,
		.dest_qp = qp->attr.dest_qp_num,
		.xrc_srq = wqe->xrc_srqn,
		.va = wqe->remote_addr + cut->sent,
		.rkey = wqe->rkey,
		.length = cut->total - cut->sent,
		.rmsn = cut->rmsn,
		.offset = cut->sent,
		.imm = wqe->imm,
		.inv_rkey = wqe->imm,
	};
	if (qp->type != IBV_QPT_UD)
		return;
	t->datagram = true;
	t->ah = wqe->ah;
	t->hdr.dest_qp = wqe->remote_qpn;
	/* The high bit stands for the queue pair's own key (InfiniBand 10.2.5). */
	t->hdr.qkey = wqe->remote_qkey >> 31 ? qp->attr.qkey : wqe->remote_qkey;
	t->hdr.src_qp = qp->num;
}

/* ---- bytes ---- */

/* Step over |n| bytes of the elements. */
static void advance(struct rdma_cut *cut, uint32_t n)
{
	cut->sent += n;
	if (cut->inline_data)
		return;
	while (n) {
		uint32_t left = cut->sge[cut->at_sge].len - cut->at_off;
		uint32_t step = n < left ? n : left;

		n -= step;
		cut->at_off += step;
		if (cut->at_off == cut->sge[cut->at_sge].len) {
			cut->at_sge++;
			cut->at_off = 0;
		}
	}
}

/* Skip elements without bytes. */
static const struct fverbs_sge *current_sge(struct rdma_cut *cut)
{
	while (cut->at_sge < cut->nsge && cut->at_off == cut->sge[cut->at_sge].len) {
		cut->at_sge++;
		cut->at_off = 0;
	}
	return &cut->sge[cut->at_sge];
}

/* Fetch |n| bytes, in as many pieces as elements hold them. */
static uint8_t gather(struct rdma_qp *qp, struct rdma_txn *t, uint32_t n)
{
	struct rdma_cut *cut = &qp->cut;
	uint32_t i = cut->at_sge, off = cut->at_off, got = 0;

	while (got < n) {
		const struct fverbs_sge *s = &cut->sge[i];
		uint32_t step = s->len - off < n - got ? s->len - off : n - got;
		struct rdma_span span;

		if (step) {
			if (rdma_resolve_local(qp->init.pd, s->lkey, s->addr + off, step, 0, &span))
				return IBV_WC_LOC_PROT_ERR;
			if (rdma_move_add(&t->move, RDMA_COPY_READ, &span, (uint8_t *)t->buf + got))
				return IBV_WC_GENERAL_ERR;
		}
		got += step;
		i++;
		off = 0;
	}
	return IBV_WC_SUCCESS;
}

/* A buffer for |n| bytes that will come, and the padding of |t|, which is written. */
static bool padded_buffer(struct rdma_txn *t, uint32_t n)
{
	if (!rdma_txn_buffer(t, n + t->hdr.pad))
		return false;
	memset((uint8_t *)t->buf + n, 0, t->hdr.pad);
	return true;
}

/*
 * All |n| bytes are of element |s|. Memory that is shared with us is sent from where it lies, but for a
 * last piece that has padding.
 */
static int load_one(struct rdma_qp *qp, struct rdma_txn *t, const struct fverbs_sge *s, uint32_t n)
{
	if (rdma_resolve_local(qp->init.pd, s->lkey, s->addr + qp->cut.at_off, n, 0, &t->span))
		return IBV_WC_LOC_PROT_ERR;
	if (t->span.direct && !t->hdr.pad) {
		t->payload = t->span.direct;
		return IBV_WC_SUCCESS;
	}
	if (!padded_buffer(t, n))
		return -1;
	if (t->span.direct) {
		memcpy(t->buf, t->span.direct, n);
		return IBV_WC_SUCCESS;
	}
	t->state = RDMA_TXN_FETCH;
	return rdma_move_add(&t->move, RDMA_COPY_READ, &t->span, t->buf) ? IBV_WC_GENERAL_ERR :
									   IBV_WC_SUCCESS;
}

/* Give |t|, which is new, its |n| bytes. enum ibv_wc_status, or -1: no buffer. */
static int load(struct rdma_qp *qp, struct rdma_txn *t, uint32_t n)
{
	struct rdma_cut *cut = &qp->cut;
	const struct fverbs_sge *s;
	uint8_t status;

	t->hdr.pad = (uint8_t)falcon_rdma_pad(n);
	t->len = n + t->hdr.pad;
	t->state = RDMA_TXN_READY;
	if (!n)
		return IBV_WC_SUCCESS;
	if (cut->inline_data) {
		if (!padded_buffer(t, n))
			return -1;
		memcpy(t->buf, cut->inline_data + cut->sent, n);
		return IBV_WC_SUCCESS;
	}
	rdma_move_init(&t->move, qp->qps, rdma_txn_fetched);
	s = current_sge(cut);
	if (s->len - cut->at_off >= n)
		return load_one(qp, t, s, n);
	if (!padded_buffer(t, n))
		return -1;
	status = gather(qp, t, n);
	if (t->move.pending)
		t->state = RDMA_TXN_FETCH;
	return status;
}

/* ---- transactions ---- */

/* |t| is complete: it takes its place behind the others. */
static void enqueue(struct rdma_qp *qp, struct rdma_txn *t, bool last)
{
	t->op->left++;
	LIST_INSERT_HEAD(&qp->txns, t, all);
	STAILQ_INSERT_TAIL(&qp->txq, t, queue);
	qp->ntxns++;
	if (!last)
		return;
	t->op->cut = true;
	qp->cut.op = NULL;
}

/* |t| came to nothing. */
static void drop(struct rdma_txn *t)
{
	rdma_txn_orphan(t);
	if (t->move.pending)
		rdma_move_cancel(&t->move);	/* freed when that is over */
	else
		rdma_txn_free(t);
}

/*
 * The next piece of the request cannot be had. If none was sent, the peer never hears of it. In
 * complete-in-error mode a last packet without data says so (RDMA 8.2, CE); without that mode the queue pair
 * ends anyway. False: no transaction is free.
 */
static bool give_up(struct rdma_qp *qp, uint8_t status)
{
	struct rdma_cut *cut = &qp->cut;
	struct rdma_op *op = cut->op;
	struct rdma_txn *t;

	if (!cut->sent)
		qp->tx_rmsn -= op->sending;
	if (!cut->sent || !qp->cie) {
		rdma_req_fail(qp, op, status, kCmplAck);
		return true;
	}
	t = rdma_txn_new(qp);
	if (!t)
		return false;
	fill_header(qp, t, rdma_push_opcode(op->opcode, false, true), true);
	t->hdr.ce = 1;
	t->hdr.length = 0;
	t->state = RDMA_TXN_READY;
	op->status = status;
	op->vendor = kCmplAck;
	enqueue(qp, t, true);
	return true;
}

/* The path may have become smaller since check_mode(). */
static bool cut_push(struct rdma_qp *qp)
{
	struct rdma_cut *cut = &qp->cut;
	uint32_t left = cut->total - cut->sent;
	uint32_t n = left < qp->segment || is_one_transaction(qp) ? left : qp->segment;
	struct rdma_txn *t = rdma_txn_new(qp);
	bool last = n == left;
	int status;

	if (!t)
		return false;
	fill_header(qp, t, rdma_push_opcode(cut->op->opcode, !cut->sent, last), last);
	status = load(qp, t, n);
	if (status == IBV_WC_SUCCESS) {
		advance(cut, n);
		enqueue(qp, t, last);
		return true;
	}
	drop(t);
	return status < 0 ? false : give_up(qp, (uint8_t)status);
}

/* A pull must not cross the boundary of an element (RDMA 6.7): it has one sink. */
static bool cut_pull(struct rdma_qp *qp, bool atomic)
{
	struct rdma_cut *cut = &qp->cut;
	uint32_t left = cut->total - cut->sent, n = left < qp->segment ? left : qp->segment;
	const struct fverbs_sge *s = current_sge(cut);
	struct rdma_txn *t = rdma_txn_new(qp);
	uint8_t op = FALCON_RDMA_READ_REQUEST;

	if (!t)
		return false;
	if (n && n > s->len - cut->at_off)
		n = s->len - cut->at_off;
	if (atomic)
		op = cut->op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? FALCON_RDMA_CMP_SWAP :
								   FALCON_RDMA_FETCH_ADD;
	fill_header(qp, t, op, false);
	t->pull = true;
	t->state = RDMA_TXN_READY;
	t->hdr.length = n;
	t->len = FALCON_RDMA_READ_HDR + n + falcon_rdma_pad(n);
	if (atomic) {
		t->len = FALCON_RDMA_MAX_RESPONSE_HDR;
		t->hdr.swap_add = op == FALCON_RDMA_CMP_SWAP ? cut->wqe.swap : cut->wqe.compare_add;
		t->hdr.compare = op == FALCON_RDMA_CMP_SWAP ? cut->wqe.compare_add : 0;
	}
	if (n && !rdma_txn_buffer(t, n)) {
		drop(t);
		return false;
	}
	if (n && rdma_resolve_local(qp->init.pd, s->lkey, s->addr + cut->at_off, n,
				    IBV_ACCESS_LOCAL_WRITE, &t->span)) {
		drop(t);
		rdma_req_fail(qp, cut->op, IBV_WC_LOC_PROT_ERR, kCmplAck);
		return true;
	}
	t->hdr.sink_va = n ? s->addr + cut->at_off : 0;
	t->hdr.sink_lkey = n ? s->lkey : 0;
	t->hdr.rmsn = qp->tx_read_rmsn++;
	advance(cut, n);
	enqueue(qp, t, n == left);
	return true;
}

bool rdma_req_cut(struct rdma_qp *qp)
{
	switch (what_of(qp->cut.op->opcode)) {
	case WHAT_READ: return cut_pull(qp, false);
	case WHAT_ATOMIC: return cut_pull(qp, true);
	default: return cut_push(qp);
	}
}
