/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The target's memory for data: one piece, fixed in size, given out in blocks of 4 to 256 KiB that
 * are aligned to their size (a buddy system). What is used up makes commands wait.
 */
#ifndef FALCON_NVME_POOL_H
#define FALCON_NVME_POOL_H

#include <stddef.h>

enum nvme_pool_const {
	NVME_POOL_MIN = 4096,		/* bytes of the smallest block */
	NVME_POOL_MAX = 256 * 1024,	/* of the largest: a command's, with its metadata */
};

struct nvme_pool;

/* A pool of at least |bytes|, rounded up to the largest block, or NULL if memory is short. */
struct nvme_pool *nvme_pool_create(size_t bytes);
void nvme_pool_destroy(struct nvme_pool *p);

/* A block for |bytes|, 1..NVME_POOL_MAX; NULL: there is none now. */
void *nvme_pool_get(struct nvme_pool *p, size_t bytes);
/* Give |block| back, which was got for |bytes|. */
void nvme_pool_put(struct nvme_pool *p, void *block, size_t bytes);

/* The whole of it, for registering with the kernel. */
void *nvme_pool_base(const struct nvme_pool *p, size_t *bytes);
/* How many bytes are given out now, and how many at most at any time. */
size_t nvme_pool_used(const struct nvme_pool *p);
size_t nvme_pool_most(const struct nvme_pool *p);

#endif /* FALCON_NVME_POOL_H */
