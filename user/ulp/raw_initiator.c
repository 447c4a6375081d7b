// SPDX-License-Identifier: BSD-2-Clause
/* Initiator side: an application's operations, cut into transactions, and their ends. */
#include "ulp/raw_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void raw_conn_kick(struct raw_ulp *ulp, struct raw_conn *conn)
{
	if (conn->ready || conn->blocked || !conn->head)
		return;
	conn->ready = true;
	conn->next_ready = NULL;
	*ulp->ready_tail = conn;
	ulp->ready_tail = &conn->next_ready;
}

/* Report the end of |op| to the application and put it back. */
static void op_finish(struct raw_op *op)
{
	struct raw_client *rc = op->rc;
	struct falcon_cqe cqe = {
		.cookie = op->sqe.cookie,
		.conn = op->sqe.conn,
		.len = op->moved,
		.status = op->status,
		.ulp_code = op->ulp_code,
	};

	if (!rc->detached)
		client_complete(rc->cl, &cqe);
	op->next = rc->free_ops;
	rc->free_ops = op;
	raw_client_put(rc);
}

/* Only the first error counts: what follows it is usually its consequence. */
static void op_fail(struct raw_op *op, uint8_t status, uint8_t ulp_code)
{
	if (op->status != kCmplAck)
		return;
	op->status = status;
	op->ulp_code = ulp_code;
}

static bool may_use(const struct client *cl, const struct raw_conn *conn)
{
	uint32_t user = client_user(cl);

	return conn->owner < 0 || conn->owner == user || user == 0;
}

/* The status with which |op| ends at once, or kCmplAck if it may go ahead on |conn|. */
static uint8_t op_check(const struct raw_op *op, const struct raw_conn *conn)
{
	const struct falcon_sqe *sqe = &op->sqe;

	if (sqe->op < FALCON_RAW_PUT || sqe->op > FALCON_RAW_SEND)
		return kCmplOpErr;
	if (!client_local(op->rc->cl, sqe->local, sqe->len))
		return kCmplOpErr;
	/* To others there is none. */
	if (!conn || !conn->c || !may_use(op->rc->cl, conn))
		return kCmplDeadConn;
	if (sqe->op == FALCON_RAW_SEND &&
	    (sqe->len > conn->segment || sqe->len > FALCON_MSG_MAX))
		return kCmplOpErr;
	return kCmplAck;
}

/* The connection that |op| names, or NULL: there is none, or it is not of this ring set's thread. */
static struct raw_conn *conn_of(const struct raw_ulp *ulp, const struct raw_op *op)
{
	uint32_t cid = FALCON_CONN_CID(op->sqe.conn);

	if (FALCON_CONN_SET(op->sqe.conn) != client_set(op->rc->cl) || cid >= ulp->max_conns)
		return NULL;
	return ulp->conns[cid];
}

void raw_op_start(struct raw_ulp *ulp, struct raw_op *op)
{
	struct raw_conn *conn = conn_of(ulp, op);

	op->submitted = op->moved = op->inflight = 0;
	op->started = false;
	op->queued = false;
	op->ulp_code = FALCON_RAW_OK;
	op->status = op_check(op, conn);
	/* A pull of nothing cannot be told from a refused one (Falcon 8.5.3.5): it is done. */
	if (op->status != kCmplAck || (op->sqe.op == FALCON_RAW_GET && !op->sqe.len)) {
		op_finish(op);
		return;
	}
	op->next = NULL;
	op->queued = true;
	*conn->tail = op;
	conn->tail = &op->next;
	raw_conn_kick(ulp, conn);
}

static int seg_submit(struct raw_conn *conn, struct raw_seg *seg, uint64_t now)
{
	const struct falcon_sqe *sqe = &seg->op->sqe;
	struct falcon_raw_hdr hdr = {
		.op = sqe->op,
		.dst_service = falcon_hton16(sqe->dst_service),
		.src_service = falcon_hton16(client_service(seg->op->rc->cl)),
		.offset = falcon_hton64(sqe->remote + seg->op->submitted),
	};
	struct fcore_txn txn = {
		.proto = FALCON_PROTO_RAW,
		.ulp_hdr = &hdr,
		.ulp_hdr_len = sizeof(hdr),
		.len = seg->len,
		.cookie = (uintptr_t)seg,
	};

	if (sqe->op == FALCON_RAW_GET)
		return fcore_pull(conn->c, &txn, now);
	txn.payload = client_local(seg->op->rc->cl, seg->local, seg->len);
	return fcore_push(conn->c, &txn, now);
}

