// SPDX-License-Identifier: BSD-2-Clause
/* READs and atomics of peers. */
#include <string.h>

#include "ulp/rdma/objects.h"
#include "ulp/rdma/qp.h"

/* Whose response begins with the headers of |it|'s request. */
static uint32_t response_header(const struct rdma_item *it, uint8_t *out)
{
	uint8_t op = it->opcode & FALCON_RDMA_OPCODE_MASK;
	const struct falcon_rdma_hdr h = {
		.pad = it->pad,
		.opcode = (uint8_t)((it->opcode & FALCON_RDMA_TRANSPORT_MASK) |
				    (op == FALCON_RDMA_READ_REQUEST ? FALCON_RDMA_READ_RESPONSE_ONLY :
								      FALCON_RDMA_ATOMIC_RESPONSE)),
		.ce = it->failed,
		.room = it->room && it->qp->link && rdma_link_pads(it->qp->link),
		.reason = it->failed ? it->nak : 0,
		.dest_qp = it->qp->attr.dest_qp_num,
		.sn = it->sn,
		.original = it->number[0],
		.sink_va = it->sink_va,
		.sink_lkey = it->sink_lkey,
	};

	return falcon_rdma_pack(&h, out);
}

static void respond(struct rdma_item *it, struct fcore_conn *c, const void *payload, uint32_t len)
{
	uint8_t hdr[FALCON_RDMA_MAX_HDR];
	struct fcore_response resp = { .ulp_hdr = hdr, .payload = payload, .len = len,
				       .cookie = (uintptr_t)it };

	resp.ulp_hdr_len = response_header(it, hdr);
	it->answered = true;
	it->in_core = true;
	fcore_pull_respond(c, it->rsn, &resp, it->qps->r->now);
}

/* Of length zero (Falcon 8.5.3.5), or the headers with the reason for a peer that reads it. */
void rdma_resp_error(struct rdma_item *it, struct fcore_conn *c)
{
	uint8_t hdr[FALCON_RDMA_MAX_HDR];
	struct fcore_response resp = { .ulp_hdr = hdr };

	it->failed = true;
	if (it->answered)
		return;
	it->answered = true;
	if (!c)
		return;
	it->number[0] = 0;
	it->pad = 0;
	if (it->qp->link && rdma_link_reasons(it->qp->link))
		resp.ulp_hdr_len = response_header(it, hdr);
	fcore_pull_respond(c, it->rsn, &resp, it->qps->r->now);
}

static void park(struct rdma_item *it)
{
	it->waits = true;
	it->qps->starved = true;
	STAILQ_INSERT_TAIL(&it->qp->parked, it, wait);
}

/* Copies of READs and atomics have ended. */
static void fetched(struct rdma_move *m)
{
	struct rdma_item *it = (struct rdma_item *)((char *)m - offsetof(struct rdma_item, move));
	struct rdma_qp *qp = it->qp;

	if (!qp || !qp->rx_core) {
		it->answered = true;
		rdma_item_put(it);
		return;
	}
	if (!m->error) {
		if (it->buf)
			memset((uint8_t *)it->buf + it->len, 0, it->pad);
		respond(it, qp->rx_core, it->buf, it->buf ? it->len + it->pad : 0);
		return;
	}
	/* It was retired when it came; this is an error of its own. */
	rdma_copy_failed(qp, m->error);
	it->nak = FALCON_RDMA_NAK_OPERATION;
	rdma_resp_error(it, qp->rx_core);
	rdma_item_put(it);
	if (!qp->cie)
		rdma_qp_fatal(qp, IBV_EVENT_QP_FATAL);
}

