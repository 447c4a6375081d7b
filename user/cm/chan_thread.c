// SPDX-License-Identifier: BSD-2-Clause
/* The thread of the channels: it makes them, accepts them, and carries what goes over them. */
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/epoll.h>
#include <sys/socket.h>
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
	l->addr = cmd->ends.local;
	LIST_INSERT_HEAD(&s->listeners, l, list);
	epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, l->fd, &ev);
}

void chan_drop_listener(struct chan_listener *l)
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
			return chan_drop_listener(l);
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
	return r->ends.family == ends->family && falcon_addr_equal(&r->ends.peer, &ends->peer);
}

static bool same_net(const struct relay *r, const struct tls_ends *ends)
{
	return r->ends.family == AF_INET6 && ends->family == AF_INET6 &&
	       memcmp(r->ends.peer.b, ends->peer.b, 8) == 0;
}

/* Handshakes of peers that have connected, and which of them has taken longest. */
struct pending {
	unsigned int n;
	struct relay *oldest;
};

static void count(struct pending *p, struct relay *r)
{
	p->n++;
	if (!p->oldest || r->deadline < p->oldest->deadline)
		p->oldest = r;
}

/*
 * Room for one more handshake with a peer that has connected. One address gets no more than its share. If
 * that of its /64 is used up, or the whole, whoever of these has taken longest makes room: neighbours of a
 * peer that takes all it can get still come in.
 */
static bool make_room(struct chan_service *s, const struct tls_ends *ends)
{
	struct pending all = {}, net = {}, peer = {};
	struct relay *r;

	LIST_FOREACH(r, &s->relays, list) {
		if (!r->accepted || r->phase == RELAY_OPEN || r->phase == RELAY_DEAD)
			continue;
		count(&all, r);
		if (same_net(r, ends))
			count(&net, r);
		if (same_peer(r, ends))
			count(&peer, r);
	}
	if (peer.n >= CHAN_PENDING_PEER_MAX)
		return false;
	if (net.n >= CHAN_PENDING_NET_MAX)
		relay_fail(s, net.oldest, "too many handshakes at once from its network");
	else if (all.n >= CHAN_PENDING_MAX)
		relay_fail(s, all.oldest, "too many handshakes at once");
	return true;
}

static void accept_some(struct chan_service *s, struct chan_listener *l)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		struct tls_ends ends = chan_ends(l->family, &l->addr, NULL);
		union net_addr a;
		socklen_t len = sizeof(a);
		int fd = accept4(l->fd, &a.sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		net_addr_get(&a, &ends.peer);
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
	ret = tls_refresh(&s->tls, s->stale && s->now >= s->stale_at, err, sizeof(err));
	if (ret == 0)
		return;
	if (ret > 0)
		recheck(s);
	if (ret < 0 || s->stale)
		chan_event_post(s, chan_event_new(CHAN_STALE, NULL, ret < 0 ? err : ""));
	s->stale = ret < 0;
	s->stale_at = chan_after_ms(s, CHAN_STALE_MS);
}

static void dispatch(struct chan_service *s, void *what)
{
	switch (*(enum chan_watch *)what) {
	case CHAN_WATCH_COMMANDS: return chan_silence(s->command_fd);
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

void *chan_run(void *arg)
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
