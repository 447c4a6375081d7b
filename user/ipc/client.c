// SPDX-License-Identifier: BSD-2-Clause
#include "ipc/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "falcon/falcon.h"
#include "ipc/control.h"
#include "ipc/fdpass.h"

enum client_const {
	MAX_ERRNO = 4096,
	ANSWER_TIMEOUT_S = 10,	/* an agent that takes longer is stuck */
	MEMFD_SEALS = F_SEAL_SHRINK | F_SEAL_WRITE,	/* without which its text may change, or be gone */
};

__attribute__((format(printf, 3, 4)))
static int fail(struct ipc_client *c, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->err, sizeof(c->err), fmt, ap);
	va_end(ap);
	return rc;
}

const char *ipc_client_path(const char *given)
{
	const char *env = getenv("FALCON_SOCKET");

	if (given && *given)
		return given;
	return env && *env ? env : FALCON_DEFAULT_SOCKET;
}

static int no_connection(struct ipc_client *c, int err)
{
	ipc_client_close(c);
	if (err == ENOENT || err == ECONNREFUSED)
		return fail(c, -err, "no falcond at %s; is it running? FALCON_SOCKET names another socket",
			    c->path);
	return fail(c, -err, "cannot connect to falcond at %s: %s", c->path, strerror(err));
}

int ipc_client_connect(struct ipc_client *c, const char *path)
{
	const struct timeval timeout = { .tv_sec = ANSWER_TIMEOUT_S };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	path = ipc_client_path(path);
	*c = (struct ipc_client)IPC_CLIENT_CLOSED;
	snprintf(c->path, sizeof(c->path), "%s", path);
	if (strlen(path) >= sizeof(addr.sun_path))
		return no_connection(c, ENAMETOOLONG);
	strcpy(addr.sun_path, path);
	c->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (c->sock < 0)
		return no_connection(c, errno);
	setsockopt(c->sock, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(c->sock, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	return connect(c->sock, (struct sockaddr *)&addr, sizeof(addr)) ? no_connection(c, errno) : 0;
}

void ipc_client_close(struct ipc_client *c)
{
	if (c->sock >= 0)
		close(c->sock);
	c->sock = -1;
}

/* The socket has failed with |err|. */
static int broken(struct ipc_client *c, int err)
{
	if (err == EAGAIN || err == EWOULDBLOCK)
		return fail(c, -ETIMEDOUT, "falcond at %s does not answer", c->path);
	if (err == EPIPE || err == ECONNRESET)
		return fail(c, -EPIPE, "falcond at %s is gone", c->path);
	return fail(c, -err, "cannot talk to falcond at %s: %s", c->path, strerror(err));
}

int ipc_client_ask(struct ipc_client *c, json_t *request, const int *fds, unsigned int nfds)
{
	char *text = json_dumps(request, JSON_COMPACT);
	struct iovec iov = { .iov_base = text };
	int err = 0;

	json_decref(request);
	if (!text)
		return fail(c, -EINVAL, "the request is not UTF-8");
	iov.iov_len = strlen(text);
	while (fdpass_send(c->sock, &iov, 1, fds, nfds, MSG_NOSIGNAL) < 0) {
		err = errno;
		if (err != EINTR)
			break;
		err = 0;
	}
	free(text);
	return err ? broken(c, err) : 0;
}

/* The reply whose |bytes| of text are in |memfd|; NULL if they are not. */
static json_t *load_memfd(int memfd, json_int_t bytes)
{
	int seals = fcntl(memfd, F_GET_SEALS);
	struct stat st;
	json_t *reply;
	void *text;

	if (seals < 0 || (seals & MEMFD_SEALS) != MEMFD_SEALS || fstat(memfd, &st) < 0 || bytes <= 0 ||
	    st.st_size != bytes)
		return NULL;
	text = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, memfd, 0);
	if (text == MAP_FAILED)
		return NULL;
	reply = json_loadb(text, (size_t)bytes, 0, NULL);
	munmap(text, (size_t)bytes);
	return reply;
}

/* The reply of |len| bytes of |text| with |memfd|, -1: none. NULL if it cannot be read. */
static json_t *load(const char *text, size_t len, int memfd)
{
	json_t *reply = json_loadb(text, len, 0, NULL), *bytes = json_object_get(reply, "memfd");
	json_t *whole;

	if (!bytes)
		return reply;
	whole = memfd >= 0 ? load_memfd(memfd, json_integer_value(bytes)) : NULL;
	json_decref(reply);
	return whole;
}

static int receive(struct ipc_client *c, json_t **reply)
{
	char *text = malloc(CONTROL_MSG_MAX);
	struct fdpass fds;
	int memfd, err;
	ssize_t n;

	if (!text)
		return fail(c, -ENOMEM, "out of memory");
	do
		n = fdpass_receive(c->sock, text, CONTROL_MSG_MAX, &fds, 0);
	while (n < 0 && errno == EINTR);
	err = n < 0 ? errno : EPIPE;
	memfd = fdpass_first(&fds);
	*reply = n > 0 && fds.whole ? load(text, (size_t)n, memfd) : NULL;
	if (memfd >= 0)
		close(memfd);
	free(text);
	if (n <= 0)
		return broken(c, err);
	if (!fds.whole)
		return fail(c, -EPROTO, "the reply of falcond at %s was cut off; too many open files?",
			    c->path);
	if (json_is_object(*reply))
		return 0;
	json_decref(*reply);
	return fail(c, -EPROTO, "falcond at %s speaks another language", c->path);
}

/* The reply that is waited for, behind those that have come too late. */
static int receive_next(struct ipc_client *c, json_t **reply)
{
	int rc;

	while (c->late) {
		rc = receive(c, reply);
		if (rc && rc != -EPROTO)
			goto out;
		if (!rc)
			json_decref(*reply);
		c->late--;
	}
	rc = receive(c, reply);
out:
	if (rc == -ETIMEDOUT)
		c->late++;
	return rc;
}

/* The errno value, negative, of a name as the agent writes it; -EPROTO for what is none. */
static int errno_of_name(const char *name)
{
	for (int e = 1; name && e < MAX_ERRNO; e++) {
		const char *known = strerrorname_np(e);

		if (known && !strcmp(name, known))
			return -e;
	}
	return -EPROTO;
}

int ipc_client_answer(struct ipc_client *c, json_t **reply)
{
	json_t *got = NULL;
	const char *why;
	int rc;

	if (reply)
		*reply = NULL;
	rc = receive_next(c, &got);
	if (rc)
		return rc;
	if (!json_is_true(json_object_get(got, "ok"))) {
		why = json_string_value(json_object_get(got, "error"));
		rc = errno_of_name(json_string_value(json_object_get(got, "errno")));
		fail(c, rc, "%s", why ? why : "the agent refused without saying why");
	} else if (reply) {
		*reply = json_incref(got);
	}
	json_decref(got);
	return rc;
}

int ipc_client_call(struct ipc_client *c, json_t *request, const int *fds, unsigned int nfds,
		    json_t **reply)
{
	int rc = ipc_client_ask(c, request, fds, nfds);

	if (!rc)
		return ipc_client_answer(c, reply);
	if (reply)
		*reply = NULL;
	return rc;
}
