// SPDX-License-Identifier: BSD-2-Clause
/* The control socket: one JSON object a message, descriptors beside it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "ipc/fdpass.h"
#include "lib/lib.h"

enum control_const {
	MAX_ANSWER = 65536,	/* bytes */
	MAX_ERRNO = 4096,
	ANSWER_TIMEOUT_S = 10,	/* an agent that takes longer is stuck */
};

int lib_fail(struct falcon *f, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->err, sizeof(f->err), fmt, ap);
	va_end(ap);
	return rc;
}

int lib_connect(struct falcon *f, const char *path)
{
	const struct timeval timeout = { .tv_sec = ANSWER_TIMEOUT_S };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return lib_fail(f, -ENAMETOOLONG, "socket path \"%s\" is too long", path);
	strcpy(addr.sun_path, path);
	f->control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (f->control < 0)
		return lib_fail(f, -errno, "cannot make a socket: %s", strerror(errno));
	setsockopt(f->control, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(f->control, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (!connect(f->control, (struct sockaddr *)&addr, sizeof(addr)))
		return 0;
	err = errno;
	if (err == ENOENT || err == ECONNREFUSED)
		return lib_fail(f, -err, "no falcond at %s (is it running? FALCON_SOCKET names "
				"another socket)", path);
	return lib_fail(f, -err, "cannot connect to falcond at %s: %s", path, strerror(err));
}

static int send_request(struct falcon *f, const char *text, const int *fds, int nfds)
{
	const struct iovec iov = { .iov_base = (void *)text, .iov_len = strlen(text) };

	if (fdpass_send(f->control, &iov, 1, fds, (unsigned int)nfds, MSG_NOSIGNAL) >= 0)
		return 0;
	if (errno == EPIPE || errno == ECONNRESET)
		return lib_fail(f, -EPIPE, "the agent is gone");
	return lib_fail(f, -errno, "cannot send to the agent: %s", strerror(errno));
}

static int receive_answer(struct falcon *f, json_t **answer)
{
	char buf[MAX_ANSWER];
	ssize_t n;

	do
		n = recv(f->control, buf, sizeof(buf), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return lib_fail(f, -ETIMEDOUT, "the agent has not answered for %d s",
				ANSWER_TIMEOUT_S);
	if (n <= 0)
		return lib_fail(f, -EPIPE, "the agent is gone");
	*answer = json_loadb(buf, (size_t)n, 0, NULL);
	if (!json_is_object(*answer)) {
		json_decref(*answer);
		return lib_fail(f, -EPROTO, "the agent's answer is not a JSON object");
	}
	return 0;
}

/* The errno value of a name as the agent writes it; -EPROTO for what is none. */
static int errno_of_name(const char *name)
{
	for (int e = 1; name && e < MAX_ERRNO; e++) {
		const char *known = strerrorname_np(e);

		if (known && !strcmp(name, known))
			return -e;
	}
	return -EPROTO;
}

int lib_call(struct falcon *f, json_t *request, const int *fds, int nfds, json_t **answer)
{
	char *text = json_dumps(request, JSON_COMPACT);
	const char *why;
	int rc;

	json_decref(request);
	if (!text)
		return lib_fail(f, -EINVAL, "the request is not valid UTF-8");
	rc = send_request(f, text, fds, nfds);
	free(text);
	if (!rc)
		rc = receive_answer(f, answer);
	if (rc || json_is_true(json_object_get(*answer, "ok")))
		return rc;
	why = json_string_value(json_object_get(*answer, "error"));
	rc = errno_of_name(json_string_value(json_object_get(*answer, "errno")));
	lib_fail(f, rc, "%s", why ? why : "the agent refused without saying why");
	json_decref(*answer);
	return rc;
}
