// SPDX-License-Identifier: BSD-2-Clause
/* RC queue pairs end to end: every operation, by size, and what it leaves in memory. */
#include "rdma_pair.h"

#include <string.h>

#include <falcon/wire/wire.h>
#include <ulp/rdma/link.h>
#include <ulp/rdma/qp.h>

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

/* A packet on |aqp|'s connection for another queue pair of b, |dest|, as a's host should not send it. */
static void push_for(uint32_t dest, uint8_t *bytes)
{
	struct falcon_rdma_hdr h = { .opcode = FALCON_RDMA_WRITE_ONLY, .dest_qp = dest, .sn = 1,
				     .rkey = bmr.rkey, .va = (uintptr_t)b.memory, .length = 8 };
	struct fcore_conn *c = rdma_link_core(rdma_qp_find(env.host[0].r, aqp.num)->link);
	struct fcore_txn t = { .proto = FALCON_PROTO_RDMA, .ulp_hdr = bytes, .payload = bytes + 64,
			       .len = 8 };

	t.ulp_hdr_len = falcon_rdma_pack(&h, bytes);
	assert_int_equal(fcore_push(c, &t, env.now), 0);
	env_steps(20);
}

static void s6_9_connection_of_another_queue_pair(void **state)
{
	uint8_t bytes[2][72] = {}, before[8];
	struct fverbs_send_wqe w = { .wr_id = 5, .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED };
	struct env_qp x, y;
	struct fverbs_sge sge;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	env_qp_open(&a, &acq, &(struct env_qp_opts){ 0 }, &x);
	env_qp_open(&b, &bcq, &(struct env_qp_opts){ 0 }, &y);
	env_connect(&x, &y);
	env_steps(20);
	memcpy(before, b.memory, sizeof(before));
	push_for(y.num, bytes[0]);
	push_for(y.num ^ 0x800000, bytes[1]);
	assert_memory_equal(b.memory, before, sizeof(before));
	assert_int_equal(rdma_qp_stats(rdma_qp_find(env.host[1].r, y.num))->rx_packets, 0);
	/* Neither queue pair ends with it, nor the one whose connection it was. */
	assert_int_equal(env_state(&y), IBV_QPS_RTS);
	assert_int_equal(env_state(&bqp), IBV_QPS_RTS);
	sge = sge_of(&a, &amr, 0, 64);
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 5, IBV_WC_RDMA_WRITE);
	env_post_send(&x, &w, &sge);
	done(&acq, 5, IBV_WC_RDMA_WRITE);
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

static enum rdma_drain_state drain_of(const struct env_qp *qp, struct rdma_drain *d)
{
	return rdma_qp_drain(qp->app->host->r, qp->num, d);
}

/* The acknowledgment of a SEND is late; its completion comes, and is polled. */
static void through_with_what_was_under_way(void **state)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .num_sge = 1 };
	struct rdma_drain at_a, at_b, none;
	struct fverbs_sge from, to;
	struct fverbs_cqe c;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	from = sge_of(&a, &amr, 0, 8);
	to = sge_of(&b, &bmr, 0, 8);
	env_post_recv(&bqp, 1, &to, 1);
	env_post_send(&aqp, &w, &from);
	while (!rdma_qp_find(env.host[0].r, aqp.num)->init.sq.pos)
		env_step();
	rdma_qp_drain_begin(env.host[0].r, aqp.num, &at_a);
	assert_int_equal(drain_of(&aqp, &at_a), RDMA_DRAIN_SENDING);
	/* Not what it is asked for afterwards: b never receives that. */
	env_post_send(&aqp, &w, &from);
	while (drain_of(&aqp, &at_a) == RDMA_DRAIN_SENDING)
		env_step();
	assert_int_equal(drain_of(&aqp, &at_a), RDMA_DRAIN_UNPOLLED);
	env_steps(20);
	assert_int_equal(drain_of(&aqp, &at_a), RDMA_DRAIN_UNPOLLED);
	assert_true(env_poll(&acq, &c));
	assert_int_equal(drain_of(&aqp, &at_a), RDMA_DRAIN_DONE);
	/* The receiver has sent nothing, and has something to poll. */
	rdma_qp_drain_begin(env.host[1].r, bqp.num, &at_b);
	assert_int_equal(drain_of(&bqp, &at_b), RDMA_DRAIN_UNPOLLED);
	assert_true(env_poll(&bcq, &c));
	assert_int_equal(drain_of(&bqp, &at_b), RDMA_DRAIN_DONE);
	/* Error and flush end requests, and one without a queue pair is through. */
	rdma_qp_drain_begin(env.host[0].r, aqp.num, &at_a);
	assert_int_equal(drain_of(&aqp, &at_a), RDMA_DRAIN_SENDING);
	env_modify(&aqp, IBV_QP_STATE, &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_ERR });
	while (drain_of(&aqp, &at_a) == RDMA_DRAIN_SENDING)
		env_step();
	env_wait(&acq);
	assert_int_equal(drain_of(&aqp, &at_a), RDMA_DRAIN_DONE);
	rdma_qp_drain_begin(env.host[0].r, 0xfffff, &none);
	assert_int_equal(rdma_qp_drain(env.host[0].r, 0xfffff, &none), RDMA_DRAIN_DONE);
	pair_close();
}

