// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is not plain RC: states and their attributes, datagrams, windows and invalidation, draining, fences,
 * memory shared with the agent, a queue pair talking to itself.
 */
#include "rdma_pair.h"

#include <string.h>

#include <ulp/rdma/qp.h>

/* ---- states ---- */

static const uint32_t types[] = { IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV };

/* The masks that applications use, per type, from RESET to RTS. */
static const uint32_t needed[][4] = {
	[IBV_QPS_INIT] = { IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			   IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
			   IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			   IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	[IBV_QPS_RTR] = { IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			  0,
			  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
			  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
	[IBV_QPS_RTS] = { IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				  IBV_QP_MAX_QP_RD_ATOMIC,
			  IBV_QP_SQ_PSN,
			  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				  IBV_QP_MAX_QP_RD_ATOMIC,
			  IBV_QP_TIMEOUT | IBV_QP_SQ_PSN },
};

static void required_attributes(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < ARRAY_SIZE(types); k++) {
		for (uint8_t to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++) {
			uint32_t mask = needed[to][k];
			uint8_t type = (uint8_t)types[k], from = (uint8_t)(to - 1);

			assert_null(rdma_qp_transition(type, from, to, mask | IBV_QP_STATE));
			for (uint32_t bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1)
				if (mask & bit)
					assert_non_null(rdma_qp_transition(type, from, to,
									   mask & ~bit));
			assert_non_null(rdma_qp_transition(type, from, to, mask | IBV_QP_CAP));
		}
	}
}

/* From each state, to each state: what InfiniBand 10.3.1 draws, and nothing else. */
static void transitions(void **state)
{
	static const bool good[IBV_QPS_ERR + 1][IBV_QPS_ERR + 1] = {
		[IBV_QPS_RESET] = { [IBV_QPS_RESET] = 1, [IBV_QPS_ERR] = 1 },
		[IBV_QPS_INIT] = { [IBV_QPS_RESET] = 1, [IBV_QPS_INIT] = 1, [IBV_QPS_ERR] = 1 },
		[IBV_QPS_RTR] = { [IBV_QPS_RESET] = 1, [IBV_QPS_ERR] = 1 },
		[IBV_QPS_RTS] = { [IBV_QPS_RESET] = 1, [IBV_QPS_RTS] = 1, [IBV_QPS_SQD] = 1,
				  [IBV_QPS_ERR] = 1 },
		[IBV_QPS_SQD] = { [IBV_QPS_RESET] = 1, [IBV_QPS_RTS] = 1, [IBV_QPS_SQD] = 1,
				  [IBV_QPS_ERR] = 1 },
		[IBV_QPS_SQE] = { [IBV_QPS_RESET] = 1, [IBV_QPS_ERR] = 1 },
		[IBV_QPS_ERR] = { [IBV_QPS_RESET] = 1, [IBV_QPS_ERR] = 1 },
	};

	(void)state;
	/* Without attributes; those that need some are in the test above. */
	for (uint8_t from = 0; from <= IBV_QPS_ERR; from++)
		for (uint8_t to = 0; to <= IBV_QPS_ERR; to++)
			assert_int_equal(!rdma_qp_transition(IBV_QPT_RC, from, to, IBV_QP_STATE),
					 good[from][to]);
	assert_null(rdma_qp_transition(IBV_QPT_UD, IBV_QPS_SQE, IBV_QPS_RTS, IBV_QP_STATE));
}

static void uc_and_nonsense_refused(void **state)
{
	struct env_qp qp;

	(void)state;
	env_open(1);
	env_app_open(&a, &env.host[0], MEMORY);
	env_cq_open(&a, &acq, 64);
	assert_int_not_equal(env_qp_try(&a, &acq, &(struct env_qp_opts){ .type = IBV_QPT_UC }, &qp),
			     0);
	assert_int_not_equal(env_qp_try(&a, &acq, &(struct env_qp_opts){ .type = 99 }, &qp), 0);
	assert_int_not_equal(env_qp_try(&a, &acq,
					&(struct env_qp_opts){ .ordering = FVERBS_UNORDERED }, &qp),
			     0);
	env_app_close(&a);
	env_close();
}

static void drained(void **state)
{
	struct fverbs_qp_attr sqd = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED };
	struct fverbs_sge sge;
	struct fverbs_cqe c;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory;
	sge = sge_of(&a, &amr, 0, 20000);
	env_post_send(&aqp, &w, &sge);
	env_steps(8);
	assert_int_equal(env_modify(&aqp, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, &sqd), 0);
	w.wr_id = 2;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 1, IBV_WC_RDMA_WRITE);
	env_steps(500);
	assert_true(env_has_event(&a, IBV_EVENT_SQ_DRAINED));
	assert_false(env_poll(&acq, &c));
	assert_int_equal(env_modify(&aqp, IBV_QP_STATE,
				    &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_RTS }), 0);
	done(&acq, 2, IBV_WC_RDMA_WRITE);
	pair_close();
}

