// SPDX-License-Identifier: BSD-2-Clause
#include "agent/rdma/rest.h"

#include <sys/resource.h>
#include <time.h>

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* How often this thread has given its CPU up of itself. */
static long sleeps(void)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	return use.ru_nvcsw;
}

void rdma_rest_begin(struct rdma_rest *r, struct rdma_rest_call *call)
{
	call->looked_at = r->watch || ++r->calls >= REST_SAMPLE;
	if (!call->looked_at)
		return;
	r->calls = 0;
	call->sleeps = sleeps();
	call->since = clock_ns();
}

void rdma_rest_end(struct rdma_rest *r, const struct rdma_rest_call *call)
{
	uint64_t now;

	if (!call->looked_at)
		return;
	if (sleeps() == call->sleeps) {
		r->watch -= r->watch > 0;
		return;
	}
	now = clock_ns();
	r->until = now + REST_FACTOR * (now - call->since);
	r->watch = REST_WATCH;
	r->rests++;
}

void rdma_rest_late(struct rdma_rest *r, uint64_t now)
{
	r->until = now + REST_LATE_MS * 1000000ULL;
	r->watch = REST_WATCH;
	r->rests++;
}
