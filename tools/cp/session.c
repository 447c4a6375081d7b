// SPDX-License-Identifier: BSD-2-Clause
/* falcon-cp's server: one session's messages. The client is not trusted. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "server.h"

/* Owner of a mailbox message: the session's place and, above, its generation; 0: no session. */
static uint32_t owner_of(const struct cp_server *s, const struct cp_session *ses)
{
	uint32_t place = (uint32_t)(ses - s->sessions) + 1;

	return place | (ses->generation & 0x3fffff) << 8;
}

static void send_msg(struct cp_server *s, uint32_t conn, uint16_t service, uint32_t owner,
		     const struct cp_msg *m)
{
	const struct mailbox_to to = { .conn = conn, .service = service };
	uint8_t buf[CP_MSG_MAX];
	uint32_t len = cp_pack(m, buf);

	/* There is room: messages are taken only while there is (see serve_turn()). */
	mailbox_send(&s->mb, &to, owner, buf, len);
}

static void session_send(struct cp_server *s, const struct cp_session *ses, struct cp_msg *m)
{
	m->session = ses->id;
	send_msg(s, ses->conn, ses->service, owner_of(s, ses), m);
}

static bool has_thread(const struct cp_session *ses)
{
	return ses->kind == CP_SESSION_COMMITTING || ses->kind == CP_SESSION_CANCELLED;
}

static void session_leave(struct cp_session *ses, enum cp_session_kind kind)
{
	if (ses->kind == CP_SESSION_SOURCE)
		cp_source_close(&ses->source);
	else if (ses->kind == CP_SESSION_SINK || has_thread(ses))
		cp_sink_close(&ses->sink);
	ses->kind = kind;
	ses->generation++;
}

static void session_close(struct cp_session *ses)
{
	session_leave(ses, CP_SESSION_FREE);
}

/*
 * End a session with message |last|. What the client sent before it reads |last|, such as a PING
 * while the file was committed, must get no answer: that could be taken for the outcome.
 */
static void session_finish(struct cp_server *s, struct cp_session *ses, struct cp_msg *last)
{
	session_leave(ses, CP_SESSION_OVER);
	ses->active = s->now;
	session_send(s, ses, last);
}

static void session_abort(struct cp_server *s, struct cp_session *ses, const char *why)
{
	struct cp_msg m = { .type = CP_ABORT };

	snprintf(m.text, sizeof(m.text), "%s", why);
	session_finish(s, ses, &m);
}

/* Nobody waits for |ses| any more: its file is not to appear, unless it has. */
static void session_abandon(struct cp_session *ses)
{
	if (ses->kind != CP_SESSION_COMMITTING)
		session_close(ses);
	else if (cp_commit_cancel(&ses->commit))
		ses->kind = CP_SESSION_CANCELLED;
}

static void refuse(struct cp_server *s, const struct falcon_msg *to, const char *why)
{
	struct cp_msg m = { .type = CP_ABORT };

	snprintf(m.text, sizeof(m.text), "%s", why);
	send_msg(s, to->conn, to->src_service, 0, &m);
}

static struct cp_session *session_new(struct cp_server *s, const struct falcon_msg *m)
{
	for (int i = 0; i < CP_SESSIONS; i++) {
		struct cp_session *ses = &s->sessions[i];

		if (ses->kind != CP_SESSION_FREE)
			continue;
		if (getrandom(&ses->id, sizeof(ses->id), 0) != (ssize_t)sizeof(ses->id))
			return NULL;
		ses->id |= 1;
		ses->conn = m->conn;
		ses->service = m->src_service;
		ses->base = MAILBOX_BYTES + (uint64_t)i * CP_SESSION_BYTES;
		ses->active = ses->pinged = s->now;
		ses->ended = false;
		memset(ses->chunks, 0, sizeof(ses->chunks));
		return ses;
	}
	return NULL;
}

static void handle_open(struct cp_server *s, const struct falcon_msg *from,
			const struct cp_msg *m)
{
	struct cp_session *ses = session_new(s, from);
	struct cp_msg ready = { .type = CP_READY, .slots = CP_SLOTS };
	int rc;

	if (!ses) {
		refuse(s, from, "as many transfers as the server can do are under way");
		return;
	}
	if (m->type == CP_OPEN_PUT)
		rc = cp_sink_open(&ses->sink, s->dir, m->text, m->size, m->mode);
	else
		rc = cp_source_open(&ses->source, s->dir, m->text);
	if (rc) {
		refuse(s, from, cp_strerror(rc));
		return;
	}
	/* It has the place until the next client does: why it ends a message tells, not a refused write. */
	falcon_grant(s->f, (unsigned int)(ses - s->sessions), ses->conn, ses->service);
	ready.offset = ses->base;
	if (m->type == CP_OPEN_PUT) {
		ses->kind = CP_SESSION_SINK;
	} else {
		ses->kind = CP_SESSION_SOURCE;
		ready.size = ses->source.size;
		ready.mode = ses->source.mode;
	}
	session_send(s, ses, &ready);
}

