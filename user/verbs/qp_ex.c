// SPDX-License-Identifier: BSD-2-Clause
/* ibv_wr_*(): work requests built in place, several at a time, shown to the agent together. */
#include <errno.h>
#include <string.h>

#include "verbs/build.h"

static struct fv_qp *of(struct ibv_qp_ex *ex)
{
	return FV_CAST(struct fv_qp, ex, ex);
}

/* The next request; NULL: something has gone wrong before, which wr_complete() will say. */
static struct fverbs_send_wqe *begin(struct fv_qp *qp, enum ibv_wr_opcode opcode)
{
	struct fverbs_send_wqe *wqe;

	qp->wqe = NULL;
	if (!qp->wr_error && fv_wq_full(&qp->sq, qp->new_tail))
		qp->wr_error = ENOMEM;
	if (qp->wr_error)
		return NULL;
	wqe = fv_wq_at(&qp->sq, qp->new_tail++);
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = qp->ex.wr_id;
	wqe->opcode = (uint8_t)opcode;
	wqe->flags = (uint16_t)(qp->ex.wr_flags & (IBV_SEND_FENCE | IBV_SEND_SIGNALED |
						    IBV_SEND_SOLICITED));
	qp->wqe = wqe;
	return wqe;
}

static void failed(struct fv_qp *qp, int rc)
{
	if (rc && !qp->wr_error)
		qp->wr_error = rc;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct fv_qp *qp = of(ex);

	fv_lock(&qp->sq_lock);
	qp->wr_error = fv_send_allowed(qp);
	qp->new_tail = qp->sq.tail;
	qp->wqe = NULL;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct fv_qp *qp = of(ex);
	int rc = qp->wr_error;

	if (!rc)
		fv_send_publish(qp, qp->new_tail);
	fv_unlock(&qp->sq_lock);
	return rc;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	fv_unlock(&of(ex)->sq_lock);
}

static void remote(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr,
		   __be32 imm)
{
	struct fverbs_send_wqe *wqe = begin(of(ex), opcode);

	if (!wqe)
		return;
	wqe->rkey = rkey;
	wqe->remote_addr = addr;
	wqe->imm = imm;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	remote(ex, IBV_WR_RDMA_READ, rkey, addr, 0);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	remote(ex, IBV_WR_RDMA_WRITE, rkey, addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	remote(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr, imm);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	remote(ex, IBV_WR_SEND, 0, 0, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	remote(ex, IBV_WR_SEND_WITH_IMM, 0, 0, imm);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t key)
{
	remote(ex, IBV_WR_SEND_WITH_INV, 0, 0, key);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t key)
{
	remote(ex, IBV_WR_LOCAL_INV, 0, 0, key);
}

static void atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr,
		   uint64_t compare_add, uint64_t swap)
{
	struct fverbs_send_wqe *wqe = begin(of(ex), opcode);

	if (!wqe)
		return;
	wqe->rkey = rkey;
	wqe->remote_addr = addr;
	wqe->compare_add = compare_add;
	wqe->swap = swap;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr, add, 0);
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *value)
{
	struct fv_qp *qp = of(ex);
	struct fverbs_send_wqe *wqe;

	remote(ex, IBV_WR_ATOMIC_WRITE, rkey, addr, 0);
	wqe = qp->wqe;
	if (!wqe)
		return;
	/* Eight bytes fit behind any request: there is room for one element at least. */
	memcpy(wqe + 1, value, sizeof(uint64_t));
	wqe->flags |= IBV_SEND_INLINE;
	wqe->inline_len = sizeof(uint64_t);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct fv_qp *qp = of(ex);
	struct fverbs_send_wqe *wqe = begin(qp, IBV_WR_BIND_MW);

	if (wqe)
		failed(qp, fv_build_bind(wqe, mw, rkey, info));
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct fv_qp *qp = of(ex);

	if (qp->wqe)
		failed(qp, fv_build_ud(qp->wqe, ah, qpn, qkey));
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	if (of(ex)->wqe)
		of(ex)->wqe->xrc_srqn = srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct fv_qp *qp = of(ex);

	if (!qp->wqe)
		return;
	if (n > qp->sq.max_sge)
		failed(qp, EINVAL);
	else
		fv_build_sges(qp, qp->wqe, list, n);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *list)
{
	struct fv_qp *qp = of(ex);
	uint8_t *to = (uint8_t *)(qp->wqe + 1);
	size_t total = 0;

	if (!qp->wqe)
		return;
	for (size_t i = 0; i < n; i++) {
		if (list[i].length > qp->max_inline - total) {
			failed(qp, EINVAL);
			return;
		}
		memcpy(to + total, list[i].addr, list[i].length);
		total += list[i].length;
	}
	qp->wqe->flags |= IBV_SEND_INLINE;
	qp->wqe->inline_len = (uint32_t)total;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

uint64_t fv_qp_ex_ops(enum ibv_qp_type type)
{
	const uint64_t send = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t others = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
				IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
				IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE;

	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return send | others;
	case IBV_QPT_UD:
		return send;
	default:
		return 0;
	}
}

void fv_qp_ex_fill(struct fv_qp *qp, uint64_t ops)
{
	struct ibv_qp_ex *ex = &qp->ex;

#define OP(flag, member) do { if (ops & IBV_QP_EX_WITH_##flag) ex->member = member; } while (0)
	OP(RDMA_WRITE, wr_rdma_write);
	OP(RDMA_WRITE_WITH_IMM, wr_rdma_write_imm);
	OP(SEND, wr_send);
	OP(SEND_WITH_IMM, wr_send_imm);
	OP(RDMA_READ, wr_rdma_read);
	OP(ATOMIC_CMP_AND_SWP, wr_atomic_cmp_swp);
	OP(ATOMIC_FETCH_AND_ADD, wr_atomic_fetch_add);
	OP(LOCAL_INV, wr_local_inv);
	OP(BIND_MW, wr_bind_mw);
	OP(SEND_WITH_INV, wr_send_inv);
	OP(ATOMIC_WRITE, wr_atomic_write);
#undef OP
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	qp->is_ex = true;
}

FV_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	if (!fv_ctx_of(qp->context))
		FV_FORWARD(ibv_qp_to_qp_ex, NULL, qp);
	return fv_qp(qp)->is_ex ? &fv_qp(qp)->ex : NULL;
}
