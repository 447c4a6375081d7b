// SPDX-License-Identifier: BSD-2-Clause
/* The control socket: requests, replies, descriptors, limits, and who may listen where. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <agent/control.h>
#include <agent/drop.h>
#include <base/log.h>

#include "ipc/fdpass.h"
#include "lingering.h"

static char dir[UNIT_PATH];
static char path[UNIT_PATH + 28];
static struct control *ctl;
static struct control_client *last;	/* client of the latest request */
static unsigned int closed;
static int taken = -1;			/* descriptor kept by "take" */

/* Requests that the tests make: each does one thing a handler may do. */
static int handler(void *arg, struct control_client *cl, json_t *req, int *fds, int nfds,
		   json_t **reply)
{
	const char *op = json_string_value(json_object_get(req, "op"));

	assert_ptr_equal(arg, dir);
	last = cl;
	if (strcmp(op, "echo") == 0) {
		*reply = json_pack("{s:O, s:i}", "req", req, "fds", nfds);
		return 0;
	}
	if (strcmp(op, "quiet") == 0)
		return 0;
	if (strcmp(op, "take") == 0) {
		taken = fds[0];
		fds[0] = -1;
		return 0;
	}
	if (strcmp(op, "drop") == 0) {
		control_drop(ctl, cl);
		return 0;
	}
	if (strcmp(op, "large") == 0) {
		char *text = test_malloc(200001);

		memset(text, 'x', 200000);
		text[200000] = 0;
		*reply = json_pack("{s:s}", "text", text);
		test_free(text);
		return 0;
	}
	if (strcmp(op, "explain") == 0)
		return control_error(reply, -ENOENT, "no connection named \"%s\"", "\xff\n");
	return -EOPNOTSUPP;
}

static void on_closed(void *arg, struct control_client *cl)
{
	assert_ptr_equal(arg, dir);
	assert_non_null(cl);
	closed++;
}

static int open_control(struct control **out)
{
	char err[256];

	return control_open(out, path, "", handler, on_closed, dir, err, sizeof(err));
}

static int setup(void **state)
{
	(void)state;
	closed = 0;
	assert_int_equal(open_control(&ctl), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	control_close(ctl);
	assert_int_equal(access(path, F_OK), -1);
	return 0;
}

static int client(void)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(sun.sun_path, path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	return fd;
}

/* Turn the server until |fd| has something to read or is closed. */
static void turn(int fd)
{
	for (int i = 0; i < 1000; i++) {
		struct pollfd p[2] = {{.fd = control_fd(ctl), .events = POLLIN},
				      {.fd = fd, .events = POLLIN}};

		assert_true(poll(p, 2, 5000) > 0);
		if (p[1].revents)
			return;
		control_process(ctl);
	}
	fail_msg("no reply");
}

static void send_fds(int fd, const void *text, size_t len, const int *fds, int nfds)
{
	const struct iovec iov = {.iov_base = (void *)text, .iov_len = len};

	assert_int_equal(fdpass_send(fd, &iov, 1, fds, (unsigned int)nfds, 0), len);
}

/* Receive a reply; *|passed| is set to its descriptor, -1 if it has none. */
static json_t *receive(int fd, int *passed)
{
	static char text[CONTROL_MSG_MAX];
	struct fdpass fds;
	json_t *reply;
	ssize_t n;

	turn(fd);
	n = fdpass_receive(fd, text, sizeof(text), &fds, 0);
	assert_true(n > 0 && fds.whole && fds.n <= 1);
	*passed = fdpass_first(&fds);
	reply = json_loadb(text, (size_t)n, 0, NULL);
	assert_non_null(reply);
	return reply;
}

static json_t *ask(int fd, const char *req)
{
	json_t *reply;
	int passed;

	send_fds(fd, req, strlen(req), NULL, 0);
	reply = receive(fd, &passed);
	assert_int_equal(passed, -1);
	return reply;
}

static void assert_error(json_t *reply, const char *name)
{
	assert_true(json_is_false(json_object_get(reply, "ok")));
	assert_string_equal(json_string_value(json_object_get(reply, "errno")), name);
	assert_non_null(json_string_value(json_object_get(reply, "error")));
	json_decref(reply);
}

static void assert_ok(json_t *reply)
{
	assert_true(json_is_true(json_object_get(reply, "ok")));
	json_decref(reply);
}

static void request_and_reply(void **state)
{
	int fd = client();
	json_t *reply = ask(fd, "{\"op\":\"echo\",\"n\":7}");

	(void)state;
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(reply, "req"), "n")), 7);
	assert_ok(reply);
	assert_int_equal(last->pid, getpid());
	assert_int_equal(last->uid, getuid());
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	assert_error(ask(fd, "{\"op\":\"none\"}"), "EOPNOTSUPP");
	close(fd);
}

