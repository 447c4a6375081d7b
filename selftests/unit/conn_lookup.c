// SPDX-License-Identifier: BSD-2-Clause
/* Connections by name, or by the address of their peer. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"

enum { ALICE = 1000, BOB = 1001 };

static struct agent a;
static struct agent_conn conns[4];

int neigh_resolve(struct neigh *n, int family, const struct falcon_addr *dst, struct neigh_entry *out)
{
	(void)n, (void)family, (void)dst;
	*out = (struct neigh_entry){0};
	return -ENETUNREACH;
}

void neigh_release(struct neigh_entry *e)
{
	(void)e;
}

static int setup(void **state)
{
	(void)state;
	memset(&a, 0, sizeof(a));
	memset(conns, 0, sizeof(conns));
	remotes_init(&a.remotes, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(conns); i++) {
		if (!conns[i].remote)
			continue;
		HASH_DELETE(by_name, a.conn_names, &conns[i]);
		remotes_leave(&a.remotes, &conns[i]);
	}
	return 0;
}

static struct agent_conn *add(unsigned int i, const char *name, const char *remote)
{
	struct agent_conn *c = &conns[i];

	c->cfg.family = strchr(remote, ':') ? AF_INET6 : AF_INET;
	snprintf(c->cfg.name, sizeof(c->cfg.name), "%s", name);
	assert_int_equal(inet_pton(c->cfg.family, remote, c->cfg.remote.b), 1);
	HASH_ADD_KEYPTR(by_name, a.conn_names, c->cfg.name, strlen(c->cfg.name), c);
	assert_int_equal(remotes_join(&a.remotes, c), 0);
	return c;
}

static struct agent_conn *add_owned(unsigned int i, const char *name, const char *remote, uid_t uid)
{
	struct agent_conn *c = add(i, name, remote);

	c->owned = true;
	c->owner = uid;
	return c;
}

static void by_name_or_address(void **state)
{
	struct agent_conn *four = add(0, "four", "192.0.2.2"), *six = add(1, "six", "fd00::2");

	(void)state;
	assert_ptr_equal(agent_conn_find(&a, "four"), four);
	assert_ptr_equal(agent_conn_find(&a, "192.0.2.2"), four);
	assert_ptr_equal(agent_conn_find(&a, "fd00:0::2"), six);
	assert_null(agent_conn_find(&a, "192.0.2.3"));
	assert_null(agent_conn_find(&a, "five"));
}

/* One that is named like an address, by whatever way, is not taken for those that lead there. */
static void a_name_is_no_address(void **state)
{
	struct agent_conn *there;

	(void)state;
	add(0, "192.0.2.2", "192.0.2.66");
	assert_null(agent_conn_find(&a, "192.0.2.2"));
	assert_null(agent_conn_find_for(&a, "192.0.2.2", ALICE));
	there = add(1, "there", "192.0.2.2");
	assert_ptr_equal(agent_conn_find(&a, "192.0.2.2"), there);
	assert_ptr_equal(agent_conn_find_for(&a, "192.0.2.2", 0), there);
}

/* A user chooses whom his connection to an address trusts: it is found for himself, and by its name. */
static void users_do_not_answer_for_addresses(void **state)
{
	struct agent_conn *his = add_owned(0, "his", "192.0.2.2", ALICE), *common;

	(void)state;
	assert_null(agent_conn_find_for(&a, "192.0.2.2", 0));
	assert_null(agent_conn_find_for(&a, "192.0.2.2", BOB));
	assert_ptr_equal(agent_conn_find_for(&a, "192.0.2.2", ALICE), his);
	assert_ptr_equal(agent_conn_find_for(&a, "his", 0), his);
	assert_ptr_equal(agent_conn_find(&a, "192.0.2.2"), his);
	common = add(1, "common", "192.0.2.2");
	assert_ptr_equal(agent_conn_find_for(&a, "192.0.2.2", 0), common);
	assert_ptr_equal(agent_conn_find_for(&a, "192.0.2.2", BOB), common);
	assert_ptr_equal(agent_conn_find_for(&a, "192.0.2.2", ALICE), common);
	assert_ptr_equal(agent_conn_find(&a, "192.0.2.2"), common);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_name_or_address), TEST(a_name_is_no_address), TEST(users_do_not_answer_for_addresses),
	};

	return unit_run(tests);
}
