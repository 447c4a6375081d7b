// SPDX-License-Identifier: BSD-2-Clause
/* The control socket: listening, clients, requests and replies. See control.h. */
#include "agent/control/control.h"

#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/control/msg.h"
#include "agent/process/deferred_close.h"
#include "base/log.h"

enum {
	EVENTS_AT_ONCE = 16,
	ACCEPTS_AT_ONCE = 8,
};

/* A client as the server sees it; |pub| is what the handler sees. */
struct client_slot {
	struct control_client pub;
	int fd;
	bool dropped;		/* to be closed at the end of control_process() */
	char *refusal;		/* it is no client, and this is why; NULL: it is one */
	int refusal_errno;
	struct client_slot *next;
};

struct control {
	int listen_fd;
	int epoll_fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	control_handler handler;
	control_admit admit;	/* NULL: everybody */
	void (*closed)(void *arg, struct control_client *cl);
	void *arg;
	bool processing;	/* control_process() runs and may still look at any client */
	unsigned int nclients;
	struct client_slot *clients;
	struct log_limit limit;
	char *buf;		/* CONTROL_MSG_MAX + 1 bytes, for receiving */
};

/* The names of the errors that replies carry. */
static const char *errno_name(int err)
{
	const char *name = strerrorname_np(err < 0 ? -err : err);

	return name ? name : "EIO";
}

int control_error(json_t **reply, int err, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* "s" would fail on text that is not UTF-8, and part of it may be a client's. */
	for (char *p = text; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
	*reply = json_pack("{s:b, s:s, s:s}", "ok", 0, "errno", errno_name(err), "error", text);
	return err;
}

static void close_client(struct control *ctl, struct client_slot *slot)
{
	struct client_slot **p = &ctl->clients;

	while (*p != slot)
		p = &(*p)->next;
	*p = slot->next;
	ctl->nclients--;
	if (ctl->closed && !slot->refusal)
		ctl->closed(ctl->arg, &slot->pub);
	free(slot->refusal);
	epoll_ctl(ctl->epoll_fd, EPOLL_CTL_DEL, slot->fd, NULL);
	/* The client is told now, also if its descriptors keep the close waiting. */
	shutdown(slot->fd, SHUT_RDWR);
	deferred_close(slot->fd, slot->pub.uid);
	free(slot);
}

void control_drop(struct control *ctl, struct control_client *cl)
{
	struct client_slot *slot = (struct client_slot *)cl;

	slot->dropped = true;
	if (!ctl->processing)
		close_client(ctl, slot);
}

void control_each(struct control *ctl, void (*fn)(void *arg, struct control_client *cl), void *arg)
{
	for (struct client_slot *slot = ctl->clients; slot; slot = slot->next)
		if (!slot->refusal)
			fn(arg, &slot->pub);
}

/* Have the handler serve |req|; a reply in any case, NULL only if memory is short. */
static json_t *serve(struct control *ctl, struct client_slot *slot, json_t *req, int *fds, int nfds)
{
	json_t *reply = NULL;
	int ret;

	ret = ctl->handler(ctl->arg, &slot->pub, req, fds, nfds, &reply);
	if (ret < 0 && !reply)
		control_error(&reply, ret, "%s", strerror(-ret));
	if (!reply)
		reply = json_object();
	if (reply && !json_object_get(reply, "ok"))
		json_object_set_new(reply, "ok", json_true());
	return reply;
}

static json_t *answer(struct control *ctl, struct client_slot *slot, size_t len, struct fdpass *fds)
{
	json_error_t jerr;
	json_t *req, *reply = NULL;

	if (slot->refusal) {
		control_error(&reply, slot->refusal_errno, "%s", slot->refusal);
		return reply;
	}
	if (!fds->whole || fds->n > CONTROL_FDS_MAX) {
		control_error(&reply, -EMSGSIZE,
			      "request has more than %d bytes or more than %d descriptors",
			      CONTROL_MSG_MAX, CONTROL_FDS_MAX);
		return reply;
	}
	req = json_loadb(ctl->buf, len, JSON_REJECT_DUPLICATES, &jerr);
	if (!req)
		control_error(&reply, -EPROTO, "request is not JSON: %s at byte %d", jerr.text,
			      jerr.position);
	else if (!json_is_object(req) || !json_is_string(json_object_get(req, "op")))
		control_error(&reply, -EPROTO, "request is not an object with a string \"op\"");
	else
		reply = serve(ctl, slot, req, fds->fd, (int)fds->n);
	json_decref(req);
	return reply;
}

static void close_fds(const struct fdpass *fds, uid_t uid)
{
	for (unsigned int i = 0; i < fds->n; i++) {
		if (fds->fd[i] >= 0)
			deferred_close(fds->fd[i], uid);
	}
}

/* Receive one request and reply to it. 0 if the client stays, negative if it is to be closed. */
static int serve_one(struct control *ctl, struct client_slot *slot)
{
	struct fdpass fds;
	int ret = -ENOMEM;
	json_t *reply;
	ssize_t n;

	/* As at its connection: a user whose descriptors do not close may not send more of them. */
	if (deferred_close_full(slot->pub.uid))
		return -EBUSY;
	n = control_receive(slot->fd, ctl->buf, &fds);
	if (n == -EAGAIN)
		return 0;
	if (n <= 0) {
		/* A message of no bytes looks like the end, but may bring descriptors. */
		close_fds(&fds, slot->pub.uid);
		return -ECONNRESET;
	}
	reply = answer(ctl, slot, (size_t)n, &fds);
	close_fds(&fds, slot->pub.uid);
	if (reply)
		ret = control_send(slot->fd, reply);
	json_decref(reply);
	if (ret)
		log_ratelimited(LOG_LEVEL_WARN, &ctl->limit,
				"control client dropped: reply not taken pid=%d error=\"%s\"",
				(int)slot->pub.pid, strerror(-ret));
	return slot->refusal ? -EACCES : ret;
}

static int refuse(struct control *ctl, int fd, const char *why)
{
	json_t *reply;

	control_error(&reply, -EMFILE, "agent has %s", why);
	if (reply)
		control_send(fd, reply);
	json_decref(reply);
	log_ratelimited(LOG_LEVEL_WARN, &ctl->limit, "control client refused: too many");
	return -EMFILE;
}

/* The groups of the process at |fd|, to be freed; *|n| of them, 0 if they cannot be had. */
static gid_t *groups_of(int fd, size_t *n)
{
	socklen_t len = 0;
	gid_t *groups;

	*n = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 || errno != ERANGE)
		return NULL;
	groups = malloc(len);
	if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0)
		*n = len / sizeof(*groups);
	return groups;
}

