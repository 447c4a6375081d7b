/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair that is its own peer, for programs that need no other. */
#ifndef FALCON_SELFTESTS_TO_SELF_H
#define FALCON_SELFTESTS_TO_SELF_H

#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct to_self {
	struct ibv_pd *pd;
	struct ibv_cq *cq;	/* of both directions */
	struct ibv_qp *qp;
};

static inline void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

/* With room for |depth| requests each way. Ends the program if that fails. */
static inline void connect_to_self(struct ibv_context *ctx, uint32_t depth, struct to_self *s)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
					 .cap = { depth, depth, 1, 1, 0 } };
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				 .qp_access_flags = IBV_ACCESS_LOCAL_WRITE };

	s->pd = ibv_alloc_pd(ctx);
	s->cq = ibv_create_cq(ctx, (int)(4 * depth), NULL, NULL, 0);
	init.send_cq = init.recv_cq = s->cq;
	s->qp = s->pd && s->cq ? ibv_create_qp(s->pd, &init) : NULL;
	check(s->qp != NULL, "queue pair");
	check(!ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					IBV_QP_ACCESS_FLAGS), "INIT");
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = s->qp->qp_num;
	a.max_dest_rd_atomic = 1;
	a.min_rnr_timer = 12;
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	check(!ibv_query_gid(ctx, 1, 0, &a.ah_attr.grh.dgid), "GID");
	check(!ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER), "RTR");
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 14;
	a.retry_cnt = a.rnr_retry = 7;
	a.max_rd_atomic = 1;
	check(!ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

#endif /* FALCON_SELFTESTS_TO_SELF_H */
