// SPDX-License-Identifier: BSD-2-Clause
/*
 * The responding side: which packets are accepted, and in which order what they cause happens. Each
 * accepted packet is an item in a ring by sequence number; it is retired when it is placed and all
 * before it are. Errors take their turn there, too: what came before has its completion first.
 */
#include "ulp/rdma/qp.h"

static struct rdma_item **slot(struct rdma_qp *qp, uint32_t sn)
{
	return &qp->ring[sn % QP_WINDOW];
}

static void item_moved(struct rdma_move *m)
{
	struct rdma_item *it = (struct rdma_item *)((char *)m - offsetof(struct rdma_item, move));

	if (!it->qp) {
		rdma_item_put(it);
		return;
	}
	if (m->error)
		rdma_copy_failed(it->qp, m->error);
	if (m->error && !it->failed)
		rdma_item_fail(it, FALCON_RDMA_NAK_OPERATION, IBV_EVENT_QP_FATAL);
	rdma_item_placed(it);
}

struct rdma_item *rdma_item_new(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn)
{
	struct rdma_item *it = rdma_slab_get(&qp->qps->items, sizeof(*it));

	if (!it)
		return NULL;
	it->qps = qp->qps;
	it->qp = qp;
	it->opcode = h->opcode;
	it->sn = h->sn;
	it->rmsn = h->rmsn;
	it->rsn = rsn;
	it->se = h->se;
	it->event = -1;
	it->sink_va = h->sink_va;
	it->sink_lkey = h->sink_lkey;
	rdma_move_init(&it->move, qp->qps, item_moved);
	LIST_INSERT_HEAD(&qp->items, it, all);
	*slot(qp, h->sn) = it;
	it->in_ring = true;
	return it;
}

void rdma_item_put(struct rdma_item *it)
{
	if (it->in_ring || it->in_core || it->waits || it->move.pending || !it->answered)
		return;
	if (it->qp)
		LIST_REMOVE(it, all);
	if (it->span.mr)
		rdma_span_put(&it->span);
	if (it->qp && it->buf)
		it->qp->buffers--;
	rdma_pool_put(&it->qps->pool, it->buf, it->len);
	it->qps->fed = true;
	rdma_slab_put(&it->qps->items, it);
}

void rdma_item_fail(struct rdma_item *it, enum falcon_rdma_nak nak, int event)
{
	it->failed = true;
	it->nak = (uint8_t)nak;
	it->event = (int16_t)event;
	if (!it->qp->cie)
		it->qp->rx_stopped = true;
}

/* Tell the core of |it|, a push. */
static void answer(struct rdma_item *it, struct rdma_qp *qp)
{
	enum fcore_push_outcome outcome = !it->failed ? FCORE_PUSH_ACK :
					  qp->cie ? FCORE_PUSH_CIE : FCORE_PUSH_NRE;

	if (it->answered)
		return;
	it->answered = true;
	if (qp->rx_core)
		fcore_push_done(qp->rx_core, it->rsn, outcome, 0, it->nak, qp->r->now);
}

static bool is_write(uint8_t op)
{
	return op >= FALCON_RDMA_WRITE_FIRST && op <= FALCON_RDMA_WRITE_ONLY_IMM;
}