/* Read what it->span names. False: it has to wait for a buffer. */
static bool fetch(struct rdma_item *it)
{
	if (!it->len) {
		respond(it, it->qp->rx_core, NULL, 0);
		return true;
	}
	it->buf = rdma_pool_get(&it->qps->pool, it->len + it->pad, it->qp->buffers);
	if (!it->buf)
		return false;
	it->qp->buffers++;
	rdma_move_init(&it->move, it->qps, fetched);
	if (rdma_move_add(&it->move, RDMA_COPY_READ, &it->span, it->buf)) {
		it->nak = FALCON_RDMA_NAK_OPERATION;
		rdma_resp_error(it, it->qp->rx_core);
	}
	return true;
}

void rdma_resp_unpark(struct rdma_qp *qp)
{
	struct rdma_item *it;

	while ((it = STAILQ_FIRST(&qp->parked)) && qp->rx_core) {
		if (!fetch(it)) {
			qp->qps->starved = true;
			return;
		}
		STAILQ_REMOVE_HEAD(&qp->parked, wait);
		it->waits = false;
		rdma_item_put(it);
	}
}

static enum falcon_rdma_nak nak_of(enum rdma_fault fault)
{
	return fault == RDMA_FAULT_NONE ? FALCON_RDMA_NAK_OPERATION : FALCON_RDMA_NAK_ACCESS;
}

static void fail_access(struct rdma_item *it, enum rdma_fault fault)
{
	rdma_item_fail(it, nak_of(fault), IBV_EVENT_QP_ACCESS_ERR);
}

static void read_request(struct rdma_item *it, struct rdma_pd *pd, const struct falcon_rdma_hdr *h,
			 uint32_t request_len)
{
	uint32_t pad = falcon_rdma_pad(h->length);
	struct rdma_qp *qp = it->qp;
	enum rdma_fault fault;

	it->len = h->length;
	it->pad = (uint8_t)pad;
	if (!(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ) || h->length > QP_SEGMENT_MAX ||
	    h->length + pad + FALCON_RDMA_READ_HDR != request_len) {
		rdma_item_fail(it, FALCON_RDMA_NAK_INVALID, IBV_EVENT_QP_REQ_ERR);
		return;
	}
	fault = rdma_resolve_remote(qp, pd, h->rkey, h->va, h->length, IBV_ACCESS_REMOTE_READ,
				    &it->span);
	it->room = it->span.mr && it->span.mr->offloaded && qp->r->host.tight;
	if (fault)
		fail_access(it, fault);
	else if (!STAILQ_EMPTY(&qp->parked) || !fetch(it))
		park(it);
}

static void atomic_request(struct rdma_item *it, struct rdma_pd *pd,
			   const struct falcon_rdma_hdr *h, uint32_t request_len)
{
	bool swap = (h->opcode & FALCON_RDMA_OPCODE_MASK) == FALCON_RDMA_CMP_SWAP;
	struct rdma_qp *qp = it->qp;
	enum rdma_fault fault;

	if (!(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC) || h->va % sizeof(uint64_t) ||
	    request_len != FALCON_RDMA_MAX_RESPONSE_HDR) {
		rdma_item_fail(it, FALCON_RDMA_NAK_INVALID, IBV_EVENT_QP_REQ_ERR);
		return;
	}
	fault = rdma_resolve_remote(qp, pd, h->rkey, h->va, sizeof(uint64_t),
				    IBV_ACCESS_REMOTE_ATOMIC, &it->span);
	if (fault) {
		fail_access(it, fault);
		return;
	}
	it->number[0] = swap ? h->compare : h->swap_add;
	it->number[1] = h->swap_add;
	rdma_move_init(&it->move, it->qps, fetched);
	if (rdma_move_add(&it->move, swap ? RDMA_COPY_CMP_SWAP : RDMA_COPY_FETCH_ADD, &it->span,
			  it->number))
		rdma_item_fail(it, FALCON_RDMA_NAK_OPERATION, IBV_EVENT_QP_FATAL);
}

