// SPDX-License-Identifier: BSD-2-Clause
/* Receive requests, taken from an application's ring: copied once, then checked. */
#include <errno.h>
#include <string.h>

#include "ulp/rdma/objects.h"

enum { MESSAGE_MAX = 1U << 31 };	/* bytes (InfiniBand 9.7.7.1) */

int rdma_recv_take(struct rdma_ring *ring, uint32_t max_sge, struct rdma_recv *out)
{
	const struct falcon_ring_idx *idx = rdma_ring_idx(ring);
	uint32_t waiting = falcon_load(&idx->tail) - ring->pos;
	const uint8_t *at = rdma_ring_at(ring, ring->pos);
	struct fverbs_recv_wqe wqe;
	uint64_t total = 0;

	if (waiting > ring->entries)
		return -EPROTO;
	if (!waiting)
		return 0;
	memcpy(&wqe, at, sizeof(wqe));
	/* From here on |wqe| alone is looked at, whatever the compiler knows about memcpy(). */
	__asm__ volatile("" : : : "memory");
	out->wr_id = wqe.wr_id;
	out->num_sge = out->total = 0;
	if (wqe.num_sge <= max_sge && wqe.num_sge <= FVERBS_SGE_MAX &&
	    sizeof(wqe) + wqe.num_sge * sizeof(out->sge[0]) <= ring->stride) {
		memcpy(out->sge, at + sizeof(wqe), wqe.num_sge * sizeof(out->sge[0]));
		__asm__ volatile("" : : : "memory");
		for (uint32_t i = 0; i < wqe.num_sge; i++)
			total += out->sge[i].len;
	} else {
		total = UINT64_MAX;
	}
	ring->pos++;
	if (total > (uint64_t)MESSAGE_MAX)
		return -EINVAL;
	out->num_sge = wqe.num_sge;
	out->total = (uint32_t)total;
	return 1;
}
