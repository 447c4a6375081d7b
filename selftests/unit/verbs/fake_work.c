// SPDX-License-Identifier: BSD-2-Clause
/* The fake agent's transport: a memcpy() from one queue pair to another. */
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/socket.h>

#include "fake_priv.h"
#include "ipc/sleep.h"

static struct falcon_ring_idx *idx_of(const struct fake_ring *ring)
{
	return (struct falcon_ring_idx *)ring->base;
}

static void *at(const struct fake_ring *ring, uint32_t pos)
{
	return ring->base + 192 + (size_t)(pos & (ring->entries - 1)) * ring->stride;
}

static void complete(uint32_t cq_handle, const struct fake_object *qp, struct fverbs_cqe cqe,
		     bool solicited)
{
	struct fake_object *cq = fake_object(cq_handle, FAKE_CQ), *channel;
	struct fverbs_cq_shm *shm;
	uint32_t armed;

	if (!cq)
		return;
	shm = (struct fverbs_cq_shm *)cq->ring.base;
	cqe.qp_cookie = qp->cookie;
	cqe.qp_num = (uint32_t)(qp - fake.objects);
	cqe.timestamp = 1000000000;
	*(struct fverbs_cqe *)at(&cq->ring, cq->ring.pos) = cqe;
	falcon_store(&shm->idx.tail, ++cq->ring.pos);
	fake_news(cq->ctx);
	sleep_published();
	armed = falcon_load(&shm->armed);
	if (armed == FVERBS_ARMED_ANY ||
	    (armed == FVERBS_ARMED_SOLICITED && (solicited || cqe.status))) {
		const struct fverbs_completion_event event = { .cookie = cq->cookie };

		falcon_store(&shm->armed, 0U);
		channel = fake_object(cq->channel_plus_1 - 1, FAKE_CHANNEL);
		if (channel)
			send(channel->fd, &event, sizeof(event), MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

/* Where |sge| lies, NULL if its key does not say so. */
static void *resolve(const struct fverbs_sge *sge)
{
	const struct fake_object *mr = fake_object(sge->lkey >> 8, FAKE_MR);
	uint64_t offset;

	if (!mr)
		return NULL;
	offset = sge->addr - mr->mr.iova;
	if (!mr->mr.implicit && (offset > mr->mr.length || sge->len > mr->mr.length - offset))
		return NULL;
	if (mr->mr.area_plus_1)
		return mr->ctx->areas[mr->mr.area_plus_1 - 1].base + mr->mr.addr + offset;
	return (void *)(uintptr_t)(mr->mr.addr + offset);
}

/* The payload of |wqe| to |buf|; its length, or -1. */
static long gather(const struct fverbs_send_wqe *wqe, uint8_t *buf)
{
	const struct fverbs_sge *sge = (const struct fverbs_sge *)(wqe + 1);
	long total = 0;

	if (wqe->flags & IBV_SEND_INLINE) {
		memcpy(buf, wqe + 1, wqe->inline_len);
		return wqe->inline_len;
	}
	if (wqe->flags & FVERBS_SEND_COPIED) {
		__atomic_add_fetch(&fake.copied, 1, __ATOMIC_RELAXED);
		memcpy(buf, sge + wqe->num_sge, wqe->inline_len);
		return wqe->inline_len;
	}
	for (int i = 0; i < wqe->num_sge; i++) {
		const void *from = resolve(&sge[i]);

		if (!from || total + sge[i].len > FAKE_MESSAGE)
			return -1;
		memcpy(buf + total, from, sge[i].len);
		total += sge[i].len;
	}
	return total;
}

static int scatter(const struct fverbs_sge *sge, uint32_t n, const uint8_t *buf, long len)
{
	for (uint32_t i = 0; i < n && len > 0; i++) {
		uint32_t part = sge[i].len < len ? sge[i].len : (uint32_t)len;
		void *to = resolve(&sge[i]);

		if (!to)
			return -1;
		memcpy(to, buf, part);
		buf += part;
		len -= part;
	}
	return len > 0 ? -1 : 0;
}

/* Take a receive request of |qp|, and deliver. 1: there is none. */
static int deliver(struct fake_object *qp, const struct fverbs_send_wqe *wqe, const uint8_t *buf,
		   long len)
{
	struct fake_object *srq = qp->qp.srq_plus_1 ?
				  fake_object(qp->qp.srq_plus_1 - 1, FAKE_SRQ) : NULL;
	struct fake_ring *ring = srq ? &srq->ring : &qp->rq;
	struct fverbs_cqe cqe = { .opcode = IBV_WC_RECV, .byte_len = (uint32_t)len };
	const struct fverbs_recv_wqe *recv;

	if (ring->pos == falcon_load(&idx_of(ring)->tail)) {
		sleep_announce(&((struct fverbs_wq_shm *)ring->base)->ring);
		if (ring->pos == falcon_load(&idx_of(ring)->tail))
			return 1;
	}
	recv = at(ring, ring->pos);
	cqe.wr_id = recv->wr_id;
	cqe.imm = wqe->imm;
	if (wqe->opcode == IBV_WR_SEND_WITH_IMM || wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		cqe.wc_flags = IBV_WC_WITH_IMM;
	if (wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		cqe.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	else if (scatter((const struct fverbs_sge *)(recv + 1), recv->num_sge, buf, len))
		cqe.status = IBV_WC_LOC_LEN_ERR;
	falcon_store(&idx_of(ring)->head, ++ring->pos);
	complete(qp->qp.recv_cq, qp, cqe, wqe->flags & IBV_SEND_SOLICITED);
	return 0;
}

/* READ and atomics: the answer goes to the elements of the request. */
static int fetch(const struct fverbs_send_wqe *wqe)
{
	const struct fverbs_sge *sge = (const struct fverbs_sge *)(wqe + 1);
	struct fverbs_sge far = { .addr = wqe->remote_addr, .lkey = wqe->rkey, .len = 8 };
	uint64_t old, *word;
	void *from;

	if (wqe->opcode == IBV_WR_RDMA_READ) {
		far.len = 0;
		for (int i = 0; i < wqe->num_sge; i++)
			far.len += sge[i].len;
		from = resolve(&far);
		return from && !scatter(sge, wqe->num_sge, from, far.len) ? 0 : -1;
	}
	word = resolve(&far);
	if (!word)
		return -1;
	old = *word;
	if (wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		*word += wqe->compare_add;
	else if (old == wqe->compare_add)
		*word = wqe->swap;
	return scatter(sge, wqe->num_sge, (const uint8_t *)&old, 8);
}

static uint8_t wc_opcode(uint8_t wr)
{
	switch (wr) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	case IBV_WR_ATOMIC_WRITE:
		return IBV_WC_ATOMIC_WRITE;
	default:
		return IBV_WC_SEND;
	}
}

/* Carry out |wqe|. 1: it has to wait. Else its status in *|status|. */
static int execute(const struct fake_object *qp, const struct fverbs_send_wqe *wqe, uint8_t *status)
{
	static uint8_t buf[FAKE_MESSAGE];
	uint32_t to = qp->qp.type == IBV_QPT_UD ? wqe->remote_qpn : qp->attr.dest_qp_num;
	struct fake_object *peer = fake_object(to, FAKE_QP);
	struct fverbs_sge far = { .addr = wqe->remote_addr, .lkey = wqe->rkey };
	void *mem;
	long len;

	*status = IBV_WC_SUCCESS;
	if (!peer || peer->attr.qp_state < IBV_QPS_RTR)
		return 1;
	switch (wqe->opcode) {
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
		return 0;
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		if (fetch(wqe))
			*status = IBV_WC_REM_ACCESS_ERR;
		return 0;
	default:
		break;
	}
	len = gather(wqe, buf);
	if (len < 0) {
		*status = IBV_WC_LOC_PROT_ERR;
		return 0;
	}
	if (wqe->opcode == IBV_WR_RDMA_WRITE || wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
	    wqe->opcode == IBV_WR_ATOMIC_WRITE) {
		far.len = (uint32_t)len;
		mem = resolve(&far);
		if (!mem)
			*status = IBV_WC_REM_ACCESS_ERR;
		else
			memcpy(mem, buf, (size_t)len);
		if (!mem || wqe->opcode != IBV_WR_RDMA_WRITE_WITH_IMM)
			return 0;
	}
	return deliver(peer, wqe, buf, len);
}

static bool work_one(struct fake_object *qp)
{
	const struct fverbs_send_wqe *wqe;
	struct fverbs_cqe cqe = { 0 };

	if (!qp->ring.base || qp->attr.qp_state != IBV_QPS_RTS ||
	    qp->ring.pos == falcon_load(&idx_of(&qp->ring)->tail))
		return false;
	wqe = at(&qp->ring, qp->ring.pos);
	if (execute(qp, wqe, &cqe.status))
		return false;
	cqe.wr_id = wqe->wr_id;
	cqe.opcode = wc_opcode(wqe->opcode);
	if (wqe->flags & IBV_SEND_SIGNALED || qp->qp.sq_sig_all || cqe.status)
		complete(qp->qp.send_cq, qp, cqe, false);
	falcon_store(&idx_of(&qp->ring)->head, ++qp->ring.pos);
	return true;
}

void fake_work(void)
{
	bool more = true;

	while (more && !fake.hold) {
		more = false;
		for (uint32_t i = 1; i < FAKE_OBJECTS; i++) {
			if (fake.objects[i].kind == FAKE_QP)
				more |= work_one(&fake.objects[i]);
		}
	}
}

static void flush_ring(struct fake_object *qp, struct fake_ring *ring, uint32_t cq, uint8_t opcode)
{
	while (ring->base && ring->pos != falcon_load(&idx_of(ring)->tail)) {
		const uint64_t *wr_id = at(ring, ring->pos);
		const struct fverbs_cqe cqe = {
			.wr_id = *wr_id, .status = IBV_WC_WR_FLUSH_ERR, .opcode = opcode,
		};

		complete(cq, qp, cqe, false);
		falcon_store(&idx_of(ring)->head, ++ring->pos);
	}
}

void fake_flush(struct fake_object *qp)
{
	flush_ring(qp, &qp->ring, qp->qp.send_cq, IBV_WC_SEND);
	flush_ring(qp, &qp->rq, qp->qp.recv_cq, IBV_WC_RECV);
}