/* One more that is told why it is refused; the oldest of too many is not. */
static void limit_refused(struct control *ctl)
{
	struct client_slot *oldest = NULL;
	unsigned int n = 0;

	for (struct client_slot *slot = ctl->clients; slot; slot = slot->next) {
		if (!slot->refusal || slot->dropped)
			continue;
		n++;
		oldest = slot;
	}
	if (n > CONTROL_REFUSED_MAX)
		oldest->dropped = true;
}

/* Ask whether |slot| may be a client. */
static int guard(struct control *ctl, struct client_slot *slot)
{
	char why[512] = "";
	gid_t *groups;
	size_t n;

	if (!ctl->admit)
		return 0;
	groups = groups_of(slot->fd, &n);
	slot->refusal_errno = ctl->admit(ctl->arg, &slot->pub, groups, n, why, sizeof(why));
	free(groups);
	if (!slot->refusal_errno)
		return 0;
	log_ratelimited(LOG_LEVEL_WARN, &ctl->limit, "control client refused: %s pid=%d", why,
			(int)slot->pub.pid);
	slot->refusal = strdup(why);
	return slot->refusal ? 0 : -ENOMEM;
}

/* One more of |uid|'s leaves as many for others as he has then. */
static bool leaves_room(const struct control *ctl, uid_t uid)
{
	int own = 1;

	for (const struct client_slot *slot = ctl->clients; slot; slot = slot->next)
		own += slot->pub.uid == uid;
	return own <= CONTROL_CLIENTS_MAX - 1 - (int)ctl->nclients || uid == 0 || uid == geteuid();
}

