// SPDX-License-Identifier: BSD-2-Clause
/* falconctl: one request to the agent, one reply. user/agent/control.h describes both. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "falconctl.h"
#include "ipc/fdpass.h"

enum {
	REPLY_MAX = 64 * 1024,	/* bytes; longer ones come in a memfd */
	REPLY_SECONDS = 10,	/* an agent that takes longer is stuck */
};

static int fail(const char *path, const char *what)
{
	fprintf(stderr, "falconctl: %s %s: %s\n", what, path, strerror(errno));
	return -1;
}

int ctl_connect(const char *path)
{
	struct timeval tv = {.tv_sec = REPLY_SECONDS};
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(sun.sun_path)) {
		errno = ENAMETOOLONG;
		return fail(path, "socket");
	}
	strcpy(sun.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail(path, "socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0)
		return fd;
	if (errno == ENOENT || errno == ECONNREFUSED)
		fprintf(stderr,
			"falconctl: no falcond at %s; is it running? -s SOCKET or FALCON_SOCKET "
			"names another socket\n", path);
	else
		fail(path, "cannot connect to falcond at");
	close(fd);
	return -1;
}

/* Receive a message; *|passed| is set to a descriptor that came with it, or -1. */
static ssize_t receive(int fd, char *buf, size_t size, int *passed)
{
	struct fdpass fds;
	ssize_t n;

	do
		n = fdpass_receive(fd, buf, size, &fds, 0);
	while (n < 0 && errno == EINTR);
	*passed = fdpass_first(&fds);
	return n;
}

/* The reply whose |size| bytes of text are in |memfd|; NULL if they are not. */
static json_t *load_memfd(int memfd, json_int_t size)
{
	json_t *reply;
	void *map;

	map = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, memfd, 0) : MAP_FAILED;
	if (map == MAP_FAILED)
		return NULL;
	reply = json_loadb(map, (size_t)size, 0, NULL);
	munmap(map, (size_t)size);
	return reply;
}

static json_t *receive_reply(int fd, const char *path)
{
	char *buf = malloc(REPLY_MAX);
	json_t *reply = NULL, *size;
	int memfd = -1;
	ssize_t n = buf ? receive(fd, buf, REPLY_MAX, &memfd) : -1;

	if (n > 0)
		reply = json_loadb(buf, (size_t)n, 0, NULL);
	size = json_object_get(reply, "memfd");
	if (size && memfd >= 0) {
		json_t *whole = load_memfd(memfd, json_integer_value(size));

		json_decref(reply);
		reply = whole;
	}
	if (memfd >= 0)
		close(memfd);
	free(buf);
	if (n < 0 && errno == EAGAIN)
		fprintf(stderr, "falconctl: falcond at %s does not answer\n", path);
	else if (n <= 0)
		fprintf(stderr, "falconctl: falcond at %s has closed the connection\n", path);
	else if (!json_is_object(reply))
		fprintf(stderr, "falconctl: falcond at %s speaks another language\n", path);
	return reply;
}

static json_t *check_reply(json_t *reply)
{
	const char *error;

	if (json_is_true(json_object_get(reply, "ok")))
		return reply;
	error = json_string_value(json_object_get(reply, "error"));
	if (reply)
		fprintf(stderr, "falconctl: %s\n", error ? error : "refused without a reason");
	json_decref(reply);
	return NULL;
}

/* Send |text|, and |pass| with it unless that is -1. */
static ssize_t send_text(int fd, char *text, int pass)
{
	const struct iovec iov = {.iov_base = text, .iov_len = strlen(text)};

	return fdpass_send(fd, &iov, 1, &pass, pass >= 0, MSG_NOSIGNAL);
}

int ctl_ask(int fd, const char *path, json_t *req, int pass)
{
	char *text = json_dumps(req, JSON_COMPACT);
	int ret = 0;

	json_decref(req);
	if (!text) {
		fputs("falconctl: arguments must be UTF-8\n", stderr);
		return -1;
	}
	if (send_text(fd, text, pass) < 0)
		ret = fail(path, "cannot send to falcond at");
	free(text);
	return ret;
}

json_t *ctl_answer(int fd, const char *path)
{
	return check_reply(receive_reply(fd, path));
}

json_t *ctl_call(int fd, const char *path, json_t *req, int pass)
{
	return ctl_ask(fd, path, req, pass) < 0 ? NULL : ctl_answer(fd, path);
}

json_t *ctl_keys(const char *op, const char *first, const char *usage, int argc, char **argv)
{
	json_t *req = json_pack("{s:s}", "op", op);

	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		const char *key = value ? argv[i] : first;

		if (value)
			*value++ = 0;
		if ((!value && i > 0) || strcmp(key, "op") == 0 || json_object_get(req, key)) {
			json_decref(req);
			ctl_usage_error(usage, argv[i]);
			return NULL;
		}
		json_object_set_new(req, key, json_string(value ? value : argv[i]));
	}
	return req;
}

json_t *ctl_request(const char *path, json_t *req)
{
	int fd = ctl_connect(path);
	json_t *reply;

	if (fd < 0) {
		json_decref(req);
		return NULL;
	}
	reply = ctl_call(fd, path, req, -1);
	close(fd);
	return reply;
}
