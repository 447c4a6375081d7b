// SPDX-License-Identifier: BSD-2-Clause
/*
 * The measuring side. Each of |depth| slots has an operation under way, and starts the next when it
 * has ended. With --verify an operation is followed by its check: a push is read back, a message's
 * digest comes back, a pull is compared with what was put there before the run.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"
#include "../common/mailbox.h"

enum client_const {
	CONNECT_MS = 3000,
	BATCH = 64,		/* completions taken at once */
	CHECKING = 1 << 16,	/* in the cookie: the operation is a check, not a measured one */
};

struct slot {
	uint64_t started;	/* ns */
	uint64_t seq;		/* which operation; seed of its pattern */
	bool completed;		/* the measured operation has ended ... */
	bool echoed;		/* ... and its echo has come: verified messages */
	bool good;		/* the echo's digest was right */
};

struct client {
	const struct perf_config *cfg;
	struct perf_result *res;
	struct falcon *f;
	struct mailbox mb;
	uint8_t *arena;
	uint64_t stride;	/* bytes between slots */
	uint64_t check_base;	/* bytes into the arena: where pushes are read back to */
	uint64_t remote;	/* bytes into the server's arena: our part */
	uint64_t begun, active;	/* operations begun; slots busy */
	uint64_t renewed;	/* ns: when the lease was */
	uint64_t progress;	/* ns: last completion */
	bool welcome;
	int error;
	uint32_t idle;		/* slots with nothing under way */
	uint16_t idle_stack[PERF_MAX_DEPTH];
	struct slot slots[PERF_MAX_DEPTH];
};

static uint64_t slot_offset(const struct client *c, uint32_t i)
{
	return MAILBOX_BYTES + i * c->stride;
}

static int submit(struct client *c, uint32_t i, enum perf_op op, uint64_t local, uint64_t cookie)
{
	struct falcon_sqe sqe = {
		.op = (__u8)op,
		.dst_service = c->cfg->service,
		.conn = c->res->info.conn,
		.local = local,
		.remote = c->remote + i * c->stride,
		.len = (__u32)c->cfg->size,
		.cookie = cookie,
	};
	int rc;

	if (op == PERF_SEND)
		sqe.remote = c->cfg->verify ? PERF_TAG_ECHO | (uint64_t)i << 8 : PERF_TAG_DATA;
	rc = falcon_submit(c->f, &sqe);
	if (rc) {
		app_warn("%s", falcon_error(c->f));
		c->error = rc;
	}
	return rc;
}

/* Begin slot |i|'s next operation. */
static void slot_start(struct client *c, uint32_t i, uint64_t now)
{
	const struct perf_config *cfg = c->cfg;
	struct slot *s = &c->slots[i];
	uint8_t *data = c->arena + slot_offset(c, i);

	s->seq = cfg->op == PERF_PULL ? i : c->begun;
	s->completed = s->echoed = false;
	if (cfg->verify && cfg->op == PERF_PULL)
		memset(data, 0, cfg->size);
	else if (cfg->verify)
		perf_pattern_fill(data, cfg->size, s->seq);
	s->started = now;
	if (!submit(c, i, cfg->op, slot_offset(c, i), i)) {
		c->begun++;
		c->active++;
	}
}

static void slot_end(struct client *c, uint32_t i, bool good)
{
	c->idle_stack[c->idle++] = (uint16_t)i;
	c->active--;
	if (good)
		c->res->done++;
	else
		c->res->mismatches++;
}

/* The measured operation of slot |i| has ended well: check it, if that is asked for. */
static void slot_completed(struct client *c, uint32_t i)
{
	struct slot *s = &c->slots[i];
	const uint8_t *data = c->arena + slot_offset(c, i);
	uint64_t check = c->check_base + i * c->stride;

	s->completed = true;
	if (!c->cfg->verify)
		slot_end(c, i, true);
	else if (c->cfg->op == PERF_PULL)
		slot_end(c, i, perf_pattern_check(data, c->cfg->size, s->seq));
	else if (c->cfg->op == PERF_PUSH)
		submit(c, i, PERF_PULL, check, i | CHECKING);
	else if (s->echoed)
		slot_end(c, i, s->good);
}

