// SPDX-License-Identifier: BSD-2-Clause
/* What keys open: every access of a peer and of a local request is checked here (RDMA 6.9). */
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "ulp/rdma/objects.h"

enum { ACCESS_KNOWN = IBV_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE | IBV_ACCESS_MW_BIND |
		      IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB };

bool rdma_access_valid(uint32_t access)
{
	access &= ~(uint32_t)IBV_ACCESS_OPTIONAL_RANGE;
	if (access & ~(uint32_t)ACCESS_KNOWN)
		return false;
	/* Who lets others write writes himself (InfiniBand 10.6.3.1). */
	return (access & IBV_ACCESS_LOCAL_WRITE) ||
	       !(access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
}

static void put_mr(struct rdma_mr *mr)
{
	if (!mr || --mr->refs)
		return;
	rdma_area_put(mr->area);
	free(mr);
}

void rdma_mr_kill(struct rdma_mr *mr)
{
	mr->dead = true;
	mr->ctx = NULL;
	mr->pd = NULL;
	if (mr->area)
		mr->area->uses--;
	put_mr(mr);
}

/* [addr, addr + len) within |mr|? */
static bool within(const struct rdma_mr *mr, uint64_t addr, uint32_t len)
{
	uint64_t in = addr - mr->iova;

	if (mr->implicit)
		return addr + len >= addr;
	return addr >= mr->iova && in <= mr->length && len <= mr->length - in;
}

static void make_span(struct rdma_mr *mr, uint64_t addr, uint32_t len, struct rdma_span *out)
{
	struct rdma_mr *region = mr->kind == RDMA_MR_REGION ? mr : mr->region;
	uint64_t at = mr->addr + (addr - mr->iova);

	*out = (struct rdma_span){ .mr = region, .addr = at, .len = len };
	if (region->area)
		out->direct = region->area->base + at;
	region->refs++;
}

enum rdma_fault rdma_resolve_local(struct rdma_pd *pd, uint32_t lkey, uint64_t addr, uint32_t len,
				   uint32_t access, struct rdma_span *out)
{
	struct rdma_mr *mr;

	*out = (struct rdma_span){};
	if (!len)
		return RDMA_FAULT_NONE;
	mr = rdma_key_find(pd->ctx->r, lkey);
	if (!mr || mr->kind != RDMA_MR_REGION)
		return RDMA_FAULT_KEY;
	if (mr->pd != pd)
		return RDMA_FAULT_PD;
	if (access & ~mr->access)
		return RDMA_FAULT_ACCESS;
	if (!within(mr, addr, len))
		return RDMA_FAULT_BOUNDS;
	make_span(mr, addr, len, out);
	return RDMA_FAULT_NONE;
}

enum rdma_fault rdma_resolve_remote(struct rdma_qp *qp, struct rdma_pd *pd, uint32_t rkey,
				    uint64_t addr, uint32_t len, uint32_t access,
				    struct rdma_span *out)
{
	struct rdma_mr *mr;

	*out = (struct rdma_span){};
	if (!len)
		return RDMA_FAULT_NONE;
	mr = pd ? rdma_key_find(pd->ctx->r, rkey) : NULL;
	if (!mr || (mr->kind != RDMA_MR_REGION && !mr->bound))
		return RDMA_FAULT_KEY;
	if (mr->pd != pd || (mr->kind == RDMA_MR_WINDOW_2 && mr->qp != qp))
		return RDMA_FAULT_PD;
	if (access & ~mr->access)
		return RDMA_FAULT_ACCESS;
	if (!within(mr, addr, len))
		return RDMA_FAULT_BOUNDS;
	make_span(mr, addr, len, out);
	return RDMA_FAULT_NONE;
}

void rdma_span_put(struct rdma_span *span)
{
	put_mr(span->mr);
	*span = (struct rdma_span){};
}
