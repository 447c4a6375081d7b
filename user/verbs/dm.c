// SPDX-License-Identifier: BSD-2-Clause
/* "Device" memory, which is memory shared with the agent; and such memory for who asks for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "falcon/verbs_ext.h"
#include "verbs/fv.h"

static bool inside(const struct fv_dm *dm, uint64_t offset, size_t length)
{
	return offset <= dm->length && length <= dm->length - offset;
}

static int copy_to(struct ibv_dm *ibdm, uint64_t offset, const void *from, size_t length)
{
	struct fv_dm *dm = (struct fv_dm *)ibdm;

	if (!inside(dm, offset, length))
		return fv_fail(EFAULT, "the device memory ends before that");
	memcpy(dm->mem + offset, from, length);
	return 0;
}

static int copy_from(void *to, struct ibv_dm *ibdm, uint64_t offset, size_t length)
{
	struct fv_dm *dm = (struct fv_dm *)ibdm;

	if (!inside(dm, offset, length))
		return fv_fail(EFAULT, "the device memory ends before that");
	memcpy(to, dm->mem + offset, length);
	return 0;
}

struct ibv_dm *fv_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	__u64 offset;
	struct fv_dm *dm;
	uint32_t area;

	/* Shared memory comes in pages: what is to be aligned to more cannot be had. */
	if (attr->comp_mask || !attr->length || attr->log_align_req > 12) {
		errno = attr->comp_mask ? EOPNOTSUPP : EINVAL;
		return NULL;
	}
	if (attr->length > FV_DM_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	dm->mem = fv_area_alloc(&ctx->agent, attr->length, &area, &offset);
	if (!dm->mem) {
		free(dm);
		return NULL;
	}
	dm->length = attr->length;
	dm->dm.context = context;
	dm->dm.memcpy_to_dm = copy_to;
	dm->dm.memcpy_from_dm = copy_from;
	return &dm->dm;
}

int fv_free_dm(struct ibv_dm *ibdm)
{
	struct fv_ctx *ctx = fv_ctx_of(ibdm->context);
	struct fv_dm *dm = (struct fv_dm *)ibdm;

	if (__atomic_load_n(&dm->refs, __ATOMIC_ACQUIRE))
		return fv_fail(EBUSY, "there are memory regions in it");
	fv_area_free(&ctx->agent, dm->mem);
	free(dm);
	return 0;
}

FV_EXPORT void *falcon_alloc_shared(struct ibv_context *context, size_t size)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	__u64 offset;
	uint32_t area;

	if (!ctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return fv_area_alloc(&ctx->agent, size, &area, &offset);
}

FV_EXPORT void falcon_free_shared(struct ibv_context *context, void *mem)
{
	struct fv_ctx *ctx = fv_ctx_of(context);

	if (ctx && mem)
		fv_area_free(&ctx->agent, mem);
}

FV_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
{
	if (!fv_ctx_of(context))
		FV_FORWARD(ibv_import_dm, NULL, context, handle);
	errno = EOPNOTSUPP;
	return NULL;
}

FV_EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
	static void (*real)(struct ibv_dm *);

	if (fv_ctx_of(dm->context))
		return;
	if (!real)
		real = (__typeof__(real))fv_real("ibv_unimport_dm");
	if (real)
		real(dm);
}
