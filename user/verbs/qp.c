// SPDX-License-Identifier: BSD-2-Clause
/* Queue pairs: making and destroying. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "falcon/verbs_ext.h"
#include "verbs/fv.h"

/* How a queue pair shall behave, beside what verbs can say. */
struct modes {
	enum fverbs_ordering ordering;
	enum fverbs_errors errors;
};

static bool has_send(const struct fv_qp *qp)
{
	return qp->qp.qp_type != IBV_QPT_XRC_RECV;
}

static bool has_recv(const struct fv_qp *qp)
{
	return qp->qp.qp_type != IBV_QPT_XRC_RECV && qp->qp.qp_type != IBV_QPT_XRC_SEND;
}

/* 0, or why there can be no queue pair as |attr| asks. */
static int check(const struct fv_ctx *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	const struct fverbs_device *d = &ctx->device->attr;
	const struct ibv_qp_cap *cap = &attr->cap;
	uint32_t max_sge = d->max_sge < FVERBS_SGE_MAX ? d->max_sge : FVERBS_SGE_MAX;
	uint32_t max_wr = d->max_qp_wr < FVERBS_WR_MAX ? d->max_qp_wr : FVERBS_WR_MAX;
	bool xrc_recv = attr->qp_type == IBV_QPT_XRC_RECV;

	if (attr->comp_mask & ~known ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags))
		return EOPNOTSUPP;
	switch (attr->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		break;
	default:
		return EOPNOTSUPP;
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
	    attr->send_ops_flags & ~fv_qp_ex_ops(attr->qp_type))
		return EOPNOTSUPP;
	if (xrc_recv)
		return attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd ? 0 : EINVAL;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || !attr->send_cq ||
	    (!attr->recv_cq && attr->qp_type != IBV_QPT_XRC_SEND))
		return EINVAL;
	if (cap->max_send_wr > max_wr || cap->max_recv_wr > max_wr || cap->max_send_sge > max_sge ||
	    cap->max_recv_sge > max_sge || cap->max_inline_data > d->max_inline ||
	    cap->max_inline_data > FVERBS_INLINE_MAX)
		return EINVAL;
	return 0;
}

static uint32_t at_least_1(uint32_t n)
{
	return n ? n : 1;
}

static int make_rings(struct fv_ctx *ctx, struct fv_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t sge = sizeof(struct fverbs_sge);
	int rc = 0;

	if (has_send(qp)) {
		uint32_t n = at_least_1(attr->cap.max_send_sge);
		uint32_t room = n * sge + ctx->copy_max;

		if (room < attr->cap.max_inline_data)
			room = attr->cap.max_inline_data;
		rc = fv_wq_init(ctx, &qp->sq, at_least_1(attr->cap.max_send_wr),
				sizeof(struct fverbs_send_wqe), room);
		qp->sq.max_sge = n;
		qp->max_inline = attr->cap.max_inline_data;
		qp->copy_max = ctx->copy_max;
	}
	if (!rc && has_recv(qp) && !attr->srq) {
		uint32_t n = at_least_1(attr->cap.max_recv_sge);

		rc = fv_wq_init(ctx, &qp->rq, at_least_1(attr->cap.max_recv_wr),
				sizeof(struct fverbs_recv_wqe), n * sge);
		qp->rq.max_sge = n;
	}
	return rc;
}

static void note_cap(struct fv_qp *qp)
{
	qp->cap = (struct ibv_qp_cap){ .max_inline_data = qp->max_inline };
	if (qp->sq.shm) {
		qp->cap.max_send_wr = qp->sq.mask + 1;
		qp->cap.max_send_sge = qp->sq.max_sge;
	}
	if (qp->rq.shm) {
		qp->cap.max_recv_wr = qp->rq.mask + 1;
		qp->cap.max_recv_sge = qp->rq.max_sge;
	}
}

