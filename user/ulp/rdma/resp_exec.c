// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests that XDP carries out in the responder's place: WRITEs, on strongly ordered queue pairs, into
 * regions in offload memory. falcon/exec.h says which those are, core/exec.c when XDP has them.
 */
#include "falcon/exec.h"
#include "ulp/rdma/objects.h"
#include "ulp/rdma/qp.h"

/* A queue pair that is only to receive stays in RTR; the event of its first packet is the agent's to send. */
static bool responds(const struct rdma_qp *qp)
{
	return qp->state == IBV_QPS_RTS || (qp->state == IBV_QPS_RTR && qp->comm_est);
}

static bool suits(const struct rdma_qp *qp)
{
	return qp->type == IBV_QPT_RC && qp->ordered && responds(qp) && !qp->rx_stopped &&
	       qp->init.pd->offloaded && qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE;
}

void rdma_exec_offer(struct rdma_qp *qp)
{
	if (suits(qp))
		fcore_exec_offer(qp->rx_core);
}

void rdma_exec_withdraw(struct rdma_qp *qp)
{
	if (qp->rx_core)
		fcore_exec_withdraw(qp->rx_core);
}

void rdma_exec_recall(const struct rdma_qp *qp)
{
	if (qp->rx_core)
		fcore_exec_recall(qp->rx_core);
}

void rdma_exec_wait(struct rdma_qp *qp)
{
	if (qp->rx_core)
		fcore_exec_wait(qp->rx_core);
}

enum fcore_exec rdma_qps_exec_give(struct rdma_link *link, struct fcore_conn *c, struct falcon_exec *e)
{
	struct rdma_qp *qp = link ? rdma_link_qp(link) : NULL;

	if (!qp || qp->rx_core != c || !suits(qp))
		return FCORE_EXEC_NEVER;
	if (qp->rx_base != qp->rx_next || qp->rx_kind == RDMA_RX_SEND)
		return FCORE_EXEC_LATER;
	e->pd = qp->init.pd->number;
	e->qp = qp->num;
	e->sn = qp->rx_next;
	e->write_len = qp->write_len;
	e->in_write = qp->rx_kind == RDMA_RX_WRITE;
	return FCORE_EXEC_GIVE;
}

void rdma_qps_exec_taken(struct rdma_link *link, const struct falcon_exec *e)
{
	struct rdma_qp *qp = link ? rdma_link_qp(link) : NULL;

	if (!qp)
		return;
	qp->rx_base = qp->rx_next = e->sn;
	qp->rx_kind = e->in_write ? RDMA_RX_WRITE : RDMA_RX_IDLE;
	qp->write_len = e->write_len;
	qp->stats.rx_packets += e->packets;
	qp->stats.rx_bytes += e->bytes;
}
