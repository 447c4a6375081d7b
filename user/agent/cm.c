// SPDX-License-Identifier: BSD-2-Clause
/*
 * The handshake of static connections: what OPEN, READY, CLOSE and REJECT do to a connection.
 *
 * An OPEN offers an incarnation. An end pairs its own outstanding offer with the peer's latest; it
 * is up when a READY names exactly that pair. Whoever abandons an offer says so, by CLOSE of his
 * own or by REJECT of the other's, and whoever hears it abandons his own too: so an offer that
 * still stands has never carried data, and may be paired again with a newer offer of the peer.
 * PROTOCOL.md goes through the races.
 */
#include "agent/cm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/cm_priv.h"

enum { EVENTS_AT_ONCE = 32 };

static bool paired(const struct cm_conn *c)
{
	return c->state == CM_RECEIVING || c->state == CM_READY;
}

/* Leave the pair for |state| and tell the owner, unless that would be no news. */
static void lose(struct cm *cm, struct cm_conn *c, enum cm_state state, const char *reason)
{
	bool news = paired(c) || strcmp(c->reason, reason) != 0;

	c->state = state;
	snprintf(c->reason, sizeof(c->reason), "%s", reason);
	if (news)
		cm->ops->lost(cm->arg, c->cfg.local_cid, c->reason);
}

static struct cm_msg message(const struct cm_conn *c, enum cm_msg_type type, uint64_t incarnation)
{
	return (struct cm_msg){
		.type = type,
		.src_cid = c->cfg.local_cid,
		.dst_cid = c->cfg.remote_cid,
		.incarnation = incarnation,
	};
}

static void draw(void *p, size_t len)
{
	/* So few bytes come whole, once the kernel's generator is seeded, which this waits for. */
	while (getrandom(p, len, 0) != (ssize_t)len)
		;
}

/* Offer a new incarnation. */
static void send_open(struct cm_conn *c)
{
	struct cm_msg m;

	do
		draw(&c->ours, offsetof(struct cm_values, mtu));
	while (!c->ours.incarnation || !c->ours.spi);
	c->ours.mtu = c->cfg.mtu;
	c->reopen_at = UINT64_MAX;
	m = message(c, CM_MSG_OPEN, c->ours.incarnation);
	m.ordering = c->cfg.ordered ? CM_ORDERED : CM_UNORDERED;
	m.security = CM_SECURITY_CLEAR;
	m.spi = c->ours.spi;
	m.data_psn = c->ours.data_psn;
	m.req_psn = c->ours.req_psn;
	m.rsn = c->ours.rsn;
	m.mtu = c->ours.mtu;
	cm_session_send(c->session, &m);
}