static int make_segs(struct raw_conn *conn)
{
	conn->segs = calloc(FCORE_MAX_TXNS, sizeof(*conn->segs));
	if (!conn->segs)
		return -ENOMEM;
	for (int i = FCORE_MAX_TXNS - 1; i >= 0; i--) {
		conn->segs[i].conn = conn;
		conn->segs[i].next = conn->free_segs;
		conn->free_segs = &conn->segs[i];
	}
	return 0;
}

/* Hand the next segment of |op| to the core. 0, or what the core said. */
static int op_submit(struct raw_conn *conn, struct raw_op *op, uint64_t now)
{
	uint32_t left = op->sqe.len - op->submitted;
	struct raw_seg *seg;
	int rc = conn->segs ? 0 : make_segs(conn);

	if (rc)
		return rc;
	seg = conn->free_segs;
	if (!seg)
		return -EAGAIN;
	conn->free_segs = seg->next;
	seg->op = op;
	seg->local = op->sqe.local + op->submitted;
	seg->len = left < conn->segment ? left : conn->segment;
	seg->got = 0;
	op->inflight++;
	rc = seg_submit(conn, seg, now);
	if (rc) {
		op->inflight--;
		seg->next = conn->free_segs;
		conn->free_segs = seg;
		return rc;
	}
	op->submitted += seg->len;
	op->started = true;
	return 0;
}

/* |op| needs no more of the queue: all its segments are in the core, or it has failed. */
static bool op_is_submitted(const struct raw_op *op)
{
	return op->status != kCmplAck || (op->started && op->submitted == op->sqe.len);
}

static void pop_head(struct raw_conn *conn)
{
	struct raw_op *op = conn->head;

	conn->head = op->next;
	if (!conn->head)
		conn->tail = &conn->head;
	op->queued = false;
	if (!op->inflight)
		op_finish(op);
}

uint32_t raw_conn_submit(struct raw_conn *conn, uint64_t now)
{
	uint32_t n = 0;

	while (conn->head && n < RAW_SUBMIT_BUDGET) {
		struct raw_op *op = conn->head;
		int rc = op_is_submitted(op) ? 0 : op_submit(conn, op, now);

		if (rc == -EAGAIN) {
			conn->blocked = true;
			return n;
		}
		if (rc)
			op_fail(op, kCmplLocalRsrc, FALCON_RAW_OK);
		if (op_is_submitted(op))
			pop_head(conn);
		n++;
	}
	return n;
}

void raw_conn_flush(struct raw_conn *conn, const struct raw_client *rc)
{
	struct raw_op *op = conn->head;

	conn->head = NULL;
	conn->tail = &conn->head;
	while (op) {
		struct raw_op *next = op->next;

		op->next = NULL;
		if (rc && op->rc != rc) {
			*conn->tail = op;
			conn->tail = &op->next;
		} else {
			op->queued = false;
			op_fail(op, kCmplDeadConn, FALCON_RAW_OK);
			if (!op->inflight)
				op_finish(op);
		}
		op = next;
	}
}

void raw_on_pull_data(struct raw_ulp *ulp, struct fcore_conn *c, uint64_t cookie,
		      const void *payload, uint32_t len)
{
	struct raw_seg *seg = (struct raw_seg *)(uintptr_t)cookie;

	(void)ulp;
	(void)c;
	seg->got = len < seg->len ? len : seg->len;
	if (seg->got && !seg->op->rc->detached)
		memcpy(client_local(seg->op->rc->cl, seg->local, seg->got), payload, seg->got);
}

void raw_on_completion(struct raw_ulp *ulp, struct fcore_conn *c, uint64_t cookie,
		       enum falcon_completion_code code, uint8_t ulp_code)
{
	struct raw_seg *seg = (struct raw_seg *)(uintptr_t)cookie;
	bool get = seg->op->sqe.op == FALCON_RAW_GET;
	struct raw_conn *conn = seg->conn;
	struct raw_op *op = seg->op;

	(void)c;
	if (get && (code == kCmplTargetNackCIE || (code == kCmplAck && seg->got < seg->len)))
		op_fail(op, kCmplTargetNackCIE, FALCON_RAW_SHORT);
	else if (code != kCmplAck)
		op_fail(op, code, ulp_code);
	if (code == kCmplAck)
		op->moved += get ? seg->got : seg->len;
	if (!conn->free_segs)
		conn->blocked = false;	/* it may have been us, not the core, who was out of them */
	seg->next = conn->free_segs;
	conn->free_segs = seg;
	op->inflight--;
	if (!op->queued && !op->inflight)
		op_finish(op);
	raw_conn_kick(ulp, conn);
}

void raw_on_xon(struct raw_ulp *ulp, struct fcore_conn *c)
{
	struct raw_conn *conn = ulp->conns[fcore_conn_cid(c)];

	if (!conn)
		return;
	conn->blocked = false;
	raw_conn_kick(ulp, conn);
}
