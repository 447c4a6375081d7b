// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who carries out the next request: several threads do what XDP does on several CPUs, one what the agent
 * does. Built with ThreadSanitizer, which watches that what belongs to the owner is touched by nobody else;
 * the test watches that every request is carried out once and in order, by whomever.
 */
#include <pthread.h>
#include <sched.h>

#include "falcon/receive/exec.h"
#include "unit.h"

enum {
	TOTAL = 200000,		/* requests */
	CPUS = 3,
	GIVEN = 50,		/* requests that the agent lets XDP have before it takes over */
};

static const uint32_t first = 0U - TOTAL / 2;

static struct falcon_exec exec;
static uint32_t by_xdp, by_agent;	/* how many of them */
static uint32_t withdrawn;		/* how often something was taken back, ... */
static uint32_t waited;			/* ... and the wait for XDP was over */
static uint32_t overruns;		/* requests that had begun before, and went on after that */

/* The next request, whatever it is; the owner's. */
static void carry_out(void)
{
	exec.sn++;
	exec.bytes += exec.packets++;
}

static void *cpu(void *arg)
{
	uint32_t rsn;

	while ((rsn = (uint32_t)falcon_load(&exec.owner)) - first < TOTAL) {
		uint32_t begun;

		/* The agent has its share, however long it does not get a CPU. */
		if (rsn - first >= TOTAL / 2 && !falcon_load(&by_agent)) {
			sched_yield();
			continue;
		}
		if (!falcon_exec_take(&exec, rsn)) {
			sched_yield();
			continue;
		}
		begun = falcon_load(&withdrawn);
		carry_out();
		by_xdp++;
		/* A wait that began after this request had cannot have ended. */
		if (falcon_load(&waited) > begun)
			falcon_fetch_add(&overruns, 1U);
		falcon_exec_free(&exec, rsn, rsn + 1);
	}
	return arg;
}

/* Withdraw something and wait, as a key is taken back. */
static void take_back(void)
{
	uint32_t n = falcon_fetch_add(&withdrawn, 1U) + 1;

	falcon_exec_wait(&exec);
	falcon_store(&waited, n);
}

static void agent(void)
{
	uint32_t next = first;

	while (next - first < TOTAL) {
		uint32_t at = next;

		/* XDP has its share, however many CPUs there are. */
		while ((uint32_t)falcon_load(&exec.owner) - at < GIVEN && next - first < TOTAL - GIVEN)
			sched_yield();
		take_back();
		next = falcon_exec_seize(&exec);
		if (next - first < TOTAL) {
			carry_out();
			falcon_store(&by_agent, by_agent + 1);
			next++;
		}
		falcon_exec_release(&exec, next);
	}
}

static void one_after_the_other(void **state)
{
	pthread_t threads[CPUS];

	(void)state;
	exec.owner = falcon_exec_word(FALCON_EXEC_FREE, first);
	for (int i = 0; i < CPUS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, cpu, NULL), 0);
	agent();
	for (int i = 0; i < CPUS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal((uint32_t)exec.owner - first, TOTAL);
	assert_int_equal(exec.sn, TOTAL);
	assert_int_equal(exec.packets, TOTAL);
	assert_int_equal(exec.bytes, (uint64_t)TOTAL * (TOTAL - 1) / 2);
	assert_int_equal(by_xdp + by_agent, TOTAL);
	assert_true(by_xdp > 0 && by_agent > 0);
	assert_int_equal(overruns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_after_the_other),
	};

	return unit_run(tests);
}
