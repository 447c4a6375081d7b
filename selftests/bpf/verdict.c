// SPDX-License-Identifier: BSD-2-Clause
#include "verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct env verdict_env;

/* The XDP action that belongs to verdict |v|. */
static int verdict_action(enum falcon_verdict v)
{
	if (falcon_verdict_passes(v))
		return XDP_PASS;
	if (falcon_verdict_delivers(v))
		return XDP_REDIRECT;
	return falcon_verdict_answers(v) ? XDP_TX : XDP_DROP;
}

/* True for verdicts that must leave the connection untouched. */
static bool verdict_is_drop(enum falcon_verdict v)
{
	return falcon_verdict_passes(v) || v == FALCON_V_ack_stale ||
	       v == FALCON_V_ack_invalid || v >= FALCON_V_drop_truncated;
}

/* Build the packet of |c| for connection |cid| in |shape|'s VLANs and cookie, and run it. */
static void verdict_once(struct env *e, const struct verdict_case *c, uint32_t cid,
				unsigned int vlans, bool vc)
{
	struct falcon_conn *conn = &e->conns[cid], before[ENV_CONNS];
	struct verdict_packet p = { .payload = 100, .ifindex = e->ifindex };
	struct falcon_counters n0, n1;
	struct env_result r;
	int v;

	env_reset(e);
	env_shape(e, cid, 5000000, &p.shape);
	p.shape.vlans = vlans;
	p.shape.vc = vc;
	/* A flow of its own for each encapsulation: what is kept per flow must land there. */
	p.shape.flow = (uint8_t)(cid * 6 + vlans * 2 + vc + 1);
	p.shape.path = (uint16_t)(0x8123 + p.shape.flow);
	env_push(e, cid, ENV_PSN, &p.hdr);
	p.hdr.request_len = (uint16_t)p.payload;
	if (c->base)
		c->base(e, conn, &p);
	if (c->header)
		c->header(e, conn, &p);
	p.falcon_len = packet_reliable(&p.hdr, p.payload, p.falcon);
	if (c->packed)
		c->packed(e, conn, &p);
	p.len = packet_build(&p.shape, p.falcon, p.falcon_len, p.frame);
	if (c->framed)
		c->framed(e, conn, &p);

	memcpy(before, e->conns, sizeof(before));
	env_counters(e, &n0);
	assert_int_equal(env_run_on(e, p.frame, p.len, p.ifindex, p.queue, &r), 0);
	env_counters(e, &n1);
	v = env_verdict(&n0, &n1);
	if (v != (int)c->want)
		fail_msg("%s: verdict %s, want %s (CID %u, %u VLANs, cookie %d)", c->name,
			 env_verdict_name(v), env_verdict_name(c->want), cid, vlans, vc);
	assert_int_equal(r.action, c->acks ? XDP_TX : verdict_action(c->want));
	assert_int_equal(n1.xdp_tx - n0.xdp_tx, r.action == XDP_TX);
	if (verdict_is_drop(c->want))
		assert_memory_equal(e->conns, before, sizeof(before));
	if (c->verify)
		c->verify(e, conn, &before[cid], &p, &r);
}

/* cmocka test function: its state is a struct verdict_case, run in every encapsulation. */
static void verdict_run(void **state)
{
	const struct verdict_case *c = *state;

	for (uint32_t cid = 0; cid < (c->ipv4_only ? 1 : 2); cid++)
		for (unsigned int vlans = 0; vlans <= FALCON_MAX_VLANS; vlans++)
			for (int vc = 0; vc < 2; vc++)
				verdict_once(&verdict_env, c, cid, vlans, vc);
}

int verdict_main(const char *group, const struct verdict_case *cases, size_t n, int (*more)(void))
{
	struct CMUnitTest *tests = calloc(n, sizeof(*tests));
	int rc;

	for (size_t i = 0; i < n; i++) {
		tests[i].name = cases[i].name;
		tests[i].test_func = verdict_run;
		tests[i].initial_state = (void *)&cases[i];
	}
	rc = env_main(&verdict_env, group, tests, n, more);
	free(tests);
	return rc;
}
