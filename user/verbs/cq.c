// SPDX-License-Identifier: BSD-2-Clause
/* Completion queues: making, resizing, destroying. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/fv.h"

enum {
	IGNORE_OVERRUN = 1,	/* struct fverbs_create_cq.flags */
};

static int place_cq(struct fv_ctx *ctx, uint32_t cqe, struct fverbs_place *place,
		    struct fverbs_cq_shm **shm)
{
	uint32_t entries = fv_pow2(cqe);

	memset(place, 0, sizeof(*place));
	*shm = fv_area_alloc(&ctx->agent,
			     sizeof(**shm) + (uint64_t)entries * sizeof(struct fverbs_cqe),
			     &place->area, &place->offset);
	place->entries = entries;
	place->stride = sizeof(struct fverbs_cqe);
	return *shm ? 0 : errno;
}

static void use_ring(struct fv_cq *cq, struct fverbs_cq_shm *shm, const struct fverbs_place *place)
{
	cq->shm = shm;
	cq->entries = (struct fverbs_cqe *)(shm + 1);
	cq->mask = place->entries - 1;
	cq->head = 0;
	cq->place = *place;
	cq->cq.cqe = (int)place->entries;
}

/* Have the agent make the queue. */
static int create(struct fv_ctx *ctx, struct fv_cq *cq, const struct ibv_cq_init_attr_ex *attr)
{
	struct fverbs_create_cq req = {
		.place = cq->place, .cookie = cq->cookie, .comp_vector = attr->comp_vector,
		.device = ctx->device->index,
	};
	struct fverbs_handle answer;
	int rc;

	if (attr->channel)
		req.channel_plus_1 =
			FV_CAST(struct fv_channel, channel, attr->channel)->handle + 1;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)
		req.flags = IGNORE_OVERRUN;
	rc = fv_call(&ctx->agent, FVERBS_CREATE_CQ, &req, sizeof(req), -1, &answer, sizeof(answer));
	if (!rc)
		cq->cq.handle = answer.handle;
	return rc;
}

/* 0, or why the queue cannot be as |attr| asks. */
static int check(const struct fv_ctx *ctx, const struct ibv_cq_init_attr_ex *attr)
{
	const uint32_t flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
			       IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	const uint64_t wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

	if (!attr->cqe || attr->cqe > ctx->device->attr.max_cqe || attr->cqe > FVERBS_CQE_MAX ||
	    attr->comp_vector >= (uint32_t)ctx->v.context.num_comp_vectors)
		return EINVAL;
	if (attr->comp_mask &
	    ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS && attr->flags & ~flags)
		return EOPNOTSUPP;
	return attr->wc_flags & ~wc_flags ? EOPNOTSUPP : 0;
}

static bool single_threaded(const struct ibv_cq_init_attr_ex *attr)
{
	return (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
		attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) ||
	       (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD && fv_pd(attr->parent_domain)->td);
}

static void release(struct fv_ctx *ctx, struct fv_cq *cq)
{
	if (cq->cookie)
		fv_cookie_forget(ctx, cq->cookie);
	if (cq->shm)
		fv_area_free(&ctx->agent, cq->shm);
	fv_lock_destroy(&cq->lock);
	pthread_mutex_destroy(&cq->cq.mutex);
	pthread_cond_destroy(&cq->cq.cond);
	free(cq);
}

static struct fv_cq *make_cq(struct fv_ctx *ctx, const struct ibv_cq_init_attr_ex *attr)
{
	struct fverbs_cq_shm *shm;
	struct fverbs_place place;
	struct fv_cq *cq;
	int rc = check(ctx, attr);

	cq = rc ? NULL : calloc(1, sizeof(*cq));
	if (!cq) {
		errno = rc ? rc : ENOMEM;
		return NULL;
	}
	fv_lock_init(&cq->lock, single_threaded(attr));
	pthread_mutex_init(&cq->cq.mutex, NULL);
	pthread_cond_init(&cq->cq.cond, NULL);
	cq->cq.context = &ctx->v.context;
	cq->cq.channel = attr->channel;
	cq->cq.cq_context = attr->cq_context;
	rc = place_cq(ctx, attr->cqe, &place, &shm);
	if (!rc) {
		use_ring(cq, shm, &place);
		cq->cookie = fv_cookie_new(ctx, cq, FV_KIND_CQ);
		rc = cq->cookie ? create(ctx, cq, attr) : ENOMEM;
	}
	if (rc) {
		release(ctx, cq);
		errno = rc;
		return NULL;
	}
	if (attr->channel)
		__atomic_add_fetch(&attr->channel->refcnt, 1, __ATOMIC_RELAXED);
	return cq;
}

