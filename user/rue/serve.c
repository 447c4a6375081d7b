// SPDX-License-Identifier: BSD-2-Clause
#include "rue/serve.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "rue/session.h"

struct rue_server {
	struct sockaddr_un at;
	int sock;			/* listens; -1: not yet */
	int ended;			/* eventfd: some session is over */
	void (*say)(const char *text);
	struct rue_session *session[RUE_SERVE_AGENTS];	/* NULL: free */
};

static const struct sockaddr *address(const struct rue_server *s)
{
	return (const struct sockaddr *)&s->at;
}

/* Somebody who still listens there is left alone. */
static void remove_left_over(const struct rue_server *s)
{
	struct stat st;
	int sock;

	if (stat(s->at.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock >= 0 && connect(sock, address(s), sizeof(s->at)) < 0 && errno == ECONNREFUSED)
		unlink(s->at.sun_path);
	if (sock >= 0)
		close(sock);
}

static int open_socket(struct rue_server *s)
{
	mode_t mask;
	int rc;

	remove_left_over(s);
	s->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->sock < 0)
		return -1;
	mask = umask(0177);
	rc = bind(s->sock, address(s), sizeof(s->at));
	umask(mask);
	if (rc == 0)
		rc = listen(s->sock, RUE_SERVE_AGENTS);
	if (rc) {
		/* What is at the path then is not ours. */
		s->at.sun_path[0] = 0;
	}
	return rc;
}

struct rue_server *rue_serve(const char *path, void (*say)(const char *text), char *err, size_t size)
{
	struct rue_server *s = calloc(1, sizeof(*s));

	if (!s || strlen(path) >= sizeof(s->at.sun_path)) {
		snprintf(err, size, "%s: %s", path, strerror(s ? ENAMETOOLONG : ENOMEM));
		free(s);
		return NULL;
	}
	s->at.sun_family = AF_UNIX;
	memcpy(s->at.sun_path, path, strlen(path));
	s->sock = -1;
	s->say = say;
	s->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->ended < 0 || open_socket(s)) {
		snprintf(err, size, "%s: %s", path, strerror(errno));
		rue_serve_end(s);
		return NULL;
	}
	return s;
}

static void let_in(struct rue_server *s)
{
	int sock = accept4(s->sock, NULL, NULL, SOCK_CLOEXEC);

	if (sock < 0)
		return;
	for (unsigned int i = 0; i < RUE_SERVE_AGENTS; i++)
		if (!s->session[i]) {
			s->session[i] = rue_session_start(sock, s->ended, s->say);
			return;
		}
	s->say("one agent too many");
	close(sock);
}

static void reap(struct rue_server *s)
{
	uint64_t n;

	if (read(s->ended, &n, sizeof(n)) < 0)
		return;
	for (unsigned int i = 0; i < RUE_SERVE_AGENTS; i++)
		if (s->session[i] && rue_session_over(s->session[i])) {
			rue_session_end(s->session[i]);
			s->session[i] = NULL;
		}
}

void rue_serve_run(struct rue_server *s, int stop)
{
	struct pollfd fd[] = { { .fd = stop, .events = POLLIN },
			       { .fd = s->sock, .events = POLLIN },
			       { .fd = s->ended, .events = POLLIN } };

	for (;;) {
		if (poll(fd, 3, -1) < 0 && errno != EINTR)
			return;
		if (fd[0].revents)
			return;
		if (fd[2].revents)
			reap(s);
		if (fd[1].revents)
			let_in(s);
	}
}

void rue_serve_end(struct rue_server *s)
{
	for (unsigned int i = 0; i < RUE_SERVE_AGENTS; i++)
		if (s->session[i])
			rue_session_end(s->session[i]);
	if (s->sock >= 0 && s->at.sun_path[0])
		unlink(s->at.sun_path);
	if (s->sock >= 0)
		close(s->sock);
	if (s->ended >= 0)
		close(s->ended);
	free(s);
}
