// SPDX-License-Identifier: BSD-2-Clause
/* falcon-cp's client: what both directions have in common. */
#include "client.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum client_const {
	BATCH = 16,
	CONNECT_MS = 3000,
	WAIT_MS = 100,
	FAREWELL_MS = 500,
};

void cp_fail(struct cp_copy *c, const char *fmt, ...)
{
	char text[PATH_MAX + 256];
	va_list ap;

	if (c->failed)
		return;
	c->failed = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cp_progress_end();
	app_warn("%s", text);
}

void cp_say(struct cp_copy *c, struct cp_msg *m)
{
	const struct mailbox_to to = { .conn = c->info.conn, .service = c->cfg->service };
	uint8_t buf[CP_MSG_MAX];
	uint32_t len;

	m->session = c->session;
	len = cp_pack(m, buf);
	if (mailbox_send(&c->mb, &to, 0, buf, len))
		cp_fail(c, "%s", falcon_error(c->f));
}

void *cp_slot_data(struct cp_copy *c, uint32_t i)
{
	return (uint8_t *)falcon_arena(c->f) + MAILBOX_BYTES + (uint64_t)i * CP_SLOT_SIZE;
}

void cp_move(struct cp_copy *c, uint32_t i)
{
	const struct falcon_sqe sqe = {
		.op = c->cfg->upload ? FALCON_RAW_PUT : FALCON_RAW_GET,
		.conn = c->info.conn,
		.dst_service = c->cfg->service,
		.local = MAILBOX_BYTES + (uint64_t)i * CP_SLOT_SIZE,
		.remote = c->remote + (uint64_t)i * CP_SLOT_SIZE,
		.len = c->slot[i].len,
		.cookie = i,
	};

	if (falcon_submit(c->f, &sqe))
		cp_fail(c, "%s", falcon_error(c->f));
}

static void handle_ready(struct cp_copy *c, const struct cp_msg *m)
{
	if (c->slots || !m->slots) {
		cp_fail(c, "the server sent a message that has no place here");
		return;
	}
	c->session = m->session;
	c->remote = m->offset;
	c->slots = m->slots < CP_SLOTS ? m->slots : CP_SLOTS;
	c->dir->start(c, m);
}

/* What the peer says goes to a terminal: nothing but printable characters. */
static void handle_abort(struct cp_copy *c, struct cp_msg *m)
{
	for (char *p = m->text; *p; p++)
		if (!isprint((unsigned char)*p))
			*p = '?';
	cp_fail(c, "%s:%s: %s", c->cfg->conn, c->cfg->remote, m->text);
}

static void handle_message(struct cp_copy *c, const struct falcon_msg *from)
{
	struct cp_msg m;

	if (from->conn != c->info.conn || from->src_service != c->cfg->service)
		return;
	if (cp_unpack(from->payload, from->len, &m)) {
		cp_fail(c, "the server sent something that is not of this protocol's version");
		return;
	}
	/* Once it has all of the file: its disk is not done with that. */
	if (m.type == CP_PING && !(c->cfg->upload && c->ended))
		return;
	c->progress = app_now();
	if (m.type == CP_PING)
		return;
	if (m.type == CP_ABORT)
		handle_abort(c, &m);
	else if (m.type == CP_READY)
		handle_ready(c, &m);
	else if (c->slots && m.session == c->session)
		c->dir->message(c, &m);
}

static void handle_completion(struct cp_copy *c, const struct falcon_cqe *cqe)
{
	uint32_t owner;
	bool mail = mailbox_completed(&c->mb, cqe, &owner);

	if (cqe->status == kCmplTargetNackCIE && cqe->ulp_code == FALCON_RAW_NO_SERVICE)
		cp_fail(c, "no falcon-cp server at the far end of \"%s\" (service %u)",
			c->cfg->conn, c->cfg->service);
	else if (cqe->status != kCmplAck)
		cp_fail(c, "%s", app_failure(cqe, c->cfg->conn));
	if (mail || c->failed)
		return;
	c->progress = app_now();
	c->dir->moved(c, (uint32_t)cqe->cookie);
}

static int take_completions(struct cp_copy *c)
{
	struct falcon_cqe cqes[BATCH];
	int n = falcon_poll(c->f, cqes, BATCH);

	for (int i = 0; i < n && !c->failed; i++)
		handle_completion(c, &cqes[i]);
	return n;
}

static int take_messages(struct cp_copy *c)
{
	const struct falcon_msg *m;
	int n = 0;

	/* Behind DONE may come what the server says to a PING for a transfer that is over. */
	for (; !c->done && !c->failed && (m = falcon_message(c->f)); n++) {
		handle_message(c, m);
		falcon_message_done(c->f);
	}
	return n;
}

