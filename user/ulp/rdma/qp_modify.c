// SPDX-License-Identifier: BSD-2-Clause
/* Modifying queue pairs: attributes, states, and the link that comes with RTR. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ulp/rdma/qp.h"

enum { CONNECT_MIN_NS = 2000000000 };	/* what making a connection may take in any case */

uint32_t rdma_qp_segment(uint32_t max_len)
{
	uint32_t n = max_len > FALCON_RDMA_MAX_HDR ? max_len - FALCON_RDMA_MAX_HDR : 0;

	n = n < QP_SEGMENT_MAX ? n : QP_SEGMENT_MAX;
	return n < FALCON_RDMA_PAD_UNIT ? FALCON_RDMA_PAD_UNIT : n - n % FALCON_RDMA_PAD_UNIT;
}

/* A message that is cut already goes on in pieces of the new size. */
static void link_resized(void *owner, struct rdma_link *link)
{
	struct rdma_qp *qp = owner;

	qp->segment = rdma_qp_segment(rdma_link_max_len(link));
}

/*
 * How long the queue pair waits for a peer that is silent, ns: as ibv_modify_qp(3) has it, for |retry_cnt|
 * retries and a first attempt, each of up to four times |timeout|; 0 there is for ever.
 */
static uint64_t patience(const struct rdma_qp *qp)
{
	uint64_t attempt = 4ULL * (4096ULL << qp->attr.timeout);

	return qp->attr.timeout ? attempt * (qp->attr.retry_cnt + 1U) : UINT64_MAX;
}

static void link_up(void *owner, struct rdma_link *link)
{
	struct rdma_qp *qp = owner;

	qp->core = rdma_link_core(link);
	fcore_conn_be_patient(qp->core, patience(qp));
	link_resized(owner, link);
	if (qp->deadline != UINT64_MAX)
		LIST_REMOVE(qp, timed);
	qp->deadline = UINT64_MAX;
	rdma_qp_kick(qp);
}

/*
 * What has been received is placed, if later: a copy may cost the agent its thread (agent/shard/stall.h),
 * and with it all that stands on the stack up to here. An idle queue pair does not notice, as with
 * InfiniBand; one with requests under way has them end when the core gives them back.
 */
static void link_down(void *owner, struct rdma_link *link, const char *why)
{
	struct rdma_qp *qp = owner;

	(void)why;
	rdma_resp_keep(qp);
	qp->link = NULL;
	qp->core = qp->rx_core = NULL;
	qp->segment = 0;
	qp->lost = true;
	rdma_qp_kick(qp);
	rdma_link_put(link);
}

static const struct rdma_link_ops link_ops = { .up = link_up, .resized = link_resized, .down = link_down };

/* Attributes that are out of range. */
static const char *check_attr(const struct rdma_qp *qp, uint32_t mask,
			      const struct fverbs_qp_attr *a)
{
	const struct fverbs_device *dev = rdma_device(qp->r, qp->init.device);
	uint32_t max_rd = dev ? dev->max_rd_atomic : 0;

	if (mask & IBV_QP_CUR_STATE && a->cur_qp_state != qp->state)
		return "the queue pair is not in the state that it is said to be in";
	if (mask & IBV_QP_PORT && a->port_num != 1)
		return "devices have one port, 1";
	if (mask & IBV_QP_PKEY_INDEX && a->pkey_index)
		return "there is one partition key, at index 0";
	if (mask & IBV_QP_PATH_MTU && (a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096))
		return "no such path MTU";
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC && a->max_rd_atomic > max_rd)
		return "max_rd_atomic is beyond the device's max_qp_init_rd_atom";
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC && a->max_dest_rd_atomic > max_rd)
		return "max_dest_rd_atomic is beyond the device's max_qp_rd_atom";
	if ((mask & IBV_QP_TIMEOUT && a->timeout > 31) ||
	    (mask & IBV_QP_MIN_RNR_TIMER && a->min_rnr_timer > 31))
		return "timeouts have 5 bits";
	if ((mask & IBV_QP_RETRY_CNT && a->retry_cnt > 7) ||
	    (mask & IBV_QP_RNR_RETRY && a->rnr_retry > 7))
		return "retry counters go to 7";
	if (mask & IBV_QP_DEST_QPN && a->dest_qp_num > FALCON_RDMA_QPN_MASK)
		return "queue pair numbers have 24 bits";
	if (mask & IBV_QP_AV && !a->ah.is_global)
		return "an address needs a GID";
	if (mask & (IBV_QP_ALT_PATH | IBV_QP_RATE_LIMIT | IBV_QP_CAP))
		return "alternate paths, rate limits and resizing are not to be had";
	return NULL;
}