static void send_close(struct cm_conn *c, enum cm_code code, const char *text)
{
	struct cm_msg m = message(c, CM_MSG_CLOSE, c->ours.incarnation);

	if (c->session->phase != CM_OPEN || !c->ours.incarnation)
		return;
	m.code = code;
	snprintf(m.text, sizeof(m.text), "%s", text);
	for (char *p = m.text; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
	cm_session_send(c->session, &m);
	c->ours.incarnation = 0;
}

/* Refuse |open|, which need not be for a connection that exists. */
static void send_reject(struct cm_session *s, const struct cm_msg *open, enum cm_code code,
			const char *text)
{
	struct cm_msg m = {
		.type = CM_MSG_REJECT,
		.src_cid = open->dst_cid,
		.dst_cid = open->src_cid,
		.incarnation = open->incarnation,
		.code = code,
	};

	snprintf(m.text, sizeof(m.text), "%s", text);
	cm_session_send(s, &m);
}

/* The connection of session |s| with our CID |cid|, or NULL. */
static struct cm_conn *lookup(struct cm *cm, const struct cm_session *s, uint32_t cid)
{
	struct cm_conn *c = cid < FALCON_MAX_CONNS ? cm->conns[cid] : NULL;

	return c && c->session == s ? c : NULL;
}

/* 0, or the code for refusing |open|, with |text| for the peer and |*local| for ourselves. */
static enum cm_code mismatch(const struct cm_conn *c, const struct cm_msg *open, char *text,
			     size_t size, const char **local)
{
	text[0] = 0;
	if (open->src_cid != c->cfg.remote_cid) {
		snprintf(text, size, "CID %u here belongs with remote_cid %u, not %u",
			 c->cfg.local_cid, c->cfg.remote_cid, open->src_cid);
		*local = "peer's connection for our CID has another local_cid";
		return CM_CODE_CID_MISMATCH;
	}
	if (open->security != CM_SECURITY_CLEAR) {
		*local = "peer wants a security that is not built yet; set security = clear there";
		return CM_CODE_SECURITY;
	}
	if ((open->ordering == CM_ORDERED) != c->cfg.ordered) {
		snprintf(text, size, "ordering = %s here",
			 c->cfg.ordered ? "ordered" : "unordered");
		*local = "peer's connection has another ordering";
		return CM_CODE_ORDERING;
	}
	return 0;
}

/* Our offer is void; wait for the peer's next OPEN, or for |reopen_at|. */
static void abandon(struct cm *cm, struct cm_conn *c, const char *reason)
{
	c->ours.incarnation = 0;
	lose(cm, c, CM_REJECTED, reason);
}

static void establish(struct cm *cm, struct cm_conn *c, const struct cm_msg *open)
{
	struct cm_values peer = {
		.incarnation = open->incarnation,
		.spi = open->spi,
		.data_psn = open->data_psn,
		.req_psn = open->req_psn,
		.rsn = open->rsn,
		.mtu = open->mtu,
	};
	struct cm_msg m = message(c, CM_MSG_READY, c->ours.incarnation);
	char err[CM_REASON_MAX] = "";

	if (cm->ops->establish(cm->arg, c->cfg.local_cid, &c->ours, &peer, err, sizeof(err))) {
		send_reject(c->session, open, CM_CODE_FAILED, "");
		abandon(cm, c, err);
		c->reopen_at = cm->now + CM_REOPEN_MS * 1000000ULL;
		if (c->reopen_at < cm->reopen_at)
			cm->reopen_at = c->reopen_at;
		return;
	}
	c->state = CM_RECEIVING;
	m.peer_incarnation = open->incarnation;
	cm_session_send(c->session, &m);
}

static void on_open(struct cm *cm, struct cm_session *s, const struct cm_msg *m)
{
	struct cm_conn *c = lookup(cm, s, m->dst_cid);
	char text[CM_WIRE_TEXT_MAX + 1];
	const char *local;
	enum cm_code code;

	if (!c)
		return send_reject(s, m, CM_CODE_UNKNOWN_CID, "");
	code = mismatch(c, m, text, sizeof(text), &local);
	if (code) {
		send_reject(s, m, code, text);
		return abandon(cm, c, local);
	}
	/* An offer that was used must not be used again: its PSNs have been. */
	if (c->state == CM_READY)
		c->ours.incarnation = 0;
	if (paired(c))
		lose(cm, c, CM_OPENING, "peer started over");
	c->peer_incarnation = m->incarnation;
	if (!c->ours.incarnation)
		send_open(c);
	establish(cm, c, m);
}

static void on_ready(struct cm *cm, struct cm_conn *c, const struct cm_msg *m)
{
	if (c->state != CM_RECEIVING || m->incarnation != c->peer_incarnation ||
	    m->peer_incarnation != c->ours.incarnation)
		return;
	c->state = CM_READY;
	c->reason[0] = 0;
	cm->ops->ready(cm->arg, c->cfg.local_cid);
}

static void on_close(struct cm *cm, struct cm_conn *c, const struct cm_msg *m)
{
	char reason[CM_REASON_MAX + sizeof(m->text)];

	/* In a REJECT the incarnation is that of our offer, in a CLOSE the peer's. */
	if (m->incarnation !=
	    (m->type == CM_MSG_REJECT ? c->ours.incarnation : c->peer_incarnation))
		return;
	snprintf(reason, sizeof(reason), "%s%s%s", cm_code_text(m->code), m->text[0] ? ": " : "",
		 m->text);
	reason[CM_REASON_MAX - 1] = 0;
	abandon(cm, c, reason);
}

void cm_on_message(struct cm *cm, struct cm_session *s, const struct cm_msg *m)
{
	struct cm_conn *c;

	if (m->type == CM_MSG_OPEN)
		return on_open(cm, s, m);
	c = lookup(cm, s, m->dst_cid);
	/* Messages for a connection that has been removed meanwhile are expected. */
	if (!c || (m->type != CM_MSG_REJECT && c->cfg.remote_cid != m->src_cid))
		return;
	if (m->type == CM_MSG_READY)
		on_ready(cm, c, m);
	else
		on_close(cm, c, m);
}

void cm_on_up(struct cm *cm, struct cm_session *s)
{
	(void)cm;
	for (struct cm_conn *c = s->conns; c; c = c->next) {
		c->state = CM_OPENING;
		send_open(c);
	}
}

void cm_on_down(struct cm *cm, struct cm_session *s, const char *reason)
{
	for (struct cm_conn *c = s->conns; c; c = c->next) {
		lose(cm, c, CM_NO_SESSION, reason);
		c->ours.incarnation = 0;
		c->peer_incarnation = 0;
		c->reopen_at = UINT64_MAX;
	}
}

/* Offer anew where establish() failed, and find out when that is due next. */
static void reopen(struct cm *cm)
{
	if (cm->now < cm->reopen_at)
		return;
	cm->reopen_at = UINT64_MAX;
	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++) {
		struct cm_conn *c = cm->conns[cid];

		if (!c || c->reopen_at == UINT64_MAX)
			continue;
		if (c->reopen_at > cm->now) {
			if (c->reopen_at < cm->reopen_at)
				cm->reopen_at = c->reopen_at;
			continue;
		}
		c->state = CM_OPENING;
		send_open(c);
	}
}

