// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a falcon-cp transfer ends, at the server and at the client, over a stub of libfalcon: the
 * file may take long to commit, and the client then asks whether there is still a server. fsync() is this
 * file's: it takes until it is let go.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
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
	unsigned int pings;		/* that come, one a second, the last of them as DONE */
	uint64_t ping_at;		/* ns, when the next comes */
	bool mute;			/* READY does not come */
} env;

/* The disk: while it is |busy|, fsync() waits. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool busy;
	int error;			/* errno that fsync() ends with; 0: none */
} disk = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
	(void)fd;
	pthread_mutex_lock(&disk.lock);
	while (disk.busy)
		pthread_cond_wait(&disk.done, &disk.lock);
	pthread_mutex_unlock(&disk.lock);
	errno = disk.error;
	return disk.error ? -1 : 0;
}

static void disk_is_done(void)
{
	pthread_mutex_lock(&disk.lock);
	disk.busy = false;
	pthread_cond_broadcast(&disk.done);
	pthread_mutex_unlock(&disk.lock);
}

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
	if (type == CP_OPEN_PUT && !env.mute)
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
	if (env.pings && env.now >= env.ping_at) {
		env.ping_at += CP_PING_MS * 1000000ULL;
		server_says(--env.pings ? CP_PING : CP_DONE);
	}
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

/* Let the disk be done with what it has, and the server find that out. */
static void settle(struct upload *u)
{
	struct pollfd p = { .fd = u->s.wake, .events = POLLIN };
	eventfd_t times;

	disk_is_done();
	assert_int_equal(poll(&p, 1, -1), 1);
	eventfd_read(u->s.wake, &times);
	cp_session_expire(&u->s);
}

/* Time passes, in which nobody says anything. */
static void pass(struct upload *u, uint64_t ms)
{
	u->s.now += ms * 1000000;
	cp_session_expire(&u->s);
}

static bool file_is_there(const struct upload *u)
{
	return faccessat(u->s.dir, "f", F_OK, 0) == 0;
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
	u->s.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	mailbox_init(&u->s.mb, (struct falcon *)&env, 0);
	disk.error = 0;
	disk.busy = true;
	*state = u;
	return 0;
}

static int tear_down(void **state)
{
	struct upload *u = *state;

	disk_is_done();
	cp_session_end_all(&u->s, "the end");
	cp_session_wait(&u->s);
	assert_int_equal(places_taken(u), 0);
	close(u->s.wake);
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
	assert_int_equal(env.nsent, 1);
	settle(u);
	assert_int_equal(env.nsent, 2);
	assert_int_equal(env.sent[1].type, CP_DONE);
	assert_true(file_is_there(u));
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
	settle(u);
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
	settle(u);
	complete(u, false);
	assert_int_equal(places_taken(u), 0);
}

/* A client that does not take its messages keeps no place for longer than any other. */
static void server__forgets_after_the_timeout(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	settle(u);
	pass(u, TIMEOUT * 1000ULL);
	assert_int_equal(places_taken(u), 1);
	pass(u, 1);
	assert_int_equal(places_taken(u), 0);
	assert_int_equal(env.nsent, 2);
	complete(u, true);
}

/* However long the disk takes, the client hears that it is not forgotten. */
static void server__waits_for_the_disk(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	pass(u, CP_PING_MS);
	assert_int_equal(env.nsent, 1);
	pass(u, 1);
	assert_int_equal(env.nsent, 2);
	client_says(u, CP_PING);
	pass(u, TIMEOUT * 2000ULL);
	assert_int_equal(env.nsent, 3);
	for (int i = 1; i < 3; i++)
		assert_int_equal(env.sent[i].type, CP_PING);
	complete(u, true);
	assert_false(file_is_there(u));
	settle(u);
	assert_int_equal(env.sent[3].type, CP_DONE);
	assert_true(file_is_there(u));
}