static void slot_checked(struct client *c, uint32_t i)
{
	const uint8_t *back = c->arena + c->check_base + i * c->stride;

	slot_end(c, i, perf_pattern_check(back, c->cfg->size, c->slots[i].seq));
}

static void handle_echo(struct client *c, uint64_t n, uint64_t digest)
{
	uint32_t i = (uint32_t)n;
	struct slot *s;

	if (n >= c->cfg->depth || c->slots[i].echoed)
		return;
	s = &c->slots[i];
	s->echoed = true;
	s->good = digest == XXH3_64bits(c->arena + slot_offset(c, i), c->cfg->size);
	if (s->completed)
		slot_end(c, i, s->good);
}

static int handle_messages(struct client *c)
{
	const struct falcon_msg *m;
	int n = 0;

	for (; (m = falcon_message(c->f)); falcon_message_done(c->f), n++) {
		struct perf_msg msg;

		if (!perf_msg_parse(m->payload, m->len, &msg))
			continue;
		if (msg.type == PERF_WELCOME) {
			c->remote = falcon_ntoh64(msg.offset);
			c->welcome = true;
		} else if (msg.type == PERF_REFUSE) {
			app_warn("the server has less than %llu bytes left (its --arena)",
				 (unsigned long long)(c->stride * c->cfg->depth));
			c->error = -ENOSPC;
		} else if (msg.type == PERF_ECHO) {
			handle_echo(c, falcon_ntoh64(msg.offset), falcon_ntoh64(msg.digest));
		}
	}
	return n;
}

static void handle_completion(struct client *c, const struct falcon_cqe *cqe, uint64_t now,
			      bool measure)
{
	uint32_t owner, i = (uint32_t)cqe->cookie & (CHECKING - 1);
	bool mail = mailbox_completed(&c->mb, cqe, &owner);

	if (cqe->status != kCmplAck) {
		if (!c->error)
			app_warn("%s", app_failure(cqe, c->cfg->conn));
		c->error = -EIO;
	} else if (mail) {
		return;
	} else if (cqe->cookie & CHECKING) {
		slot_checked(c, i);
	} else if (!measure) {
		c->active--;
	} else {
		histogram_add(&c->res->latency, now - c->slots[i].started);
		slot_completed(c, i);
	}
}

/* One look at everything; waits up to |wait_ms| if there is nothing. Returns how much there was. */
static int turn(struct client *c, int wait_ms, bool measure)
{
	struct falcon_cqe cqes[BATCH];
	int n = falcon_poll(c->f, cqes, BATCH);
	uint64_t now = app_now();

	for (int i = 0; i < n; i++)
		handle_completion(c, &cqes[i], now, measure);
	if (n >= 0)
		n += handle_messages(c);
	if (n > 0)
		c->progress = now;
	else if (n == 0 && now - c->progress > c->cfg->timeout * 1000000000ULL)
		n = -ETIMEDOUT;
	if (n == 0 && !c->error)
		n = falcon_wait(c->f, wait_ms) == -EPIPE ? -EPIPE : 0;
	if (n < 0 && !c->error) {
		app_warn("%s", n == -ETIMEDOUT ? "no answer from the far side"
					       : "the agent is gone");
		c->error = n;
	}
	return n;
}

static int say(struct client *c, enum perf_msg_type type)
{
	struct perf_msg msg = perf_msg_make(type, c->stride * c->cfg->depth, 0, 0);
	const struct mailbox_to to = {
		.conn = c->res->info.conn,
		.service = c->cfg->service,
		.tag = PERF_TAG_CONTROL,
	};

	c->renewed = app_now();
	return mailbox_send(&c->mb, &to, 0, &msg, sizeof(msg));
}

