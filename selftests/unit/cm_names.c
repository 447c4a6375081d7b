// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a session serves whose peer has proved a name that a connection asks for, and not the address that it
 * speaks from: that connection, and nothing that is for the address. Users may choose both.
 */
#include "cm_stage.h"

static int setup(void **state)
{
	(void)state;
	stage_begin();
	a.psp = b.psp = true;
	a.grace_ms = b.grace_ms = 60000;
	a.accept_cid = b.accept_cid = 20;
	return 0;
}

static void listen_on(struct end *e, const char *ip)
{
	struct falcon_addr addr = {0};
	char err[256];

	inet_pton(AF_INET, ip, addr.b);
	assert_int_equal(cm_listen(e->cm, AF_INET, &addr, err, sizeof(err)), 0);
}

/* A connection for the peer at |to| if it proves |name|. */
static void add_named(struct end *e, const char *from, const char *to, uint32_t cid, const char *name)
{
	struct cm_local l = env_local(from, to, cid, cid);
	char err[256];

	l.security = CM_SECURITY_PSP;
	snprintf(l.peer, sizeof(l.peer), "%s", name);
	assert_int_equal(cm_add(e->cm, &l, err, sizeof(err)), 0);
}

/* |e| has the name "other" and no address, and connection 3 at the other end is for that name. */
static void impersonate(struct end *e)
{
	struct end *victim = e == &a ? &b : &a;
	const char *name = e == &a ? "a" : "b";

	cert_host(name, &ca, "DNS:other", 30, NULL);
	env_open(&a);
	env_open(&b);
	add_named(victim, e == &a ? B : A, e == &a ? A : B, 3, "other");
	env_add(e, e == &a ? A : B, e == &a ? B : A, 3, 3);
}

static bool named_up(void *arg)
{
	(void)arg;
	return a.conns[3].up && b.conns[3].up;
}

static void wait_named(void)
{
	assert_true(env_until(&a, &b, named_up, NULL));
}

static bool told_of_address(void *arg)
{
	return strstr(((struct end_conn *)arg)->reason, "not for its address");
}

/* Connections |first| and 2 of |victim| stay down: before the session is up, and added to it. */
static void nameless(struct end *victim, struct end *other, const char *from, const char *to)
{
	impersonate(other);
	env_add(victim, from, to, 1, 1);
	env_add(other, to, from, 1, 1);
	wait_named();
	assert_true(env_until(&a, &b, told_of_address, &victim->conns[1]));
	env_add(victim, from, to, 2, 0);
	assert_true(env_until(&a, &b, told_of_address, &victim->conns[2]));
	for (int cid = 1; cid <= 2; cid++) {
		assert_int_equal(victim->conns[cid].established, 0);
		assert_int_equal(victim->conns[cid].filled, 0);
	}
	assert_int_equal(other->conns[1].established, 0);
	assert_int_equal(other->dialler.nnames, 0);
	assert_true(named_up(NULL));
}

/* The end that connects is the victim. */
static void nameless_of_client(void **state)
{
	(void)state;
	nameless(&a, &b, A, B);
}

static void nameless_of_server(void **state)
{
	(void)state;
	nameless(&b, &a, B, A);
}

static bool refused_9(void *arg)
{
	return strstr(b.conns[9].reason, arg) != NULL;
}

/* It dials, as the host at the address might. */
static void dials_in(void **state)
{
	(void)state;
	impersonate(&b);
	listen_on(&a, A);
	wait_named();
	env_add(&b, B, A, 9, 0);
	assert_true(env_until(&a, &b, refused_9, "certificate is not for the address"));
	assert_int_equal(a.dialler.nnames, 0);
	assert_int_equal(b.conns[9].established, 0);
}

static struct cm_note make_note(const char *from, const char *to)
{
	struct cm_note n = {.family = AF_INET, .proto = FALCON_PROTO_RDMA, .len = 1};

	inet_pton(AF_INET, from, n.local_addr.b);
	inet_pton(AF_INET, to, n.peer_addr.b);
	return n;
}

static bool both_lost(void *arg)
{
	(void)arg;
	return a.conns[3].established > 1 && b.conns[3].established > 1;
}

/* What upper layers say to the address is not for it, nor is what it says theirs. */
static void notes(void **state)
{
	struct cm_note there = make_note(A, B), back = make_note(B, A);
	char err[256];

	(void)state;
	impersonate(&b);
	wait_named();
	assert_int_equal(cm_send_note(a.cm, &there, err, sizeof(err)), 0);
	assert_int_equal(cm_send_note(b.cm, &back, err, sizeof(err)), 0);
	cm_process(a.cm, env_now());
	cm_process(b.cm, env_now());
	/* What goes after them has arrived at both ends. */
	env_lost(&a, 3, "reset");
	cm_reset(a.cm, 3, "reset");
	assert_true(env_until(&a, &b, both_lost, NULL));
	wait_named();
	assert_int_equal(a.notes + b.notes, 0);
}

static bool told_of_no_name(void *arg)
{
	return strstr(((struct end_conn *)arg)->reason, "neither for its address nor for a configured name");
}

/* The session goes with the connection that asked for it: whoever is at the address may come. */
static void removed(void **state)
{
	(void)state;
	impersonate(&b);
	env_add(&a, A, B, 1, 1);
	wait_named();
	cm_remove(a.cm, 3, "done");
	assert_true(env_until(&a, &b, told_of_no_name, &a.conns[1]));
	assert_string_equal(b.conns[3].reason, "peer removed the connection: done");
	cm_close(b.cm);
	cert_host("b", &ca, "DNS:b,IP:" B, 30, NULL);
	env_open(&b);
	env_add(&b, B, A, 1, 1);
	assert_true(env_until(&a, &b, env_conn_up, &a.conns[1]));
}

/* Who proves both serves both. */
static void name_and_address(void **state)
{
	(void)state;
	env_open(&a);
	env_open(&b);
	add_named(&a, A, B, 3, "b");
	env_add(&b, B, A, 3, 3);
	env_add(&a, A, B, 1, 1);
	env_add(&b, B, A, 1, 1);
	wait_named();
	assert_true(env_until(&a, &b, env_conn_up, &a.conns[1]));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, stage_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nameless_of_client), TEST(nameless_of_server), TEST(dials_in), TEST(notes),
		TEST(removed),		  TEST(name_and_address),
	};

	if (!env_namespace()) {
		puts("1..0 # SKIP needs a network namespace of its own (root)");
		return 0;
	}
	return unit_run(tests);
}
