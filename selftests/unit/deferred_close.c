// SPDX-License-Identifier: BSD-2-Clause
/* Descriptors are closed behind the caller's back, and a close that hangs holds up its user alone. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <agent/process/deferred_close.h>

#include "lingering.h"

enum { SLOW_USER = 1001, USER = 1002 };

static void wait_closed(uid_t uid)
{
	while (deferred_close_pending(uid))
		sched_yield();
}

static void each_user_waits_for_his_own(void **state)
{
	int peer, slow, pair[2], more[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(pair) | pipe(more), 0);
	slow = lingering(&peer);
	deferred_close(slow, SLOW_USER);
	deferred_close(more[1], SLOW_USER);
	deferred_close(pair[1], USER);
	/* The end of the pipe says that it is closed. */
	assert_int_equal(read(pair[0], &byte, 1), 0);
	wait_closed(USER);
	assert_int_equal(deferred_close_pending(SLOW_USER), 2);
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

/* The thread of this process that closes; 0: it has not begun. */
static pid_t closing_thread(void)
{
	DIR *tasks = opendir("/proc/self/task");
	char path[64], name[16] = "";
	const struct dirent *d;
	pid_t tid = 0;

	while (!tid && (d = readdir(tasks))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", d->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f) && !strcmp(name, "falcon-close\n"))
			tid = atoi(d->d_name);
		if (f)
			fclose(f);
	}
	closedir(tasks);
	return tid;
}

static void *close_there(void *fd)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
	deferred_close(*(int *)fd, SLOW_USER);
	return NULL;
}

/* A thread that is bound to a CPU closes one: what closes is not bound to it. */
static void runs_elsewhere(void **state)
{
	cpu_set_t all, set;
	pthread_t thread;
	int peer, fd = lingering(&peer);
	pid_t tid;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(pthread_create(&thread, NULL, close_there, &fd), 0);
	while (!(tid = closing_thread()))
		sched_yield();
	do
		assert_int_equal(sched_getaffinity(tid, sizeof(set), &set), 0);
	while (!CPU_EQUAL(&all, &set));
	pthread_join(thread, NULL);
	close(peer);
	wait_closed(SLOW_USER);
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
	assert_false(deferred_close_full(SLOW_USER));
	deferred_close(lingering(&peer), SLOW_USER);
	for (; !deferred_close_full(SLOW_USER); n++) {
		last = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(last >= 0);
		deferred_close(last, SLOW_USER);
	}
	/* An eighth of what does not wait. */
	assert_int_equal(n, 100 / 9 + 1);
	assert_false(deferred_close_full(USER));
	close(peer);
	wait_closed(SLOW_USER);
	assert_false(deferred_close_full(SLOW_USER));
	setrlimit(RLIMIT_NOFILE, &before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_than_a_share),
		cmocka_unit_test(each_user_waits_for_his_own),
		cmocka_unit_test(runs_elsewhere),
	};

	return unit_run(tests);
}
