// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every descriptor that comes with a message reaches its receiver, no more than there is room for, and the
 * receiver closes all that it does not keep.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/fdpass.h"

static int pair[2];
static struct fdpass got;

static int set_up(void **state)
{
	(void)state;
	memset(&got, 0xff, sizeof(got));
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int tear_down(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static void send_with(const char *text, size_t len, unsigned int n)
{
	const struct iovec iov = { .iov_base = (void *)text, .iov_len = len };
	int fd[FDPASS_MAX + 1];

	for (unsigned int i = 0; i < n; i++)
		fd[i] = pair[1];
	assert_int_equal(fdpass_send(pair[0], &iov, 1, fd, n, 0), len);
}

/* Each is the file that was sent, and closed at exec. */
static void check_and_close(unsigned int n)
{
	struct stat sent, st;

	assert_int_equal(fstat(pair[1], &sent), 0);
	assert_int_equal(got.n, n);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(fstat(got.fd[i], &st), 0);
		assert_int_equal(st.st_ino, sent.st_ino);
		assert_int_equal(fcntl(got.fd[i], F_GETFD), FD_CLOEXEC);
		close(got.fd[i]);
	}
}

static void carries_none_to_as_many_as_the_kernel_takes(void **state)
{
	static const unsigned int counts[] = { 0, 1, 2, 5, 6, FDPASS_MAX };
	char buf[8];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		send_with("text", 4, counts[i]);
		assert_int_equal(fdpass_receive(pair[1], buf, sizeof(buf), &got, 0), 4);
		assert_true(got.whole);
		check_and_close(counts[i]);
	}
}

static void the_kernel_sends_no_more_than_there_is_room_for(void **state)
{
	const struct iovec iov = { .iov_base = "", .iov_len = 1 };
	union {
		char bytes[CMSG_SPACE((FDPASS_MAX + 1) * sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct msghdr msg = { .msg_iov = (struct iovec *)&iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	(void)state;
	control.align = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
					  .cmsg_len = CMSG_LEN((FDPASS_MAX + 1) * sizeof(int)) };
	assert_int_equal(sendmsg(pair[0], &msg, 0), -1);
	assert_int_equal(errno, EINVAL);
}

static void says_what_was_cut_off(void **state)
{
	char buf[4];

	(void)state;
	send_with("longer", 6, 2);
	assert_int_equal(fdpass_receive(pair[1], buf, sizeof(buf), &got, 0), 4);
	assert_false(got.whole);
	check_and_close(2);
}

static void a_message_of_no_bytes_may_bring_some(void **state)
{
	char buf[4];

	(void)state;
	send_with("", 0, 3);
	assert_int_equal(fdpass_receive(pair[1], buf, sizeof(buf), &got, 0), 0);
	check_and_close(3);
}

static void nothing_to_receive_leaves_nothing_to_close(void **state)
{
	char buf[4];

	(void)state;
	assert_int_equal(fdpass_receive(pair[1], buf, sizeof(buf), &got, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(got.n, 0);
	assert_false(got.whole);
}

/* The number that the next descriptor would have: no other is free below it. */
static int next_fd(void)
{
	int fd = dup(pair[0]);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* A process that may have one more descriptor gets one, and is told of the loss. */
static void what_exceeds_the_limit_of_open_files_is_cut_off(void **state)
{
	struct rlimit limit, low;
	char buf[4];
	ssize_t n;

	(void)state;
	send_with("text", 4, 3);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)next_fd() + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	n = fdpass_receive(pair[1], buf, sizeof(buf), &got, 0);
	setrlimit(RLIMIT_NOFILE, &limit);
	assert_int_equal(n, 4);
	assert_false(got.whole);
	check_and_close(1);
}

static void closes_all_that_came(void **state)
{
	int before = next_fd();
	char buf[4];

	(void)state;
	send_with("text", 4, FDPASS_MAX);
	assert_int_equal(fdpass_receive(pair[1], buf, sizeof(buf), &got, 0), 4);
	fdpass_close(&got);
	assert_int_equal(got.n, 0);
	assert_int_equal(next_fd(), before);
	/* Once is enough. */
	fdpass_close(&got);
	assert_int_equal(next_fd(), before);
}

static void the_first_is_kept_and_the_others_are_closed(void **state)
{
	int before = next_fd(), first;
	char buf[4];

	(void)state;
	send_with("text", 4, 3);
	assert_int_equal(fdpass_receive(pair[1], buf, sizeof(buf), &got, 0), 4);
	first = fdpass_first(&got);
	assert_int_equal(first, before);
	assert_int_equal(got.n, 0);
	assert_int_equal(next_fd(), before + 1);
	close(first);
	send_with("text", 4, 0);
	assert_int_equal(fdpass_receive(pair[1], buf, sizeof(buf), &got, 0), 4);
	assert_int_equal(fdpass_first(&got), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(carries_none_to_as_many_as_the_kernel_takes),
		TEST(the_kernel_sends_no_more_than_there_is_room_for),
		TEST(says_what_was_cut_off),
		TEST(a_message_of_no_bytes_may_bring_some),
		TEST(nothing_to_receive_leaves_nothing_to_close),
		TEST(what_exceeds_the_limit_of_open_files_is_cut_off),
		TEST(closes_all_that_came),
		TEST(the_first_is_kept_and_the_others_are_closed),
	};

	return unit_run(tests);
}
