// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests that XDP carries out in the responder's place: WRITEs, READs and atomics, on strongly ordered
 * queue pairs, of regions in offload memory. falcon/exec.h and falcon/pull.h say which those are,
 * core/exec.c when XDP has them.
 */
#include "falcon/receive/exec.h"
#include "ulp/rdma/objects.h"
#include "ulp/rdma/qp.h"

/* A queue pair that is only to receive stays in RTR; the event of its first packet is the agent's to send. */
static bool responds(const struct rdma_qp *qp)
{
	return qp->state == IBV_QPS_RTS || (qp->state == IBV_QPS_RTR && qp->comm_est);
}

/* What the peer may do, enum falcon_region_access. */
static uint32_t allowed(const struct rdma_qp *qp)
{
	return rdma_offload_access(qp->attr.qp_access_flags) &
	       (qp->attr.max_dest_rd_atomic ? ~0U : FALCON_REGION_WRITE);
}

static bool suits(const struct rdma_qp *qp)
{
	return qp->type == IBV_QPT_RC && qp->ordered && responds(qp) && !qp->rx_stopped &&
	       qp->init.pd->offloaded && allowed(qp);
}

/* A READ or atomic whose bytes the agent is still to copy: what follows it must not be carried out before. */
static bool is_copying(const struct rdma_qp *qp)
{
	const struct rdma_item *it;

	LIST_FOREACH(it, &qp->items, all)
		if (!it->answered)
			return true;
	return false;
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
	e->access = allowed(qp) & (is_copying(qp) ? FALCON_REGION_WRITE : ~0U);
	e->peer_qp = qp->attr.dest_qp_num;
	e->read_rmsn = qp->rx_read_rmsn;
	e->room = qp->r->host.tight && qp->link && rdma_link_pads(qp->link);
	return FCORE_EXEC_GIVE;
}

void rdma_qps_exec_taken(struct rdma_link *link, const struct falcon_exec *e)
{
	struct rdma_qp *qp = link ? rdma_link_qp(link) : NULL;

	if (!qp)
		return;
	qp->rx_base = qp->rx_next = e->sn;
	qp->rx_read_rmsn = e->read_rmsn;
	qp->rx_kind = e->in_write ? RDMA_RX_WRITE : RDMA_RX_IDLE;
	qp->write_len = e->write_len;
	qp->stats.rx_packets += e->packets;
	qp->stats.rx_bytes += e->bytes;
}
