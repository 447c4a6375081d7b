// SPDX-License-Identifier: BSD-2-Clause
/*
 * The life of connections: their offers, and what becomes of them when sessions come and go.
 * handshake.c has what messages do to one.
 *
 * A session that comes up may have very many connections to offer. They wait in their owners' lists
 * and are begun a few at a time, as the peer takes them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cm/priv.h"
#include "falcon/wire/psp.h"

bool cm_conn_paired(const struct cm_conn *c)
{
	return c->state == CM_RECEIVING || c->state == CM_READY;
}

void cm_conn_forget_rekey(struct cm_conn *c)
{
	if (c->rekey)
		explicit_bzero(c->rekey, sizeof(*c->rekey));
	free(c->rekey);
	c->rekey = NULL;
	c->rekey_due = false;
}

/* Leave the pair for |state| and tell the owner, unless that would be no news. */
void cm_conn_lose(struct cm *cm, struct cm_conn *c, enum cm_state state, const char *reason)
{
	bool news = cm_conn_paired(c) || strcmp(c->reason, reason) != 0;

	c->state = state;
	cm_conn_forget_rekey(c);
	cm_unhold(c);
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

struct cm_msg cm_conn_pair_message(const struct cm_conn *c, enum cm_msg_type type)
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

void cm_conn_reopen_after(struct cm *cm, struct cm_conn *c, uint64_t ms)
{
	reopen_never(c);
	c->reopen_at = cm_after_ms(cm, ms);
	LIST_INSERT_HEAD(&cm->reopening, c, in_reopening);
	if (c->reopen_at < cm->reopen_at)
		cm->reopen_at = c->reopen_at;
}

/* As after a failed establish(): wait, then offer anew. */
void cm_conn_fail_for_now(struct cm *cm, struct cm_conn *c, const char *reason)
{
	c->ours.incarnation = 0;
	cm_conn_lose(cm, c, CM_REJECTED, reason);
	cm_conn_reopen_after(cm, c, CM_REOPEN_MS);
}

/* Offer a new incarnation. False: there is none, for want of a key. */
bool cm_conn_send_open(struct cm *cm, struct cm_conn *c)
{
	struct cm_values *v = &c->ours;
	struct cm_msg m;

	reopen_never(c);
	if (!local_security(cm, c, &v->security)) {
		cm_conn_fail_for_now(cm, c, "no key for the connection");
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
	if (!m.dst_cid && !cm_dial_begin(c)) {
		cm_conn_fail_for_now(cm, c, "out of memory");
		return false;
	}
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
void cm_say(struct cm_msg *m, const char *text)
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

	/*
	 * A peer that has not answered our dial yet has said no CID of its own to tell it with: its
	 * answer will be refused.
	 */
	if (c->session->phase == CM_OPEN && m.incarnation && m.dst_cid) {
		m.code = code;
		cm_say(&m, text);
		cm_session_send(c->session, &m);
	}
	c->ours.incarnation = 0;
	cm_conn_forget_rekey(c);
	cm_unhold(c);
}

/*
 * Whether the session's peer is the one that the connection is configured for. That another connection names
 * it says nothing: any user may add one.
 */
bool cm_conn_entitled(struct cm *cm, struct cm_conn *c)
{
	const struct chan_identity *who = &c->session->who;
	bool named = c->cfg.peer[0];

	if (named ? cm_has_name(who, c->cfg.peer) : cm_has_address(cm, who))
		return true;
	c->ours.incarnation = 0;
	cm_conn_lose(cm, c, CM_REJECTED, named ? "peer's certificate is for another name"
					       : "peer's certificate is not for its address");
	return false;
}

void cm_conn_restart(struct cm_conn *c)
{
	cm_conn_forget_rekey(c);
	cm_unhold(c);
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
			cm_conn_lose(cm, c, CM_NO_SESSION, "peer's agent has restarted");
		if (!cm_conn_entitled(cm, c))
			continue;
		if (c->state != CM_READY)
			cm_conn_restart(c);
		c->resume_due = c->state == CM_READY;
		c->path_due = c->resume_due && c->path.len;
		cm_conn_due(c);
	}
}

void cm_on_down(struct cm *cm, struct cm_session *s, const char *reason)
{
	bool grace = false;
	struct cm_conn *c;

	snprintf(s->lost, sizeof(s->lost), "%s", reason);
	cm_dials_void(s);
	LIST_FOREACH(c, &s->conns, of_session) {
		cm_conn_not_due(c);
		reopen_never(c);
		if (c->state == CM_READY && cm->opt.grace_ms) {
			grace = true;
			c->rekey_due = c->rekey_due || c->rekey;
			continue;
		}
		cm_conn_lose(cm, c, CM_NO_SESSION, reason);
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
			cm_conn_lose(cm, c, CM_NO_SESSION, s->lost);
		c->ours.incarnation = 0;
		c->peer_incarnation = 0;
	}
}

/* Keep what is sent until it is answered: a second choice would make the first one the previous. */
static void send_rekey(struct cm *cm, struct cm_conn *c)
{
	struct cm_msg m = cm_conn_pair_message(c, CM_MSG_REKEY);

	c->rekey_due = false;
	if (!c->rekey) {
		c->rekey = malloc(sizeof(*c->rekey));
		if (!c->rekey || !local_security(cm, c, c->rekey)) {
			cm_conn_close(c, CM_CODE_RESET, "cannot rekey");
			cm_conn_lose(cm, c, CM_OPENING, "no new key for the connection");
			return cm_conn_restart(c);
		}
	}
	m.security = *c->rekey;
	cm_session_send(c->session, &m);
	explicit_bzero(&m.security, sizeof(m.security));
}

static void send_path(struct cm_conn *c)
{
	struct cm_msg m = cm_conn_pair_message(c, CM_MSG_PATH);

	c->path_due = false;
	m.path = c->path;
	cm_session_send(c->session, &m);
}

static void begin(struct cm *cm, struct cm_conn *c)
{
	struct cm_msg m;

	if (!cm_conn_entitled(cm, c))
		return;
	if (c->state != CM_READY) {
		/* The peer's OPEN may have drawn ours already. */
		if (cm_conn_to_offer(c) && cm_conn_send_open(cm, c) && !c->dials)
			cm_conn_offered(c);
		return;
	}
	if (c->resume_due) {
		c->resume_due = false;
		m = cm_conn_pair_message(c, CM_MSG_RESUME);
		cm_session_send(c->session, &m);
	}
	if (c->path_due)
		send_path(c);
	if (c->rekey_due)
		send_rekey(cm, c);
}

bool cm_run_pending(struct cm *cm, struct cm_session *s)
{
	struct cm_conn *c;

	for (int n = 0; s->out_len < CM_OUT_PAUSE && (c = cm_owner_next(s)); n++) {
		if (n == CM_STARTS_AT_ONCE)
			return true;
		cm_owner_took_turn(s, c);
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
	if (!cm_owner_join(c)) {
		free(c);
		return NULL;
	}
	c->dials = !local->remote_cid;
	STAILQ_INIT(&c->held);
	LIST_INSERT_HEAD(&s->conns, c, of_session);
	return c;
}

void cm_conn_free(struct cm_conn *c)
{
	cm_owner_leave(c);
	LIST_REMOVE(c, of_session);
	reopen_never(c);
	cm_conn_forget_rekey(c);
	cm_unhold(c);
	free(c);
}
