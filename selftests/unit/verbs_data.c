// SPDX-License-Identifier: BSD-2-Clause
/* The verbs library: work requests, completions and events. */
#include "verbs/env.h"

#include <poll.h>
#include <pthread.h>

#include "falcon/abi/verbs.h"
#include "falcon/verbs_ext.h"

static void send_and_receive(void **state)
{
	struct env *e = *state;
	struct ibv_sge from = env_sge(e, 0, 100), to = env_sge(e, 1024, 200);
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = 0x12345678,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	memset(e->mem, 0x5a, 100);
	assert_int_equal(env_recv(e->b, 2, &to), 0);
	assert_int_equal(env_post(e->a, &wr, &from), 0);
	wc = env_next(e->cq);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 100);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, 0x12345678);
	assert_int_equal(wc.qp_num, e->b->qp_num);
	wc = env_next(e->cq);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_memory_equal(e->mem, e->mem + 1024, 100);
	assert_int_equal(e->mem[1124], 0);
	assert_int_equal(fake_copied(), 1);
}

static void write_read_atomic(void **state)
{
	struct env *e = *state;
	struct ibv_sge small = env_sge(e, 0, 8), large = env_sge(e, 0, 1000);
	struct ibv_send_wr write = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)e->mem + 2048, .rkey = e->mr->rkey },
	}, read = write, atomic = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = (uintptr_t)e->mem + 2048, .compare_add = 3,
			       .rkey = e->mr->rkey },
	};
	uint64_t before, after;

	memset(e->mem, 1, 1000);
	assert_int_equal(env_post(e->a, &write, &large), 0);
	assert_int_equal(env_next(e->cq).opcode, IBV_WC_RDMA_WRITE);
	assert_memory_equal(e->mem, e->mem + 2048, 1000);
	/* Too much to be copied into the request. */
	assert_int_equal(fake_copied(), 0);
	read.opcode = IBV_WR_RDMA_READ;
	e->mem[2048] = 7;
	assert_int_equal(env_post(e->a, &read, &large), 0);
	assert_int_equal(env_next(e->cq).opcode, IBV_WC_RDMA_READ);
	assert_int_equal(e->mem[0], 7);
	memcpy(&before, e->mem + 2048, 8);
	assert_int_equal(env_post(e->a, &atomic, &small), 0);
	assert_int_equal(env_next(e->cq).opcode, IBV_WC_FETCH_ADD);
	assert_memory_equal(e->mem, &before, 8);
	memcpy(&after, e->mem + 2048, 8);
	assert_int_equal(after, before + 3);
}

static void inline_data_is_taken_at_once(void **state)
{
	struct env *e = *state;
	struct ibv_sge sge = { .lkey = 0 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.wr.rdma = { .remote_addr = (uintptr_t)e->mem, .rkey = e->mr->rkey },
	};
	char text[80] = "inline";

	sge.addr = (uintptr_t)text;
	sge.length = 7;
	fake_hold(true);
	assert_int_equal(env_post(e->a, &wr, &sge), 0);
	strcpy(text, "gone");
	fake_hold(false);
	assert_int_equal(env_next(e->cq).status, IBV_WC_SUCCESS);
	assert_string_equal((char *)e->mem, "inline");
	sge.length = 65;
	assert_int_equal(env_post(e->a, &wr, &sge), EINVAL);
	wr.opcode = IBV_WR_RDMA_READ;
	sge.length = 7;
	assert_int_equal(env_post(e->a, &wr, &sge), EINVAL);
}

/* What lies outside of a region, or has another's key, is left to the agent to refuse. */
static void keys_are_for_the_agent_to_judge(void **state)
{
	struct env *e = *state;
	struct ibv_sge sges[] = {
		{ .addr = 16, .length = 8, .lkey = e->mr->lkey },
		{ .addr = (uintptr_t)e->mem + ENV_BYTES - 4, .length = 8, .lkey = e->mr->lkey },
		{ .addr = (uintptr_t)e->mem, .length = 8, .lkey = 0xdeadbeef },
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)e->mem, .rkey = e->mr->rkey },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sges); i++) {
		assert_int_equal(env_post(e->a, &wr, &sges[i]), 0);
		assert_int_equal(env_next(e->cq).status, IBV_WC_LOC_PROT_ERR);
	}
	assert_int_equal(fake_copied(), 0);
}

