// SPDX-License-Identifier: BSD-2-Clause
#include "control.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "emulator.h"

struct client {
	int fd;			/* -1: none */
	uint64_t since;		/* order of coming */
	char line[CONTROL_LINE + 1];
	size_t got;
	char *reply;		/* NULL: the command has not come yet */
	size_t len, sent;
};

struct control {
	int listener;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	uint64_t came;
	struct client client[CONTROL_CLIENTS];
};

/* Whether |path| is a socket that nobody listens to. */
static bool is_stale(const struct sockaddr_un *addr)
{
	struct stat st;
	bool stale;
	int fd;

	if (lstat(addr->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	stale = fd >= 0 && connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) &&
		errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return stale;
}

static int listen_at(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, rc;
	mode_t mask;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (is_stale(&addr))
		unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	mask = umask(077);
	rc = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(mask);
	if (rc == 0 && listen(fd, CONTROL_CLIENTS))
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

struct control *control_open(const char *path)
{
	struct control *c = calloc(1, sizeof(*c));

	if (!c || strlen(path) >= sizeof(c->path)) {
		fprintf(stderr, "falcon-wire: control socket %s: %s\n", path,
			c ? "the path is too long" : "out of memory");
		free(c);
		return NULL;
	}
	strcpy(c->path, path);
	c->listener = listen_at(path);
	if (c->listener < 0) {
		fprintf(stderr, "falcon-wire: control socket %s: %s%s\n", path,
			strerror(-c->listener),
			c->listener == -EADDRINUSE ? "; another falcon-wire has it" : "");
		free(c);
		return NULL;
	}
	for (unsigned int i = 0; i < CONTROL_CLIENTS; i++)
		c->client[i].fd = -1;
	return c;
}

static void client_drop(struct client *k)
{
	if (k->fd >= 0)
		close(k->fd);
	free(k->reply);
	*k = (struct client){ .fd = -1 };
}

void control_close(struct control *c)
{
	if (!c)
		return;
	for (unsigned int i = 0; i < CONTROL_CLIENTS; i++)
		client_drop(&c->client[i]);
	close(c->listener);
	unlink(c->path);
	free(c);
}

void control_pollfds(const struct control *c, struct pollfd *fds)
{
	fds[0] = (struct pollfd){ .fd = c->listener, .events = POLLIN };
	for (unsigned int i = 0; i < CONTROL_CLIENTS; i++)
		fds[i + 1] = (struct pollfd){ .fd = c->client[i].fd,
					      .events = c->client[i].reply ? POLLOUT : POLLIN };
}

static void client_accept(struct control *c)
{
	struct client *k = &c->client[0];
	int fd = accept4(c->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	for (unsigned int i = 0; i < CONTROL_CLIENTS && k->fd >= 0; i++)
		if (c->client[i].fd < 0 || c->client[i].since < k->since)
			k = &c->client[i];
	client_drop(k);
	k->fd = fd;
	k->since = ++c->came;
}

static void answer(struct client *k, struct emulator *em)
{
	json_t *reply = command_run(em, k->line);

	k->reply = reply ? json_dumps(reply, JSON_REAL_PRECISION(9)) : NULL;
	json_decref(reply);
	if (!k->reply)
		k->reply = strdup("{\"error\": \"out of memory\"}");
	k->len = k->reply ? strlen(k->reply) : 0;
}

/* The command, up to the end of a line or of all. */
static void client_read(struct client *k, struct emulator *em)
{
	ssize_t n = recv(k->fd, k->line + k->got, CONTROL_LINE - k->got, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		k->got += (size_t)n;
	k->line[k->got] = '\0';
	if (n > 0 && !memchr(k->line, '\n', k->got) && k->got < CONTROL_LINE)
		return;
	if (k->got == 0) {
		client_drop(k);
		return;
	}
	if (k->got == CONTROL_LINE && !memchr(k->line, '\n', k->got))
		strcpy(k->line, "too-long");
	k->line[strcspn(k->line, "\n")] = '\0';
	answer(k, em);
}

static void client_write(struct client *k)
{
	ssize_t n = send(k->fd, k->reply + k->sent, k->len - k->sent, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		k->sent += (size_t)n;
	if (n < 0 || k->sent == k->len)
		client_drop(k);
}

void control_serve(struct control *c, struct emulator *em, const struct pollfd *fds)
{
	for (unsigned int i = 0; i < CONTROL_CLIENTS; i++) {
		struct client *k = &c->client[i];

		if (k->fd < 0 || k->fd != fds[i + 1].fd || !fds[i + 1].revents)
			continue;
		if (k->reply)
			client_write(k);
		else
			client_read(k, em);
	}
	if (fds[0].revents)
		client_accept(c);
}
