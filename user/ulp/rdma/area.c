// SPDX-License-Identifier: BSD-2-Clause
/* Memory that applications share with us, and the rings in it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ulp/rdma/objects.h"

_Static_assert((int)RDMA_RING_HDR == (int)sizeof(struct fverbs_wq_shm), "the header of a ring");
_Static_assert((int)RDMA_RING_HDR == (int)sizeof(struct fverbs_cq_shm), "the header of a ring");

struct rdma_area *rdma_area_new(struct rdma *r, void *base, uint64_t size)
{
	struct rdma_area *area = calloc(1, sizeof(*area));

	if (area)
		*area = (struct rdma_area){ .r = r, .base = base, .size = size, .refs = 1 };
	return area;
}

struct rdma_area *rdma_area_of_memory(struct rdma *r, void *base, uint64_t size, uint32_t index)
{
	struct rdma_area *area = rdma_area_new(r, base, size);

	if (area)
		area->memory = index + 1;
	return area;
}

void rdma_area_put(struct rdma_area *area)
{
	const struct rdma_host *host;

	if (!area || --area->refs)
		return;
	host = &area->r->host;
	if (area->memory)
		host->memory_free(host->arg, area->memory - 1, area->base, area->size);
	else
		host->unmap(host->arg, area->base, area->size);
	free(area);
}

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

int rdma_ring_open(struct rdma_ctx *ctx, const struct fverbs_place *place, uint32_t fixed,
		   uint32_t max, struct rdma_ring *out, char *err, size_t errlen)
{
	struct rdma_area *area = place->area < RDMA_MAX_AREAS ? ctx->areas[place->area] : NULL;
	uint64_t size = RDMA_RING_HDR + (uint64_t)place->entries * place->stride;

	*out = (struct rdma_ring){};
	if (!area)
		snprintf(err, errlen, "there is no area %u", place->area);
	else if (!power_of_two(place->entries) || place->entries > max)
		snprintf(err, errlen, "a queue of %u entries: it has to be a power of two up to %u",
			 place->entries, max);
	else if (place->stride % 64 || place->stride < fixed || place->stride > FVERBS_MSG_MAX)
		snprintf(err, errlen, "entries of %u bytes: %u to %u in steps of 64 are possible",
			 place->stride, FVERBS_STRIDE(fixed, 0), FVERBS_MSG_MAX);
	else if (place->offset % 64 || place->offset > area->size ||
		 size > area->size - place->offset || place->reserved)
		snprintf(err, errlen, "a queue of %llu bytes at %#llx does not lie in area %u",
			 (unsigned long long)size, (unsigned long long)place->offset, place->area);
	else {
		*out = (struct rdma_ring){ .base = area->base + place->offset,
					   .area = area,
					   .entries = place->entries,
					   .stride = place->stride };
		area->uses++;
		area->refs++;
		return 0;
	}
	return -EINVAL;
}

void rdma_ring_close(struct rdma_ring *ring)
{
	if (!ring->area)
		return;
	ring->area->uses--;
	rdma_area_put(ring->area);
	*ring = (struct rdma_ring){};
}
