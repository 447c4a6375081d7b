// SPDX-License-Identifier: BSD-2-Clause
/* The handshake between two agents that keep to the protocol: set-up, mismatch, loss, restart. */
#include "cm_env.h"

static struct end a, b;

#define A "127.0.0.1"
#define B "127.0.0.2"

static int setup(void **state)
{
	(void)state;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	env_open(&a);
	env_open(&b);
	return 0;
}

/* Neither end is ready to set a connection up when it is asked to first. */
static int setup_late(void **state)
{
	setup(state);
	a.delays = b.delays = true;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cm_close(a.cm);
	cm_close(b.cm);
	return 0;
}

static bool same(const struct cm_values *x, const struct cm_values *y)
{
	return memcmp(x, y, offsetof(struct cm_values, function)) == 0 &&
	       x->function == y->function && x->params.mtu == y->params.mtu &&
	       x->params.data_window == y->params.data_window &&
	       x->security.spi == y->security.spi;
}

static bool agreed(const struct end_conn *x, const struct end_conn *y)
{
	return x->up && y->up && same(&x->ours, &y->peer) && same(&x->peer, &y->ours);
}

/* Connection |n| is CID n at A and CID n + 10 at B. */
static bool both_up(void *arg)
{
	uint32_t n = *(uint32_t *)arg;

	return agreed(&a.conns[n], &b.conns[n + 10]);
}

static void add_both(uint32_t n)
{
	env_add(&a, A, B, n, n + 10);
	env_add(&b, B, A, n + 10, n);
}

static void wait_up(uint32_t n)
{
	assert_true(env_until(&a, &b, both_up, &n));
	assert_int_equal(cm_conn_state(a.cm, n), CM_READY);
	assert_int_equal(cm_conn_state(b.cm, n + 10), CM_READY);
}

static void comes_up(void **state)
{
	(void)state;
	add_both(1);
	wait_up(1);
	assert_int_equal(a.conns[1].established, 1);
	assert_int_equal(b.conns[11].established, 1);
	assert_true(a.conns[1].ours.security.spi && a.conns[1].ours.incarnation);
	assert_int_equal(b.conns[11].peer.params.mtu, 1500);
	assert_int_not_equal(a.conns[1].ours.incarnation, b.conns[11].ours.incarnation);
}

static void comes_up_ipv6(void **state)
{
	uint32_t n = 1;

	(void)state;
	env_add(&a, "fd00::1", "fd00::2", 1, 11);
	env_add(&b, "fd00::2", "fd00::1", 11, 1);
	assert_true(env_until(&a, &b, both_up, &n));
}

static bool all_up(void *arg)
{
	(void)arg;
	for (uint32_t n = 1; n <= 8; n++) {
		if (!both_up(&n))
			return false;
	}
	return true;
}

static void many_on_one_session(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= 8; n++)
		add_both(n);
	assert_true(env_until(&a, &b, all_up, NULL));
}

static void added_later(void **state)
{
	(void)state;
	add_both(1);
	wait_up(1);
	add_both(2);
	wait_up(2);
	assert_int_equal(a.conns[1].losses, 0);
}

static bool rejected_1(void *arg)
{
	(void)arg;
	return cm_conn_state(a.cm, 1) == CM_REJECTED && a.conns[1].reason[0];
}

static void peer_configured_later(void **state)
{
	(void)state;
	add_both(2);
	env_add(&a, A, B, 1, 11);
	assert_true(env_until(&a, &b, rejected_1, NULL));
	assert_string_equal(a.conns[1].reason, "peer has no such connection");
	env_add(&b, B, A, 11, 1);
	wait_up(1);
}

static bool both_rejected(void *arg)
{
	(void)arg;
	return cm_conn_state(a.cm, 1) == CM_REJECTED && cm_conn_state(b.cm, 11) == CM_REJECTED;
}

static void ordering_mismatch(void **state)
{
	struct cm_local l = env_local(B, A, 11, 1);
	char err[256];

	(void)state;
	l.ordered = false;
	env_add(&a, A, B, 1, 11);
	assert_int_equal(cm_add(b.cm, &l, err, sizeof(err)), 0);
	assert_true(env_until(&a, &b, both_rejected, NULL));
	assert_non_null(strstr(a.conns[1].reason, "another ordering"));
	assert_non_null(strstr(b.conns[11].reason, "another ordering"));
	assert_int_equal(a.conns[1].established + b.conns[11].established, 0);
	/* The operator mends B. */
	cm_remove(b.cm, 11, "removed");
	env_add(&b, B, A, 11, 1);
	wait_up(1);
}