void cm_process(struct cm *cm, uint64_t now_ns)
{
	struct epoll_event ev[EVENTS_AT_ONCE];
	int n;

	cm->now = now_ns;
	n = epoll_wait(cm->epoll_fd, ev, EVENTS_AT_ONCE, 0);
	for (int i = 0; i < n; i++) {
		void *what = ev[i].data.ptr;

		switch (*(enum cm_watch *)what) {
		case CM_WATCH_LISTENER: cm_listener_event(cm, what); break;
		case CM_WATCH_SESSION: cm_session_event(cm, what); break;
		case CM_WATCH_GUEST: cm_guest_event(cm, what); break;
		}
	}
	cm_guests_run(cm);
	reopen(cm);
	for (struct cm_session *s = cm->sessions; s; s = s->next)
		cm_session_run(cm, s);
}

uint64_t cm_next_deadline(const struct cm *cm)
{
	uint64_t next = cm_guests_deadline(cm);

	if (cm->reopen_at < next)
		next = cm->reopen_at;
	for (const struct cm_session *s = cm->sessions; s; s = s->next) {
		if (s->deadline < next)
			next = s->deadline;
	}
	return next;
}

int cm_open(struct cm **out, const struct cm_ops *ops, void *arg, uint16_t port, char *err,
	    size_t errlen)
{
	struct cm *cm = calloc(1, sizeof(*cm));
	int ret = -ENOMEM;

	*out = NULL;
	if (cm) {
		cm->ops = ops;
		cm->arg = arg;
		cm->port = port;
		cm->reopen_at = UINT64_MAX;
		cm->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (cm->epoll_fd >= 0) {
			*out = cm;
			return 0;
		}
		ret = -errno;
		free(cm);
	}
	snprintf(err, errlen, "cannot start the handshake service: %s", strerror(-ret));
	return ret;
}

