/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams of one queue pair to two destinations: the host itself, which is always there, and another. */
#ifndef FALCON_SELFTESTS_RDMA_UD_H
#define FALCON_SELFTESTS_RDMA_UD_H

#include "rdma_pair.h"

#include <string.h>

#include <ulp/rdma/link.h>
#include <ulp/rdma/qp.h>

enum { SIZE = 100, BUFFERS = 200, WAIT_NS = 4000000 };

static struct env_qp own, filler;	/* of application |a|: it receives; it makes the connection full */
static struct env_cq owncq, fillcq;
static uint32_t here, there;		/* address handles */

/* One of the addresses of |to|: 10.0.|net|.x */
static inline uint32_t ah_of(const struct env_host *to, uint8_t net)
{
	struct fverbs_create_ah req = { .pd = a.pd, .attr = { .is_global = 1, .port_num = 1 } };
	struct fverbs_handle h;

	req.attr.dgid[10] = req.attr.dgid[11] = 0xff;
	req.attr.dgid[12] = 10;
	req.attr.dgid[14] = net;
	req.attr.dgid[15] = (uint8_t)(to->index + 1);
	assert_int_equal(env_cmd(&a, FVERBS_CREATE_AH, &req, sizeof(req), &h, sizeof(h)), 0);
	return h.handle;
}

static inline uint32_t ah_open(const struct env_host *to)
{
	return ah_of(to, 0);
}

static inline void ah_close(uint32_t handle)
{
	struct fverbs_handle h = { .handle = handle };

	assert_int_equal(env_cmd(&a, FVERBS_DESTROY_AH, &h, sizeof(h), NULL, 0), 0);
}

static inline void ready_qp(struct env_cq *cq, uint32_t entries, struct env_qp *qp)
{
	env_cq_open(&a, cq, 1024);
	env_qp_open(&a, cq, &(struct env_qp_opts){ .type = IBV_QPT_UD, .entries = entries }, qp);
	env_to_init(qp, 0);
	env_to_rtr(qp, &env.host[0], 0);
	env_to_rts(qp);
}

/* A send of |len| bytes in memory that the agent shares. */
static inline void post_shared(uint32_t len)
{
	struct fverbs_reg_mr req = { .pd = a.pd, .access = IBV_ACCESS_LOCAL_WRITE, .addr = ENV_SHM - 4096,
				     .length = 4096, .iova = 0x10000, .area_plus_1 = 1 };
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_SEND_WITH_IMM, .imm = 5, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED, .ah = there, .remote_qpn = bqp.num,
				     .remote_qkey = 0x1111 };
	struct fverbs_sge sge;
	struct fverbs_mr am;

	assert_int_equal(env_cmd(&a, FVERBS_REG_MR, &req, sizeof(req), &am, sizeof(am)), 0);
	memcpy(a.shm + ENV_SHM - 4096, a.memory + 5, len);
	sge = (struct fverbs_sge){ 0x10000, len, am.lkey };
	env_post_send(&aqp, &w, &sge);
}

static inline void receives(struct env_app *app, struct env_mr *mr, struct env_qp *qp, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct fverbs_sge to = sge_of(app, mr, HALF + i * (SIZE + 40), SIZE + 40);

		env_post_recv(qp, i, &to, 1);
	}
}

static inline void stage_open(void)
{
	pair_open(&(struct env_qp_opts){ .type = IBV_QPT_UD, .entries = 256 });
	ready_qp(&owncq, 64, &own);
	ready_qp(&fillcq, 512, &filler);
	receives(&a, &amr, &own, 32);
	receives(&b, &bmr, &bqp, BUFFERS);
	here = ah_open(&env.host[0]);
	env_steps(20);
}

/* Whoever dials is refused. */
static inline void stage_without_peer(void)
{
	stage_open();
	env.host[0].deaf = true;
	there = ah_open(&env.host[1]);
	env_steps(20);
}

/* |i|'s bytes and immediate data tell it from others. */
static inline void post(struct env_qp *qp, uint32_t ah, uint32_t qpn, uint32_t i)
{
	struct fverbs_send_wqe w = { .wr_id = i, .opcode = IBV_WR_SEND_WITH_IMM, .imm = i, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED, .ah = ah, .remote_qpn = qpn,
				     .remote_qkey = 0x1111 };
	struct fverbs_sge sge = sge_of(&a, &amr, i, SIZE);

	env_post_send(qp, &w, &sge);
}

static inline void post_there(uint32_t i)
{
	post(&aqp, there, bqp.num, i);
}

static inline void post_here(uint32_t i)
{
	post(&aqp, here, own.num, i);
}

static inline uint32_t polled(struct env_cq *cq)
{
	struct fverbs_cqe c;
	uint32_t n = 0;

	while (env_poll(cq, &c)) {
		assert_int_equal(c.status, IBV_WC_SUCCESS);
		n++;
	}
	return n;
}

/* The peer's next datagram is number |i|. */
static inline void arrives_there(uint32_t i)
{
	struct fverbs_cqe c = env_wait(&bcq);

	assert_int_equal(c.status, IBV_WC_SUCCESS);
	assert_int_equal(c.imm, i);
	assert_memory_equal(b.memory + HALF + c.wr_id * (SIZE + 40) + 40, a.memory + i, SIZE);
}

static inline uint64_t lost(void)
{
	return rdma_qp_stats(rdma_qp_find(env.host[0].r, aqp.num))->lost;
}

/* One datagram more than fits is with the peer's connection, which answers nothing. */
static inline void stage_full(void)
{
	stage_open();
	there = ah_open(&env.host[1]);
	env_steps(20);
	env.host[1].dark = true;
	for (uint32_t i = 0; i < 256; i++)
		post(&filler, there, bqp.num ^ 1U << 19, i);
	env_steps(8);
	assert_int_equal(polled(&fillcq), 256);
}

static inline void run_for(uint64_t ns)
{
	uint64_t end = env.now + ns;

	while (env.now < end)
		env_step();
}

/* The peer goes: its connection takes what it has room for, and nothing is answered. */
static inline void stage_dying(void)
{
	stage_open();
	there = ah_open(&env.host[1]);
	env_steps(20);
	env.host[1].dark = true;
}

#endif /* FALCON_SELFTESTS_RDMA_UD_H */