static void ulp_mismatch(void **state)
{
	struct cm_local l = env_local(B, A, 11, 1);
	char err[256];

	(void)state;
	l.ulp.proto = FALCON_PROTO_NVME;
	env_add(&a, A, B, 1, 11);
	assert_int_equal(cm_add(b.cm, &l, err, sizeof(err)), 0);
	assert_true(env_until(&a, &b, both_rejected, NULL));
	assert_non_null(strstr(a.conns[1].reason, "another upper layer"));
	assert_non_null(strstr(b.conns[11].reason, "another upper layer"));
	assert_int_equal(a.conns[1].established + b.conns[11].established, 0);
	/* The operator mends B. */
	cm_remove(b.cm, 11, "removed");
	env_add(&b, B, A, 11, 1);
	wait_up(1);
}

static void cid_mismatch(void **state)
{
	(void)state;
	env_add(&a, A, B, 1, 11);
	env_add(&b, B, A, 11, 2);
	assert_true(env_until(&a, &b, both_rejected, NULL));
	assert_string_equal(a.conns[1].reason, "peer's connection has another remote_cid: CID 11 "
					       "here belongs with remote_cid 2, not 1");
	assert_string_equal(b.conns[11].reason,
			    "peer's connection for our CID has another local_cid");
}

static bool renewed(void *arg)
{
	uint64_t *old = arg;
	uint32_t n = 1;

	return both_up(&n) && a.conns[1].ours.incarnation != old[0] &&
	       b.conns[11].ours.incarnation != old[1];
}

static void reset_one_end(void **state)
{
	uint64_t old[2];

	(void)state;
	add_both(1);
	add_both(2);
	wait_up(1);
	wait_up(2);
	for (int round = 0; round < 20; round++) {
		struct end *e = round & 1 ? &b : &a;
		uint32_t cid = round & 1 ? 11 : 1;

		old[0] = a.conns[1].ours.incarnation;
		old[1] = b.conns[11].ours.incarnation;
		env_lost(e, cid, "reset here");
		cm_reset(e->cm, cid, "retransmissions exhausted");
		assert_true(env_until(&a, &b, renewed, old));
	}
	assert_int_equal(a.conns[2].losses + b.conns[12].losses, 0);
	assert_int_equal(a.conns[2].established, 1);
}

/* Resets that cross on the wire, in every order of one to three at each end. */
static void resets_cross(void **state)
{
	uint64_t old[2];

	(void)state;
	add_both(1);
	wait_up(1);
	for (unsigned int order = 0; order < 64; order++) {
		old[0] = a.conns[1].ours.incarnation;
		old[1] = b.conns[11].ours.incarnation;
		for (unsigned int step = 0; step < 3; step++) {
			unsigned int who = order >> (2 * step) & 3;

			if (who & 1) {
				env_lost(&a, 1, "reset");
				cm_reset(a.cm, 1, "reset");
			}
			if (who & 2) {
				env_lost(&b, 11, "reset");
				cm_reset(b.cm, 11, "reset");
			}
			/* One end hears of it, the other does not yet. */
			if (who == 1)
				cm_process(b.cm, env_now());
			if (who == 2)
				cm_process(a.cm, env_now());
		}
		if (order > 0)
			assert_true(env_until(&a, &b, renewed, old));
	}
}

/* |arg|: the recorded connection of an end whose peer has gone. */
static bool lost(void *arg)
{
	return !((struct end_conn *)arg)->set_up;
}

static void removed_and_added(void **state)
{
	(void)state;
	add_both(1);
	wait_up(1);
	cm_remove(b.cm, 11, "operator's wish");
	assert_true(env_until(&a, &b, lost, &a.conns[1]));
	memset(&b.conns[11], 0, sizeof(b.conns[11]));
	env_add(&b, B, A, 11, 1);
	wait_up(1);
}

/* The agent that listens goes away and comes back; then the one that connects. */
static void agent_restarts(void **state)
{
	(void)state;
	add_both(1);
	wait_up(1);
	cm_close(b.cm);
	b.cm = NULL;
	assert_true(env_until(&a, &b, lost, &a.conns[1]));
	env_open(&b);
	env_add(&b, B, A, 11, 1);
	wait_up(1);
	cm_close(a.cm);
	a.cm = NULL;
	assert_true(env_until(&a, &b, lost, &b.conns[11]));
	env_open(&a);
	env_add(&a, A, B, 1, 11);
	wait_up(1);
}

static bool held(void *arg)
{
	return a.cm->conns[1]->nheld == *(const unsigned int *)arg;
}

static void wait_held(unsigned int n)
{
	assert_true(env_until(&a, &b, held, &n));
}