/* Have the agent make it. */
static int create(struct fv_ctx *ctx, struct fv_qp *qp, const struct ibv_qp_init_attr_ex *attr,
		  const struct modes *modes)
{
	struct fverbs_create_qp req = {
		.sq = qp->sq.place, .rq = qp->rq.place, .cookie = qp->cookie, .slot = qp->slot,
		.type = attr->qp_type, .max_send_wr = qp->cap.max_send_wr,
		.max_recv_wr = qp->cap.max_recv_wr, .max_send_sge = qp->cap.max_send_sge,
		.max_recv_sge = qp->cap.max_recv_sge, .max_inline = qp->cap.max_inline_data,
		.sq_sig_all = attr->sq_sig_all != 0, .ordering = modes->ordering,
		.errors = modes->errors,
	};
	struct fverbs_handle_num answer;
	int rc;

	/* Atomic writes bring their eight bytes along. */
	if (req.max_inline < sizeof(uint64_t))
		req.max_inline = sizeof(uint64_t);
	if (attr->qp_type == IBV_QPT_XRC_RECV) {
		req.xrcd_plus_1 = ((struct fv_xrcd *)attr->xrcd)->handle + 1;
	} else {
		req.pd = attr->pd->handle;
		req.send_cq = attr->send_cq->handle;
		/* XRC has no receiving side here; the agent does not look at this then. */
		req.recv_cq = attr->recv_cq ? attr->recv_cq->handle : req.send_cq;
	}
	if (has_recv(qp) && attr->srq)
		req.srq_plus_1 = attr->srq->handle + 1;
	rc = fv_call(&ctx->agent, FVERBS_CREATE_QP, &req, sizeof(req), -1, &answer, sizeof(answer));
	if (!rc) {
		qp->qp.handle = answer.handle;
		qp->qp.qp_num = answer.num;
	}
	return rc;
}

static void release(struct fv_ctx *ctx, struct fv_qp *qp)
{
	if (qp->cookie)
		fv_cookie_forget(ctx, qp->cookie);
	if (!qp->opened && qp->slot < FVERBS_SLOTS)
		fv_slot_free(ctx, qp->slot);
	fv_wq_free(ctx, &qp->sq);
	fv_wq_free(ctx, &qp->rq);
	fv_lock_destroy(&qp->sq_lock);
	fv_lock_destroy(&qp->rq_lock);
	pthread_mutex_destroy(&qp->qp.mutex);
	pthread_cond_destroy(&qp->qp.cond);
	free(qp);
}

static struct fv_qp *new_qp(struct fv_ctx *ctx, bool one_thread)
{
	struct fv_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	fv_lock_init(&qp->sq_lock, one_thread);
	fv_lock_init(&qp->rq_lock, one_thread);
	pthread_mutex_init(&qp->qp.mutex, NULL);
	pthread_cond_init(&qp->qp.cond, NULL);
	qp->ctx = ctx;
	qp->slot = FVERBS_SLOTS;
	qp->qp.context = &ctx->v.context;
	qp->qp.state = IBV_QPS_RESET;
	return qp;
}

static void link_qp(struct fv_ctx *ctx, struct fv_qp *qp)
{
	pthread_mutex_lock(&ctx->lock);
	qp->next = ctx->qps;
	ctx->qps = qp;
	pthread_mutex_unlock(&ctx->lock);
}

static struct ibv_qp *make_qp(struct fv_ctx *ctx, struct ibv_qp_init_attr_ex *attr,
			      const struct modes *modes)
{
	int rc = check(ctx, attr), slot;
	struct fv_qp *qp = NULL;

	if (!rc)
		qp = new_qp(ctx, attr->comp_mask & IBV_QP_INIT_ATTR_PD && fv_pd(attr->pd)->td);
	if (!qp) {
		errno = rc ? rc : ENOMEM;
		return NULL;
	}
	qp->qp.qp_type = attr->qp_type;
	qp->qp.qp_context = attr->qp_context;
	qp->sig_all = attr->sq_sig_all;
	if (attr->qp_type != IBV_QPT_XRC_RECV) {
		qp->qp.pd = attr->pd;
		qp->qp.send_cq = attr->send_cq;
	}
	if (has_recv(qp)) {
		qp->qp.recv_cq = attr->recv_cq;
		qp->qp.srq = attr->srq;
	}
	slot = fv_slot_new(ctx);
	qp->slot = slot < 0 ? FVERBS_SLOTS : (uint32_t)slot;
	qp->cookie = fv_cookie_new(ctx, qp, FV_KIND_QP);
	rc = slot < 0 || !qp->cookie ? ENOMEM : make_rings(ctx, qp, attr);
	note_cap(qp);
	if (!rc)
		rc = create(ctx, qp, attr, modes);
	if (rc) {
		release(ctx, qp);
		errno = rc;
		return NULL;
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		fv_qp_ex_fill(qp, attr->send_ops_flags);
	attr->cap = qp->cap;
	link_qp(ctx, qp);
	return &qp->qp;
}

static struct modes modes_of_environment(void)
{
	return (struct modes){
		.ordering = fv_env_choice(FV_ENV_ORDERING), .errors = fv_env_choice(FV_ENV_ERRORS),
	};
}

struct ibv_qp *fv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const struct modes modes = modes_of_environment();

	return make_qp(fv_ctx_of(context), attr, &modes);
}

