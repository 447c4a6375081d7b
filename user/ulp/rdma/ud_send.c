// SPDX-License-Identifier: BSD-2-Clause
/*
 * Datagrams that are sent: many queue pairs, few connections (RDMA 6.6.3). One to a peer that is not there,
 * or is slow, must not hold up those to others behind it. So what its link cannot take now waits with the
 * link, in order, in a buffer of the pool, and its send is over:
 *
 *   the link is full, or   beyond what it may hold, a datagram keeps its place in the send queue and
 *   not up yet             waits all the same: who sends faster than the link is slowed down, and the
 *                          first datagrams to a peer, sent at once, are not lost. Those to others go on
 *                          while the send queue has room, and, if the peer takes nothing at all, when
 *                          the link has lost its patience (LINK_WAIT_MS)
 *   it is unreachable      patience was lost before: beyond what the link may hold, datagrams are lost
 *
 * What the core has taken may wait as well, for acknowledgments of a peer that has just died, until the
 * connection ends. So its send is over at once, too, if the bytes are in a buffer; memory that is sent from
 * where it lies is in use until the datagram is acknowledged, and its send is over then. No more than
 * QP_LOOSE_MAX of a queue pair's are over so early: it is not to fill any number of connections.
 *
 * A link's places are shared as the pools are: who has some already has no more than are free. So a queue
 * pair with datagrams to many that are not there cannot take them all, and has LINK_HELD_MAX at most.
 */
#include <errno.h>
#include <string.h>

#include "ulp/rdma/qp.h"

bool rdma_ud_begin(struct rdma_qp *qp)
{
	struct rdma_ah *ah = rdma_ah_find(qp->init.ctx, qp->cut.wqe.ah);
	const struct rdma_link *link;

	if (!ah || rdma_ah_pd(ah) != qp->init.pd) {
		rdma_req_fail(qp, qp->cut.op, IBV_WC_LOC_QP_OP_ERR, kCmplAck);
		return false;
	}
	/* What the path carries is not known before there is one: what is too long then is lost. */
	link = rdma_ah_link(ah, qp->cut.wqe.remote_qpn, qp->ordered);
	qp->segment = QP_SEGMENT_MAX;
	if (link && rdma_link_core(link))
		qp->segment = rdma_qp_segment(rdma_link_max_len(link));
	return true;
}

/* |t| never goes to its peer. */
static void lose(struct rdma_txn *t)
{
	t->qp->stats.lost++;
	rdma_txn_end(t, IBV_WC_SUCCESS, kCmplDeadConn);
}

/* As rdma_txn_submit(); the send is over with it, if it can be. */
static int submit(struct rdma_txn *t, struct fcore_conn *c)
{
	struct rdma_qp *qp = t->qp;
	struct rdma_op *op = t->op;
	int rc;

	if ((t->len && !t->buf) || qp->nloose >= QP_LOOSE_MAX)
		return rdma_txn_submit(t, c);
	/* |t| may be gone with its submission, and what has ended then is not to end the request. */
	t->op = NULL;
	t->loose = true;
	qp->nloose++;
	rc = rdma_txn_submit(t, c);
	if (!rc) {
		if (op)
			rdma_op_left(qp, op);
		return 0;
	}
	t->op = op;
	t->loose = false;
	qp->nloose--;
	return rc;
}

/* The link is up. False: it has no room. Else |t| may be gone. */
static bool send_on(struct rdma_txn *t, const struct rdma_link *link)
{
	int rc = -EMSGSIZE;

	if (t->len <= rdma_qp_segment(rdma_link_max_len(link)))
		rc = submit(t, rdma_link_core(link));
	if (rc == -EAGAIN)
		return false;
	if (rc)
		lose(t);
	return true;
}

static bool woken(struct rdma_link_wait *w, bool up)
{
	struct rdma_txn *t = (struct rdma_txn *)((char *)w - offsetof(struct rdma_txn, wait));
	struct rdma_qp *qp = t->qp;
	bool held = w->held;

	if (!up)
		lose(t);
	else if (!send_on(t, w->link))
		return false;
	qp->nheld -= held;
	return true;
}

void rdma_ud_unhold(struct rdma_txn *t)
{
	rdma_link_unwait(&t->wait);
	t->qp->nheld -= t->wait.held;
	t->state = RDMA_TXN_READY;
}

static bool has_place(const struct rdma_qp *qp, const struct rdma_link *link)
{
	uint32_t places = rdma_link_places(link);

	return places && (!qp->nheld || qp->nheld < places);
}

/* Have |t|'s bytes in a buffer: the application gets its memory back. False: there is no buffer. */
static bool take_bytes(struct rdma_txn *t)
{
	const void *direct = t->payload;

	if (!t->buf && t->len) {
		if (!rdma_txn_buffer(t, t->len)) {
			t->payload = direct;
			return false;
		}
		memcpy(t->buf, direct, t->len);
	}
	if (t->span.mr)
		rdma_span_put(&t->span);
	t->span = (struct rdma_span){ 0 };
	return true;
}

static void hold(struct rdma_txn *t, struct rdma_link *link)
{
	struct rdma_qp *qp = t->qp;
	struct rdma_op *op = t->op;
	bool held = has_place(qp, link) && take_bytes(t);

	if (!held && rdma_link_unreachable(link)) {
		lose(t);
		return;
	}
	t->state = RDMA_TXN_HELD;
	t->wait = (struct rdma_link_wait){ .held = held, .done = woken };
	rdma_link_wait(link, &t->wait);
	qp->nheld += held;
	if (!held)
		return;
	t->op = NULL;
	rdma_op_left(qp, op);
}

void rdma_ud_submit(struct rdma_txn *t)
{
	struct rdma_ah *ah = rdma_ah_find(t->qp->init.ctx, t->ah);
	struct rdma_link *link = ah ? rdma_ah_link(ah, t->hdr.dest_qp, t->qp->ordered) : NULL;

	if (!link)
		lose(t);
	else if (!rdma_link_core(link) || rdma_link_has_waits(link) || !send_on(t, link))
		hold(t, link);
}
