// SPDX-License-Identifier: BSD-2-Clause
/*
 * Verbs applications at the agent: attaching, the command socket and those who misuse it, and the end of
 * a process, whoever still has its descriptors. The agent has no ports and no peers; the application is
 * this process, or a child where it has to end.
 */
#include "agent_rdma_env.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <agent/conn/rows.h>
#include <agent/rdma/show.h>

#include "agent/agent.h"
#include "agent/rdma/priv.h"
#include "falcon/abi/verbs.h"
#include "falcon/abi/verbs_shm.h"
#include "lingering.h"
#include "ulp/ulp.h"

enum { FDS_MAX = 256 };

static struct quota_section section;
const struct ulp_host shard_ulp_host;

static int open_count(void)
{
	int n = 0;

	settle();

	for (int fd = 0; fd < FDS_MAX; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int attach(struct app *app)
{
	return attach_as(app, getpid(), getuid(), 4);
}

/* The error of the next answer; -1: none, -2: end. */
static int answer_of(const struct app *app)
{
	uint8_t buf[FVERBS_MSG_MAX];
	struct fverbs_reply reply;
	ssize_t n;

	settle();
	n = recv(app->command, buf, sizeof(buf), MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return -1;
	if (n <= 0)
		return -2;
	memcpy(&reply, buf, sizeof(reply));
	return reply.error;
}

static int set_up(void **state)
{
	char err[256];

	(void)state;
	memset(&agent, 0, sizeof(agent));
	agent.plane.config = &agent.config;
	agent.plane.shards[0].plane = &agent.plane;
	agent.plane.shards[0].agent = &agent;
	agent.plane.nshards = 1;
	watched = 0;
	section = (struct quota_section){ .name = "0" };
	for (int k = 0; k < QUOTA_KINDS; k++)
		section.limit[k] = UINT64_MAX;
	section.limit[QUOTA_CLIENTS] = 2;
	section.limit[QUOTA_MEMORY] = 2 * AREA;
	snprintf(section.name, sizeof(section.name), "%u", getuid());
	assert_int_equal(quota_open(&agent.quota, &section, 1, err, sizeof(err)), 0);
	assert_int_equal(agent_rdma_open(&agent.plane.shards[0]), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	agent_rdma_close(&agent.plane.shards[0]);
	assert_int_equal(quota_held(agent.quota, getuid(), QUOTA_CLIENTS), 0);
	assert_int_equal(quota_held(agent.quota, getuid(), QUOTA_MEMORY), 0);
	assert_int_equal(watched, 0);
	quota_close(agent.quota);
	return 0;
}

static void attaches_and_leaves(void **state)
{
	struct app app;
	int before = open_count();

	(void)state;
	prepare(&app);
	assert_int_equal(attach(&app), 0);
	assert_int_equal(watched, 1);
	assert_int_equal(quota_held(agent.quota, getuid(), QUOTA_MEMORY), AREA);
	send_hello(&app);
	process();
	assert_int_equal(answer_of(&app), 0);
	drop(&app);
	process();
	assert_int_equal(agent.plane.shards[0].rdma->napps, 0);
	assert_int_equal(open_count(), before);
}

/* Who attaches again and again does not fill the log. */
static void lines_about_applications(void **state)
{
	enum { TIMES = 100 };
	static char text[64 * 1024];
	int to = memfd_create("log", 0), saved = dup(STDERR_FILENO), lines = 0;
	struct app app;
	ssize_t n;

	(void)state;
	dup2(to, STDERR_FILENO);
	for (int i = 0; i < TIMES; i++) {
		prepare(&app);
		assert_int_equal(attach(&app), 0);
		drop(&app);
		process();
	}
	dup2(saved, STDERR_FILENO);
	close(saved);
	n = pread(to, text, sizeof(text) - 1, 0);
	close(to);
	assert_true(n > 0);
	text[n] = 0;
	for (const char *p = text; (p = strstr(p, "verbs application")); p++)
		lines++;
	assert_true(lines > 0);
	/* Of twice as many as there were applications. */
	assert_true(lines < TIMES);
}

static void descriptors_that_are_wrong(void **state)
{
	int before = open_count();
	struct app app;

	(void)state;
	for (int i = 0; i < 4; i++) {
		prepare(&app);
		close(app.fds[i]);
		app.fds[i] = open("/dev/null", O_RDWR);
		assert_true(attach(&app) < 0);
		assert_true(app.fds[0] >= 0 && app.fds[1] >= 0 && app.fds[2] >= 0 && app.fds[3] >= 0);
		drop(&app);
	}
	prepare(&app);
	assert_int_equal(attach_as(&app, getpid(), getuid(), 3), -EINVAL);
	/* Somebody else has made the socket. */
	assert_int_equal(attach_as(&app, getppid(), getuid(), 4), -EPERM);
	/* An area that is not what it should be. */
	assert_int_equal(pwrite(app.fds[1], "nonsense", 8, 0), 8);
	assert_int_equal(attach(&app), -EINVAL);
	drop(&app);
	assert_int_equal(open_count(), before);
}

static void accounts(void **state)
{
	struct app app[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		prepare(&app[i]);
		assert_int_equal(attach(&app[i]), i < 2 ? 0 : -EDQUOT);
	}
	drop(&app[0]);
	process();
	assert_int_equal(attach(&app[2]), 0);
	drop(&app[1]);
	drop(&app[2]);
	process();
}

/* An application that has attached and said hello. */
static void begin(struct app *app)
{
	prepare(app);
	assert_int_equal(attach(app), 0);
	send_hello(app);
	process();
	assert_int_equal(answer_of(app), 0);
}

/* A domain named by a file is for those who have opened the file, not for all who see its path. */
static void a_path_is_no_file(void **state)
{
	struct {
		struct fverbs_cmd cmd;
		struct fverbs_open_xrcd xrcd;
	} msg = { { .op = FVERBS_OPEN_XRCD }, { .oflags = O_CREAT, .has_fd = 1 } };
	const struct iovec iov = { &msg, sizeof(msg) };
	char path[] = "/tmp/agent_rdma.XXXXXX";
	int fds[2] = { mkstemp(path), open(path, O_PATH | O_CLOEXEC) };
	struct app app;

	(void)state;
	begin(&app);
	for (int i = 0; i < 2; i++) {
		assert_true(fds[i] >= 0);
		assert_int_equal(fdpass_send(app.command, &iov, 1, &fds[i], 1, 0), sizeof(msg));
		process();
		assert_int_equal(answer_of(&app), i ? EBADF : 0);
		close(fds[i]);
	}
	unlink(path);
	drop(&app);
	process();
}

/* Objects are shown to their user and root. */
static void objects_of_others(void **state)
{
	struct {
		struct fverbs_cmd cmd;
		struct fverbs_handle device;
	} msg = { { .op = FVERBS_ALLOC_PD }, {} };
	const struct { uid_t uid; size_t rows; } users[] = { { 0, 1 }, { getuid(), 1 }, { 4000001, 0 } };
	struct app app;

	(void)state;
	begin(&app);
	assert_int_equal(send(app.command, &msg, sizeof(msg), 0), sizeof(msg));
	process();
	assert_int_equal(answer_of(&app), 0);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		uint64_t next = 0;
		const struct show_query q = { .uid = users[i].uid, .next = &next };
		json_t *rows = json_array();

		agent_show_pd(&agent, &q, rows);
		assert_int_equal(json_array_size(rows), users[i].rows);
		assert_int_equal(next, 0);
		json_decref(rows);
	}
	drop(&app);
	process();
}

/* |n| domains more, or the domain |h| less. */
static void change_domains(const struct app *app, uint16_t op, uint32_t h, unsigned int n)
{
	const struct {
		struct fverbs_cmd cmd;
		struct fverbs_handle handle;
	} msg = { { .op = op }, { .handle = h } };

	while (n--) {
		assert_int_equal(send(app->command, &msg, sizeof(msg), 0), sizeof(msg));
		process();
		assert_int_equal(answer_of(app), 0);
	}
}

/* The rows of a page, of which each was seen as often as |seen| says, by process number and handle. */
static size_t page(uint64_t from, uint64_t *next, uint8_t *seen)
{
	const struct show_query q = { .uid = getuid(), .from = from, .next = next };
	json_t *rows = json_array(), *row;
	size_t i, n;

	*next = 0;
	agent_show_pd(&agent, &q, rows);
	n = json_array_size(rows);
	assert_true(n <= SHOW_ROWS);
	json_array_foreach (rows, i, row)
		seen[json_integer_value(json_object_get(row, "handle"))]++;
	json_decref(rows);
	return n;
}

/* Very many objects are shown in pages, whatever comes and goes between them. */
static void objects_in_pages(void **state)
{
	uint8_t seen[1 << 10] = {};
	uint64_t next = 0;
	struct app app[2];

	(void)state;
	begin(&app[0]);
	begin(&app[1]);
	for (int i = 0; i < 2; i++)
		change_domains(&app[i], FVERBS_ALLOC_PD, 0, SHOW_ROWS);
	change_domains(&app[1], FVERBS_ALLOC_PD, 0, 1);
	/* Of the second application first. */
	assert_int_equal(page(0, &next, seen), SHOW_ROWS);
	change_domains(&app[1], FVERBS_DEALLOC_PD, 7, 1);
	assert_int_equal(page(next, &next, seen), SHOW_ROWS);
	for (int h = 1; h <= SHOW_ROWS + 1; h++)
		assert_int_equal(seen[h], h <= SHOW_ROWS - 1 ? 2 : 1);
	/* With the application the rest of it goes. */
	assert_int_not_equal(next, 0);
	drop(&app[0]);
	process();
	assert_int_equal(page(next, &next, seen), 0);
	assert_int_equal(next, 0);
	/* What nobody was told. */
	assert_int_equal(page(UINT64_MAX, &next, seen), 0);
	assert_int_equal(page(1, &next, seen), 0);
	drop(&app[1]);
	process();
}

/* A user whose descriptors are not closed gets no more through. */
static void descriptors_that_do_not_close(void **state)
{
	struct rlimit before, few;
	struct app app;
	char byte;
	int peer;

	(void)state;
	prepare(&app);
	assert_int_equal(attach(&app), 0);
	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	deferred_close(lingering(&peer), getuid());
	while (!deferred_close_full(getuid()))
		deferred_close(open("/dev/null", O_RDONLY | O_CLOEXEC), getuid());
	send_hello(&app);
	process();
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(agent.plane.shards[0].rdma->napps, 0);
	/* Its application hears of that at once. */
	assert_int_equal(recv(app.command, &byte, 1, MSG_DONTWAIT), 0);
	close(peer);
	settle();
	drop(&app);
}

/* |n| bytes with |nfds| descriptors. */
static void send_fds(int sock, const void *data, size_t n, int nfds)
{
	union {
		char bytes[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec iov = { (void *)data, n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fds[4] = { 0, 0, 0, 0 };

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
	memcpy(CMSG_DATA(c), fds, (size_t)nfds * sizeof(int));
	assert_int_equal(sendmsg(sock, &msg, 0), n);
}

/* Each of them ends it, and nothing is left over. */
static void misuse(void **state)
{
	static const uint8_t long_one[FVERBS_MSG_MAX + 1];
	struct fverbs_cmd cmd = { .op = FVERBS_ALLOC_PD };
	int before = open_count();

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct app app;

		prepare(&app);
		assert_int_equal(attach(&app), 0);
		switch (i) {
		case 0: send(app.command, &cmd, 3, 0); break;
		case 1: send(app.command, long_one, sizeof(long_one), 0); break;
		case 2: send_fds(app.command, &cmd, sizeof(cmd), 2); break;
		case 3: send(app.command, "", 0, 0); break;
		case 4: shutdown(app.command, SHUT_WR); break;
		}
		process();
		assert_int_equal(agent.plane.shards[0].rdma->napps, 0);
		assert_int_equal(answer_of(&app), -2);
		drop(&app);
		assert_int_equal(open_count(), before);
	}
}

/* A descriptor that nobody wants is closed, and the answer says so. */
static void a_descriptor_too_many(void **state)
{
	struct {
		struct fverbs_cmd cmd;
		struct fverbs_handle handle;
	} msg = { .cmd = { .op = FVERBS_ALLOC_PD } };
	struct app app;
	int before;

	(void)state;
	begin(&app);
	before = open_count();
	send_fds(app.command, &msg, sizeof(msg), 1);
	process();
	assert_int_equal(answer_of(&app), EINVAL);
	assert_int_equal(open_count(), before);
	drop(&app);
	process();
}

/* Who does not read his answers waits, without holding up anybody, and gets them all in the end. */
static void answers_that_are_not_read(void **state)
{
	struct {
		struct fverbs_cmd cmd;
		struct fverbs_handle handle;
	} msg = { .cmd = { .op = FVERBS_QUERY_DEVICE } };
	unsigned int sent = 0, got = 0;
	struct app app;
	int one = 1, rc;

	(void)state;
	prepare(&app);
	/* As little as the kernel allows: a few answers. */
	assert_int_equal(setsockopt(app.fds[0], SOL_SOCKET, SO_SNDBUF, &one, sizeof(one)), 0);
	assert_int_equal(attach(&app), 0);
	send_hello(&app);
	process();
	assert_int_equal(answer_of(&app), 0);
	for (int i = 0; i < 100; i++) {
		while (send(app.command, &msg, sizeof(msg), MSG_DONTWAIT) == (ssize_t)sizeof(msg))
			sent++;
		process();
	}
	assert_int_equal(agent.plane.shards[0].rdma->napps, 1);
	while (got < sent) {
		process();
		while ((rc = answer_of(&app)) == 0)
			got++;
		assert_int_equal(rc, -1);
	}
	assert_int_equal(got, sent);
	drop(&app);
	process();
}

/* A process ends, though somebody else has all its descriptors. */
static void the_process_ends(void **state)
{
	struct app app;
	int talk[2];
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, talk), 0);
	pid = fork();
	if (pid == 0) {
		union {
			char bytes[CMSG_SPACE(6 * sizeof(int))];
			struct cmsghdr align;
		} control = {};
		struct iovec iov = { "", 1 };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				      .msg_controllen = sizeof(control) };
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

		prepare(&app);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(app));
		memcpy(CMSG_DATA(c), &app, sizeof(app));
		_exit(sendmsg(talk[1], &msg, 0) == 1 && pause() ? 0 : 1);
	} else {
		union {
			char bytes[CMSG_SPACE(6 * sizeof(int))];
			struct cmsghdr align;
		} control = {};
		char byte;
		struct iovec iov = { &byte, 1 };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				      .msg_controllen = sizeof(control) };

		assert_int_equal(recvmsg(talk[0], &msg, 0), 1);
		memcpy(&app, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(app));
	}
	assert_int_equal(attach_as(&app, pid, getuid(), 4), 0);
	process();
	assert_int_equal(agent.plane.shards[0].rdma->napps, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	process();
	assert_int_equal(agent.plane.shards[0].rdma->napps, 0);
	drop(&app);
	close(talk[0]);
	close(talk[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(attaches_and_leaves), TEST(lines_about_applications),
		TEST(descriptors_that_are_wrong), TEST(accounts),
		TEST(misuse), TEST(a_descriptor_too_many), TEST(answers_that_are_not_read),
		TEST(the_process_ends), TEST(a_path_is_no_file), TEST(objects_of_others),
		TEST(objects_in_pages), TEST(descriptors_that_do_not_close),
	};

	return unit_run(tests);
}
