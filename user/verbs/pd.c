// SPDX-License-Identifier: BSD-2-Clause
/* Protection domains, thread domains, and domains of extended connections. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/fv.h"

FV_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	struct fverbs_handle req, answer;
	struct fv_pd *pd;

	if (!ctx)
		FV_FORWARD(ibv_alloc_pd, NULL, context);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	req = (struct fverbs_handle){ .handle = ctx->device->index };
	if (fv_call(&ctx->agent, FVERBS_ALLOC_PD, &req, sizeof(req), -1, &answer, sizeof(answer))) {
		free(pd);
		return NULL;
	}
	pd->pd.context = context;
	pd->pd.handle = answer.handle;
	return &pd->pd;
}

FV_EXPORT int ibv_dealloc_pd(struct ibv_pd *ibpd)
{
	struct fv_ctx *ctx = fv_ctx_of(ibpd->context);
	struct fv_pd *pd = fv_pd(ibpd);
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_dealloc_pd, ENOSYS, ibpd);
	if (__atomic_load_n(&pd->refs, __ATOMIC_ACQUIRE))
		return fv_fail(EBUSY, "there are parent domains of it");
	if (pd->parent) {
		__atomic_sub_fetch(&pd->parent->refs, 1, __ATOMIC_RELEASE);
		if (pd->td)
			__atomic_sub_fetch(&pd->td->refs, 1, __ATOMIC_RELEASE);
		free(pd);
		return 0;
	}
	rc = fv_call_destroy(&ctx->agent, FVERBS_DEALLOC_PD, pd->pd.handle);
	if (rc)
		return rc;
	free(pd);
	return 0;
}

struct ibv_td *fv_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct fv_td *td;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = context;
	return &td->td;
}

int fv_dealloc_td(struct ibv_td *ibtd)
{
	struct fv_td *td = (struct fv_td *)ibtd;

	if (__atomic_load_n(&td->refs, __ATOMIC_ACQUIRE))
		return fv_fail(EBUSY, "there are parent domains with this thread domain");
	free(td);
	return 0;
}

/* Memory of queues is shared with the agent, so an application's allocators are not asked. */
struct ibv_pd *fv_alloc_parent_domain(struct ibv_context *context,
				      struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			       IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	struct fv_pd *pd, *of;

	if (!attr->pd || attr->comp_mask & ~known) {
		errno = attr->pd ? EOPNOTSUPP : EINVAL;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	of = fv_pd(attr->pd);
	pd->parent = of->parent ? of->parent : of;
	pd->td = (struct fv_td *)attr->td;
	pd->pd.context = context;
	pd->pd.handle = of->pd.handle;
	__atomic_add_fetch(&pd->parent->refs, 1, __ATOMIC_RELAXED);
	if (pd->td)
		__atomic_add_fetch(&pd->td->refs, 1, __ATOMIC_RELAXED);
	return &pd->pd;
}

struct ibv_xrcd *fv_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct fv_ctx *ctx = fv_ctx_of(context);
	struct fverbs_open_xrcd req = { .device = ctx->device->index };
	struct fverbs_handle answer;
	struct fv_xrcd *xrcd;

	if (attr->comp_mask != needed) {
		errno = attr->comp_mask & ~needed ? EOPNOTSUPP : EINVAL;
		return NULL;
	}
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return NULL;
	req.oflags = (uint32_t)attr->oflags;
	req.has_fd = attr->fd >= 0;
	if (fv_call(&ctx->agent, FVERBS_OPEN_XRCD, &req, sizeof(req), attr->fd, &answer,
		    sizeof(answer))) {
		free(xrcd);
		return NULL;
	}
	xrcd->xrcd.context = context;
	xrcd->handle = answer.handle;
	return &xrcd->xrcd;
}

int fv_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct fv_ctx *ctx = fv_ctx_of(ibxrcd->context);
	struct fv_xrcd *xrcd = (struct fv_xrcd *)ibxrcd;
	int rc = fv_call_destroy(&ctx->agent, FVERBS_CLOSE_XRCD, xrcd->handle);

	if (rc)
		return rc;
	free(xrcd);
	return 0;
}

FV_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	if (!fv_ctx_of(context))
		FV_FORWARD(ibv_import_pd, NULL, context, handle);
	errno = EOPNOTSUPP;
	return NULL;
}

FV_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
	static void *seen;
	void (*real)(struct ibv_pd *);

	if (fv_ctx_of(pd->context))
		return;
	real = (__typeof__(real))fv_real_once(&seen, "ibv_unimport_pd");
	if (real)
		real(pd);
}
