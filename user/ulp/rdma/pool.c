// SPDX-License-Identifier: BSD-2-Clause
/* Memory of queue pairs' work: elements and buffers that are used again and again. */
#include <stdlib.h>
#include <string.h>

#include "ulp/rdma/qp.h"

enum { CHUNK_BYTES = 64 * 1024 };

/* Whole words: padding is of the same class as what it follows. */
static const uint32_t class_size[POOL_CLASSES] = { 256, 2048, QP_SEGMENT_MAX + QP_GRH };
_Static_assert((QP_SEGMENT_MAX + QP_GRH) % FALCON_RDMA_PAD_UNIT == 0, "the largest class");
static const uint32_t class_max[POOL_CLASSES] = { 65536, 16384, 8192 };

void rdma_slab_init(struct rdma_slab *s, uint32_t size, uint32_t max)
{
	*s = (struct rdma_slab){ .size = (size + 15) & ~15U, .max = max };
}

static bool grow(struct rdma_slab *s)
{
	uint32_t n = CHUNK_BYTES / s->size;
	uint8_t *chunk;

	n = n < 4 ? 4 : n;
	if (n > s->max - s->made)
		n = s->max - s->made;
	if (!n)
		return false;
	chunk = malloc(16 + (size_t)n * s->size);
	if (!chunk)
		return false;
	*(void **)chunk = s->chunks;
	s->chunks = chunk;
	for (uint32_t i = 0; i < n; i++) {
		void **e = (void **)(chunk + 16 + (size_t)i * s->size);

		*e = s->free;
		s->free = e;
	}
	s->made += n;
	return true;
}

void *rdma_slab_get(struct rdma_slab *s, uint32_t zero)
{
	void **e;

	if (!s->free && !grow(s))
		return NULL;
	e = s->free;
	s->free = *e;
	s->used++;
	memset(e, 0, zero);
	return e;
}

void rdma_slab_put(struct rdma_slab *s, void *e)
{
	*(void **)e = s->free;
	s->free = e;
	s->used--;
}

void rdma_slab_free(struct rdma_slab *s)
{
	while (s->chunks) {
		void *next = *(void **)s->chunks;

		free(s->chunks);
		s->chunks = next;
	}
	s->free = NULL;
	s->made = 0;
}

void rdma_pool_init(struct rdma_pool *p)
{
	for (int i = 0; i < POOL_CLASSES; i++)
		rdma_slab_init(&p->slab[i], class_size[i], class_max[i]);
}

static struct rdma_slab *slab_of(struct rdma_pool *p, uint32_t len)
{
	int i = 0;

	while (i < POOL_CLASSES - 1 && len > class_size[i])
		i++;
	return &p->slab[i];
}

void *rdma_pool_get(struct rdma_pool *p, uint32_t len, uint32_t held)
{
	struct rdma_slab *s = slab_of(p, len);

	return held && held >= s->max - s->used ? NULL : rdma_slab_get(s, 0);
}

void rdma_pool_put(struct rdma_pool *p, void *buf, uint32_t len)
{
	if (buf)
		rdma_slab_put(slab_of(p, len), buf);
}

void rdma_pool_free(struct rdma_pool *p)
{
	for (int i = 0; i < POOL_CLASSES; i++)
		rdma_slab_free(&p->slab[i]);
}
