/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of one size, taken in chunks and used again, so that a packet costs no allocation. Under
 * AddressSanitizer every piece is one of its own, as long as asked for, so that it sees every byte
 * too many.
 */
#ifndef FALCON_SIM_POOL_H
#define FALCON_SIM_POOL_H

#include <stdlib.h>

struct pool {
	size_t size;		/* bytes of a piece */
	void *free;		/* a list through the first word of each */
	void *chunks;		/* likewise */
};

enum {
	POOL_CHUNK = 64,	/* pieces */
};

static inline void pool_open(struct pool *p, size_t size)
{
	*p = (struct pool){ .size = (size + 15) & ~(size_t)15 };
}

static inline void pool_close(struct pool *p)
{
	while (p->chunks) {
		void *next = *(void **)p->chunks;

		free(p->chunks);
		p->chunks = next;
	}
	p->free = NULL;
}

static inline void pool_grow(struct pool *p)
{
	char *chunk = malloc(16 + POOL_CHUNK * p->size);

	if (!chunk)
		abort();
	*(void **)chunk = p->chunks;
	p->chunks = chunk;
	for (size_t i = POOL_CHUNK; i-- > 0;) {
		void **piece = (void **)(chunk + 16 + i * p->size);

		*piece = p->free;
		p->free = piece;
	}
}

/* |size| bytes, at most those of a piece. */
static inline void *pool_get(struct pool *p, size_t size)
{
	void *piece;

	if (size > p->size)
		abort();
#ifdef __SANITIZE_ADDRESS__
	piece = malloc(size ? size : 1);
	if (!piece)
		abort();
#else
	if (!p->free)
		pool_grow(p);
	piece = p->free;
	p->free = *(void **)piece;
#endif
	return piece;
}

static inline void pool_put(struct pool *p, void *piece)
{
#ifdef __SANITIZE_ADDRESS__
	(void)p;
	free(piece);
#else
	if (!piece)
		return;
	*(void **)piece = p->free;
	p->free = piece;
#endif
}

#endif /* FALCON_SIM_POOL_H */