/* Nothing has come for a while: find out whether there is still someone, but not for ever. */
static void watch(struct cp_copy *c)
{
	uint64_t now = app_now(), silent = now - c->progress;
	struct cp_msg ping = { .type = CP_PING };

	if (silent > c->cfg->timeout * 1000000000ULL) {
		cp_fail(c, "\"%s\": no progress for %llu s, the copy is given up", c->cfg->conn,
			(unsigned long long)c->cfg->timeout);
	} else if (c->slots && silent > CP_PING_MS * 1000000ULL &&
		   now - c->pinged > CP_PING_MS * 1000000ULL) {
		c->pinged = now;
		cp_say(c, &ping);
	}
}

static void turn(struct cp_copy *c)
{
	int n = take_completions(c);

	if (n >= 0)
		n += take_messages(c);
	if (c->done)
		return;
	if (n == 0)
		n = falcon_wait(c->f, WAIT_MS);
	if (n == -EPIPE)
		cp_fail(c, "%s", falcon_error(c->f));
	if (app_stop)
		cp_fail(c, "interrupted");
	watch(c);
	cp_progress(c->cfg->upload ? c->cfg->local : c->cfg->remote, c->copied, c->size, c->begin);
}

static void say_open(struct cp_copy *c)
{
	struct cp_msg m = { .type = c->cfg->upload ? CP_OPEN_PUT : CP_OPEN_GET };

	if (c->cfg->upload) {
		m.size = c->size;
		m.mode = c->source.mode;
	}
	snprintf(m.text, sizeof(m.text), "%s", c->cfg->remote);
	if (sizeof(struct cp_wire) + strlen(m.text) > c->info.segment)
		cp_fail(c, "%s: the name does not fit one packet", c->cfg->remote);
	else
		cp_say(c, &m);
}

/* Whatever it came to, the server is to know; give the agent a moment to tell it. */
static void farewell(struct cp_copy *c)
{
	uint64_t until = app_now() + FAREWELL_MS * 1000000ULL;
	struct cp_msg m = { .type = CP_ABORT, .text = "the client gave up" };
	struct falcon_cqe cqes[BATCH];
	uint32_t owner;
	int n;

	if (!c->done && c->slots)
		cp_say(c, &m);
	while (c->mb.free < MAILBOX_SLOTS && app_now() < until) {
		n = falcon_poll(c->f, cqes, BATCH);
		for (int i = 0; i < n; i++)
			mailbox_completed(&c->mb, &cqes[i], &owner);
		if (n < 0 || (n == 0 && falcon_wait(c->f, 10) < 0))
			return;
	}
}

static void copy(struct cp_copy *c)
{
	c->begin = c->progress = app_now();
	say_open(c);
	while (!c->done && !c->failed)
		turn(c);
	cp_progress_end();
	if (c->done && !c->failed)
		cp_report(c->cfg, c->copied, app_now() - c->begin, c->digest);
	farewell(c);
}

static int open_source(struct cp_copy *c)
{
	int rc = cp_source_open(&c->source, AT_FDCWD, c->cfg->local);

	if (rc) {
		app_warn("%s: %s", c->cfg->local, cp_strerror(rc));
		return rc;
	}
	c->file_open = true;
	c->size = c->source.size;
	return 0;
}

static int open_agent(struct cp_copy *c)
{
	const struct falcon_attr attr = {
		.arena_size = MAILBOX_BYTES + CP_SLOTS * CP_SLOT_SIZE,
	};

	if (falcon_open(&attr, &c->f)) {
		app_warn("%s", falcon_error(NULL));
		return -1;
	}
	mailbox_init(&c->mb, c->f, 0);
	return app_connect(c->f, c->cfg->conn, CONNECT_MS, &c->info);
}

static void close_file(struct cp_copy *c)
{
	if (!c->file_open)
		return;
	if (c->cfg->upload)
		cp_source_close(&c->source);
	else
		cp_sink_close(&c->sink);
}

int cp_client(const struct cp_config *cfg)
{
	struct cp_copy *c = calloc(1, sizeof(*c));
	bool good = false;

	if (!c)
		return 1;
	c->cfg = cfg;
	c->dir = cfg->upload ? &cp_upload : &cp_download;
	if ((!cfg->upload || !open_source(c)) && !open_agent(c)) {
		copy(c);
		good = c->done && !c->failed;
	}
	close_file(c);
	falcon_close(c->f);
	free(c);
	return good ? 0 : 1;
}