FV_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = { 0 };
	struct ibv_qp *qp;

	if (!fv_ctx_of(pd->context))
		FV_FORWARD(ibv_create_qp, NULL, pd, attr);
	/* The one begins like the other; |attr| may be no longer than that. */
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	qp = fv_create_qp_ex(pd->context, &ex);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

FV_EXPORT struct ibv_qp *falcon_create_qp(struct ibv_context *context,
					  struct ibv_qp_init_attr_ex *attr,
					  const struct falcon_qp_attr *falcon)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	struct modes modes;

	if (!ctx || falcon->size < sizeof(*falcon) ||
	    falcon->ordering > FALCON_QP_UNORDERED ||
	    falcon->errors > FALCON_QP_COMPLETE_IN_ERROR) {
		errno = ctx ? EINVAL : EOPNOTSUPP;
		return NULL;
	}
	modes.ordering = (enum fverbs_ordering)falcon->ordering;
	modes.errors = (enum fverbs_errors)falcon->errors;
	return make_qp(ctx, attr, &modes);
}

struct ibv_qp *fv_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	const uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
				IBV_QP_OPEN_ATTR_TYPE;
	struct fv_ctx *ctx = fv_ctx_of(context);
	struct fverbs_handle_num answer;
	struct fverbs_open_qp req;
	struct fv_qp *qp;

	if ((attr->comp_mask & needed) != needed || attr->qp_type != IBV_QPT_XRC_RECV) {
		errno = EINVAL;
		return NULL;
	}
	qp = new_qp(ctx, false);
	if (!qp)
		return NULL;
	qp->opened = true;
	qp->qp.qp_type = attr->qp_type;
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		qp->qp.qp_context = attr->qp_context;
	qp->cookie = fv_cookie_new(ctx, qp, FV_KIND_QP);
	req = (struct fverbs_open_qp){
		.cookie = qp->cookie, .xrcd = ((struct fv_xrcd *)attr->xrcd)->handle,
		.qp_num = attr->qp_num,
	};
	errno = ENOMEM;
	if (!qp->cookie || fv_call(&ctx->agent, FVERBS_OPEN_QP, &req, sizeof(req), -1, &answer,
				   sizeof(answer))) {
		int err = errno;

		release(ctx, qp);
		errno = err;
		return NULL;
	}
	qp->qp.handle = answer.handle;
	qp->qp.qp_num = answer.num;
	link_qp(ctx, qp);
	return &qp->qp;
}

FV_EXPORT int ibv_destroy_qp(struct ibv_qp *ibqp)
{
	struct fv_ctx *ctx = fv_ctx_of(ibqp->context);
	struct fv_qp *qp = fv_qp(ibqp);
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_destroy_qp, ENOSYS, ibqp);
	rc = fv_call_destroy(&ctx->agent, FVERBS_DESTROY_QP, ibqp->handle);
	if (rc)
		return rc;
	pthread_mutex_lock(&ctx->lock);
	for (struct fv_qp **p = &ctx->qps; *p; p = &(*p)->next) {
		if (*p == qp) {
			*p = qp->next;
			break;
		}
	}
	pthread_mutex_unlock(&ctx->lock);
	if (ibqp->send_cq)
		fv_cq_clean(fv_cq(ibqp->send_cq), qp->cookie);
	if (ibqp->recv_cq && ibqp->recv_cq != ibqp->send_cq)
		fv_cq_clean(fv_cq(ibqp->recv_cq), qp->cookie);
	fv_cookie_forget(ctx, qp->cookie);
	qp->cookie = 0;
	if (!fv_forked(&ctx->agent))
		fv_wait_acked(&ibqp->mutex, &ibqp->cond, &ibqp->events_completed, qp->async_events);
	release(ctx, qp);
	return 0;
}
