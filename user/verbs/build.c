// SPDX-License-Identifier: BSD-2-Clause
/* What work requests carry. */
#include "verbs/build.h"

#include <errno.h>
#include <string.h>

/* Whether |opcode| takes its payload from the elements and sends it. */
static bool carries(uint8_t opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return true;
	default:
		return false;
	}
}

/*
 * Take a small payload along, so that the agent need not read it from us with a system call. The
 * agent still checks the keys. Only from regions that we know: reading anything else might kill us,
 * where an adapter completes the request in error.
 */
static void copy_payload(struct fv_qp *qp, struct fverbs_send_wqe *wqe, const struct ibv_sge *sge,
			 size_t n)
{
	uint8_t *to = (uint8_t *)(wqe + 1) + n * sizeof(*sge);
	const void *from[FVERBS_SGE_MAX];
	size_t total = 0;

	for (size_t i = 0; i < n; i++) {
		total += sge[i].length;
		if (total > qp->copy_max)
			return;
		from[i] = sge[i].length ? fv_mr_memory(qp, &sge[i]) : "";
		if (!from[i])
			return;
	}
	if (!total)
		return;
	for (size_t i = 0; i < n; i++) {
		memcpy(to, from[i], sge[i].length);
		to += sge[i].length;
	}
	wqe->inline_len = (uint32_t)total;
	wqe->flags |= FVERBS_SEND_COPIED;
}

void fv_build_sges(struct fv_qp *qp, struct fverbs_send_wqe *wqe, const struct ibv_sge *sge,
		   size_t n)
{
	_Static_assert(sizeof(struct ibv_sge) == sizeof(struct fverbs_sge), "the same");
	_Static_assert(offsetof(struct ibv_sge, lkey) == offsetof(struct fverbs_sge, lkey), "so");

	wqe->num_sge = (uint8_t)n;
	if (!n)
		return;
	memcpy(wqe + 1, sge, n * sizeof(*sge));
	if (qp->copy_max && carries(wqe->opcode))
		copy_payload(qp, wqe, sge, n);
}

int fv_build_inline(struct fv_qp *qp, struct fverbs_send_wqe *wqe, const struct ibv_sge *sge,
		    size_t n)
{
	uint8_t *to = (uint8_t *)(wqe + 1);
	size_t total = 0;

	for (size_t i = 0; i < n; i++) {
		if (sge[i].length > qp->max_inline - total)
			return EINVAL;
		memcpy(to + total, (const void *)(uintptr_t)sge[i].addr, sge[i].length);
		total += sge[i].length;
	}
	wqe->flags |= IBV_SEND_INLINE;
	wqe->num_sge = 0;
	wqe->inline_len = (uint32_t)total;
	return 0;
}

int fv_build_bind(struct fverbs_send_wqe *wqe, const struct ibv_mw *mw, uint32_t rkey,
		  const struct ibv_mw_bind_info *info)
{
	if (!mw || (info->length && !info->mr))
		return EINVAL;
	wqe->mw = mw->handle;
	wqe->imm = rkey;
	wqe->rkey = info->mr ? info->mr->rkey : 0;
	wqe->bind_addr = info->addr;
	wqe->bind_len = info->length;
	wqe->bind_access = info->mw_access_flags;
	return 0;
}

int fv_build_ud(struct fverbs_send_wqe *wqe, const struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	if (!ah)
		return EINVAL;
	wqe->ah = ah->handle;
	wqe->remote_qpn = qpn;
	wqe->remote_qkey = qkey;
	return 0;
}