static void error_text_is_clean(void **state)
{
	int fd = client();
	json_t *reply = ask(fd, "{\"op\":\"explain\"}");

	(void)state;
	assert_string_equal(json_string_value(json_object_get(reply, "error")),
			    "no connection named \"\?\?\"");
	assert_error(reply, "ENOENT");
	close(fd);
}

static void malformed(void **state)
{
	static const char *const bad[] = {
		"{", "[1]", "7", "{}", "{\"op\":7}", "{\"op\":\"echo\",\"op\":\"echo\"}",
		"{\"op\":\"echo\"} x", "\xff\xfe",
	};
	char deep[4096];
	int fd = client();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_error(ask(fd, bad[i]), "EPROTO");
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	assert_error(ask(fd, deep), "EPROTO");
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	close(fd);
}

static void too_large(void **state)
{
	char *text = test_malloc(CONTROL_MSG_MAX + 1);
	int fd = client(), passed;

	(void)state;
	memset(text, ' ', CONTROL_MSG_MAX + 1);
	memcpy(text, "{\"op\":\"quiet\"}", 14);
	send_fds(fd, text, CONTROL_MSG_MAX, NULL, 0);
	assert_ok(receive(fd, &passed));
	send_fds(fd, text, CONTROL_MSG_MAX + 1, NULL, 0);
	assert_error(receive(fd, &passed), "EMSGSIZE");
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	test_free(text);
	close(fd);
}

static int open_fds(void)
{
	int fd;

	while (drop_pending(geteuid()))
		sched_yield();
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(fd);
	return fd; /* the lowest free number */
}

static void descriptors(void **state)
{
	const char *echo = "{\"op\":\"echo\"}", *take = "{\"op\":\"take\"}";
	int fd = client(), passed, before, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int fds[CONTROL_FDS_MAX + 1];
	json_t *reply;

	(void)state;
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	for (int i = 0; i <= CONTROL_FDS_MAX; i++)
		fds[i] = null;
	before = open_fds();
	send_fds(fd, echo, strlen(echo), fds, CONTROL_FDS_MAX);
	reply = receive(fd, &passed);
	assert_int_equal(json_integer_value(json_object_get(reply, "fds")), CONTROL_FDS_MAX);
	assert_ok(reply);
	send_fds(fd, echo, strlen(echo), fds, CONTROL_FDS_MAX + 1);
	assert_error(receive(fd, &passed), "EMSGSIZE");
	assert_int_equal(open_fds(), before);
	send_fds(fd, take, strlen(take), fds, 1);
	assert_ok(receive(fd, &passed));
	assert_int_equal(taken, before);
	close(taken);
	close(null);
	close(fd);
}

/* One that does not close keeps all behind it waiting; who goes on sending is not listened to any more. */
static void descriptors_that_do_not_close(void **state)
{
	const char *echo = "{\"op\":\"echo\"}";
	const struct iovec iov = {.iov_base = (void *)echo, .iov_len = strlen(echo)};
	struct rlimit limit;
	int fd, slow, peer, passed, many[FDPASS_MAX];
	char text[512];
	unsigned int n = 0;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_max < DROP_MAX + 2 * FDPASS_MAX || setrlimit(RLIMIT_NOFILE, &limit))
		skip();
	fd = client();
	slow = lingering(&peer);
	send_fds(fd, echo, strlen(echo), &slow, 1);
	/* Its last close is the server's, however soon that comes. */
	close(slow);
	assert_ok(receive(fd, &passed));
	for (int i = 0; i < FDPASS_MAX; i++)
		many[i] = fd;
	do {
		assert_true(n++ <= DROP_MAX / FDPASS_MAX + 1);
		if (fdpass_send(fd, &iov, 1, many, FDPASS_MAX, MSG_NOSIGNAL) < 0)
			break;
		turn(fd);
	} while (recv(fd, text, sizeof(text), 0) > 0);
	assert_true(drop_pending(geteuid()) < DROP_MAX + 2 * FDPASS_MAX);
	close(peer);
	while (drop_pending(geteuid()))
		sched_yield();
	close(fd);
	/* And is again. */
	fd = client();
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	close(fd);
}