static void resize(struct env_host *h, uint32_t max_len)
{
	for (uint32_t cid = 1; cid <= h->ncids; cid++)
		rdma_ulp_ops.conn_resized(h->r, cid, max_len);
}

/* The path becomes smaller and larger while messages are cut for it. */
static void path_changes(void **state)
{
	const uint32_t len[] = { 300, ENV_MAX_LEN, 500, 301, 800 };
	struct fverbs_send_wqe w = { .opcode = IBV_WR_RDMA_WRITE, .flags = IBV_SEND_SIGNALED, .num_sge = 1 };
	struct fverbs_send_wqe r = { .wr_id = 1, .opcode = IBV_WR_RDMA_READ, .flags = IBV_SEND_SIGNALED,
				     .num_sge = 1 };
	struct fverbs_sge from, to;
	struct fverbs_cqe c;
	unsigned int completed = 0;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	from = sge_of(&a, &amr, 0, 100000);
	to = sge_of(&a, &amr, HALF, 100000);
	w.rkey = r.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory + HALF;
	r.remote_addr = (uintptr_t)b.memory;
	env_post_send(&aqp, &w, &from);
	env_post_send(&aqp, &r, &to);
	for (uint32_t step = 0; completed < 2; step++) {
		resize(&env.host[0], len[step % ARRAY_SIZE(len)]);
		env_step();
		while (env_poll(&acq, &c)) {
			assert_int_equal(c.status, IBV_WC_SUCCESS);
			assert_int_equal(c.wr_id, completed++);
		}
	}
	assert_memory_equal(b.memory + HALF, a.memory, 100000);
	assert_memory_equal(a.memory + HALF, b.memory, 100000);
	pair_close();
}

static uint32_t shortest;

static void measure(const struct env_host *host, const uint8_t *packet, uint32_t len)
{
	struct falcon_hdr f;

	(void)host;
	if (falcon_hdr_unpack(packet, packet + len, &f) == FALCON_WIRE_OK && f.type == FALCON_PUSH_DATA &&
	    f.request_len < shortest)
		shortest = f.request_len;
}

/* A message that an unordered peer cannot put together stays in one piece once it is begun. */
static void path_shrinks_under_one_message(void **state)
{
	const uint32_t len = ENV_MAX_LEN - FALCON_RDMA_MAX_HDR;
	struct fverbs_send_wqe w = { .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .num_sge = 1 };
	struct fverbs_sge from, to;
	struct fverbs_cqe c;
	struct rdma_qps *qps;
	uint32_t max;

	(void)state;
	pair_open(&(struct env_qp_opts){ .ordering = FVERBS_UNORDERED, .errors = FVERBS_COMPLETE_IN_ERROR });
	qps = env.host[0].r->qps;
	from = sge_of(&a, &amr, 0, len);
	to = sge_of(&b, &bmr, HALF, len);
	env_post_recv(&bqp, 7, &to, 1);
	env_steps(100);
	max = qps->txns.max;
	qps->txns.max = 0;
	shortest = UINT32_MAX;
	env.tap = measure;
	env_post_send(&aqp, &w, &from);
	env_steps(100);
	assert_true(qps->starved);
	resize(&env.host[0], 300);
	qps->txns.max = max;
	/* But none is begun. */
	w.wr_id = 1;
	env_post_send(&aqp, &w, &from);
	for (int i = 0; i < 2; i++) {
		c = env_wait(&acq);
		assert_int_equal(c.status, c.wr_id ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS);
	}
	assert_in_range(shortest, len, ENV_MAX_LEN);
	assert_int_equal(done(&bcq, 7, IBV_WC_RECV).byte_len, len);
	assert_memory_equal(b.memory + HALF, a.memory, len);
	pair_close();
}

/*
 * A queue pair goes when its application has all that it wants, and its peer is one SEND ahead: that fails
 * only with the connection, when the peer's application has long seen what came before, and ended too.
 */
static void send_to_a_queue_pair_that_has_gone(void **state)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .num_sge = 1 };
	struct fverbs_send_wqe read = { .wr_id = 1, .opcode = IBV_WR_RDMA_READ, .flags = IBV_SEND_SIGNALED,
					.num_sge = 1, .rkey = 1 };
	struct fverbs_sge from;
	struct fverbs_cqe c;
	uint64_t gone;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	from = sge_of(&a, &amr, 0, 8);
	env_steps(100);
	env_qp_close(&bqp);
	gone = env.now;
	env_post_send(&aqp, &w, &from);
	env_post_send(&aqp, &read, &from);
	while (!env_poll(&acq, &c))
		env_step();
	assert_true(env.now >= gone + LINK_LEAVE_MS * 1000000ULL);
	assert_int_equal(c.wr_id, 0);
	assert_int_not_equal(c.status, IBV_WC_SUCCESS);
	c = env_wait(&acq);
	assert_int_equal(c.wr_id, 1);
	assert_int_not_equal(c.status, IBV_WC_SUCCESS);
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
		cmocka_unit_test(s6_9_connection_of_another_queue_pair),
		cmocka_unit_test(what_is_not_completed_stays_in_the_queues),
		cmocka_unit_test(through_with_what_was_under_way),
		cmocka_unit_test(path_changes),
		cmocka_unit_test(path_shrinks_under_one_message),
		cmocka_unit_test(send_to_a_queue_pair_that_has_gone),
	};

	return unit_run(tests);
}