static void take_attr(struct rdma_qp *qp, uint32_t mask, const struct fverbs_qp_attr *a)
{
	struct fverbs_qp_attr *q = &qp->attr;

#define TAKE(bit, field) do { if (mask & (bit)) q->field = a->field; } while (0)
	TAKE(IBV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	TAKE(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	TAKE(IBV_QP_PKEY_INDEX, pkey_index);
	TAKE(IBV_QP_PORT, port_num);
	TAKE(IBV_QP_QKEY, qkey);
	TAKE(IBV_QP_AV, ah);
	TAKE(IBV_QP_PATH_MTU, path_mtu);
	TAKE(IBV_QP_TIMEOUT, timeout);
	TAKE(IBV_QP_RETRY_CNT, retry_cnt);
	TAKE(IBV_QP_RNR_RETRY, rnr_retry);
	TAKE(IBV_QP_RQ_PSN, rq_psn);
	TAKE(IBV_QP_SQ_PSN, sq_psn);
	TAKE(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	TAKE(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	TAKE(IBV_QP_PATH_MIG_STATE, path_mig_state);
	TAKE(IBV_QP_DEST_QPN, dest_qp_num);
#undef TAKE
}

/* enum rdma_link_mode */
static uint8_t modes_of(const struct rdma_qp *qp)
{
	uint8_t modes = qp->ordered ? RDMA_LINK_ORDERED : qp->unordered ? RDMA_LINK_UNORDERED : 0;

	if (qp->transport == FALCON_RDMA_XRC)
		modes |= RDMA_LINK_XRC;
	return qp->cie ? modes | RDMA_LINK_CIE : modes;
}

/* Sequence numbers begin anew with each connection (RDMA 8.2, 8.3.2). */
static int connect(struct rdma_qp *qp, const struct fverbs_qp_attr *attr, uint32_t mask, char *err,
		   size_t errlen)
{
	qp->tx_sn = qp->tx_rmsn = qp->tx_read_rmsn = 1;
	qp->rx_base = qp->rx_next = qp->rx_rmsn = qp->rx_read_rmsn = 1;
	qp->lost = qp->blocked = qp->stopped = false;
	qp->comm_est = false;
	qp->cie = qp->init.req.errors == FVERBS_COMPLETE_IN_ERROR;
	if (qp->type == IBV_QPT_UD)
		return 0;
	qp->link = rdma_link_connect(qp, mask & IBV_QP_AV ? &attr->ah : &qp->attr.ah,
				     mask & IBV_QP_DEST_QPN ? attr->dest_qp_num :
							      qp->attr.dest_qp_num,
				     modes_of(qp), 0, &link_ops, qp, err, errlen);
	if (!qp->link)
		return -errno;
	if (rdma_link_core(qp->link))
		link_up(qp, qp->link);
	return 0;
}

void rdma_qp_await_link(struct rdma_qp *qp)
{
	uint64_t t = patience(qp);

	if (qp->deadline != UINT64_MAX || t == UINT64_MAX)
		return;
	qp->deadline = qp->r->now + (t > CONNECT_MIN_NS ? t : CONNECT_MIN_NS);
	LIST_INSERT_HEAD(&qp->qps->timed, qp, timed);
}

/* As it was made: what is posted is forgotten. */
static void reset(struct rdma_qp *qp)
{
	struct rdma_ring *rings[] = { &qp->init.sq, &qp->init.rq };

	qp->state = IBV_QPS_RESET;
	rdma_qp_abandon(qp, false);
	for (int i = 0; i < 2; i++) {
		struct falcon_ring_idx *idx = rdma_ring_idx(rings[i]);

		if (!rings[i]->base)
			continue;
		rings[i]->pos = falcon_load(&idx->tail);
		falcon_store(&idx->head, rings[i]->pos);
	}
	if (qp->init.rq.base)
		((struct fverbs_wq_shm *)qp->init.rq.base)->ring = 0;
	qp->op_head = qp->init.sq.pos;
	qp->rq_done = qp->init.rq.pos;
	qp->flushing = qp->draining = false;
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->attr.path_mtu = IBV_MTU_1024;
}

static int refuse(char *err, size_t errlen, const char *why)
{
	snprintf(err, errlen, "%s", why);
	return -EINVAL;
}

/* Applications give both sides of XRC the attributes of RC; what a side has not is ignored. */
static uint32_t relevant(const struct rdma_qp *qp, uint32_t mask)
{
	switch (qp->type) {
	case IBV_QPT_XRC_SEND:
		return mask & ~(uint32_t)(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	case IBV_QPT_XRC_RECV:
		return mask & ~(uint32_t)(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT |
					  IBV_QP_RNR_RETRY);
	default:
		return mask;
	}
}

int rdma_qp_modify(struct rdma_qp *qp, uint32_t mask, const struct fverbs_qp_attr *attr, char *err,
		   size_t errlen)
{
	uint8_t to = mask & IBV_QP_STATE ? attr->qp_state : qp->state, from = qp->state;
	const char *why;

	mask = relevant(qp, mask);
	why = rdma_qp_transition(qp->type, from, to, mask);
	if (!why)
		why = check_attr(qp, mask, attr);
	if (why)
		return refuse(err, errlen, why);
	if (to == IBV_QPS_RESET) {
		reset(qp);
		return 0;
	}
	if (to == IBV_QPS_ERR) {
		rdma_qp_fatal(qp, -1);
		return 0;
	}
	if (from == IBV_QPS_INIT && to == IBV_QPS_RTR) {
		int rc = connect(qp, attr, mask, err, errlen);

		if (rc)
			return rc;
	}
	rdma_exec_withdraw(qp);
	take_attr(qp, mask, attr);
	if (qp->core)
		fcore_conn_be_patient(qp->core, patience(qp));
	qp->state = to;
	qp->draining = to == IBV_QPS_SQD && from != to ? qp->attr.en_sqd_async_notify : qp->draining;
	if (to == IBV_QPS_RTS)
		qp->stopped = false;
	rdma_qp_kick(qp);
	return 0;
}
