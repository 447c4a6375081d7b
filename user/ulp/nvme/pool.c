// SPDX-License-Identifier: BSD-2-Clause
#include "ulp/nvme/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ORDERS = 7, NONE = -1 };		/* 4 KiB << 6 is 256 KiB */

/* One for each smallest block. */
struct page {
	int8_t free_order;	/* a free block of this order begins here; NONE: no */
	int32_t next, prev;	/* pages: neighbours in the order's list of free blocks */
};

struct nvme_pool {
	uint8_t *base;
	size_t bytes;
	size_t used, most;	/* bytes given out, now and at most since the pool was made */
	int32_t heads[ORDERS];	/* pages; NONE: no free block of that order */
	struct page pages[];
};

static int order_of(size_t bytes)
{
	int order = 0;

	while ((size_t)NVME_POOL_MIN << order < bytes)
		order++;
	return order;
}

static void push(struct nvme_pool *p, int32_t i, int order)
{
	p->pages[i] = (struct page){ (int8_t)order, p->heads[order], NONE };
	if (p->heads[order] != NONE)
		p->pages[p->heads[order]].prev = i;
	p->heads[order] = i;
}

static void unlink_page(struct nvme_pool *p, int32_t i)
{
	struct page *pg = &p->pages[i];

	if (pg->prev == NONE)
		p->heads[(int)pg->free_order] = pg->next;
	else
		p->pages[pg->prev].next = pg->next;
	if (pg->next != NONE)
		p->pages[pg->next].prev = pg->prev;
	pg->free_order = NONE;
}

struct nvme_pool *nvme_pool_create(size_t bytes)
{
	size_t blocks = (bytes + NVME_POOL_MAX - 1) / NVME_POOL_MAX;
	size_t pages = blocks * (NVME_POOL_MAX / NVME_POOL_MIN);
	struct nvme_pool *p = calloc(1, sizeof(*p) + pages * sizeof(p->pages[0]));

	if (!p)
		return NULL;
	p->bytes = blocks * NVME_POOL_MAX;
	p->base = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->base == MAP_FAILED) {
		free(p);
		return NULL;
	}
	for (int i = 0; i < ORDERS; i++)
		p->heads[i] = NONE;
	for (size_t i = 0; i < pages; i++)
		p->pages[i].free_order = NONE;
	for (size_t i = pages; i > 0; i -= NVME_POOL_MAX / NVME_POOL_MIN)
		push(p, (int32_t)(i - NVME_POOL_MAX / NVME_POOL_MIN), ORDERS - 1);
	return p;
}

void nvme_pool_destroy(struct nvme_pool *p)
{
	if (!p)
		return;
	munmap(p->base, p->bytes);
	free(p);
}

void *nvme_pool_get(struct nvme_pool *p, size_t bytes)
{
	int want = order_of(bytes), order = want;
	int32_t i;

	while (order < ORDERS && p->heads[order] == NONE)
		order++;
	if (order >= ORDERS)
		return NULL;
	i = p->heads[order];
	unlink_page(p, i);
	while (order > want) {
		order--;
		push(p, i + (1 << order), order);
	}
	p->used += (size_t)NVME_POOL_MIN << want;
	if (p->used > p->most)
		p->most = p->used;
	return p->base + (size_t)i * NVME_POOL_MIN;
}

void nvme_pool_put(struct nvme_pool *p, void *block, size_t bytes)
{
	int order = order_of(bytes);
	int32_t i = (int32_t)(((uint8_t *)block - p->base) / NVME_POOL_MIN);

	p->used -= (size_t)NVME_POOL_MIN << order;
	for (; order < ORDERS - 1; order++) {
		int32_t buddy = i ^ (1 << order);

		if (p->pages[buddy].free_order != order)
			break;
		unlink_page(p, buddy);
		i &= ~(1 << order);
	}
	push(p, i, order);
}

void *nvme_pool_base(const struct nvme_pool *p, size_t *bytes)
{
	*bytes = p->bytes;
	return p->base;
}

size_t nvme_pool_used(const struct nvme_pool *p)
{
	return p->used;
}

size_t nvme_pool_most(const struct nvme_pool *p)
{
	return p->most;
}
