// SPDX-License-Identifier: BSD-2-Clause
/*
 * The handshake of connections: what OPEN, READY, CLOSE, REJECT, REKEY and RESUME do to one.
 *
 * An OPEN offers an incarnation. An end pairs its own outstanding offer with the peer's latest; it
 * is up when a READY names exactly that pair. Whoever abandons an offer says so, by CLOSE of his
 * own or by REJECT of the other's, and whoever hears it abandons his own too: so an offer that
 * still stands has never carried data, and may be paired again with a newer offer of the peer.
 * PROTOCOL.md goes through the races.
 *
 * A session that comes up may have very many connections to offer. They wait in its |pending| list
 * and are begun a few at a time, as the peer takes them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cm/priv.h"
#include "falcon/psp.h"

static bool paired(const struct cm_conn *c)
{
	return c->state == CM_RECEIVING || c->state == CM_READY;
}

static void forget_rekey(struct cm_conn *c)
{
	if (c->rekey)
		explicit_bzero(c->rekey, sizeof(*c->rekey));
	free(c->rekey);
	c->rekey = NULL;
	c->rekey_due = false;
}

/* Leave the pair for |state| and tell the owner, unless that would be no news. */
static void lose(struct cm *cm, struct cm_conn *c, enum cm_state state, const char *reason)
{
	bool news = paired(c) || strcmp(c->reason, reason) != 0;

	c->state = state;
	forget_rekey(c);
	snprintf(c->reason, sizeof(c->reason), "%s", reason);
	if (news)
		cm->ops->lost(cm->arg, c->cfg.local_cid, c->reason);
}

static struct cm_msg message(const struct cm_conn *c, enum cm_msg_type type)
{
	return (struct cm_msg){
		.type = type,
		.src_cid = c->cfg.local_cid,
		.dst_cid = c->cfg.remote_cid,
		.incarnation = c->ours.incarnation,
	};
}

static struct cm_msg pair_message(const struct cm_conn *c, enum cm_msg_type type)
{
	struct cm_msg m = message(c, type);

	m.peer_incarnation = c->peer_incarnation;
	return m;
}

void cm_draw(void *p, size_t len)
{
	/* So few bytes come whole, once the kernel's generator is seeded, which this waits for. */
	while (getrandom(p, len, 0) != (ssize_t)len)
		;
}

/* Our choice for a new incarnation or a rekeying; false if the owner has none, or a wrong one. */
static bool local_security(struct cm *cm, const struct cm_conn *c, struct cm_security *out)
{
	*out = (struct cm_security){.version = FALCON_PSP_CLEAR};
	while (!out->spi)
		cm_draw(&out->spi, sizeof(out->spi));
	if (cm->ops->fill_local_security &&
	    cm->ops->fill_local_security(cm->arg, c->cfg.local_cid, out) < 0)
		return false;
	return out->spi && out->key_len <= CM_KEY_MAX &&
	       cm_security_kind(out->version) == c->cfg.security;
}

static void reopen_never(struct cm_conn *c)
{
	if (c->reopen_at != UINT64_MAX)
		LIST_REMOVE(c, in_reopening);
	c->reopen_at = UINT64_MAX;
}

static void reopen_after(struct cm *cm, struct cm_conn *c, uint64_t ms)
{
	reopen_never(c);
	c->reopen_at = cm_after_ms(cm, ms);
	LIST_INSERT_HEAD(&cm->reopening, c, in_reopening);
	if (c->reopen_at < cm->reopen_at)
		cm->reopen_at = c->reopen_at;
}

/* As after a failed establish(): wait, then offer anew. */
static void fail_for_now(struct cm *cm, struct cm_conn *c, const char *reason)
{
	c->ours.incarnation = 0;
	lose(cm, c, CM_REJECTED, reason);
	reopen_after(cm, c, CM_REOPEN_MS);
}

