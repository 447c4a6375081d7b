// SPDX-License-Identifier: BSD-2-Clause
/* A session is lost: what becomes of the connections that it served. */
#include "cm_env.h"

static struct end a, b;

#define A "127.0.0.1"
#define B "127.0.0.2"
#define SECONDS(n) ((n) * 1000000000ULL)

static int setup(void **state)
{
	(void)state;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	a.grace_ms = b.grace_ms = 60000;
	env_open(&a);
	env_open(&b);
	for (uint32_t n = 1; n <= 3; n++) {
		env_add(&a, A, B, n, n + 10);
		env_add(&b, B, A, n + 10, n);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cm_close(a.cm);
	cm_close(b.cm);
	return 0;
}

static bool all_up(void *arg)
{
	(void)arg;
	for (uint32_t n = 1; n <= 3; n++) {
		const struct end_conn *x = &a.conns[n], *y = &b.conns[n + 10];

		if (!x->up || !y->up || x->ours.incarnation != y->peer.incarnation ||
		    y->ours.incarnation != x->peer.incarnation)
			return false;
	}
	return true;
}

static void wait_up(void)
{
	assert_true(env_until(&a, &b, all_up, NULL));
}

static unsigned int losses(void)
{
	unsigned int sum = 0;

	for (uint32_t n = 0; n < ENV_CIDS; n++)
		sum += a.conns[n].losses + b.conns[n].losses;
	return sum;
}

static bool session_back(void *arg)
{
	(void)arg;
	return env_session_up(&a, 1) && env_session_up(&b, 11);
}

static void goes_on(void **state)
{
	uint64_t before;

	(void)state;
	wait_up();
	before = a.conns[2].ours.incarnation;
	for (int round = 0; round < 5; round++) {
		struct end *e = round & 1 ? &b : &a;

		env_cut(e, round & 1 ? 11 : 1);
		assert_int_equal(cm_conn_state(a.cm, 2), CM_READY);
		assert_true(env_until(&a, &b, session_back, NULL));
		/* A connection made afterwards shows that what came before has been dealt with. */
		env_add(&a, A, B, 20, 21);
		env_add(&b, B, A, 21, 20);
		assert_true(env_until(&a, &b, env_conn_up, &a.conns[20]));
		cm_remove(a.cm, 20, "test");
		cm_remove(b.cm, 21, "test");
		a.conns[20] = b.conns[21] = (struct end_conn){0};
	}
	assert_true(all_up(NULL));
	assert_true(a.conns[2].ours.incarnation == before);
	assert_int_equal(losses(), 0);
}

static bool told(void *arg)
{
	return b.conns[12].paths == *(unsigned int *)arg;
}

/* What the path carries is told at once, again on every session that resumes, and never of another pair. */
static void tells_path(void **state)
{
	struct cm_path path = {.len = 1234, .mtu = 1500};
	unsigned int times = 0;

	(void)state;
	cm_tell_path(a.cm, 2, &path);
	cm_tell_path(a.cm, 99, &path);
	wait_up();
	cm_tell_path(a.cm, 2, &path);
	times++;
	assert_true(env_until(&a, &b, told, &times));
	assert_memory_equal(&b.conns[12].path, &path, sizeof(path));
	path.len = 1300;
	for (int round = 0; round < 2; round++) {
		env_cut(round ? &b : &a, round ? 11 : 1);
		/* Found while there is no session. */
		if (round)
			cm_tell_path(a.cm, 2, &path);
		times++;
		assert_true(env_until(&a, &b, told, &times));
	}
	assert_int_equal(b.conns[12].path.len, 1300);
	assert_int_equal(losses(), 0);
	env_cut(&a, 1);
	env_lost(&a, 2, "reset");
	cm_reset(a.cm, 2, "reset");
	b.conns[12].paths = times = 0;
	assert_true(env_until(&a, &b, session_back, NULL));
	wait_up();
	assert_true(told(&times));
	assert_int_equal(a.conns[2].paths + b.conns[11].paths + b.conns[13].paths, 0);
}

static bool renewed(void *arg)
{
	return all_up(NULL) && a.conns[2].ours.incarnation != *(uint64_t *)arg;
}

/* One end has reset the connection meanwhile. */
static void reset_meanwhile(void **state)
{
	uint64_t before;

	(void)state;
	wait_up();
	before = a.conns[2].ours.incarnation;
	env_cut(&b, 11);
	env_lost(&b, 12, "reset");
	cm_reset(b.cm, 12, "reset");
	assert_true(env_until(&a, &b, renewed, &before));
	assert_int_equal(losses(), 2);
}

static bool a2_lost(void *arg)
{
	(void)arg;
	return !a.conns[2].set_up;
}

static void removed_meanwhile(void **state)
{
	(void)state;
	wait_up();
	env_cut(&b, 11);
	cm_remove(b.cm, 12, "removed");
	assert_true(env_until(&a, &b, a2_lost, NULL));
	assert_string_equal(a.conns[2].reason, "peer has no such connection");
	assert_true(a.conns[1].up && a.conns[3].up);
	assert_int_equal(losses(), 1);
}

/* The peer's agent was killed and comes back at once: it knows nothing of what was up. */
static void restarted(void **state)
{
	uint64_t before;

	(void)state;
	wait_up();
	before = a.conns[2].ours.incarnation;
	env_cut(&b, 11);
	env_abandon(&b);
	env_open(&b);
	for (uint32_t n = 1; n <= 3; n++)
		env_add(&b, B, A, n + 10, n);
	assert_true(env_until(&a, &b, renewed, &before));
	assert_non_null(strstr(a.conns[2].reason, "restarted"));
	assert_int_equal(losses(), 3);
}

/* It stays away: the grace time ends. */
static void stays_away(void **state)
{
	uint64_t now;

	(void)state;
	wait_up();
	env_cut(&b, 11);
	env_abandon(&b);
	now = env_now();
	for (int i = 0; i < 20; i++)
		cm_process(a.cm, now += SECONDS(1));
	assert_true(a.conns[2].up);
	for (int i = 0; i < 50; i++)
		cm_process(a.cm, now += SECONDS(1));
	assert_false(a.conns[2].up);
	assert_true(a.conns[2].losses > 0);
}

/* TCP is well, the peer's agent is not: it says nothing, for longer than one short of CPU might. */
static void silent(void **state)
{
	uint64_t now;

	(void)state;
	wait_up();
	now = env_now();
	for (int i = 0; i < 10; i++) {
		cm_process(a.cm, now += SECONDS(1));
		cm_process(b.cm, now);
	}
	for (int i = 0; i < 29; i++)
		cm_process(a.cm, now += SECONDS(1));
	assert_true(env_session_up(&a, 1));
	for (int i = 0; i < 2; i++)
		cm_process(a.cm, now += SECONDS(1));
	assert_false(env_session_up(&a, 1));
	assert_int_equal(losses(), 0);
}

/* It is this agent that was not running, stopped or starved: that is no silence of the peer's. */
static void away_itself(void **state)
{
	uint64_t now;

	(void)state;
	wait_up();
	now = env_now();
	cm_process(a.cm, now);
	cm_process(b.cm, now);
	for (int i = 0; i < 2; i++)
		cm_process(a.cm, now += SECONDS(30));
	assert_true(env_session_up(&a, 1));
	cm_process(b.cm, now);
	assert_true(env_session_up(&b, 11));
	/* From now on it is on time, and the peer is not there. */
	for (int i = 0; i < 32; i++)
		cm_process(a.cm, now += SECONDS(1));
	assert_false(env_session_up(&a, 1));
	assert_true(a.conns[2].up);
	/* Nor is it part of the grace time. */
	cm_process(a.cm, now += SECONDS(1000));
	assert_true(a.conns[2].up);
	for (int i = 0; i < 62; i++)
		cm_process(a.cm, now += SECONDS(1));
	assert_false(a.conns[2].up);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(goes_on),	  TEST(reset_meanwhile), TEST(removed_meanwhile),
		TEST(restarted),  TEST(stays_away),	 TEST(silent),
		TEST(away_itself), TEST(tells_path),
	};

	if (!env_namespace()) {
		puts("1..0 # SKIP needs a network namespace of its own (root)");
		return 0;
	}
	return unit_run(tests);
}