/* A region at another address than its bytes, and one that moves: copies follow. */
static void copies_follow_the_region(void **state)
{
	struct env *e = *state;
	struct ibv_mr *mr = ibv_reg_mr_iova(e->pd, e->mem, 16, 0x1000, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = 0x1008, .length = 4 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)e->mem + 512, .rkey = e->mr->rkey },
	};

	sge.lkey = mr->lkey;
	memcpy(e->mem + 8, "abcd", 4);
	memcpy(e->mem + 64, "efgh", 4);
	assert_int_equal(env_post(e->a, &wr, &sge), 0);
	assert_int_equal(env_next(e->cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(e->mem + 512, "abcd", 4);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, e->mem + 64, 16, 0),
			 0);
	sge.addr = (uintptr_t)e->mem + 64;
	sge.lkey = mr->lkey;
	assert_int_equal(env_post(e->a, &wr, &sge), 0);
	assert_int_equal(env_next(e->cq).status, IBV_WC_SUCCESS);
	assert_memory_equal(e->mem + 512, "efgh", 4);
	assert_int_equal(fake_copied(), 2);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void rings_fill_up(void **state)
{
	struct env *e = *state;
	struct ibv_sge sge = env_sge(e, 0, 8);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = (uintptr_t)e->mem + 8, .rkey = e->mr->rkey },
	};

	fake_hold(true);
	for (int i = 0; i < ENV_DEPTH; i++) {
		assert_int_equal(env_post(e->a, &wr, &sge), 0);
		assert_int_equal(env_recv(e->a, 0, &sge), 0);
	}
	assert_int_equal(env_post(e->a, &wr, &sge), ENOMEM);
	assert_int_equal(env_recv(e->a, 0, &sge), ENOMEM);
	fake_hold(false);
	/* Nothing is signalled, but there is room again. */
	while (env_post(e->a, &wr, &sge))
		;
}

static void states_are_respected(void **state)
{
	struct env *e = *state;
	struct ibv_qp *qp = env_qp(e, IBV_QPT_RC, NULL);
	struct ibv_sge sge = env_sge(e, 0, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR }, got;
	struct ibv_qp_init_attr init;

	assert_int_equal(env_post(qp, &wr, &sge), EINVAL);
	assert_int_equal(env_recv(qp, 1, &sge), EINVAL);
	env_connect(qp, 0);
	assert_int_equal(env_recv(qp, 77, &sge), 0);
	assert_int_equal(ibv_modify_qp(qp, &err, IBV_QP_STATE), 0);
	assert_int_equal(env_next(e->cq).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_query_qp(qp, &got, IBV_QP_STATE, &init), 0);
	assert_int_equal(got.qp_state, IBV_QPS_ERR);
	assert_int_equal(init.cap.max_send_wr, ENV_DEPTH);
	assert_ptr_equal(init.qp_context, e);
	wr.opcode = IBV_WR_TSO;
	assert_int_equal(env_post(e->a, &wr, &sge), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* A queue pair's completions go with it. */
static void destroying_cleans_the_queue(void **state)
{
	struct env *e = *state;
	struct ibv_qp *qp = env_qp(e, IBV_QPT_RC, NULL);
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)e->mem, .rkey = e->mr->rkey },
	};
	struct ibv_wc wc;

	env_connect(qp, e->b->qp_num);
	for (int i = 0; i < 8; i++) {
		wr.wr_id = i % 2 ? 1 : 2;
		assert_int_equal(env_post(i % 2 ? qp : e->a, &wr, NULL), 0);
	}
	/* Commands come after what was posted before. */
	fake_hold(false);
	while (ibv_poll_cq(e->cq, 1, &wc) == 0)
		;
	assert_int_equal(ibv_destroy_qp(qp), 0);
	for (int i = wc.wr_id == 2 ? 1 : 0; i < 4; i++)
		assert_int_equal(env_next(e->cq).wr_id, 2);
	assert_int_equal(ibv_poll_cq(e->cq, 1, &wc), 0);
}

