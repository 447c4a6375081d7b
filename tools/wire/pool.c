// SPDX-License-Identifier: BSD-2-Clause
#include "pool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int pool_init(struct pool *p, uint32_t frames, uint32_t size)
{
	*p = (struct pool){ .frames = frames, .size = size };
	p->area = mmap(NULL, (size_t)frames * size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->area == MAP_FAILED)
		p->area = NULL;
	p->frame = calloc(frames, sizeof(*p->frame));
	p->free = calloc(frames, sizeof(*p->free));
	if (!p->area || !p->frame || !p->free) {
		pool_close(p);
		return -ENOMEM;
	}
	/* From the top, so that the first taken is frame 0. */
	while (p->frees < frames) {
		p->free[p->frees] = frames - 1 - p->frees;
		p->frees++;
	}
	return 0;
}

void pool_close(struct pool *p)
{
	if (p->area)
		munmap(p->area, (size_t)p->frames * p->size);
	free(p->frame);
	free(p->free);
	memset(p, 0, sizeof(*p));
}

uint32_t pool_take(struct pool *p)
{
	return p->frees ? p->free[--p->frees] : POOL_NONE;
}

void pool_give(struct pool *p, uint32_t frame)
{
	assert(p->frees < p->frames);
	p->free[p->frees++] = frame;
}

uint32_t pool_copy(struct pool *p, uint32_t frame)
{
	uint32_t copy = pool_take(p);

	if (copy == POOL_NONE)
		return copy;
	p->frame[copy] = p->frame[frame];
	p->frame[copy].offset = POOL_HEADROOM;
	memcpy(pool_data(p, copy), pool_data(p, frame), p->frame[frame].len);
	return copy;
}
