// SPDX-License-Identifier: BSD-2-Clause
/* The connection manager's interface: connections and the sessions that serve them. See cm.h. */
#include "cm/cm.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm/priv.h"

enum {
	EVENTS_AT_ONCE = 32,
	LOOK_MS = 1000,			/* between looks at sessions, whatever their deadlines */
	GOODBYE_STEPS = 20,		/* of ... */
	GOODBYE_STEP_MS = 50,		/* that peers have to take our last words */
};

/*
 * Time in which this agent had no CPU, or was stopped, is no silence of a peer's: what the peer has said
 * meanwhile may not even have been read from the network.
 */
static void forgive_lateness(struct cm *cm)
{
	if (cm->now <= cm->look_at)
		return;
	for (struct cm_session *s = cm->sessions; s; s = s->next)
		cm_session_forgive(s, cm->now - cm->look_at);
}

void cm_process(struct cm *cm, uint64_t now_ns)
{
	struct epoll_event ev[EVENTS_AT_ONCE];
	int n;

	cm->now = now_ns;
	forgive_lateness(cm);
	n = epoll_wait(cm->epoll_fd, ev, EVENTS_AT_ONCE, 0);
	for (int i = 0; i < n; i++) {
		void *what = ev[i].data.ptr;

		switch (*(enum cm_watch *)what) {
		case CM_WATCH_CHANNELS: cm_take_channels(cm); break;
		case CM_WATCH_SESSION: cm_session_event(cm, what); break;
		case CM_WATCH_GUEST: cm_guest_event(cm, what); break;
		}
	}
	cm_guests_run(cm);
	cm_reopen(cm);
	for (struct cm_session *s = cm->sessions, *next; s; s = next) {
		next = s->next;
		cm_session_run(cm, s);
		if (cm_session_unused(cm, s))
			cm_session_put(cm, s);
	}
	cm->look_at = cm->sessions ? cm_after_ms(cm, LOOK_MS) : UINT64_MAX;
}

uint64_t cm_next_deadline(const struct cm *cm)
{
	uint64_t next = cm_guests_deadline(cm);

	if (cm->reopen_at < next)
		next = cm->reopen_at;
	if (cm->look_at < next)
		next = cm->look_at;
	for (const struct cm_session *s = cm->sessions; s; s = s->next) {
		if (s->deadline < next)
			next = s->deadline;
		if (s->grace_end < next)
			next = s->grace_end;
	}
	return next;
}

int cm_watch_fd(struct cm *cm, int op, int fd, uint32_t events, void *what)
{
	struct epoll_event ev = {.events = events, .data.ptr = what};

	return epoll_ctl(cm->epoll_fd, op, fd, &ev);
}

uint64_t cm_after_ms(const struct cm *cm, uint64_t ms)
{
	return cm->now + ms * 1000000;
}

static int start(struct cm *cm, char *err, size_t errlen)
{
	int ret = 0;

	cm->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (cm->epoll_fd >= 0 && cm->opt.chan)
		ret = chan_service_open(&cm->chan, cm->opt.chan, err, errlen);
	if (ret)
		return ret;
	cm->opt.chan = NULL;
	if (cm->epoll_fd >= 0 &&
	    (!cm->chan || cm_watch_fd(cm, EPOLL_CTL_ADD, chan_event_fd(cm->chan), EPOLLIN,
				      &cm->kind) == 0))
		return 0;
	ret = -errno;
	snprintf(err, errlen, "cannot start the connection manager: %s", strerror(-ret));
	return ret;
}

int cm_open(struct cm **out, const struct cm_ops *ops, void *arg, const struct cm_options *opt,
	    char *err, size_t errlen)
{
	struct cm *cm = calloc(1, sizeof(*cm));
	int ret;

	*out = NULL;
	if (!cm) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	cm->kind = CM_WATCH_CHANNELS;
	cm->ops = ops;
	cm->arg = arg;
	cm->opt = *opt;
	cm->reopen_at = cm->look_at = UINT64_MAX;
	while (!cm->boot)
		cm_draw(&cm->boot, sizeof(cm->boot));
	ret = start(cm, err, errlen);
	if (ret) {
		cm_close(cm);
		return ret;
	}
	*out = cm;
	return 0;
}

/* Everybody is told; a peer that does not listen is waited for a while, all together. */
static void say_goodbye(struct cm *cm)
{
	int left = GOODBYE_STEPS;

	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++) {
		if (cm->conns[cid])
			cm_conn_close(cm->conns[cid], CM_CODE_REMOVED, "agent is stopping");
	}
	for (struct cm_session *s = cm->sessions; s; s = s->next) {
		struct pollfd p = {.fd = s->fd, .events = POLLOUT};

		cm_session_flush(cm, s);
		while (s->phase == CM_OPEN && s->out_len && !s->failure[0] && left-- > 0) {
			poll(&p, 1, GOODBYE_STEP_MS);
			cm_session_flush(cm, s);
		}
	}
}

void cm_close(struct cm *cm)
{
	if (!cm)
		return;
	say_goodbye(cm);
	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++)
		cm_remove(cm, cid, "agent is stopping");
	while (cm->sessions)
		cm_session_put(cm, cm->sessions);
	while (cm->listeners) {
		cm->listeners->users = 1;
		cm_listener_put(cm, cm->listeners);
	}
	chan_service_close(cm->chan);
	if (cm->epoll_fd >= 0)
		close(cm->epoll_fd);
	free(cm);
}

