// SPDX-License-Identifier: BSD-2-Clause
/*
 * A million mutated frames: each ends in exactly one verdict with the action that belongs to it,
 * and one that is dropped changes no connection.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <time.h>

#include "env.h"
#include "traffic.h"

enum {
	FRAMES = 1000000,
	FRAMES_A_LIFE = 4000,	/* after as many, fresh connections */
};

static struct env env;
static struct traffic traffic = { .rng = 0x2545f4914f6cdd1d };
static uint64_t seen[FALCON_VERDICT_COUNT];

static bool must_leave_no_trace(int v)
{
	return falcon_verdict_passes(v) || v == FALCON_V_ack_stale ||
	       v == FALCON_V_ack_invalid || v >= FALCON_V_drop_truncated;
}

static void check_action(int v, int action)
{
	if (falcon_verdict_passes(v))
		assert_int_equal(action, XDP_PASS);
	else if (falcon_verdict_delivers((enum falcon_verdict)v))
		assert_int_equal(action, XDP_REDIRECT);
	else
		assert_int_equal(action,
				 falcon_verdict_answers((enum falcon_verdict)v) ? XDP_TX
										: XDP_DROP);
}

static size_t make_frame(uint8_t *frame)
{
	uint32_t cid = traffic_random(&traffic, ENV_CONNS);
	size_t len = traffic_frame(&traffic, &env.conns[cid], frame);

	return traffic_mutate(&traffic, frame, len);
}

static void one_frame(struct falcon_counters *before)
{
	static struct falcon_conn state[ENV_CONNS];
	struct falcon_counters after;
	uint8_t frame[PACKET_MAX];
	struct env_result r;
	size_t len = make_frame(frame);
	int v;

	memcpy(state, env.conns, sizeof(state));
	assert_int_equal(env_run(&env, frame, len, 0, &r), 0);
	env_counters(&env, &after);
	v = env_verdict(before, &after);
	if (v < 0) {
		fail_msg("not exactly one verdict");
		return;
	}
	seen[v]++;
	check_action(v, r.action);
	if (must_leave_no_trace(v) && memcmp(state, env.conns, sizeof(state)))
		fail_msg("%s left a trace", env_verdict_name(v));
	*before = after;
}

static void new_life(void)
{
	env_reset(&env);
	env.credits[ENV_XSK].credits = FRAMES_A_LIFE / 2;
	env.config->pcid_match = traffic_random(&traffic, 8) == 0;
	for (uint32_t i = 0; i < ENV_CONNS; i++)
		conn_windows(&env.conns[i], 0U - traffic_random(&traffic, 200));
	if (traffic_random(&traffic, 8) == 0)
		env.conns[3].id.flags &= ~(uint32_t)FALCON_CONN_ALIVE;
}

static void mutated_frames__leave_no_trace(void **state)
{
	struct falcon_counters first, n;
	struct timespec t0, t1;
	uint64_t sum = 0;

	(void)state;
	env_counters(&env, &first);
	n = first;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (unsigned int i = 0; i < FRAMES; i++) {
		if (i % FRAMES_A_LIFE == 0)
			new_life();
		one_frame(&n);
	}
	clock_gettime(CLOCK_MONOTONIC, &t1);
	for (int v = 0; v < FALCON_VERDICT_COUNT; v++) {
		sum += ((uint64_t *)&n)[v] - ((uint64_t *)&first)[v];
		printf("# %8llu %s\n", (unsigned long long)seen[v], env_verdict_name(v));
	}
	assert_int_equal(sum, FRAMES);
	printf("# %d frames in %ld s\n", FRAMES, (long)(t1.tv_sec - t0.tv_sec));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mutated_frames__leave_no_trace),
	};

	return env_main(&env, "mutate", tests, ARRAY_SIZE(tests), NULL);
}
