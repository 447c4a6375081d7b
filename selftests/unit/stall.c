// SPDX-License-Identifier: BSD-2-Clause
/* A loop whose thread is held up in a call goes on in another; what the call comes to is told. */
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <agent/shard/stall.h>

static struct stall *s;
static struct stall_call call[2];
static int hole[2][2];			/* pipes that calls read from */
static pthread_t turned[3];		/* the threads that have entered the loop */
static unsigned int turns;
static struct stall_call *told;

static void be_late(int i)
{
	char byte;

	stall_begin(s, &call[i]);
	stall_end(s, &call[i], read(hole[i][0], &byte, 1));
	fail();				/* the loop has gone on: that did not return */
}

static void end_call(int i)
{
	struct pollfd p = { .fd = stall_fd(s), .events = POLLIN };

	assert_false(stall_over(&call[i]));
	assert_int_equal(write(hole[i][1], "x", 1), 1);
	while (!stall_over(&call[i])) {
		assert_int_equal(poll(&p, 1, 60000), 1);
		stall_read(s);
	}
	assert_int_equal(call[i].result, 1);
}

static void stalled(void *arg, struct stall_call *c)
{
	(void)arg;
	told = c;
}

static void loop(void *arg)
{
	(void)arg;
	turned[turns] = pthread_self();
	stall_watch(s, true);
	switch (turns++) {
	case 0:
		stall_begin(s, &call[0]);
		stall_end(s, &call[0], 7);
		be_late(0);
		break;
	case 1:
		assert_ptr_equal(told, &call[0]);
		be_late(1);
		break;
	default:
		assert_ptr_equal(told, &call[1]);
		/* In another order than they began. */
		end_call(1);
		end_call(0);
	}
}

static void goes_on_in_another_thread(void **state)
{
	static const struct stall_ops ops = { .loop = loop, .stalled = stalled };

	(void)state;
	s = stall_open();
	assert_non_null(s);
	assert_int_equal(pipe(hole[0]) | pipe(hole[1]), 0);
	assert_int_equal(stall_run(s, &ops, NULL), 0);
	assert_int_equal(turns, 3);
	assert_false(pthread_equal(turned[0], turned[1]) || pthread_equal(turned[1], turned[2]));
	assert_false(pthread_equal(turned[0], pthread_self()));
	stall_close(s);
}

static void nobody_watches(void **state)
{
	struct stall_call c = {};

	(void)state;
	stall_watch(NULL, true);
	stall_begin(NULL, &c);
	stall_end(NULL, &c, 1);
	assert_false(stall_over(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_on_in_another_thread),
		cmocka_unit_test(nobody_watches),
	};

	return unit_run(tests);
}
