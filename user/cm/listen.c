// SPDX-License-Identifier: BSD-2-Clause
/*
 * Listening for peers' agents. Whoever connects is a guest until its HELLO has arrived; only then
 * does it take the place of the session that there may be with that address. So a stray connection
 * from a peer's host, a port scan say, disturbs nothing.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cm/priv.h"

enum { ACCEPTS_AT_ONCE = 16 };

static void show_out(struct cm_guest *g)
{
	if (g->session)
		close(g->fd);
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

static void admit(struct cm *cm, struct cm_session *s, int fd)
{
	struct cm_guest *g = find_place(cm);

	*g = (struct cm_guest){
		.kind = CM_WATCH_GUEST,
		.fd = fd,
		.session = s,
		.deadline = cm_after_ms(cm, CM_ALIVE_MS),
	};
	if (cm_watch_fd(cm, EPOLL_CTL_ADD, fd, EPOLLIN, g) < 0)
		show_out(g);
}

static void refuse(struct cm *cm, const struct cm_session *s, const char *why)
{
	char text[INET6_ADDRSTRLEN];

	log_ratelimited(LOG_LEVEL_WARN, &cm->strangers, "handshake refused: %s peer=%s", why,
			cm_addr_text(s->family, s->peer, text));
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
		return cm_session_adopt(cm, s, fd, &m);
	}
	refuse(cm, s, why ? why : "not a HELLO");
	show_out(g);
}

void cm_guests_run(struct cm *cm)
{
	for (int i = 0; i < CM_GUESTS; i++) {
		struct cm_guest *g = &cm->guests[i];

		if (g->session && g->deadline <= cm->now) {
			refuse(cm, g->session, "no HELLO");
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

void cm_listener_event(struct cm *cm, struct cm_listener *l)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		char text[INET6_ADDRSTRLEN];
		struct cm_session *s;
		uint8_t peer[16];
		union cm_addr a;
		socklen_t len = sizeof(a);
		int fd = accept4(l->fd, &a.sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		cm_addr_bytes(&a, peer);
		s = cm_session_find(cm, l->family, l->addr, peer);
		if (s && !s->active) {
			admit(cm, s, fd);
			continue;
		}
		close(fd);
		log_ratelimited(LOG_LEVEL_WARN, &cm->strangers,
				"handshake refused: no connection is configured peer=%s",
				cm_addr_text(l->family, peer, text));
	}
}

static int listen_on(struct cm *cm, struct cm_listener *l)
{
	union cm_addr a;
	socklen_t len = cm_addr_fill(&a, l->family, l->addr, cm->opt.port);

	l->fd = cm_socket(l->family);
	if (l->fd < 0)
		return -errno;
	cm_set_option(l->fd, SOL_SOCKET, SO_REUSEADDR, 1);
	/* The address may come later than the agent. */
	if (l->family == AF_INET6)
		cm_set_option(l->fd, IPPROTO_IPV6, IPV6_FREEBIND, 1);
	else
		cm_set_option(l->fd, IPPROTO_IP, IP_FREEBIND, 1);
	if (bind(l->fd, &a.sa, len) < 0 || listen(l->fd, 64) < 0 ||
	    cm_watch_fd(cm, EPOLL_CTL_ADD, l->fd, EPOLLIN, l) < 0)
		return -errno;
	return 0;
}

static void listener_free(struct cm_listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

struct cm_listener *cm_listener_get(struct cm *cm, int family, const uint8_t *addr, int *err)
{
	struct cm_listener *l = cm->listeners;

	while (l && (l->family != family || memcmp(l->addr, addr, 16) != 0))
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
	*l = (struct cm_listener){.kind = CM_WATCH_LISTENER, .family = family, .users = 1};
	memcpy(l->addr, addr, 16);
	*err = listen_on(cm, l);
	if (*err) {
		listener_free(l);
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
	listener_free(l);
}
