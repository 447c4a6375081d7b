// SPDX-License-Identifier: BSD-2-Clause
/*
 * The order of datagrams (RDMA 6.2, 6.4): those of strongly ordered queue pairs arrive as they were sent,
 * over an ordered connection, those of others as they come, over another one with the same peer.
 */
#include "rdma_pair.h"

#include <string.h>

enum { COUNT = 60, SIZE = 100, ROOM = SIZE + 40 };

static uint32_t ah_open(void)
{
	struct fverbs_create_ah req = { .pd = a.pd, .attr = { .is_global = 1, .port_num = 1 } };
	struct fverbs_handle h;

	req.attr.dgid[10] = req.attr.dgid[11] = 0xff;
	req.attr.dgid[12] = 10;
	req.attr.dgid[15] = 2;
	assert_int_equal(env_cmd(&a, FVERBS_CREATE_AH, &req, sizeof(req), &h, sizeof(h)), 0);
	return h.handle;
}

static void receives(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct fverbs_sge to = sge_of(&b, &bmr, HALF + i * ROOM, ROOM);

		env_post_recv(&bqp, i, &to, 1);
	}
}

/* |i|'s immediate data tell it from others. */
static void post(struct env_qp *qp, uint32_t ah, uint32_t i, uint32_t len)
{
	struct fverbs_send_wqe w = { .wr_id = i, .opcode = IBV_WR_SEND_WITH_IMM, .imm = i, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED, .ah = ah, .remote_qpn = bqp.num,
				     .remote_qkey = 0x1111 };
	struct fverbs_sge sge = sge_of(&a, &amr, i, len);

	env_post_send(qp, &w, &sge);
}

/* Connections of host |a| that are ordered, or that are not. */
static unsigned int connections(bool ordered)
{
	unsigned int n = 0;

	for (uint32_t cid = 1; cid < ENV_CONNS; cid++)
		n += env.host[0].conns[cid].core && env.host[0].conns[cid].ordered == ordered;
	return n;
}

/* |n| datagrams arrive. Returns how many of them have not the place in which they were sent. */
static unsigned int out_of_order(uint32_t n)
{
	unsigned int odd = 0;
	uint64_t seen = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct fverbs_cqe c = env_wait(&bcq);

		assert_int_equal(c.status, IBV_WC_SUCCESS);
		/* Receive requests in their order, each datagram once. */
		assert_int_equal(c.wr_id, i);
		assert_true(c.imm < n && !(seen >> c.imm & 1));
		seen |= 1ULL << c.imm;
		assert_memory_equal(b.memory + HALF + i * ROOM + 40, a.memory + c.imm, SIZE);
		odd += c.imm != i;
	}
	return odd;
}

