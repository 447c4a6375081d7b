// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a falcon-cp transfer ends, at the server and at the client, over a stub of libfalcon: the
 * file may take long to commit, and the client then asks whether there is still a server.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../tools/cp/client.h"
#include "../../tools/cp/server.h"

enum {
	CONN = 7,
	CLIENT = 40,		/* its service */
	SENT_MAX = 16,
	TIMEOUT = 30,		/* seconds */
	ARENA = MAILBOX_BYTES + CP_SESSIONS * CP_SESSION_BYTES,
};

static struct {
	uint8_t *arena;
	uint64_t now;			/* ns */
	struct cp_msg sent[SENT_MAX];
	struct falcon_cqe done[SENT_MAX];	/* completions of the same */
	unsigned int nsent, completed;
	/* Client only: what the server says. */
	struct falcon_msg in[SENT_MAX];
	unsigned int nin, read;
	const enum cp_type *answers;	/* to END; ends with 0 */
} env;

volatile sig_atomic_t app_stop;

uint64_t app_now(void)
{
	return env.now;
}

void app_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

const char *app_failure(const struct falcon_cqe *cqe, const char *conn)
{
	(void)cqe;
	return conn;
}

int app_connect(struct falcon *f, const char *name, int wait_ms, struct falcon_conn_info *info)
{
	(void)f;
	(void)name;
	(void)wait_ms;
	info->conn = CONN;
	info->segment = 1024;
	return 0;
}

int falcon_open(const struct falcon_attr *attr, struct falcon **f)
{
	assert_true(attr->arena_size <= ARENA);
	*f = (struct falcon *)&env;
	return 0;
}

void falcon_close(struct falcon *f)
{
	(void)f;
}

const char *falcon_error(const struct falcon *f)
{
	(void)f;
	return "an error of the stub";
}

void *falcon_arena(struct falcon *f)
{
	(void)f;
	return env.arena;
}

int falcon_grant(struct falcon *f, unsigned int slot, uint32_t conn, uint16_t service)
{
	(void)f;
	(void)slot;
	(void)conn;
	(void)service;
	return 0;
}

void falcon_flush(struct falcon *f)
{
	(void)f;
}

/* The client reads |type| of the server next. */
static void server_says(enum cp_type type)
{
	const struct cp_msg m = { .type = type, .session = 1, .slots = CP_SLOTS };
	struct falcon_msg *in = &env.in[env.nin++];

	in->conn = CONN;
	in->src_service = APP_CP_SERVICE;
	in->len = (uint16_t)cp_pack(&m, in->payload);
}

static void answer_client(enum cp_type type)
{
	if (type == CP_OPEN_PUT)
		server_says(CP_READY);
	for (const enum cp_type *a = env.answers; type == CP_END && *a; a++)
		server_says(*a);
}

int falcon_submit(struct falcon *f, const struct falcon_sqe *sqe)
{
	struct cp_msg *m = &env.sent[env.nsent];

	(void)f;
	assert_true(env.nsent < SENT_MAX);
	assert_int_equal(cp_unpack(env.arena + sqe->local, sqe->len, m), 0);
	env.done[env.nsent++] = (struct falcon_cqe){ .cookie = sqe->cookie, .status = kCmplAck };
	if (env.answers)
		answer_client(m->type);
	return 0;
}

int falcon_poll(struct falcon *f, struct falcon_cqe *cqes, int max)
{
	int n = 0;

	(void)f;
	while (n < max && env.completed < env.nsent)
		cqes[n++] = env.done[env.completed++];
	return n;
}

const struct falcon_msg *falcon_message(struct falcon *f)
{
	(void)f;
	return env.read < env.nin ? &env.in[env.read] : NULL;
}

void falcon_message_done(struct falcon *f)
{
	(void)f;
	env.read++;
}

int falcon_wait(struct falcon *f, int timeout_ms)
{
	(void)f;
	env.now += (uint64_t)timeout_ms * 1000000;
	return 0;
}

/* A server with an upload of an empty file, all of which was said but END. */
struct upload {
	char dir[64];
	struct cp_config cfg;
	struct cp_server s;
	uint64_t session;
};

static void client_says(struct upload *u, enum cp_type type)
{
	struct cp_msg m = { .type = type, .session = u->session };
	struct falcon_msg msg = { .conn = CONN, .src_service = CLIENT };
	XXH128_canonical_t empty;

	if (type == CP_OPEN_PUT) {
		m.mode = 0644;
		strcpy(m.text, "f");
	} else if (type == CP_END) {
		XXH128_canonicalFromHash(&empty, XXH3_128bits("", 0));
		memcpy(m.digest, empty.digest, sizeof(m.digest));
	}
	msg.len = (uint16_t)cp_pack(&m, msg.payload);
	cp_session_message(&u->s, &msg);
}

/* Completes all that the server sent. */
static void complete(struct upload *u, bool delivered)
{
	uint32_t owner;

	while (env.completed < env.nsent) {
		assert_true(mailbox_completed(&u->s.mb, &env.done[env.completed++], &owner));
		cp_session_completed(&u->s, owner, delivered);
	}
}

