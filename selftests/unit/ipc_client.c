// SPDX-License-Identifier: BSD-2-Clause
/*
 * The client of the agent's control socket: replies in the message and in a memfd, refusals, what is no
 * reply, and descriptors, of which none stays open. The agent is the far end of a socket pair, at which its
 * replies lie before they are asked for.
 */
#include "unit.h"

#include <agent/control/msg.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "falcon/falcon.h"
#include "ipc/client.h"

static struct ipc_client client;
static int agent;			/* the far end */
static char buf[CONTROL_MSG_MAX + 1];

static int set_up(void **state)
{
	const struct timeval soon = { .tv_usec = 1000 };
	int pair[2], room = 4 * CONTROL_MSG_MAX;

	(void)state;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	client = (struct ipc_client){ .sock = pair[0], .path = "/there" };
	agent = pair[1];
	/* For those that never get an answer. */
	setsockopt(client.sock, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	return setsockopt(agent, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
}

static int tear_down(void **state)
{
	(void)state;
	ipc_client_close(&client);
	close(agent);
	return 0;
}

/* The number that the next descriptor would have: no other is free below it. */
static int next_fd(void)
{
	int fd = dup(agent);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static void reply_with(const char *text, const int *fds, unsigned int n)
{
	const struct iovec iov = { .iov_base = (void *)text, .iov_len = strlen(text) };

	assert_int_equal(fdpass_send(agent, &iov, 1, fds, n, MSG_DONTWAIT), iov.iov_len);
}

/* Ask; the reply is in |*reply|, which may be NULL. */
static int call(json_t **reply)
{
	int before = next_fd(), rc;

	rc = ipc_client_call(&client, json_pack("{s:s}", "op", "x"), NULL, 0, reply);
	assert_int_equal(next_fd(), before);
	return rc;
}

static void asks_and_hands_descriptors_over(void **state)
{
	const int fds[2] = { agent, agent };
	struct fdpass got;
	json_t *reply;

	(void)state;
	reply_with("{\"ok\":true,\"n\":7}", NULL, 0);
	assert_int_equal(ipc_client_call(&client, json_pack("{s:s}", "op", "x"), fds, 2, &reply), 0);
	assert_int_equal(json_integer_value(json_object_get(reply, "n")), 7);
	json_decref(reply);
	assert_int_equal(fdpass_receive(agent, buf, sizeof(buf), &got, 0), strlen("{\"op\":\"x\"}"));
	assert_memory_equal(buf, "{\"op\":\"x\"}", strlen("{\"op\":\"x\"}"));
	assert_int_equal(got.n, 2);
	fdpass_close(&got);
}

static void replies_come_in_order(void **state)
{
	json_t *reply;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(ipc_client_ask(&client, json_pack("{s:i}", "n", i), NULL, 0), 0);
	reply_with("{\"ok\":true,\"n\":0}", NULL, 0);
	reply_with("{\"ok\":false,\"errno\":\"EBUSY\",\"error\":\"wait\"}", NULL, 0);
	reply_with("{\"ok\":true,\"n\":2}", NULL, 0);
	assert_int_equal(ipc_client_answer(&client, NULL), 0);
	assert_int_equal(ipc_client_answer(&client, NULL), -EBUSY);
	assert_int_equal(ipc_client_answer(&client, &reply), 0);
	assert_int_equal(json_integer_value(json_object_get(reply, "n")), 2);
	json_decref(reply);
}

/* As the agent sends what is too long for a message. */
static void a_long_reply_comes_in_memory(void **state)
{
	json_t *sent, *reply;

	(void)state;
	memset(buf, 'x', sizeof(buf));
	sent = json_pack("{s:b, s:s%}", "ok", 1, "text", buf, sizeof(buf));
	assert_non_null(sent);
	assert_int_equal(control_send(agent, sent), 0);
	assert_int_equal(call(&reply), 0);
	assert_true(json_equal(reply, sent));
	json_decref(reply);
	json_decref(sent);
	/* Also if nobody wants to see it. */
	sent = json_pack("{s:b, s:s%}", "ok", 1, "text", buf, sizeof(buf));
	assert_int_equal(control_send(agent, sent), 0);
	assert_int_equal(call(NULL), 0);
	json_decref(sent);
}

static void a_refusal_may_be_long(void **state)
{
	json_t *sent = json_object();

	(void)state;
	memset(buf, 'x', sizeof(buf));
	json_object_set_new(sent, "ok", json_false());
	json_object_set_new(sent, "errno", json_string("ENOSPC"));
	json_object_set_new(sent, "error", json_stringn(buf, sizeof(buf)));
	assert_int_equal(control_send(agent, sent), 0);
	assert_int_equal(call(NULL), -ENOSPC);
	assert_int_equal(strlen(client.err), sizeof(client.err) - 1);
	json_decref(sent);
}

/* A memfd with a good reply, of which |bytes| are said to be there. */
static void reply_in_memory(const char *bytes, unsigned int seals, unsigned int n)
{
	static const char text[] = "{\"ok\":true}";
	int fd = memfd_create("reply", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char note[64];

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	snprintf(note, sizeof(note), "{\"ok\":true,\"memfd\":%s}", bytes);
	reply_with(note, &fd, n);
	close(fd);
}

static void memory_that_may_change_is_no_reply(void **state)
{
	static const unsigned int bad[] = { 0, F_SEAL_SHRINK, F_SEAL_WRITE, F_SEAL_GROW | F_SEAL_SEAL };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	json_t *reply;

	(void)state;
	reply_in_memory("11", F_SEAL_SHRINK | F_SEAL_WRITE, 1);
	assert_int_equal(call(NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		reply_in_memory("11", bad[i], 1);
		assert_int_equal(call(&reply), -EPROTO);
		assert_null(reply);
	}
	reply_with("{\"ok\":true,\"memfd\":11}", &null, 1);
	close(null);
	assert_int_equal(call(NULL), -EPROTO);
}

static void memory_of_another_size_is_no_reply(void **state)
{
	static const char *const bad[] = { "10", "12", "0", "-1", "1e9", "9223372036854775807", "\"11\"",
					   "null" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		reply_in_memory(bad[i], F_SEAL_SHRINK | F_SEAL_WRITE, 1);
		assert_int_equal(call(NULL), -EPROTO);
	}
	/* No memory at all. */
	reply_in_memory("11", F_SEAL_SHRINK | F_SEAL_WRITE, 0);
	assert_int_equal(call(NULL), -EPROTO);
}

/* call() sees whether any is left. */
static void descriptors_that_no_reply_needs_are_closed(void **state)
{
	int many[FDPASS_MAX];

	(void)state;
	for (int i = 0; i < FDPASS_MAX; i++)
		many[i] = agent;
	reply_with("{\"ok\":true}", many, 1);
	assert_int_equal(call(NULL), 0);
	reply_with("{\"ok\":true}", many, FDPASS_MAX);
	assert_int_equal(call(NULL), 0);
	reply_with("{\"ok\":false}", many, FDPASS_MAX);
	assert_int_equal(call(NULL), -EPROTO);
	reply_with("no reply", many, FDPASS_MAX);
	assert_int_equal(call(NULL), -EPROTO);
	reply_with("", many, 2);
	assert_int_equal(call(NULL), -EPIPE);
}

static void a_reply_that_was_cut_off_is_none(void **state)
{
	(void)state;
	memset(buf, ' ', sizeof(buf));
	memcpy(buf, "{\"ok\":true}", 11);
	buf[CONTROL_MSG_MAX - 1] = 0;
	reply_with(buf, NULL, 0);
	assert_int_equal(call(NULL), 0);
	memset(buf + 11, ' ', sizeof(buf) - 11);
	assert_int_equal(send(agent, buf, sizeof(buf), 0), sizeof(buf));
	assert_int_equal(call(NULL), -EPROTO);
	assert_non_null(strstr(client.err, "/there was cut off"));
}

static void says_why_the_agent_refuses(void **state)
{
	json_t *reply = NULL;

	(void)state;
	reply_with("{\"ok\":false,\"errno\":\"ENOENT\",\"error\":\"there is no x\"}", NULL, 0);
	assert_int_equal(call(&reply), -ENOENT);
	assert_null(reply);
	assert_string_equal(client.err, "there is no x");
	reply_with("{\"ok\":false,\"errno\":\"ENOTHING\"}", NULL, 0);
	assert_int_equal(call(NULL), -EPROTO);
	assert_string_equal(client.err, "the agent refused without saying why");
	reply_with("{}", NULL, 0);
	assert_int_equal(call(NULL), -EPROTO);
}

static void what_is_no_object_is_no_reply(void **state)
{
	static const char *const bad[] = { "[1]", "{\"ok\":true", "7", "\"ok\"", "{\"ok\":true}x" };
	json_t *reply;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		reply_with(bad[i], NULL, 0);
		assert_int_equal(call(&reply), -EPROTO);
		assert_null(reply);
		assert_string_equal(client.err, "falcond at /there speaks another language");
	}
}

static void what_is_no_request_is_not_sent(void **state)
{
	json_t *reply;

	(void)state;
	assert_int_equal(ipc_client_call(&client, json_pack("{s:s}", "op", "\xff"), NULL, 0, &reply),
			 -EINVAL);
	assert_null(reply);
	assert_int_equal(recv(agent, buf, sizeof(buf), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static void an_agent_that_is_silent_or_gone(void **state)
{
	(void)state;
	assert_int_equal(call(NULL), -ETIMEDOUT);
	assert_string_equal(client.err, "falcond at /there does not answer");
	/* It has read the request, or not. */
	shutdown(agent, SHUT_WR);
	assert_int_equal(ipc_client_answer(&client, NULL), -EPIPE);
	shutdown(agent, SHUT_RDWR);
	assert_int_equal(call(NULL), -EPIPE);
	assert_string_equal(client.err, "falcond at /there is gone");
}

static void a_late_reply_is_not_the_next_ones(void **state)
{
	json_t *reply;

	(void)state;
	assert_int_equal(call(NULL), -ETIMEDOUT);
	assert_int_equal(call(NULL), -ETIMEDOUT);
	reply_with("{\"ok\":true,\"n\":1}", NULL, 0);
	assert_int_equal(call(NULL), -ETIMEDOUT);
	reply_with("no reply", NULL, 0);
	reply_with("{\"ok\":true,\"n\":3}", NULL, 0);
	reply_with("{\"ok\":true,\"n\":4}", NULL, 0);
	assert_int_equal(call(&reply), 0);
	assert_int_equal(json_integer_value(json_object_get(reply, "n")), 4);
	json_decref(reply);
	reply_with("{\"ok\":true,\"n\":5}", NULL, 0);
	assert_int_equal(call(&reply), 0);
	assert_int_equal(json_integer_value(json_object_get(reply, "n")), 5);
	json_decref(reply);
}

static void connects_to_what_listens_only(void **state)
{
	char dir[UNIT_PATH], path[UNIT_PATH + 28], longer[200];
	struct ipc_client other = IPC_CLIENT_CLOSED;
	int before = next_fd();

	(void)state;
	assert_non_null(mkdtemp(unit_template(dir, "ipc_client")));
	snprintf(path, sizeof(path), "%s/sock", dir);
	assert_int_equal(ipc_client_connect(&other, path), -ENOENT);
	assert_non_null(strstr(other.err, "is it running?"));
	assert_int_equal(ipc_client_connect(&other, dir), -ECONNREFUSED);
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(ipc_client_connect(&other, longer), -ENAMETOOLONG);
	assert_int_equal(other.sock, -1);
	assert_int_equal(next_fd(), before);
	ipc_client_close(&other);
	rmdir(dir);
}

static void the_socket_is_given_or_of_the_environment_or_the_usual(void **state)
{
	(void)state;
	setenv("FALCON_SOCKET", "/set", 1);
	assert_string_equal(ipc_client_path("/given"), "/given");
	assert_string_equal(ipc_client_path(NULL), "/set");
	assert_string_equal(ipc_client_path(""), "/set");
	setenv("FALCON_SOCKET", "", 1);
	assert_string_equal(ipc_client_path(NULL), FALCON_DEFAULT_SOCKET);
	unsetenv("FALCON_SOCKET");
	assert_string_equal(ipc_client_path(NULL), FALCON_DEFAULT_SOCKET);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(asks_and_hands_descriptors_over),
		TEST(replies_come_in_order),
		TEST(a_long_reply_comes_in_memory),
		TEST(a_refusal_may_be_long),
		TEST(memory_that_may_change_is_no_reply),
		TEST(memory_of_another_size_is_no_reply),
		TEST(descriptors_that_no_reply_needs_are_closed),
		TEST(a_reply_that_was_cut_off_is_none),
		TEST(says_why_the_agent_refuses),
		TEST(what_is_no_object_is_no_reply),
		TEST(what_is_no_request_is_not_sent),
		TEST(an_agent_that_is_silent_or_gone),
		TEST(a_late_reply_is_not_the_next_ones),
		TEST(connects_to_what_listens_only),
		TEST(the_socket_is_given_or_of_the_environment_or_the_usual),
	};

	return unit_run(tests);
}