void rdma_resp_pull(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn,
		    uint32_t request_len)
{
	bool read = (h->opcode & FALCON_RDMA_OPCODE_MASK) == FALCON_RDMA_READ_REQUEST;
	struct rdma_pd *pd = rdma_qp_remote_pd(qp, h);
	struct rdma_item *it = rdma_item_new(qp, h, rsn);
	bool in_order;

	if (!it) {
		fcore_pull_rnr(qp->rx_core, rsn, 1, qp->r->now);
		return;
	}
	rdma_resp_took(qp, h);
	in_order = h->rmsn == qp->rx_read_rmsn++ || !qp->ordered;
	/* How many are under way cannot be told: requests do not say which operation they are parts of. */
	if (!pd || !in_order || !qp->attr.max_dest_rd_atomic)
		rdma_item_fail(it, FALCON_RDMA_NAK_INVALID, IBV_EVENT_QP_REQ_ERR);
	else if (read)
		read_request(it, pd, h, request_len);
	else
		atomic_request(it, pd, h, request_len);
	/* What comes after it need not wait for it (InfiniBand, table 79). */
	rdma_item_placed(it);
}

/* ---- what XDP has answered ---- */

/* Keep the bytes of the READ |r| for |it|, as they are now. False: they cannot be had any more. */
static bool keep_bytes(struct rdma_qp *qp, const struct falcon_response *r, struct rdma_item *it)
{
	struct rdma_span span;

	if (rdma_resolve_remote(qp, qp->init.pd, r->rkey, r->va, r->length, IBV_ACCESS_REMOTE_READ, &span))
		return false;
	it->buf = span.direct ? rdma_pool_get(&qp->qps->pool, it->len + it->pad, 0) : NULL;
	if (it->buf) {
		qp->buffers++;
		memcpy(it->buf, span.direct, it->len);
		memset((uint8_t *)it->buf + it->len, 0, it->pad);
	}
	rdma_span_put(&span);
	return it->buf;
}

/* An item for the response |r|, which is with the core. NULL: there is none. */
static struct rdma_item *answered_item(struct rdma_qp *qp, const struct falcon_response *r)
{
	bool read = r->opcode == FALCON_RDMA_READ_REQUEST;
	struct rdma_item *it = rdma_slab_get(&qp->qps->items, sizeof(*it));

	if (!it)
		return NULL;
	it->qps = qp->qps;
	it->qp = qp;
	it->opcode = r->opcode;
	it->sn = r->sn;
	it->rsn = r->rsn;
	it->event = -1;
	it->sink_va = r->sink_va;
	it->sink_lkey = r->sink_lkey;
	it->number[0] = r->original;
	it->len = read ? r->length : 0;
	it->pad = (uint8_t)falcon_rdma_pad(it->len);
	it->answered = it->placed = it->in_core = true;
	it->room = read && qp->r->host.tight;
	LIST_INSERT_HEAD(&qp->items, it, all);
	/*
	 * It was answered once; of what has gone since, the peer that has lost the answer hears as of an
	 * error.
	 */
	if (read && !keep_bytes(qp, r, it)) {
		it->failed = true;
		it->nak = FALCON_RDMA_NAK_ACCESS;
		it->number[0] = it->pad = 0;
		it->len = 0;
	}
	return it;
}

void rdma_qps_exec_response(struct rdma_link *link, const struct falcon_response *r, uint8_t *hdr,
			    struct fcore_response *out)
{
	struct rdma_qp *qp = link ? rdma_link_qp(link) : NULL;
	struct rdma_item *it = qp ? answered_item(qp, r) : NULL;

	/* Without a queue pair, or memory for an item: an answer of no bytes, an error (Falcon 8.5.3.5). */
	if (!it)
		return;
	out->cookie = (uintptr_t)it;
	out->payload = it->buf;
	out->len = it->len + it->pad;
	if (!it->failed || (qp->link && rdma_link_reasons(qp->link)))
		out->ulp_hdr_len = response_header(it, hdr);
}
