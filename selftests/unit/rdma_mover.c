// SPDX-License-Identifier: BSD-2-Clause
/* Copies: runs made with few calls, order, what fails and what goes on, atomics, memory in areas. */
#include "rdma_obj_env.h"

enum { BASE = ENV_PROC_BASE, ALL = IBV_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE };

static struct fverbs_mr mr;
static uint32_t pd;

struct test_copy {
	struct rdma_copy copy;
	uint8_t local[256];
	int error;			/* 1: not done yet */
	unsigned int when;		/* the how-manieth to be done */
	struct test_copy *then;		/* queue this when done */
};

static unsigned int done_count;

static void done(struct rdma_copy *copy, int error)
{
	struct test_copy *t = (struct test_copy *)copy;

	assert_int_equal(t->error, 1);
	assert_null(copy->span.mr);
	t->error = error;
	t->when = done_count++;
	if (t->then)
		rdma_copy_queue(env.r, &t->then->copy);
}

static int set_up(void **state)
{
	env_set_up(state);
	pd = env_pd(&app);
	mr = env_reg(&app, pd, BASE, ENV_PROC_SIZE, ALL);
	done_count = 0;
	env.reads = env.writes = env.pieces = 0;
	return 0;
}

static void prepare_of(struct test_copy *t, struct env_app *whose, uint32_t domain, uint32_t key,
		       enum rdma_copy_kind kind, uint64_t addr, uint32_t len)
{
	struct rdma_pd *p = rdma_handle_get(whose->ctx, RDMA_KIND_PD, domain);

	memset(t, 0, sizeof(*t));
	t->copy.kind = kind;
	t->copy.local = t->local;
	t->copy.done = done;
	t->error = 1;
	assert_int_equal(rdma_resolve_local(p, key, addr, len, 0, &t->copy.span), RDMA_FAULT_NONE);
}

static void prepare(struct test_copy *t, enum rdma_copy_kind kind, uint64_t addr, uint32_t len)
{
	prepare_of(t, &app, pd, mr.lkey, kind, addr, len);
}

static void queue(struct test_copy *t, enum rdma_copy_kind kind, uint64_t addr, uint32_t len)
{
	prepare(t, kind, addr, len);
	rdma_copy_queue(env.r, &t->copy);
}

static uint8_t *mem(uint64_t addr)
{
	return &env.procs[0].memory[addr - BASE];
}

static void one_call_for_many(void **state)
{
	static struct test_copy t[300];

	(void)state;
	for (int i = 0; i < ENV_PROC_SIZE; i++)
		env.procs[0].memory[i] = (uint8_t)(i * 7);
	/* 64 bytes each, three in a row adjacent, then a gap. */
	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++)
		queue(&t[i], RDMA_COPY_READ, BASE + i * 64 + i / 3 * 16, 64);
	assert_int_equal(env.reads, 0);
	assert_int_equal(rdma_copies_run(env.r), ARRAY_SIZE(t));
	assert_int_equal(env.reads, 1);
	assert_int_equal(env.pieces, 100);
	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
		assert_int_equal(t[i].error, 0);
		assert_int_equal(t[i].when, i);
		assert_memory_equal(t[i].local, mem(BASE + i * 64 + i / 3 * 16), 64);
	}
	assert_int_equal(rdma_copies_run(env.r), 0);
}

static void more_than_a_run(void **state)
{
	static struct test_copy t[2000];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
		queue(&t[i], RDMA_COPY_WRITE, BASE + i * 16, 8);
		memset(t[i].local, (int)i, 8);
	}
	assert_int_equal(rdma_copies_run(env.r), ARRAY_SIZE(t));
	assert_in_range(env.writes, 2, 4);
	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
		assert_int_equal(t[i].error, 0);
		assert_int_equal(*mem(BASE + i * 16 + 7), (uint8_t)i);
	}
}

static void order(void **state)
{
	struct test_copy w1, r1, w2, r2;

	(void)state;
	queue(&w1, RDMA_COPY_WRITE, BASE, 4);
	memcpy(w1.local, "one", 4);
	queue(&r1, RDMA_COPY_READ, BASE, 4);
	queue(&w2, RDMA_COPY_WRITE, BASE, 4);
	memcpy(w2.local, "two", 4);
	queue(&r2, RDMA_COPY_READ, BASE, 4);
	rdma_copies_run(env.r);
	assert_string_equal((char *)r1.local, "one");
	assert_string_equal((char *)r2.local, "two");
	assert_true(w1.when == 0 && r1.when == 1 && w2.when == 2 && r2.when == 3);
}