/* What comes with a message of no bytes, which looks like the end, is closed too. */
static void descriptors_without_text(void **state)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), before, fd = client();
	int fds[2] = {null, null};

	(void)state;
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	before = open_fds();
	send_fds(fd, "", 0, fds, 2);
	turn(fd);
	assert_int_equal(closed, 1);
	assert_true(open_fds() <= before);
	close(fd);
	close(null);
}

static void large_reply(void **state)
{
	const char *req = "{\"op\":\"large\"}";
	int fd = client(), memfd;
	json_t *reply, *whole;
	size_t size;
	char *map;

	(void)state;
	send_fds(fd, req, strlen(req), NULL, 0);
	reply = receive(fd, &memfd);
	assert_true(memfd >= 0);
	size = (size_t)json_integer_value(json_object_get(reply, "memfd"));
	assert_true(size > 200000);
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, memfd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	whole = json_loadb(map, size, 0, NULL);
	assert_int_equal(json_string_length(json_object_get(whole, "text")), 200000);
	assert_ok(whole);
	assert_ok(reply);
	munmap(map, size);
	close(memfd);
	close(fd);
}

/* A client that asks and never reads is dropped; another is served on. */
static void slow_client(void **state)
{
	const char *req = "{\"op\":\"echo\",\"pad\":\"0123456789012345678901234567890123456789\"}";
	int slow = client(), fd = client();

	(void)state;
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	for (int i = 0; i < 100000 && closed == 0; i++) {
		if (send(slow, req, strlen(req), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		    errno != EAGAIN)
			break;
		control_process(ctl);
	}
	assert_int_equal(closed, 1);
	assert_ok(ask(fd, "{\"op\":\"quiet\"}"));
	close(slow);
	close(fd);
}

static void client_limit(void **state)
{
	int fds[CONTROL_CLIENTS_MAX], one_more, passed;

	(void)state;
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		fds[i] = client();
		control_process(ctl);
	}
	one_more = client();
	assert_error(receive(one_more, &passed), "EMFILE");
	close(one_more);
	assert_ok(ask(fds[CONTROL_CLIENTS_MAX - 1], "{\"op\":\"quiet\"}"));
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		close(fds[i]);
	for (int i = 0; i < CONTROL_CLIENTS_MAX && closed < CONTROL_CLIENTS_MAX; i++)
		control_process(ctl);
	assert_int_equal(closed, CONTROL_CLIENTS_MAX);
}

/* A user's connections leave as many for others. */
static void client_share(void **state)
{
	int fds[CONTROL_CLIENTS_MAX / 2 + 1], passed, root;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(chmod(dir, 0755) | control_open_to_all(ctl), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		/* The kernel says who has connected. */
		assert_int_equal(seteuid(4000001), 0);
		fds[i] = client();
		assert_int_equal(seteuid(0), 0);
		control_process(ctl);
	}
	assert_ok(ask(fds[CONTROL_CLIENTS_MAX / 2 - 1], "{\"op\":\"quiet\"}"));
	assert_error(receive(fds[CONTROL_CLIENTS_MAX / 2], &passed), "EMFILE");
	root = client();
	assert_ok(ask(root, "{\"op\":\"quiet\"}"));
	close(root);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

static void count(void *arg, struct control_client *cl)
{
	assert_non_null(cl);
	(*(int *)arg)++;
}

static void drop(void **state)
{
	int fd = client(), other = client(), n = 0;

	(void)state;
	assert_ok(ask(other, "{\"op\":\"quiet\"}"));
	assert_ok(ask(fd, "{\"op\":\"drop\"}"));
	assert_int_equal(closed, 1);
	turn(fd);
	assert_int_equal(recv(fd, &n, sizeof(n), 0), 0);
	control_each(ctl, count, &n);
	assert_int_equal(n, 1);
	assert_ok(ask(other, "{\"op\":\"quiet\"}"));
	control_drop(ctl, last);
	assert_int_equal(closed, 2);
	close(fd);
	close(other);
}

static void private_file(void **state)
{
	struct control *second;
	struct stat st;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(open_control(&second), -EADDRINUSE);
	assert_null(second);
	assert_int_equal(access(path, F_OK), 0);
}

static void stale_file(void **state)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)state;
	strcpy(sun.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	close(fd);
	assert_int_equal(open_control(&ctl), 0);
	control_close(ctl);
}

