// SPDX-License-Identifier: BSD-2-Clause
/* Connections that one end dials and the other accepts, over TLS. */
#include "cm_stage.h"

static void listen_on(struct end *e, const char *ip)
{
	struct falcon_addr addr = {0};
	char err[256];

	inet_pton(AF_INET, ip, addr.b);
	assert_int_equal(cm_listen(e->cm, AF_INET, &addr, err, sizeof(err)), 0);
}

static int setup(void **state)
{
	(void)state;
	stage_begin();
	a.psp = b.psp = true;
	a.grace_ms = b.grace_ms = 60000;
	a.accept_cid = b.accept_cid = 20;
	a.accept_function = b.accept_function = 7;
	env_open(&a);
	env_open(&b);
	return 0;
}

static void dial(struct end *e, const char *from, const char *to, uint32_t cid, uint32_t function)
{
	struct cm_local l = env_local(from, to, cid, 0);
	char err[256];

	l.security = CM_SECURITY_PSP;
	l.function = function;
	if (cm_add(e->cm, &l, err, sizeof(err)))
		fail_msg("%s", err);
}

struct pair {
	struct end *x, *y;
	uint32_t xcid, ycid;
};

static bool pair_up(void *arg)
{
	struct pair *p = arg;
	struct end_conn *x = &p->x->conns[p->xcid], *y = &p->y->conns[p->ycid];

	return x->up && y->up && x->peer.cid == p->ycid && y->peer.cid == p->xcid &&
	       x->ours.incarnation == y->peer.incarnation;
}

static void wait_pair(struct end *x, uint32_t xcid, struct end *y, uint32_t ycid)
{
	struct pair p = {x, y, xcid, ycid};

	assert_true(env_until(&a, &b, pair_up, &p));
}

/* From the lower address and from the higher one. */
static void accepted(void **state)
{
	(void)state;
	listen_on(&b, B);
	dial(&a, A, B, 1, 7);
	wait_pair(&a, 1, &b, 20);
	assert_string_equal(b.dialler.names[0], "a");
	assert_int_equal(b.conns[20].peer.function, 7);
	dial(&a, A, B, 2, 7);
	wait_pair(&a, 2, &b, 21);
	assert_int_equal(a.conns[1].losses + b.conns[20].losses, 0);
}

static void dials_up(void **state)
{
	(void)state;
	listen_on(&a, A);
	dial(&b, B, A, 3, 7);
	wait_pair(&b, 3, &a, 20);
}

/* Both dial at once: each gets what it asked for. */
static void both_dial(void **state)
{
	(void)state;
	listen_on(&a, A);
	listen_on(&b, B);
	dial(&a, A, B, 1, 7);
	dial(&b, B, A, 3, 7);
	wait_pair(&a, 1, &b, 20);
	wait_pair(&b, 3, &a, 20);
}

static bool a_told(void *arg)
{
	return strstr(a.conns[1].reason, arg) != NULL;
}

static void refused(void **state)
{
	(void)state;
	listen_on(&b, B);
	dial(&a, A, B, 1, 8);
	assert_true(env_until(&a, &b, a_told, "function 8 is not for you?"));
	assert_int_equal(a.conns[1].established, 0);
	/* The policy changes, and it is tried again. */
	b.accept_function = 8;
	wait_pair(&a, 1, &b, 20);
}

/* Each end's upper layer hears what the other's has to say. */
static void upper_layers_talk(void **state)
{
	struct cm_local l = env_local(A, B, 1, 0);
	char err[256];

	(void)state;
	listen_on(&b, B);
	l.security = CM_SECURITY_PSP;
	l.function = 7;
	l.ulp = (struct cm_ulp){.proto = FALCON_PROTO_RDMA, .len = CM_ULP_DATA_MAX};
	for (int i = 0; i < CM_ULP_DATA_MAX; i++)
		l.ulp.data[i] = (uint8_t)(100 + i);
	assert_int_equal(cm_add(a.cm, &l, err, sizeof(err)), 0);
	wait_pair(&a, 1, &b, 20);
	assert_memory_equal(&b.conns[20].peer.ulp, &l.ulp, sizeof(l.ulp));
	assert_int_equal(a.conns[1].peer.ulp.proto, FALCON_PROTO_RDMA);
	assert_int_equal(a.conns[1].peer.ulp.len, 1);
	assert_int_equal(a.conns[1].peer.ulp.data[0], 101);
}

