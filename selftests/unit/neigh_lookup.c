// SPDX-License-Identifier: BSD-2-Clause
/*
 * Routes and neighbours as the kernel tells them, between two network namespaces:
 *
 *	this process  v0 10.1.0.1 fd01::1  ----  v1 10.1.0.2 fd01::2  child
 */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <agent/net/neigh.h>

enum { WAIT_MS = 10000 };

static const uint8_t v0_mac[6] = {2, 0, 0, 0, 0, 1}, v1_mac[6] = {2, 0, 0, 0, 0, 2};
static pid_t child;
static struct neigh *n;
static unsigned int changes;
/* All that a test was answered: it goes by each until it says otherwise. */
static struct neigh_entry answers[1000];
static unsigned int nanswers;

__attribute__((format(printf, 1, 2))) static bool sh(const char *fmt, ...)
{
	char cmd[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	return system(cmd) == 0;
}

static void changed(void *arg)
{
	assert_ptr_equal(arg, &changes);
	changes++;
}

static int setup(void **state)
{
	char err[256];

	(void)state;
	sh("ip neigh flush dev v0");
	changes = 0;
	return neigh_open(&n, changed, &changes, err, sizeof(err));
}

static int teardown(void **state)
{
	(void)state;
	nanswers = 0;
	neigh_close(n);
	return 0;
}

static int resolve(const char *dst, struct neigh_entry *e)
{
	int family = strchr(dst, ':') ? AF_INET6 : AF_INET, rc;
	struct falcon_addr addr = {0};

	assert_int_equal(inet_pton(family, dst, addr.b), 1);
	assert_true(nanswers < ARRAY_SIZE(answers));
	rc = neigh_resolve(n, family, &addr, e);
	answers[nanswers++] = *e;
	return rc;
}

static void release_all(void)
{
	while (nanswers)
		neigh_release(&answers[--nanswers]);
}

/* Resolve |dst| after each change, until |pred| holds. */
static void resolve_until(const char *dst, struct neigh_entry *e,
			  bool (*pred)(const struct neigh_entry *))
{
	struct pollfd p = {.fd = neigh_fd(n), .events = POLLIN};

	while (resolve(dst, e) != 0 || !pred(e)) {
		unsigned int before = changes;

		while (changes == before) {
			if (poll(&p, 1, WAIT_MS) <= 0)
				fail_msg("%s: no change was told", dst);
			neigh_process(n);
		}
	}
}

static bool reachable(const struct neigh_entry *e)
{
	return e->reachable;
}

static void on_link(const char *dst)
{
	struct neigh_entry e;

	assert_int_equal(resolve(dst, &e), 0);
	assert_false(e.reachable);
	resolve_until(dst, &e, reachable);
	assert_memory_equal(e.dst_mac, v1_mac, 6);
	assert_memory_equal(e.src_mac, v0_mac, 6);
	assert_int_equal(e.mtu, 1500);
	assert_true(e.ifindex > 0);
}

static void on_link_ipv4(void **state)
{
	static const uint8_t src[16] = {10, 1, 0, 1};
	struct neigh_entry e;

	(void)state;
	on_link("10.1.0.2");
	assert_int_equal(resolve("10.1.0.2", &e), 0);
	assert_memory_equal(e.src_addr.b, src, 16);
}

static void on_link_ipv6(void **state)
{
	(void)state;
	on_link("fd01::2");
}

/* The host itself, and others. */
static void own_address(void **state)
{
	static const struct {
		const char *addr;
		bool local;
	} cases[] = {
		{"10.1.0.1", true}, {"fd01::1", true}, {"127.0.0.5", true}, {"::1", true},
		{"10.1.0.2", false}, {"fd01::2", false},
	};
	struct neigh_entry e;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(resolve(cases[i].addr, &e), 0);
		assert_int_equal(e.local, cases[i].local);
	}
}

static void gateway(void **state)
{
	struct neigh_entry e;

	(void)state;
	assert_true(sh("ip route add 10.9.0.0/16 via 10.1.0.2 mtu 1300"));
	resolve_until("10.9.1.1", &e, reachable);
	assert_memory_equal(e.dst_mac, v1_mac, 6);
	assert_int_equal(e.mtu, 1300);
	assert_true(sh("ip route replace 10.9.0.0/16 via inet6 fd01::2"));
	resolve_until("10.9.1.1", &e, reachable);
	assert_memory_equal(e.dst_mac, v1_mac, 6);
	assert_int_equal(e.mtu, 1500);
	assert_true(sh("ip route del 10.9.0.0/16"));
}

static bool mtu_1400(const struct neigh_entry *e)
{
	return e->mtu == 1400;
}

static void mtu_changes(void **state)
{
	struct neigh_entry e;

	(void)state;
	resolve_until("10.1.0.2", &e, reachable);
	assert_true(sh("ip link set v0 mtu 1400"));
	resolve_until("10.1.0.2", &e, mtu_1400);
	assert_true(sh("ip link set v0 mtu 1500"));
}

static bool other_mac(const struct neigh_entry *e)
{
	static const uint8_t other[6] = {2, 0, 0, 0, 0, 3};

	return e->reachable && memcmp(e->dst_mac, other, 6) == 0;
}