/* What a completion says that only the sequence tells: the length of a WRITE in several packets. */
static void count_write(struct rdma_qp *qp, struct rdma_item *it)
{
	uint8_t op = it->opcode & FALCON_RDMA_OPCODE_MASK;

	if (!is_write(op))
		return;
	if (op == FALCON_RDMA_WRITE_FIRST || op >= FALCON_RDMA_WRITE_ONLY)
		qp->write_len = 0;
	qp->write_len += it->len;
	if (it->cq && it->cqe.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		it->cqe.byte_len = qp->write_len;
}

void rdma_resp_complete(struct rdma_item *it, struct rdma_qp *qp)
{
	bool error = it->cqe.status != IBV_WC_SUCCESS;

	if (error)
		qp->stats.received_in_error++;
	else
		qp->stats.received++;
	rdma_rq_done(qp);
	rdma_cq_post(it->cq, &it->cqe, it->se || error);
	it->cq = NULL;
}

/* |it|'s turn has come. False: the queue pair has ended with it. */
static bool retire(struct rdma_qp *qp, struct rdma_item *it)
{
	bool fatal;
	int event;

	it->in_ring = false;
	count_write(qp, it);
	if (it->invalidate && !it->failed && rdma_key_invalidate(qp, it->inv_rkey, true)) {
		rdma_item_fail(it, FALCON_RDMA_NAK_ACCESS, IBV_EVENT_QP_ACCESS_ERR);
		it->cqe.status = IBV_WC_LOC_QP_OP_ERR;
	}
	if (it->failed && it->cq && it->cqe.status == IBV_WC_SUCCESS)
		it->cqe.status = IBV_WC_LOC_PROT_ERR;
	if (!falcon_rdma_is_pull(it->opcode))
		answer(it, qp);
	else if (it->failed)
		rdma_resp_error(it, qp->rx_core);
	qp->stats.refused += it->failed;
	if (it->cq)
		rdma_resp_complete(it, qp);
	fatal = it->failed && !qp->cie;
	event = it->event;
	rdma_item_put(it);
	if (fatal)
		rdma_qp_fatal(qp, event);
	return !fatal;
}

void rdma_item_placed(struct rdma_item *it)
{
	struct rdma_qp *qp = it->qp;

	it->placed = true;
	/* Out of order: it is not to be sent again while others are. */
	if (!qp->ordered && !it->failed && !it->invalidate && !falcon_rdma_is_pull(it->opcode))
		answer(it, qp);
	if (qp->unordered) {
		*slot(qp, it->sn) = NULL;
		retire(qp, it);
		return;
	}
	while (qp->rx_base != qp->rx_next) {
		it = *slot(qp, qp->rx_base);
		if (!it || !it->placed)
			return;
		*slot(qp, qp->rx_base++) = NULL;
		if (!retire(qp, it))
			return;
	}
}

/* ---- acceptance ---- */

/* Not accepted, and nothing to wait for: the queue pair ends, unless errors are the operation's alone. */
static void refuse(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn, bool pull)
{
	struct rdma_item it = { .qps = qp->qps, .qp = qp, .rsn = rsn, .opcode = h->opcode,
				.sn = h->sn, .sink_va = h->sink_va, .sink_lkey = h->sink_lkey,
				.failed = true, .nak = FALCON_RDMA_NAK_INVALID };

	if (!pull)
		answer(&it, qp);
	else if (falcon_rdma_is_pull(h->opcode))
		rdma_resp_error(&it, qp->rx_core);
	else
		fcore_pull_respond(qp->rx_core, rsn, &(struct fcore_response){ 0 }, qp->r->now);
	if (!qp->cie)
		rdma_qp_fatal(qp, IBV_EVENT_QP_REQ_ERR);
}

/* Is the packet the one, or one of those, that may come now? */
static bool in_sequence(const struct rdma_qp *qp, const struct falcon_rdma_hdr *h)
{
	uint32_t ahead = h->sn - qp->rx_base;

	if (qp->unordered)
		return !qp->ring[h->sn % QP_WINDOW];
	if (ahead >= QP_WINDOW || qp->ring[h->sn % QP_WINDOW])
		return false;
	return !qp->ordered || h->sn == qp->rx_next;
}

void rdma_resp_took(struct rdma_qp *qp, const struct falcon_rdma_hdr *h)
{
	if (falcon_seq_diff(h->sn + 1, qp->rx_next) > 0)
		qp->rx_next = h->sn + 1;
	/* Nobody waits for what is missing: the ring only tells repetitions. */
	if (qp->unordered)
		qp->rx_base = qp->rx_next;
}

void rdma_resp_keep(struct rdma_qp *qp)
{
	struct rdma_item *it;

	LIST_FOREACH(it, &qp->items, all)
		if (!falcon_rdma_is_pull(it->opcode))
			rdma_move_keep(&it->move);
}

static void established(struct rdma_qp *qp)
{
	if (qp->comm_est || qp->state != IBV_QPS_RTR)
		return;
	qp->comm_est = true;
	rdma_qp_event(qp, IBV_EVENT_COMM_EST);
}

/* The queue pair that the packet is for, and that takes it. NULL: it has been answered. */
static struct rdma_qp *accept_packet(struct rdma_link *link, struct fcore_conn *c, uint32_t rsn,
				     const struct falcon_rdma_hdr *h, bool pull)
{
	struct rdma_qp *qp = rdma_link_qp(link);

	qp->rx_core = c;
	/* RDMA 6.9: a queue pair that is not this connection's goes on. */
	if (h->dest_qp != qp->num || !rdma_qp_receives(qp) || qp->type == IBV_QPT_XRC_SEND) {
		if (pull)
			fcore_pull_invalid_cid(c, rsn);
		else
			fcore_push_done(c, rsn, FCORE_PUSH_INVALID_CID, 0, 0, qp->r->now);
		return NULL;
	}
	/* What follows an error has nothing to say. */
	if (qp->rx_stopped || (h->opcode & FALCON_RDMA_TRANSPORT_MASK) != qp->transport ||
	    falcon_rdma_is_pull(h->opcode) != pull || falcon_rdma_is_response(h->opcode) ||
	    !in_sequence(qp, h)) {
		if (!qp->rx_stopped)
			refuse(qp, h, rsn, pull);
		else if (pull)
			fcore_pull_respond(c, rsn, &(struct fcore_response){ 0 }, qp->r->now);
		else
			fcore_push_done(c, rsn, FCORE_PUSH_NRE, 0, FALCON_RDMA_NAK_SEQUENCE,
					qp->r->now);
		return NULL;
	}
	established(qp);
	return qp;
}

void rdma_qps_push(struct rdma *r, struct rdma_link *link, struct fcore_conn *c, uint32_t rsn,
		   const void *payload, uint32_t len)
{
	struct rdma_qp *qp = link ? rdma_link_qp(link) : NULL;
	struct falcon_rdma_hdr h = { 0 };
	uint32_t n = falcon_rdma_unpack(payload, len, &h);
	const uint8_t *data = (const uint8_t *)payload + n;

	/* The queue pair has gone: no answer, as none would come from an adapter. link_leave.c ends it. */
	if (!link)
		return;
	if (!qp) {
		/* The memory is the core's: it is copied before it is acknowledged. */
		if (n)
			rdma_ud_receive(r, link, &h, data, len - n - h.pad);
		fcore_push_done(c, rsn, FCORE_PUSH_ACK, 0, 0, r->now);
		return;
	}
	if (!n) {
		qp->rx_core = c;
		if (rdma_qp_receives(qp))
			refuse(qp, &h, rsn, false);
		else
			fcore_push_done(c, rsn, FCORE_PUSH_INVALID_CID, 0, 0, r->now);
		return;
	}
	qp = accept_packet(link, c, rsn, &h, false);
	if (!qp)
		return;
	len -= n + h.pad;
	qp->stats.rx_packets++;
	qp->stats.rx_bytes += len;
	rdma_exec_offer(qp);
	if (is_write(h.opcode & FALCON_RDMA_OPCODE_MASK))
		rdma_resp_write(qp, &h, rsn, data, len);
	else
		rdma_resp_send(qp, &h, rsn, data, len);
}

void rdma_qps_pull(struct rdma *r, struct rdma_link *link, struct fcore_conn *c, uint32_t rsn,
		   const void *hdr, uint32_t hdr_len, uint16_t request_len)
{
	struct rdma_qp *qp = link ? rdma_link_qp(link) : NULL;
	struct falcon_rdma_hdr h = { 0 };

	(void)r;
	if (!link)
		return;
	if (!qp || !rdma_qp_receives(qp)) {
		fcore_pull_invalid_cid(c, rsn);
		return;
	}
	qp->rx_core = c;
	if (!falcon_rdma_unpack(hdr, hdr_len, &h)) {
		refuse(qp, &h, rsn, true);
		return;
	}
	qp = accept_packet(link, c, rsn, &h, true);
	if (!qp)
		return;
	qp->stats.rx_packets++;
	rdma_exec_offer(qp);
	rdma_resp_pull(qp, &h, rsn, request_len);
}

void rdma_qps_response_done(struct rdma *r, uint64_t cookie)
{
	struct rdma_item *it = (struct rdma_item *)(uintptr_t)cookie;

	(void)r;
	if (!it)
		return;
	it->in_core = false;
	rdma_item_put(it);
}
