// SPDX-License-Identifier: BSD-2-Clause
/* Memory that has its reader sleep is left alone for a while; memory that takes a CPU's time is not. */
#include "unit.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <agent/rdma/rest.h>

static int fds[2];

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* Write once the other thread sleeps, as the kernel's word for it is. */
static void *answer(void *arg)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", *(pid_t *)arg);
	while (state != 'S') {
		f = fopen(path, "r");
		assert_non_null(f);
		assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
		fclose(f);
	}
	assert_int_equal(write(fds[1], "x", 1), 1);
	return NULL;
}

static void sleeping_call(struct rdma_rest *r)
{
	pid_t self = gettid();
	struct rdma_rest_call call;
	pthread_t thread;
	char byte;

	assert_int_equal(pthread_create(&thread, NULL, answer, &self), 0);
	rdma_rest_begin(r, &call);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	rdma_rest_end(r, &call);
	pthread_join(thread, NULL);
}

static void busy_call(struct rdma_rest *r)
{
	struct rdma_rest_call call;

	rdma_rest_begin(r, &call);
	for (volatile int i = 0; i < 1000000; i++)
		;
	rdma_rest_end(r, &call);
}

static void sleep_is_seen(void **state)
{
	struct rdma_rest r = {};
	uint64_t before, after, until;

	(void)state;
	/* Some are not looked at, ... */
	for (int i = 0; i < REST_SAMPLE; i++) {
		before = now();
		sleeping_call(&r);
		after = now();
	}
	assert_int_equal(r.rests, 1);
	assert_true(r.until > after - (after - before));
	assert_true(r.until <= after + REST_FACTOR * (after - before));
	/* ... and all after one that has slept. */
	until = r.until;
	sleeping_call(&r);
	assert_int_equal(r.rests, 2);
	assert_true(r.until > until || r.until > before);
}

/* One that is busy may be interrupted by others: that is not its fault. */
static void work_is_none(void **state)
{
	struct rdma_rest r = {};

	(void)state;
	for (int i = 0; i < 20 * REST_SAMPLE; i++)
		busy_call(&r);
	assert_int_equal(r.rests, 0);
	assert_true(r.until == 0);
	/* Watched for a while only. */
	rdma_rest_late(&r, 1000);
	assert_true(r.until == 1000 + REST_LATE_MS * 1000000ULL);
	for (int i = 0; i < REST_WATCH; i++)
		busy_call(&r);
	assert_int_equal(r.watch, 0);
	assert_int_equal(r.rests, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleep_is_seen),
		cmocka_unit_test(work_is_none),
	};

	assert_int_equal(pipe(fds), 0);
	return unit_run(tests);
}