int cm_fd(const struct cm *cm)
{
	return cm->epoll_fd;
}

int cm_check_local(const struct cm *cm, const struct cm_local *l, char *err, size_t errlen)
{
	if ((l->family != AF_INET && l->family != AF_INET6) || !l->local_cid ||
	    l->local_cid >= FALCON_MAX_CONNS || l->remote_cid > FALCON_CID_MASK ||
	    !l->params.flows || !l->params.data_window || !l->params.req_window ||
	    falcon_addr_equal(&l->local_addr, &l->peer_addr)) {
		snprintf(err, errlen, "connection's CIDs, addresses or windows are out of range");
		return -EINVAL;
	}
	if (cm->conns[l->local_cid]) {
		snprintf(err, errlen, "CID %u is taken", l->local_cid);
		return -EEXIST;
	}
	return 0;
}

int cm_need_channels(const struct cm *cm, char *err, size_t errlen)
{
	if (chan_ready(cm->chan))
		return 0;
	snprintf(err, errlen, "sessions with other agents need tls_cert, tls_key and tls_ca, or "
		 "psk_file, in [agent] (falconctl ca makes certificates); or, in laboratories, "
		 "control = plain on both ends");
	return -ENOKEY;
}

int cm_listen(struct cm *cm, int family, const struct falcon_addr *addr, char *err, size_t errlen)
{
	struct cm_listener *l;
	int ret = cm_need_channels(cm, err, errlen);

	if (ret)
		return ret;
	l = cm_listener_get(cm, family, addr, &ret);
	if (!l) {
		snprintf(err, errlen, "cannot listen for agents: %s", strerror(-ret));
		return ret;
	}
	l->open = true;
	return 0;
}

/* Whether sessions are what the connection needs. */
static int check_channels(const struct cm *cm, const struct cm_local *l, char *err, size_t errlen)
{
	if (!cm->chan)
		return 0;
	if (cm_need_channels(cm, err, errlen))
		return -ENOKEY;
	if (chan_plain(cm->chan) && l->security != CM_SECURITY_CLEAR) {
		snprintf(err, errlen, "keys must not travel in the clear: control = plain goes "
			 "only with security = clear");
		return -EINVAL;
	}
	if (chan_plain(cm->chan) && l->peer[0]) {
		snprintf(err, errlen, "peer = %s cannot be proved with control = plain", l->peer);
		return -EINVAL;
	}
	return 0;
}

int cm_add(struct cm *cm, const struct cm_local *local, char *err, size_t errlen)
{
	struct cm_session *s;
	struct cm_conn *c;
	int ret = cm_check_local(cm, local, err, errlen);

	if (ret == 0)
		ret = check_channels(cm, local, err, errlen);
	if (ret)
		return ret;
	s = cm_session_get(cm, local, &ret);
	if (!s) {
		snprintf(err, errlen, "cannot listen for the peer's agent on the local address: %s",
			 strerror(-ret));
		return ret;
	}
	c = cm_conn_new(local, s);
	if (!c) {
		if (LIST_EMPTY(&s->conns))
			cm_session_put(cm, s);
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	cm->conns[local->local_cid] = c;
	cm_session_wake(cm, s);
	cm_conn_restart(c);
	return 0;
}

static struct cm_conn *find(const struct cm *cm, uint32_t cid)
{
	return cid < FALCON_MAX_CONNS ? cm->conns[cid] : NULL;
}

void cm_remove(struct cm *cm, uint32_t cid, const char *reason)
{
	struct cm_conn *c = find(cm, cid);
	struct cm_session *s;

	if (!c)
		return;
	s = c->session;
	cm_conn_close(c, CM_CODE_REMOVED, reason);
	cm->conns[cid] = NULL;
	cm_conn_free(c);
	if (LIST_EMPTY(&s->conns) && !s->noted)
		return cm_session_put(cm, s);
	cm_session_wake(cm, s);
	cm_session_conn_gone(cm, s);
}

void cm_reset(struct cm *cm, uint32_t cid, const char *reason)
{
	struct cm_conn *c = find(cm, cid);

	if (!c)
		return;
	cm_conn_close(c, CM_CODE_RESET, reason);
	cm_conn_restart(c);
	cm_session_wake(cm, c->session);
}

int cm_rekey(struct cm *cm, uint32_t cid)
{
	struct cm_conn *c = find(cm, cid);

	if (!c || c->state != CM_READY)
		return -ENOTCONN;
	if (c->rekey || c->rekey_due)
		return -EALREADY;
	c->rekey_due = true;
	cm_conn_due(c);
	cm_session_wake(cm, c->session);
	return 0;
}

void cm_tell_path(struct cm *cm, uint32_t cid, const struct cm_path *path)
{
	struct cm_conn *c = find(cm, cid);

	if (!c || c->state != CM_READY)
		return;
	c->path = *path;
	c->path_due = true;
	cm_conn_due(c);
	cm_session_wake(cm, c->session);
}

const char *cm_stale(const struct cm *cm)
{
	return cm->stale[0] ? cm->stale : NULL;
}

void cm_set_mtu(struct cm *cm, uint32_t cid, uint32_t mtu)
{
	if (cid < FALCON_MAX_CONNS && cm->conns[cid])
		cm->conns[cid]->cfg.params.mtu = mtu;
}

enum cm_state cm_conn_state(const struct cm *cm, uint32_t cid)
{
	return cid < FALCON_MAX_CONNS && cm->conns[cid] ? cm->conns[cid]->state : CM_NO_SESSION;
}