static void neighbour_moves(void **state)
{
	struct neigh_entry e;

	(void)state;
	resolve_until("10.1.0.2", &e, reachable);
	assert_true(sh("ip neigh replace 10.1.0.2 lladdr 02:00:00:00:00:03 dev v0 nud permanent"));
	resolve_until("10.1.0.2", &e, other_mac);
	assert_true(sh("ip neigh del 10.1.0.2 dev v0"));
}

/* Neighbours that nobody asked for are no changes; afterwards one that is ends the waiting. */
static void others_do_not_count(void **state)
{
	struct neigh_entry e;

	(void)state;
	resolve_until("10.1.0.2", &e, reachable);
	while (poll(&(struct pollfd){.fd = neigh_fd(n), .events = POLLIN}, 1, 0) > 0)
		neigh_process(n);
	changes = 0;
	for (int i = 0; i < 10; i++)
		assert_true(sh("ip neigh add 10.1.0.%d lladdr 02:00:00:00:01:00 dev v0", 50 + i));
	while (poll(&(struct pollfd){.fd = neigh_fd(n), .events = POLLIN}, 1, 0) > 0)
		neigh_process(n);
	assert_int_equal(changes, 0);
}

/* Nor do those that nobody goes by any more: they are not kept alive either. */
static void forgotten_with_the_last_answer(void **state)
{
	struct neigh_entry e, other;

	(void)state;
	resolve_until("10.1.0.2", &e, reachable);
	resolve_until("fd01::2", &other, reachable);
	assert_ptr_not_equal(e.hop, other.hop);
	release_all();
	/* Asked for and held by another: still watched. */
	assert_int_equal(resolve("10.1.0.2", &e), 0);
	assert_int_equal(resolve("10.1.0.2", &e), 0);
	neigh_release(&answers[--nanswers]);
	assert_true(sh("ip neigh replace 10.1.0.2 lladdr 02:00:00:00:00:03 dev v0 nud permanent"));
	resolve_until("10.1.0.2", &e, other_mac);
	release_all();
	changes = 0;
	assert_true(sh("ip neigh replace 10.1.0.2 lladdr 02:00:00:00:00:04 dev v0 nud permanent"));
	assert_true(sh("ip neigh replace fd01::2 lladdr 02:00:00:00:00:04 dev v0 nud permanent"));
	while (poll(&(struct pollfd){.fd = neigh_fd(n), .events = POLLIN}, 1, 0) > 0)
		neigh_process(n);
	assert_int_equal(changes, 0);
	assert_true(sh("ip neigh del 10.1.0.2 dev v0"));
	assert_true(sh("ip neigh del fd01::2 dev v0"));
}

/* A gone entry is asked for again without anybody's doing. */
static void comes_back(void **state)
{
	struct neigh_entry e;

	(void)state;
	resolve_until("10.1.0.2", &e, reachable);
	assert_true(sh("ip neigh del 10.1.0.2 dev v0"));
	changes = 0;
	while (changes == 0) {
		assert_true(poll(&(struct pollfd){.fd = neigh_fd(n), .events = POLLIN}, 1,
				 WAIT_MS) > 0);
		neigh_process(n);
	}
	resolve_until("10.1.0.2", &e, reachable);
	assert_memory_equal(e.dst_mac, v1_mac, 6);
}

static void no_route(void **state)
{
	struct neigh_entry e;

	(void)state;
	assert_int_equal(resolve("192.0.2.1", &e), -ENETUNREACH);
	assert_true(sh("ip route add unreachable 192.0.2.0/24"));
	assert_int_equal(resolve("192.0.2.1", &e), -EHOSTUNREACH);
	assert_true(sh("ip link set v0 down"));
	assert_int_equal(resolve("10.1.0.2", &e), -ENETUNREACH);
}

static void sleep_in_namespace(int ready)
{
	/* Not to outlive a test that crashed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNET) < 0)
		_exit(1);
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* The child's namespace and the link to it. False if that is not permitted. */
static bool make_link(void)
{
	int ready[2];
	char c;

	if (unshare(CLONE_NEWNET) < 0 || pipe(ready) < 0)
		return false;
	child = fork();
	if (child == 0) {
		close(ready[0]);
		sleep_in_namespace(ready[1]);
	}
	close(ready[1]);
	if (child < 0 || read(ready[0], &c, 1) != 1)
		return false;
	return sh("ip link add v0 address 02:00:00:00:00:01 type veth "
		  "peer name v1 address 02:00:00:00:00:02 netns %d", child) &&
	       sh("ip addr add 10.1.0.1/24 dev v0 && ip addr add fd01::1/64 dev v0 nodad && "
		  "ip link set v0 up && ip link set lo up") &&
	       sh("nsenter -t %d -n sh -c 'ip addr add 10.1.0.2/24 dev v1 && "
		  "ip addr add fd01::2/64 dev v1 nodad && ip link set v1 up'", child);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(on_link_ipv4),    TEST(on_link_ipv6), TEST(own_address), TEST(gateway),
		TEST(mtu_changes),     TEST(neighbour_moves), TEST(others_do_not_count),
		TEST(forgotten_with_the_last_answer),
		TEST(comes_back),      TEST(no_route),
	};
	int ret;

	if (!make_link()) {
		puts("1..0 # SKIP needs network namespaces of its own (root)");
		return 0;
	}
	ret = unit_run(tests);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return ret;
}
