// SPDX-License-Identifier: BSD-2-Clause
/*
 * The service: its thread, and the two queues between that and the owner.
 *
 * The owner puts commands into one queue and rings command_fd; the thread puts events into the
 * other and rings event_fd. Everything else belongs to the thread. Events about failures of
 * strangers are dropped when the owner lags, so that nobody can fill its memory.
 */
#include "cm/chan.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "cm/chan_priv.h"
#include "cm/net.h"

enum {
	EVENTS_AT_ONCE = 32,
	ACCEPTS_AT_ONCE = 16,
	REFRESH_MS = 1000,		/* between looks at the files */
};

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

uint64_t chan_after_ms(const struct chan_service *s, uint64_t ms)
{
	return s->now + ms * 1000000ULL;
}

static void ring(int fd)
{
	static const uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	/* Fails only when it has rung very often already. */
	(void)n;
}

static void silence(int fd)
{
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));

	(void)n;
}

struct chan_event *chan_event_new(enum chan_event_type type, const struct relay *r,
				  const char *reason)
{
	struct chan_event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->type = type;
	e->accepted = true;
	e->fd = -1;
	snprintf(e->reason, sizeof(e->reason), "%s", reason);
	if (!r)
		return e;
	e->id = r->id;
	e->accepted = r->accepted;
	e->family = r->ends.family;
	memcpy(e->local, r->ends.local, sizeof(e->local));
	memcpy(e->peer, r->ends.peer, sizeof(e->peer));
	return e;
}

void chan_event_post(struct chan_service *s, struct chan_event *e)
{
	bool kept;

	if (!e)
		return;
	pthread_mutex_lock(&s->lock);
	kept = e->type != CHAN_FAILED || !e->accepted || s->nevents < CHAN_EVENTS_MAX;
	if (kept) {
		*s->events_tail = e;
		s->events_tail = &e->next;
		s->nevents++;
	}
	pthread_mutex_unlock(&s->lock);
	if (!kept)
		free(e);
	ring(s->event_fd);
}

struct chan_event *chan_next_event(struct chan_service *s)
{
	struct chan_event *e;

	pthread_mutex_lock(&s->lock);
	e = s->events;
	if (e) {
		s->events = e->next;
		s->nevents--;
		if (!s->events)
			s->events_tail = &s->events;
	} else {
		silence(s->event_fd);
	}
	pthread_mutex_unlock(&s->lock);
	return e;
}

static void submit(struct chan_service *s, const struct chan_command *cmd)
{
	struct chan_command *copy = malloc(sizeof(*copy));

	if (!copy) {
		if (cmd->what == CMD_LISTEN)
			close(cmd->fd);
		return;
	}
	*copy = *cmd;
	pthread_mutex_lock(&s->lock);
	STAILQ_INSERT_TAIL(&s->commands, copy, list);
	pthread_mutex_unlock(&s->lock);
	ring(s->command_fd);
}

static struct tls_ends ends_of(int family, const uint8_t *local, const uint8_t *peer)
{
	struct tls_ends ends = {.family = family};

	memcpy(ends.local, local, 16);
	if (peer)
		memcpy(ends.peer, peer, 16);
	return ends;
}

uint64_t chan_connect(struct chan_service *s, int family, const uint8_t *local, const uint8_t *peer)
{
	struct chan_command cmd = {.what = CMD_CONNECT, .ends = ends_of(family, local, peer)};

	cmd.id = s->next_id += 2;
	submit(s, &cmd);
	return cmd.id;
}

void chan_cancel(struct chan_service *s, uint64_t id)
{
	submit(s, &(struct chan_command){.what = CMD_CANCEL, .id = id});
}

int chan_listen(struct chan_service *s, int family, const uint8_t *addr)
{
	struct chan_command cmd = {.what = CMD_LISTEN, .ends = ends_of(family, addr, NULL)};

	cmd.fd = net_listen(family, addr, s->port);
	if (cmd.fd >= 0)
		submit(s, &cmd);
	return cmd.fd;
}

/* The thread closes it later; the address is to be free at once. */
void chan_unlisten(struct chan_service *s, int listener)
{
	shutdown(listener, SHUT_RDWR);
	submit(s, &(struct chan_command){.what = CMD_UNLISTEN, .fd = listener});
}

bool chan_ready(const struct chan_service *s)
{
	return s->ready;
}

bool chan_plain(const struct chan_service *s)
{
	return s->plain;
}

int chan_event_fd(const struct chan_service *s)
{
	return s->event_fd;
}

/* The thread from here on. */