/* Get our part of the server's arena. */
static int hello(struct client *c)
{
	c->progress = app_now();
	if (say(c, PERF_HELLO))
		return -EIO;
	while (!c->welcome && !c->error && !app_stop)
		turn(c, 100, false);
	return app_stop && !c->error ? -EINTR : c->error;
}

/* Put there what verified pulls will get. */
static int prepare_pull(struct client *c)
{
	for (uint32_t i = 0; i < c->cfg->depth && !c->error; i++) {
		perf_pattern_fill(c->arena + slot_offset(c, i), c->cfg->size, i);
		if (!submit(c, i, PERF_PUSH, slot_offset(c, i), i))
			c->active++;
	}
	while (c->active && !c->error && !app_stop)
		turn(c, 100, false);
	return c->error;
}

static bool over(const struct client *c, uint64_t now, uint64_t end)
{
	return app_stop || now >= end || (c->cfg->count && c->begun >= c->cfg->count);
}

static void measure(struct client *c)
{
	uint64_t begin = app_now(), end = UINT64_MAX, now = begin;

	if (c->cfg->seconds)
		end = begin + c->cfg->seconds * 1000000000ULL;
	c->progress = begin;
	for (uint32_t i = 0; i < c->cfg->depth; i++)
		c->idle_stack[c->idle++] = (uint16_t)i;
	while (!c->error && (c->active || !over(c, now, end))) {
		while (c->idle && !over(c, now, end) && !c->error)
			slot_start(c, c->idle_stack[--c->idle], now);
		turn(c, 100, true);
		now = app_now();
		if (now - c->renewed > PERF_RENEW_S * 1000000000ULL)
			say(c, PERF_HELLO);
	}
	c->res->elapsed = c->progress - begin;
}

/* Give our part of the server's arena back, and let the message leave. */
static void goodbye(struct client *c)
{
	uint64_t until = app_now() + 1000000000ULL;

	if (c->error || say(c, PERF_BYE))
		return;
	while (c->mb.free < MAILBOX_SLOTS && !c->error && app_now() < until)
		turn(c, 10, false);
}

static int check_size(const struct client *c)
{
	uint64_t most = c->res->info.segment < FALCON_MSG_MAX ? c->res->info.segment
							      : FALCON_MSG_MAX;

	if (c->cfg->op != PERF_SEND || c->cfg->size <= most)
		return 0;
	app_warn("a message on \"%s\" is at most %llu bytes", c->cfg->conn,
		 (unsigned long long)most);
	return -EMSGSIZE;
}

static int open_agent(struct client *c)
{
	struct falcon_attr attr = { 0 };
	uint64_t data;
	int rc;

	c->stride = (c->cfg->size + 63) & ~63ULL;
	data = c->stride * c->cfg->depth;
	c->check_base = MAILBOX_BYTES + data;
	attr.arena_size = MAILBOX_BYTES + 2 * data;
	rc = falcon_open(&attr, &c->f);
	if (rc) {
		app_warn("%s", falcon_error(NULL));
		return rc;
	}
	c->arena = falcon_arena(c->f);
	mailbox_init(&c->mb, c->f, 0);
	rc = app_connect(c->f, c->cfg->conn, CONNECT_MS, &c->res->info);
	return rc ? rc : check_size(c);
}

int perf_client(const struct perf_config *cfg, struct perf_result *res)
{
	struct client *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->cfg = cfg;
	c->res = res;
	rc = open_agent(c);
	if (!rc)
		rc = hello(c);
	if (!rc && cfg->verify && cfg->op == PERF_PULL)
		rc = prepare_pull(c);
	if (!rc) {
		measure(c);
		goodbye(c);
		rc = c->error;
	}
	falcon_close(c->f);
	free(c);
	return rc;
}
