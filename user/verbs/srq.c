// SPDX-License-Identifier: BSD-2-Clause
/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/fv.h"

static uint32_t room_of(uint32_t sge)
{
	return sge * (uint32_t)sizeof(struct fverbs_sge);
}

static int check(const struct fv_ctx *ctx, const struct ibv_srq_init_attr_ex *attr)
{
	const struct fverbs_device *d = &ctx->device->attr;
	bool xrc = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;

	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && !xrc && attr->srq_type != IBV_SRQT_BASIC)
		return EOPNOTSUPP;
	if (attr->comp_mask >= IBV_SRQ_INIT_ATTR_RESERVED ||
	    attr->comp_mask & IBV_SRQ_INIT_ATTR_TM)
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd)
		return EINVAL;
	if (xrc && (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) ||
		    !(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->xrcd || !attr->cq))
		return EINVAL;
	if (!attr->attr.max_wr || attr->attr.max_wr > d->max_srq_wr ||
	    attr->attr.max_wr > FVERBS_WR_MAX || attr->attr.max_sge > d->max_sge ||
	    attr->attr.max_sge > FVERBS_SGE_MAX)
		return EINVAL;
	return 0;
}

static int create(struct fv_ctx *ctx, struct fv_srq *srq, const struct ibv_srq_init_attr_ex *attr)
{
	struct fverbs_create_srq req = {
		.place = srq->wq.place, .cookie = srq->cookie, .pd = attr->pd->handle,
		.type = srq->type, .max_wr = srq->wq.mask + 1, .max_sge = srq->wq.max_sge,
	};
	struct fverbs_handle_num answer;
	int rc;

	if (srq->type == IBV_SRQT_XRC) {
		req.xrcd = ((struct fv_xrcd *)attr->xrcd)->handle;
		req.cq = attr->cq->handle;
	}
	rc = fv_call(&ctx->agent, FVERBS_CREATE_SRQ, &req, sizeof(req), -1, &answer,
		     sizeof(answer));
	if (!rc) {
		srq->srq.handle = answer.handle;
		srq->num = answer.num;
	}
	return rc;
}

static void release(struct fv_ctx *ctx, struct fv_srq *srq)
{
	if (srq->cookie)
		fv_cookie_forget(ctx, srq->cookie);
	fv_wq_free(ctx, &srq->wq);
	fv_lock_destroy(&srq->lock);
	pthread_mutex_destroy(&srq->srq.mutex);
	pthread_cond_destroy(&srq->srq.cond);
	free(srq);
}

struct ibv_srq *fv_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	uint32_t sge = attr->attr.max_sge ? attr->attr.max_sge : 1;
	struct fv_srq *srq;
	int rc = check(ctx, attr);

	srq = rc ? NULL : calloc(1, sizeof(*srq));
	if (!srq) {
		errno = rc ? rc : ENOMEM;
		return NULL;
	}
	fv_lock_init(&srq->lock, fv_pd(attr->pd)->td != NULL);
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	srq->srq.context = context;
	srq->srq.srq_context = attr->srq_context;
	srq->srq.pd = attr->pd;
	srq->type = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? attr->srq_type : IBV_SRQT_BASIC;
	rc = fv_wq_init(ctx, &srq->wq, attr->attr.max_wr, sizeof(struct fverbs_recv_wqe),
			room_of(sge));
	srq->wq.max_sge = sge;
	if (!rc) {
		srq->cookie = fv_cookie_new(ctx, srq, FV_KIND_SRQ);
		rc = srq->cookie ? create(ctx, srq, attr) : ENOMEM;
	}
	if (rc) {
		release(ctx, srq);
		errno = rc;
		return NULL;
	}
	attr->attr.max_wr = srq->wq.mask + 1;
	attr->attr.max_sge = sge;
	return &srq->srq;
}