static void listen_on(struct chan_service *s, const struct chan_command *cmd)
{
	struct chan_listener *l = calloc(1, sizeof(*l));
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = l};

	if (!l) {
		close(cmd->fd);
		return;
	}
	l->kind = CHAN_WATCH_LISTENER;
	l->fd = cmd->fd;
	l->family = cmd->ends.family;
	memcpy(l->addr, cmd->ends.local, sizeof(l->addr));
	LIST_INSERT_HEAD(&s->listeners, l, list);
	epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, l->fd, &ev);
}

static void drop_listener(struct chan_listener *l)
{
	LIST_REMOVE(l, list);
	close(l->fd);
	free(l);
}

static void unlisten(struct chan_service *s, int fd)
{
	struct chan_listener *l;

	LIST_FOREACH(l, &s->listeners, list) {
		if (l->fd == fd)
			return drop_listener(l);
	}
}

static void cancel(struct chan_service *s, uint64_t id)
{
	struct relay *r;

	LIST_FOREACH(r, &s->relays, list) {
		if (r->id == id)
			relay_cancel(r);
	}
}

static void stop(struct chan_service *s)
{
	struct relay *r;

	s->stopping = true;
	s->stop_at = chan_after_ms(s, RELAY_LINGER_MS);
	LIST_FOREACH(r, &s->relays, list) {
		relay_cancel(r);
		if (r->phase == RELAY_OPEN)
			relay_run(s, r);
	}
}

static void obey(struct chan_service *s, const struct chan_command *cmd)
{
	switch (cmd->what) {
	case CMD_CONNECT: return relay_connect(s, cmd->id, &cmd->ends);
	case CMD_CANCEL: return cancel(s, cmd->id);
	case CMD_LISTEN: return listen_on(s, cmd);
	case CMD_UNLISTEN: return unlisten(s, cmd->fd);
	case CMD_STOP: return stop(s);
	}
}

static void take_commands(struct chan_service *s)
{
	struct chan_command *cmd;

	do {
		pthread_mutex_lock(&s->lock);
		cmd = STAILQ_FIRST(&s->commands);
		if (cmd)
			STAILQ_REMOVE_HEAD(&s->commands, list);
		pthread_mutex_unlock(&s->lock);
		if (cmd)
			obey(s, cmd);
		free(cmd);
	} while (cmd);
}

static bool same_peer(const struct relay *r, const struct tls_ends *ends)
{
	return r->ends.family == ends->family && memcmp(r->ends.peer, ends->peer, 16) == 0;
}

/*
 * Room for one more handshake with a peer that has connected. One address gets no more than its
 * share; if the whole is used up, whoever has taken longest makes room.
 */
static bool make_room(struct chan_service *s, const struct tls_ends *ends)
{
	struct relay *r, *oldest = NULL;
	unsigned int all = 0, peers = 0;

	LIST_FOREACH(r, &s->relays, list) {
		if (!r->accepted || r->phase == RELAY_OPEN || r->phase == RELAY_DEAD)
			continue;
		all++;
		peers += same_peer(r, ends);
		if (!oldest || r->deadline < oldest->deadline)
			oldest = r;
	}
	if (peers >= CHAN_PENDING_PEER_MAX)
		return false;
	if (all >= CHAN_PENDING_MAX)
		relay_fail(s, oldest, "too many handshakes at once");
	return true;
}

static void accept_some(struct chan_service *s, struct chan_listener *l)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		struct tls_ends ends = ends_of(l->family, l->addr, NULL);
		union net_addr a;
		socklen_t len = sizeof(a);
		int fd = accept4(l->fd, &a.sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		net_addr_bytes(&a, ends.peer);
		if (make_room(s, &ends))
			relay_accept(s, s->next_accepted_id += 2, fd, &ends);
		else
			close(fd);
	}
}

/* Files have changed: what is revoked now ends now. */
static void recheck(struct chan_service *s)
{
	char reason[CHAN_REASON_MAX];
	struct relay *r;

	LIST_FOREACH(r, &s->relays, list) {
		if (r->phase == RELAY_OPEN && !tls_still_valid(&s->tls, r->ssl, reason))
			relay_fail(s, r, reason);
	}
}

static void refresh(struct chan_service *s)
{
	char err[CHAN_REASON_MAX];
	int ret;

	if (s->plain || s->now < s->refresh_at)
		return;
	s->refresh_at = chan_after_ms(s, REFRESH_MS);
	ret = tls_refresh(&s->tls, err, sizeof(err));
	if (ret > 0)
		recheck(s);
	if (ret < 0)
		chan_event_post(s, chan_event_new(CHAN_FAILED, NULL, err));
}

static void dispatch(struct chan_service *s, void *what)
{
	switch (*(enum chan_watch *)what) {
	case CHAN_WATCH_COMMANDS: return silence(s->command_fd);
	case CHAN_WATCH_LISTENER: return accept_some(s, what);
	case CHAN_WATCH_NET:
	case CHAN_WATCH_OWNER: return relay_run(s, ((struct relay_side *)what)->relay);
	}
}

