// SPDX-License-Identifier: BSD-2-Clause
/*
 * Complete-in-error mode (RDMA 6.3): a message fails at one end, the other end hears of it, and what follows
 * has its own numbers and receive requests.
 */
#include "rdma_pair.h"

static const uint32_t orderings[] = { FVERBS_STRONGLY_ORDERED, FVERBS_WEAKLY_ORDERED };

/* A message that does not fit fails alone; what comes after it has requests of its own. */
static void receive_error(void **state)
{
	struct env_qp_opts o = { .errors = FVERBS_COMPLETE_IN_ERROR, .sig_all = true };
	struct fverbs_send_wqe w = { .opcode = IBV_WR_SEND, .num_sge = 1 };
	struct fverbs_sge sge, to;

	(void)state;
	pair_open(&o);
	sge = sge_of(&a, &amr, 0, 5000);
	to = sge_of(&b, &bmr, HALF, 1000);
	env_post_recv(&bqp, 1, &to, 1);
	to = sge_of(&b, &bmr, HALF, 5000);
	env_post_recv(&bqp, 2, &to, 1);
	env_post_send(&aqp, &w, &sge);
	env_post_send(&aqp, &w, &sge);
	assert_int_equal(env_wait(&acq).status, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(env_wait(&acq).status, IBV_WC_SUCCESS);
	assert_int_equal(env_wait(&bcq).status, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(env_wait(&bcq).status, IBV_WC_SUCCESS);
	assert_memory_equal(b.memory + HALF, a.memory, 5000);
	pair_close();
}

/* A SEND of which no packet leaves has no number: the next one is the peer's next. */
static void send_fails_before_its_first_packet(void **state)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_SEND, .num_sge = 1 };
	struct fverbs_sge sge, to;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(orderings); i++) {
		pair_open(&(struct env_qp_opts){ .errors = FVERBS_COMPLETE_IN_ERROR, .sig_all = true,
						 .ordering = orderings[i] });
		to = sge_of(&b, &bmr, HALF, 100);
		env_post_recv(&bqp, 1, &to, 1);
		sge = sge_of(&a, &amr, 0, 100);
		sge.lkey ^= 1;
		env_post_send(&aqp, &w, &sge);
		assert_int_equal(env_wait(&acq).status, IBV_WC_LOC_PROT_ERR);
		sge.lkey ^= 1;
		env_post_send(&aqp, &w, &sge);
		done(&acq, 0, IBV_WC_SEND);
		done(&bcq, 1, IBV_WC_RECV);
		assert_memory_equal(b.memory + HALF, a.memory, 100);
		pair_close();
	}
}

/* RDMA 8.2, CE: a key goes in mid-message; the receiver hears of the end, and what follows arrives. */
static void key_goes_in_mid_message(uint8_t opcode, uint32_t ordering)
{
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = opcode, .num_sge = 1 };
	struct fverbs_sge sge, to;
	struct fverbs_handle h;
	struct env_mr mr;

	pair_open(&(struct env_qp_opts){ .errors = FVERBS_COMPLETE_IN_ERROR, .sig_all = true,
					 .ordering = ordering });
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory;
	to = sge_of(&b, &bmr, 0, HALF);
	env_post_recv(&bqp, 11, &to, 1);
	env_post_recv(&bqp, 12, &to, 1);
	mr = env_reg(&a, 0, HALF, 0);
	sge = sge_of(&a, &mr, 0, HALF);
	env_post_send(&aqp, &w, &sge);
	/* Some of its packets have been made, not all. */
	env_steps(3);
	assert_int_equal(env_sq_used(&aqp), 1);
	h.handle = mr.handle;
	assert_int_equal(env_cmd(&a, FVERBS_DEREG_MR, &h, sizeof(h), NULL, 0), 0);
	assert_int_equal(env_wait(&acq).status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(env_wait(&bcq).status, IBV_WC_REM_ABORT_ERR);
	w.wr_id = 2;
	sge = sge_of(&a, &amr, 0, 5000);
	env_post_send(&aqp, &w, &sge);
	assert_int_equal(env_wait(&acq).status, IBV_WC_SUCCESS);
	assert_int_equal(env_wait(&bcq).status, IBV_WC_SUCCESS);
	assert_memory_equal(b.memory, a.memory, 5000);
	assert_int_equal(env_rq_used(&bqp), 0);
	pair_close();
}

static void keys_go_in_mid_message(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(orderings); i++) {
		key_goes_in_mid_message(IBV_WR_SEND, orderings[i]);
		key_goes_in_mid_message(IBV_WR_SEND_WITH_IMM, orderings[i]);
		key_goes_in_mid_message(IBV_WR_RDMA_WRITE_WITH_IMM, orderings[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receive_error),
		cmocka_unit_test(send_fails_before_its_first_packet),
		cmocka_unit_test(keys_go_in_mid_message),
	};

	return unit_run(tests);
}
