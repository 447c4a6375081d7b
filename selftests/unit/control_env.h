/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the control socket share: a server whose handler does what requests say, and clients. */
#ifndef SELFTESTS_CONTROL_ENV_H
#define SELFTESTS_CONTROL_ENV_H

#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <agent/control/control.h>
#include <base/log.h>

#include "ipc/fdpass.h"

static char dir[UNIT_PATH];		/* made by control_env_run() */
static char path[UNIT_PATH + 28];
static struct control *ctl;
static struct control_client *last;	/* client of the latest request */
static unsigned int closed;
static int taken = -1;			/* descriptor kept by "take" */

/* Requests that the tests make: each does one thing a handler may do. */
static inline int handler(void *arg, struct control_client *cl, json_t *req, int *fds, int nfds,
		   json_t **reply)
{
	const char *op = json_string_value(json_object_get(req, "op"));

	assert_ptr_equal(arg, dir);
	last = cl;
	if (strcmp(op, "echo") == 0) {
		*reply = json_pack("{s:O, s:i}", "req", req, "fds", nfds);
		return 0;
	}
	if (strcmp(op, "quiet") == 0)
		return 0;
	if (strcmp(op, "take") == 0) {
		taken = fds[0];
		fds[0] = -1;
		return 0;
	}
	if (strcmp(op, "drop") == 0) {
		control_drop(ctl, cl);
		return 0;
	}
	if (strcmp(op, "large") == 0) {
		char *text = test_malloc(200001);

		memset(text, 'x', 200000);
		text[200000] = 0;
		*reply = json_pack("{s:s}", "text", text);
		test_free(text);
		return 0;
	}
	if (strcmp(op, "explain") == 0)
		return control_error(reply, -ENOENT, "no connection named \"%s\"", "\xff\n");
	return -EOPNOTSUPP;
}

static inline void on_closed(void *arg, struct control_client *cl)
{
	assert_ptr_equal(arg, dir);
	assert_non_null(cl);
	closed++;
}

static inline int open_control(struct control **out)
{
	char err[256];

	return control_open(out, path, "", handler, on_closed, dir, err, sizeof(err));
}

static inline int setup(void **state)
{
	(void)state;
	closed = 0;
	assert_int_equal(open_control(&ctl), 0);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	control_close(ctl);
	assert_int_equal(access(path, F_OK), -1);
	return 0;
}

static inline int client(void)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(sun.sun_path, path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	return fd;
}

/* Turn the server until |fd| has something to read or is closed. */
static inline void turn(int fd)
{
	for (int i = 0; i < 1000; i++) {
		struct pollfd p[2] = {{.fd = control_fd(ctl), .events = POLLIN},
				      {.fd = fd, .events = POLLIN}};

		assert_true(poll(p, 2, 5000) > 0);
		if (p[1].revents)
			return;
		control_process(ctl);
	}
	fail_msg("no reply");
}

static inline void send_fds(int fd, const void *text, size_t len, const int *fds, int nfds)
{
	const struct iovec iov = {.iov_base = (void *)text, .iov_len = len};

	assert_int_equal(fdpass_send(fd, &iov, 1, fds, (unsigned int)nfds, 0), len);
}

/* Receive a reply; *|passed| is set to its descriptor, -1 if it has none. */
static inline json_t *receive(int fd, int *passed)
{
	static char text[CONTROL_MSG_MAX];
	struct fdpass fds;
	json_t *reply;
	ssize_t n;

	turn(fd);
	n = fdpass_receive(fd, text, sizeof(text), &fds, 0);
	assert_true(n > 0 && fds.whole && fds.n <= 1);
	*passed = fdpass_first(&fds);
	reply = json_loadb(text, (size_t)n, 0, NULL);
	assert_non_null(reply);
	return reply;
}

static inline json_t *ask(int fd, const char *req)
{
	json_t *reply;
	int passed;

	send_fds(fd, req, strlen(req), NULL, 0);
	reply = receive(fd, &passed);
	assert_int_equal(passed, -1);
	return reply;
}

static inline void assert_error(json_t *reply, const char *name)
{
	assert_true(json_is_false(json_object_get(reply, "ok")));
	assert_string_equal(json_string_value(json_object_get(reply, "errno")), name);
	assert_non_null(json_string_value(json_object_get(reply, "error")));
	json_decref(reply);
}

static inline void assert_ok(json_t *reply)
{
	assert_true(json_is_true(json_object_get(reply, "ok")));
	json_decref(reply);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static inline int control_env_open(void)
{
	log_set_level(LOG_LEVEL_ERROR);
	if (!mkdtemp(unit_template(dir, "falcon-control")))
		return -1;
	snprintf(path, sizeof(path), "%s/sock", dir);
	return 0;
}

static inline int control_env_close(int failures)
{
	return rmdir(dir) ? 1 : failures;
}

/* unit_run() of |tests|, with a folder for the socket. */
#define control_env_run(tests) (control_env_open() ? 1 : control_env_close(unit_run(tests)))

#endif
