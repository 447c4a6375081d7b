// SPDX-License-Identifier: BSD-2-Clause
/*
 * falcon-cp's server and what a hostile client sends it: its sessions, messages and files, over a
 * stub of libfalcon that takes what is sent.
 *
 * The input is a sequence of messages:
 *
 *   u8 how      bits 0-2: the client, a connection and a service; 3: the session's number is that
 *               of the latest READY; 4: the digest is that of the session's file so far; 5: its
 *               answers do not arrive; 6: their completions come late; 7: no message, time passes
 *   u8 len      bytes of the message as on the wire behind the magic number and version, twice as
 *               many from 128 up; zeros are added to the length of a message without text. Or
 *               quarters of a second
 *
 * The served directory holds files and links that lead out. Checked after every message: all
 * answers were sent, no more than may be, and are messages; every open file is beneath the served
 * directory. In the end nothing temporary is left there, nothing outside of it has changed, and no
 * descriptor is open. Random numbers are a counter, time is virtual.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/cp/server.h"
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
ssize_t counted_getrandom(void *buf, size_t len, unsigned int flags);

enum {
	MESSAGES = 64,		/* of an input */
	FILE_SIZE = CP_SLOT_SIZE + 100,	/* of the longest file */
	ARENA = MAILBOX_BYTES + CP_SESSIONS * CP_SESSION_BYTES,
	HEAD = 5,		/* magic and version */
};

static const struct cp_config config = { .timeout = 30 };
static struct cp_server server = { .cfg = &config };
static char top[64], served[80];
static int top_fd = -1;
static uint8_t *arena;
static uint64_t counter;		/* stands for random numbers */

/* What was sent and not completed. */
static struct falcon_cqe sent[MAILBOX_SLOTS];
static unsigned int nsent;
static uint64_t session;		/* of the latest READY */
static unsigned int looks;		/* at commits that were not over */

ssize_t counted_getrandom(void *buf, size_t len, unsigned int flags)
{
	(void)flags;
	counter += 2;
	CHECK(len == sizeof(counter));
	memcpy(buf, &counter, len);
	return (ssize_t)len;
}

uint64_t app_now(void)
{
	return server.now;
}

void *falcon_arena(struct falcon *f)
{
	(void)f;
	return arena;
}

static uint64_t grants[CP_SESSIONS];

int falcon_grant(struct falcon *f, unsigned int slot, uint32_t conn, uint16_t service)
{
	(void)f;
	CHECK(slot < CP_SESSIONS);
	grants[slot] = FALCON_GRANT(conn, service);
	return 0;
}

void falcon_flush(struct falcon *f)
{
	(void)f;
}

int falcon_submit(struct falcon *f, const struct falcon_sqe *sqe)
{
	struct cp_msg m;

	(void)f;
	CHECK(nsent < MAILBOX_SLOTS && sqe->op == FALCON_RAW_SEND);
	CHECK(sqe->len <= MAILBOX_SLOT_SIZE && sqe->local <= MAILBOX_BYTES - MAILBOX_SLOT_SIZE);
	CHECK(cp_unpack(arena + sqe->local, sqe->len, &m) == 0);
	if (m.type == CP_READY) {
		session = m.session;
		CHECK(m.offset >= MAILBOX_BYTES && m.offset + CP_SESSION_BYTES <= ARENA);
	}
	CHECK(m.type != CP_CHUNK || (m.slot < CP_SLOTS && m.len && m.len <= CP_SLOT_SIZE));
	CHECK(m.type != CP_WROTE || m.slot < CP_SLOTS);
	sent[nsent++] = (struct falcon_cqe){ .cookie = sqe->cookie };
	return 0;
}

/* The disk's part of it is done when the server looks for the third time, or when it has to wait. */
int cp_commit_begin(struct cp_commit *c, struct cp_sink *sink, const uint8_t digest[CP_DIGEST], int wake)
{
	*c = (struct cp_commit){ .sink = sink, .wake = wake };
	memcpy(c->digest, digest, CP_DIGEST);
	return 0;
}

