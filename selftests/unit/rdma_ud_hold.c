// SPDX-License-Identifier: BSD-2-Clause
/*
 * Datagrams of one queue pair to two destinations, of which one is not there, or takes nothing: the other has
 * its own all the same.
 */
#include "rdma_ud.h"

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
	(void)state;
	stage_without_peer();
	post_shared(SIZE);
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
			all_go(stage_dying, steps, what);
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
