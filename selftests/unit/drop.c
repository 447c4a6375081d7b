// SPDX-License-Identifier: BSD-2-Clause
/* Descriptors are closed behind the caller's back, and a close that hangs holds up its user alone. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <agent/drop.h>

#include "lingering.h"

enum { SLOW_USER = 1001, USER = 1002 };

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

/* Descriptors are left for others, however few the agent may have. */
static void no_more_than_a_share(void **state)
{
	struct rlimit before, few;
	int peer, last = -1;
	unsigned int n = 1;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	few.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_false(drop_full(SLOW_USER));
	drop_fd(lingering(&peer), SLOW_USER);
	for (; !drop_full(SLOW_USER); n++) {
		last = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(last >= 0);
		drop_fd(last, SLOW_USER);
	}
	/* An eighth of what does not wait. */
	assert_int_equal(n, 100 / 9 + 1);
	assert_false(drop_full(USER));
	close(peer);
	wait_closed(SLOW_USER);
	assert_false(drop_full(SLOW_USER));
	setrlimit(RLIMIT_NOFILE, &before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_than_a_share),
		cmocka_unit_test(each_user_waits_for_his_own),
	};

	return unit_run(tests);
}