/* Offer a new incarnation. False: there is none, for want of a key. */
static bool send_open(struct cm *cm, struct cm_conn *c)
{
	struct cm_values *v = &c->ours;
	struct cm_msg m;

	reopen_never(c);
	if (!local_security(cm, c, &v->security)) {
		fail_for_now(cm, c, "no key for the connection");
		return false;
	}
	do
		cm_draw(v, offsetof(struct cm_values, function));
	while (!v->incarnation);
	v->cid = c->cfg.local_cid;
	v->function = c->cfg.function;
	v->params = c->cfg.params;
	v->ulp = c->cfg.ulp;
	m = message(c, CM_MSG_OPEN);
	m.ordering = c->cfg.ordered ? CM_ORDERED : CM_UNORDERED;
	m.kind = (uint8_t)c->cfg.security;
	m.data_psn = v->data_psn;
	m.req_psn = v->req_psn;
	m.rsn = v->rsn;
	m.function = v->function;
	m.params = v->params;
	m.ulp = v->ulp;
	m.security = v->security;
	cm_session_send(c->session, &m);
	explicit_bzero(&m.security, sizeof(m.security));
	explicit_bzero(v->security.key, sizeof(v->security.key));
	return true;
}

/* What the peer's operator gets to read. */
static void say(struct cm_msg *m, const char *text)
{
	snprintf(m->text, sizeof(m->text), "%s", text);
	for (char *p = m->text; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
}

void cm_conn_close(struct cm_conn *c, enum cm_code code, const char *text)
{
	struct cm_msg m = message(c, CM_MSG_CLOSE);

	if (c->session->phase == CM_OPEN && m.incarnation) {
		m.code = code;
		say(&m, text);
		cm_session_send(c->session, &m);
	}
	c->ours.incarnation = 0;
	forget_rekey(c);
}

/* Refuse |m|, an OPEN or RESUME, which need not be for a connection that exists. */
static void send_reject(struct cm_session *s, const struct cm_msg *refused, enum cm_code code,
			const char *text)
{
	struct cm_msg m = {
		.type = CM_MSG_REJECT,
		.src_cid = refused->dst_cid,
		.dst_cid = refused->src_cid,
		.incarnation = refused->incarnation,
		.code = code,
	};

	say(&m, text);
	cm_session_send(s, &m);
}

/* The connection of session |s| with our CID |cid|, or NULL. */
static struct cm_conn *lookup(struct cm *cm, const struct cm_session *s, uint32_t cid)
{
	struct cm_conn *c = cid < FALCON_MAX_CONNS ? cm->conns[cid] : NULL;

	return c && c->session == s ? c : NULL;
}

/* Whether the session's peer is the one that the connection is configured for. */
static bool entitled(struct cm *cm, struct cm_conn *c)
{
	if (!c->cfg.peer[0] || cm_has_name(&c->session->who, c->cfg.peer))
		return true;
	c->ours.incarnation = 0;
	lose(cm, c, CM_REJECTED, "peer's certificate is for another name");
	return false;
}

static const char *const kinds[] = {
	[CM_SECURITY_CLEAR] = "clear", [CM_SECURITY_PSP] = "psp", [CM_SECURITY_ESP] = "esp",
};
static const char *const other_kind[] = {
	[CM_SECURITY_CLEAR] = "peer's connection has security = clear, ours not",
	[CM_SECURITY_PSP] = "peer's connection has security = psp, ours not",
	[CM_SECURITY_ESP] = "peer's connection has security = esp, ours not",
};

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
	if (open->kind != c->cfg.security) {
		snprintf(text, size, "security = %s here", kinds[c->cfg.security]);
		*local = other_kind[open->kind];
		return CM_CODE_SECURITY;
	}
	if ((open->ordering == CM_ORDERED) != c->cfg.ordered) {
		snprintf(text, size, "ordering = %s here",
			 c->cfg.ordered ? "ordered" : "unordered");
		*local = "peer's connection has another ordering";
		return CM_CODE_ORDERING;
	}
	if (open->ulp.proto != c->cfg.ulp.proto) {
		snprintf(text, size, "upper layer %u here", c->cfg.ulp.proto);
		*local = "peer's connection is for another upper layer";
		return CM_CODE_ULP;
	}
	return 0;
}

