// SPDX-License-Identifier: BSD-2-Clause
/* The control socket: requests, replies and descriptors. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <agent/process/deferred_close.h>

#include "control_env.h"
#include "lingering.h"

static void request_and_reply(void **state)
{
	int fd = client();
	json_t *reply = ask(fd, "{\"op\":\"echo\",\"n\":7}");

	(void)state;
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(reply, "req"), "n")), 7);
	assert_ok(reply);
	assert_int_equal(last->pid, getpid());
	assert_int_equal(last->uid, getuid());
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	assert_error(ask(fd, "{\"op\":\"none\"}"), "EOPNOTSUPP");
	close(fd);
}

static void error_text_is_clean(void **state)
{
	int fd = client();
	json_t *reply = ask(fd, "{\"op\":\"explain\"}");

	(void)state;
	assert_string_equal(json_string_value(json_object_get(reply, "error")),
			    "no connection named \"\?\?\"");
	assert_error(reply, "ENOENT");
	close(fd);
}

static void malformed(void **state)
{
	static const char *const bad[] = {
		"{", "[1]", "7", "{}", "{\"op\":7}", "{\"op\":\"echo\",\"op\":\"echo\"}",
		"{\"op\":\"echo\"} x", "\xff\xfe",
	};
	char deep[4096];
	int fd = client();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_error(ask(fd, bad[i]), "EPROTO");
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	assert_error(ask(fd, deep), "EPROTO");
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	close(fd);
}

static void too_large(void **state)
{
	char *text = test_malloc(CONTROL_MSG_MAX + 1);
	int fd = client(), passed;

	(void)state;
	memset(text, ' ', CONTROL_MSG_MAX + 1);
	memcpy(text, "{\"op\":\"quiet\"}", 14);
	send_fds(fd, text, CONTROL_MSG_MAX, NULL, 0);
	assert_ok(receive(fd, &passed));
	send_fds(fd, text, CONTROL_MSG_MAX + 1, NULL, 0);
	assert_error(receive(fd, &passed), "EMSGSIZE");
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	test_free(text);
	close(fd);
}

static int open_fds(void)
{
	int fd;

	while (deferred_close_pending(geteuid()))
		sched_yield();
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(fd);
	return fd; /* the lowest free number */
}

static void descriptors(void **state)
{
	const char *echo = "{\"op\":\"echo\"}", *take = "{\"op\":\"take\"}";
	int fd = client(), passed, before, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int fds[CONTROL_FDS_MAX + 1];
	json_t *reply;

	(void)state;
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	for (int i = 0; i <= CONTROL_FDS_MAX; i++)
		fds[i] = null;
	before = open_fds();
	send_fds(fd, echo, strlen(echo), fds, CONTROL_FDS_MAX);
	reply = receive(fd, &passed);
	assert_int_equal(json_integer_value(json_object_get(reply, "fds")), CONTROL_FDS_MAX);
	assert_ok(reply);
	send_fds(fd, echo, strlen(echo), fds, CONTROL_FDS_MAX + 1);
	assert_error(receive(fd, &passed), "EMSGSIZE");
	assert_int_equal(open_fds(), before);
	send_fds(fd, take, strlen(take), fds, 1);
	assert_ok(receive(fd, &passed));
	assert_int_equal(taken, before);
	close(taken);
	close(null);
	close(fd);
}

/* One that does not close keeps all behind it waiting; who goes on sending is not listened to any more. */
static void descriptors_that_do_not_close(void **state)
{
	const char *echo = "{\"op\":\"echo\"}";
	const struct iovec iov = {.iov_base = (void *)echo, .iov_len = strlen(echo)};
	struct rlimit limit;
	int fd, slow, peer, passed, many[FDPASS_MAX];
	char text[512];
	unsigned int n = 0;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max < DEFERRED_CLOSE_MAX + 2 * FDPASS_MAX || setrlimit(RLIMIT_NOFILE, &limit))
		skip();
	fd = client();
	slow = lingering(&peer);
	send_fds(fd, echo, strlen(echo), &slow, 1);
	/* Its last close is the server's, however soon that comes. */
	close(slow);
	assert_ok(receive(fd, &passed));
	for (int i = 0; i < FDPASS_MAX; i++)
		many[i] = fd;
	do {
		assert_true(n++ <= DEFERRED_CLOSE_MAX / FDPASS_MAX + 1);
		if (fdpass_send(fd, &iov, 1, many, FDPASS_MAX, MSG_NOSIGNAL) < 0)
			break;
		turn(fd);
	} while (recv(fd, text, sizeof(text), 0) > 0);
	assert_true(deferred_close_pending(geteuid()) < DEFERRED_CLOSE_MAX + 2 * FDPASS_MAX);
	close(peer);
	while (deferred_close_pending(geteuid()))
		sched_yield();
	close(fd);
	/* And is again. */
	fd = client();
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	close(fd);
}

/* What comes with a message of no bytes, which looks like the end, is closed too. */
static void descriptors_without_text(void **state)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), before, fd = client();
	int fds[2] = {null, null};

	(void)state;
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	before = open_fds();
	send_fds(fd, "", 0, fds, 2);
	turn(fd);
	assert_int_equal(closed, 1);
	assert_true(open_fds() <= before);
	close(fd);
	close(null);
}

static void large_reply(void **state)
{
	const char *req = "{\"op\":\"large\"}";
	int fd = client(), memfd;
	json_t *reply, *whole;
	size_t size;
	char *map;

	(void)state;
	send_fds(fd, req, strlen(req), NULL, 0);
	reply = receive(fd, &memfd);
	assert_true(memfd >= 0);
	size = (size_t)json_integer_value(json_object_get(reply, "memfd"));
	assert_true(size > 200000);
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, memfd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	whole = json_loadb(map, size, 0, NULL);
	assert_int_equal(json_string_length(json_object_get(whole, "text")), 200000);
	assert_ok(whole);
	assert_ok(reply);
	munmap(map, size);
	close(memfd);
	close(fd);
}

/* A client that asks and never reads is dropped; another is served on. */
static void slow_client(void **state)
{
	const char *req = "{\"op\":\"echo\",\"pad\":\"0123456789012345678901234567890123456789\"}";
	int slow = client(), fd = client();

	(void)state;
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	for (int i = 0; i < 100000 && closed == 0; i++) {
		if (send(slow, req, strlen(req), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		    errno != EAGAIN)
			break;
		control_process(ctl);
	}
	assert_int_equal(closed, 1);
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	close(slow);
	close(fd);
}

static void count(void *arg, struct control_client *cl)
{
	assert_non_null(cl);
	(*(int *)arg)++;
}

static void drop(void **state)
{
	int fd = client(), other = client(), n = 0;

	(void)state;
	assert_ok(ask(other, "{\"op\":\"quiet\"}"));
	assert_ok(ask(fd, "{\"op\":\"drop\"}"));
	assert_int_equal(closed, 1);
	turn(fd);
	assert_int_equal(recv(fd, &n, sizeof(n), 0), 0);
	control_each(ctl, count, &n);
	assert_int_equal(n, 1);
	assert_ok(ask(other, "{\"op\":\"quiet\"}"));
	control_drop(ctl, last);
	assert_int_equal(closed, 2);
	close(fd);
	close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(request_and_reply), TEST(error_text_is_clean),
		TEST(malformed),	 TEST(too_large),
		TEST(descriptors),	 TEST(descriptors_without_text),
		TEST(large_reply),	 TEST(slow_client),
		TEST(drop),
		/* Last: if it fails, what it has sent stays unclosed. */
		TEST(descriptors_that_do_not_close),
	};

	return control_env_run(tests);
}
