// SPDX-License-Identifier: BSD-2-Clause
/* Datagrams that come: many queue pairs, few connections. What cannot be delivered is lost. */
#include <errno.h>
#include <string.h>

#include "falcon/abi/maps.h"
#include "ulp/rdma/qp.h"

/*
 * What stands in front of a datagram (InfiniBand 11.4.1.2): the header of IPv6, or, with IPv4, that in
 * the last 20 of its 40 bytes, as RoCEv2 has it.
 */
static void put_grh(uint8_t grh[QP_GRH], const struct rdma_link *link, uint32_t len)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint8_t local[16], remote[16], *ip = grh + 20;
	uint16_t total;

	memset(grh, 0, QP_GRH);
	rdma_link_gids(link, local, remote);
	if (memcmp(local, mapped, sizeof(mapped))) {
		total = falcon_hton16((uint16_t)len);
		grh[0] = 0x60;
		memcpy(grh + 4, &total, sizeof(total));
		grh[6] = 17;
		grh[7] = FALCON_DEFAULT_TTL;
		memcpy(grh + 8, remote, 16);
		memcpy(grh + 24, local, 16);
		return;
	}
	total = falcon_hton16((uint16_t)(20 + len));
	ip[0] = 0x45;
	memcpy(ip + 2, &total, sizeof(total));
	ip[8] = FALCON_DEFAULT_TTL;
	ip[9] = 17;
	memcpy(ip + 12, remote + 12, 4);
	memcpy(ip + 16, local + 12, 4);
}

/* |it| is placed, or has failed: completions have the order of receive requests (RDMA 6.4). */
static void received(struct rdma_item *it)
{
	struct rdma_qp *qp = it->qp;

	it->placed = true;
	if (!qp) {
		rdma_item_put(it);
		return;
	}
	while ((it = STAILQ_FIRST(&qp->arrived)) && it->placed) {
		STAILQ_REMOVE_HEAD(&qp->arrived, wait);
		rdma_resp_complete(it, qp);
		rdma_item_put(it);
	}
}

static void datagram_moved(struct rdma_move *m)
{
	struct rdma_item *it = (struct rdma_item *)((char *)m - offsetof(struct rdma_item, move));

	if (m->error && it->cqe.status == IBV_WC_SUCCESS)
		it->cqe.status = IBV_WC_LOC_PROT_ERR;
	received(it);
}

/* A datagram in a buffer, with the room that it takes at the receiver. NULL: it is lost. */
static struct rdma_item *hold(struct rdma_qp *qp, const struct rdma_link *link, const uint8_t *data,
			      uint32_t len)
{
	struct rdma_qps *q = qp->qps;
	struct rdma_item *it;

	if (len > QP_SEGMENT_MAX)
		return NULL;
	it = rdma_slab_get(&q->items, sizeof(*it));
	if (!it)
		return NULL;
	it->qps = q;
	it->len = len + QP_GRH;
	it->buf = rdma_pool_get(&q->pool, it->len, qp->buffers);
	if (!it->buf) {
		rdma_slab_put(&q->items, it);
		return NULL;
	}
	put_grh(it->buf, link, len);
	memcpy((uint8_t *)it->buf + QP_GRH, data, len);
	it->qp = qp;
	qp->buffers++;
	it->answered = true;
	LIST_INSERT_HEAD(&qp->items, it, all);
	rdma_move_init(&it->move, q, datagram_moved);
	return it;
}

static void fill_completion(struct rdma_item *it, const struct rdma_recv *recv,
			    const struct falcon_rdma_hdr *h)
{
	struct rdma_qp *qp = it->qp;

	it->cq = qp->init.recv_cq;
	it->cqe = rdma_qp_cqe(qp, it->cq, recv->wr_id, IBV_WC_SUCCESS);
	it->cqe.opcode = IBV_WC_RECV;
	it->cqe.byte_len = it->len;
	it->cqe.src_qp = h->src_qp;
	it->cqe.wc_flags = IBV_WC_GRH;
	it->se = h->se;
	if (falcon_rdma_headers(h->opcode) & FALCON_RDMA_HAS_IMMDT) {
		it->cqe.wc_flags |= IBV_WC_WITH_IMM;
		it->cqe.imm = h->imm;
	}
}

static int take(struct rdma_qp *qp, struct rdma_recv *recv)
{
	if (qp->init.srq)
		return rdma_srq_take(qp->init.srq, recv);
	return qp->init.rq.base ? rdma_recv_take(&qp->init.rq, qp->init.req.max_recv_sge, recv) : 0;
}

void rdma_ud_receive(struct rdma *r, struct rdma_link *link, const struct falcon_rdma_hdr *h,
		     const uint8_t *data, uint32_t len)
{
	struct rdma_qp *qp = rdma_qp_find(r, h->dest_qp);
	struct rdma_recv recv;
	struct rdma_item *it;
	struct rdma_pd *pd;
	uint8_t status;
	int rc;

	if ((h->opcode & FALCON_RDMA_TRANSPORT_MASK) != FALCON_RDMA_UD || !qp ||
	    qp->type != IBV_QPT_UD || !rdma_qp_receives(qp) || h->qkey != qp->attr.qkey)
		return;
	it = hold(qp, link, data, len);
	if (!it)
		return;
	rc = take(qp, &recv);
	if (rc == 0 || rc == -EPROTO) {
		rdma_item_put(it);
		if (rc)
			rdma_qp_fatal(qp, IBV_EVENT_QP_FATAL);
		return;
	}
	fill_completion(it, &recv, h);
	pd = qp->init.srq ? rdma_srq_pd(qp->init.srq) : qp->init.pd;
	status = rc < 0 ? IBV_WC_LOC_QP_OP_ERR :
		 it->len > recv.total ? IBV_WC_LOC_LEN_ERR :
					rdma_scatter(&it->move, pd, &recv, 0, it->buf, it->len);
	it->cqe.status = status;
	STAILQ_INSERT_TAIL(&qp->arrived, it, wait);
	if (status != IBV_WC_SUCCESS)
		rdma_move_cancel(&it->move);
	if (!it->move.pending)
		received(it);
}
