// SPDX-License-Identifier: BSD-2-Clause
/* Queue pairs: modifying and querying. */
#include <errno.h>
#include <string.h>

#include "verbs/fv.h"

static struct fverbs_qp_attr to_wire(const struct ibv_qp_attr *a)
{
	return (struct fverbs_qp_attr){
		.qp_state = a->qp_state, .cur_qp_state = a->cur_qp_state, .path_mtu = a->path_mtu,
		.path_mig_state = a->path_mig_state, .qkey = a->qkey, .rq_psn = a->rq_psn,
		.sq_psn = a->sq_psn, .dest_qp_num = a->dest_qp_num,
		.qp_access_flags = a->qp_access_flags, .max_send_wr = a->cap.max_send_wr,
		.max_recv_wr = a->cap.max_recv_wr, .max_send_sge = a->cap.max_send_sge,
		.max_recv_sge = a->cap.max_recv_sge, .max_inline = a->cap.max_inline_data,
		.ah = fv_ah_to_wire(&a->ah_attr), .alt_ah = fv_ah_to_wire(&a->alt_ah_attr),
		.pkey_index = a->pkey_index, .alt_pkey_index = a->alt_pkey_index,
		.en_sqd_async_notify = a->en_sqd_async_notify, .sq_draining = a->sq_draining,
		.max_rd_atomic = a->max_rd_atomic, .max_dest_rd_atomic = a->max_dest_rd_atomic,
		.min_rnr_timer = a->min_rnr_timer, .port_num = a->port_num, .timeout = a->timeout,
		.retry_cnt = a->retry_cnt, .rnr_retry = a->rnr_retry,
		.alt_port_num = a->alt_port_num, .alt_timeout = a->alt_timeout,
		.rate_limit = a->rate_limit,
	};
}

static void from_wire(struct ibv_qp_attr *out, const struct fverbs_qp_attr *a)
{
	*out = (struct ibv_qp_attr){
		.qp_state = a->qp_state, .cur_qp_state = a->cur_qp_state, .path_mtu = a->path_mtu,
		.path_mig_state = a->path_mig_state, .qkey = a->qkey, .rq_psn = a->rq_psn,
		.sq_psn = a->sq_psn, .dest_qp_num = a->dest_qp_num,
		.qp_access_flags = a->qp_access_flags,
		.cap = {
			.max_send_wr = a->max_send_wr, .max_recv_wr = a->max_recv_wr,
			.max_send_sge = a->max_send_sge, .max_recv_sge = a->max_recv_sge,
			.max_inline_data = a->max_inline,
		},
		.ah_attr = fv_ah_from_wire(&a->ah), .alt_ah_attr = fv_ah_from_wire(&a->alt_ah),
		.pkey_index = a->pkey_index, .alt_pkey_index = a->alt_pkey_index,
		.en_sqd_async_notify = a->en_sqd_async_notify, .sq_draining = a->sq_draining,
		.max_rd_atomic = a->max_rd_atomic, .max_dest_rd_atomic = a->max_dest_rd_atomic,
		.min_rnr_timer = a->min_rnr_timer, .port_num = a->port_num, .timeout = a->timeout,
		.retry_cnt = a->retry_cnt, .rnr_retry = a->rnr_retry,
		.alt_port_num = a->alt_port_num, .alt_timeout = a->alt_timeout,
		.rate_limit = a->rate_limit,
	};
}

/* The only attributes that |mask| names, so that the agent sees no rubbish. */
static void blank(struct fverbs_qp_attr *a, uint32_t mask)
{
	if (!(mask & IBV_QP_AV))
		memset(&a->ah, 0, sizeof(a->ah));
	if (!(mask & IBV_QP_ALT_PATH))
		memset(&a->alt_ah, 0, sizeof(a->alt_ah));
}

/* Of an XRC queue pair there is one half only; perftest sets the other's attributes, too. */
static uint32_t of_its_half(const struct ibv_qp *qp, uint32_t mask)
{
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		mask &= ~(uint32_t)(IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC);
	if (qp->qp_type == IBV_QPT_XRC_RECV)
		mask &= ~(uint32_t)(IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	return mask;
}

FV_EXPORT int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct fv_ctx *ctx = fv_ctx_of(ibqp->context);
	struct fverbs_modify_qp req = { .qp = ibqp->handle };
	struct fv_qp *qp = fv_qp(ibqp);
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_modify_qp, ENOSYS, ibqp, attr, mask);
	req.mask = of_its_half(ibqp, (uint32_t)mask);
	req.attr = to_wire(attr);
	blank(&req.attr, req.mask);
	/* Nothing is posted while the state changes. */
	fv_lock(&qp->sq_lock);
	fv_lock(&qp->rq_lock);
	rc = fv_call(&ctx->agent, FVERBS_MODIFY_QP, &req, sizeof(req), -1, NULL, 0);
	if (!rc && mask & IBV_QP_STATE)
		ibqp->state = attr->qp_state;
	fv_unlock(&qp->rq_lock);
	fv_unlock(&qp->sq_lock);
	if (!rc && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET) {
		if (ibqp->send_cq)
			fv_cq_clean(fv_cq(ibqp->send_cq), qp->cookie);
		if (ibqp->recv_cq && ibqp->recv_cq != ibqp->send_cq)
			fv_cq_clean(fv_cq(ibqp->recv_cq), qp->cookie);
	}
	return rc;
}

FV_EXPORT int ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
			   struct ibv_qp_init_attr *init)
{
	struct fv_ctx *ctx = fv_ctx_of(ibqp->context);
	const struct fverbs_handle req = { .handle = ibqp->handle };
	struct fv_qp *qp = fv_qp(ibqp);
	struct fverbs_qp_attr answer;
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_query_qp, ENOSYS, ibqp, attr, mask, init);
	/* As with a change: who posts looks at the state. */
	fv_lock(&qp->sq_lock);
	fv_lock(&qp->rq_lock);
	rc = fv_call(&ctx->agent, FVERBS_QUERY_QP, &req, sizeof(req), -1, &answer, sizeof(answer));
	if (!rc)
		ibqp->state = answer.qp_state;
	fv_unlock(&qp->rq_lock);
	fv_unlock(&qp->sq_lock);
	if (rc)
		return rc;
	from_wire(attr, &answer);
	if (!qp->opened)
		attr->cap = qp->cap;
	*init = (struct ibv_qp_init_attr){
		.qp_context = ibqp->qp_context, .send_cq = ibqp->send_cq, .recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq, .cap = attr->cap, .qp_type = ibqp->qp_type,
		.sq_sig_all = qp->sig_all,
	};
	return 0;
}

FV_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	if (!fv_ctx_of(qp->context))
		FV_FORWARD(ibv_query_qp_data_in_order, 0, qp, op, flags);
	/* A transaction's bytes come in order, those of several need not (RDMA 6.2). */
	return 0;
}