static void events_wake(void **state)
{
	struct env *e = *state;
	struct ibv_sge sge = env_sge(e, 0, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct pollfd p = { .fd = e->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(ibv_req_notify_cq(e->cq, 1), 0);
	assert_int_equal(env_recv(e->b, 1, &sge), 0);
	assert_int_equal(env_recv(e->b, 2, &sge), 0);
	assert_int_equal(env_post(e->a, &wr, &sge), 0);
	assert_int_equal(env_next(e->cq).wr_id, 1);
	assert_int_equal(poll(&p, 1, 0), 0);
	wr.send_flags = IBV_SEND_SOLICITED;
	assert_int_equal(env_post(e->a, &wr, &sge), 0);
	assert_int_equal(ibv_get_cq_event(e->channel, &cq, &context), 0);
	assert_ptr_equal(cq, e->cq);
	assert_ptr_equal(context, e);
	assert_int_equal(env_next(e->cq).wr_id, 2);
	ibv_ack_cq_events(cq, 1);
}

static void asynchronous_events(void **state)
{
	struct env *e = *state;
	const struct fake_event { uint64_t cookie; uint32_t type, device; } bad[] = {
		{ 0xffffffffffffffff, IBV_EVENT_QP_FATAL, 0 },
		{ 0, IBV_EVENT_CQ_ERR, 0 },
		{ 1ULL << 32, IBV_EVENT_SRQ_ERR, 0 },
		{ 1, 4711, 0 },
		{ 1, IBV_EVENT_PORT_ERR, 5 },
		{ 1, IBV_EVENT_PORT_ACTIVE, 0 },
	};
	struct ibv_async_event event;

	/* All but the last make no sense, and are passed over. */
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		fake_async(&bad[i], sizeof(bad[i]));
	assert_int_equal(ibv_get_async_event(e->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(event.element.port_num, 1);
	ibv_ack_async_event(&event);
}

static void shared_receive_queue(void **state)
{
	struct env *e = *state;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(e->pd, &init);
	struct ibv_qp *qp = env_qp(e, IBV_QPT_RC, srq);
	struct ibv_srq_attr attr = { .max_wr = 16 };
	struct ibv_sge sge = env_sge(e, 64, 8), from = env_sge(e, 0, 8);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };

	env_connect(qp, e->a->qp_num);
	for (wr.wr_id = 0; wr.wr_id < 4; wr.wr_id++)
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, 16);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	env_connect(e->a, qp->qp_num);
	for (uint64_t i = 0; i < 5; i++) {
		assert_int_equal(env_post(e->a, &send, &from), 0);
		assert_int_equal(env_next(e->cq).wr_id, i);
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void completion_queues_are_resized(void **state)
{
	struct env *e = *state;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)e->mem, .rkey = e->mr->rkey },
	};

	for (wr.wr_id = 0; wr.wr_id < 10; wr.wr_id++)
		assert_int_equal(env_post(e->a, &wr, NULL), 0);
	assert_int_equal(env_next(e->cq).wr_id, 0);
	assert_int_equal(ibv_resize_cq(e->cq, 0), EINVAL);
	assert_int_equal(ibv_resize_cq(e->cq, 200), 0);
	assert_int_equal(e->cq->cqe, 256);
	for (uint64_t i = 1; i < 10; i++)
		assert_int_equal(env_next(e->cq).wr_id, i);
}

/* What goes wrong is said at the end, and nothing is posted. */
static void extended_queue_refuses(const struct env *e, struct ibv_qp_ex *ex)
{
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, e->mr->rkey, (uintptr_t)e->mem + 64);
	ibv_wr_set_inline_data(ex, e->mem, 17);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	for (int i = 0; i < 5; i++)
		ibv_wr_rdma_write(ex, e->mr->rkey, (uintptr_t)e->mem + 64);
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, e->mr->rkey, (uintptr_t)e->mem + 64);
	ibv_wr_abort(ex);
}