/* The held chunk that comes next in the file, or NULL. */
static struct cp_chunk *next_chunk(struct cp_session *ses)
{
	for (int i = 0; i < CP_SLOTS; i++)
		if (ses->chunks[i].held && ses->chunks[i].offset == ses->sink.offset)
			return &ses->chunks[i];
	return NULL;
}

static bool chunk_is_valid(const struct cp_session *ses, const struct cp_msg *m)
{
	uint64_t size = ses->sink.size;

	return m->slot < CP_SLOTS && !ses->chunks[m->slot].held && m->len &&
	       m->len <= CP_SLOT_SIZE && m->offset >= ses->sink.offset && m->offset <= size &&
	       m->len <= size - m->offset;
}

static void handle_write(struct cp_server *s, struct cp_session *ses, const struct cp_msg *m)
{
	struct cp_chunk *c;

	if (!chunk_is_valid(ses, m)) {
		session_abort(s, ses, "a chunk that cannot be");
		return;
	}
	ses->chunks[m->slot] = (struct cp_chunk){ true, m->offset, m->len };
	while ((c = next_chunk(ses))) {
		uint32_t slot = (uint32_t)(c - ses->chunks);
		const uint8_t *data = (uint8_t *)falcon_arena(s->f) + ses->base;
		struct cp_msg wrote = { .type = CP_WROTE, .slot = slot };
		int rc = cp_sink_write(&ses->sink, data + (uint64_t)slot * CP_SLOT_SIZE, c->len);

		if (rc) {
			session_abort(s, ses, cp_strerror(rc));
			return;
		}
		c->held = false;
		session_send(s, ses, &wrote);
	}
}

static void handle_end(struct cp_server *s, struct cp_session *ses, const struct cp_msg *m)
{
	int rc = cp_commit_begin(&ses->commit, &ses->sink, m->digest, s->wake);

	if (rc)
		session_abort(s, ses, cp_strerror(rc));
	else
		ses->kind = CP_SESSION_COMMITTING;
}

/* The commit is over, or waited for: tell the client what it came to. */
static void report_commit(struct cp_server *s, struct cp_session *ses)
{
	struct cp_msg done = { .type = CP_DONE };
	int rc = cp_commit_end(&ses->commit);

	if (rc)
		session_abort(s, ses, cp_strerror(rc));
	else
		session_finish(s, ses, &done);
}

static void send_end(struct cp_server *s, struct cp_session *ses)
{
	struct cp_msg end = { .type = CP_END, .size = ses->source.size };

	if (ses->ended)
		return;
	ses->ended = true;
	cp_source_digest(&ses->source, end.digest);
	session_send(s, ses, &end);
}

static void handle_fill(struct cp_server *s, struct cp_session *ses, const struct cp_msg *m)
{
	struct cp_msg chunk = { .type = CP_CHUNK, .slot = m->slot };
	uint64_t left = ses->source.size - ses->source.offset;
	uint8_t *to = (uint8_t *)falcon_arena(s->f) + ses->base + (uint64_t)m->slot * CP_SLOT_SIZE;
	int rc;

	if (m->slot >= CP_SLOTS) {
		session_abort(s, ses, "a slot that cannot be");
		return;
	}
	if (!left) {
		send_end(s, ses);
		return;
	}
	chunk.offset = ses->source.offset;
	chunk.len = left < CP_SLOT_SIZE ? (uint32_t)left : CP_SLOT_SIZE;
	rc = cp_source_read(&ses->source, to, chunk.len);
	if (rc)
		session_abort(s, ses, cp_strerror(rc));
	else
		session_send(s, ses, &chunk);
}

/* The session that a message belongs to: number and sender must be right. */
static struct cp_session *session_of(struct cp_server *s, const struct falcon_msg *from,
				     uint64_t id)
{
	for (int i = 0; i < CP_SESSIONS; i++) {
		struct cp_session *ses = &s->sessions[i];

		if (ses->kind != CP_SESSION_FREE && ses->id == id && ses->conn == from->conn &&
		    ses->service == from->src_service)
			return ses;
	}
	return NULL;
}

static void handle_in_session(struct cp_server *s, struct cp_session *ses, const struct cp_msg *m)
{
	bool sink = ses->kind == CP_SESSION_SINK;

	if (ses->kind == CP_SESSION_OVER || ses->kind == CP_SESSION_CANCELLED)
		return;
	if (ses->kind == CP_SESSION_COMMITTING) {
		if (m->type == CP_ABORT)
			session_abandon(ses);
		return;
	}
	ses->pinged = s->now;
	if (m->type == CP_PING)
		return;	/* alive, but that alone does not keep a session */
	ses->active = s->now;
	if (m->type == CP_WRITE && sink)
		handle_write(s, ses, m);
	else if (m->type == CP_END && sink)
		handle_end(s, ses, m);
	else if (m->type == CP_FILL && !sink)
		handle_fill(s, ses, m);
	else if (m->type == CP_ABORT || (m->type == CP_DONE && !sink))
		session_close(ses);
	else
		session_abort(s, ses, "a message that has no place here");
}

