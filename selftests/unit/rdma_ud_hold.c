// SPDX-License-Identifier: BSD-2-Clause
/*
 * Datagrams of one queue pair to two destinations, of which one is not there, or takes nothing: the other has
 * its own all the same. The host itself is the destination that is always there.
 */
#include "rdma_pair.h"

#include <string.h>

#include <ulp/rdma/link.h>

enum { SIZE = 100, BUFFERS = 200, WAIT_NS = 4000000 };

static struct env_qp own, filler;	/* of application |a|: it receives; it makes the connection full */
static struct env_cq owncq, fillcq;
static uint32_t here, there;		/* address handles */

static uint32_t ah_open(const struct env_host *to)
{
	struct fverbs_create_ah req = { .pd = a.pd, .attr = { .is_global = 1, .port_num = 1 } };
	struct fverbs_handle h;

	req.attr.dgid[10] = req.attr.dgid[11] = 0xff;
	req.attr.dgid[12] = 10;
	req.attr.dgid[15] = (uint8_t)(to->index + 1);
	assert_int_equal(env_cmd(&a, FVERBS_CREATE_AH, &req, sizeof(req), &h, sizeof(h)), 0);
	return h.handle;
}

static void ah_close(uint32_t handle)
{
	struct fverbs_handle h = { .handle = handle };

	assert_int_equal(env_cmd(&a, FVERBS_DESTROY_AH, &h, sizeof(h), NULL, 0), 0);
}

static void ready_qp(struct env_cq *cq, uint32_t entries, struct env_qp *qp)
{
	env_cq_open(&a, cq, 1024);
	env_qp_open(&a, cq, &(struct env_qp_opts){ .type = IBV_QPT_UD, .entries = entries }, qp);
	env_to_init(qp, 0);
	env_to_rtr(qp, &env.host[0], 0);
	env_to_rts(qp);
}

static void receives(struct env_app *app, struct env_mr *mr, struct env_qp *qp, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct fverbs_sge to = sge_of(app, mr, HALF + i * (SIZE + 40), SIZE + 40);

		env_post_recv(qp, i, &to, 1);
	}
}

static void stage_open(void)
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
static void stage_without_peer(void)
{
	stage_open();
	env.host[0].deaf = true;
	there = ah_open(&env.host[1]);
	env_steps(20);
}

/* |i|'s bytes and immediate data tell it from others. */
static void post(struct env_qp *qp, uint32_t ah, uint32_t qpn, uint32_t i)
{
	struct fverbs_send_wqe w = { .wr_id = i, .opcode = IBV_WR_SEND_WITH_IMM, .imm = i, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED, .ah = ah, .remote_qpn = qpn,
				     .remote_qkey = 0x1111 };
	struct fverbs_sge sge = sge_of(&a, &amr, i, SIZE);

	env_post_send(qp, &w, &sge);
}

static void post_there(uint32_t i)
{
	post(&aqp, there, bqp.num, i);
}

static void post_here(uint32_t i)
{
	post(&aqp, here, own.num, i);
}

static uint32_t polled(struct env_cq *cq)
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
static void arrives_there(uint32_t i)
{
	struct fverbs_cqe c = env_wait(&bcq);

	assert_int_equal(c.status, IBV_WC_SUCCESS);
	assert_int_equal(c.imm, i);
	assert_memory_equal(b.memory + HALF + c.wr_id * (SIZE + 40) + 40, a.memory + i, SIZE);
}

static uint64_t lost(void)
{
	return rdma_qp_stats(rdma_qp_find(env.host[0].r, aqp.num))->lost;
}

/* One datagram more than fits is with the peer's connection, which answers nothing. */
static void stage_full(void)
{
	stage_open();
	there = ah_open(&env.host[1]);
	env_steps(20);
	env.host[1].dark = true;
	for (uint32_t i = 0; i < 256; i++)
		post(&filler, there, bqp.num ^ 1U << 16, i);
	env_steps(8);
	assert_int_equal(env_sq_used(&filler), 256);
}

static void run_for(uint64_t ns)
{
	uint64_t end = env.now + ns;

	while (env.now < end)
		env_step();
}

/* A datagram to the one that takes nothing is over at once, and the one behind it is with the other. */
static void other_is_served(void (*stage)(void))
{
	uint64_t begin;

	stage();
	begin = env.now;
	post_there(1);
	post_here(2);
	assert_int_equal(env_wait(&owncq).imm, 2);
	done(&acq, 1, IBV_WC_SEND);
	done(&acq, 2, IBV_WC_SEND);
	assert_true(env.now - begin < WAIT_NS);
	pair_close();
}