/* What is no socket is somebody's file. */
static void foreign_file(void **state)
{
	char err[256];
	FILE *f = fopen(path, "w");

	(void)state;
	assert_non_null(f);
	fclose(f);
	assert_int_equal(open_control(&ctl), -ENOTSOCK);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(control_open(&ctl, path, "no-such-group", handler, NULL, dir, err,
				      sizeof(err)), -ESRCH);
	assert_int_equal(access(path, F_OK), -1);
}

static int admitted;			/* what the guard answers */

static int guard(void *arg, const struct control_client *cl, const gid_t *groups, size_t n,
		 char *err, size_t errlen)
{
	gid_t mine[64];
	int nmine = getgroups(ARRAY_SIZE(mine), mine);

	assert_ptr_equal(arg, dir);
	assert_int_equal(cl->uid, getuid());
	assert_int_equal(n, nmine);
	if (nmine > 0)
		assert_memory_equal(groups, mine, n * sizeof(*mine));
	snprintf(err, errlen, "not today");
	return admitted;
}

static void count_client(void *arg, struct control_client *cl)
{
	(void)cl;
	++*(unsigned int *)arg;
}

/* Who is refused gets the reason as reply to whatever he asks, and is a client to nobody. */
static void guarded(void **state)
{
	unsigned int clients = 0;
	int good, bad;
	json_t *reply;
	char byte;

	(void)state;
	control_guard(ctl, guard);
	admitted = 0;
	good = client();
	json_decref(ask(good, "{\"op\":\"quiet\"}"));
	admitted = -EACCES;
	bad = client();
	last = NULL;
	reply = ask(bad, "{\"op\":\"echo\"}");
	assert_string_equal(json_string_value(json_object_get(reply, "errno")), "EACCES");
	assert_string_equal(json_string_value(json_object_get(reply, "error")), "not today");
	json_decref(reply);
	turn(bad);
	assert_int_equal(recv(bad, &byte, 1, 0), 0);
	assert_null(last);
	assert_int_equal(closed, 0);
	control_each(ctl, count_client, &clients);
	assert_int_equal(clients, 1);
	json_decref(ask(good, "{\"op\":\"quiet\"}"));
	close(bad);
	close(good);
}

/* Those who are refused and ask nothing take no places: only so many are kept. */
static void refused_who_stay(void **state)
{
	int first, fds[CONTROL_CLIENTS_MAX];
	char byte;

	(void)state;
	control_guard(ctl, guard);
	admitted = -EACCES;
	first = client();
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = client();
		control_process(ctl);
	}
	turn(first);
	assert_int_equal(recv(first, &byte, 1, MSG_DONTWAIT), 0);
	close(first);
	admitted = 0;
	first = client();
	json_decref(ask(first, "{\"op\":\"quiet\"}"));
	close(first);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

static void open_to_all(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(control_open_to_all(ctl), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(request_and_reply),      TEST(error_text_is_clean),
		TEST(malformed),	      TEST(too_large),
		TEST(descriptors),	      TEST(descriptors_without_text),
		TEST(large_reply),	      TEST(slow_client),
		TEST(client_limit),	      TEST(drop),
		TEST(client_share),
		TEST(private_file),
		TEST(guarded), TEST(refused_who_stay), TEST(open_to_all),
		cmocka_unit_test(stale_file), cmocka_unit_test(foreign_file),
		/* Last: if it fails, what it has sent stays unclosed. */
		TEST(descriptors_that_do_not_close),
	};
	int ret;

	log_set_level(LOG_LEVEL_ERROR);
	if (!mkdtemp(unit_template(dir, "falcon-control")))
		return 1;
	snprintf(path, sizeof(path), "%s/sock", dir);
	ret = unit_run(tests);
	rmdir(dir);
	return ret;
}
