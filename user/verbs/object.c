// SPDX-License-Identifier: BSD-2-Clause
/* Cookies, slots and rings: what all queues of a context are made of. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/fv.h"

enum {
	TABLE_STEP = 64,
};

void fv_lock_init(struct fv_lock *l, bool off)
{
	pthread_mutex_init(&l->mutex, NULL);
	l->off = off;
}

void fv_lock_destroy(struct fv_lock *l)
{
	pthread_mutex_destroy(&l->mutex);
}

uint32_t fv_pow2(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

static int grow_table(struct fv_ctx *ctx)
{
	uint32_t size = ctx->table_size ? ctx->table_size * 2 : TABLE_STEP;
	struct fv_entry *table;

	if (size > FV_TABLE_MAX)
		return -1;
	table = realloc(ctx->table, size * sizeof(*table));
	if (!table)
		return -1;
	memset(table + ctx->table_size, 0, (size - ctx->table_size) * sizeof(*table));
	ctx->table = table;
	ctx->table_size = size;
	return 0;
}

uint64_t fv_cookie_new(struct fv_ctx *ctx, void *object, enum fv_kind kind)
{
	uint64_t cookie = 0;
	uint32_t i = 0;

	pthread_mutex_lock(&ctx->lock);
	while (i < ctx->table_size && ctx->table[i].object)
		i++;
	if (i < ctx->table_size || !grow_table(ctx)) {
		struct fv_entry *e = &ctx->table[i];

		e->object = object;
		e->kind = kind;
		e->generation++;
		cookie = (uint64_t)e->generation << 32 | i;
	}
	pthread_mutex_unlock(&ctx->lock);
	return cookie;
}

void fv_cookie_forget(struct fv_ctx *ctx, uint64_t cookie)
{
	pthread_mutex_lock(&ctx->lock);
	ctx->table[(uint32_t)cookie].object = NULL;
	pthread_mutex_unlock(&ctx->lock);
}

void *fv_cookie_find(struct fv_ctx *ctx, uint64_t cookie, enum fv_kind kind)
{
	uint32_t i = (uint32_t)cookie;
	const struct fv_entry *e;

	if (i >= ctx->table_size)
		return NULL;
	e = &ctx->table[i];
	return e->generation == cookie >> 32 && e->kind == kind ? e->object : NULL;
}

int fv_slot_new(struct fv_ctx *ctx)
{
	int slot = -1;

	pthread_mutex_lock(&ctx->lock);
	for (int w = 0; w < FVERBS_SLOT_WORDS && slot < 0; w++) {
		if (~ctx->slots[w]) {
			int bit = __builtin_ctzll(~ctx->slots[w]);

			ctx->slots[w] |= 1ULL << bit;
			slot = w * 64 + bit;
		}
	}
	pthread_mutex_unlock(&ctx->lock);
	return slot;
}

void fv_slot_free(struct fv_ctx *ctx, uint32_t slot)
{
	pthread_mutex_lock(&ctx->lock);
	ctx->slots[slot / 64] &= ~(1ULL << (slot % 64));
	pthread_mutex_unlock(&ctx->lock);
}

int fv_wq_init(struct fv_ctx *ctx, struct fv_wq *wq, uint32_t wr, uint32_t fixed, uint32_t room)
{
	uint32_t entries = fv_pow2(wr), stride = FVERBS_STRIDE(fixed, room);

	memset(wq, 0, sizeof(*wq));
	wq->shm = fv_area_alloc(&ctx->agent, sizeof(*wq->shm) + (uint64_t)entries * stride,
				&wq->place.area, &wq->place.offset);
	if (!wq->shm)
		return errno;
	wq->entries = (uint8_t *)(wq->shm + 1);
	wq->mask = entries - 1;
	wq->stride = stride;
	wq->room = stride - fixed;
	wq->place.entries = entries;
	wq->place.stride = stride;
	return 0;
}

void fv_wq_free(struct fv_ctx *ctx, struct fv_wq *wq)
{
	if (wq->shm)
		fv_area_free(&ctx->agent, wq->shm);
	wq->shm = NULL;
}

void fv_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acked,
		   uint32_t given)
{
	pthread_mutex_lock(mutex);
	while (*acked != given)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}