static struct cm_note make_note(const char *from, const char *to, uint16_t len)
{
	struct cm_note n = {.family = AF_INET, .proto = FALCON_PROTO_RDMA, .len = len};

	inet_pton(AF_INET, from, n.local_addr.b);
	inet_pton(AF_INET, to, n.peer_addr.b);
	for (uint16_t i = 0; i < len; i++)
		n.data[i] = (uint8_t)(i * 3);
	return n;
}

static bool has_notes(void *arg)
{
	return ((struct end *)arg)->notes > 0;
}

static bool has_all_notes(void *arg)
{
	return ((struct end *)arg)->notes == 40;
}

/* Notes make a session, from the lower end and from the higher one, and answers use it. */
static void notes(void **state)
{
	struct cm_note n = make_note(B, A, CM_NOTE_MAX), back = make_note(A, B, 0);
	char err[256];

	(void)state;
	listen_on(&a, A);
	a.notes = b.notes = 0;
	for (int i = 0; i < 40; i++)
		assert_int_equal(cm_send_note(b.cm, &n, err, sizeof(err)), 0);
	assert_true(env_until(&a, &b, has_notes, &a));
	assert_string_equal(a.dialler.names[0], "b");
	assert_int_equal(a.note.len, CM_NOTE_MAX);
	assert_int_equal(a.note.proto, FALCON_PROTO_RDMA);
	assert_memory_equal(a.note.data, n.data, CM_NOTE_MAX);
	assert_true(falcon_addr_equal(&a.note.local_addr, &n.peer_addr));
	assert_true(falcon_addr_equal(&a.note.peer_addr, &n.local_addr));
	assert_int_equal(cm_send_note(a.cm, &back, err, sizeof(err)), 0);
	assert_true(env_until(&a, &b, has_notes, &b));
	assert_int_equal(b.note.len, 0);
	assert_true(env_until(&a, &b, has_all_notes, &a));
	/* The session stays for a while after its last connection has gone. */
	dial(&b, B, A, 3, 7);
	wait_pair(&b, 3, &a, 20);
	cm_remove(b.cm, 3, "done");
	b.notes = 0;
	assert_int_equal(cm_send_note(a.cm, &back, err, sizeof(err)), 0);
	assert_true(env_until(&a, &b, has_notes, &b));
	/* ... but not for ever. */
	cm_process(b.cm, env_now() + 40 * 1000000000ULL);
	assert_null(b.cm->sessions);
}

static bool no_session(void *arg)
{
	return !((struct end *)arg)->cm->sessions;
}

/* What waits in vain is bounded, and dropped. */
static void notes_in_vain(void **state)
{
	struct cm_note n = make_note(A, B, 1);
	char err[256];

	(void)state;
	for (int i = 0; i < CM_NOTES_MAX; i++)
		assert_int_equal(cm_send_note(a.cm, &n, err, sizeof(err)), 0);
	assert_int_equal(cm_send_note(a.cm, &n, err, sizeof(err)), -ENOBUFS);
	assert_string_equal(err, "too many messages wait for the peer's agent");
	assert_true(env_until(&a, &b, no_session, &a));
}

/* Who does not listen takes nothing. */
static void not_listening(void **state)
{
	(void)state;
	env_add(&b, B, "127.0.0.3", 9, 9);
	dial(&a, A, B, 1, 7);
	assert_true(env_until(&a, &b, a_told, "does not know this pair"));
	assert_int_equal(b.dialler.nnames, 0);
}

