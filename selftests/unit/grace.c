// SPDX-License-Identifier: BSD-2-Clause
/* Grace periods: who asks gets one that begins after he has asked, and shares it with others. */
#include "unit.h"

#include <poll.h>
#include <semaphore.h>

#include <agent/conn/grace.h>

static sem_t begun, end;	/* posted by the thread when a period begins; by the test, to end it */
static unsigned int periods;

static void wait_for_xdp(void)
{
	periods++;
	sem_post(&begun);
	sem_wait(&end);
}

static struct grace *g;

static int setup(void **state)
{
	(void)state;
	periods = 0;
	sem_init(&begun, 0, 0);
	sem_init(&end, 0, 0);
	g = grace_start(wait_for_xdp);
	return g ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	/* A period may be under way, and one more be wanted. */
	sem_post(&end);
	sem_post(&end);
	grace_stop(g);
	return 0;
}

static void end_period(uint64_t number)
{
	struct pollfd p = {.fd = grace_fd(g), .events = POLLIN};

	sem_post(&end);
	while (grace_over(g) < number)
		assert_int_equal(poll(&p, 1, 10000), 1);
}

static void shared(void **state)
{
	uint64_t first, second;

	(void)state;
	first = grace_ask(g);
	assert_int_equal(first, 1);
	sem_wait(&begun);
	/* It has begun: too late for whoever asks now. */
	assert_int_equal(grace_over(g), 0);
	second = grace_ask(g);
	assert_int_equal(second, 2);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(grace_ask(g), second);
	end_period(first);
	assert_int_equal(grace_over(g), first);
	sem_wait(&begun);
	end_period(second);
	assert_int_equal(periods, 2);
}

/* Nobody asks, nothing happens; stopping does not wait for periods that nobody wants. */
static void idle(void **state)
{
	(void)state;
	assert_int_equal(grace_over(g), 0);
	assert_int_equal(periods, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shared, setup, teardown),
		cmocka_unit_test_setup_teardown(idle, setup, teardown),
	};

	return unit_run(tests);
}