static void used_again_after_reset(void **state)
{
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED };

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	for (int i = 0; i < 5; i++) {
		env_post_recv(&bqp, 1, NULL, 0);
		env_post_send(&aqp, &w, NULL);
		done(&acq, 1, IBV_WC_SEND);
		done(&bcq, 1, IBV_WC_RECV);
		env_post_recv(&bqp, 2, NULL, 0);
		env_modify(&aqp, IBV_QP_STATE, &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_RESET });
		env_modify(&bqp, IBV_QP_STATE, &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_RESET });
		assert_int_equal(env_rq_used(&bqp), 0);
		env_steps(20);
		env_connect(&aqp, &bqp);
	}
	pair_close();
}

/* ---- datagrams ---- */

static uint32_t ah_open(struct env_app *app, const struct env_host *to)
{
	struct fverbs_create_ah req = { .pd = app->pd, .attr = { .is_global = 1, .port_num = 1 } };
	struct fverbs_handle h;

	req.attr.dgid[10] = req.attr.dgid[11] = 0xff;
	req.attr.dgid[12] = 10;
	req.attr.dgid[15] = (uint8_t)(to->index + 1);
	assert_int_equal(env_cmd(app, FVERBS_CREATE_AH, &req, sizeof(req), &h, sizeof(h)), 0);
	return h.handle;
}

/* With its connection: what the path carries is known. */
static uint32_t ah_connected(struct env_app *app, const struct env_host *to)
{
	uint32_t handle = ah_open(app, to);

	env_steps(20);
	return handle;
}

static void ud_open(void)
{
	pair_open(&(struct env_qp_opts){ .type = IBV_QPT_UD });
}

static struct fverbs_send_wqe datagram(uint32_t ah)
{
	return (struct fverbs_send_wqe){ .wr_id = 1, .opcode = IBV_WR_SEND_WITH_IMM, .imm = 0xabcd,
					 .num_sge = 1, .flags = IBV_SEND_SIGNALED, .ah = ah,
					 .remote_qpn = bqp.num, .remote_qkey = 0x1111 };
}

static void ud_carries_grh(void **state)
{
	struct fverbs_send_wqe w;
	struct fverbs_sge sge, to[3];
	struct fverbs_cqe c;
	uint8_t *grh;

	(void)state;
	ud_open();
	w = datagram(ah_open(&a, &env.host[1]));
	sge = sge_of(&a, &amr, 3, 500);
	to[0] = sge_of(&b, &bmr, HALF, 30);
	to[1] = sge_of(&b, &bmr, HALF + 30, 11);
	to[2] = sge_of(&b, &bmr, HALF + 41, 499);
	env_post_recv(&bqp, 9, to, 3);
	env_post_send(&aqp, &w, &sge);
	done(&acq, 1, IBV_WC_SEND);
	c = done(&bcq, 9, IBV_WC_RECV);
	assert_int_equal(c.byte_len, 540);
	assert_int_equal(c.src_qp, aqp.num);
	assert_int_equal(c.imm, 0xabcd);
	assert_int_equal(c.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_memory_equal(b.memory + HALF + 40, a.memory + 3, 500);
	grh = b.memory + HALF;
	assert_int_equal(grh[20], 0x45);
	assert_memory_equal(grh + 32, ((const uint8_t[]){ 10, 0, 0, 1 }), 4);
	assert_memory_equal(grh + 36, ((const uint8_t[]){ 10, 0, 0, 2 }), 4);
	pair_close();
}

/* Wrong key, wrong number, no request: the sender has its completion, nobody else hears of it. */
static void ud_drops_silently(void **state)
{
	struct fverbs_send_wqe w;
	struct fverbs_sge sge, to;
	struct fverbs_cqe c;

	(void)state;
	ud_open();
	w = datagram(ah_connected(&a, &env.host[1]));
	sge = sge_of(&a, &amr, 0, 100);
	env_post_send(&aqp, &w, &sge);
	done(&acq, 1, IBV_WC_SEND);
	/* It is on its way. */
	env_steps(100);
	to = sge_of(&b, &bmr, HALF, 200);
	env_post_recv(&bqp, 9, &to, 1);
	w.remote_qkey = 0x2222;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 1, IBV_WC_SEND);
	w.remote_qkey = 0x1111;
	w.remote_qpn ^= 1U << 19;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 1, IBV_WC_SEND);
	env_steps(100);
	assert_false(env_poll(&bcq, &c));
	assert_int_equal(env_rq_used(&bqp), 1);
	/* The high bit: the queue pair's own key. */
	w.remote_qpn = bqp.num;
	w.remote_qkey = 0x80000000;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 1, IBV_WC_SEND);
	done(&bcq, 9, IBV_WC_RECV);
	pair_close();
}

