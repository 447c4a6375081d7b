// SPDX-License-Identifier: BSD-2-Clause
/* "Device" memory, which XDP reaches if it can be had so; and memory shared with the agent. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "falcon/verbs_ext.h"
#include "verbs/fv.h"
#include "verbs/moved.h"

enum {
	DM_ALIGN = 4,		/* bytes; what adapters ask of copies, so nobody gets used to less */
	DM_LOG_ALIGN_MAX = 21,
	PAGE_LOG = 12,
};

static int check(const struct fv_dm *dm, uint64_t offset, size_t length)
{
	if (offset % DM_ALIGN || length % DM_ALIGN)
		return fv_fail(EINVAL, "device memory is copied in units of %d bytes", DM_ALIGN);
	if (offset > dm->length || length > dm->length - offset)
		return fv_fail(EFAULT, "the device memory ends before that");
	return 0;
}

static int copy_to(struct ibv_dm *ibdm, uint64_t offset, const void *from, size_t length)
{
	struct fv_dm *dm = (struct fv_dm *)ibdm;
	int rc = check(dm, offset, length);

	if (!rc)
		memcpy(dm->mem + offset, from, length);
	return rc;
}

static int copy_from(void *to, struct ibv_dm *ibdm, uint64_t offset, size_t length)
{
	struct fv_dm *dm = (struct fv_dm *)ibdm;
	int rc = check(dm, offset, length);

	if (!rc)
		memcpy(to, dm->mem + offset, length);
	return rc;
}

/* False: memory is short. */
static bool find_memory(struct fv_ctx *ctx, struct fv_dm *dm, uint32_t log)
{
	bool offload = ctx->memory == FV_MEMORY_AUTO || ctx->memory == FV_MEMORY_OFFLOAD;
	void *mem = NULL;

	if (offload && log == PAGE_LOG)
		mem = fv_offload_alloc(&ctx->agent, dm->length);
	dm->offload = mem;
	if (!mem && !posix_memalign(&mem, 1UL << log, dm->length))
		memset(mem, 0, dm->length);
	dm->mem = mem;
	return mem;
}

struct ibv_dm *fv_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	uint32_t log = attr->log_align_req > PAGE_LOG ? attr->log_align_req : PAGE_LOG;
	struct fv_dm *dm;

	if (attr->comp_mask || !attr->length || log > DM_LOG_ALIGN_MAX) {
		errno = attr->comp_mask ? EOPNOTSUPP : EINVAL;
		return NULL;
	}
	if (attr->length > FV_DM_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	dm = calloc(1, sizeof(*dm));
	if (dm)
		dm->length = attr->length;
	if (!dm || !find_memory(fv_ctx_of(context), dm, log)) {
		free(dm);
		errno = ENOMEM;
		return NULL;
	}
	dm->dm.context = context;
	dm->dm.memcpy_to_dm = copy_to;
	dm->dm.memcpy_from_dm = copy_from;
	return &dm->dm;
}

int fv_free_dm(struct ibv_dm *ibdm)
{
	struct fv_dm *dm = (struct fv_dm *)ibdm;

	if (__atomic_load_n(&dm->refs, __ATOMIC_ACQUIRE))
		return fv_fail(EBUSY, "there are memory regions in it");
	if (dm->offload)
		fv_area_free(&fv_ctx_of(ibdm->context)->agent, dm->mem);
	else
		free(dm->mem);
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

FV_EXPORT void *falcon_alloc_offload(struct ibv_context *context, size_t size)
{
	struct fv_ctx *ctx = fv_ctx_of(context);

	if (!ctx) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return fv_offload_alloc(&ctx->agent, size);
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
	static void *seen;
	void (*real)(struct ibv_dm *);

	if (fv_ctx_of(dm->context))
		return;
	real = (__typeof__(real))fv_real_once(&seen, "ibv_unimport_dm");
	if (real)
		real(dm);
}
