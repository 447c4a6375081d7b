// SPDX-License-Identifier: BSD-2-Clause
#include "io/memory.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int free_index(const struct maps *m)
{
	for (int i = 0; i < FALCON_MEMORIES; i++)
		if (!(m->memories[i / 64] >> (i % 64) & 1))
			return i;
	return -ENOSPC;
}

static int make_map(uint64_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "falcon_mem", sizeof(__u32), FALCON_MEMORY_BLOCK,
				(__u32)(size >> FALCON_MEMORY_SHIFT), &opts);

	return fd < 0 ? -errno : fd;
}

/* Map |fd| and show it to XDP as |index|. 0 or a negative errno. */
static int enter(struct maps *m, int fd, uint32_t index, uint64_t size, void **base)
{
	int rc = 0;

	*base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*base == MAP_FAILED)
		return -errno;
	if (bpf_map_update_elem(m->memory_fd, &index, &fd, BPF_ANY) < 0) {
		rc = -errno;
		munmap(*base, size);
	}
	return rc;
}

int memory_new(struct maps *m, uint64_t size, void **base, int *fd, char *err, size_t errlen)
{
	int index = free_index(m), rc = index < 0 ? index : make_map(size);

	if (rc >= 0) {
		*fd = rc;
		rc = enter(m, *fd, (uint32_t)index, size, base);
		if (rc < 0)
			close(*fd);
	}
	if (rc < 0) {
		snprintf(err, errlen, "cannot make %llu bytes of offload memory: %s",
			 (unsigned long long)size, strerror(-rc));
		*fd = -1;
		return rc;
	}
	m->memories[index / 64] |= 1ULL << (index % 64);
	return index;
}

void memory_free(struct maps *m, uint32_t index, void *base, uint64_t size)
{
	bpf_map_delete_elem(m->memory_fd, &index);
	munmap(base, size);
	m->memories[index / 64] &= ~(1ULL << (index % 64));
}

void memory_empty(struct maps *m)
{
	uint32_t key, id;

	while (bpf_map_get_next_key(m->regions_fd, NULL, &key) == 0)
		if (bpf_map_delete_elem(m->regions_fd, &key) < 0)
			break;
	for (uint32_t i = 0; i < FALCON_MEMORIES; i++)
		if (bpf_map_lookup_elem(m->memory_fd, &i, &id) == 0)
			bpf_map_delete_elem(m->memory_fd, &i);
}

int memory_region_add(struct maps *m, uint32_t key, const struct falcon_region *region)
{
	return bpf_map_update_elem(m->regions_fd, &key, region, BPF_ANY) < 0 ? -errno : 0;
}

void memory_region_del(struct maps *m, uint32_t key)
{
	bpf_map_delete_elem(m->regions_fd, &key);
}
