// SPDX-License-Identifier: BSD-2-Clause
#include "offload.h"

#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "verdict.h"

uint8_t *offload_memory(const struct env *e, uint32_t index, uint32_t blocks)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "falcon_mem", 4, FALCON_MEMORY_BLOCK, blocks, &opts);
	int outer = bpf_object__find_map_fd_by_name(e->obj, "falcon_memory");
	void *p;

	if (fd < 0 || bpf_map_update_elem(outer, &index, &fd, BPF_ANY))
		return NULL;
	p = mmap(NULL, (size_t)blocks * FALCON_MEMORY_BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

int offload_region(const struct env *e, uint32_t key, const struct falcon_region *r)
{
	int regions = bpf_object__find_map_fd_by_name(e->obj, "falcon_regions");

	return bpf_map_update_elem(regions, &key, r, BPF_ANY) ? -1 : 0;
}

const struct offload_known *offload_find(const struct offload_known *regions, uint32_t n, uint32_t key)
{
	for (uint32_t i = 0; i < n; i++)
		if (regions[i].key == key)
			return &regions[i];
	return NULL;
}

void offload_headers(const struct falcon_rdma_hdr *h, struct verdict_packet *p)
{
	uint8_t hdr[FALCON_RDMA_MAX_HDR];
	uint32_t len = falcon_rdma_pack(h, hdr);

	memcpy(p->falcon + falcon_hdr_len(p->hdr.type), hdr, len < p->payload ? len : p->payload);
}
