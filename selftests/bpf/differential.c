// SPDX-License-Identifier: BSD-2-Clause
/*
 * The same random packets through the BPF build, by BPF_PROG_TEST_RUN, and through the host build
 * of the same headers: after each, verdict, answer, credits, dirty bits and the whole state of
 * the connection must be equal. What holds a reading of the clock is taken over, not compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/bpf.h>
#include <stdio.h>

#include "env.h"
#include "falcon/receive/window.h"
#include "reference.h"
#include "traffic.h"

enum {
	PACKETS = 250000,
};

static struct env env;
static struct falcon_conn host[ENV_CONNS];
static struct reference ref;
static struct traffic traffic = { .rng = 0x9e3779b97f4a7c15 };
static uint64_t seen[FALCON_VERDICT_COUNT];
static unsigned int wraps;

/* Start over, windows close below 2^32 so that they wrap soon. */
static void restart(void)
{
	env_reset(&env);
	for (uint32_t i = 0; i < ENV_CONNS; i++)
		conn_windows(&env.conns[i], 0U - 200 - traffic_random(&traffic, 2000));
	env.conns[2].id.flags |= FALCON_CONN_NO_CSUM;
	env.conns[1].id.flags |= FALCON_CONN_ORDERED;
	env.config->replay_margin = 2000000;
	for (uint32_t i = 0; i < FALCON_MAX_SHARDS; i++)
		env.config->shard[i].zone = traffic_random(&traffic, 8) ? FALCON_ZONE_GREEN : FALCON_ZONE_RED;
	env.config->rue_p1_ns = traffic_random(&traffic, 2) ? 0 : UINT64_MAX;
	env.config->rue_p2_packets = traffic_random(&traffic, 4);
	for (unsigned int i = 0; i < 3; i++)
		env.config->rue_threshold[i] = i * traffic_random(&traffic, 20000);
	memcpy(host, env.conns, sizeof(host));
	ref = (struct reference){
		.conns = host,
		.nconns = ENV_CONNS,
		.config = *env.config,
		.agent = true,
		.credits = 64,
		.max_frame = ENV_MAX_FRAME,
		.mac = packet_dst_mac,
	};
}

/* What an agent does between packets, on both sides. */
static void agent_step(uint32_t cid)
{
	struct falcon_conn *h = &host[cid], *b = &env.conns[cid];
	uint32_t base = h->rx_acked.data_base, psn, flow;

	traffic_agent(&traffic, h);
	wraps += h->rx_acked.data_base < base;
	b->rx_acked = h->rx_acked;
	b->cc = h->cc;
	flow = traffic_random(&traffic, FALCON_MAX_FLOWS);
	h->rx.flow[flow].acked += traffic_random(&traffic, 3);
	b->rx.flow[flow].acked = h->rx.flow[flow].acked;
	if (traffic_random(&traffic, 8) == 0 && traffic_unclaim(&traffic, h, &psn)) {
		falcon_ring_release(h->rx.data_rx, FALCON_DATA_WORDS, psn);
		falcon_ring_release(b->rx.data_rx, FALCON_DATA_WORDS, psn);
	}
	env.config->shard[0].rx_level = ref.config.shard[0].rx_level = traffic_random(&traffic, 32);
	h->id.flags &= ~(uint32_t)FALCON_CONN_STEER;
	if (traffic_random(&traffic, 50) == 0)
		h->id.flags |= FALCON_CONN_STEER;
	b->id.flags = h->id.flags;
	h->tx_acked.own = b->tx_acked.own = 0;
}

static void compare_answer(const struct reference_result *want, const struct env_result *got)
{
	const struct falcon_rx_state *rx = &host[want->frame.cid].rx;
	struct packet_reply out;
	struct falcon_ack a = want->ack;

	assert_int_equal(packet_parse_reply(got->buf + got->meta_len, got->len, &out), 0);
	assert_true(out.ip_csum_ok && out.udp_csum_ok);
	assert_int_equal(out.wire_error, FALCON_WIRE_OK);
	assert_int_equal(out.frame.flow, want->frame.flow);
	a.t2 = (uint32_t)rx->flow[want->frame.flow].t1_t2;
	/* A BACK has no bitmaps. */
	if (a.type == FALCON_BACK)
		memset(a.data_rx, 0, sizeof(a.data_rx));
	assert_memory_equal(&out.ack, &a, sizeof(a));
}

