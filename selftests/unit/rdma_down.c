// SPDX-License-Identifier: BSD-2-Clause
/*
 * A connection ends while packets of it wait to be placed. The agent is told so deep within its own
 * work, and memory of an application may keep it waiting for ever: no copy is made there. What has been
 * received is placed later, although the packets are gone.
 */
#include "rdma_pair.h"

#include <string.h>

enum { LEN = 3000, AT = 4096 };		/* of several packets, and where they go */

/* Host b has received all of what |qp| has posted, and placed nothing. */
static void received(void)
{
	b.host->still = true;
	for (unsigned int i = 0; i < 100; i++)
		env_step();
	assert_memory_not_equal(b.memory + AT, a.memory, LEN);
}

static void end_conns(struct env_host *h)
{
	for (uint32_t cid = 1; cid < ENV_CONNS; cid++)
		if (h->conns[cid].core)
			env_end_conn(h, cid);
}

static void post(uint8_t opcode)
{
	struct fverbs_send_wqe w = { .wr_id = 5, .opcode = opcode, .num_sge = 1, .rkey = bmr.rkey,
				     .remote_addr = (uintptr_t)b.memory + AT };
	struct fverbs_sge sge = sge_of(&a, &amr, 0, LEN);

	env_post_send(&aqp, &w, &sge);
}

static void a_send_is_placed_later(void **state)
{
	struct fverbs_sge sge;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	sge = sge_of(&b, &bmr, AT, LEN);
	env_post_recv(&bqp, 7, &sge, 1);
	post(IBV_WR_SEND);
	received();
	end_conns(b.host);
	assert_memory_not_equal(b.memory + AT, a.memory, LEN);
	b.host->still = false;
	assert_int_equal(done(&bcq, 7, IBV_WC_RECV).byte_len, LEN);
	assert_memory_equal(b.memory + AT, a.memory, LEN);
	pair_close();
}

/* Into several pieces of memory, each with a copy of its own. */
static void a_send_in_pieces_is_placed_later(void **state)
{
	struct fverbs_sge sge[] = { { 0 }, { 0 } };

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	sge[0] = sge_of(&b, &bmr, AT, 500);
	sge[1] = sge_of(&b, &bmr, 2 * AT, LEN - 500);
	env_post_recv(&bqp, 7, sge, 2);
	post(IBV_WR_SEND);
	received();
	end_conns(b.host);
	b.host->still = false;
	assert_int_equal(done(&bcq, 7, IBV_WC_RECV).byte_len, LEN);
	assert_memory_equal(b.memory + AT, a.memory, 500);
	assert_memory_equal(b.memory + 2 * AT, a.memory + 500, LEN - 500);
	pair_close();
}

static void a_write_is_placed_later(void **state)
{
	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	post(IBV_WR_RDMA_WRITE);
	received();
	end_conns(b.host);
	b.host->still = false;
	env_steps(10);
	assert_memory_equal(b.memory + AT, a.memory, LEN);
	assert_int_equal(env_state(&bqp), IBV_QPS_RTS);
	pair_close();
}

/* The queue pair goes before anything could be placed: nothing is, any more. */
static void nothing_is_placed_for_one_that_has_gone(void **state)
{
	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	post(IBV_WR_RDMA_WRITE);
	received();
	end_conns(b.host);
	env_qp_close(&bqp);
	b.host->still = false;
	env_steps(10);
	assert_memory_not_equal(b.memory + AT, a.memory, LEN);
	pair_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_send_is_placed_later),
		cmocka_unit_test(a_send_in_pieces_is_placed_later),
		cmocka_unit_test(a_write_is_placed_later),
		cmocka_unit_test(nothing_is_placed_for_one_that_has_gone),
	};

	return unit_run(tests);
}
