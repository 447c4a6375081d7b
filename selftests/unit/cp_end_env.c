// SPDX-License-Identifier: BSD-2-Clause
#include "cp_end_env.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct cp_end_env env;

struct cp_end_disk disk = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

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

void disk_is_done(void)
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
	if (disk.done_when_said)
		disk_is_done();
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

void client_says(struct upload *u, enum cp_type type)
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

void settle(struct upload *u)
{
	struct pollfd p = { .fd = u->s.wake, .events = POLLIN };
	eventfd_t times;

	disk_is_done();
	assert_int_equal(poll(&p, 1, -1), 1);
	eventfd_read(u->s.wake, &times);
	cp_session_expire(&u->s);
}

void pass(struct upload *u, uint64_t ms)
{
	u->s.now += ms * 1000000;
	cp_session_expire(&u->s);
}

bool file_is_there(const struct upload *u)
{
	return faccessat(u->s.dir, "f", F_OK, 0) == 0;
}

void complete(struct upload *u, bool delivered)
{
	uint32_t owner;

	while (env.completed < env.nsent) {
		assert_true(mailbox_completed(&u->s.mb, &env.done[env.completed++], &owner));
		cp_session_completed(&u->s, owner, delivered);
	}
}

unsigned int places_taken(const struct upload *u)
{
	unsigned int n = 0;

	for (int i = 0; i < CP_SESSIONS; i++)
		n += u->s.sessions[i].kind != CP_SESSION_FREE;
	return n;
}

int cp_end_set_up(void **state)
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
	disk.done_when_said = false;
	disk.busy = true;
	*state = u;
	return 0;
}

int cp_end_tear_down(void **state)
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

void start(struct upload *u)
{
	client_says(u, CP_OPEN_PUT);
	assert_int_equal(env.sent[0].type, CP_READY);
	u->session = env.sent[0].session;
	complete(u, true);
}