/* Our offer is void; wait for the peer's next OPEN, or for |reopen_at|. */
static void abandon(struct cm *cm, struct cm_conn *c, const char *reason)
{
	c->ours.incarnation = 0;
	lose(cm, c, CM_REJECTED, reason);
	if (!c->dials)
		return;
	/* The peer has nothing of it any more, so it is for us to begin. */
	c->cfg.remote_cid = 0;
	reopen_after(cm, c, CM_REDIAL_MS);
}

static void establish(struct cm *cm, struct cm_conn *c, const struct cm_msg *open)
{
	struct cm_values peer = {
		.incarnation = open->incarnation,
		.cid = open->src_cid,
		.data_psn = open->data_psn,
		.req_psn = open->req_psn,
		.rsn = open->rsn,
		.function = open->function,
		.params = open->params,
		.ulp = open->ulp,
		.security = open->security,
	};
	char err[CM_REASON_MAX] = "";
	struct cm_msg m;
	int ret;

	ret = cm->ops->establish(cm->arg, c->cfg.local_cid, &c->ours, &peer, err, sizeof(err));
	explicit_bzero(&peer.security, sizeof(peer.security));
	if (ret) {
		send_reject(c->session, open, CM_CODE_FAILED, "");
		return fail_for_now(cm, c, err);
	}
	c->state = CM_RECEIVING;
	m = pair_message(c, CM_MSG_READY);
	cm_session_send(c->session, &m);
}

/* The peer leaves the choice of a CID to us. NULL after a refusal. */
static struct cm_conn *accept_dialled(struct cm *cm, struct cm_session *s, const struct cm_msg *m)
{
	struct cm_request req = {
		.family = s->family,
		.who = &s->who,
		.function = m->function,
		.ordered = m->ordering == CM_ORDERED,
		.security = m->kind,
		.version = m->security.version,
		.ulp = m->ulp,
	};
	struct cm_local l = {
		.family = s->family,
		.remote_cid = m->src_cid,
		.ordered = req.ordered,
		.security = req.security,
		.ulp.proto = req.ulp.proto,
	};
	char err[CM_WIRE_TEXT_MAX + 1] = "nobody may connect here";
	struct cm_conn *c = NULL;

	memcpy(req.local_addr, s->local, sizeof(req.local_addr));
	memcpy(req.peer_addr, s->peer, sizeof(req.peer_addr));
	memcpy(l.local_addr, s->local, sizeof(l.local_addr));
	memcpy(l.peer_addr, s->peer, sizeof(l.peer_addr));
	if (cm->ops->accept && cm->ops->accept(cm->arg, &req, &l, err, sizeof(err)) == 0 &&
	    cm_check_local(cm, &l, err, sizeof(err)) == 0)
		c = cm_conn_new(&l, s);
	if (!c) {
		send_reject(s, m, CM_CODE_POLICY, err);
		return NULL;
	}
	cm->conns[l.local_cid] = c;
	c->accepted = true;
	return c;
}

static void on_open(struct cm *cm, struct cm_session *s, const struct cm_msg *m)
{
	struct cm_conn *c = m->dst_cid ? lookup(cm, s, m->dst_cid) : accept_dialled(cm, s, m);
	char text[CM_WIRE_TEXT_MAX + 1];
	const char *local;
	enum cm_code code;

	if (!c && !m->dst_cid)
		return;
	if (!c)
		return send_reject(s, m, CM_CODE_UNKNOWN_CID, "");
	if (c->dials && !c->cfg.remote_cid)
		c->cfg.remote_cid = m->src_cid;
	if (!entitled(cm, c))
		return send_reject(s, m, CM_CODE_PEER, "");
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
	if (!c->ours.incarnation && !send_open(cm, c))
		return send_reject(s, m, CM_CODE_FAILED, "");
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
	/* Where the peer has lost what we still held, it is for us to begin anew. */
	if (m->code == CM_CODE_STALE)
		cm_conn_restart(c);
}

/* Whether |m| is about the pair that the connection has. */
static bool of_pair(const struct cm_conn *c, const struct cm_msg *m)
{
	return paired(c) && m->incarnation == c->peer_incarnation &&
	       m->peer_incarnation == c->ours.incarnation;
}