/* What the peer says of a connection that cannot be set up yet is heard in the end. */
static void not_yet(void **state)
{
	(void)state;
	a.unsettled = true;
	add_both(1);
	wait_held(2);	/* OPEN and READY */
	assert_int_equal(b.conns[11].established, 1);
	cm_settled(a.cm);
	assert_int_equal(a.cm->conns[1]->nheld, 2);
	a.unsettled = false;
	assert_int_equal(a.conns[1].established, 0);
	cm_settled(a.cm);
	assert_int_equal(a.conns[1].readied, 1);
	wait_up(1);
}

/* A peer that starts over again and again: the last one counts, and nothing piles up. */
static void not_yet_again(void **state)
{
	(void)state;
	a.unsettled = true;
	add_both(1);
	wait_held(2);
	for (int i = 0; i < 100; i++) {
		uint64_t before = a.cm->conns[1]->peer_incarnation;

		env_lost(&b, 11, "reset here");
		cm_reset(b.cm, 11, "again");
		while (a.cm->conns[1]->peer_incarnation == before) {
			env_turn(&a);
			env_turn(&b);
		}
		assert_true(a.cm->conns[1]->nheld <= 2);
	}
	a.unsettled = false;
	a.delays = true;
	wait_up(1);
	assert_int_equal(a.conns[1].established, 1);
}

/* What is void does not come up. */
static void not_yet_and_never(void **state)
{
	(void)state;
	a.unsettled = true;
	add_both(1);
	wait_held(2);
	cm_remove(b.cm, 11, "operator's wish");
	wait_held(0);
	assert_int_equal(cm_conn_state(a.cm, 1), CM_REJECTED);
	memset(&b.conns[11], 0, sizeof(b.conns[11]));
	env_add(&b, B, A, 11, 1);
	wait_held(2);
	env_cut(&a, 1);
	wait_held(0);
	a.unsettled = false;
	cm_settled(a.cm);
	assert_int_equal(a.conns[1].established, 0);
	wait_up(1);
}

static void setup_fails_then_works(void **state)
{
	(void)state;
	b.refuse = "no route to the peer";
	add_both(1);
	assert_true(env_until(&a, &b, rejected_1, NULL));
	assert_string_equal(a.conns[1].reason, "peer could not set the connection up");
	assert_string_equal(b.conns[11].reason, "no route to the peer");
	b.refuse = NULL;
	wait_up(1);
}

static void add_refuses(void **state)
{
	struct cm_local l = env_local(A, B, 1, 11);
	char err[256];

	(void)state;
	assert_int_equal(cm_add(a.cm, &l, err, sizeof(err)), 0);
	assert_int_equal(cm_add(a.cm, &l, err, sizeof(err)), -EEXIST);
	assert_string_equal(err, "CID 1 is taken");
	l.local_cid = 0;
	assert_int_equal(cm_add(a.cm, &l, err, sizeof(err)), -EINVAL);
	l = env_local(A, A, 2, 12);
	assert_int_equal(cm_add(a.cm, &l, err, sizeof(err)), -EINVAL);
	l = env_local(A, B, FALCON_MAX_CONNS, 12);
	assert_int_equal(cm_add(a.cm, &l, err, sizeof(err)), -EINVAL);
}

static void forgets_sessions(void **state)
{
	(void)state;
	assert_true(cm_next_deadline(a.cm) == UINT64_MAX);
	env_add(&a, A, B, 1, 11);
	assert_true(cm_next_deadline(a.cm) != UINT64_MAX);
	cm_remove(a.cm, 1, "removed");
	assert_true(cm_next_deadline(a.cm) == UINT64_MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define LATE(f) { #f "_late", f, setup_late, teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(comes_up),		     TEST(comes_up_ipv6),
		TEST(many_on_one_session),   TEST(added_later),
		TEST(peer_configured_later), TEST(ordering_mismatch), TEST(ulp_mismatch),
		TEST(cid_mismatch),	     TEST(reset_one_end),
		TEST(resets_cross),	     TEST(removed_and_added),
		TEST(agent_restarts),	     TEST(setup_fails_then_works),
		TEST(add_refuses),	     TEST(forgets_sessions),
		TEST(not_yet),		     TEST(not_yet_again),
		TEST(not_yet_and_never),     LATE(many_on_one_session),
		LATE(ordering_mismatch),     LATE(reset_one_end),
		LATE(resets_cross),	     LATE(removed_and_added),
		LATE(agent_restarts),	     LATE(setup_fails_then_works),
	};

	if (!env_namespace()) {
		puts("1..0 # SKIP needs a network namespace of its own (root)");
		return 0;
	}
	return unit_run(tests);
}