FV_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				       struct ibv_comp_channel *channel, int comp_vector)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	const struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe > 0 ? (uint32_t)cqe : 0, .cq_context = cq_context, .channel = channel,
		.comp_vector = (uint32_t)comp_vector, .wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct fv_cq *cq;

	if (!ctx)
		FV_FORWARD(ibv_create_cq, NULL, context, cqe, cq_context, channel, comp_vector);
	cq = make_cq(ctx, &attr);
	return cq ? &cq->cq : NULL;
}

struct ibv_cq_ex *fv_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct fv_cq *cq = make_cq(fv_ctx_of(context), attr);

	if (!cq)
		return NULL;
	fv_cq_ex_fill(cq, attr->wc_flags);
	return &cq->ex;
}

/* Completions that |cq| holds, and that requests under way will bring. */
static uint64_t needed(struct fv_ctx *ctx, struct fv_cq *cq)
{
	uint64_t n = 0;

	pthread_mutex_lock(&ctx->lock);
	for (struct fv_qp *qp = ctx->qps; qp; qp = qp->next) {
		if (qp->qp.send_cq == &cq->cq && qp->sq.shm)
			n += falcon_load(&qp->sq.tail) - falcon_load(&qp->sq.shm->idx.head);
	}
	pthread_mutex_unlock(&ctx->lock);
	return n + (falcon_load(&cq->shm->idx.tail) - cq->head);
}

FV_EXPORT int ibv_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct fv_ctx *ctx = fv_ctx_of(ibcq->context);
	struct fverbs_resize_cq req = { .cq = ibcq->handle };
	struct fv_cq *cq = fv_cq(ibcq);
	struct fverbs_cq_shm *shm;
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_resize_cq, ENOSYS, ibcq, cqe);
	if (cqe < 1 || (uint32_t)cqe > ctx->device->attr.max_cqe || cqe > FVERBS_CQE_MAX)
		return fv_fail(EINVAL, "a queue of %d completions cannot be had", cqe);
	fv_lock(&cq->lock);
	if (cqe < ibcq->cqe && needed(ctx, cq) > (uint32_t)cqe) {
		rc = fv_fail(EINVAL, "there are, or will be, more completions than that");
		goto out;
	}
	rc = place_cq(ctx, (uint32_t)cqe, &req.place, &shm);
	if (rc)
		goto out;
	rc = fv_call(&ctx->agent, FVERBS_RESIZE_CQ, &req, sizeof(req), -1, NULL, 0);
	if (!rc) {
		struct fverbs_cq_shm *old = cq->shm;

		/* The agent has taken |armed| along; whoever has set it since did so in the old one. */
		pthread_mutex_lock(&ibcq->mutex);
		use_ring(cq, shm, &req.place);
		fv_cq_arm(cq, falcon_load(&old->armed));
		pthread_mutex_unlock(&ibcq->mutex);
		shm = old;
	}
	fv_area_free(&ctx->agent, shm);
out:
	fv_unlock(&cq->lock);
	return rc;
}

FV_EXPORT int ibv_destroy_cq(struct ibv_cq *ibcq)
{
	struct fv_ctx *ctx = fv_ctx_of(ibcq->context);
	struct fv_cq *cq = fv_cq(ibcq);
	uint32_t comp, async;
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_destroy_cq, ENOSYS, ibcq);
	rc = fv_call_destroy(&ctx->agent, FVERBS_DESTROY_CQ, ibcq->handle);
	if (rc)
		return rc;
	/* From here on nobody is given events of it. */
	fv_cookie_forget(ctx, cq->cookie);
	cq->cookie = 0;
	pthread_mutex_lock(&ctx->lock);
	comp = cq->comp_events;
	async = cq->async_events;
	pthread_mutex_unlock(&ctx->lock);
	if (!fv_forked(&ctx->agent)) {
		fv_wait_acked(&ibcq->mutex, &ibcq->cond, &ibcq->comp_events_completed, comp);
		fv_wait_acked(&ibcq->mutex, &ibcq->cond, &ibcq->async_events_completed, async);
	}
	if (ibcq->channel)
		__atomic_sub_fetch(&ibcq->channel->refcnt, 1, __ATOMIC_RELAXED);
	release(ctx, cq);
	return 0;
}

int fv_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	(void)cq;
	/* Events are never held back. */
	return attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE ? EINVAL : EOPNOTSUPP;
}
