// SPDX-License-Identifier: BSD-2-Clause
/* An attached application: its handles, and which of its queue pairs have been rung. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ipc/sleep.h"
#include "ulp/rdma/objects.h"

enum { HANDLES_FIRST = 64 };	/* elements of the table at first; then it doubles */

static int grow(struct rdma_ctx *ctx)
{
	uint32_t size = ctx->handles_size ? 2 * ctx->handles_size : HANDLES_FIRST;
	struct rdma_handle *bigger;

	if (size > RDMA_MAX_HANDLES)
		return -ENOSPC;
	bigger = realloc(ctx->handles, size * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	/* From the end, so that low numbers are given first; 0 never is. */
	for (uint32_t i = size - 1; i >= ctx->handles_size && i > 0; i--) {
		bigger[i] = (struct rdma_handle){ .next = ctx->handles_free };
		ctx->handles_free = i;
	}
	bigger[0] = (struct rdma_handle){};
	ctx->handles = bigger;
	ctx->handles_size = size;
	return 0;
}

enum rdma_charge rdma_kind_charge(enum rdma_kind kind)
{
	switch (kind) {
	case RDMA_KIND_SRQ: return RDMA_CHARGE_QPS;
	case RDMA_KIND_MR:
	case RDMA_KIND_MW: return RDMA_CHARGE_MRS;
	case RDMA_KIND_CHANNEL: return RDMA_CHARGE_CHANNELS;
	case RDMA_KIND_PD:
	case RDMA_KIND_CQ:
	case RDMA_KIND_XRCD:
	case RDMA_KIND_AH: return RDMA_CHARGE_OBJECTS;
	/* It may outlive the handle of who has made it: command_qp.c. */
	case RDMA_KIND_QP:
	case RDMA_KIND_NONE:
	case RDMA_KINDS: break;
	}
	return RDMA_CHARGES;
}

uint32_t rdma_handle_new(struct rdma_ctx *ctx, enum rdma_kind kind, void *object, uint32_t max)
{
	struct rdma_handle *h;
	uint32_t handle;

	if (ctx->counts[kind] >= max || (!ctx->handles_free && grow(ctx) < 0))
		return 0;
	handle = ctx->handles_free;
	h = &ctx->handles[handle];
	ctx->handles_free = h->next;
	*h = (struct rdma_handle){ .kind = kind, .object = object };
	ctx->counts[kind]++;
	return handle;
}

void *rdma_handle_get(const struct rdma_ctx *ctx, enum rdma_kind kind, uint32_t handle)
{
	if (handle >= ctx->handles_size || ctx->handles[handle].kind != kind)
		return NULL;
	return ctx->handles[handle].object;
}

void rdma_handle_free(struct rdma_ctx *ctx, uint32_t handle)
{
	struct rdma_handle *h = &ctx->handles[handle];
	enum rdma_charge charged = rdma_kind_charge(h->kind);

	if (charged != RDMA_CHARGES)
		rdma_ctx_uncharge(ctx, charged, 1);
	ctx->counts[h->kind]--;
	*h = (struct rdma_handle){ .next = ctx->handles_free };
	ctx->handles_free = handle;
}

static int check_shm(const struct fverbs_ctx_shm *shm, uint64_t size, char *err, size_t errlen)
{
	if (size < sizeof(*shm) || shm->magic != FVERBS_SHM_MAGIC) {
		snprintf(err, errlen, "area 0 does not begin with the magic number");
		return -EINVAL;
	}
	if (shm->version != FVERBS_SHM_VERSION) {
		snprintf(err, errlen, "shared memory of another version: this agent has %u",
			 FVERBS_SHM_VERSION);
		return -EINVAL;
	}
	return 0;
}

struct rdma_ctx *rdma_ctx_open(struct rdma *r, const struct rdma_owner *owner, void *area0,
			       uint64_t area0_size, int async_fd, char *err, size_t errlen)
{
	struct rdma_ctx *ctx;

	if (check_shm(area0, area0_size, err, errlen) < 0)
		return NULL;
	if (r->nctxs == RDMA_CTXS_MAX) {
		snprintf(err, errlen, "%u verbs applications are attached already", r->nctxs);
		return NULL;
	}
	ctx = calloc(1, sizeof(*ctx));
	if (ctx)
		ctx->areas[0] = rdma_area_new(r, area0, area0_size);
	if (!ctx || !ctx->areas[0]) {
		free(ctx);
		snprintf(err, errlen, "out of memory");
		return NULL;
	}
	ctx->r = r;
	ctx->owner = *owner;
	ctx->shm = area0;
	ctx->news = falcon_load(&ctx->shm->news);
	falcon_store(&ctx->shm->cpu_pressure, (uint32_t)r->cpu_pressure);
	ctx->async_fd = async_fd;
	ctx->copies_tail = &ctx->copies;
	ctx->events_tail = &ctx->events;
	ctx->next = r->ctxs;
	ctx->pprev = &r->ctxs;
	if (ctx->next)
		ctx->next->pprev = &ctx->next;
	r->ctxs = ctx;
	r->nctxs++;
	return ctx;
}

/* Users before what they use; of areas, nothing lies in them any more. */
static const enum rdma_kind drop_order[] = {
	RDMA_KIND_QP, RDMA_KIND_AH, RDMA_KIND_SRQ, RDMA_KIND_CQ, RDMA_KIND_CHANNEL,
	RDMA_KIND_MW, RDMA_KIND_MR, RDMA_KIND_PD, RDMA_KIND_XRCD,
};

static void drop_objects(struct rdma_ctx *ctx)
{
	rdma_qps_drop(ctx);
	for (size_t k = 0; k < sizeof(drop_order) / sizeof(drop_order[0]); k++)
		for (uint32_t h = 1; h < ctx->handles_size && ctx->counts[drop_order[k]]; h++)
			if (ctx->handles[h].kind == drop_order[k]) {
				rdma_qp_drop(ctx, drop_order[k], h);
				rdma_queue_drop(ctx, drop_order[k], h);
				rdma_memory_drop(ctx, drop_order[k], h);
			}
}

void rdma_ctx_close(struct rdma_ctx *ctx)
{
	struct rdma *r = ctx->r;

	rdma_cm_ctx_gone(ctx);
	drop_objects(ctx);
	rdma_copies_orphan(ctx);
	rdma_async_drop_all(ctx);
	for (int i = 0; i < RDMA_MAX_AREAS; i++)
		rdma_area_drop(ctx, (uint32_t)i);
	*ctx->pprev = ctx->next;
	if (ctx->next)
		ctx->next->pprev = ctx->pprev;
	r->nctxs--;
	free(ctx->handles);
	free(ctx);
}

static uint32_t ring_word(struct rdma_ctx *ctx, uint32_t word)
{
	uint64_t bits = __atomic_exchange_n(&ctx->shm->rung[word], 0, __ATOMIC_SEQ_CST);
	uint32_t n = 0;

	for (; bits; bits &= bits - 1) {
		struct rdma_qp *qp = ctx->slots[word * 64 + (uint32_t)__builtin_ctzll(bits)];

		if (!qp)
			continue;
		rdma_qp_rung(qp);
		n++;
	}
	return n;
}

uint32_t rdma_ctx_poll(struct rdma_ctx *ctx)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < FVERBS_SLOT_SUMMARY; i++) {
		uint64_t bits = falcon_load(&ctx->shm->summary[i]);

		if (!bits)
			continue;
		bits = __atomic_exchange_n(&ctx->shm->summary[i], 0, __ATOMIC_SEQ_CST);
		for (; bits; bits &= bits - 1)
			n += ring_word(ctx, i * 64 + (uint32_t)__builtin_ctzll(bits));
	}
	return n;
}

bool rdma_ctx_sleep_begin(struct rdma_ctx *ctx)
{
	sleep_announce(&ctx->shm->agent_sleeping);
	for (uint32_t i = 0; i < FVERBS_SLOT_SUMMARY; i++)
		if (falcon_load(&ctx->shm->summary[i]))
			return false;
	return true;
}

void rdma_ctx_sleep_end(struct rdma_ctx *ctx)
{
	sleep_over(&ctx->shm->agent_sleeping);
}

void rdma_ctx_tell(struct rdma_ctx *ctx)
{
	const struct rdma_host *host = &ctx->r->host;

	if (!ctx->shown)
		return;
	ctx->shown = false;
	falcon_store(&ctx->shm->news, ++ctx->news);
	if (sleep_any(&ctx->shm->nappers) && host->wake)
		host->wake(host->arg, &ctx->shm->news);
}