static void extended_queues(void **state)
{
	struct env *e = *state;
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 16, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(e->ctx, &cq_attr);
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = ibv_cq_ex_to_cq(cq), .recv_cq = e->cq, .qp_type = IBV_QPT_RC,
		.pd = e->pd, .cap = { .max_send_wr = 4, .max_send_sge = 1, .max_inline_data = 16 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_WRITE,
	};
	struct ibv_poll_cq_attr poll_attr = { 0 };
	struct ibv_qp *qp = ibv_create_qp_ex(e->ctx, &attr);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	assert_non_null(ex);
	assert_null(ex->wr_send);
	env_connect(qp, e->b->qp_num);
	memcpy(e->mem, "12345678", 8);
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, e->mr->rkey, (uintptr_t)e->mem + 64);
	ibv_wr_set_sge(ex, e->mr->lkey, (uintptr_t)e->mem, 8);
	ex->wr_id = 2;
	ibv_wr_rdma_write(ex, e->mr->rkey, (uintptr_t)e->mem + 72);
	ibv_wr_set_inline_data(ex, "abcdefgh", 8);
	ex->wr_id = 3;
	ibv_wr_atomic_write(ex, e->mr->rkey, (uintptr_t)e->mem + 80, "ABCDEFGH");
	assert_int_equal(ibv_start_poll(cq, &poll_attr), ENOENT);
	assert_int_equal(ibv_wr_complete(ex), 0);
	while (ibv_start_poll(cq, &poll_attr))
		;
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(cq->wr_id, i);
		assert_int_equal(cq->status, IBV_WC_SUCCESS);
		assert_int_equal(ibv_wc_read_completion_ts(cq), 1000000000);
		if (i < 3)
			while (ibv_next_poll(cq))
				;
	}
	ibv_end_poll(cq);
	assert_memory_equal(e->mem + 64, "12345678abcdefghABCDEFGH", 24);
	extended_queue_refuses(e, ex);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
	assert_null(ibv_create_qp_ex(e->ctx, &attr));
}

static void shared_memory_is_direct(void **state)
{
	struct env *e = *state;
	uint8_t *mem = falcon_alloc_shared(e->ctx, 5 << 20);
	struct ibv_mr *mr = ibv_reg_mr(e->pd, mem, 5 << 20, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)mem + 100, .length = 8, .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)e->mem, .rkey = e->mr->rkey },
	};

	memcpy(mem + 100, "shared!", 8);
	assert_int_equal(env_post(e->a, &wr, &sge), 0);
	assert_int_equal(env_next(e->cq).status, IBV_WC_SUCCESS);
	assert_string_equal((char *)e->mem, "shared!");
	assert_int_equal(fake_copied(), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	falcon_free_shared(e->ctx, mem);
}

/* Pieces share what the agent has made; what is freed comes back zeroed. */
static void offload_memory(void **state)
{
	struct env *e = *state;
	uint8_t *one = falcon_alloc_offload(e->ctx, 5000), *two = falcon_alloc_offload(e->ctx, 8192), *three;
	struct ibv_mr *mr = ibv_reg_mr(e->pd, one, 5000, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_sge sge = env_sge(e, 0, 8);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)one + 10, .rkey = mr->rkey },
	};

	assert_int_equal(fake_memories(), 1);
	assert_ptr_equal(two, one + 8192);
	memcpy(e->mem, "offload", 8);
	assert_int_equal(env_post(e->a, &wr, &sge), 0);
	assert_int_equal(env_next(e->cq).status, IBV_WC_SUCCESS);
	assert_string_equal((char *)one + 10, "offload");
	assert_int_equal(ibv_dereg_mr(mr), 0);
	falcon_free_shared(e->ctx, one);
	one = falcon_alloc_offload(e->ctx, 8192);
	assert_ptr_equal(one, two - 8192);
	for (int i = 0; i < 8192; i++)
		assert_int_equal(one[i], 0);
	three = falcon_alloc_offload(e->ctx, 1 << 17);
	assert_int_equal(fake_memories(), 2);
	/* Ordinary areas are for ordinary things, and the other way round. */
	mr = ibv_reg_mr(e->pd, three, 1 << 17, 0);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	falcon_free_shared(e->ctx, one);
	falcon_free_shared(e->ctx, two);
	falcon_free_shared(e->ctx, three);
}

static void offload_memory_that_is_not_to_be_had(void **state)
{
	struct env *e = *state;

	errno = 0;
	assert_null(falcon_alloc_offload(e->ctx, 0));
	assert_int_equal(errno, EINVAL);
	fake_fail(FVERBS_NEW_AREA, FAKE_FAULT_REFUSE);
	assert_null(falcon_alloc_offload(e->ctx, 1));
	assert_int_equal(errno, ENOSPC);
	fake_fail(FVERBS_NEW_AREA, FAKE_FAULT_NO_FD);
	assert_null(falcon_alloc_offload(e->ctx, 1));
	assert_int_equal(errno, EBADF);
	fake_fail(0, FAKE_FAULT_NONE);
	falcon_free_shared(e->ctx, falcon_alloc_offload(e->ctx, 1));
}

