// SPDX-License-Identifier: BSD-2-Clause
/* libfalcon against an agent: attaching, rings, waiting, and the agent's death. */
#include "unit.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/version.h"
#include "falcon/falcon.h"

enum {
	ARENA = 1 << 20,
	SERVICE = 7,
	PATIENCE_MS = 10000,	/* for what must happen; nothing takes nearly so long */
};

static char loop_agent[PATH_MAX];	/* the program */
static char dir[UNIT_PATH];
static char sock_a[UNIT_PATH + 28], sock_b[UNIT_PATH + 28];
static pid_t agent;
static struct falcon *near, *far;

static const struct falcon_attr attr_b = {
	.socket = sock_b, .service = SERVICE, .arena_size = ARENA, .remote_len = ARENA,
	.remote_write = 1, .remote_read = 1,
};
static const struct falcon_attr attr_a = { .socket = sock_a, .arena_size = ARENA };

static void version__is_the_programs(void **state)
{
	(void)state;
	assert_string_equal(falcon_version(), FALCON_VERSION_STRING);
}

static int open_soon(const struct falcon_attr *attr, struct falcon **f)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int rc = falcon_open(attr, f);

	for (int i = 0; rc && i < PATIENCE_MS; i++) {
		nanosleep(&pause, NULL);
		rc = falcon_open(attr, f);
	}
	return rc;
}

/* An agent with so many raw |layers|, in text. */
static int start(const char *layers)
{
	agent = fork();
	if (!agent) {
		execl(loop_agent, loop_agent, dir, "1400", layers, (char *)NULL);
		_exit(127);
	}
	if (open_soon(&attr_b, &far) || open_soon(&attr_a, &near)) {
		print_error("%s\n", falcon_error(NULL));
		return -1;
	}
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return start("1");
}

static int setup_two(void **state)
{
	(void)state;
	return start("2");
}

static int teardown(void **state)
{
	(void)state;
	falcon_close(near);
	falcon_close(far);
	kill(agent, SIGKILL);
	waitpid(agent, NULL, 0);
	unlink(sock_a);
	unlink(sock_b);
	return 0;
}

/* Wait for the next completion of |f|. */
static struct falcon_cqe next(struct falcon *f)
{
	struct falcon_cqe cqe;

	while (!falcon_poll(f, &cqe, 1))
		assert_int_equal(falcon_wait(f, PATIENCE_MS), 1);
	return cqe;
}

static void open__what_goes_wrong(void **state)
{
	struct falcon_attr attr = attr_b;
	struct falcon *f;

	(void)state;
	attr.socket = "/nonexistent/socket";
	assert_int_equal(falcon_open(&attr, &f), -ENOENT);
	assert_null(f);
	assert_non_null(strstr(falcon_error(NULL), "/nonexistent/socket"));
	attr.socket = sock_b;
	assert_int_equal(falcon_open(&attr, &f), -EADDRINUSE);
	attr.service = SERVICE + 1;
	attr.remote_len = ARENA + 1;
	assert_int_equal(falcon_open(&attr, &f), -EINVAL);
	attr.remote_len = UINT64_MAX;
	attr.remote_offset = 1;
	assert_int_equal(falcon_open(&attr, &f), -EINVAL);
	attr.arena_size = UINT64_MAX;
	assert_int_equal(falcon_open(&attr, &f), -EINVAL);
	falcon_close(NULL);
}

/* No page is left for the agent to make. */
static void open__has_all_pages(void **state)
{
	uint8_t *arena = falcon_arena(near);
	unsigned char in_memory[ARENA / 4096];
	unsigned int n = 0;

	(void)state;
	assert_int_equal(mincore(arena, ARENA, in_memory), 0);
	for (unsigned int i = 0; i < ARENA / 4096; i++)
		n += in_memory[i] & 1;
	assert_int_equal(n, ARENA / 4096);
}

