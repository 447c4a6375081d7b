// SPDX-License-Identifier: BSD-2-Clause
/* Links of connected queue pairs: whoever comes first, crossing dials, refusals, losses, patience. */
#include "rdma_link_env.h"

enum { QA = 17, QB = 18 };
static const uint64_t SECOND = 1000000000;

static struct rdma_qp qa, qb;

static int setup(void **state)
{
	(void)state;
	env_open();
	env_qp(&env_a, &qa, QA, QB);
	env_qp(&env_b, &qb, QB, QA);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	env_put(&qa);
	env_put(&qb);
	env_close();
	return 0;
}

static void assert_joined(void)
{
	struct fcore_conn *a = rdma_link_core(qa.link), *b = rdma_link_core(qb.link);

	assert_int_equal(qa.ups, 1);
	assert_int_equal(qb.ups, 1);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(env_a.conns[a->cid].peer, b->cid);
	assert_int_equal(env_b.conns[b->cid].peer, a->cid);
	assert_int_equal(env_live(&env_a), 1);
	assert_int_equal(env_live(&env_b), 1);
	assert_ptr_equal(rdma_link_of(&env_a.r, a), qa.link);
	assert_ptr_equal(rdma_link_qp(qa.link), &qa);
	assert_int_equal(rdma_link_max_len(qa.link), 1400);
}

static void first_a(void **state)
{
	(void)state;
	assert_true(env_rtr(&qa, &env_b, 0));
	env_settle(1000);
	assert_int_equal(qa.ups, 0);
	assert_int_equal(env_live(&env_a), 0);
	assert_true(env_rtr(&qb, &env_a, 0));
	env_settle(1000);
	assert_joined();
}

static void first_b(void **state)
{
	(void)state;
	assert_true(env_rtr(&qb, &env_a, 0));
	env_settle(1000);
	assert_true(env_rtr(&qa, &env_b, 0));
	env_settle(1000);
	assert_joined();
	assert_int_equal(env_a.dials, 1);
	assert_int_equal(env_b.dials, 1);
}

/* One step of one of the six things that can happen next; false: it cannot. */
static bool step(unsigned int what)
{
	switch (what) {
	case 0: return !qa.link && env_rtr(&qa, &env_b, 0);
	case 1: return !qb.link && env_rtr(&qb, &env_a, 0);
	case 2: return env_flush(&env_a);
	case 3: return env_flush(&env_b);
	case 4: return env_deliver(&env_a);
	default: return env_deliver(&env_b);
	}
}

/* Whatever the order of events, they are joined at once: no time passes. */
static void any_order(void **state)
{
	uint64_t seed = 1;

	for (int run = 0; run < 3000; run++) {
		int stuck = 0;

		while (stuck < 100)
			stuck = step((unsigned int)(unit_random(&seed) % 6)) ? 0 : stuck + 1;
		assert_joined();
		teardown(state);
		setup(state);
	}
}

static void lost(void **state)
{
	(void)state;
	assert_true(env_rtr(&qb, &env_a, 0));
	assert_true(env_rtr(&qa, &env_b, 0));
	env_settle(1000);
	assert_joined();
	env_lose(&env_a, rdma_link_core(qa.link)->cid, "gone");
	assert_int_equal(qa.downs, 1);
	assert_string_equal(qa.why, "gone");
	env_lose(&env_b, rdma_link_core(qb.link)->cid, "gone too");
	assert_int_equal(qb.downs, 1);
	/* Nothing is made anew behind a queue pair's back. */
	env_settle(100 * SECOND);
	assert_int_equal(env_live(&env_a) + env_live(&env_b), 0);
}

