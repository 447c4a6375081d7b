// SPDX-License-Identifier: BSD-2-Clause
/*
 * Channels come: our own, and those of peers that have connected.
 *
 * Whoever connects is a guest until its HELLO has arrived; only then does it take the place of the
 * session that there may be with that address. So a stray connection from a peer's host, a port
 * scan say, disturbs nothing.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cm/priv.h"

static void show_out(struct cm_guest *g)
{
	if (g->session)
		cm_close_channel(g->fd);
	g->session = NULL;
}

/* A free place; the guest who has waited longest makes room if there is none. */
static struct cm_guest *find_place(struct cm *cm)
{
	struct cm_guest *oldest = &cm->guests[0];

	for (int i = 0; i < CM_GUESTS; i++) {
		struct cm_guest *g = &cm->guests[i];

		if (!g->session)
			return g;
		if (g->deadline < oldest->deadline)
			oldest = g;
	}
	show_out(oldest);
	return oldest;
}

static void refuse(struct cm *cm, int family, const struct falcon_addr *peer, const char *why)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (family)
		net_addr_text(family, peer, text);
	log_ratelimited(LOG_LEVEL_WARN, &cm->strangers, "session refused: %s peer=%s", why, text);
}

static void admit(struct cm *cm, struct cm_session *s, const struct chan_event *e)
{
	struct cm_guest *g = find_place(cm);

	*g = (struct cm_guest){
		.kind = CM_WATCH_GUEST,
		.fd = e->fd,
		.chan_id = e->id,
		.session = s,
		.deadline = cm_after_ms(cm, CM_ALIVE_MS),
		.who = e->who,
	};
	if (cm_watch_fd(cm, EPOLL_CTL_ADD, e->fd, EPOLLIN, g) < 0)
		show_out(g);
}

/* Read no more than the HELLO: what follows is the session's. */
void cm_guest_event(struct cm *cm, struct cm_guest *g)
{
	struct cm_session *s = g->session;
	const char *why = NULL;
	struct cm_msg m;
	ssize_t n;
	int fd = g->fd;

	/* An event may be left over from a guest who has left in this round. */
	if (!s)
		return;
	n = recv(fd, g->in + g->in_len, sizeof(g->in) - g->in_len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		return show_out(g);
	g->in_len += (size_t)n;
	n = cm_msg_unpack(g->in, g->in_len, &m, &why);
	if (n == 0 && g->in_len < sizeof(g->in))
		return;
	if (n == (ssize_t)sizeof(g->in) && m.type == CM_MSG_HELLO) {
		g->session = NULL;
		epoll_ctl(cm->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		return cm_session_adopt(cm, s, fd, g->chan_id, &g->who, &m);
	}
	refuse(cm, s->family, &s->peer, why ? why : "not a HELLO");
	show_out(g);
}

void cm_guests_run(struct cm *cm)
{
	for (int i = 0; i < CM_GUESTS; i++) {
		struct cm_guest *g = &cm->guests[i];

		if (g->session && g->deadline <= cm->now) {
			refuse(cm, g->session->family, &g->session->peer, "no HELLO");
			show_out(g);
		}
	}
}

void cm_guests_drop(struct cm *cm, const struct cm_session *s)
{
	for (int i = 0; i < CM_GUESTS; i++) {
		if (cm->guests[i].session == s)
			show_out(&cm->guests[i]);
	}
}

uint64_t cm_guests_deadline(const struct cm *cm)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < CM_GUESTS; i++) {
		if (cm->guests[i].session && cm->guests[i].deadline < next)
			next = cm->guests[i].deadline;
	}
	return next;
}

static struct cm_session *of_channel(struct cm *cm, uint64_t id)
{
	struct cm_session *s = cm->sessions;

	while (s && s->chan_id != id)
		s = s->next;
	return s;
}

bool cm_guests_have(const struct cm *cm, const struct cm_session *s)
{
	for (int i = 0; i < CM_GUESTS; i++) {
		if (cm->guests[i].session == s)
			return true;
	}
	return false;
}