/* Take over what depends on the clock, then nothing may differ. */
static void compare_conn(uint32_t cid)
{
	struct falcon_conn *h = &host[cid], *b = &env.conns[cid];

	for (int i = 0; i < FALCON_MAX_FLOWS; i++) {
		assert_int_equal(h->rx.flow[i].t1_t2 >> 32, b->rx.flow[i].t1_t2 >> 32);
		h->rx.flow[i].t1_t2 = b->rx.flow[i].t1_t2;
		assert_int_equal(h->tx_acked.t1_t4[i] >> 32, b->tx_acked.t1_t4[i] >> 32);
		h->tx_acked.t1_t4[i] = b->tx_acked.t1_t4[i];
	}
	h->cc_event.last_ns = b->cc_event.last_ns;
	assert_memory_equal(h, b, sizeof(*h));
}

static void compare_rest(void)
{
	assert_int_equal(env.credits[ENV_XSK].credits, ref.credits);
	assert_int_equal(env_dirty(&env), ref.dirty);
}

static void one_packet(uint64_t n, struct falcon_counters *before)
{
	uint32_t cid = traffic_random(&traffic, ENV_CONNS);
	struct reference_result want;
	struct falcon_counters after;
	uint8_t frame[PACKET_MAX];
	struct env_result got;
	size_t len = traffic_frame(&traffic, &host[cid], frame);
	int v;

	if (traffic_random(&traffic, 10) == 0)
		len = traffic_mutate(&traffic, frame, len);
	reference_rx(&ref, frame, len, 1, &want);
	assert_int_equal(env_run(&env, frame, len, 0, &got), 0);
	env_counters(&env, &after);
	v = env_verdict(before, &after);
	if (v != (int)want.verdict)
		fail_msg("packet %llu: BPF says %s, host %s", (unsigned long long)n,
			 env_verdict_name(v), env_verdict_name(want.verdict));
	seen[want.verdict]++;
	for (uint32_t i = 0; i < ENV_CONNS; i++)
		compare_conn(i);
	if (falcon_verdict_answers(want.verdict))
		compare_answer(&want, &got);
	compare_rest();
	*before = after;
}

/* Things that happen now and then. */
static void now_and_then(uint64_t n)
{
	if (n % 20000 == 0)
		restart();
	if (traffic_random(&traffic, 4) == 0)
		agent_step(traffic_random(&traffic, ENV_CONNS));
	if (traffic_random(&traffic, 100) == 0) {
		ref.credits = traffic_random(&traffic, 3) ? 200 : traffic_random(&traffic, 9);
		env.credits[ENV_XSK].credits = ref.credits;
		env_dirty_clear(&env);
		ref.dirty = 0;
	}
	if (traffic_random(&traffic, 500) == 0) {
		env_consume(&env);
		memset(ref.rue_used, 0, sizeof(ref.rue_used));
	}
}

static void bpf_and_host__same_packets(void **state)
{
	struct falcon_counters n;

	(void)state;
	env_counters(&env, &n);
	for (uint64_t i = 0; i < PACKETS; i++) {
		now_and_then(i);
		one_packet(i, &n);
	}
	assert_true(wraps > 0);
}

/* The traffic was worth it: every verdict that traffic can cause was caused, and often. */
static void bpf_and_host__all_verdicts(void **state)
{
	static const enum falcon_verdict wanted[] = {
		FALCON_V_pass_not_falcon, FALCON_V_rx_data, FALCON_V_rx_request,
		FALCON_V_rx_resync, FALCON_V_rx_resync_dup, FALCON_V_rx_nack, FALCON_V_steered,
		FALCON_V_ack_consumed, FALCON_V_nack_consumed, FALCON_V_dup_acked,
		FALCON_V_old_acked, FALCON_V_oow_acked, FALCON_V_resource_nacked,
		FALCON_V_zone_nacked, FALCON_V_ack_stale, FALCON_V_ack_invalid,
		FALCON_V_drop_truncated, FALCON_V_drop_csum, FALCON_V_drop_length,
		FALCON_V_drop_code, FALCON_V_drop_spi, FALCON_V_drop_replay,
		FALCON_V_drop_no_credit,
	};

	(void)state;
	for (int v = 0; v < FALCON_VERDICT_COUNT; v++)
		printf("# %8llu %s\n", (unsigned long long)seen[v], env_verdict_name(v));
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (seen[wanted[i]] < 50)
			fail_msg("%s was seen %llu times", env_verdict_name(wanted[i]),
				 (unsigned long long)seen[wanted[i]]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bpf_and_host__same_packets),
		cmocka_unit_test(bpf_and_host__all_verdicts),
	};

	return env_main(&env, "differential", tests, ARRAY_SIZE(tests), NULL);
}