/* The peer will receive with another key; packets of the old one are taken for a while yet. */
static void on_rekey(struct cm *cm, struct cm_conn *c, const struct cm_msg *m)
{
	struct cm_msg answer = pair_message(c, CM_MSG_REKEYED);

	if (!of_pair(c, m))
		return;
	if (cm_security_kind(m->security.version) != c->cfg.security)
		return cm_session_fail(c->session, "protocol error: REKEY changes the security");
	if (!cm->ops->use_remote_security ||
	    cm->ops->use_remote_security(cm->arg, c->cfg.local_cid, &m->security) < 0) {
		cm_conn_close(c, CM_CODE_RESET, "cannot use the new key");
		lose(cm, c, CM_OPENING, "cannot use the peer's new key");
		return cm_conn_restart(c);
	}
	answer.security.spi = m->security.spi;
	answer.security.generation = m->security.generation;
	cm_session_send(c->session, &answer);
}

static void on_rekeyed(struct cm *cm, struct cm_conn *c, const struct cm_msg *m)
{
	if (!of_pair(c, m) || !c->rekey || m->security.spi != c->rekey->spi ||
	    m->security.generation != c->rekey->generation)
		return;
	forget_rekey(c);
	if (cm->ops->rekeyed)
		cm->ops->rekeyed(cm->arg, c->cfg.local_cid, m->security.generation);
}

/* The peer holds a pair from the session before. */
static void on_resume(struct cm *cm, struct cm_session *s, const struct cm_msg *m)
{
	struct cm_conn *c = lookup(cm, s, m->dst_cid);

	if (!c)
		return send_reject(s, m, CM_CODE_UNKNOWN_CID, "");
	if (c->state == CM_READY && of_pair(c, m) && c->cfg.remote_cid == m->src_cid)
		return;
	send_reject(s, m, CM_CODE_STALE, "");
	if (c->state == CM_READY) {
		lose(cm, c, CM_OPENING, "peer holds another incarnation");
		cm_conn_restart(c);
	}
}

void cm_on_message(struct cm *cm, struct cm_session *s, const struct cm_msg *m)
{
	struct cm_conn *c;

	if (m->type == CM_MSG_OPEN)
		return on_open(cm, s, m);
	if (m->type == CM_MSG_RESUME)
		return on_resume(cm, s, m);
	c = lookup(cm, s, m->dst_cid);
	/* Messages for a connection that has been removed meanwhile are expected. */
	if (!c || (m->type != CM_MSG_REJECT && c->cfg.remote_cid != m->src_cid))
		return;
	switch (m->type) {
	case CM_MSG_READY: return on_ready(cm, c, m);
	case CM_MSG_REKEY: return on_rekey(cm, c, m);
	case CM_MSG_REKEYED: return on_rekeyed(cm, c, m);
	default: return on_close(cm, c, m);
	}
}

void cm_conn_due(struct cm_conn *c)
{
	if (c->pending)
		return;
	c->pending = true;
	TAILQ_INSERT_TAIL(&c->session->pending, c, in_pending);
}

void cm_conn_restart(struct cm_conn *c)
{
	forget_rekey(c);
	if (c->dials)
		c->cfg.remote_cid = 0;
	c->ours.incarnation = 0;
	reopen_never(c);
	/* What was dialled is for the other end to dial again. */
	if (c->accepted) {
		c->state = CM_REJECTED;
		return;
	}
	c->state = c->session->phase == CM_OPEN ? CM_OPENING : CM_NO_SESSION;
	if (c->state == CM_OPENING)
		cm_conn_due(c);
}

void cm_on_up(struct cm *cm, struct cm_session *s, uint64_t boot)
{
	bool same = s->peer_boot == boot;
	struct cm_conn *c;

	s->peer_boot = boot;
	s->grace_end = UINT64_MAX;
	LIST_FOREACH(c, &s->conns, of_session) {
		if (c->state == CM_READY && !same)
			lose(cm, c, CM_NO_SESSION, "peer's agent has restarted");
		if (!entitled(cm, c))
			continue;
		if (c->state != CM_READY)
			cm_conn_restart(c);
		c->resume_due = c->state == CM_READY;
		cm_conn_due(c);
	}
}

