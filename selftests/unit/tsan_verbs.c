// SPDX-License-Identifier: BSD-2-Clause
/* The verbs library: several threads post to the same queue pairs and poll the same completion queue. */
#include "verbs/threads.h"

enum {
	POSTERS = 2,		/* of WRITEs; as many post SENDs, and receive requests for those */
	POLLERS = 2,
	TOTAL = 600,		/* requests of a thread */
	KINDS = 3,
	ALL = KINDS * POSTERS * TOTAL,
	UNDER_WAY = 24,		/* requests posted and not polled, less than the queue holds */
	BATCH = 4,
	QUERIES = 100,
};

/* What a thread posts. */
enum kind { WRITES, SENDS, RECVS };

struct load {
	struct env *e;
	unsigned int under_way;		/* work requests; each may need an entry of the queue */
	unsigned int done;
	unsigned int seen[KINDS * POSTERS][TOTAL];	/* completions of each request */
	unsigned int expected;		/* of |done|, in the end */
	bool dies;			/* the agent, in the middle */
};

struct poster {
	struct load *load;
	unsigned int index;		/* in |load.seen| */
	unsigned int posted;
};

static struct load load;

static void load_init(struct load *l, struct env *e)
{
	memset(l, 0, sizeof(*l));
	l->e = e;
	l->expected = ALL;
}

/* Wait until one more request would fit into the completion queue, whatever is polled meanwhile. */
static void reserve(struct load *l)
{
	while (add(&l->under_way, 1) > UNDER_WAY) {
		add(&l->under_way, -1);
		sched_yield();
	}
}

/* Post request |n| of |p| once; what the verb says. */
static int try_post(struct poster *p, uint32_t n)
{
	struct env *e = p->load->e;
	/* From one place of its own, to another. */
	struct ibv_sge sge = env_sge(e, p->index * sizeof(n), sizeof(n));
	struct ibv_send_wr wr = {
		.wr_id = (uint64_t)p->index << 32 | n, .send_flags = IBV_SEND_SIGNALED,
		.opcode = p->index % KINDS == SENDS ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
		.wr.rdma = {
			.remote_addr = sge.addr + ENV_BYTES / 2, .rkey = e->mr->rkey,
		},
	};

	if (p->index % KINDS == RECVS) {
		sge.addr += ENV_BYTES / 2;
		return env_recv(e->b, wr.wr_id, &sge);
	}
	memcpy(e->mem + p->index * sizeof(n), &n, sizeof(n));
	return env_post(e->a, &wr, &sge);
}

/* Post all that |arg| is to; until the agent is gone. */
static void *post_all(void *arg)
{
	struct poster *p = arg;
	int rc = 0;

	while (p->posted < TOTAL && rc != EIO) {
		reserve(p->load);
		while ((rc = try_post(p, p->posted)) == ENOMEM)
			sched_yield();
		REQUIRE(rc == 0 || rc == EIO);
		if (rc)
			add(&p->load->under_way, -1);
		else
			p->posted++;
	}
	return NULL;
}

static void note(struct load *l, const struct ibv_wc *wc)
{
	unsigned int index = (unsigned int)(wc->wr_id >> 32), n = (unsigned int)wc->wr_id;

	REQUIRE(index < KINDS * POSTERS && n < TOTAL);
	REQUIRE(wc->status == IBV_WC_SUCCESS || (l->dies && wc->status == IBV_WC_WR_FLUSH_ERR));
	REQUIRE(add(&l->seen[index][n], 1) == 1);
	add(&l->under_way, -1);
	add(&l->done, 1);
}

static void *poll_all(void *arg)
{
	struct load *l = arg;
	struct ibv_wc wc[BATCH];

	while (get(&l->done) < get(&l->expected)) {
		int n = ibv_poll_cq(l->e->cq, BATCH, wc);

		REQUIRE(n >= 0);
		for (int i = 0; i < n; i++)
			note(l, &wc[i]);
	}
	return NULL;
}

static void start_posters(struct load *l, struct poster *p, pthread_t *t)
{
	for (unsigned int i = 0; i < KINDS * POSTERS; i++) {
		p[i] = (struct poster){ .load = l, .index = i };
		t[i] = start(post_all, &p[i]);
	}
}

/* Somebody looks at the queue pairs meanwhile. */
static void query(struct env *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	for (unsigned int i = 0; i < QUERIES; i++) {
		assert_int_equal(ibv_query_qp(i % 2 ? e->a : e->b, &attr, IBV_QP_STATE, &init), 0);
		assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	}
}