/* With IPv4 the header is in the last 20 of the 40 bytes. */
static void answer_to_ipv4(struct env *e, struct ibv_wc *wc)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_grh grh = { 0 };
	uint8_t *ip = (uint8_t *)&grh + 20;
	struct ibv_ah_attr attr;
	union ibv_gid gid;
	int i = 0;

	do
		assert_int_equal(ibv_query_gid(e->ctx, 1, i++, &gid), 0);
	while (memcmp(gid.raw, mapped, sizeof(mapped)) != 0);
	ip[0] = 0x45;
	memcpy(ip + 12, "\x0a\x09\x08\x07", 4);
	memcpy(ip + 16, gid.raw + 12, 4);
	assert_int_equal(ibv_init_ah_from_wc(e->ctx, 1, wc, &grh, &attr), 0);
	assert_int_equal(attr.grh.sgid_index, i - 1);
	assert_memory_equal(attr.grh.dgid.raw, mapped, 12);
	assert_memory_equal(attr.grh.dgid.raw + 12, "\x0a\x09\x08\x07", 4);
}

static void datagrams(void **state)
{
	struct env *e = *state;
	struct ibv_qp *a = env_qp(e, IBV_QPT_UD, NULL), *b = env_qp(e, IBV_QPT_UD, NULL);
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct ibv_sge from = env_sge(e, 0, 8), to = env_sge(e, 64, 64);
	struct ibv_grh grh = { .version_tclass_flow = 0x01000060 };
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_ah *ah = ibv_create_ah(e->pd, &attr);

	env_connect(a, 0);
	env_connect(b, 0);
	assert_int_equal(env_recv(b, 9, &to), 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = b->qp_num;
	assert_int_equal(env_post(a, &wr, &from), 0);
	assert_int_equal(env_next(e->cq).wr_id, 9);
	wr.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(env_post(a, &wr, &from), EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.wr.ud.ah = NULL;
	assert_int_equal(env_post(a, &wr, &from), EINVAL);
	/* An answer goes to where a message came from. */
	assert_int_equal(ibv_query_gid(e->ctx, 1, 2, &grh.dgid), 0);
	grh.sgid.raw[0] = 0xfe;
	assert_int_equal(ibv_init_ah_from_wc(e->ctx, 1, &wc, &grh, &attr), 0);
	assert_int_equal(attr.grh.sgid_index, 2);
	assert_int_equal(attr.grh.dgid.raw[0], 0xfe);
	grh.dgid.raw[15] ^= 1;
	assert_int_equal(ibv_init_ah_from_wc(e->ctx, 1, &wc, &grh, &attr), ENOENT);
	answer_to_ipv4(e, &wc);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_qp(a), 0);
	assert_int_equal(ibv_destroy_qp(b), 0);
}

uint32_t __wrap_fv_idle_nothing(void);

/* What a sanitizer takes between two polls is not another work of the thread that polls. */
uint32_t __wrap_fv_idle_nothing(void)
{
	return 1000000;
}

static void *poll_until_found(void *cq)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
	return (void *)(uintptr_t)wc.wr_id;
}

/* Where CPUs are short, whoever polls sleeps until there is something to be found. */
static void polling_naps(void **state)
{
	struct env *e = *state;
	struct ibv_sge from = env_sge(e, 0, 8);
	struct ibv_send_wr wr = {
		.wr_id = 77, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)e->mem + 64, .rkey = e->mr->rkey },
	};
	pthread_t thread;
	void *found;

	fake_hold(true);
	fake_cpu_pressure();
	assert_int_equal(env_post(e->a, &wr, &from), 0);
	assert_int_equal(pthread_create(&thread, NULL, poll_until_found, e->cq), 0);
	while (!fake_nappers())
		;
	fake_hold(false);
	pthread_join(thread, &found);
	assert_int_equal((uintptr_t)found, 77);
	assert_int_equal(fake_nappers(), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, env_setup, env_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(send_and_receive), T(write_read_atomic), T(inline_data_is_taken_at_once),
		T(keys_are_for_the_agent_to_judge), T(copies_follow_the_region), T(rings_fill_up),
		T(states_are_respected), T(destroying_cleans_the_queue), T(events_wake),
		T(asynchronous_events), T(shared_receive_queue), T(completion_queues_are_resized),
		T(extended_queues), T(shared_memory_is_direct), T(datagrams),
		T(offload_memory), T(offload_memory_that_is_not_to_be_had),
		T(polling_naps),
	};

	return unit_run(tests);
}