static void unreachable(void **state)
{
	(void)state;
	other_is_served(stage_without_peer);
}

static void full(void **state)
{
	(void)state;
	other_is_served(stage_full);
}

/* Behind more than may be held, and a send queue that has room for no more, no destination waits for ever. */
static void full_for_long(void **state)
{
	uint32_t n = 0;

	(void)state;
	stage_full();
	for (uint32_t i = 0; i < 240; i++)
		post_there(i);
	post_here(7);
	assert_int_equal(env_wait(&owncq).imm, 7);
	/* What has not been held yet keeps its place: an application that floods is held up, not robbed. */
	n = polled(&acq);
	assert_true(n >= 64 && n < 241);
	assert_int_equal(lost(), 0);
	run_for(4000000000ULL);
	n += polled(&acq);
	assert_int_equal(n, 241);
	pair_close();
}

/* What waited for a connection goes before what comes later. */
static void in_order(void **state)
{
	(void)state;
	stage_without_peer();
	for (uint32_t i = 0; i < 40; i++)
		post_there(i);
	run_for(10000000);
	assert_int_equal(polled(&acq), 40);
	env.host[0].deaf = false;
	for (uint32_t i = 40; i < 60; i++) {
		post_there(i);
		run_for(100000000);
	}
	for (uint32_t i = 0; i < 60; i++)
		arrives_there(i);
	assert_int_equal(lost(), 0);
	pair_close();
}

/* Likewise of a connection that was full, with more than may be held. The filler's are for nobody. */
static void in_order_when_full(void **state)
{
	(void)state;
	stage_full();
	for (uint32_t i = 0; i < BUFFERS; i++)
		post_there(i);
	run_for(1000000);
	assert_true(env_sq_used(&aqp) > 0 && env_sq_used(&aqp) < BUFFERS);
	env.host[1].dark = false;
	for (uint32_t i = 0; i < BUFFERS; i++)
		arrives_there(i);
	assert_int_equal(lost(), 0);
	pair_close();
}

/* Memory that is shared with the agent is the application's again with the completion. */
static void from_shared_memory(void **state)
{
	struct fverbs_reg_mr req = { .access = IBV_ACCESS_LOCAL_WRITE, .addr = ENV_SHM - 4096,
				     .length = 4096, .iova = 0x10000, .area_plus_1 = 1 };
	struct fverbs_send_wqe w;
	struct fverbs_sge sge;
	struct fverbs_mr am;

	(void)state;
	stage_without_peer();
	req.pd = a.pd;
	assert_int_equal(env_cmd(&a, FVERBS_REG_MR, &req, sizeof(req), &am, sizeof(am)), 0);
	memcpy(a.shm + ENV_SHM - 4096, a.memory + 5, SIZE);
	w = (struct fverbs_send_wqe){ .wr_id = 1, .opcode = IBV_WR_SEND_WITH_IMM, .imm = 5, .num_sge = 1,
				      .flags = IBV_SEND_SIGNALED, .ah = there, .remote_qpn = bqp.num,
				      .remote_qkey = 0x1111 };
	sge = (struct fverbs_sge){ 0x10000, SIZE, am.lkey };
	env_post_send(&aqp, &w, &sge);
	run_for(100000);
	assert_int_equal(polled(&acq), 1);
	memset(a.shm + ENV_SHM - 4096, 0xee, SIZE);
	env.host[0].deaf = false;
	arrives_there(5);
	pair_close();
}

/* Of a peer that is not there, no more is kept than there is room for; the rest is lost, and counted. */
static void bounded(void **state)
{
	uint32_t n = 0, sent = 1;

	(void)state;
	stage_without_peer();
	/* In vain for once: it is unreachable. */
	post_there(0);
	run_for(4000000000ULL);
	assert_int_equal(lost(), 1);
	for (; sent < 600; sent++) {
		post_there(sent);
		env_step();
		n += polled(&acq);
	}
	run_for(100000);
	n += polled(&acq);
	assert_int_equal(n, sent);
	assert_true(lost() >= sent - LINK_HELD_MAX);
	/* Another queue pair has its share. */
	post(&filler, there, bqp.num, 9);
	run_for(100000);
	assert_int_equal(polled(&fillcq), 1);
	assert_int_equal(rdma_qp_stats(rdma_qp_find(env.host[0].r, filler.num))->lost, 0);
	env.host[0].deaf = false;
	for (uint32_t i = 0; i < sent - lost(); i++)
		arrives_there(1 + i);
	assert_int_equal(env_wait(&bcq).src_qp, filler.num);
	pair_close();
}

