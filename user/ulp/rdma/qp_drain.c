// SPDX-License-Identifier: BSD-2-Clause
/* When a queue pair and its application are through with what was under way at some moment. */
#include "ulp/rdma/qp.h"

void rdma_qp_drain_begin(struct rdma *r, uint32_t num, struct rdma_drain *d)
{
	const struct rdma_qp *qp = rdma_qp_find(r, num);

	*d = (struct rdma_drain){ .sends = qp ? qp->init.sq.pos : 0 };
}

enum rdma_drain_state rdma_qp_drain(struct rdma *r, uint32_t num, struct rdma_drain *d)
{
	const struct rdma_qp *qp = rdma_qp_find(r, num);
	const struct rdma_cq *cq[2];

	if (!qp)
		return RDMA_DRAIN_DONE;
	if ((int32_t)(d->sends - qp->op_head) > 0)
		return RDMA_DRAIN_SENDING;
	cq[0] = qp->init.send_cq;
	cq[1] = qp->init.recv_cq;
	for (int i = 0; i < 2 && !d->ended; i++)
		d->polled[i] = cq[i] ? rdma_cq_written(cq[i]) : 0;
	d->ended = true;
	for (int i = 0; i < 2; i++) {
		if (cq[i] && rdma_cq_polled(cq[i]) < d->polled[i])
			return RDMA_DRAIN_UNPOLLED;
	}
	return RDMA_DRAIN_DONE;
}