static void server__serves_others_meanwhile(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	client_says(u, CP_OPEN_PUT);
	assert_int_equal(env.sent[1].type, CP_READY);
	assert_int_equal(places_taken(u), 2);
}

static void server__says_that_the_disk_has_failed(void **state)
{
	struct upload *u = *state;

	disk.error = EIO;
	start(u);
	client_says(u, CP_END);
	settle(u);
	assert_int_equal(env.sent[1].type, CP_ABORT);
	assert_string_equal(env.sent[1].text, strerror(EIO));
	assert_false(file_is_there(u));
}

/* A file that nobody waits for does not appear; its place is free when the disk is done with it. */
static void server__cancels_for(struct upload *u, bool delivered)
{
	assert_int_equal(places_taken(u), 1);
	client_says(u, CP_PING);
	pass(u, TIMEOUT * 2000ULL);
	complete(u, delivered);
	assert_int_equal(env.nsent, env.completed);
	settle(u);
	assert_int_equal(places_taken(u), 0);
	assert_false(file_is_there(u));
}

static void server__cancels_for_a_client_that_gives_up(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	client_says(u, CP_ABORT);
	server__cancels_for(u, true);
	assert_int_equal(env.nsent, 1);
}

static void server__cancels_for_a_client_that_is_gone(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	pass(u, CP_PING_MS + 1);
	complete(u, false);
	server__cancels_for(u, false);
	assert_int_equal(env.nsent, 2);
}

static void server__stops_while_the_disk_works(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	cp_session_end_all(&u->s, "stopped");
	assert_int_equal(env.sent[1].type, CP_ABORT);
	assert_string_equal(env.sent[1].text, "stopped");
	assert_true(cp_session_commits(&u->s));
	disk_is_done();
	cp_session_wait(&u->s);
	assert_false(cp_session_commits(&u->s));
	assert_false(file_is_there(u));
}

/* The file has its name, and then the server is stopped before it has looked: that was a success. */
static void server__stops_when_it_is_too_late(void **state)
{
	struct upload *u = *state;
	struct pollfd p = { .fd = u->s.wake, .events = POLLIN };

	start(u);
	client_says(u, CP_END);
	disk_is_done();
	assert_int_equal(poll(&p, 1, -1), 1);
	cp_session_end_all(&u->s, "stopped");
	assert_int_equal(env.sent[1].type, CP_DONE);
	assert_true(file_is_there(u));
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

/* What the server says while its disk works keeps the client waiting, but only in the end. */
static void client__waits_for_the_disk(void **state)
{
	static const enum cp_type answers[] = { 0 };

	((struct upload *)*state)->cfg.timeout = 3;
	env.pings = 10;
	env.ping_at = env.now + CP_PING_MS * 1000000ULL;
	assert_int_equal(upload(*state, answers), 0);
	assert_true(env.now >= 10 * CP_PING_MS * 1000000ULL);
}

static void client__does_not_wait_for_ready(void **state)
{
	static const enum cp_type answers[] = { 0 };

	((struct upload *)*state)->cfg.timeout = 3;
	env.mute = true;
	env.pings = 10;
	env.ping_at = env.now + CP_PING_MS * 1000000ULL;
	assert_int_equal(upload(*state, answers), 1);
	assert_true(env.pings > 5);
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
		CASE(server__waits_for_the_disk),
		CASE(server__serves_others_meanwhile),
		CASE(server__says_that_the_disk_has_failed),
		CASE(server__cancels_for_a_client_that_gives_up),
		CASE(server__cancels_for_a_client_that_is_gone),
		CASE(server__stops_while_the_disk_works),
		CASE(server__stops_when_it_is_too_late),
		CASE(client__done_is_done),
		CASE(client__abort_is_failure),
		CASE(client__no_answer_is_failure),
		CASE(client__waits_for_the_disk),
		CASE(client__does_not_wait_for_ready),
	};

	return unit_run(tests);
}