/* An error of the send queue alone; it goes on from SQE. */
static void ud_send_error(void **state)
{
	struct fverbs_send_wqe w;
	struct fverbs_sge sge;

	(void)state;
	ud_open();
	w = datagram(ah_connected(&a, &env.host[1]));
	sge = sge_of(&a, &amr, 0, ENV_MAX_LEN);
	env_post_send(&aqp, &w, &sge);
	assert_int_equal(env_wait(&acq).status, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(env_state(&aqp), IBV_QPS_SQE);
	env_post_send(&aqp, &w, &sge);
	assert_int_equal(env_wait(&acq).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(env_modify(&aqp, IBV_QP_STATE,
				    &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_RTS }), 0);
	sge.len = 10;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 1, IBV_WC_SEND);
	w.ah += 1000;
	env_post_send(&aqp, &w, &sge);
	assert_int_equal(env_wait(&acq).status, IBV_WC_LOC_QP_OP_ERR);
	pair_close();
}

/* An address handle that goes while requests name it, and wait for its connection. */
static void ud_handle_goes(void **state)
{
	(void)state;
	for (unsigned int steps = 0; steps < 12; steps++) {
		struct fverbs_handle h = { 0 };
		struct fverbs_send_wqe w;
		struct fverbs_sge sge;

		ud_open();
		h.handle = ah_open(&a, &env.host[1]);
		w = datagram(h.handle);
		sge = sge_of(&a, &amr, 0, 100);
		for (int i = 0; i < 10; i++)
			env_post_send(&aqp, &w, &sge);
		env_steps(steps);
		env_cmd(&a, FVERBS_DESTROY_AH, &h, sizeof(h), NULL, 0);
		env_steps(100);
		pair_close();
	}
}

/* ---- keys ---- */

static void window_bound_and_invalidated(void **state)
{
	struct fverbs_alloc_mw alloc = { .type = IBV_MW_TYPE_2 };
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_BIND_MW,
				     .flags = IBV_SEND_SIGNALED };
	struct fverbs_sge sge;
	struct fverbs_mr mw;
	uint32_t rkey;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	alloc.pd = b.pd;
	assert_int_equal(env_cmd(&b, FVERBS_ALLOC_MW, &alloc, sizeof(alloc), &mw, sizeof(mw)), 0);
	rkey = (mw.rkey & ~0xffU) | ((mw.rkey + 1) & 0xff);
	w.mw = mw.handle;
	w.imm = rkey;
	w.rkey = bmr.rkey;
	w.bind_addr = (uintptr_t)b.memory + HALF;
	w.bind_len = 4096;
	w.bind_access = IBV_ACCESS_REMOTE_WRITE;
	env_post_send(&bqp, &w, NULL);
	done(&bcq, 1, IBV_WC_BIND_MW);
	w = (struct fverbs_send_wqe){ .wr_id = 2, .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1,
				      .flags = IBV_SEND_SIGNALED, .rkey = rkey,
				      .remote_addr = (uintptr_t)b.memory + HALF };
	sge = sge_of(&a, &amr, 0, 4096);
	env_post_send(&aqp, &w, &sge);
	done(&acq, 2, IBV_WC_RDMA_WRITE);
	assert_memory_equal(b.memory + HALF, a.memory, 4096);
	/* A SEND takes it back, behind a WRITE that still may. */
	env_post_send(&aqp, &w, &sge);
	env_post_recv(&bqp, 7, NULL, 0);
	w = (struct fverbs_send_wqe){ .wr_id = 3, .opcode = IBV_WR_SEND_WITH_INV, .imm = rkey,
				      .flags = IBV_SEND_SIGNALED };
	env_post_send(&aqp, &w, NULL);
	done(&acq, 2, IBV_WC_RDMA_WRITE);
	done(&acq, 3, IBV_WC_SEND);
	assert_int_equal(env_wait(&bcq).imm, rkey);
	w = (struct fverbs_send_wqe){ .wr_id = 4, .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1,
				      .rkey = rkey, .remote_addr = (uintptr_t)b.memory + HALF };
	env_post_send(&aqp, &w, &sge);
	assert_int_equal(env_wait(&acq).status, IBV_WC_REM_ACCESS_ERR);
	pair_close();
}

/* ---- the rest ---- */