static bool lost_20(void *arg)
{
	(void)arg;
	return b.conns[20].losses > 0;
}

/* The dialler removes it: the other end hears of it, and nothing is left. */
static void removed_by_dialler(void **state)
{
	(void)state;
	listen_on(&b, B);
	dial(&a, A, B, 1, 7);
	wait_pair(&a, 1, &b, 20);
	cm_remove(a.cm, 1, "done");
	assert_true(env_until(&b, &a, lost_20, NULL));
	cm_remove(b.cm, 20, "lost");
	dial(&a, A, B, 1, 7);
	memset(&a.conns[1], 0, sizeof(a.conns[1]));
	wait_pair(&a, 1, &b, 21);
}

/* The accepting end removes it: it is dialled anew. */
/* |arg| becomes true if the session breaks meanwhile. */
static bool tried_21(void *arg)
{
	bool *broken = arg;

	*broken |= !env_session_up(&a, 1) || !env_session_up(&b, 20);
	return b.conns[21].losses > 0;
}

/* The dialler gives up before it is answered. That is no offence: the session and others stay. */
static void given_up_unanswered(void **state)
{
	bool broken = false;

	(void)state;
	listen_on(&b, B);
	dial(&a, A, B, 1, 7);
	wait_pair(&a, 1, &b, 20);
	dial(&a, A, B, 2, 7);
	cm_process(a.cm, env_now());
	cm_remove(a.cm, 2, "never mind");
	assert_true(env_until(&b, &a, tried_21, &broken));
	assert_false(broken);
	dial(&a, A, B, 3, 7);
	wait_pair(&a, 3, &b, 22);
	assert_int_equal(a.conns[1].losses + b.conns[20].losses, 0);
}

/* Connection 1 is, by what |b| has accepted last; of what it has accepted before nothing is left but 20. */
static bool latest_up(void *arg)
{
	unsigned int up = 0;

	(void)arg;
	for (int cid = 20; cid < ENV_CIDS; cid++) {
		const struct end_conn *c = &b.conns[cid];

		up += c->up;
		if (c->set_up && !c->up)
			return false;
	}
	return up == 2 && a.conns[1].up && a.conns[1].peer.cid + 1 == b.accept_cid;
}

/* |dials| of one connection before |a| looks at any answer; the first |answered| have been given by then. */
static void given_up(int dials, int answered)
{
	listen_on(&b, B);
	dial(&a, A, B, 3, 7);
	wait_pair(&a, 3, &b, 20);
	dial(&a, A, B, 1, 7);
	for (int i = 1; i < dials; i++) {
		cm_process(a.cm, env_now());
		for (int turns = 0; i <= answered && turns < 10; turns++)
			cm_process(b.cm, env_now());
		cm_reset(a.cm, 1, "changed my mind");
	}
	assert_true(env_until(&a, &b, latest_up, NULL));
	assert_int_equal(a.conns[3].losses + b.conns[20].losses, 0);
}

/* Its earlier answers are refused: nothing of them stays at the peer. */
static void given_up_for_another(void **state)
{
	(void)state;
	given_up(5, 0);
}

static void given_up_when_answered(void **state)
{
	(void)state;
	given_up(5, 2);
}

static void given_up_and_late(void **state)
{
	(void)state;
	a.delays = true;
	given_up(5, 0);
}

static void given_up_and_peer_late(void **state)
{
	(void)state;
	b.delays = true;
	given_up(5, 0);
}

static void removed_by_other(void **state)
{
	(void)state;
	listen_on(&b, B);
	dial(&a, A, B, 1, 7);
	wait_pair(&a, 1, &b, 20);
	cm_remove(b.cm, 20, "operator");
	wait_pair(&a, 1, &b, 21);
	assert_true(a.conns[1].losses > 0);
}

