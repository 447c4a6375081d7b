// SPDX-License-Identifier: BSD-2-Clause
/*
 * The verbs library, used by several threads at once, with an agent in a thread of the same process.
 * Built with ThreadSanitizer; every test watches that each work request completes once. What the
 * threads of a test have in common is counted without ordering, so that it hides no race.
 *
 * Memory shared with the agent is mapped twice, and the sanitizer does not know that it is the same:
 * what it sees is the library's own state. No thread looks at memory that the agent writes before it
 * has taken the agent's lock.
 */
#include "verbs/env.h"

#include <pthread.h>
#include <sched.h>

enum {
	POSTERS = 2,		/* of WRITEs; as many post SENDs, and receive requests for those */
	POLLERS = 2,
	TOTAL = 600,		/* requests of a thread */
	KINDS = 3,
	UNDER_WAY = 24,		/* requests posted and not polled, less than the queue holds */
	BATCH = 4,
	QUERIES = 100,
};

/* End the program: cmocka's assertions are for the main thread. */
#define REQUIRE(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #x); \
			abort(); \
		} \
	} while (0)

static unsigned int get(unsigned int *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED);
}

static unsigned int add(unsigned int *n, int by)
{
	return __atomic_add_fetch(n, (unsigned int)by, __ATOMIC_RELAXED);
}

/* What a thread posts. */
enum kind { WRITES, SENDS, RECVS };

struct load {
	struct env *e;
	unsigned int under_way;		/* work requests; each may need an entry of the queue */
	unsigned int done;
	unsigned int seen[KINDS * POSTERS][TOTAL];	/* completions of each request */
	bool quiet;			/* nothing will be posted any more */
};

struct poster {
	struct load *load;
	unsigned int index;		/* in |load.seen| */
	unsigned int posted;
};

static void load_init(struct load *l, struct env *e)
{
	memset(l, 0, sizeof(*l));
	l->e = e;
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

static void note(struct load *l, const struct ibv_wc *wc, bool alive)
{
	unsigned int index = (unsigned int)(wc->wr_id >> 32), n = (unsigned int)wc->wr_id;

	REQUIRE(index < KINDS * POSTERS && n < TOTAL);
	REQUIRE(wc->status == IBV_WC_SUCCESS || (!alive && wc->status == IBV_WC_WR_FLUSH_ERR));
	REQUIRE(add(&l->seen[index][n], 1) == 1);
	add(&l->under_way, -1);
	add(&l->done, 1);
}

static void *poll_all(void *arg)
{
	struct load *l = arg;
	struct ibv_wc wc[BATCH];

	while (get(&l->done) < KINDS * POSTERS * TOTAL) {
		int n = ibv_poll_cq(l->e->cq, BATCH, wc);

		REQUIRE(n >= 0);
		for (int i = 0; i < n; i++)
			note(l, &wc[i], true);
	}
	return NULL;
}

static pthread_t start(void *(*f)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, f, arg), 0);
	return thread;
}

static void start_posters(struct load *l, struct poster *p, pthread_t *t)
{
	for (unsigned int i = 0; i < KINDS * POSTERS; i++) {
		p[i] = (struct poster){ .load = l, .index = i };
		t[i] = start(post_all, &p[i]);
	}
}

static void join(pthread_t *t, unsigned int n)
{
	while (n--)
		assert_int_equal(pthread_join(t[n], NULL), 0);
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

static struct load load;

static void one_pair_of_queues_for_all(void **state)
{
	run(&load, *state);
}

static void nobody_naps_for_ever(void **state)
{
	fake_crowded();
	run(&load, *state);
	assert_int_equal(fake_nappers(), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, env_setup, env_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_pair_of_queues_for_all), T(nobody_naps_for_ever),
	};

	return unit_run(tests);
}
