// SPDX-License-Identifier: BSD-2-Clause
/* Commands about devices and memory: areas, protection domains, regions and windows. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "falcon/abi/maps.h"
#include "ulp/rdma/objects.h"

#define MEMORY_MAX (1ULL << 32)	/* bytes of a piece of offload memory */

static int hello(struct rdma_call *call)
{
	const struct rdma_host *h = &call->r->host;
	const struct fverbs_hello *req = call->req;
	struct fverbs_hello_answer *answer;
	int rc;

	if (req->version != FVERBS_ABI_VERSION || req->reserved)
		return rdma_call_fail(call, -EPROTO,
				      "this agent speaks version %u, the application's library %u",
				      FVERBS_ABI_VERSION, req->version);
	if (h->memory) {
		rc = h->memory(h->arg, call->ctx->owner.proc, call->fd, call->err,
			       sizeof(call->err));
		if (rc < 0)
			return rc;
		call->fd = rc ? call->fd : -1;
	}
	answer = rdma_call_answer(call, sizeof(*answer));
	answer->version = FVERBS_ABI_VERSION;
	answer->devices = call->r->ndevices;
	answer->agent_boot = call->r->host.boot;
	call->ctx->hello = true;
	return 0;
}

static const struct fverbs_device *device_of(struct rdma_call *call, uint32_t index)
{
	const struct fverbs_device *d = rdma_device(call->r, index);

	if (!d)
		rdma_call_fail(call, -ENODEV, "there is no device %u", index);
	return d;
}

static int query_device(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;
	const struct fverbs_device *d = device_of(call, req->handle);

	if (!d)
		return -ENODEV;
	memcpy(rdma_call_answer(call, sizeof(*d)), d, sizeof(*d));
	return 0;
}

static void answer_handle(struct rdma_call *call, uint32_t handle)
{
	struct fverbs_handle *answer = rdma_call_answer(call, sizeof(*answer));

	answer->handle = handle;
}

static int free_area(struct rdma_call *call, uint32_t *number)
{
	for (uint32_t i = 1; i < RDMA_MAX_AREAS; i++) {
		if (call->ctx->areas[i])
			continue;
		*number = i;
		return 0;
	}
	return rdma_call_fail(call, -ENOSPC, "no more than %u areas an application", RDMA_MAX_AREAS);
}

/* An area of |size| bytes. */
static int charge_area(struct rdma_call *call, uint64_t size)
{
	int rc = rdma_call_charge(call, RDMA_CHARGE_OBJECTS, 1);

	if (rc < 0)
		return rc;
	rc = rdma_call_charge(call, RDMA_CHARGE_MEMORY, size);
	if (rc < 0)
		rdma_ctx_uncharge(call->ctx, RDMA_CHARGE_OBJECTS, 1);
	return rc;
}

static void uncharge_area(const struct rdma_ctx *ctx, uint64_t size)
{
	rdma_ctx_uncharge(ctx, RDMA_CHARGE_MEMORY, size);
	rdma_ctx_uncharge(ctx, RDMA_CHARGE_OBJECTS, 1);
}

static int add_area(struct rdma_call *call)
{
	const struct rdma_host *h = &call->r->host;
	uint32_t number = 0;
	uint64_t size;
	void *base;
	int rc = free_area(call, &number);

	if (rc < 0)
		return rc;
	if (call->fd < 0)
		return rdma_call_fail(call, -EBADF, "an area comes with the descriptor of a memfd");
	base = h->map(h->arg, call->fd, &size, call->err, sizeof(call->err));
	if (!base)
		return -EINVAL;
	call->fd = -1;
	rc = charge_area(call, size);
	if (rc == 0) {
		call->ctx->areas[number] = rdma_area_new(call->r, base, size);
		if (!call->ctx->areas[number]) {
			uncharge_area(call->ctx, size);
			rc = rdma_call_fail(call, -ENOMEM, "out of memory");
		}
	}
	if (rc < 0)
		h->unmap(h->arg, base, size);
	else
		answer_handle(call, number);
	return rc;
}