static unsigned int sent_over_a_bad_wire(const struct env_qp_opts *opts)
{
	unsigned int odd;
	uint32_t ah;

	pair_open(opts);
	receives(COUNT);
	ah = ah_open();
	env_steps(20);
	env.faults = (struct env_faults){ .reorder = 50, .jitter = 3000, .loss = 5 };
	for (uint32_t i = 0; i < COUNT; i++)
		post(&aqp, ah, i, SIZE);
	odd = out_of_order(COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		done(&acq, i, IBV_WC_SEND);
	assert_int_equal(connections(opts->ordering == FVERBS_STRONGLY_ORDERED), 1);
	assert_int_equal(connections(opts->ordering != FVERBS_STRONGLY_ORDERED), 0);
	pair_close();
	return odd;
}

static void s6_4_strongly_ordered(void **state)
{
	(void)state;
	assert_int_equal(sent_over_a_bad_wire(&(struct env_qp_opts){ .type = IBV_QPT_UD }), 0);
}

static void s6_4_weakly_ordered(void **state)
{
	const struct env_qp_opts opts = { .type = IBV_QPT_UD, .ordering = FVERBS_WEAKLY_ORDERED };

	(void)state;
	assert_true(sent_over_a_bad_wire(&opts) > 0);
}

/* One handle, and queue pairs of both kinds: each takes the connection of its kind. */
static void both_through_one_handle(void **state)
{
	const struct env_qp_opts weak = { .type = IBV_QPT_UD, .ordering = FVERBS_WEAKLY_ORDERED };
	struct fverbs_handle h;
	struct env_qp other;
	struct env_cq cq;

	(void)state;
	pair_open(&(struct env_qp_opts){ .type = IBV_QPT_UD });
	h.handle = ah_open();
	env_steps(20);
	assert_int_equal(connections(true), 1);
	assert_int_equal(connections(false), 0);
	env_cq_open(&a, &cq, 64);
	env_qp_open(&a, &cq, &weak, &other);
	env_to_init(&other, 0);
	env_to_rtr(&other, &env.host[1], 0);
	env_to_rts(&other);
	receives(2);
	post(&other, h.handle, 0, SIZE);
	done(&cq, 0, IBV_WC_SEND);
	assert_int_equal(env_wait(&bcq).src_qp, other.num);
	assert_int_equal(connections(false), 1);
	post(&aqp, h.handle, 1, SIZE);
	done(&acq, 1, IBV_WC_SEND);
	assert_int_equal(env_wait(&bcq).src_qp, aqp.num);
	/* From now on, handles of this domain are for weakly ordered queue pairs first. */
	assert_int_equal(env_cmd(&a, FVERBS_DESTROY_AH, &h, sizeof(h), NULL, 0), 0);
	assert_int_equal(connections(true) + connections(false), 2);
	pair_close();
}

/* What an application of weakly ordered queue pairs alone never uses is not connected. */
static void one_connection_does(void **state)
{
	(void)state;
	pair_open(&(struct env_qp_opts){ .type = IBV_QPT_UD, .ordering = FVERBS_WEAKLY_ORDERED });
	ah_open();
	env_steps(20);
	assert_int_equal(connections(false), 1);
	assert_int_equal(connections(true), 0);
	pair_close();
}

/* One that is too long for its receive request has its completion behind those before it. */
static void s6_4_errors_in_order(void **state)
{
	struct fverbs_sge tight;
	uint32_t ah;

	(void)state;
	pair_open(&(struct env_qp_opts){ .type = IBV_QPT_UD });
	receives(2);
	tight = sge_of(&b, &bmr, HALF + 2 * ROOM, 50);
	env_post_recv(&bqp, 2, &tight, 1);
	ah = ah_open();
	env_steps(20);
	/* They arrive while no copy is made. */
	env.host[1].still = true;
	for (uint32_t i = 0; i < 3; i++)
		post(&aqp, ah, i, SIZE);
	for (uint32_t i = 0; i < 3; i++)
		done(&acq, i, IBV_WC_SEND);
	env.host[1].still = false;
	done(&bcq, 0, IBV_WC_RECV);
	done(&bcq, 1, IBV_WC_RECV);
	assert_int_equal(env_wait(&bcq).status, IBV_WC_LOC_LEN_ERR);
	pair_close();
}

/* The same when the queue pair ends before the copies are made. */
static void s6_4_flushed_in_order(void **state)
{
	uint32_t ah;

	(void)state;
	pair_open(&(struct env_qp_opts){ .type = IBV_QPT_UD });
	receives(4);
	ah = ah_open();
	env_steps(20);
	env.host[1].still = true;
	for (uint32_t i = 0; i < 3; i++)
		post(&aqp, ah, i, SIZE);
	for (uint32_t i = 0; i < 3; i++)
		done(&acq, i, IBV_WC_SEND);
	assert_int_equal(env_modify(&bqp, IBV_QP_STATE,
				    &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_ERR }), 0);
	env.host[1].still = false;
	for (uint32_t i = 0; i < 4; i++) {
		struct fverbs_cqe c = env_wait(&bcq);

		assert_int_equal(c.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(c.wr_id, i);
	}
	pair_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s6_4_strongly_ordered),
		cmocka_unit_test(s6_4_weakly_ordered),
		cmocka_unit_test(both_through_one_handle),
		cmocka_unit_test(one_connection_does),
		cmocka_unit_test(s6_4_errors_in_order),
		cmocka_unit_test(s6_4_flushed_in_order),
	};

	return unit_run(tests);
}
