// SPDX-License-Identifier: BSD-2-Clause
/* The library that we stand before, and telling its objects from ours. */
#include <dlfcn.h>

#include "verbs/fv.h"

void *fv_real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

struct fv_ctx *fv_ctx_of(struct ibv_context *context)
{
	if (!context || context->ops.post_send != fv_post_send)
		return NULL;
	return FV_CAST(struct fv_ctx, v.context, context);
}