static void what_fails_is_the_right_one(void **state)
{
	static struct test_copy t[64];
	uint64_t state64 = 4711;

	(void)state;
	/* Holes everywhere: whoever touches one fails, and nobody else. */
	for (int round = 0; round < 300; round++) {
		enum rdma_copy_kind kind = round % 2 ? RDMA_COPY_WRITE : RDMA_COPY_READ;
		bool bad[ARRAY_SIZE(t)] = {};

		for (int h = 0; h < ENV_HOLES; h++) {
			env.procs[0].holes[h].from = BASE + unit_random(&state64) % 8192;
			env.procs[0].holes[h].to =
				env.procs[0].holes[h].from + unit_random(&state64) % 300;
		}
		for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
			uint64_t at = BASE + i * 128;
			uint32_t len = 1 + (uint32_t)(unit_random(&state64) % 128);

			if (unit_random(&state64) % 2)
				len = 128;
			queue(&t[i], kind, at, len);
			for (int h = 0; h < ENV_HOLES; h++)
				bad[i] |= env.procs[0].holes[h].from < at + len &&
					  env.procs[0].holes[h].to > at &&
					  env.procs[0].holes[h].to > env.procs[0].holes[h].from;
		}
		rdma_copies_run(env.r);
		for (unsigned int i = 0; i < ARRAY_SIZE(t); i++)
			assert_int_equal(t[i].error, bad[i] ? -EFAULT : 0);
	}
	memset(env.procs[0].holes, 0, sizeof(env.procs[0].holes));
}