/* Offload memory of |size| bytes as area |number|. */
static int make_memory(struct rdma_call *call, uint64_t size, uint32_t number)
{
	const struct rdma_host *h = &call->r->host;
	void *base;
	int index = h->memory_new(h->arg, size, &base, &call->answer_fd, call->err, sizeof(call->err));

	if (index < 0)
		return index;
	call->ctx->areas[number] = rdma_area_of_memory(call->r, base, size, (uint32_t)index);
	if (call->ctx->areas[number])
		return 0;
	h->memory_free(h->arg, (uint32_t)index, base, size);
	h->close(h->arg, call->ctx->owner.uid, call->answer_fd);
	call->answer_fd = -1;
	return rdma_call_fail(call, -ENOMEM, "out of memory");
}

/* Bytes that offload memory of |size| bytes has; 0: that many cannot be had. */
static uint64_t memory_size(uint64_t size)
{
	if (size > MEMORY_MAX)
		return 0;
	return (size + FALCON_MEMORY_BLOCK - 1) & ~(uint64_t)(FALCON_MEMORY_BLOCK - 1);
}

enum rdma_area_wanted rdma_command_area(const void *cmd, size_t len, uint64_t *size)
{
	struct {
		struct fverbs_cmd cmd;
		struct fverbs_new_area area;
	} msg = {};

	if (len < sizeof(msg.cmd) || len > sizeof(msg))
		return RDMA_AREA_NONE;
	memcpy(&msg, cmd, len);
	if (msg.cmd.op == FVERBS_ADD_AREA && len == sizeof(msg.cmd))
		return RDMA_AREA_SHARED;
	*size = memory_size(msg.area.size);
	return msg.cmd.op == FVERBS_NEW_AREA && *size ? RDMA_AREA_OFFLOAD : RDMA_AREA_NONE;
}

static int new_area(struct rdma_call *call)
{
	uint64_t size = memory_size(((const struct fverbs_new_area *)call->req)->size);
	struct fverbs_new_area_answer *answer;
	uint32_t number = 0;
	int rc = free_area(call, &number);

	if (rc < 0)
		return rc;
	if (!call->r->host.memory_new)
		return rdma_call_fail(call, -EOPNOTSUPP, "this agent has no offload memory");
	if (!size)
		return rdma_call_fail(call, -EINVAL, "offload memory comes in pieces of 1 to %llu bytes",
				      (unsigned long long)MEMORY_MAX);
	rc = charge_area(call, size);
	if (rc < 0)
		return rc;
	rc = make_memory(call, size, number);
	if (rc < 0) {
		uncharge_area(call->ctx, size);
		return rc;
	}
	answer = rdma_call_answer(call, sizeof(*answer));
	answer->number = number;
	answer->size = size;
	return 0;
}

void rdma_area_drop(struct rdma_ctx *ctx, uint32_t number)
{
	struct rdma_area *area = ctx->areas[number];

	if (!area)
		return;
	/* Area 0 is charged by whoever attached the application. */
	if (number)
		uncharge_area(ctx, area->size);
	ctx->areas[number] = NULL;
	rdma_area_put(area);
}

static int del_area(struct rdma_call *call)
{
	uint32_t number = ((const struct fverbs_handle *)call->req)->handle;
	struct rdma_area *area = number < RDMA_MAX_AREAS ? call->ctx->areas[number] : NULL;

	if (!area || !number)
		return rdma_call_fail(call, -EINVAL, "there is no area %u to delete", number);
	if (area->uses)
		return rdma_call_fail(call, -EBUSY, "%u queues and regions lie in area %u",
				      area->uses, number);
	rdma_area_drop(call->ctx, number);
	return 0;
}

