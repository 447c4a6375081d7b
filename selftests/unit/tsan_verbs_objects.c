// SPDX-License-Identifier: BSD-2-Clause
/*
 * The verbs library: several threads make and destroy objects while others poll, and wait for events
 * of queues that change their size.
 */
#include "verbs/threads.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

enum {
	MAKERS = 3,
	POLLERS = 2,
	ROUNDS = 25,		/* of a maker */
	EACH = 8,		/* requests that a queue pair lives for */
	WAITERS = 2,
	WRITES = 300,		/* to each of the queues that are waited for */
	RESIZES = 20,
};

/* A maker's queue pair completes on the queue that others poll. */
struct maker {
	struct env *env;
	unsigned int index;
	unsigned int done;		/* completions of the queue pair of now */
	unsigned int seen[EACH];	/* of each request, over all rounds */
	uint64_t mem[2];		/* what is written, and where to */
};

static struct maker makers[MAKERS];
static unsigned int finished;		/* makers */

/* Wait until requests 0..EACH - 1 have completed on a queue that nobody else polls. */
static void poll_alone(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < EACH;) {
		int n = ibv_poll_cq(cq, 1, &wc);

		REQUIRE(n == 0 || (n == 1 && wc.status == IBV_WC_SUCCESS));
		if (n)
			REQUIRE((uint32_t)wc.wr_id == i++);
	}
	REQUIRE(ibv_poll_cq(cq, 1, &wc) == 0);
}

static void *poll_shared(void *arg)
{
	struct env *e = arg;
	struct ibv_wc wc;

	while (get(&finished) < MAKERS) {
		int n = ibv_poll_cq(e->cq, 1, &wc);

		REQUIRE(n == 0 || (n == 1 && wc.status == IBV_WC_SUCCESS));
		if (!n)
			continue;
		REQUIRE(wc.wr_id >> 32 < MAKERS && (uint32_t)wc.wr_id < EACH);
		add(&makers[wc.wr_id >> 32].seen[(uint32_t)wc.wr_id], 1);
		add(&makers[wc.wr_id >> 32].done, 1);
	}
	return NULL;
}

/* A queue pair that talks to itself. */
static struct ibv_qp *make_qp(struct env *e, struct ibv_cq *cq)
{
	struct env mine = { .pd = e->pd, .cq = cq };
	struct ibv_qp *qp = env_qp(&mine, IBV_QPT_RC, NULL);

	env_connect(qp, qp->qp_num);
	return qp;
}

static void post(struct maker *m, struct ibv_qp *qp)
{
	struct ibv_mr *mr = ibv_reg_mr(m->env->pd, m->mem, sizeof(m->mem),
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_sge sge = {
		.addr = (uintptr_t)&m->mem[0], .length = sizeof(m->mem[0]), .lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)&m->mem[1], .rkey = mr->rkey },
	};

	for (unsigned int i = 0; i < EACH; i++) {
		wr.wr_id = (uint64_t)m->index << 32 | i;
		REQUIRE(env_post(qp, &wr, &sge) == 0);
	}
	if (qp->send_cq == m->env->cq) {
		while (get(&m->done) < EACH)
			sched_yield();
		add(&m->done, -EACH);
	} else {
		poll_alone(qp->send_cq);
	}
	REQUIRE(ibv_dereg_mr(mr) == 0);
}

static void make_others(struct env *e)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct ibv_pd *pd = ibv_alloc_pd(e->ctx);
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	REQUIRE(pd && srq && mw && ah);
	REQUIRE(ibv_destroy_ah(ah) == 0 && ibv_dealloc_mw(mw) == 0);
	REQUIRE(ibv_destroy_srq(srq) == 0 && ibv_dealloc_pd(pd) == 0);
}

static void *make(void *arg)
{
	struct maker *m = arg;
	struct env *e = m->env;

	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_comp_channel *channel = ibv_create_comp_channel(e->ctx);
		struct ibv_cq *cq = ibv_create_cq(e->ctx, EACH, NULL, channel, 0);
		struct ibv_qp *shared = make_qp(e, e->cq), *alone = make_qp(e, cq);

		post(m, alone);
		post(m, shared);
		make_others(e);
		REQUIRE(ibv_destroy_qp(shared) == 0 && ibv_destroy_qp(alone) == 0);
		REQUIRE(ibv_destroy_cq(cq) == 0 && ibv_destroy_comp_channel(channel) == 0);
	}
	add(&finished, 1);
	return NULL;
}