/* The peer's queue pair is destroyed. */
/* The connection stays a while, for what has not been acknowledged. */
static void left(void **state)
{
	(void)state;
	assert_true(env_rtr(&qb, &env_a, 0));
	assert_true(env_rtr(&qa, &env_b, 0));
	env_settle(1000);
	env_put(&qb);
	env_settle(SECOND);
	assert_int_equal(qa.downs, 0);
	assert_int_equal(env_live(&env_a) + env_live(&env_b), 2);
	env_settle(SECOND + 1000);
	assert_int_equal(qa.downs, 1);
	assert_non_null(strstr(qa.why, "has left it"));
	assert_int_equal(qb.downs, 0);
	assert_int_equal(env_live(&env_a) + env_live(&env_b), 0);
}

static void patience(void **state)
{
	(void)state;
	assert_true(env_rtr(&qa, &env_b, 5 * SECOND));
	env_settle(1000);
	env_settle(5 * SECOND);
	assert_int_equal(qa.downs, 0);
	assert_true(rdma_links_deadline(&env_a.r) <= 5 * SECOND + 1000);
	env_settle(5 * SECOND + 1000);
	assert_int_equal(qa.downs, 1);
	assert_non_null(strstr(qa.why, "not connected in time: queue pair 18 here does not wait"));
	assert_int_equal(env_live(&env_a), 0);
	assert_int_equal(rdma_links_deadline(&env_a.r), UINT64_MAX);
}

/* The other's dial does not come: whoever was refused dials again. */
static void refused_one_way(void **state)
{
	(void)state;
	assert_true(env_rtr(&qa, &env_b, 0));
	env_settle(1000);
	env_a.deaf = "no [peer] section";
	assert_true(env_rtr(&qb, &env_a, 0));
	env_settle(1000);
	assert_int_equal(qa.ups + qb.ups, 0);
	env_settle(2 * SECOND);
	assert_joined();
}

static void others_refused(void **state)
{
	struct rdma_qp other;
	struct fverbs_ah_attr ah;
	char err[128];

	(void)state;
	assert_true(env_rtr(&qa, &env_b, 0));
	env_qp(&env_b, &other, 99, QA);
	assert_true(env_rtr(&other, &env_a, SECOND));
	env_settle(1000);
	env_settle(2 * SECOND);
	assert_int_equal(other.downs, 1);
	assert_non_null(strstr(other.why, "queue pair 17 here does not wait for your 99"));
	/* The same numbers, unordered. */
	env_path(&env_a, 0, &ah);
	other.link = rdma_link_connect(&qb, &ah, QA, 0, 0, NULL, NULL, err, sizeof(err));
	env_settle(2 * SECOND);
	assert_null(rdma_link_core(other.link));
	assert_non_null(strstr(other.link->why, "queue pair 17 is RC, strongly ordered"));
	env_put(&other);
}

static void not_dialled(void **state)
{
	struct fverbs_ah_attr ah;

	(void)state;
	env_a.dial_error = -ENETUNREACH;
	assert_false(env_rtr(&qa, &env_b, 0));
	assert_string_equal(qa.why, "the test forbids it");
	env_a.dial_error = 0;
	env_path(&env_b, 1, &ah);
	ah.sgid_index = 0;
	assert_null(rdma_link_connect(&qa, &ah, QB, true, 0, NULL, NULL, qa.why, sizeof(qa.why)));
	assert_non_null(strstr(qa.why, "is an IPv4 address, the peer's GID an IPv6 one"));
	ah.sgid_index = 2;
	assert_null(rdma_link_connect(&qa, &ah, QB, true, 0, NULL, NULL, qa.why, sizeof(qa.why)));
	assert_non_null(strstr(qa.why, "the device has 2 GIDs"));
	ah.sgid_index = 1;
	ah.is_global = 0;
	assert_null(rdma_link_connect(&qa, &ah, QB, true, 0, NULL, NULL, qa.why, sizeof(qa.why)));
	assert_non_null(strstr(qa.why, "needs a GID"));
}