static int alloc_pd(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;
	struct rdma_pd *pd;
	uint32_t handle;
	int rc;

	if (!device_of(call, req->handle))
		return -ENODEV;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return rdma_call_fail(call, -ENOMEM, "out of memory");
	pd->ctx = call->ctx;
	pd->number = ++call->r->last_pd;
	pd->device = req->handle;
	rc = rdma_call_handle(call, RDMA_KIND_PD, pd, RDMA_MAX_PDS, &handle);
	if (rc < 0)
		free(pd);
	else
		answer_handle(call, handle);
	return rc;
}

static void drop_pd(struct rdma_ctx *ctx, uint32_t handle)
{
	free(rdma_handle_get(ctx, RDMA_KIND_PD, handle));
	rdma_handle_free(ctx, handle);
}

static int dealloc_pd(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;
	struct rdma_pd *pd = rdma_call_object(call, RDMA_KIND_PD, req->handle);

	if (!pd)
		return -EINVAL;
	if (pd->uses)
		return rdma_call_busy(call, RDMA_KIND_PD, pd->uses);
	drop_pd(call->ctx, req->handle);
	return 0;
}

/* Where |req|'s memory is: fills |mr|. */
static int place_region(struct rdma_call *call, const struct fverbs_reg_mr *req, struct rdma_mr *mr)
{
	uint32_t number = req->area_plus_1 - 1;
	struct rdma_area *area = NULL;

	if (req->implicit > 1 || (req->implicit && req->area_plus_1))
		return rdma_call_fail(call, -EINVAL, "a region is in an area, or all of memory");
	if (!req->implicit && (req->addr + req->length < req->addr ||
			       req->iova + req->length < req->iova))
		return rdma_call_fail(call, -EINVAL, "%llu bytes at %#llx are no range of addresses",
				      (unsigned long long)req->length, (unsigned long long)req->addr);
	if (req->area_plus_1) {
		area = number < RDMA_MAX_AREAS ? call->ctx->areas[number] : NULL;
		if (!area || req->addr > area->size || req->length > area->size - req->addr)
			return rdma_call_fail(call, -EINVAL, "area %u has no %llu bytes at %llu", number,
					      (unsigned long long)req->length,
					      (unsigned long long)req->addr);
	}
	mr->area = area;
	mr->addr = req->implicit ? 0 : req->addr;
	mr->iova = req->implicit ? 0 : req->iova;
	mr->length = req->length;
	mr->implicit = req->implicit;
	return 0;
}

static uint64_t charged(const struct rdma_mr *mr)
{
	return mr->implicit || mr->area ? 0 : mr->length;
}

/* A region as |req| says, without key and handle, and its user's account charged; or NULL. */
static struct rdma_mr *make_region(struct rdma_call *call, const struct fverbs_reg_mr *req, int *rc)
{
	struct rdma_pd *pd = rdma_call_object(call, RDMA_KIND_PD, req->pd);
	struct rdma_mr *mr;