static void open__from_the_environment(void **state)
{
	struct falcon *f;

	(void)state;
	setenv("FALCON_SOCKET", sock_a, 1);
	assert_int_equal(falcon_open(&(struct falcon_attr){ 0 }, &f), 0);
	assert_int_equal(falcon_arena_size(f), 0);
	assert_true(falcon_service(f) >= 32768);
	falcon_close(f);
	unsetenv("FALCON_SOCKET");
}

static void names__of_connections(void **state)
{
	struct falcon_conn_info info;
	uint32_t conn = 99;

	(void)state;
	assert_int_equal(falcon_lookup(near, "b-unordered", &conn), 0);
	assert_int_equal(falcon_conn_info(near, conn, &info), 0);
	assert_int_equal(info.conn, conn);
	assert_true(info.up && !info.ordered);
	assert_int_equal(info.segment, 1400);
	assert_int_equal(info.mtu, 1500);
	assert_int_equal(falcon_lookup(near, "nobody", &conn), -ENOENT);
	assert_non_null(strstr(falcon_error(near), "nobody"));
	assert_int_equal(falcon_lookup(near, "\xff\xfe", &conn), -EINVAL);
	assert_int_equal(falcon_conn_info(near, 12345, &info), -ENOENT);
}

static void operations__of_each_kind(void **state)
{
	struct falcon_sqe sqe = { .op = FALCON_RAW_PUT, .dst_service = SERVICE, .remote = 4096,
				  .len = 100000, .cookie = 1 };
	const struct falcon_msg *m;
	uint8_t *a = falcon_arena(near), *b = falcon_arena(far);

	(void)state;
	memset(a, 'p', 100000);
	assert_int_equal(falcon_submit(near, &sqe), 0);
	assert_int_equal(next(near).len, 100000);
	assert_memory_equal(b + 4096, a, 100000);
	memset(b, 'g', 1000);
	sqe = (struct falcon_sqe){ .op = FALCON_RAW_GET, .dst_service = SERVICE, .len = 1000 };
	assert_int_equal(falcon_submit(near, &sqe), 0);
	assert_int_equal(next(near).status, kCmplAck);
	assert_memory_equal(a, b, 1000);
	sqe.op = FALCON_RAW_SEND;
	sqe.remote = 77;
	assert_null(falcon_message(far));
	assert_int_equal(falcon_submit(near, &sqe), 0);
	falcon_flush(near);
	assert_int_equal(falcon_wait(far, PATIENCE_MS), 1);
	m = falcon_message(far);
	assert_int_equal(m->tag, 77);
	assert_int_equal(m->src_service, falcon_service(near));
	assert_memory_equal(m->payload, a, 1000);
	falcon_message_done(far);
	assert_null(falcon_message(far));
	assert_int_equal(next(near).status, kCmplAck);
	assert_int_equal(falcon_wait(near, 0), 0);
}

static void submit__bounds_and_full_ring(void **state)
{
	struct falcon_sqe sqe = { .op = FALCON_RAW_PUT, .dst_service = SERVICE, .local = ARENA,
				  .len = 1 };
	int n = 0;

	(void)state;
	assert_int_equal(falcon_submit(near, &sqe), -EINVAL);
	sqe.local = UINT64_MAX;
	assert_int_equal(falcon_submit(near, &sqe), -EINVAL);
	sqe.local = 0;
	while (falcon_submit(near, &sqe) == 0)	/* not told of yet: the agent takes none */
		n++;
	assert_int_equal(n, FALCON_SQ_ENTRIES);
	while (n--)
		assert_int_equal(next(near).status, kCmplAck);
	assert_int_equal(falcon_submit(near, &sqe), 0);
	assert_int_equal(next(near).status, kCmplAck);
}

/* More operations than the completion ring holds, without reading: the rest waits, is not lost. */
static void completions__left_unread(void **state)
{
	struct falcon_sqe sqe = { .op = FALCON_RAW_PUT, .dst_service = SERVICE, .len = 8 };
	const uint64_t n = FALCON_CQ_ENTRIES + FALCON_SQ_ENTRIES / 2;

	(void)state;
	for (uint64_t i = 0; i < n; sqe.cookie = ++i)
		while (falcon_submit(near, &sqe) == -EAGAIN)
			falcon_flush(near);
	falcon_flush(near);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(next(near).cookie, i);
}

