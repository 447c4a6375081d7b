// SPDX-License-Identifier: BSD-2-Clause
/* Regions that XDP reaches: those in offload memory (falcon/maps.h). */
#include <infiniband/verbs.h>

#include "falcon/abi/maps.h"
#include "ulp/rdma/objects.h"

uint32_t rdma_offload_access(uint32_t access)
{
	return (access & IBV_ACCESS_REMOTE_WRITE ? FALCON_REGION_WRITE : 0U) |
	       (access & IBV_ACCESS_REMOTE_READ ? FALCON_REGION_READ : 0U) |
	       (access & IBV_ACCESS_REMOTE_ATOMIC ? FALCON_REGION_ATOMIC : 0U);
}

void rdma_offload_region(struct rdma_mr *mr)
{
	const struct rdma_host *h = &mr->ctx->r->host;
	const struct falcon_region region = {
		.iova = mr->iova,
		.length = mr->length,
		.offset = mr->addr,
		.pd = mr->pd->number,
		.memory = mr->area ? mr->area->memory - 1 : 0,
		.access = rdma_offload_access(mr->access),
	};

	/* What XDP does not know is the agent's, as all other memory is. */
	if (!mr->area || !mr->area->memory || !region.access || h->region_add(h->arg, mr->key, &region) < 0)
		return;
	mr->offloaded = true;
	mr->pd->offloaded++;
}

void rdma_unoffload_region(struct rdma_mr *mr)
{
	const struct rdma_host *h = &mr->ctx->r->host;

	if (!mr->offloaded)
		return;
	mr->offloaded = false;
	mr->pd->offloaded--;
	h->region_del(h->arg, mr->key);
	/* Only queue pairs of the same protection domain reach it. */
	rdma_ctx_each_qp(mr->ctx, rdma_exec_wait);
}
