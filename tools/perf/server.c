// SPDX-License-Identifier: BSD-2-Clause
/*
 * The measured side: lends parts of its arena to clients, and answers what they send. PUT and GET
 * do not come here at all; the agent serves them.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <string.h>

#include "perf.h"
#include "../common/mailbox.h"

enum server_const {
	MAX_LEASES = 64,
	BATCH = 64,
	WAIT_MS = 500,
};

/* A part of the arena lent to a client. */
struct lease {
	uint32_t conn;
	uint16_t service;	/* the client's */
	uint64_t offset, size;	/* size 0: not in use */
	uint64_t expires;	/* ns */
};

struct server {
	struct falcon *f;
	struct mailbox mb;
	uint64_t now;
	struct lease leases[MAX_LEASES];
};

static struct lease *lease_of(struct server *s, const struct falcon_msg *m)
{
	for (int i = 0; i < MAX_LEASES; i++) {
		struct lease *l = &s->leases[i];

		if (l->size && l->conn == m->conn && l->service == m->src_service)
			return l;
	}
	return NULL;
}

/* The lease that |size| bytes at |offset| would overlap with, or NULL. */
static const struct lease *overlapping(const struct server *s, uint64_t offset, uint64_t size)
{
	for (int i = 0; i < MAX_LEASES; i++) {
		const struct lease *l = &s->leases[i];

		if (l->size && offset < l->offset + l->size && l->offset < offset + size)
			return l;
	}
	return NULL;
}

/* First fit: try behind whatever is in the way. False if the arena has no such gap. */
static bool find_gap(const struct server *s, uint64_t size, uint64_t *offset)
{
	uint64_t limit = falcon_arena_size(s->f);
	const struct lease *l;

	*offset = MAILBOX_BYTES;
	if (size > limit)
		return false;
	while (*offset + size <= limit) {
		l = overlapping(s, *offset, size);
		if (!l)
			return true;
		*offset = l->offset + l->size;
	}
	return false;
}

static struct lease *lease_new(struct server *s, const struct falcon_msg *m, uint64_t size)
{
	struct lease *free_one = NULL;
	uint64_t offset;

	for (int i = 0; i < MAX_LEASES; i++) {
		struct lease *l = &s->leases[i];

		if (l->size && s->now > l->expires)
			l->size = 0;
		if (!l->size)
			free_one = l;
	}
	if (!free_one || !size || !find_gap(s, size, &offset))
		return NULL;
	*free_one = (struct lease){
		.conn = m->conn, .service = m->src_service, .offset = offset, .size = size,
	};
	return free_one;
}

static void reply(struct server *s, const struct falcon_msg *m, struct perf_msg msg)
{
	const struct mailbox_to to = {
		.conn = m->conn, .service = m->src_service, .tag = PERF_TAG_CONTROL,
	};

	/* No room: the client is flooding us, or is not listening. It will notice. */
	mailbox_send(&s->mb, &to, 0, &msg, sizeof(msg));
}

static void handle_hello(struct server *s, const struct falcon_msg *m, uint64_t size)
{
	struct lease *l = lease_of(s, m);

	if (l && l->size != size) {
		l->size = 0;
		l = NULL;
	}
	if (!l)
		l = lease_new(s, m, size);
	if (!l) {
		reply(s, m, perf_msg_make(PERF_REFUSE, 0, 0, 0));
		return;
	}
	l->expires = s->now + PERF_LEASE_S * 1000000000ULL;
	reply(s, m, perf_msg_make(PERF_WELCOME, l->size, l->offset, 0));
}

static void handle_message(struct server *s, const struct falcon_msg *m)
{
	struct lease *l;
	struct perf_msg msg;

	if ((m->tag & 0xff) == PERF_TAG_ECHO) {
		reply(s, m, perf_msg_make(PERF_ECHO, m->len, m->tag >> 8,
					  XXH3_64bits(m->payload, m->len)));
		return;
	}
	if (m->tag != PERF_TAG_CONTROL || !perf_msg_parse(m->payload, m->len, &msg))
		return;
	l = lease_of(s, m);
	if (msg.type == PERF_HELLO)
		handle_hello(s, m, falcon_ntoh64(msg.size));
	else if (msg.type == PERF_BYE && l)
		l->size = 0;
}

static int serve_turn(struct server *s)
{
	const struct falcon_msg *m;
	struct falcon_cqe cqes[BATCH];
	uint32_t owner;
	int n = falcon_poll(s->f, cqes, BATCH);

	for (int i = 0; i < n; i++)
		mailbox_completed(&s->mb, &cqes[i], &owner);
	s->now = app_now();
	/* What has no room to be answered waits in the ring, and its sender with it. */
	while (s->mb.free && (m = falcon_message(s->f))) {
		handle_message(s, m);
		falcon_message_done(s->f);
		n = n < 0 ? n : n + 1;
	}
	if (n == 0)
		n = falcon_wait(s->f, WAIT_MS);
	return n;
}

int perf_serve(const struct perf_config *cfg)
{
	static struct server s;
	struct falcon_attr attr = {
		.service = cfg->service,
		.arena_size = MAILBOX_BYTES + cfg->arena,
		.remote_offset = MAILBOX_BYTES,
		.remote_len = cfg->arena,
		.remote_write = 1,
		.remote_read = 1,
	};
	uint64_t end = cfg->seconds ? app_now() + cfg->seconds * 1000000000ULL : UINT64_MAX;
	int rc = falcon_open(&attr, &s.f);

	if (rc) {
		app_warn("%s", falcon_error(NULL));
		return rc;
	}
	mailbox_init(&s.mb, s.f, 0);
	while (!app_stop && app_now() < end && rc != -EPIPE)
		rc = serve_turn(&s);
	if (rc == -EPIPE)
		app_warn("the agent is gone");
	falcon_close(s.f);
	return rc == -EPIPE ? rc : 0;
}