/* A READ behind a fence sees what the READ before it has brought. */
static void fenced(void **state)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_RDMA_READ, .num_sge = 1 };
	struct fverbs_sge sge;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory;
	sge = sge_of(&a, &amr, 0, 5000);
	env_post_send(&aqp, &w, &sge);
	w.opcode = IBV_WR_RDMA_WRITE;
	w.flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED;
	w.wr_id = 2;
	w.remote_addr = (uintptr_t)b.memory + HALF;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 2, IBV_WC_RDMA_WRITE);
	assert_memory_equal(b.memory + HALF, b.memory, 5000);
	assert_int_equal(env_sq_used(&aqp), 0);
	pair_close();
}

/* Memory in an area is sent from where it lies, and written likewise. */
static void shared_memory(void **state)
{
	struct fverbs_reg_mr req = { .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					       IBV_ACCESS_REMOTE_READ,
				     .addr = ENV_SHM - 65536, .length = 65536, .iova = 0x10000,
				     .area_plus_1 = 1 };
	struct fverbs_send_wqe w = { .wr_id = 1, .num_sge = 1, .flags = IBV_SEND_SIGNALED,
				     .remote_addr = 0x10000 };
	struct fverbs_sge sge;
	struct fverbs_mr am, bm;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	req.pd = a.pd;
	assert_int_equal(env_cmd(&a, FVERBS_REG_MR, &req, sizeof(req), &am, sizeof(am)), 0);
	req.pd = b.pd;
	assert_int_equal(env_cmd(&b, FVERBS_REG_MR, &req, sizeof(req), &bm, sizeof(bm)), 0);
	memcpy(a.shm + ENV_SHM - 65536, a.memory, 30000);
	sge = (struct fverbs_sge){ 0x10000, 30000, am.lkey };
	w.rkey = bm.rkey;
	w.opcode = IBV_WR_RDMA_WRITE;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 1, IBV_WC_RDMA_WRITE);
	assert_memory_equal(b.shm + ENV_SHM - 65536, a.memory, 30000);
	w.opcode = IBV_WR_RDMA_READ;
	sge.addr += 32768;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 1, IBV_WC_RDMA_READ);
	assert_memory_equal(a.shm + ENV_SHM - 32768, a.memory, 30000);
	pair_close();
}

static void to_itself(void **state)
{
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_SEND, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED };
	struct fverbs_sge sge, to;
	struct env_qp qp;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	env_qp_open(&a, &acq, &(struct env_qp_opts){ 0 }, &qp);
	env_to_init(&qp, IBV_ACCESS_REMOTE_READ);
	env_to_rtr(&qp, &env.host[0], qp.num);
	env_to_rts(&qp);
	sge = sge_of(&a, &amr, 0, 3000);
	to = sge_of(&a, &amr, HALF, 3000);
	env_post_recv(&qp, 2, &to, 1);
	env_post_send(&qp, &w, &sge);
	for (int i = 0; i < 2; i++)
		assert_int_equal(env_wait(&acq).status, IBV_WC_SUCCESS);
	assert_memory_equal(a.memory + HALF, a.memory, 3000);
	w.opcode = IBV_WR_RDMA_READ;
	w.rkey = amr.rkey;
	w.remote_addr = (uintptr_t)a.memory + 7;
	env_post_send(&qp, &w, &to);
	done(&acq, 1, IBV_WC_RDMA_READ);
	assert_memory_equal(a.memory + HALF, a.memory + 7, 3000);
	pair_close();
}

/* Data that the library has put behind the elements, whose keys are checked all the same. */
static void copied(void **state)
{
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED | FVERBS_SEND_COPIED,
				     .inline_len = 10 };
	struct {
		struct fverbs_sge sge;
		char data[10];
	} d = { .data = "behind it" };

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory;
	d.sge = sge_of(&a, &amr, 0, 10);
	env_post_send(&aqp, &w, &d);
	done(&acq, 1, IBV_WC_RDMA_WRITE);
	assert_memory_equal(b.memory, "behind it", 10);
	d.sge.lkey ^= 1;
	env_post_send(&aqp, &w, &d);
	assert_int_equal(env_wait(&acq).status, IBV_WC_LOC_PROT_ERR);
	pair_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(required_attributes),
		cmocka_unit_test(transitions),
		cmocka_unit_test(uc_and_nonsense_refused),
		cmocka_unit_test(drained),
		cmocka_unit_test(used_again_after_reset),
		cmocka_unit_test(ud_carries_grh),
		cmocka_unit_test(ud_drops_silently),
		cmocka_unit_test(ud_send_error),
		cmocka_unit_test(ud_handle_goes),
		cmocka_unit_test(window_bound_and_invalidated),
		cmocka_unit_test(fenced),
		cmocka_unit_test(shared_memory),
		cmocka_unit_test(to_itself),
		cmocka_unit_test(copied),
	};

	return unit_run(tests);
}