static void run(struct load *l, struct env *e)
{
	pthread_t posters[KINDS * POSTERS], pollers[POLLERS];
	struct poster p[KINDS * POSTERS];
	struct ibv_wc wc;
	uint32_t last;

	load_init(l, e);
	/* The agent may touch what the main thread has made. */
	fake_hold(false);
	for (int i = 0; i < POLLERS; i++)
		pollers[i] = start(poll_all, l);
	start_posters(l, p, posters);
	query(e);
	join(posters, KINDS * POSTERS);
	join(pollers, POLLERS);
	assert_int_equal(ibv_poll_cq(e->cq, 1, &wc), 0);
	/* Each thread's WRITEs came in order. */
	fake_hold(true);
	for (unsigned int i = WRITES; i < KINDS * POSTERS; i += KINDS) {
		memcpy(&last, e->mem + ENV_BYTES / 2 + i * sizeof(last), sizeof(last));
		assert_int_equal(last, TOTAL - 1);
	}
}

static void one_pair_of_queues_for_all(void **state)
{
	run(&load, *state);
}

static void nobody_naps_for_ever(void **state)
{
	fake_cpu_pressure();
	run(&load, *state);
	assert_int_equal(fake_nappers(), 0);
}

/* Registers and forgets memory until that cannot be done any more. */
static void *register_till_the_end(void *arg)
{
	struct env *e = arg;
	struct ibv_mr *mr;

	while ((mr = ibv_reg_mr(e->pd, e->mem, 8, 0)))
		REQUIRE(ibv_dereg_mr(mr) == 0);
	REQUIRE(errno == EIO);
	return NULL;
}

static void *wait_for_the_end(void *arg)
{
	struct env *e = arg;
	struct ibv_async_event event;

	REQUIRE(ibv_get_async_event(e->ctx, &event) == 0);
	REQUIRE(event.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	return NULL;
}

/* A queue of which nothing else is to be heard. */
static void *wait_for_completion(void *arg)
{
	struct env *e = arg;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(e->ctx);
	struct ibv_cq *cq = ibv_create_cq(e->ctx, 1, NULL, channel, 0), *got;
	void *context;

	REQUIRE(cq && ibv_req_notify_cq(cq, 0) == 0);
	add(&load.done, 1);
	REQUIRE(ibv_get_cq_event(channel, &got, &context) == 0 && got == cq);
	ibv_ack_cq_events(cq, 1);
	REQUIRE(ibv_destroy_cq(cq) == 0);
	REQUIRE(ibv_destroy_comp_channel(channel) == 0);
	return NULL;
}

/* Whatever was posted completes, once, and whoever waits is woken. */
static void the_agent_dies(void **state)
{
	pthread_t posters[KINDS * POSTERS], pollers[POLLERS], others[3];
	struct poster p[KINDS * POSTERS];
	struct env *e = *state;
	struct ibv_wc wc;

	load_init(&load, e);
	load.dies = true;
	fake_hold(false);
	others[0] = start(wait_for_completion, e);
	while (!get(&load.done))
		sched_yield();
	add(&load.done, -1);
	others[1] = start(wait_for_the_end, e);
	others[2] = start(register_till_the_end, e);
	for (int i = 0; i < POLLERS; i++)
		pollers[i] = start(poll_all, &load);
	start_posters(&load, p, posters);
	while (get(&load.done) < ALL / 4)
		sched_yield();
	fake_stop();
	join(posters, KINDS * POSTERS);
	for (unsigned int i = 0; i < KINDS * POSTERS; i++)
		add(&load.expected, (int)p[i].posted - TOTAL);
	join(pollers, POLLERS);
	join(others, 3);
	assert_int_equal(ibv_poll_cq(e->cq, 1, &wc), 0);
	for (unsigned int i = 0; i < KINDS * POSTERS; i++)
		for (unsigned int n = 0; n < TOTAL; n++)
			assert_int_equal(load.seen[i][n], n < p[i].posted);
}

#define T(f) cmocka_unit_test_setup_teardown(f, env_setup, env_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_pair_of_queues_for_all), T(nobody_naps_for_ever),
		cmocka_unit_test_setup_teardown(the_agent_dies, env_setup, env_teardown_dead),
	};

	return unit_run(tests);
}