static void a_process_that_is_gone(void **state)
{
	struct test_copy t[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		queue(&t[i], RDMA_COPY_READ, BASE + (uint64_t)i * 100, 8);
	env.procs[0].gone = true;
	assert_int_equal(rdma_copies_run(env.r), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(t[i].error, -ESRCH);
	assert_int_equal(env.reads, 1);
}

static void a_context_that_is_gone(void **state)
{
	struct test_copy t[3], late;
	struct env_app other;
	struct fverbs_mr theirs;
	uint32_t their_pd;

	(void)state;
	env_attach(&other, 1);
	their_pd = env_pd(&other);
	theirs = env_reg(&other, their_pd, BASE, 64, ALL);
	queue(&t[0], RDMA_COPY_READ, BASE, 8);
	prepare_of(&t[1], &other, their_pd, theirs.lkey, RDMA_COPY_WRITE, BASE, 8);
	rdma_copy_queue(env.r, &t[1].copy);
	queue(&t[2], RDMA_COPY_READ, BASE, 8);
	prepare(&late, RDMA_COPY_READ, BASE, 8);
	env_detach(&app);
	app.ctx = NULL;
	rdma_copy_queue(env.r, &late.copy);
	env.reads = env.writes = 0;
	assert_int_equal(rdma_copies_run(env.r), 4);
	assert_int_equal(t[0].error, -ESRCH);
	assert_int_equal(t[1].error, 0);
	assert_int_equal(t[2].error, -ESRCH);
	assert_int_equal(late.error, -ESRCH);
	assert_true(env.reads == 0 && env.writes == 1);
	env_detach(&other);
}

static void a_region_that_is_gone(void **state)
{
	struct test_copy t[2];

	(void)state;
	queue(&t[0], RDMA_COPY_WRITE, BASE, 8);
	queue(&t[1], RDMA_COPY_WRITE, BASE + 8, 8);
	assert_int_equal(env_drop(&app, FVERBS_DEREG_MR, mr.handle), 0);
	env.writes = 0;
	assert_int_equal(rdma_copies_run(env.r), 2);
	assert_int_equal(t[0].error, -EFAULT);
	assert_int_equal(t[1].error, -EFAULT);
	assert_int_equal(env.writes, 0);
}

/* A process whose user's memory has kept calls waiting has none made for a while; others go on, in order. */
static void a_process_that_rests(void **state)
{
	struct env_app other;
	struct fverbs_mr others;
	uint32_t domain;
	struct test_copy t[3], o;

	(void)state;
	env_attach(&other, 1);
	domain = env_pd(&other);
	others = env_reg(&other, domain, BASE, ENV_PROC_SIZE, ALL);
	for (int i = 0; i < 3; i++)
		queue(&t[i], i & 1 ? RDMA_COPY_READ : RDMA_COPY_WRITE, BASE + 8, 8);
	prepare_of(&o, &other, domain, others.lkey, RDMA_COPY_WRITE, BASE, 8);
	rdma_copy_queue(env.r, &o.copy);
	/* Asked before each run: the second finds it tired. */
	env.tires_after = 2;
	env.rest_for = 500;
	env.r->now = 1000;
	assert_int_equal(rdma_copies_run(env.r), 2);
	assert_int_equal(t[0].error | o.error, 0);
	assert_int_equal(t[1].error & t[2].error, 1);
	assert_true(rdma_copies_deadline(env.r) == 1500);
	env.r->now = 1499;
	assert_int_equal(rdma_copies_run(env.r), 0);
	env.r->now = 1500;
	assert_int_equal(rdma_copies_run(env.r), 2);
	assert_true(t[1].error == 0 && t[2].error == 0 && t[1].when < t[2].when);
	assert_true(rdma_copies_deadline(env.r) == UINT64_MAX);
	/* It goes while it rests. */
	env.rest[1] = 3000;
	prepare_of(&o, &other, domain, others.lkey, RDMA_COPY_WRITE, BASE, 8);
	rdma_copy_queue(env.r, &o.copy);
	assert_int_equal(rdma_copies_run(env.r), 0);
	env_detach(&other);
	assert_int_equal(rdma_copies_run(env.r), 1);
	assert_int_equal(o.error, -ESRCH);
}

static void taken_back(void **state)
{
	struct test_copy t[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		queue(&t[i], RDMA_COPY_WRITE, BASE + (uint64_t)i * 8, 8);
		memset(t[i].local, 0x77, 8);
	}
	rdma_span_put(&t[1].copy.span);
	t[1].copy.local = NULL;
	assert_int_equal(rdma_copies_run(env.r), 3);
	assert_true(t[0].when == 0 && t[1].when == 1 && t[2].when == 2);
	assert_int_equal(*mem(BASE), 0x77);
	assert_int_equal(*mem(BASE + 8), 0);
	assert_int_equal(*mem(BASE + 16), 0x77);
}

static void queued_from_done(void **state)
{
	struct test_copy a, b, c;

	(void)state;
	prepare(&b, RDMA_COPY_READ, BASE, 4);
	prepare(&c, RDMA_COPY_WRITE, BASE, 4);
	memcpy(c.local, "new", 4);
	queue(&a, RDMA_COPY_READ, BASE + 64, 4);
	a.then = &c;
	c.then = &b;
	assert_int_equal(rdma_copies_run(env.r), 3);
	assert_string_equal((char *)b.local, "new");
}

static void atomics(void **state)
{
	struct test_copy t;
	uint64_t v = 40, arg[2] = { 2 };

	(void)state;
	memcpy(mem(BASE + 8), &v, 8);
	queue(&t, RDMA_COPY_FETCH_ADD, BASE + 8, 8);
	memcpy(t.local, arg, 8);
	rdma_copies_run(env.r);
	assert_int_equal(*(uint64_t *)mem(BASE + 8), 42);
	assert_int_equal(*(uint64_t *)t.local, 40);
	arg[0] = 41;
	arg[1] = 7;
	queue(&t, RDMA_COPY_CMP_SWAP, BASE + 8, 8);
	memcpy(t.local, arg, 16);
	rdma_copies_run(env.r);
	assert_int_equal(*(uint64_t *)mem(BASE + 8), 42);
	assert_int_equal(*(uint64_t *)t.local, 42);
	arg[0] = 42;
	queue(&t, RDMA_COPY_CMP_SWAP, BASE + 8, 8);
	memcpy(t.local, arg, 16);
	rdma_copies_run(env.r);
	assert_int_equal(*(uint64_t *)mem(BASE + 8), 7);
	assert_int_equal(*(uint64_t *)t.local, 42);
	env.procs[0].holes[0].from = BASE + 12;
	env.procs[0].holes[0].to = BASE + 13;
	queue(&t, RDMA_COPY_FETCH_ADD, BASE + 8, 8);
	rdma_copies_run(env.r);
	assert_int_equal(t.error, -EFAULT);
}

static void memory_in_an_area(void **state)
{
	const struct fverbs_reg_mr req = { .pd = pd, .addr = 8192, .iova = 0, .length = 64,
					   .area_plus_1 = 1, .access = ALL };
	uint64_t arg[2] = { 5, 6 };
	struct test_copy t[4];
	uint32_t key;

	(void)state;
	assert_int_equal(env_call(&app, FVERBS_REG_MR, &req, sizeof(req), -1), 0);
	key = ((const struct fverbs_mr *)env_answer(&app))->lkey;
	prepare_of(&t[0], &app, pd, key, RDMA_COPY_WRITE, 0, 8);
	memcpy(t[0].local, &arg[0], 8);
	prepare_of(&t[1], &app, pd, key, RDMA_COPY_CMP_SWAP, 0, 8);
	memcpy(t[1].local, arg, 16);
	prepare_of(&t[2], &app, pd, key, RDMA_COPY_FETCH_ADD, 0, 8);
	memcpy(t[2].local, arg, 8);
	prepare_of(&t[3], &app, pd, key, RDMA_COPY_READ, 0, 8);
	for (int i = 0; i < 4; i++)
		rdma_copy_queue(env.r, &t[i].copy);
	assert_int_equal(rdma_copies_run(env.r), 4);
	assert_int_equal(*(uint64_t *)t[1].local, 5);
	assert_int_equal(*(uint64_t *)t[2].local, 6);
	assert_int_equal(*(uint64_t *)t[3].local, 11);
	assert_int_equal(*(uint64_t *)(app.area + 8192), 11);
	assert_true(env.reads == 0 && env.writes == 0);
}

/* ---- a call that is late ---- */

/* Run the copies until the first call, which is late. */
static struct rdma_run *until_late(void)
{
	jmp_buf here;

	if (setjmp(here))
		return rdma_stalled(env.r);
	env.late = &here;
	rdma_copies_run(env.r);
	fail();
	return NULL;
}

static void the_process_waits_and_others_go_on(void **state)
{
	static struct test_copy t[3], theirs;
	struct env_app other;
	struct rdma_run *late;
	uint32_t their_pd;

	(void)state;
	env_attach(&other, 1);
	their_pd = env_pd(&other);
	queue(&t[0], RDMA_COPY_WRITE, BASE, 8);
	queue(&t[1], RDMA_COPY_WRITE, BASE + 8, 8);
	late = until_late();
	queue(&t[2], RDMA_COPY_READ, BASE, 8);
	prepare_of(&theirs, &other, their_pd, env_reg(&other, their_pd, BASE, 64, ALL).lkey,
		   RDMA_COPY_WRITE, BASE, 8);
	rdma_copy_queue(env.r, &theirs.copy);
	assert_int_equal(rdma_copies_run(env.r), 1);
	assert_int_equal(theirs.error, 0);
	assert_true(rdma_late_uses(env.r, t[1].local + 7, 1));
	assert_false(rdma_late_uses(env.r, t[2].local, 8));
	/* The second did not succeed: it is made again, before what came later. */
	rdma_resumed(late, 8);
	assert_int_equal(rdma_copies_run(env.r), 3);
	assert_true(t[0].when == 1 && t[1].error == -EFAULT && t[2].when == 3);
	assert_false(rdma_late_uses(env.r, t[1].local, 8));
	env_detach(&other);
}

static void a_process_that_goes_while_it_waits(void **state)
{
	struct test_copy t[2], after;
	struct rdma_run *late;

	(void)state;
	queue(&t[0], RDMA_COPY_READ, BASE, 8);
	queue(&t[1], RDMA_COPY_READ, BASE + 64, 8);
	late = until_late();
	queue(&after, RDMA_COPY_READ, BASE, 8);
	rdma_span_put(&t[1].copy.span);
	env_detach(&app);
	app.ctx = NULL;
	assert_int_equal(rdma_copies_run(env.r), 1);
	assert_int_equal(after.error, -ESRCH);
	assert_true(t[0].error == 1 && t[1].error == 1);
	rdma_resumed(late, -EFAULT);
	assert_int_equal(rdma_copies_run(env.r), 2);
	assert_true(t[0].error < 0 && t[1].error != 1);
}

static void an_atomic_that_is_late(void **state)
{
	uint64_t v = 40, two = 2;
	struct rdma_run *late;
	struct test_copy t;

	(void)state;
	memcpy(mem(BASE), &v, 8);
	queue(&t, RDMA_COPY_FETCH_ADD, BASE, 8);
	memcpy(t.local, &two, 8);
	late = until_late();
	/* Another's came meanwhile. */
	v = 50;
	memcpy(mem(BASE), &v, 8);
	rdma_resumed(late, 8);
	assert_int_equal(rdma_copies_run(env.r), 1);
	assert_int_equal(t.error, 0);
	assert_int_equal(*(uint64_t *)t.local, 50);
	assert_int_equal(*(uint64_t *)mem(BASE), 52);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, env_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_call_for_many), TEST(more_than_a_run), TEST(order),
		TEST(what_fails_is_the_right_one), TEST(a_process_that_is_gone),
		TEST(a_context_that_is_gone), TEST(a_region_that_is_gone), TEST(taken_back),
		TEST(a_process_that_rests),
		TEST(queued_from_done), TEST(atomics), TEST(memory_in_an_area),
		TEST(the_process_waits_and_others_go_on), TEST(a_process_that_goes_while_it_waits),
		TEST(an_atomic_that_is_late),
	};

	return unit_run(tests);
}