static void fd__for_event_loops(void **state)
{
	struct pollfd pfd = { .fd = falcon_fd(far), .events = POLLIN };
	struct falcon_sqe sqe = { .op = FALCON_RAW_SEND, .dst_service = SERVICE, .len = 8 };

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(falcon_arm(far), 0);
		assert_int_equal(poll(&pfd, 1, 0), 0);
		assert_int_equal(falcon_submit(near, &sqe), 0);
		falcon_flush(near);
		assert_int_equal(poll(&pfd, 1, PATIENCE_MS), 1);
		assert_int_equal(falcon_arm(far), 1);
		assert_non_null(falcon_message(far));
		falcon_message_done(far);
		assert_int_equal(next(near).status, kCmplAck);
	}
}

/* A message of |f|, waited for: its tag, and in |*conn| the handle of its connection. */
static uint64_t receive(struct falcon *f, uint32_t *conn)
{
	const struct falcon_msg *m;
	uint64_t tag;

	while (!(m = falcon_message(f)))
		assert_int_equal(falcon_wait(f, PATIENCE_MS), 1);
	assert_ptr_equal(falcon_message(f), m);	/* the same until it is given back */
	tag = m->tag;
	*conn = m->conn;
	falcon_message_done(f);
	return tag;
}

/* Peers that are kept apart: an operation reaches what was granted to its sender. */
static void grants(void **state)
{
	struct falcon_sqe put = { .op = FALCON_RAW_PUT, .dst_service = SERVICE, .len = 100, .remote = 4096 };
	struct falcon_sqe hello = { .op = FALCON_RAW_SEND, .dst_service = SERVICE, .len = 8 };
	const struct falcon_msg *m;
	struct falcon_cqe cqe;

	(void)state;
	assert_int_equal(falcon_lookup(near, "b-unordered", &put.conn), 0);
	hello.conn = put.conn;
	memset(falcon_arena(near), 'g', 100);
	assert_int_equal(falcon_divide(far, ARENA / (FALCON_GRANTS_MAX + 1)), -EINVAL);
	assert_int_equal(falcon_divide(far, 0), -EINVAL);
	assert_int_equal(falcon_divide(far, 4096), 0);
	assert_int_equal(falcon_submit(near, &put), 0);
	cqe = next(near);
	assert_int_equal(cqe.status, kCmplTargetNackCIE);
	assert_int_equal(cqe.ulp_code, FALCON_RAW_NO_ACCESS);
	assert_int_equal(falcon_submit(near, &hello), 0);
	falcon_flush(near);
	while (!(m = falcon_message(far)))
		assert_int_equal(falcon_wait(far, PATIENCE_MS), 1);
	assert_int_equal(falcon_grant(far, 1, m->conn, m->src_service), 0);
	falcon_message_done(far);
	assert_int_equal(next(near).status, kCmplAck);
	assert_int_equal(falcon_submit(near, &put), 0);
	assert_int_equal(next(near).status, kCmplAck);
	assert_memory_equal((uint8_t *)falcon_arena(far) + 4096, falcon_arena(near), 100);
	put.remote = 8192;
	assert_int_equal(falcon_submit(near, &put), 0);
	assert_int_equal(next(near).status, kCmplTargetNackCIE);
	assert_int_equal(falcon_revoke(far, 1), 0);
	put.remote = 4096;
	assert_int_equal(falcon_submit(near, &put), 0);
	assert_int_equal(next(near).status, kCmplTargetNackCIE);
	assert_int_equal(falcon_grant(far, FALCON_GRANTS_MAX, 1, 1), -EINVAL);
}