static int admit(struct control *ctl, int fd)
{
	struct client_slot *slot;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	struct epoll_event ev = {.events = EPOLLIN};
	int size = CONTROL_SNDBUF;

	if (ctl->nclients == CONTROL_CLIENTS_MAX)
		return refuse(ctl, fd, "as many control clients as it takes");
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	if (!leaves_room(ctl, cred.uid))
		return refuse(ctl, fd, "so many clients of this user that few were left for others");
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	slot = calloc(1, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	slot->fd = fd;
	slot->pub = (struct control_client){.pid = cred.pid, .uid = cred.uid, .gid = cred.gid};
	ev.data.ptr = slot;
	if (epoll_ctl(ctl->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
		free(slot);
		return -errno;
	}
	if (guard(ctl, slot) < 0) {
		free(slot);
		return -ENOMEM;
	}
	slot->next = ctl->clients;
	ctl->clients = slot;
	ctl->nclients++;
	if (slot->refusal)
		limit_refused(ctl);
	return 0;
}

static void accept_clients(struct control *ctl)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = accept4(ctl->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (admit(ctl, fd))
			close(fd);
	}
}

static void close_dropped(struct control *ctl)
{
	struct client_slot *slot = ctl->clients, *next;

	for (; slot; slot = next) {
		next = slot->next;
		if (slot->dropped)
			close_client(ctl, slot);
	}
}

void control_process(struct control *ctl)
{
	struct epoll_event ev[EVENTS_AT_ONCE];
	int n = epoll_wait(ctl->epoll_fd, ev, EVENTS_AT_ONCE, 0);

	ctl->processing = true;
	for (int i = 0; i < n; i++) {
		struct client_slot *slot = ev[i].data.ptr;

		if (!slot)
			accept_clients(ctl);
		else if (!slot->dropped && serve_one(ctl, slot) < 0)
			slot->dropped = true;
	}
	ctl->processing = false;
	close_dropped(ctl);
}

/* Make way for our own socket if nobody listens on the one there. 0 or a negative errno. */
static int take_over(const struct sockaddr_un *sun)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct stat st;
	int ret;

	if (fd < 0)
		return -errno;
	/* connect() refuses what is no socket in the same words. */
	if (lstat(sun->sun_path, &st) == 0 && !S_ISSOCK(st.st_mode)) {
		close(fd);
		return -ENOTSOCK;
	}
	ret = connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) < 0 ? -errno : 0;
	close(fd);
	/* -EAGAIN: its backlog is full, so there is somebody. */
	if (ret == 0 || ret == -EAGAIN)
		return -EADDRINUSE;
	if (ret != -ECONNREFUSED)
		return ret;
	return unlink(sun->sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

/* Bind with mode 0600 from the first moment on. */
static int bind_private(int fd, const struct sockaddr_un *sun)
{
	mode_t old = umask(0177);
	int ret = bind(fd, (const struct sockaddr *)sun, sizeof(*sun)) < 0 ? -errno : 0;

	umask(old);
	return ret;
}

static int give_to_group(const char *path, const char *group)
{
	struct group *gr;

	if (!group || !group[0])
		return 0;
	errno = 0;
	gr = getgrnam(group);
	if (!gr)
		return errno ? -errno : -ESRCH;
	if (chown(path, (uid_t)-1, gr->gr_gid) < 0 || chmod(path, 0660) < 0)
		return -errno;
	return 0;
}

/* The directory is often one that is made anew at each boot, as /run/falcon. */
static void make_directory(const char *path)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return;
	*slash = 0;
	/* If that fails, bind() has the better message. */
	(void)!mkdir(dir, 0755);
}

static int listen_on(struct control *ctl, const char *group)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct epoll_event ev = {.events = EPOLLIN};
	int ret;

	memcpy(sun.sun_path, ctl->path, sizeof(sun.sun_path));
	ctl->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (ctl->listen_fd < 0)
		return -errno;
	make_directory(ctl->path);
	ret = bind_private(ctl->listen_fd, &sun);
	if (ret == -EADDRINUSE) {
		ret = take_over(&sun);
		if (ret == 0)
			ret = bind_private(ctl->listen_fd, &sun);
	}
	if (ret)
		return ret;
	ret = give_to_group(ctl->path, group);
	if (ret == 0 && (listen(ctl->listen_fd, 16) < 0 ||
			 epoll_ctl(ctl->epoll_fd, EPOLL_CTL_ADD, ctl->listen_fd, &ev) < 0))
		ret = -errno;
	if (ret)
		unlink(ctl->path);
	return ret;
}

static void explain(int ret, const char *path, const char *group, char *err, size_t errlen)
{
	if (ret == -EADDRINUSE)
		snprintf(err, errlen, "another agent serves control socket %s", path);
	else if (ret == -ESRCH)
		snprintf(err, errlen, "control socket %s: there is no group %s", path, group);
	else
		snprintf(err, errlen, "control socket %s: %s", path, strerror(-ret));
}

static void free_control(struct control *ctl)
{
	if (ctl->listen_fd >= 0)
		close(ctl->listen_fd);
	if (ctl->epoll_fd >= 0)
		close(ctl->epoll_fd);
	free(ctl->buf);
	free(ctl);
}

int control_open(struct control **out, const char *path, const char *group,
		 control_handler handler, void (*closed)(void *arg, struct control_client *cl),
		 void *arg, char *err, size_t errlen)
{
	struct control *ctl = calloc(1, sizeof(*ctl));
	int ret = -ENOMEM;

	*out = NULL;
	if (ctl) {
		ctl->handler = handler;
		ctl->closed = closed;
		ctl->arg = arg;
		ctl->listen_fd = -1;
		ctl->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		ctl->buf = malloc(CONTROL_MSG_MAX);
		if (strlen(path) >= sizeof(ctl->path))
			ret = -ENAMETOOLONG;
		else if (ctl->epoll_fd < 0)
			ret = -errno;
		else if (ctl->buf) {
			strcpy(ctl->path, path);
			ret = listen_on(ctl, group);
		}
		if (ret == 0) {
			*out = ctl;
			return 0;
		}
		free_control(ctl);
	}
	explain(ret, path, group, err, errlen);
	return ret;
}

void control_guard(struct control *ctl, control_admit admit)
{
	ctl->admit = admit;
}

int control_open_to_all(struct control *ctl)
{
	return chmod(ctl->path, 0666) < 0 ? -errno : 0;
}

void control_close(struct control *ctl)
{
	if (!ctl)
		return;
	while (ctl->clients)
		close_client(ctl, ctl->clients);
	unlink(ctl->path);
	free_control(ctl);
}

int control_fd(const struct control *ctl)
{
	return ctl->epoll_fd;
}
