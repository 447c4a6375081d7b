// SPDX-License-Identifier: BSD-2-Clause
/* Memory windows. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/fv.h"

struct ibv_mw *fv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct fv_ctx *ctx = fv_ctx_of(pd->context);
	const struct fverbs_alloc_mw req = { .pd = pd->handle, .type = type };
	struct fverbs_mr answer;
	struct ibv_mw *mw;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
		errno = EINVAL;
		return NULL;
	}
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;
	if (fv_call(&ctx->agent, FVERBS_ALLOC_MW, &req, sizeof(req), -1, &answer, sizeof(answer))) {
		free(mw);
		return NULL;
	}
	mw->context = pd->context;
	mw->pd = pd;
	mw->rkey = answer.rkey;
	mw->handle = answer.handle;
	mw->type = type;
	return mw;
}

int fv_dealloc_mw(struct ibv_mw *mw)
{
	struct fv_ctx *ctx = fv_ctx_of(mw->context);
	int rc = fv_call_destroy(&ctx->agent, FVERBS_DEALLOC_MW, mw->handle);

	if (!rc)
		free(mw);
	return rc;
}

/* Type 1: the window has the new key from here on, whatever becomes of the request. */
int fv_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id, .opcode = IBV_WR_BIND_MW, .send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = bind->bind_info,
		},
	};
	struct ibv_send_wr *bad;
	int rc;

	/* Windows of this type are addressed as their regions are (InfiniBand 10.6.7.2.1). */
	if (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return EINVAL;
	if (bind->bind_info.mr && bind->bind_info.length > bind->bind_info.mr->length)
		return EINVAL;
	rc = fv_post_send(qp, &wr, &bad);
	if (!rc)
		mw->rkey = wr.bind_mw.rkey;
	return rc;
}
