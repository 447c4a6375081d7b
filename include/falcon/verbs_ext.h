/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What verbs over Falcon offer beside the verbs API. Programs that include this link with
 * libfalcon_verbs.so, before libibverbs; those that know nothing of it are run by falcon-run(1), and
 * environment variables choose for them (falcon_verbs(7)).
 */
#ifndef FALCON_VERBS_EXT_H
#define FALCON_VERBS_EXT_H

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a queue pair orders requests and their effects (RDMA 6.2, tables 6.2 to 6.4). */
enum falcon_qp_ordering {
	FALCON_QP_STRONGLY_ORDERED,
	FALCON_QP_WEAKLY_ORDERED,
	FALCON_QP_UNORDERED,
};

/* What an error does to a queue pair (RDMA 6.3). */
enum falcon_qp_errors {
	FALCON_QP_VERBS_COMPATIBLE,	/* the queue pair goes to the error state */
	FALCON_QP_COMPLETE_IN_ERROR,	/* only the request that failed completes so */
};

struct falcon_qp_attr {
	uint32_t size;				/* sizeof(struct falcon_qp_attr) */
	enum falcon_qp_ordering ordering;
	enum falcon_qp_errors errors;
};

/*
 * As ibv_create_qp_ex(), with what |falcon| says instead of FALCON_QP_ORDERING and FALCON_QP_ERRORS.
 * NULL with errno: as there; EINVAL if |falcon| makes no sense; EOPNOTSUPP if |context| is of a device
 * that is none of Falcon's.
 */
struct ibv_qp *falcon_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				const struct falcon_qp_attr *falcon);

/*
 * |size| bytes of zeroed memory that the agent can reach without a system call, rounded up to pages.
 * Regions registered in it are faster than others; for all else it is ordinary memory. It belongs to
 * |context|: free it with falcon_free_shared() when no region lies in it any more, and before the
 * device is closed. NULL with errno: ENOMEM; EINVAL if |size| is 0; EIO if the agent is gone;
 * EOPNOTSUPP as above.
 */
void *falcon_alloc_shared(struct ibv_context *context, size_t size);

/*
 * The same of offload memory, which XDP reaches, too: what peers WRITE to regions in it on strongly ordered
 * queue pairs whose connections are not encrypted, XDP places and acknowledges without the agent. Freed with
 * falcon_free_shared(). NULL with errno, further: ENOSPC: the agent has no more pieces; EOPNOTSUPP also: it
 * has no such memory.
 */
void *falcon_alloc_offload(struct ibv_context *context, size_t size);
void falcon_free_shared(struct ibv_context *context, void *mem);

#ifdef __cplusplus
}
#endif

#endif /* FALCON_VERBS_EXT_H */