static void carry_out(struct cp_commit *c)
{
	c->over = true;
	c->rc = cp_sink_sync(c->sink, c->digest);
	if (c->rc)
		return;
	if (c->stage == CP_COMMIT_CANCELLED) {
		c->rc = -ECANCELED;
	} else {
		c->stage = CP_COMMIT_PLACING;
		c->rc = cp_sink_place(c->sink);
	}
}

bool cp_commit_over(const struct cp_commit *c)
{
	if (!c->over && ++looks % 3 == 0)
		carry_out((struct cp_commit *)(uintptr_t)c);
	return c->over;
}

bool cp_commit_cancel(struct cp_commit *c)
{
	if (c->stage != CP_COMMIT_SYNCING)
		return false;
	c->stage = CP_COMMIT_CANCELLED;
	return true;
}

int cp_commit_end(struct cp_commit *c)
{
	if (!c->over)
		carry_out(c);
	return c->rc;
}

static void make_file(const char *name, size_t size)
{
	int fd = openat(top_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK(fd >= 0 && write(fd, arena + MAILBOX_BYTES, size) == (ssize_t)size);
	close(fd);
}

/* Whether |name| is one that the server gives a file while it is written. */
static bool is_temporary(const char *name)
{
	unsigned long long tag;

	return sscanf(name, ".falcon-cp.%16llx.part", &tag) == 1 && tag <= counter &&
	       strlen(name) == strlen(".falcon-cp..part") + 16;
}

/*
 * What is in directory |name| besides |keep|, a list that ends with NULL, goes. Returns how many of
 * it was temporary, or all if |strict|.
 */
static unsigned int clean(const char *name, const char *const *keep, bool strict)
{
	int fd = openat(top_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned int found = 0;
	DIR *d = fdopendir(fd);
	struct dirent *e;

	CHECK(d);
	while ((e = readdir(d))) {
		const char *const *k = keep;

		while (*k && strcmp(*k, e->d_name))
			k++;
		if (*k || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		found += strict || is_temporary(e->d_name);
		CHECK(unlinkat(fd, e->d_name, 0) == 0);
	}
	closedir(d);
	return found;
}

static const char *const nothing[] = { NULL };

static void fill_served(void)
{
	make_file("srv/f", FILE_SIZE);
	make_file("srv/d/f", 0);
	symlinkat("..", top_fd, "srv/out");
	symlinkat("../secret", top_fd, "srv/l");
	mkfifoat(top_fd, "srv/p", 0600);
}

static void remove_all(void)
{
	clean("srv/d", nothing, false);
	unlinkat(top_fd, "srv/d", AT_REMOVEDIR);
	clean("srv", nothing, false);
	unlinkat(top_fd, "srv", AT_REMOVEDIR);
	unlinkat(top_fd, "secret", 0);
	rmdir(top);
}

static void set_up(void)
{
	/* Memory, if there is: fsync() then costs nothing. */
	snprintf(top, sizeof(top), "%s/fuzz_cp.XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	CHECK(mkdtemp(top));
	snprintf(served, sizeof(served), "%s/srv", top);
	top_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(mkdirat(top_fd, "srv", 0755) == 0 && mkdirat(top_fd, "srv/d", 0755) == 0);
	server.dir = openat(top_fd, "srv", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(server.dir >= 0);
	arena = calloc(1, ARENA);
	CHECK(arena);
	make_file("secret", 6);
	atexit(remove_all);
}

/* |fd| is something in the served directory, or that itself. */
static void check_beneath(int fd)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	CHECK(n > 0);
	path[n] = 0;
	CHECK(strncmp(path, served, strlen(served)) == 0);
	CHECK(path[strlen(served)] == '/' || !path[strlen(served)]);
}

static void check_sessions(void)
{
	for (int i = 0; i < CP_SESSIONS; i++) {
		const struct cp_session *s = &server.sessions[i];

		CHECK(s->kind == CP_SESSION_FREE || grants[i] == FALCON_GRANT(s->conn, s->service));
		if (s->kind == CP_SESSION_SINK || s->kind == CP_SESSION_COMMITTING) {
			check_beneath(s->sink.dir);
			check_beneath(s->sink.fd);
			CHECK(!strchr(s->sink.name, '/') && s->sink.offset <= s->sink.size);
		} else if (s->kind == CP_SESSION_SOURCE) {
			check_beneath(s->source.fd);
			CHECK(s->source.offset <= s->source.size);
		}
	}
}

/* Complete what was sent, as the agent would. */
static void complete(bool arrived)
{
	for (unsigned int i = 0; i < nsent; i++) {
		uint32_t owner;

		CHECK(mailbox_completed(&server.mb, &sent[i], &owner));
		cp_session_completed(&server, owner, arrived);
	}
	nsent = 0;
	CHECK(server.mb.free == MAILBOX_SLOTS);
}

/* The digest of what session |id| has read or written. */
static void put_digest(uint64_t id, uint8_t *to)
{
	for (int i = 0; i < CP_SESSIONS; i++) {
		const struct cp_session *s = &server.sessions[i];
		XXH128_canonical_t c;

		if (s->kind != CP_SESSION_SINK || s->id != id)
			continue;
		XXH128_canonicalFromHash(&c, XXH3_128bits_digest(s->sink.hash));
		memcpy(to, c.digest, CP_DIGEST);
	}
}

static void give(uint8_t how, const uint8_t *data, size_t len)
{
	static struct falcon_msg m;
	struct cp_wire *w = (struct cp_wire *)m.payload;
	unsigned int before = nsent;

	m.conn = how & 3;
	m.src_service = how >> 2 & 1;
	memset(m.payload, 0, sizeof(*w));
	w->magic = falcon_hton32(CP_MAGIC);
	w->version = CP_VERSION;
	memcpy(m.payload + HEAD, data, len);
	m.len = (uint16_t)(HEAD + len < sizeof(*w) ? sizeof(*w) : HEAD + len);
	if (how & 8)
		w->session = falcon_hton64(session);
	if (how & 0x10)
		put_digest(session, w->digest);
	cp_session_message(&server, &m);
	CHECK(nsent - before <= CP_REPLIES_MAX);
	CHECK(server.mb.free + nsent == MAILBOX_SLOTS);
}

static void finish(void)
{
	static const char *const in_top[] = { "srv", "secret", NULL };
	static const char *const in_served[] = { "d", NULL };
	struct stat st;

	complete(true);
	cp_session_end_all(&server, "the end");
	complete(true);
	cp_session_wait(&server);
	for (int i = 0; i < CP_SESSIONS; i++)
		CHECK(server.sessions[i].kind == CP_SESSION_FREE);
	CHECK(clean("srv", in_served, false) == 0 && clean("srv/d", nothing, false) == 0);
	CHECK(fstatat(top_fd, "secret", &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size == 6 &&
	      S_ISREG(st.st_mode) && st.st_nlink == 1);
	CHECK(clean(".", in_top, true) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int before;

	if (top_fd < 0)
		set_up();
	before = open_fds();
	fill_served();
	memset(server.sessions, 0, sizeof(server.sessions));
	mailbox_init(&server.mb, NULL, 0);
	server.now = 1000000000;
	counter = session = nsent = looks = 0;
	for (int i = 0; i < MESSAGES && size >= 2; i++) {
		uint8_t how = data[0];
		size_t len = data[1] < 128 ? data[1] : 2U * data[1];

		if (how & 0x80)
			len = 0;
		if (len > size - 2)
			len = size - 2;
		if (how & 0x80)
			server.now += (uint64_t)data[1] * 250000000;
		else
			give(how, data + 2, len);
		cp_session_expire(&server);
		check_sessions();
		if (!(how & 0x40) || server.mb.free < CP_REPLIES_MAX)
			complete(!(how & 0x20));
		data += 2 + len;
		size -= 2 + len;
	}
	finish();
	CHECK(open_fds() == before);
	return 0;
}