/* Connections of two threads: both are used by one handle, asleep and awake, and answered on. */
static void threads__connections_of_both(void **state)
{
	struct falcon_sqe sqe = { .op = FALCON_RAW_SEND, .dst_service = SERVICE, .len = 8 };
	const char *names[] = { "b", "b-unordered" };
	uint32_t conns[2], from, seen = 0;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(falcon_lookup(near, names[i], &conns[i]), 0);
	assert_int_not_equal(FALCON_CONN_SET(conns[0]), FALCON_CONN_SET(conns[1]));
	for (int i = 0; i < 100; i++) {
		sqe.conn = conns[i % 2];
		sqe.remote = sqe.cookie = (uint64_t)i;
		assert_int_equal(falcon_submit(near, &sqe), 0);
		falcon_flush(near);
		assert_int_equal(receive(far, &from), i);
		assert_int_equal(from, conns[i % 2]);	/* both ends have the same CIDs here */
		assert_int_equal(next(near).cookie, i);
	}
	for (int i = 0; i < 2; i++) {
		sqe.conn = conns[i];
		sqe.remote = (uint64_t)i;
		assert_int_equal(falcon_submit(near, &sqe), 0);
	}
	falcon_flush(near);
	for (int i = 0; i < 2; i++)
		seen |= 1U << receive(far, &from);
	assert_int_equal(seen, 3);
	assert_int_equal(next(near).status, kCmplAck);
	assert_int_equal(next(near).status, kCmplAck);
}

/* A handle that names a thread that does not have the connection, or is none. */
static void threads__wrong_handles(void **state)
{
	struct falcon_sqe sqe = { .op = FALCON_RAW_PUT, .dst_service = SERVICE, .len = 8 };
	struct falcon_conn_info info;

	(void)state;
	for (uint32_t set = 1; set < 16; set++) {
		sqe.conn = FALCON_CONN_HANDLE(set, 0);
		assert_int_equal(falcon_submit(near, &sqe), 0);
		assert_int_equal(next(near).status, kCmplDeadConn);
		assert_int_equal(falcon_conn_info(near, sqe.conn, &info), -ENOENT);
	}
	sqe.conn = 0;
	assert_int_equal(falcon_submit(near, &sqe), 0);
	assert_int_equal(next(near).status, kCmplAck);
}

static void agent__dies(void **state)
{
	struct pollfd pfd = { .fd = falcon_fd(near), .events = POLLIN };
	struct falcon_sqe sqe = { .op = FALCON_RAW_PUT, .dst_service = SERVICE, .len = 8 };
	struct falcon_conn_info info;
	struct falcon_cqe cqe;
	int rc;

	(void)state;
	assert_int_equal(falcon_arm(near), 0);
	kill(agent, SIGKILL);
	assert_int_equal(poll(&pfd, 1, PATIENCE_MS), 1);
	assert_int_equal(falcon_wait(near, PATIENCE_MS), -EPIPE);
	assert_int_equal(falcon_poll(near, &cqe, 1), -EPIPE);
	assert_int_equal(falcon_submit(near, &sqe), -EPIPE);
	assert_int_equal(falcon_conn_info(near, 0, &info), -EPIPE);
	do	/* whoever only polls finds out, too */
		rc = falcon_poll(far, &cqe, 1);
	while (!rc);
	assert_int_equal(rc, -EPIPE);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define T2(f) cmocka_unit_test_setup_teardown(f, setup_two, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version__is_the_programs),
		T(open__what_goes_wrong), T(open__from_the_environment), T(open__has_all_pages),
		T(names__of_connections),
		T(grants),		T(operations__of_each_kind), T(submit__bounds_and_full_ring),
		T(completions__left_unread), T(fd__for_event_loops), T(agent__dies),
		T2(threads__connections_of_both), T2(threads__wrong_handles), T2(agent__dies),
		T2(operations__of_each_kind), T2(fd__for_event_loops), T2(names__of_connections),
	};
	int rc;

	(void)argc;
	snprintf(loop_agent, sizeof(loop_agent), "%s/loop_agent", dirname(argv[0]));
	if (!mkdtemp(unit_template(dir, "lib_rings")))
		return 1;
	snprintf(sock_a, sizeof(sock_a), "%s/a.sock", dir);
	snprintf(sock_b, sizeof(sock_b), "%s/b.sock", dir);
	rc = unit_run(tests);
	rmdir(dir);
	return rc;
}
