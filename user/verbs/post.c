// SPDX-License-Identifier: BSD-2-Clause
/* Posting work requests. */
#include <errno.h>
#include <string.h>

#include "ipc/sleep.h"
#include "verbs/build.h"

/* Opcodes that a queue pair's type has (InfiniBand table 49). */
static bool opcode_valid(const struct fv_qp *qp, enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return true;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_ATOMIC_WRITE:
		return qp->qp.qp_type == IBV_QPT_RC || qp->qp.qp_type == IBV_QPT_XRC_SEND;
	default:
		return false;
	}
}

/* What depends on the opcode, from |wr|. */
static int fill_operation(struct fv_qp *qp, struct fverbs_send_wqe *wqe,
			  const struct ibv_send_wr *wr)
{
	wqe->imm = wr->imm_data;
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->compare_add = wr->wr.atomic.compare_add;
		wqe->swap = wr->wr.atomic.swap;
		break;
	case IBV_WR_BIND_MW:
		return fv_build_bind(wqe, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
	default:
		break;
	}
	if (qp->qp.qp_type == IBV_QPT_UD)
		return fv_build_ud(wqe, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	if (qp->qp.qp_type == IBV_QPT_XRC_SEND)
		wqe->xrc_srqn = wr->qp_type.xrc.remote_srqn;
	return 0;
}

static int fill_send(struct fv_qp *qp, struct fverbs_send_wqe *wqe, const struct ibv_send_wr *wr)
{
	int rc;

	if (!opcode_valid(qp, wr->opcode) || wr->num_sge < 0 ||
	    (uint32_t)wr->num_sge > qp->sq.max_sge)
		return EINVAL;
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr_id = wr->wr_id;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->flags = (uint16_t)(wr->send_flags & (IBV_SEND_FENCE | IBV_SEND_SIGNALED |
						   IBV_SEND_SOLICITED | IBV_SEND_INLINE));
	rc = fill_operation(qp, wqe, wr);
	if (rc)
		return rc;
	if (wr->send_flags & IBV_SEND_INLINE) {
		/* Only what goes out can be taken along (InfiniBand 10.8.2). */
		if (wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		    wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
			return EINVAL;
		return fv_build_inline(qp, wqe, wr->sg_list, (size_t)wr->num_sge);
	}
	fv_build_sges(qp, wqe, wr->sg_list, (size_t)wr->num_sge);
	return 0;
}

int fv_send_allowed(const struct fv_qp *qp)
{
	if (!fv_live(&qp->ctx->agent))
		return fv_agent_usable(&qp->ctx->agent);
	switch (qp->qp.state) {
	case IBV_QPS_RESET:
	case IBV_QPS_INIT:
	case IBV_QPS_RTR:
		return EINVAL;
	default:
		return qp->sq.shm ? 0 : EINVAL;
	}
}

void fv_send_publish(struct fv_qp *qp, uint32_t tail)
{
	if (tail == qp->sq.tail)
		return;
	fv_busy();
	falcon_store(&qp->sq.tail, tail);
	falcon_store(&qp->sq.shm->idx.tail, tail);
	__atomic_store_n(&fv_cq(qp->qp.send_cq)->under_way,
			 tail - falcon_load(&qp->sq.shm->idx.head), __ATOMIC_RELAXED);
	fv_ring(&qp->ctx->agent, qp->slot);
	/* It went meanwhile; fv_ring() began with a full barrier. */
	if (!fv_live(&qp->ctx->agent))
		fv_wake_late(fv_cq(qp->qp.send_cq));
}

int fv_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fv_qp *qp = fv_qp(ibqp);
	uint32_t tail;
	int rc;

	fv_lock(&qp->sq_lock);
	rc = fv_send_allowed(qp);
	tail = qp->sq.tail;
	while (wr && !rc) {
		if (fv_wq_full(&qp->sq, tail)) {
			rc = ENOMEM;
			break;
		}
		rc = fill_send(qp, fv_wq_at(&qp->sq, tail), wr);
		if (rc)
			break;
		tail++;
		wr = wr->next;
	}
	fv_send_publish(qp, tail);
	fv_unlock(&qp->sq_lock);
	if (rc)
		*bad = wr;
	return rc;
}

/* Put |wr| into |wq|; how many did fit is in the new tail. */
static int fill_recv(struct fv_wq *wq, struct ibv_recv_wr **wr, uint32_t *tail)
{
	for (; *wr; *wr = (*wr)->next) {
		struct fverbs_recv_wqe *wqe;

		if ((*wr)->num_sge < 0 || (uint32_t)(*wr)->num_sge > wq->max_sge)
			return EINVAL;
		if (fv_wq_full(wq, *tail))
			return ENOMEM;
		wqe = fv_wq_at(wq, (*tail)++);
		wqe->wr_id = (*wr)->wr_id;
		wqe->num_sge = (uint32_t)(*wr)->num_sge;
		wqe->pad = 0;
		if (wqe->num_sge)
			memcpy(wqe + 1, (*wr)->sg_list, wqe->num_sge * sizeof(struct fverbs_sge));
	}
	return 0;
}

int fv_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fv_qp *qp = fv_qp(ibqp);
	uint32_t tail;
	int rc;

	fv_lock(&qp->rq_lock);
	rc = fv_agent_usable(&qp->ctx->agent);
	if (!rc && (!qp->rq.shm || qp->qp.state == IBV_QPS_RESET))
		rc = EINVAL;
	if (!rc) {
		tail = qp->rq.tail;
		rc = fill_recv(&qp->rq, &wr, &tail);
		if (tail != qp->rq.tail) {
			fv_busy();
			falcon_store(&qp->rq.tail, tail);
			falcon_store(&qp->rq.shm->idx.tail, tail);
			/* A message that waits, or the end of the queue pair, needs it now. */
			sleep_published();
			if (__atomic_load_n(&qp->rq.shm->ring, __ATOMIC_RELAXED))
				fv_ring(&qp->ctx->agent, qp->slot);
			if (!fv_live(&qp->ctx->agent))
				fv_wake_late(fv_cq(qp->qp.recv_cq));
		}
	}
	fv_unlock(&qp->rq_lock);
	if (rc)
		*bad = wr;
	return rc;
}

int fv_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fv_ctx *ctx = fv_ctx_of(ibsrq->context);
	struct fv_srq *srq = fv_srq(ibsrq);
	uint32_t tail;
	int rc;

	fv_lock(&srq->lock);
	rc = fv_agent_usable(&ctx->agent);
	if (!rc) {
		fv_busy();
		tail = srq->wq.tail;
		rc = fill_recv(&srq->wq, &wr, &tail);
		srq->wq.tail = tail;
		falcon_store(&srq->wq.shm->idx.tail, tail);
	}
	fv_unlock(&srq->lock);
	if (rc)
		*bad = wr;
	return rc;
}