void cm_close(struct cm *cm)
{
	if (!cm)
		return;
	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++)
		cm_remove(cm, cid, "agent is stopping");
	close(cm->epoll_fd);
	free(cm);
}

int cm_fd(const struct cm *cm)
{
	return cm->epoll_fd;
}

static int check_local(const struct cm *cm, const struct cm_local *l, char *err, size_t errlen)
{
	if ((l->family != AF_INET && l->family != AF_INET6) || !l->local_cid ||
	    l->local_cid >= FALCON_MAX_CONNS || !l->remote_cid || l->remote_cid > FALCON_CID_MASK ||
	    memcmp(l->local_addr, l->peer_addr, 16) == 0) {
		snprintf(err, errlen, "connection's CIDs or addresses are out of range");
		return -EINVAL;
	}
	if (cm->conns[l->local_cid]) {
		snprintf(err, errlen, "CID %u is taken", l->local_cid);
		return -EEXIST;
	}
	return 0;
}

int cm_add(struct cm *cm, const struct cm_local *local, char *err, size_t errlen)
{
	struct cm_conn *c;
	int ret = check_local(cm, local, err, errlen);

	if (ret)
		return ret;
	c = calloc(1, sizeof(*c));
	if (!c) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	c->cfg = *local;
	c->reopen_at = UINT64_MAX;
	c->session = cm_session_get(cm, local, &ret);
	if (!c->session) {
		snprintf(err, errlen, "cannot listen on TCP port %u of the local address: %s",
			 cm->port, strerror(-ret));
		free(c);
		return ret;
	}
	c->next = c->session->conns;
	c->session->conns = c;
	cm->conns[local->local_cid] = c;
	if (c->session->phase == CM_OPEN) {
		c->state = CM_OPENING;
		send_open(c);
		cm_session_flush(cm, c->session);
	}
	return 0;
}

void cm_remove(struct cm *cm, uint32_t cid, const char *reason)
{
	struct cm_conn *c = cid < FALCON_MAX_CONNS ? cm->conns[cid] : NULL, **p;

	if (!c)
		return;
	send_close(c, CM_CODE_REMOVED, reason);
	for (p = &c->session->conns; *p != c; p = &(*p)->next)
		;
	*p = c->next;
	cm->conns[cid] = NULL;
	if (c->session->conns)
		cm_session_flush(cm, c->session);
	else
		cm_session_put(cm, c->session);
	free(c);
}

void cm_reset(struct cm *cm, uint32_t cid, const char *reason)
{
	struct cm_conn *c = cid < FALCON_MAX_CONNS ? cm->conns[cid] : NULL;

	if (!c)
		return;
	send_close(c, CM_CODE_RESET, reason);
	c->reopen_at = UINT64_MAX;
	if (c->session->phase != CM_OPEN) {
		c->state = CM_NO_SESSION;
		return;
	}
	c->state = CM_OPENING;
	send_open(c);
	cm_session_flush(cm, c->session);
}

void cm_set_mtu(struct cm *cm, uint32_t cid, uint32_t mtu)
{
	if (cid < FALCON_MAX_CONNS && cm->conns[cid])
		cm->conns[cid]->cfg.mtu = mtu;
}

enum cm_state cm_conn_state(const struct cm *cm, uint32_t cid)
{
	return cid < FALCON_MAX_CONNS && cm->conns[cid] ? cm->conns[cid]->state : CM_NO_SESSION;
}

const char *cm_state_name(enum cm_state state)
{
	switch (state) {
	case CM_NO_SESSION: return "no-session";
	case CM_OPENING: return "opening";
	case CM_RECEIVING: return "receiving";
	case CM_READY: return "ready";
	case CM_REJECTED: return "rejected";
	}
	return "unknown";
}