/* The operator deletes what is being dialled, and another connection gets its number. */
static void deleted(void **state)
{
	(void)state;
	assert_true(env_rtr(&qa, &env_b, 0));
	env_a.conns[1].hung = true;
	rdma_links_conn_gone(&env_a.r, 1);
	assert_int_equal(env_live(&env_a), 0);
	rdma_links_conn_down(&env_a.r, 1, "another's");
	assert_int_equal(qa.downs, 0);
	assert_true(env_rtr(&qb, &env_a, 0));
	env_settle(1000);
	assert_joined();
	/* Of what was hung up nobody is told again. */
	env_put(&qa);
	rdma_links_conn_gone(&env_a.r, rdma_link_core(qb.link)->cid);
}

/* RDMA 6.2, 6.3: queue pairs of different modes do not meet, and the end that dials is told why. */
static void other_modes(void **state)
{
	static const struct {
		uint8_t modes;
		const char *why;
	} others[] = {
		{ 0, "queue pair 18 is RC, weakly ordered, verbs-compatible here, yours RC, strongly" },
		{ RDMA_LINK_UNORDERED | RDMA_LINK_CIE, "is RC, unordered, complete-in-error here" },
		{ RDMA_LINK_ORDERED | RDMA_LINK_CIE, "is RC, strongly ordered, complete-in-error here" },
		{ RDMA_LINK_ORDERED | RDMA_LINK_XRC, "is XRC, strongly ordered, verbs-compatible here" },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++) {
		teardown(NULL);
		setup(NULL);
		qb.modes = others[i].modes;
		assert_true(env_rtr(&qb, &env_a, 0));
		assert_true(env_rtr(&qa, &env_b, 0));
		env_settle(1000);
		assert_int_equal(qa.ups + qb.ups, 0);
		if (!strstr(qa.link->why, others[i].why))
			fail_msg("modes %u: %s", others[i].modes, qa.link->why);
	}
}

/* What one end alone understands is not used. */
static void extensions(void **state)
{
	const struct link_offer plain = { LINK_RC, RDMA_LINK_ORDERED, 0, QB, QA, 1400 };
	struct ulp_conn up = { .core = &env_cores[1], .cid = 1, .max_len = 1400 };

	(void)state;
	assert_true(env_rtr(&qa, &env_b, 0));
	assert_true(env_rtr(&qb, &env_a, 0));
	env_settle(1000);
	assert_joined();
	assert_true(rdma_link_reasons(qa.link));
	assert_true(rdma_link_reasons(qb.link));
	assert_true(rdma_link_pads(qa.link) && rdma_link_pads(qb.link));
	teardown(NULL);
	setup(NULL);
	assert_true(env_rtr(&qa, &env_b, 0));
	link_offer_pack(&plain, &up.data);
	assert_int_equal(rdma_links_conn_up(&env_a.r, &up), 0);
	assert_int_equal(qa.ups, 1);
	assert_false(rdma_link_reasons(qa.link));
	assert_false(rdma_link_pads(qa.link));
}

/* The path has become smaller or larger; the peer's limit stays. */
static void resized(void **state)
{
	const struct link_offer small = { LINK_RC, RDMA_LINK_ORDERED, 0, QB, QA, 1200 };
	struct ulp_conn up = { .core = &env_cores[1], .cid = 1, .max_len = 1000 };

	(void)state;
	assert_true(env_rtr(&qa, &env_b, 0));
	rdma_links_conn_resized(&env_a.r, 1, 900);
	assert_int_equal(qa.resizes, 0);
	link_offer_pack(&small, &up.data);
	assert_int_equal(rdma_links_conn_up(&env_a.r, &up), 0);
	assert_int_equal(qa.max_len, 1000);
	rdma_links_conn_resized(&env_a.r, 1, 900);
	assert_int_equal(qa.max_len, 900);
	rdma_links_conn_resized(&env_a.r, 1, 1300);
	assert_int_equal(qa.max_len, 1200);
	rdma_links_conn_resized(&env_a.r, 2, 800);
	rdma_links_conn_resized(&env_a.r, UINT32_MAX, 800);
	assert_int_equal(qa.max_len, 1200);
	assert_int_equal(qa.resizes, 2);
	assert_int_equal(qa.ups, 1);
}