static void objects_come_and_go_while_others_poll(void **state)
{
	pthread_t threads[MAKERS + POLLERS];
	struct env *e = *state;

	memset(makers, 0, sizeof(makers));
	finished = 0;
	fake_hold(false);
	for (unsigned int i = 0; i < MAKERS; i++) {
		makers[i].env = e;
		makers[i].index = i;
		threads[i] = start(make, &makers[i]);
	}
	for (int i = 0; i < POLLERS; i++)
		threads[MAKERS + i] = start(poll_shared, e);
	join(threads, MAKERS + POLLERS);
	for (unsigned int i = 0; i < MAKERS; i++) {
		for (unsigned int n = 0; n < EACH; n++)
			assert_int_equal(makers[i].seen[n], ROUNDS);
	}
}

/* Two completion queues with one channel, and who waits for both. */
static struct waiting {
	struct env *env;
	struct ibv_cq *cqs[WAITERS];
	struct ibv_qp *qps[WAITERS];
	unsigned int under_way[WAITERS];
	unsigned int seen[WAITERS][WRITES];
	unsigned int done;
	int stop;			/* eventfd: nothing will come any more */
} waiting;

static void drain(struct waiting *w, struct ibv_cq *cq)
{
	static const uint64_t one = 1;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) > 0) {
		REQUIRE(wc.status == IBV_WC_SUCCESS);
		REQUIRE(wc.wr_id >> 32 < WAITERS && (uint32_t)wc.wr_id < WRITES);
		REQUIRE(add(&w->seen[wc.wr_id >> 32][(uint32_t)wc.wr_id], 1) == 1);
		add(&w->under_way[wc.wr_id >> 32], -1);
		if (add(&w->done, 1) == WAITERS * WRITES)
			REQUIRE(write(w->stop, &one, sizeof(one)) == sizeof(one));
	}
	REQUIRE(n == 0);
}

static void *wait_and_drain(void *arg)
{
	struct waiting *w = arg;
	struct pollfd p[] = { { w->env->channel->fd, POLLIN, 0 }, { w->stop, POLLIN, 0 } };
	struct ibv_cq *cq;
	void *context;

	for (;;) {
		REQUIRE(poll(p, 2, -1) > 0);
		if (p[1].revents)
			return NULL;
		if (ibv_get_cq_event(w->env->channel, &cq, &context)) {
			REQUIRE(errno == EAGAIN);
			continue;
		}
		REQUIRE(ibv_req_notify_cq(cq, 0) == 0);
		drain(w, cq);
		ibv_ack_cq_events(cq, 1);
	}
}

static void *write_all(void *arg)
{
	struct waiting *w = &waiting;
	unsigned int i = (unsigned int)(uintptr_t)arg;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = (uintptr_t)w->env->mem, .rkey = w->env->mr->rkey,
		},
	};

	for (unsigned int n = 0; n < WRITES; n++) {
		while (get(&w->under_way[i]) == ENV_DEPTH)
			sched_yield();
		add(&w->under_way[i], 1);
		wr.wr_id = (uint64_t)i << 32 | n;
		while (env_post(w->qps[i], &wr, NULL) == ENOMEM)
			sched_yield();
	}
	return NULL;
}

static void no_event_is_lost(void **state)
{
	pthread_t threads[2 * WAITERS];
	struct waiting *w = &waiting;
	struct env *e = *state;

	*w = (struct waiting){ .env = e, .stop = eventfd(0, EFD_CLOEXEC) };
	assert_int_equal(fcntl(e->channel->fd, F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < WAITERS; i++) {
		w->cqs[i] = ibv_create_cq(e->ctx, 64, NULL, e->channel, 0);
		w->qps[i] = make_qp(e, w->cqs[i]);
		assert_int_equal(ibv_req_notify_cq(w->cqs[i], 0), 0);
	}
	for (uintptr_t i = 0; i < WAITERS; i++) {
		threads[i] = start(write_all, (void *)i);
		threads[WAITERS + i] = start(wait_and_drain, w);
	}
	for (int i = 0; i < RESIZES; i++)
		assert_int_equal(ibv_resize_cq(w->cqs[i % WAITERS], i % 4 < 2 ? 128 : 64), 0);
	join(threads, 2 * WAITERS);
	for (int i = 0; i < WAITERS; i++) {
		for (unsigned int n = 0; n < WRITES; n++)
			assert_int_equal(w->seen[i][n], 1);
		assert_int_equal(ibv_destroy_qp(w->qps[i]), 0);
		assert_int_equal(ibv_destroy_cq(w->cqs[i]), 0);
	}
	close(w->stop);
}

#define T(f) cmocka_unit_test_setup_teardown(f, env_setup, env_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(objects_come_and_go_while_others_poll), T(no_event_is_lost),
	};

	return unit_run(tests);
}