/* A session for a peer that none of our connections names, if we listen for such. */
static struct cm_session *session_of_stranger(struct cm *cm, const struct chan_event *e)
{
	const struct cm_listener *l = cm->listeners;
	unsigned int unused = 0;
	int err;

	while (l && (l->family != e->family || !falcon_addr_equal(&l->addr, &e->local)))
		l = l->next;
	for (const struct cm_session *s = cm->sessions; s; s = s->next)
		unused += LIST_EMPTY(&s->conns);
	if (!l || !l->open || unused >= CM_UNUSED_SESSIONS)
		return NULL;
	return cm_session_new(cm, e->family, &e->local, &e->peer, &err);
}

static void channel_up(struct cm *cm, const struct chan_event *e)
{
	struct cm_session *s = e->accepted ? cm_session_find(cm, e->family, &e->local, &e->peer)
					   : of_channel(cm, e->id);
	const char *why = "no connection is configured";

	if (e->accepted && !s)
		s = session_of_stranger(cm, e);
	if (!e->accepted && s && s->phase == CM_CONNECTING)
		return cm_session_connected(cm, s, e->fd, &e->who);
	if (e->accepted && s && cm_session_trusts(cm, s, &e->who, &why))
		return admit(cm, s, e);
	close(e->fd);
	if (e->accepted)
		refuse(cm, e->family, &e->peer, why);
}

static void channel_failed(struct cm *cm, const struct chan_event *e)
{
	struct cm_session *s = e->accepted ? NULL : of_channel(cm, e->id);

	if (e->accepted)
		refuse(cm, e->family, &e->peer, e->reason);
	else if (s && s->phase == CM_CONNECTING)
		cm_session_fail(s, "%s", e->reason);
}

/* What came before is still to be read. */
static void channel_closed(struct cm *cm, const struct chan_event *e)
{
	struct cm_session *s = of_channel(cm, e->id);

	if (s)
		snprintf(s->ending, sizeof(s->ending), "%s", e->reason);
}

/* Whom the agent trusts is not what the operator has written: he is to hear of it until it is. */
static void files_stale(struct cm *cm, const struct chan_event *e)
{
	snprintf(cm->stale, sizeof(cm->stale), "%s", e->reason);
	if (e->reason[0])
		log_err("files have changed and cannot be loaded, the old contents stay in force: %s",
			e->reason);
	else
		log_info("files that could not be loaded have been loaded");
}

void cm_take_channels(struct cm *cm)
{
	struct chan_event *e;

	while (cm->chan && (e = chan_next_event(cm->chan))) {
		switch (e->type) {
		case CHAN_UP: channel_up(cm, e); break;
		case CHAN_FAILED: channel_failed(cm, e); break;
		case CHAN_CLOSED: channel_closed(cm, e); break;
		case CHAN_STALE: files_stale(cm, e); break;
		}
		free(e);
	}
}

struct cm_listener *cm_listener_get(struct cm *cm, int family, const struct falcon_addr *addr, int *err)
{
	struct cm_listener *l = cm->listeners;

	while (l && (l->family != family || !falcon_addr_equal(&l->addr, addr)))
		l = l->next;
	if (l) {
		l->users++;
		return l;
	}
	l = calloc(1, sizeof(*l));
	if (!l) {
		*err = -ENOMEM;
		return NULL;
	}
	*l = (struct cm_listener){.family = family, .users = 1};
	l->addr = *addr;
	l->handle = chan_listen(cm->chan, family, addr);
	if (l->handle < 0) {
		*err = l->handle;
		free(l);
		return NULL;
	}
	l->next = cm->listeners;
	cm->listeners = l;
	return l;
}

void cm_listener_put(struct cm *cm, struct cm_listener *l)
{
	struct cm_listener **p = &cm->listeners;

	if (--l->users > 0)
		return;
	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	chan_unlisten(cm->chan, l->handle);
	free(l);
}