/* Both queue pairs go, and one end's connection before the other's: what was dialled is not any more. */
static void both_leave(void **state)
{
	uint32_t at_a, at_b;

	(void)state;
	assert_true(env_rtr(&qa, &env_b, 0));
	assert_true(env_rtr(&qb, &env_a, 0));
	env_settle(1000);
	assert_joined();
	at_a = rdma_link_core(qa.link)->cid;
	at_b = rdma_link_core(qb.link)->cid;
	env_put(&qa);
	env_put(&qb);
	assert_int_equal(env_live(&env_a) + env_live(&env_b), 2);
	rdma_links_conn_down(&env_a.r, at_a, "peer removed the connection");
	rdma_links_conn_down(&env_b.r, at_b, "peer removed the connection");
	env_settle(10 * SECOND);
	assert_int_equal(env_live(&env_a) + env_live(&env_b), 0);
}

/* A session that is not there yet is not a refusal. */
static void no_session(void **state)
{
	(void)state;
	assert_true(env_rtr(&qa, &env_b, 0));
	rdma_links_conn_down(&env_a.r, 1, "no route");
	assert_int_equal(env_live(&env_a), 1);
	assert_true(env_rtr(&qb, &env_a, 0));
	env_settle(1000);
	assert_joined();
}

/* The session goes after a dial was accepted, and comes back: the agent dials again. */
static void lost_early(void **state)
{
	(void)state;
	assert_true(env_rtr(&qb, &env_a, 0));
	env_settle(1000);
	assert_true(env_rtr(&qa, &env_b, 0));
	env_flush(&env_a);
	env_deliver(&env_a);
	assert_int_equal(env_live(&env_b), 1);
	env_b.out->head = env_b.out->tail;
	env_lose(&env_b, env_b.ncids, "session lost");
	rdma_links_conn_down(&env_a.r, 1, "session lost");
	env_a.conns[1].sent = false;
	env_settle(1000);
	assert_joined();
}

/* A queue pair connected to itself sends on one connection and receives on the other. */
static void itself(void **state)
{
	static struct env_queue own;
	struct rdma_qp q;

	(void)state;
	env_qp(&env_a, &q, 5, 5);
	env_a.peer = &env_a;
	env_a.out = &own;
	memset(&own, 0, sizeof(own));
	assert_true(env_rtr(&q, &env_a, 0));
	while (env_flush(&env_a) || env_deliver(&env_a))
		;
	assert_int_equal(q.ups, 1);
	assert_int_equal(env_live(&env_a), 2);
	assert_ptr_equal(rdma_link_of(&env_a.r, &env_cores[1]), q.link);
	assert_ptr_equal(rdma_link_of(&env_a.r, &env_cores[2]), q.link);
	env_lose(&env_a, 2, "lost");
	assert_int_equal(q.downs, 1);
	assert_int_equal(env_live(&env_a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(first_a, setup, teardown),
		cmocka_unit_test_setup_teardown(first_b, setup, teardown),
		cmocka_unit_test_setup_teardown(any_order, setup, teardown),
		cmocka_unit_test_setup_teardown(lost, setup, teardown),
		cmocka_unit_test_setup_teardown(left, setup, teardown),
		cmocka_unit_test_setup_teardown(patience, setup, teardown),
		cmocka_unit_test_setup_teardown(refused_one_way, setup, teardown),
		cmocka_unit_test_setup_teardown(others_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(not_dialled, setup, teardown),
		cmocka_unit_test_setup_teardown(deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(other_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(extensions, setup, teardown),
		cmocka_unit_test_setup_teardown(resized, setup, teardown),
		cmocka_unit_test_setup_teardown(both_leave, setup, teardown),
		cmocka_unit_test_setup_teardown(no_session, setup, teardown),
		cmocka_unit_test_setup_teardown(lost_early, setup, teardown),
		cmocka_unit_test_setup_teardown(itself, setup, teardown),
	};

	return unit_run(tests);
}