void cm_on_down(struct cm *cm, struct cm_session *s, const char *reason)
{
	bool grace = false;
	struct cm_conn *c;

	snprintf(s->lost, sizeof(s->lost), "%s", reason);
	LIST_FOREACH(c, &s->conns, of_session) {
		if (c->pending)
			TAILQ_REMOVE(&s->pending, c, in_pending);
		c->pending = false;
		reopen_never(c);
		if (c->state == CM_READY && cm->opt.grace_ms) {
			grace = true;
			c->rekey_due = c->rekey_due || c->rekey;
			continue;
		}
		lose(cm, c, CM_NO_SESSION, reason);
		c->ours.incarnation = 0;
		c->peer_incarnation = 0;
	}
	if (grace && s->grace_end == UINT64_MAX)
		s->grace_end = cm_after_ms(cm, cm->opt.grace_ms);
}

void cm_on_grace_end(struct cm *cm, struct cm_session *s)
{
	struct cm_conn *c;

	s->grace_end = UINT64_MAX;
	LIST_FOREACH(c, &s->conns, of_session) {
		if (c->state == CM_READY)
			lose(cm, c, CM_NO_SESSION, s->lost);
		c->ours.incarnation = 0;
		c->peer_incarnation = 0;
	}
}

/* Keep what is sent until it is answered: a second choice would make the first one the previous. */
static void send_rekey(struct cm *cm, struct cm_conn *c)
{
	struct cm_msg m = pair_message(c, CM_MSG_REKEY);

	c->rekey_due = false;
	if (!c->rekey) {
		c->rekey = malloc(sizeof(*c->rekey));
		if (!c->rekey || !local_security(cm, c, c->rekey)) {
			cm_conn_close(c, CM_CODE_RESET, "cannot rekey");
			lose(cm, c, CM_OPENING, "no new key for the connection");
			return cm_conn_restart(c);
		}
	}
	m.security = *c->rekey;
	cm_session_send(c->session, &m);
	explicit_bzero(&m.security, sizeof(m.security));
}

static void begin(struct cm *cm, struct cm_conn *c)
{
	struct cm_msg m;

	if (!entitled(cm, c))
		return;
	if (c->state != CM_READY) {
		/* The peer's OPEN may have drawn ours already. */
		if (c->state == CM_OPENING && !c->ours.incarnation)
			send_open(cm, c);
		return;
	}
	if (c->resume_due) {
		c->resume_due = false;
		m = pair_message(c, CM_MSG_RESUME);
		cm_session_send(c->session, &m);
	}
	if (c->rekey_due)
		send_rekey(cm, c);
}

bool cm_run_pending(struct cm *cm, struct cm_session *s)
{
	struct cm_conn *c;

	for (int n = 0; (c = TAILQ_FIRST(&s->pending)) && s->out_len < CM_OUT_PAUSE; n++) {
		if (n == CM_STARTS_AT_ONCE)
			return true;
		TAILQ_REMOVE(&s->pending, c, in_pending);
		c->pending = false;
		begin(cm, c);
	}
	return false;
}

void cm_reopen(struct cm *cm)
{
	struct cm_conn *c, *next;

	if (cm->now < cm->reopen_at)
		return;
	cm->reopen_at = UINT64_MAX;
	for (c = LIST_FIRST(&cm->reopening); c; c = next) {
		next = LIST_NEXT(c, in_reopening);
		if (c->reopen_at <= cm->now)
			cm_conn_restart(c);
		else if (c->reopen_at < cm->reopen_at)
			cm->reopen_at = c->reopen_at;
	}
}

struct cm_conn *cm_conn_new(const struct cm_local *local, struct cm_session *s)
{
	struct cm_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->cfg = *local;
	c->reopen_at = UINT64_MAX;
	c->session = s;
	c->dials = !local->remote_cid;
	LIST_INSERT_HEAD(&s->conns, c, of_session);
	return c;
}

void cm_conn_free(struct cm_conn *c)
{
	if (c->pending)
		TAILQ_REMOVE(&c->session->pending, c, in_pending);
	LIST_REMOVE(c, of_session);
	reopen_never(c);
	forget_rekey(c);
	free(c);
}
