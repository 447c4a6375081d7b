// SPDX-License-Identifier: BSD-2-Clause
/* The verbs library: the agent dies or talks nonsense, or the process forks. */
#include "verbs/env.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "falcon/abi/verbs.h"
#include "verbs/fv.h"

static void post_some(struct env *e)
{
	struct ibv_sge sge = env_sge(e, 0, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	fake_hold(true);
	for (uint64_t i = 0; i < 3; i++) {
		wr.wr_id = i;
		assert_int_equal(env_recv(e->b, 10 + i, &sge), 0);
		assert_int_equal(env_post(e->a, &wr, &sge), 0);
	}
}

/* All six requests come back, each once, and then nothing. */
static void expect_flushed(struct env *e)
{
	unsigned int seen = 0;
	struct ibv_wc wc;

	for (int i = 0; i < 6; i++) {
		wc = env_next(e->cq);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		assert_true(wc.wr_id < 3 || (wc.wr_id >= 10 && wc.wr_id < 13));
		seen |= 1U << wc.wr_id;
	}
	assert_int_equal(seen, 0x1c07);
	assert_int_equal(ibv_poll_cq(e->cq, 1, &wc), 0);
}

/* Whoever polls finds out. */
static void pending_work_is_flushed(void **state)
{
	struct env *e = *state;
	struct ibv_sge sge = env_sge(e, 0, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_async_event event;
	union ibv_gid gid;

	post_some(e);
	fake_stop();
	expect_flushed(e);
	assert_int_equal(ibv_get_async_event(e->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	assert_int_equal(env_post(e->a, &wr, &sge), EIO);
	assert_int_equal(env_recv(e->a, 1, &sge), EIO);
	assert_int_equal(ibv_query_gid(e->ctx, 1, 0, &gid), -1);
	assert_int_equal(errno, EIO);
	assert_null(ibv_alloc_pd(e->ctx));
	assert_null(ibv_create_cq(e->ctx, 1, NULL, NULL, 0));
	assert_null(ibv_reg_mr(e->pd, e->mem, 8, 0));
}

static void *stop_agent(void *arg)
{
	(void)arg;
	fake_stop();
	return NULL;
}

/* Whoever waits for a completion is woken, and finds it. */
static void waiters_are_woken(void **state)
{
	struct env *e = *state;
	pthread_t thread;
	struct ibv_cq *cq;
	void *context;

	post_some(e);
	assert_int_equal(ibv_req_notify_cq(e->cq, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, stop_agent, NULL), 0);
	assert_int_equal(ibv_get_cq_event(e->channel, &cq, &context), 0);
	assert_ptr_equal(cq, e->cq);
	ibv_ack_cq_events(cq, 1);
	/* Armed when it is known already: the same. */
	assert_int_equal(ibv_req_notify_cq(e->cq, 0), 0);
	assert_int_equal(ibv_get_cq_event(e->channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	expect_flushed(e);
	pthread_join(thread, NULL);
}

/* A thread that has not noticed posts after others have looked: they hear of that, too. */
static void late_requests_wake_waiters(void **state)
{
	struct env *e = *state;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = e->cq, .recv_cq = e->cq, .qp_type = IBV_QPT_RC, .pd = e->pd,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(e->ctx, &attr);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct pollfd p = { .fd = e->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	env_connect(qp, e->b->qp_num);
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ibv_wr_rdma_write(ex, e->mr->rkey, (uintptr_t)e->mem);
	fake_stop();
	assert_null(ibv_alloc_pd(e->ctx));
	assert_int_equal(ibv_req_notify_cq(e->cq, 0), 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(ibv_get_cq_event(e->channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(env_next(e->cq).wr_id, 7);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void nonsense_is_the_end(void **state)
{
	static const enum fake_fault faults[] = {
		FAKE_FAULT_SHORT, FAKE_FAULT_TAG, FAKE_FAULT_DIE,
	};
	struct env *e = *state;

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct ibv_context *ctx = env_open();
		struct ibv_async_event event;

		fake_fail(0, faults[i]);
		assert_null(ibv_alloc_pd(ctx));
		assert_int_equal(errno, EIO);
		fake_fail(0, FAKE_FAULT_NONE);
		assert_null(ibv_alloc_pd(ctx));
		assert_int_equal(ibv_get_async_event(ctx, &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
		assert_int_equal(ibv_close_device(ctx), 0);
	}
	/* Others are not concerned. */
	assert_int_equal(ibv_req_notify_cq(e->cq, 0), 0);
	assert_non_null(ibv_get_device_name(e->ctx->device));
}

/* A device is the same pointer whenever it is listed: librdmacm tells devices by it. */
static void devices_stay(void **state)
{
	struct env *e = *state;
	struct ibv_device **list, *first;

	list = ibv_get_device_list(NULL);
	assert_non_null(list);
	first = list[0];
	assert_ptr_equal(first, e->ctx->device);
	ibv_free_device_list(list);
	list = ibv_get_device_list(NULL);
	assert_ptr_equal(list[0], first);
	ibv_free_device_list(list);
}

static void no_agent_no_device(void **state)
{
	struct ibv_device **list;
	int n = 7;

	(void)state;
	setenv("FALCON_SOCKET", "/nonexistent/falcond.sock", 1);
	list = ibv_get_device_list(&n);
	assert_int_equal(n, 0);
	if (list)
		ibv_free_device_list(list);
}

static int child(struct env *e)
{
	struct ibv_sge sge = env_sge(e, 0, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_device **list;
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	if (ibv_post_send(e->a, &wr, &bad) != EIO || ibv_poll_cq(e->cq, 1, &wc) != -1)
		return 1;
	if (ibv_alloc_pd(e->ctx) || errno != EIO)
		return 2;
	if (ibv_get_cq_event(e->channel, &cq, &context) != -1 || errno != EIO)
		return 3;
	if (ibv_destroy_qp(e->a) || ibv_dereg_mr(e->mr))
		return 4;
	list = ibv_get_device_list(NULL);
	ctx = list ? ibv_open_device(list[0]) : NULL;
	if (!ctx || !ibv_alloc_pd(ctx))
		return 5;
	ibv_free_device_list(list);
	return 0;
}

/* A child can do nothing with its parent's device, nor to it, and may open its own. */
static void children_are_told(void **state)
{
	struct env *e = *state;
	struct ibv_sge sge = env_sge(e, 0, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(child(e));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(env_recv(e->b, 4, &sge), 0);
	assert_int_equal(env_post(e->a, &wr, &sge), 0);
	assert_int_equal(env_next(e->cq).wr_id, 4);
}

static int destroying_child(struct env *e)
{
	if (ibv_destroy_qp(e->a) || ibv_destroy_qp(e->b) || ibv_destroy_cq(e->cq))
		return 1;
	if (ibv_destroy_comp_channel(e->channel) || ibv_dereg_mr(e->mr) || ibv_dealloc_pd(e->pd))
		return 2;
	return ibv_close_device(e->ctx) ? 3 : 0;
}

/* A child that takes everything down leaves its parent's completions and posted requests where they are. */
static void children_destroy_nothing_of_their_parents(void **state)
{
	enum { DONE = 3, POSTED = 3 };
	struct env *e = *state;
	const struct fv_cq *cq = fv_cq(e->cq);
	struct ibv_sge sge = env_sge(e, 0, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	int status;
	pid_t pid;

	for (uint64_t i = 0; i < DONE; i++) {
		wr.wr_id = i;
		assert_int_equal(env_recv(e->b, 10 + i, &sge), 0);
		assert_int_equal(env_post(e->a, &wr, &sge), 0);
	}
	while (falcon_load(&cq->shm->idx.tail) - cq->head != 2 * DONE)
		sched_yield();
	for (uint64_t i = 0; i < POSTED; i++)
		assert_int_equal(env_recv(e->b, 20 + i, &sge), 0);
	pid = fork();
	if (!pid)
		_exit(destroying_child(e));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (uint64_t i = 0; i < POSTED; i++) {
		wr.wr_id = DONE + i;
		assert_int_equal(env_post(e->a, &wr, &sge), 0);
	}
	for (uint64_t i = 0; i < DONE + POSTED; i++) {
		struct ibv_wc first = env_next(e->cq), second = env_next(e->cq);
		bool swapped = first.wr_id == i;

		assert_int_equal((swapped ? second : first).wr_id, i < DONE ? 10 + i : 20 + i - DONE);
		assert_int_equal((swapped ? first : second).wr_id, i);
		assert_int_equal(first.status | second.status, IBV_WC_SUCCESS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pending_work_is_flushed, env_setup,
						env_teardown_dead),
		cmocka_unit_test_setup_teardown(waiters_are_woken, env_setup, env_teardown_dead),
		cmocka_unit_test_setup_teardown(late_requests_wake_waiters, env_setup,
						env_teardown_dead),
		cmocka_unit_test_setup_teardown(nonsense_is_the_end, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(children_are_told, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(children_destroy_nothing_of_their_parents, env_setup,
						env_teardown),
		cmocka_unit_test_setup_teardown(devices_stay, env_setup, env_teardown),
		cmocka_unit_test(no_agent_no_device),
	};

	return unit_run(tests);
}
