// SPDX-License-Identifier: BSD-2-Clause
/* Who may connect to the control socket, how many, and where it may listen. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "control_env.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(client_limit), TEST(client_share),
		TEST(private_file), TEST(guarded), TEST(refused_who_stay), TEST(open_to_all),
		cmocka_unit_test(stale_file), cmocka_unit_test(foreign_file),
	};

	return control_env_run(tests);
}