/* More than may be held, before the peer is there for the first time: all of it arrives. */
static void first_burst(void **state)
{
	(void)state;
	stage_without_peer();
	for (uint32_t i = 0; i < BUFFERS; i++)
		post_there(i);
	run_for(100000);
	assert_in_range(polled(&acq), 1, LINK_HELD_MAX / 2);
	env.host[0].deaf = false;
	for (uint32_t i = 0; i < BUFFERS; i++)
		arrives_there(i);
	assert_int_equal(lost(), 0);
	pair_close();
}

/* Nobody comes: what is held is lost, and what is sent then is held again. */
static void link_fails(void **state)
{
	(void)state;
	stage_without_peer();
	for (uint32_t i = 0; i < 10; i++)
		post_there(i);
	run_for(10000000000ULL);
	assert_int_equal(polled(&acq), 10);
	assert_int_equal(lost(), 10);
	env.host[0].deaf = false;
	post_there(99);
	arrives_there(99);
	pair_close();
}

/* The connection ends under what it has, and what waits for room in it. */
static void connection_ends(void **state)
{
	(void)state;
	stage_full();
	for (uint32_t i = 0; i < 240; i++)
		post_there(i);
	run_for(1000000);
	for (uint32_t cid = 1; cid < ENV_CONNS; cid++)
		if (env.host[0].conns[cid].core && env.host[0].conns[cid].peer_host == 1)
			env_end_conn(&env.host[0], cid);
	for (uint32_t cid = 1; cid < ENV_CONNS; cid++)
		if (env.host[1].conns[cid].core)
			env_end_conn(&env.host[1], cid);
	env.host[1].dark = false;
	run_for(8000000000ULL);
	assert_int_equal(polled(&acq), 240);
	assert_int_equal(env_sq_used(&aqp), 0);
	pair_close();
}

/* What holds datagrams goes, at any time: first the queue pair, or its handle, or the application. */
static void all_go(void (*stage)(void), unsigned int steps, int what)
{
	stage();
	for (uint32_t i = 0; i < 240; i++)
		post_there(i);
	env_steps(steps);
	if (what == 0)
		env_qp_close(&aqp);
	if (what == 1)
		ah_close(there);
	if (what == 2)
		env_modify(&aqp, IBV_QP_STATE, &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_RESET });
	if (what == 3)
		env_modify(&aqp, IBV_QP_STATE, &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_ERR });
	env_steps(20);
	env.host[0].deaf = env.host[1].dark = false;
	if (what != 4)
		run_for(5000000000ULL);
	pair_close();
}

static void owners_go(void **state)
{
	(void)state;
	for (int what = 0; what < 5; what++) {
		for (unsigned int steps = 0; steps < 12; steps += 2) {
			all_go(stage_without_peer, steps, what);
			all_go(stage_full, steps, what);
		}
	}
}

/* An error of the send queue takes nothing back that has been completed. */
static void send_error(void **state)
{
	(void)state;
	stage_without_peer();
	for (uint32_t i = 0; i < 5; i++)
		post_there(i);
	post(&aqp, there + 1000, bqp.num, 5);
	for (uint32_t i = 0; i < 5; i++)
		done(&acq, i, IBV_WC_SEND);
	assert_int_equal(env_wait(&acq).status, IBV_WC_LOC_QP_OP_ERR);
	assert_int_equal(env_state(&aqp), IBV_QPS_SQE);
	env.host[0].deaf = false;
	for (uint32_t i = 0; i < 5; i++)
		arrives_there(i);
	pair_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unreachable),
		cmocka_unit_test(full),
		cmocka_unit_test(full_for_long),
		cmocka_unit_test(in_order),
		cmocka_unit_test(in_order_when_full),
		cmocka_unit_test(from_shared_memory),
		cmocka_unit_test(bounded),
		cmocka_unit_test(first_burst),
		cmocka_unit_test(link_fails),
		cmocka_unit_test(connection_ends),
		cmocka_unit_test(owners_go),
		cmocka_unit_test(send_error),
	};

	return unit_run(tests);
}
