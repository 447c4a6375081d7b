// SPDX-License-Identifier: BSD-2-Clause
/* Descriptors are closed behind the caller's back, and a close that hangs holds up its user alone. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <agent/drop.h>

enum { SLOW_USER = 1001, USER = 1002 };

/* A TCP socket that closes only when its peer, *|peer|, has read what it was sent, or has gone. */
static int lingering(int *peer)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const struct linger linger = { .l_onoff = 1, .l_linger = 600 };
	static const char bytes[65536];
	socklen_t len = sizeof(sin);
	int l = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(l, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&sin, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	*peer = accept(l, NULL, NULL);
	assert_true(*peer >= 0);
	close(l);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	return fd;
}

static void wait_closed(uid_t uid)
{
	while (drop_pending(uid))
		sched_yield();
}

static void each_user_waits_for_his_own(void **state)
{
	int peer, slow, pair[2], more[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(pair) | pipe(more), 0);
	slow = lingering(&peer);
	drop_fd(slow, SLOW_USER);
	drop_fd(more[1], SLOW_USER);
	drop_fd(pair[1], USER);
	/* The end of the pipe says that it is closed. */
	assert_int_equal(read(pair[0], &byte, 1), 0);
	wait_closed(USER);
	assert_int_equal(drop_pending(SLOW_USER), 2);
	assert_int_equal(fcntl(more[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(more[0], &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
	close(peer);
	wait_closed(SLOW_USER);
	assert_int_equal(read(more[0], &byte, 1), 0);
	assert_int_equal(fcntl(slow, F_GETFD), -1);
	close(more[0]);
	close(pair[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_user_waits_for_his_own),
	};

	return unit_run(tests);
}