	*rc = -EINVAL;
	if (!pd)
		return NULL;
	if (!rdma_access_valid(req->access)) {
		rdma_call_fail(call, -EINVAL, "access flags %#x: unknown ones, or remote writing "
			       "without local", req->access);
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	*rc = mr ? place_region(call, req, mr) : rdma_call_fail(call, -ENOMEM, "out of memory");
	if (*rc == 0)
		*rc = rdma_call_charge(call, RDMA_CHARGE_MEMORY, charged(mr));
	if (*rc < 0) {
		free(mr);
		return NULL;
	}
	mr->ctx = call->ctx;
	mr->pd = pd;
	mr->kind = RDMA_MR_REGION;
	mr->access = req->access;
	mr->made = *req;
	mr->refs = 1;
	pd->uses++;
	if (mr->area) {
		mr->area->uses++;
		mr->area->refs++;
	}
	return mr;
}

static void unmake_region(struct rdma_mr *mr)
{
	rdma_unoffload_region(mr);
	rdma_ctx_uncharge(mr->ctx, RDMA_CHARGE_MEMORY, charged(mr));
	mr->pd->uses--;
	rdma_mr_kill(mr);
}

static void answer_mr(struct rdma_call *call, const struct rdma_mr *mr)
{
	struct fverbs_mr *answer = rdma_call_answer(call, sizeof(*answer));

	answer->handle = mr->handle;
	answer->lkey = mr->kind == RDMA_MR_REGION ? mr->key : 0;
	answer->rkey = mr->key;
}

/* Give |mr| its key and handle. */
static int enter_mr(struct rdma_call *call, struct rdma_mr *mr)
{
	bool region = mr->kind == RDMA_MR_REGION;
	int rc = rdma_call_handle(call, region ? RDMA_KIND_MR : RDMA_KIND_MW, mr,
				  region ? RDMA_MAX_MRS : RDMA_MAX_MWS, &mr->handle);

	if (rc < 0)
		return rc;
	rc = rdma_key_new(call->r, mr);
	if (rc == 0)
		return 0;
	rdma_handle_free(call->ctx, mr->handle);
	return rdma_call_fail(call, rc, "out of keys");
}

static int reg_mr(struct rdma_call *call)
{
	int rc;
	struct rdma_mr *mr = make_region(call, call->req, &rc);

	if (!mr)
		return rc;
	rc = enter_mr(call, mr);
	if (rc < 0) {
		unmake_region(mr);
		return rc;
	}
	rdma_offload_region(mr);
	answer_mr(call, mr);
	return 0;
}

/* A new region under the old one's key and handle: spans of the old one lead nowhere. */
static int rereg_mr(struct rdma_call *call)
{
	enum { KNOWN = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
		       IBV_REREG_MR_CHANGE_ACCESS };
	const struct fverbs_rereg_mr *req = call->req;
	struct rdma_mr *old = rdma_call_object(call, RDMA_KIND_MR, req->mr), *mr;
	struct fverbs_reg_mr to = req->to;
	int rc;

	if (!old)
		return -EINVAL;
	if (!req->flags || req->flags & ~(uint32_t)KNOWN)
		return rdma_call_fail(call, -EINVAL, "re-registration flags %#x", req->flags);
	if (old->windows)
		return rdma_call_busy(call, RDMA_KIND_MR, old->windows);
	to = old->made;
	if (req->flags & IBV_REREG_MR_CHANGE_PD)
		to.pd = req->to.pd;
	if (req->flags & IBV_REREG_MR_CHANGE_ACCESS)
		to.access = req->to.access;
	if (req->flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		to = req->to;
		to.pd = req->flags & IBV_REREG_MR_CHANGE_PD ? to.pd : old->made.pd;
		to.access = req->flags & IBV_REREG_MR_CHANGE_ACCESS ? to.access : old->made.access;
	}
	/* Not both at a time: a user at his limit may exchange what he has. */
	rdma_ctx_uncharge(call->ctx, RDMA_CHARGE_MEMORY, charged(old));
	mr = make_region(call, &to, &rc);
	if (!mr) {
		/* Nobody has come in between: it is as before. */
		rdma_call_charge(call, RDMA_CHARGE_MEMORY, charged(old));
		return rc;
	}
	mr->handle = old->handle;
	rdma_unoffload_region(old);
	rdma_key_replace(call->r, old, mr);
	rdma_offload_region(mr);
	call->ctx->handles[mr->handle].object = mr;
	old->pd->uses--;
	rdma_mr_kill(old);
	answer_mr(call, mr);
	return 0;
}

static void drop_mr(struct rdma_ctx *ctx, uint32_t handle)
{
	struct rdma_mr *mr = rdma_handle_get(ctx, RDMA_KIND_MR, handle);

	rdma_key_free(ctx->r, mr->key);
	rdma_handle_free(ctx, handle);
	unmake_region(mr);
}

static int dereg_mr(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;
	struct rdma_mr *mr = rdma_call_object(call, RDMA_KIND_MR, req->handle);

	if (!mr)
		return -EINVAL;
	if (mr->windows)
		return rdma_call_busy(call, RDMA_KIND_MR, mr->windows);
	drop_mr(call->ctx, req->handle);
	return 0;
}

static int alloc_mw(struct rdma_call *call)
{
	const struct fverbs_alloc_mw *req = call->req;
	struct rdma_pd *pd = rdma_call_object(call, RDMA_KIND_PD, req->pd);
	struct rdma_mr *mw;
	int rc;

	if (!pd)
		return -EINVAL;
	if (req->type != IBV_MW_TYPE_1 && req->type != IBV_MW_TYPE_2)
		return rdma_call_fail(call, -EINVAL, "there is no type %u of windows", req->type);
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return rdma_call_fail(call, -ENOMEM, "out of memory");
	mw->kind = req->type == IBV_MW_TYPE_1 ? RDMA_MR_WINDOW_1 : RDMA_MR_WINDOW_2;
	mw->ctx = call->ctx;
	mw->pd = pd;
	mw->refs = 1;
	rc = enter_mr(call, mw);
	if (rc < 0) {
		free(mw);
		return rc;
	}
	pd->uses++;
	answer_mr(call, mw);
	return 0;
}

static void drop_mw(struct rdma_ctx *ctx, uint32_t handle)
{
	struct rdma_mr *mw = rdma_handle_get(ctx, RDMA_KIND_MW, handle);

	rdma_mw_unbind(mw);
	rdma_key_free(ctx->r, mw->key);
	rdma_handle_free(ctx, handle);
	mw->pd->uses--;
	rdma_mr_kill(mw);
}

static int dealloc_mw(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;

	if (!rdma_call_object(call, RDMA_KIND_MW, req->handle))
		return -EINVAL;
	drop_mw(call->ctx, req->handle);
	return 0;
}

void rdma_memory_drop(struct rdma_ctx *ctx, enum rdma_kind kind, uint32_t handle)
{
	if (kind == RDMA_KIND_PD)
		drop_pd(ctx, handle);
	else if (kind == RDMA_KIND_MR)
		drop_mr(ctx, handle);
	else if (kind == RDMA_KIND_MW)
		drop_mw(ctx, handle);
}

const struct rdma_command_def rdma_memory_commands[] = {
	{ FVERBS_HELLO, sizeof(struct fverbs_hello), true, hello },
	{ FVERBS_QUERY_DEVICE, sizeof(struct fverbs_handle), false, query_device },
	{ FVERBS_ADD_AREA, 0, true, add_area },
	{ FVERBS_NEW_AREA, sizeof(struct fverbs_new_area), false, new_area },
	{ FVERBS_DEL_AREA, sizeof(struct fverbs_handle), false, del_area },
	{ FVERBS_ALLOC_PD, sizeof(struct fverbs_handle), false, alloc_pd },
	{ FVERBS_DEALLOC_PD, sizeof(struct fverbs_handle), false, dealloc_pd },
	{ FVERBS_REG_MR, sizeof(struct fverbs_reg_mr), false, reg_mr },
	{ FVERBS_REREG_MR, sizeof(struct fverbs_rereg_mr), false, rereg_mr },
	{ FVERBS_DEREG_MR, sizeof(struct fverbs_handle), false, dereg_mr },
	{ FVERBS_ALLOC_MW, sizeof(struct fverbs_alloc_mw), false, alloc_mw },
	{ FVERBS_DEALLOC_MW, sizeof(struct fverbs_handle), false, dealloc_mw },
};
const unsigned int rdma_memory_ncommands =
	sizeof(rdma_memory_commands) / sizeof(rdma_memory_commands[0]);