static void reset_by_each(void **state)
{
	(void)state;
	listen_on(&b, B);
	dial(&a, A, B, 1, 7);
	wait_pair(&a, 1, &b, 20);
	env_lost(&a, 1, "reset");
	cm_reset(a.cm, 1, "reset");
	assert_true(env_until(&b, &a, lost_20, NULL));
	cm_remove(b.cm, 20, "lost");
	wait_pair(&a, 1, &b, 21);
}

static bool sessions_back(void *arg)
{
	(void)arg;
	return env_session_up(&a, 1) && env_session_up(&b, 20);
}

static void outlives_session(void **state)
{
	(void)state;
	listen_on(&b, B);
	dial(&a, A, B, 1, 7);
	wait_pair(&a, 1, &b, 20);
	for (int i = 0; i < 3; i++) {
		env_cut(i & 1 ? &b : &a, i & 1 ? 20 : 1);
		assert_true(env_until(&a, &b, sessions_back, NULL));
	}
	dial(&a, A, B, 2, 7);
	wait_pair(&a, 2, &b, 21);
	assert_int_equal(a.conns[1].losses + b.conns[20].losses, 0);
}

static void dialler_restarts(void **state)
{
	(void)state;
	listen_on(&b, B);
	dial(&a, A, B, 1, 7);
	wait_pair(&a, 1, &b, 20);
	env_cut(&a, 1);
	env_abandon(&a);
	env_open(&a);
	dial(&a, A, B, 1, 7);
	wait_pair(&a, 1, &b, 21);
	assert_int_equal(b.conns[20].losses, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, stage_end)

static bool one_refused(void *arg)
{
	(void)arg;
	return b.conns[21].losses > 0 && !b.conns[21].set_up && a_told("is not for you");
}

/* The peer accepts what is given up, and has no place for what follows: nothing of either stays. */
static void given_up_and_refused(void **state)
{
	(void)state;
	listen_on(&b, B);
	dial(&a, A, B, 3, 7);
	wait_pair(&a, 3, &b, 20);
	b.accept_end = 22;
	dial(&a, A, B, 1, 7);
	cm_process(a.cm, env_now());
	cm_reset(a.cm, 1, "changed my mind");
	assert_true(env_until(&a, &b, one_refused, NULL));
	b.accept_end = 0;
	wait_pair(&a, 1, &b, 22);
	assert_int_equal(a.conns[3].losses + b.conns[20].losses, 0);
}

/* Another connection has the CID of one that was removed when the answer for that comes. */
static void given_up_by_another(void **state)
{
	(void)state;
	listen_on(&b, B);
	dial(&a, A, B, 3, 7);
	wait_pair(&a, 3, &b, 20);
	dial(&a, A, B, 1, 7);
	cm_process(a.cm, env_now());
	cm_remove(a.cm, 1, "never mind");
	dial(&a, A, B, 1, 7);
	assert_true(env_until(&a, &b, latest_up, NULL));
	assert_int_equal(a.conns[1].peer.cid, 22);
	assert_int_equal(a.conns[1].losses, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(accepted),	       TEST(dials_up),	     TEST(both_dial),
		TEST(refused),	       TEST(upper_layers_talk), TEST(not_listening),
		TEST(removed_by_dialler), TEST(notes), TEST(notes_in_vain),
		TEST(given_up_unanswered), TEST(given_up_for_another), TEST(given_up_when_answered),
		TEST(given_up_and_late), TEST(given_up_and_peer_late),
		TEST(given_up_and_refused), TEST(given_up_by_another),
		TEST(removed_by_other), TEST(reset_by_each), TEST(outlives_session),
		TEST(dialler_restarts),
	};

	if (!env_namespace()) {
		puts("1..0 # SKIP needs a network namespace of its own (root)");
		return 0;
	}
	return unit_run(tests);
}