static unsigned int places_taken(const struct upload *u)
{
	unsigned int n = 0;

	for (int i = 0; i < CP_SESSIONS; i++)
		n += u->s.sessions[i].kind != CP_SESSION_FREE;
	return n;
}

static int set_up(void **state)
{
	struct upload *u = calloc(1, sizeof(*u));

	memset(&env, 0, sizeof(env));
	env.arena = calloc(1, ARENA);
	env.now = 1000000000;
	strcpy(u->dir, "/tmp/cp_end.XXXXXX");
	if (!mkdtemp(u->dir))
		return -1;
	u->cfg.timeout = TIMEOUT;
	u->s.cfg = &u->cfg;
	u->s.now = env.now;
	u->s.dir = open(u->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mailbox_init(&u->s.mb, (struct falcon *)&env, 0);
	*state = u;
	return 0;
}

static int tear_down(void **state)
{
	struct upload *u = *state;

	cp_session_end_all(&u->s, "the end");
	assert_int_equal(places_taken(u), 0);
	unlinkat(u->s.dir, "f", 0);
	close(u->s.dir);
	assert_int_equal(rmdir(u->dir), 0);
	free(env.arena);
	free(u);
	return 0;
}

static void start(struct upload *u)
{
	client_says(u, CP_OPEN_PUT);
	assert_int_equal(env.sent[0].type, CP_READY);
	u->session = env.sent[0].session;
	complete(u, true);
}

/* A PING that was sent while the file was committed does not turn success into failure. */
static void server__ping_behind_end_has_no_answer(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	assert_int_equal(env.nsent, 2);
	assert_int_equal(env.sent[1].type, CP_DONE);
	client_says(u, CP_PING);
	assert_int_equal(env.nsent, 2);
}

/* The first reason counts: what the client said before it read of it adds none. */
static void server__abort_is_said_once(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_FILL);	/* of a download */
	assert_int_equal(env.sent[1].type, CP_ABORT);
	client_says(u, CP_WRITE);
	client_says(u, CP_END);
	assert_int_equal(env.nsent, 2);
}

/* Once the client has been told, a session is unknown, and whoever names it hears so. */
static void server__forgets_when_the_end_was_delivered(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	assert_int_equal(places_taken(u), 1);
	complete(u, true);
	assert_int_equal(places_taken(u), 0);
	client_says(u, CP_PING);
	assert_int_equal(env.nsent, 3);
	assert_int_equal(env.sent[2].type, CP_ABORT);
}

static void server__forgets_a_client_that_is_gone(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	complete(u, false);
	assert_int_equal(places_taken(u), 0);
}

/* A client that does not take its messages keeps no place for longer than any other. */
static void server__forgets_after_the_timeout(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	u->s.now += TIMEOUT * 1000000000ULL;
	cp_session_expire(&u->s);
	assert_int_equal(places_taken(u), 1);
	u->s.now++;
	cp_session_expire(&u->s);
	assert_int_equal(places_taken(u), 0);
	assert_int_equal(env.nsent, 2);
	complete(u, true);
}

/* Upload an empty file; the server answers END with |answers|. The exit status. */
static int upload(struct upload *u, const enum cp_type *answers)
{
	struct cp_config *cfg = &u->cfg;
	int fd = openat(u->s.dir, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	close(fd);
	env.answers = answers;
	cfg->service = APP_CP_SERVICE;
	cfg->upload = true;
	strcpy(cfg->conn, "b");
	strcpy(cfg->remote, "f");
	snprintf(cfg->local, sizeof(cfg->local), "%s/f", u->dir);
	return cp_client(cfg);
}

/* DONE is the outcome, whatever comes behind it. */
static void client__done_is_done(void **state)
{
	static const enum cp_type answers[] = { CP_DONE, CP_ABORT, 0 };

	assert_int_equal(upload(*state, answers), 0);
	assert_int_equal(env.sent[env.nsent - 1].type, CP_END);
}

static void client__abort_is_failure(void **state)
{
	static const enum cp_type answers[] = { CP_ABORT, CP_DONE, 0 };

	assert_int_equal(upload(*state, answers), 1);
}

static void client__no_answer_is_failure(void **state)
{
	static const enum cp_type answers[] = { 0 };

	((struct upload *)*state)->cfg.timeout = 3;
	assert_int_equal(upload(*state, answers), 1);
	assert_int_equal(env.sent[env.nsent - 2].type, CP_PING);
	assert_int_equal(env.sent[env.nsent - 1].type, CP_ABORT);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(server__ping_behind_end_has_no_answer),
		CASE(server__abort_is_said_once),
		CASE(server__forgets_when_the_end_was_delivered),
		CASE(server__forgets_a_client_that_is_gone),
		CASE(server__forgets_after_the_timeout),
		CASE(client__done_is_done),
		CASE(client__abort_is_failure),
		CASE(client__no_answer_is_failure),
	};

	return unit_run(tests);
}
