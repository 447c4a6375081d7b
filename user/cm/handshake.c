// SPDX-License-Identifier: BSD-2-Clause
/*
 * The handshake of connections: what OPEN, READY, CLOSE, REJECT, REKEY and RESUME do to one.
 *
 * An OPEN offers an incarnation. An end pairs its own outstanding offer with the peer's latest; it
 * is up when a READY names exactly that pair. Whoever abandons an offer says so, by CLOSE of his
 * own or by REJECT of the other's, and whoever hears it abandons his own too: so an offer that
 * still stands has never carried data, and may be paired again with a newer offer of the peer.
 * PROTOCOL.md goes through the races.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cm/priv.h"
#include "falcon/wire/psp.h"

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

	cm_say(&m, text);
	cm_session_send(s, &m);
}

/* The connection of session |s| with our CID |cid|, or NULL. */
static struct cm_conn *lookup(struct cm *cm, const struct cm_session *s, uint32_t cid)
{
	struct cm_conn *c = cid < FALCON_MAX_CONNS ? cm->conns[cid] : NULL;

	return c && c->session == s ? c : NULL;
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
	cm_conn_lose(cm, c, CM_REJECTED, reason);
	if (!c->dials)
		return;
	/* The peer has nothing of it any more, so it is for us to begin. */
	c->cfg.remote_cid = 0;
	cm_conn_reopen_after(cm, c, CM_REDIAL_MS);
}

void cm_conn_establish(struct cm *cm, struct cm_conn *c, const struct cm_msg *open)
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
	if (ret == -EAGAIN && cm_hold(cm, c, open))
		return;
	if (ret == -EAGAIN)
		snprintf(err, sizeof(err), "out of memory");
	if (ret) {
		send_reject(c->session, open, CM_CODE_FAILED, "");
		return cm_conn_fail_for_now(cm, c, err);
	}
	c->state = CM_RECEIVING;
	c->path.len = 0;
	c->path_due = false;
	m = cm_conn_pair_message(c, CM_MSG_READY);
	cm_session_send(c->session, &m);
}

/* Owners know diallers by their addresses, and rely on them, whatever their names. */
static bool admits(struct cm *cm, const struct cm_request *req, struct cm_local *l, char *err, size_t errlen)
{
	if (!cm_has_address(cm, req->who)) {
		snprintf(err, errlen, "your certificate is not for the address that you dial from");
		return false;
	}
	return cm->ops->accept && cm->ops->accept(cm->arg, req, l, err, errlen) == 0 &&
	       cm_check_local(cm, l, err, errlen) == 0;
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

	req.local_addr = s->local;
	req.peer_addr = s->peer;
	l.local_addr = s->local;
	l.peer_addr = s->peer;
	if (admits(cm, &req, &l, err, sizeof(err)))
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
	/* That of another connection's may be configured at both ends by now. */
	uint64_t asked = m->dst_cid && !(c && !c->dials) ? cm_dial_answered(s, m->dst_cid) : 0;
	char text[CM_WIRE_TEXT_MAX + 1];
	const char *local;
	enum cm_code code;

	if (!c && !m->dst_cid)
		return;
	if (!c)
		return send_reject(s, m, CM_CODE_UNKNOWN_CID, "");
	/* Of a dial that was given up; the present one stands. */
	if (asked && asked != c->ours.incarnation)
		return send_reject(s, m, CM_CODE_STALE, "");
	if (c->dials && !c->cfg.remote_cid)
		c->cfg.remote_cid = m->src_cid;
	if (!cm_conn_entitled(cm, c))
		return send_reject(s, m, CM_CODE_PEER, c->cfg.peer[0] ? "" : "it asks for your address");
	code = mismatch(c, m, text, sizeof(text), &local);
	if (code) {
		send_reject(s, m, code, text);
		return abandon(cm, c, local);
	}
	/* An offer that was used must not be used again: its PSNs have been. */
	if (c->state == CM_READY)
		c->ours.incarnation = 0;
	if (cm_conn_paired(c))
		cm_conn_lose(cm, c, CM_OPENING, "peer started over");
	c->peer_incarnation = m->incarnation;
	if (!c->ours.incarnation && !cm_conn_send_open(cm, c))
		return send_reject(s, m, CM_CODE_FAILED, "");
	/* This one takes the place of one that waits. */
	cm_unhold(c);
	cm_conn_establish(cm, c, m);
}

static void become_ready(struct cm *cm, struct cm_conn *c)
{
	c->state = CM_READY;
	c->reason[0] = 0;
	cm->ops->ready(cm->arg, c->cfg.local_cid);
}

static void on_ready(struct cm *cm, struct cm_conn *c, const struct cm_msg *m)
{
	if (c->state == CM_RECEIVING && m->incarnation == c->peer_incarnation &&
	    m->peer_incarnation == c->ours.incarnation)
		become_ready(cm, c);
}

void cm_heard(struct cm *cm, uint32_t cid)
{
	struct cm_conn *c = cid < FALCON_MAX_CONNS ? cm->conns[cid] : NULL;

	if (c && c->state == CM_RECEIVING)
		become_ready(cm, c);
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
	return cm_conn_paired(c) && m->incarnation == c->peer_incarnation &&
	       m->peer_incarnation == c->ours.incarnation;
}

/* The peer will receive with another key; packets of the old one are taken for a while yet. */
static void on_rekey(struct cm *cm, struct cm_conn *c, const struct cm_msg *m)
{
	struct cm_msg answer = cm_conn_pair_message(c, CM_MSG_REKEYED);

	if (!of_pair(c, m))
		return;
	if (cm_security_kind(m->security.version) != c->cfg.security)
		return cm_session_fail(c->session, "protocol error: REKEY changes the security");
	if (!cm->ops->use_remote_security ||
	    cm->ops->use_remote_security(cm->arg, c->cfg.local_cid, &m->security) < 0) {
		cm_conn_close(c, CM_CODE_RESET, "cannot use the new key");
		cm_conn_lose(cm, c, CM_OPENING, "cannot use the peer's new key");
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
	cm_conn_forget_rekey(c);
	if (cm->ops->rekeyed)
		cm->ops->rekeyed(cm->arg, c->cfg.local_cid, m->security.generation);
}

static void on_path(struct cm *cm, const struct cm_conn *c, const struct cm_msg *m)
{
	if (c->state == CM_READY && of_pair(c, m) && cm->ops->path)
		cm->ops->path(cm->arg, c->cfg.local_cid, &m->path);
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
		cm_conn_lose(cm, c, CM_OPENING, "peer holds another incarnation");
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
	if (m->type == CM_MSG_REJECT)
		cm_dial_refused(s, m->dst_cid, m->incarnation);
	c = lookup(cm, s, m->dst_cid);
	/* Messages for a connection that has been removed meanwhile are expected. */
	if (!c || (m->type != CM_MSG_REJECT && c->cfg.remote_cid != m->src_cid))
		return;
	if (c->nheld && m->type != CM_MSG_REJECT && m->type != CM_MSG_CLOSE) {
		if (!cm_hold(cm, c, m))
			cm_session_fail(s, "protocol error: too much is said of a connection that is not up");
		return;
	}
	switch (m->type) {
	case CM_MSG_READY: return on_ready(cm, c, m);
	case CM_MSG_REKEY: return on_rekey(cm, c, m);
	case CM_MSG_REKEYED: return on_rekeyed(cm, c, m);
	case CM_MSG_PATH: return on_path(cm, c, m);
	default: return on_close(cm, c, m);
	}
}
