// SPDX-License-Identifier: BSD-2-Clause
/* falcon-cp's server: its loop, and the agent's coming and going. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum loop_const {
	BATCH = 64,
	WAIT_MS = 500,
	REATTACH_MS = 100,
	FAREWELL_MS = 500,
	STARVED_MS = 1,		/* messages are there, but clients do not take the answers */
};

static void pause_ms(int ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000L };

	nanosleep(&pause, NULL);
}

static int attach(struct cp_server *s)
{
	const uint64_t slots = (uint64_t)CP_SESSIONS * CP_SESSION_BYTES;
	const struct falcon_attr attr = {
		.service = s->cfg->service,
		.arena_size = MAILBOX_BYTES + slots,
		.remote_offset = MAILBOX_BYTES,
		.remote_len = slots,
		.remote_write = 1,
		.remote_read = 1,
	};
	int rc = falcon_open(&attr, &s->f);

	snprintf(s->why, sizeof(s->why), "%s", rc ? falcon_error(NULL) : "");
	if (rc)
		return rc;
	/* Clients are not to see or change each other's files. */
	rc = falcon_divide(s->f, CP_SESSION_BYTES);
	if (rc) {
		snprintf(s->why, sizeof(s->why), "%s", falcon_error(s->f));
		falcon_close(s->f);
		s->f = NULL;
		return rc;
	}
	mailbox_init(&s->mb, s->f, 0);
	return 0;
}

static int take_completions(struct cp_server *s)
{
	struct falcon_cqe cqes[BATCH];
	uint32_t owner;
	int n = falcon_poll(s->f, cqes, BATCH);

	for (int i = 0; i < n; i++)
		if (mailbox_completed(&s->mb, &cqes[i], &owner))
			cp_session_completed(s, owner, cqes[i].status == kCmplAck);
	return n;
}

/* Wait for the agent, and for commits that are under way. 0, or a negative errno of falcon_wait(). */
static int wait_for_more(struct cp_server *s)
{
	struct pollfd p[] = {
		{ .fd = falcon_fd(s->f), .events = POLLIN },
		{ .fd = s->wake, .events = POLLIN },
	};
	eventfd_t times;

	if (!cp_session_commits(s))
		return falcon_wait(s->f, WAIT_MS);
	if (!falcon_arm(s->f))
		poll(p, 2, WAIT_MS);
	eventfd_read(s->wake, &times);
	return 0;
}

static int serve_turn(struct cp_server *s)
{
	const struct falcon_msg *m;
	int n = take_completions(s);

	s->now = app_now();
	/* What could not be answered waits in the ring, and its sender with it. */
	while (s->mb.free >= CP_REPLIES_MAX && (m = falcon_message(s->f)) && !app_stop) {
		cp_session_message(s, m);
		falcon_message_done(s->f);
		if (n >= 0)
			n++;
	}
	cp_session_expire(s);
	if (!n && s->mb.free < CP_REPLIES_MAX)
		pause_ms(STARVED_MS);
	return n ? n : wait_for_more(s);
}

/* The agent has gone: end everything, and attach to the next one when it is there. */
static void reattach(struct cp_server *s)
{
	app_warn("the agent is gone; waiting for its return");
	cp_session_end_all(s, "the agent is gone");
	falcon_close(s->f);
	s->f = NULL;
	while (!app_stop && attach(s))
		pause_ms(REATTACH_MS);
	if (s->f)
		app_warn("attached again");
}

/* Tell clients that we stop, and give the agent a moment to pass it on. */
static void farewell(struct cp_server *s)
{
	uint64_t until = app_now() + FAREWELL_MS * 1000000ULL;

	cp_session_end_all(s, "the server was stopped");
	while (s->mb.free < MAILBOX_SLOTS && app_now() < until)
		if (take_completions(s) < 0 || falcon_wait(s->f, 10) < 0)
			break;
}

static void serve(struct cp_server *s)
{
	while (!app_stop)
		if (serve_turn(s) == -EPIPE)
			reattach(s);
	if (s->f)
		farewell(s);
	cp_session_wait(s);
	falcon_close(s->f);
}

int cp_serve(const struct cp_config *cfg)
{
	static struct cp_server s;
	int rc;

	s.cfg = cfg;
	s.dir = open(cfg->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.dir < 0) {
		app_warn("%s: %s", cfg->dir, strerror(errno));
		return 1;
	}
	s.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s.wake < 0) {
		app_warn("eventfd: %s", strerror(errno));
		close(s.dir);
		return 1;
	}
	rc = attach(&s);
	if (rc)
		app_warn("%s", s.why);
	else
		serve(&s);
	close(s.wake);
	close(s.dir);
	return rc ? 1 : 0;
}