FV_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex;
	struct ibv_srq *srq;

	if (!fv_ctx_of(pd->context))
		FV_FORWARD(ibv_create_srq, NULL, pd, attr);
	ex = (struct ibv_srq_init_attr_ex){
		.srq_context = attr->srq_context, .attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD, .pd = pd,
	};
	srq = fv_create_srq_ex(pd->context, &ex);
	if (srq)
		attr->attr = ex.attr;
	return srq;
}

int fv_get_srq_num(struct ibv_srq *srq, uint32_t *num)
{
	if (fv_srq(srq)->type != IBV_SRQT_XRC)
		return EINVAL;
	*num = fv_srq(srq)->num;
	return 0;
}

/* A ring of another size; the agent moves there what no message has taken. */
static int make_ring(struct fv_ctx *ctx, struct fv_srq *srq, uint32_t max_wr, struct fv_wq *out)
{
	const struct fv_wq *old = &srq->wq;
	int rc;

	if (!max_wr || max_wr > ctx->device->attr.max_srq_wr || max_wr > FVERBS_WR_MAX ||
	    old->tail - falcon_load(&old->shm->idx.head) > max_wr)
		return fv_fail(EINVAL, "the queue cannot be given that size");
	rc = fv_wq_init(ctx, out, max_wr, sizeof(struct fverbs_recv_wqe), room_of(old->max_sge));
	out->max_sge = old->max_sge;
	return rc;
}

FV_EXPORT int ibv_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct fv_ctx *ctx = fv_ctx_of(ibsrq->context);
	struct fverbs_modify_srq req = { .srq = ibsrq->handle, .mask = (uint32_t)mask };
	struct fv_srq *srq = fv_srq(ibsrq);
	struct fv_wq other = { 0 };
	int rc = 0;

	if (!ctx)
		FV_FORWARD(ibv_modify_srq, ENOSYS, ibsrq, attr, mask);
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return fv_fail(EINVAL, "only size and limit can be changed");
	req.attr.limit = attr->srq_limit;
	fv_lock(&srq->lock);
	if (mask & IBV_SRQ_MAX_WR) {
		rc = make_ring(ctx, srq, attr->max_wr, &other);
		req.attr.max_wr = other.mask + 1;
		req.attr.max_sge = other.max_sge;
		req.place = other.place;
	}
	if (!rc)
		rc = fv_call(&ctx->agent, FVERBS_MODIFY_SRQ, &req, sizeof(req), -1, NULL, 0);
	if (!rc && other.shm) {
		struct fv_wq old = srq->wq;

		srq->wq = other;
		srq->wq.tail = falcon_load(&other.shm->idx.tail);
		other = old;
	}
	fv_wq_free(ctx, &other);
	fv_unlock(&srq->lock);
	return rc;
}

FV_EXPORT int ibv_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct fv_ctx *ctx = fv_ctx_of(ibsrq->context);
	const struct fverbs_handle req = { .handle = ibsrq->handle };
	struct fverbs_srq_attr answer;
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_query_srq, ENOSYS, ibsrq, attr);
	rc = fv_call(&ctx->agent, FVERBS_QUERY_SRQ, &req, sizeof(req), -1, &answer, sizeof(answer));
	if (rc)
		return rc;
	attr->max_wr = answer.max_wr;
	attr->max_sge = answer.max_sge;
	attr->srq_limit = answer.limit;
	return 0;
}

FV_EXPORT int ibv_destroy_srq(struct ibv_srq *ibsrq)
{
	struct fv_ctx *ctx = fv_ctx_of(ibsrq->context);
	struct fv_srq *srq = fv_srq(ibsrq);
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_destroy_srq, ENOSYS, ibsrq);
	rc = fv_call_destroy(&ctx->agent, FVERBS_DESTROY_SRQ, ibsrq->handle);
	if (rc)
		return rc;
	fv_cookie_forget(ctx, srq->cookie);
	srq->cookie = 0;
	if (!fv_forked(&ctx->agent))
		fv_wait_acked(&ibsrq->mutex, &ibsrq->cond, &ibsrq->events_completed,
			      srq->async_events);
	release(ctx, srq);
	return 0;
}
