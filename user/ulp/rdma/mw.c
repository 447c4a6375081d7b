// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory windows (InfiniBand 10.6.7.2). Type 1 is bound and unbound by its own verb and used by all
 * queue pairs of its PD; type 2 is bound by a send request, invalidated, and used by the peers of the
 * queue pair that bound it, which must be of its PD ("type 2B").
 */
#include <infiniband/verbs.h>

#include "ulp/rdma/objects.h"

void rdma_mw_unbind(struct rdma_mr *mw)
{
	if (!mw->bound)
		return;
	mw->bound = false;
	mw->region->windows--;
	mw->region = NULL;
	if (!mw->qp)
		return;
	mw->qp = NULL;
	*mw->pprev = mw->next;
	if (mw->next)
		mw->next->pprev = mw->pprev;
}

void rdma_mws_qp_gone(struct rdma_qp *qp)
{
	struct rdma_mr **windows = rdma_qp_windows(qp);

	while (*windows)
		rdma_mw_unbind(*windows);
}

/* The region may have |wqe|'s range opened by a window with its access. */
static bool may_open(const struct rdma_mr *region, const struct rdma_mr *mw,
		     const struct fverbs_send_wqe *wqe)
{
	uint64_t in = wqe->bind_addr - region->iova;
	uint32_t wanted = wqe->bind_access & ~(uint32_t)IBV_ACCESS_OPTIONAL_RANGE;

	if (region->kind != RDMA_MR_REGION || region->pd != mw->pd || region->implicit ||
	    !(region->access & IBV_ACCESS_MW_BIND))
		return false;
	if (wanted & ~(uint32_t)(RDMA_ACCESS_REMOTE | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				 IBV_ACCESS_MW_BIND))
		return false;
	if ((wanted & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(region->access & IBV_ACCESS_LOCAL_WRITE))
		return false;
	if ((wanted & IBV_ACCESS_ZERO_BASED) && mw->kind == RDMA_MR_WINDOW_1)
		return false;
	return wqe->bind_addr >= region->iova && in <= region->length &&
	       wqe->bind_len <= region->length - in;
}

static void bind(struct rdma_mr *mw, struct rdma_mr *region, struct rdma_qp *qp,
		 const struct fverbs_send_wqe *wqe)
{
	struct rdma_mr **windows = rdma_qp_windows(qp);

	mw->bound = true;
	mw->access = wqe->bind_access;
	mw->addr = region->addr + (wqe->bind_addr - region->iova);
	mw->iova = wqe->bind_access & IBV_ACCESS_ZERO_BASED ? 0 : wqe->bind_addr;
	mw->length = wqe->bind_len;
	mw->region = region;
	region->windows++;
	/* All queue pairs may use one of type 1. */
	if (mw->kind != RDMA_MR_WINDOW_2)
		return;
	mw->qp = qp;
	mw->next = *windows;
	mw->pprev = windows;
	if (mw->next)
		mw->next->pprev = &mw->next;
	*windows = mw;
}

int rdma_mw_bind(struct rdma_qp *qp, const struct fverbs_send_wqe *wqe)
{
	const struct rdma_qp_init *parts = rdma_qp_parts(qp);
	struct rdma_mr *mw = rdma_handle_get(parts->ctx, RDMA_KIND_MW, wqe->mw);
	struct rdma_mr *region = rdma_key_find(parts->ctx->r, wqe->rkey);
	bool again = mw && mw->bound;

	if (!mw || !parts->pd || mw->pd != parts->pd || (wqe->imm ^ mw->key) >> 8)
		return IBV_WC_MW_BIND_ERR;
	if (mw->kind == RDMA_MR_WINDOW_2 && (again || !wqe->bind_len))
		return IBV_WC_MW_BIND_ERR;
	if (wqe->bind_len && (!region || !may_open(region, mw, wqe)))
		return IBV_WC_MW_BIND_ERR;
	rdma_mw_unbind(mw);
	rdma_key_change(parts->ctx->r, mw, wqe->imm);
	if (wqe->bind_len)
		bind(mw, region, qp, wqe);
	return 0;
}

int rdma_key_invalidate(struct rdma_qp *qp, uint32_t key, bool remote)
{
	const struct rdma_qp_init *parts = rdma_qp_parts(qp);
	struct rdma_mr *mw = rdma_key_find(parts->ctx->r, key);

	/* Regions that applications register are not for invalidation (InfiniBand 10.6.5). */
	if (!mw || mw->kind != RDMA_MR_WINDOW_2 || !mw->bound || mw->qp != qp)
		return remote ? IBV_WC_REM_ACCESS_ERR : IBV_WC_MW_BIND_ERR;
	rdma_mw_unbind(mw);
	return 0;
}
