/* SPDX-License-Identifier: BSD-2-Clause */
/* Putting work requests together: for ibv_post_send() and for ibv_wr_*(). */
#ifndef FALCON_VERBS_BUILD_H
#define FALCON_VERBS_BUILD_H

#include "verbs/fv.h"

static inline void *fv_wq_at(const struct fv_wq *wq, uint32_t index)
{
	return wq->entries + (size_t)(index & wq->mask) * wq->stride;
}

static inline bool fv_wq_full(const struct fv_wq *wq, uint32_t tail)
{
	return tail - falcon_load(&wq->shm->idx.head) > wq->mask;
}

/* 0, or why nothing can be posted to |qp|'s send queue now. */
int fv_send_allowed(const struct fv_qp *qp);
/* Show the agent what lies before |tail|. */
void fv_send_publish(struct fv_qp *qp, uint32_t tail);

/* Elements, and the bytes themselves if they are few and |wqe| sends them. */
void fv_build_sges(struct fv_qp *qp, struct fverbs_send_wqe *wqe, const struct ibv_sge *sge,
		   size_t n);
/* The bytes that |sge| names, whatever the key. EINVAL: too many. */
int fv_build_inline(struct fv_qp *qp, struct fverbs_send_wqe *wqe, const struct ibv_sge *sge,
		    size_t n);
int fv_build_bind(struct fverbs_send_wqe *wqe, const struct ibv_mw *mw, uint32_t rkey,
		  const struct ibv_mw_bind_info *info);
int fv_build_ud(struct fverbs_send_wqe *wqe, const struct ibv_ah *ah, uint32_t qpn, uint32_t qkey);

#endif /* FALCON_VERBS_BUILD_H */