void cp_session_message(struct cp_server *s, const struct falcon_msg *from)
{
	struct cp_session *ses;
	struct cp_msg m;
	int rc = cp_unpack(from->payload, from->len, &m);

	if (rc == -EPROTONOSUPPORT) {
		refuse(s, from, "the server speaks another version of the protocol");
		return;
	}
	if (rc)
		return;
	if (m.type == CP_OPEN_PUT || m.type == CP_OPEN_GET) {
		handle_open(s, from, &m);
		return;
	}
	ses = session_of(s, from, m.session);
	if (ses)
		handle_in_session(s, ses, &m);
	else if (m.type != CP_ABORT && m.type != CP_DONE)
		refuse(s, from, "the transfer is over at the server: it was restarted or gave up");
}

void cp_session_completed(struct cp_server *s, uint32_t owner, bool delivered)
{
	uint32_t place = owner & 0xff;
	struct cp_session *ses;

	if (!place || place > CP_SESSIONS)
		return;
	ses = &s->sessions[place - 1];
	if (ses->kind == CP_SESSION_FREE || owner_of(s, ses) != owner)
		return;
	if (ses->kind == CP_SESSION_OVER)
		session_close(ses);
	else if (!delivered && ses->kind != CP_SESSION_CANCELLED)
		session_abandon(ses);
}

static void ping_if_due(struct cp_server *s, struct cp_session *ses)
{
	struct cp_msg ping = { .type = CP_PING };

	if (s->now - ses->pinged <= CP_PING_MS * 1000000ULL)
		return;
	ses->pinged = s->now;
	session_send(s, ses, &ping);
}

static void watch_commit(struct cp_server *s, struct cp_session *ses)
{
	bool wanted = ses->kind == CP_SESSION_COMMITTING;

	if (!cp_commit_over(&ses->commit)) {
		/* The client shall know that it is the disk that it waits for. */
		if (wanted)
			ping_if_due(s, ses);
	} else if (wanted) {
		report_commit(s, ses);
	} else {
		cp_commit_end(&ses->commit);
		session_close(ses);
	}
}

static void watch(struct cp_server *s, struct cp_session *ses)
{
	bool expired = s->now - ses->active > s->cfg->timeout * 1000000000ULL;

	if (has_thread(ses)) {
		watch_commit(s, ses);
	} else if (ses->kind == CP_SESSION_OVER) {
		if (expired)
			session_close(ses);
	} else if (expired) {
		session_abort(s, ses, "the server heard nothing for too long");
	} else {
		ping_if_due(s, ses);
	}
}

void cp_session_expire(struct cp_server *s)
{
	for (int i = 0; i < CP_SESSIONS; i++)
		if (s->sessions[i].kind != CP_SESSION_FREE && s->mb.free)
			watch(s, &s->sessions[i]);
}

bool cp_session_commits(const struct cp_server *s)
{
	for (int i = 0; i < CP_SESSIONS; i++)
		if (has_thread(&s->sessions[i]))
			return true;
	return false;
}

/* End a session whose file is on its way to the disk; it is not waited for. */
static void end_commit(struct cp_server *s, struct cp_session *ses, const char *why)
{
	struct cp_msg m = { .type = CP_ABORT };

	if (!cp_commit_cancel(&ses->commit)) {
		report_commit(s, ses);
		return;
	}
	snprintf(m.text, sizeof(m.text), "%s", why);
	session_send(s, ses, &m);
	ses->kind = CP_SESSION_CANCELLED;
}

void cp_session_end_all(struct cp_server *s, const char *why)
{
	for (int i = 0; i < CP_SESSIONS; i++) {
		struct cp_session *ses = &s->sessions[i];

		if (ses->kind == CP_SESSION_COMMITTING)
			end_commit(s, ses, why);
		else if (ses->kind == CP_SESSION_SINK || ses->kind == CP_SESSION_SOURCE)
			session_abort(s, ses, why);
		if (ses->kind == CP_SESSION_OVER)
			session_close(ses);
	}
	falcon_flush(s->f);
}

void cp_session_wait(struct cp_server *s)
{
	for (int i = 0; i < CP_SESSIONS; i++) {
		struct cp_session *ses = &s->sessions[i];

		if (ses->kind != CP_SESSION_CANCELLED)
			continue;
		if (!cp_commit_over(&ses->commit))
			app_warn("%s: not complete; waiting for the disk to end what it has begun",
				 ses->sink.name);
		cp_commit_end(&ses->commit);
		session_close(ses);
	}
}
