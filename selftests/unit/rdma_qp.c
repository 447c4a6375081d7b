// SPDX-License-Identifier: BSD-2-Clause
/* RC queue pairs end to end: every operation, by size, and what it leaves in memory. */
#include "rdma_pair.h"

#include <string.h>

/* |n| elements of uneven lengths that name |len| bytes from |off| on, in order. */
static uint32_t split(struct env_app *app, struct env_mr *mr, uint32_t off, uint32_t len, uint32_t n,
		      struct fverbs_sge *out)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t part = i + 1 == n ? len : len / (n - i) / 2;

		out[i] = sge_of(app, mr, off, part);
		off += part;
		len -= part;
	}
	return n;
}

static const uint32_t sizes[] = { 0, 1, 8, 963, 964, 965, 1928, 5000, 100000 };

static void s6_7_write(void **state)
{
	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	for (uint32_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct fverbs_sge sge[5];
		struct fverbs_send_wqe w = { .wr_id = i, .opcode = IBV_WR_RDMA_WRITE,
					     .flags = IBV_SEND_SIGNALED, .rkey = bmr.rkey,
					     .remote_addr = (uintptr_t)b.memory + HALF };

		w.num_sge = (uint8_t)split(&a, &amr, 11, sizes[i], 1 + i % 5, sge);
		env_post_send(&aqp, &w, sge);
		done(&acq, i, IBV_WC_RDMA_WRITE);
		assert_memory_equal(b.memory + HALF, a.memory + 11, sizes[i]);
	}
	pair_close();
}

static void s6_7_read(void **state)
{
	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	for (uint32_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct fverbs_sge sge[5];
		struct fverbs_send_wqe w = { .wr_id = i, .opcode = IBV_WR_RDMA_READ,
					     .flags = IBV_SEND_SIGNALED, .rkey = bmr.rkey,
					     .remote_addr = (uintptr_t)b.memory + 5 };
		struct fverbs_cqe c;

		w.num_sge = (uint8_t)split(&a, &amr, HALF + 3, sizes[i], 1 + i % 5, sge);
		env_post_send(&aqp, &w, sge);
		c = done(&acq, i, IBV_WC_RDMA_READ);
		assert_int_equal(c.byte_len, sizes[i]);
		assert_memory_equal(a.memory + HALF + 3, b.memory + 5, sizes[i]);
	}
	pair_close();
}

static void s6_7_send(void **state)
{
	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	for (uint32_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct fverbs_sge sge[5], to[4];
		struct fverbs_send_wqe w = { .wr_id = i, .opcode = IBV_WR_SEND_WITH_IMM,
					     .flags = IBV_SEND_SIGNALED, .imm = 0x01020304 + i };
		struct fverbs_cqe c;

		env_post_recv(&bqp, 100 + i, to, split(&b, &bmr, HALF, sizes[i] + 10, 1 + i % 4, to));
		w.num_sge = (uint8_t)split(&a, &amr, 77, sizes[i], 1 + i % 5, sge);
		env_post_send(&aqp, &w, sge);
		done(&acq, i, IBV_WC_SEND);
		c = done(&bcq, 100 + i, IBV_WC_RECV);
		assert_int_equal(c.byte_len, sizes[i]);
		assert_int_equal(c.imm, 0x01020304 + i);
		assert_int_equal(c.wc_flags, IBV_WC_WITH_IMM);
		assert_int_equal(c.qp_num, bqp.num);
		assert_memory_equal(b.memory + HALF, a.memory + 77, sizes[i]);
	}
	pair_close();
}

static void write_with_immediate(void **state)
{
	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	for (uint32_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct fverbs_sge sge = sge_of(&a, &amr, 1, sizes[i]);
		struct fverbs_send_wqe w = { .wr_id = i, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
					     .flags = IBV_SEND_SIGNALED, .num_sge = 1, .imm = i,
					     .rkey = bmr.rkey,
					     .remote_addr = (uintptr_t)b.memory + HALF };
		struct fverbs_cqe c;

		env_post_recv(&bqp, 100 + i, NULL, 0);
		env_post_send(&aqp, &w, &sge);
		done(&acq, i, IBV_WC_RDMA_WRITE);
		c = done(&bcq, 100 + i, IBV_WC_RECV_RDMA_WITH_IMM);
		assert_int_equal(c.byte_len, sizes[i]);
		assert_int_equal(c.imm, i);
		assert_memory_equal(b.memory + HALF, a.memory + 1, sizes[i]);
	}
	pair_close();
}

static uint64_t word(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static void atomics(void **state)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED };
	struct fverbs_sge sge;
	uint64_t old;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory + 64;
	w.compare_add = 5;
	sge = sge_of(&a, &amr, 8, 8);
	old = word(b.memory + 64);
	env_post_send(&aqp, &w, &sge);
	done(&acq, 0, IBV_WC_FETCH_ADD);
	assert_true(word(a.memory + 8) == old);
	assert_true(word(b.memory + 64) == old + 5);
	w.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	w.compare_add = old;
	w.swap = 99;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 0, IBV_WC_COMP_SWAP);
	assert_true(word(a.memory + 8) == old + 5);
	assert_true(word(b.memory + 64) == old + 5);
	w.compare_add = old + 5;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 0, IBV_WC_COMP_SWAP);
	assert_true(word(b.memory + 64) == 99);
	pair_close();
}

static bool taken(void *arg)
{
	const struct rdma_qp *qp = rdma_qp_find(env.host[1].r, bqp.num);

	(void)arg;
	return rdma_qp_parts(qp)->rq.pos == 1;
}

/*
 * Should the agent die now, the library has to flush what has been taken and not completed: the heads
 * stay before it, also when the context's end has made away with the queue pair.
 */
static void what_is_not_completed_stays_in_the_queues(void **state)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_SEND, .num_sge = 1 };
	struct fverbs_sge from, to;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	from = sge_of(&a, &amr, 0, 100000);
	to = sge_of(&b, &bmr, 0, 100000);
	env_post_recv(&bqp, 1, &to, 1);
	env_post_send(&aqp, &w, &from);
	assert_true(env_run(taken, NULL, 10000));
	assert_int_equal(env_rq_used(&bqp), 1);
	assert_int_equal(env_sq_used(&aqp), 1);
	env_qp_close(&aqp);
	env_qp_close(&bqp);
	assert_int_equal(env_rq_used(&bqp), 1);
	assert_int_equal(env_sq_used(&aqp), 1);
	pair_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s6_7_write),
		cmocka_unit_test(s6_7_read),
		cmocka_unit_test(s6_7_send),
		cmocka_unit_test(write_with_immediate),
		cmocka_unit_test(atomics),
		cmocka_unit_test(what_is_not_completed_stays_in_the_queues),
	};

	return unit_run(tests);
}