/* Deadlines, and the dead. Returns when the next deadline is, ns. */
static uint64_t look_after(struct chan_service *s)
{
	uint64_t next = s->stopping ? s->stop_at : s->plain ? UINT64_MAX : s->refresh_at;
	struct relay *r, *following;

	for (r = LIST_FIRST(&s->relays); r; r = following) {
		following = LIST_NEXT(r, list);
		if (r->phase != RELAY_DEAD && r->deadline <= s->now)
			relay_run(s, r);
		if (r->phase == RELAY_DEAD)
			relay_free(s, r);
		else if (r->deadline < next)
			next = r->deadline;
	}
	return next;
}

static int wait_ms(const struct chan_service *s, uint64_t next)
{
	uint64_t ms;

	if (next == UINT64_MAX)
		return -1;
	ms = next > s->now ? (next - s->now) / 1000000 + 1 : 0;
	return ms < 60000 ? (int)ms : 60000;
}

static void *run(void *arg)
{
	struct chan_service *s = arg;
	struct epoll_event ev[EVENTS_AT_ONCE];
	cap_t none = cap_init();
	uint64_t next;

	/* Whoever breaks into the thread that talks to strangers gets none of the agent's powers. */
	cap_set_proc(none);
	cap_free(none);
	s->now = clock_ns();
	do {
		int n;

		next = look_after(s);
		n = epoll_wait(s->epoll_fd, ev, EVENTS_AT_ONCE, wait_ms(s, next));
		s->now = clock_ns();
		/* What events point to stays until they have been looked at. */
		for (int i = 0; i < n; i++)
			dispatch(s, ev[i].data.ptr);
		take_commands(s);
		refresh(s);
		look_after(s);
	} while (!s->stopping || (!LIST_EMPTY(&s->relays) && s->now < s->stop_at));
	return NULL;
}

static void release(struct chan_service *s)
{
	struct chan_command *cmd;
	struct chan_event *e;

	while ((cmd = STAILQ_FIRST(&s->commands))) {
		STAILQ_REMOVE_HEAD(&s->commands, list);
		free(cmd);
	}
	while (!LIST_EMPTY(&s->relays))
		relay_free(s, LIST_FIRST(&s->relays));
	while (!LIST_EMPTY(&s->listeners))
		drop_listener(LIST_FIRST(&s->listeners));
	while ((e = s->events)) {
		s->events = e->next;
		if (e->fd >= 0)
			close(e->fd);
		free(e);
	}
	for (int i = 0; i < 3; i++) {
		int fd = (int[]){s->epoll_fd, s->command_fd, s->event_fd}[i];

		if (fd >= 0)
			close(fd);
	}
	tls_close(&s->tls);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Signals are the owner's business. */
static int start_thread(struct chan_service *s)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&s->thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret == 0)
		pthread_setname_np(s->thread, "falcon-channels");
	return -ret;
}

static int open_fds(struct chan_service *s)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &s->kind};

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->command_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->epoll_fd < 0 || s->command_fd < 0 || s->event_fd < 0 ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->command_fd, &ev) < 0)
		return -errno;
	return 0;
}

static struct chan_service *service_new(const struct chan_config *cfg)
{
	struct chan_service *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->plain = cfg->plain;
	s->port = cfg->port;
	s->epoll_fd = s->command_fd = s->event_fd = -1;
	s->kind = CHAN_WATCH_COMMANDS;
	s->next_accepted_id = 1;
	s->events_tail = &s->events;
	STAILQ_INIT(&s->commands);
	LIST_INIT(&s->relays);
	LIST_INIT(&s->listeners);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

int chan_service_open(struct chan_service **out, const struct chan_config *cfg, char *err,
		      size_t errlen)
{
	struct chan_service *s = service_new(cfg);
	int ret = 0;

	*out = NULL;
	if (!s) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	if (!s->plain)
		ret = tls_open(&s->tls, cfg, err, errlen);
	if (ret == 0) {
		s->ready = s->plain || s->tls.ctx;
		ret = open_fds(s);
		if (ret == 0)
			ret = start_thread(s);
		if (ret)
			snprintf(err, errlen, "cannot start the thread of the control sessions: %s",
				 strerror(-ret));
	}
	if (ret) {
		release(s);
		return ret;
	}
	*out = s;
	return 0;
}

void chan_service_close(struct chan_service *s)
{
	if (!s)
		return;
	submit(s, &(struct chan_command){.what = CMD_STOP});
	pthread_join(s->thread, NULL);
	release(s);
}
