// SPDX-License-Identifier: BSD-2-Clause
/* Peers' addresses: the kernel is asked once for all connections, which follow changes bit by bit. */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include <agent/agent.h>

#include "agent/conn/conn.h"

enum { CONNS = 1000 };

static struct agent_conn conns[CONNS];
static unsigned int followed[CONNS];
static struct remotes table;
static struct neigh_entry way;		/* what the kernel says */
static unsigned int asked, held;		/* held: answers that were not released */
static struct agent_conn *remove_while_following;

int neigh_resolve(struct neigh *n, int family, const struct falcon_addr *dst, struct neigh_entry *out)
{
	(void)n, (void)family;
	asked++;
	*out = way;
	out->hop = (struct neigh_hop *)&way;
	held++;
	return dst->b[0] == 10 ? 0 : -ENETUNREACH;
}

void neigh_release(struct neigh_entry *e)
{
	held -= e->hop != NULL;
	e->hop = NULL;
}

static void follow(struct agent_conn *c)
{
	followed[c - conns]++;
	if (!remove_while_following)
		return;
	remotes_leave(&table, remove_while_following);
	remove_while_following = NULL;
}

static struct agent_conn *join(unsigned int i, uint8_t first, uint8_t last)
{
	struct agent_conn *c = &conns[i];

	c->cfg.family = AF_INET;
	c->cfg.remote.b[0] = first;
	c->cfg.remote.b[3] = last;
	assert_int_equal(remotes_join(&table, c), 0);
	return c;
}

static int setup(void **state)
{
	(void)state;
	memset(conns, 0, sizeof(conns));
	memset(followed, 0, sizeof(followed));
	way = (struct neigh_entry){.ifindex = 3, .mtu = 1500, .reachable = true};
	asked = held = 0;
	remotes_init(&table, follow);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < CONNS; i++)
		remotes_leave(&table, &conns[i]);
	assert_null(table.by_key);
	assert_int_equal(held, 0);
	return 0;
}

static unsigned int run(void)
{
	unsigned int turns = 1;

	while (remotes_run(&table))
		turns++;
	return turns;
}

static void asked_once(void **state)
{
	static const struct falcon_addr addr = { { 10, 0, 0, 1 } }, other = { { 10, 0, 0, 9 } };

	(void)state;
	for (unsigned int i = 0; i < CONNS; i++)
		assert_int_equal(remote_route(&table, join(i, 10, 1)->remote)->mtu, 1500);
	assert_int_equal(asked, 1);
	assert_ptr_equal(TAILQ_FIRST(&remotes_find(&table, AF_INET, &addr)->conns), &conns[0]);
	assert_null(remotes_find(&table, AF_INET, &other));
	assert_null(remotes_find(&table, AF_INET6, &addr));
	assert_null(remote_route(&table, (remotes_leave(&table, &conns[0]), join(0, 11, 1))->remote));
}

/* News that changes nothing for a peer costs one question, and nobody follows. */
static void no_change(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < CONNS; i++)
		remote_route(&table, join(i, 10, 1)->remote);
	assert_false(remotes_run(&table));
	remotes_changed(&table);
	run();
	assert_int_equal(asked, 2);
	for (unsigned int i = 0; i < CONNS; i++)
		assert_int_equal(followed[i], 0);
}

/* A change reaches all, some at a time; another one in between reaches all again. */
static void change(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < CONNS; i++)
		remote_route(&table, join(i, 10, 1 + i % 2)->remote);
	way.mtu = 1400;
	remotes_changed(&table);
	assert_true(run() > 4);
	for (unsigned int i = 0; i < CONNS; i++)
		assert_int_equal(followed[i], 1);
	way.reachable = false;
	remotes_changed(&table);
	assert_true(remotes_run(&table));
	/* Somebody wants to know before his turn: the news is not lost for the others. */
	way.mtu = 1300;
	remotes_changed(&table);
	assert_int_equal(remote_route(&table, conns[1].remote)->mtu, 1300);
	run();
	for (unsigned int i = 0; i < CONNS; i++) {
		assert_true(followed[i] >= 2);
		assert_int_equal(remote_route(&table, conns[i].remote)->mtu, 1300);
	}
}

/* Connections, and the last of a peer's, may go while others follow. */
static void leave(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		remote_route(&table, join(i, 10, 1)->remote);
	remote_route(&table, join(3, 10, 2)->remote);
	way.mtu = 1400;
	remotes_changed(&table);
	remove_while_following = &conns[1];
	remotes_leave(&table, &conns[3]);
	run();
	assert_int_equal(followed[0], 1);
	assert_int_equal(followed[1], 0);
	assert_int_equal(followed[2], 1);
	assert_int_equal(followed[3], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(asked_once, setup, teardown),
		cmocka_unit_test_setup_teardown(no_change, setup, teardown),
		cmocka_unit_test_setup_teardown(change, setup, teardown),
		cmocka_unit_test_setup_teardown(leave, setup, teardown),
	};

	return unit_run(tests);
}
