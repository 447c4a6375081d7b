// SPDX-License-Identifier: BSD-2-Clause
/* ACKs and NACKs that end in XDP: applied to the transmitter, or refused without a trace. */
#include "verdict.h"

#include <string.h>

#include <falcon/receive/window.h>

/* A BACK that acknowledges 5 data packets and 2 requests. */
static struct falcon_ack good_back(const struct falcon_conn *c)
{
	return (struct falcon_ack){
		.cid = c->id.cid,
		.type = FALCON_BACK,
		.hops = 3,
		.buffer_level = 7,
		.rdbpsn = c->tx_acked.data_base + 5,
		.rrbpsn = c->tx_acked.req_base + 2,
		.t1 = 1001,
		.t2 = 1002,
		.ecn = 9,
		.rue_info = 0x1234,
	};
}

static void put(struct verdict_packet *p, const struct falcon_ack *a)
{
	p->falcon_len = falcon_ack_pack(a, p->falcon);
}

PACKED(back)
{
	struct falcon_ack a = good_back(c);

	(void)e;
	put(p, &a);
}

static void check_common(struct env *e, const struct falcon_conn *c,
			 const struct falcon_conn *before, const struct verdict_packet *p)
{
	assert_int_equal(c->tx_acked.data_base, before->tx_acked.data_base + 5);
	assert_int_equal(c->tx_acked.req_base, before->tx_acked.req_base + 2);
	assert_int_equal(c->tx_acked.t1_t4[p->shape.flow] >> 32, 1001);
	assert_int_not_equal((uint32_t)c->tx_acked.t1_t4[p->shape.flow], 0);
	assert_int_equal(c->tx_acked.acks, 1);
	/* An ACK moves the peer's time, but T1 and T2 are of reliable packets. */
	assert_int_equal(c->rx.remote_time, p->shape.iv);
	assert_int_equal(c->rx.flow[p->shape.flow].t1_t2, before->rx.flow[p->shape.flow].t1_t2);
	assert_int_equal(env_dirty(e), 1ULL << c->id.cid);
	assert_int_equal(e->credits[ENV_XSK].credits, 64);
	assert_memory_equal(&c->cc, &before->cc, sizeof(c->cc));
	assert_memory_equal(&c->rx_acked, &before->rx_acked, sizeof(c->rx_acked));
}

/* The event of the ACK, field by field (Falcon 10.6.2.1). */
static void check_event(struct env *e, const struct falcon_conn *c, const struct verdict_packet *p,
			unsigned int acked, enum falcon_rue_event_type type)
{
	assert_int_equal(env_consume(e), 1);
	assert_int_equal(falcon_ev_get(&e->event, connection_id),
			 (uint32_t)p->shape.flow << FALCON_RUE_FLOW_SHIFT | c->id.cid);
	assert_int_equal(falcon_ev_get(&e->event, event_type), type);
	assert_int_equal(falcon_ev_get(&e->event, t1), 1001);
	assert_int_equal(falcon_ev_get(&e->event, t2), 1002);
	assert_int_equal(falcon_ev_get(&e->event, t3), falcon_time_of_iv(p->shape.iv) & 0xffffff);
	assert_int_equal(falcon_ev_get(&e->event, t4), (uint32_t)c->tx_acked.t1_t4[p->shape.flow] & 0xffffff);
	assert_int_equal(falcon_ev_get(&e->event, forward_hops), 3);
	assert_int_equal(falcon_ev_get(&e->event, rx_buffer_level), 7);
	assert_int_equal(falcon_ev_get(&e->event, cc_metadata), 0x1234);
	assert_int_equal(falcon_ev_get(&e->event, num_packets_acked), acked);
	assert_int_equal(falcon_ev_get(&e->event, ecn_accumulated), 9);
	assert_int_equal(falcon_ev_get(&e->event, fcwnd_integer), 16);
	assert_int_equal(falcon_ev_get(&e->event, ncwnd), 16);
	assert_int_equal(falcon_ev_get(&e->event, retransmit_timeout), 1000);
	assert_int_equal(falcon_ev_get(&e->event, gen), 1);
	assert_int_equal(c->cc_event.events, 1);
	assert_int_equal(c->cc_event.suppressed, 0);
}

VERIFY(back_applied)
{
	(void)r;
	check_common(e, c, before, p);
	check_event(e, c, p, 7, kRueEventTypeAck);
	assert_int_equal(falcon_ev_get(&e->event, eack), 0);
	assert_int_equal(c->tx_acked.eacks, 0);
	assert_int_equal(c->tx_acked.own, 0);
}

/* Data 7 and 8 acknowledged, 10 received, request 3 acknowledged (relative to the old bases). */
PACKED(eack)
{
	struct falcon_ack a = good_back(c);

	(void)e;
	a.type = FALCON_EACK;
	a.data_ack[0] = 0xc;
	a.data_rx[0] = 0x2c;
	a.req[0] = 0x2;
	a.own = FALCON_OWN_DATA;
	put(p, &a);
}

VERIFY(eack_applied)
{
	const struct falcon_tx_acked *tx = &c->tx_acked;
	uint32_t base = before->tx_acked.data_base;

	(void)r;
	check_common(e, c, before, p);
	check_event(e, c, p, 10, kRueEventTypeAck);
	assert_int_equal(falcon_ev_get(&e->event, eack), 1);
	assert_int_equal(falcon_ev_get(&e->event, eack_drop), 1);
	assert_int_equal(tx->eacks, 1);
	assert_int_equal(tx->own, FALCON_OWN_DATA);
	for (uint32_t i = 0; i < 128; i++) {
		assert_int_equal(falcon_ring_test(tx->data_ack, FALCON_DATA_WORDS, base + i),
				 i == 7 || i == 8);
		assert_int_equal(falcon_ring_test(tx->data_rx, FALCON_DATA_WORDS, base + i),
				 i == 7 || i == 8 || i == 10);
		if (i < 64)
			assert_int_equal(
				falcon_ring_test(tx->req_ack, FALCON_REQ_WORDS, base + i), i == 3);
	}
}

PACKED(back_across_wrap)
{
	conn_windows(c, 0xfffffffe);
	back(e, c, p);
}

PACKED(nack_resource)
{
	struct falcon_ack a = good_back(c);

	(void)e;
	a.type = FALCON_NACK;
	a.nack_code = FALCON_NACK_RESOURCE;
	a.nack_psn = a.rdbpsn + 1;
	put(p, &a);
}

VERIFY(nack_applied)
{
	(void)r;
	check_common(e, c, before, p);
	check_event(e, c, p, 7, kRueEventTypeNack);
	assert_int_equal(falcon_ev_get(&e->event, nack_code), FALCON_NACK_RESOURCE);
	assert_int_equal(c->tx_acked.nacks_resource, 1);
}

/* An ACK of nothing new is no news, and still an ACK: OWN or congestion may be in it. */
PACKED(repeated)
{
	struct falcon_ack a = good_back(c);

	(void)e;
	a.rdbpsn -= 5;
	a.rrbpsn -= 2;
	put(p, &a);
}

PACKED(stale_data)
{
	struct falcon_ack a = good_back(c);

	(void)e;
	a.rdbpsn = c->tx_acked.data_base - 1;
	put(p, &a);
}

PACKED(stale_request)
{
	struct falcon_ack a = good_back(c);

	(void)e;
	a.rrbpsn = c->tx_acked.req_base - 1;
	put(p, &a);
}

PACKED(stale_nack)
{
	struct falcon_ack a = good_back(c);

	(void)e;
	a.type = FALCON_NACK;
	a.nack_code = FALCON_NACK_CIE;
	a.rrbpsn = c->tx_acked.req_base - 1;
	put(p, &a);
}

VERIFY(no_trace)
{
	(void)before;
	(void)c;
	(void)p;
	(void)r;
	assert_int_equal(env_dirty(e), 0);
	assert_int_equal(e->credits[ENV_XSK].credits, 64);
	assert_int_equal(env_consume(e), 0);
}

PACKED(never_sent)
{
	struct falcon_ack a = good_back(c);

	(void)e;
	a.rdbpsn = c->cc.data_next + 1;
	put(p, &a);
}

PACKED(never_sent_bit)
{
	struct falcon_ack a = good_back(c);

	(void)e;
	a.type = FALCON_EACK;
	a.data_rx[0] = 1U << (c->cc.data_next - a.rdbpsn);
	put(p, &a);
}

PACKED(never_sent_request)
{
	struct falcon_ack a = good_back(c);

	(void)e;
	a.type = FALCON_EACK;
	a.req[1] = 1U << 31;
	put(p, &a);
}

/* The policy of Falcon 10.6.1: beyond the last threshold both predicates must hold. */
PACKED(suppressed_back)
{
	memset(e->config->rue_threshold, 0, sizeof(e->config->rue_threshold));
	e->config->rue_p1_ns = 0;
	e->config->rue_p2_packets = 8;
	back(e, c, p);
}

VERIFY(without_event)
{
	(void)r;
	check_common(e, c, before, p);
	assert_int_equal(env_consume(e), 0);
	assert_int_equal(c->cc_event.events, 0);
	assert_int_equal(c->cc_event.suppressed, 1);
	assert_int_equal(c->cc_event.last_acked, before->cc_event.last_acked);
}

PACKED(just_enough_back)
{
	suppressed_back(e, c, p);
	e->config->rue_p2_packets = 7;
}

PACKED(agent_sleeps)
{
	e->config->shard[c->id.shard].sleeping = 1;
	back(e, c, p);
}

VERIFY(agent_woken)
{
	(void)r;
	check_common(e, c, before, p);
	assert_int_equal(env_consume(e), 2);
	assert_int_equal(e->wakes, 1);
}

static const struct verdict_case cases[] = {
	{ "ack_consumed: BACK", FALCON_V_ack_consumed, .packed = back, .verify = back_applied },
	{ "ack_consumed: BACK across 2^32", FALCON_V_ack_consumed, .packed = back_across_wrap,
	  .verify = back_applied },
	{ "ack_consumed: EACK", FALCON_V_ack_consumed, .packed = eack, .verify = eack_applied },
	{ "ack_consumed: nothing new", FALCON_V_ack_consumed, .packed = repeated },
	{ "ack_consumed: event withheld", FALCON_V_ack_consumed, .packed = suppressed_back,
	  .verify = without_event },
	{ "ack_consumed: P1 and P2", FALCON_V_ack_consumed, .packed = just_enough_back,
	  .verify = back_applied },
	{ "ack_consumed: agent woken", FALCON_V_ack_consumed, .packed = agent_sleeps,
	  .verify = agent_woken },
	{ "nack_consumed", FALCON_V_nack_consumed, .packed = nack_resource,
	  .verify = nack_applied },
	{ "ack_stale: data", FALCON_V_ack_stale, .packed = stale_data, .verify = no_trace },
	{ "ack_stale: request", FALCON_V_ack_stale, .packed = stale_request, .verify = no_trace },
	{ "ack_stale: NACK", FALCON_V_ack_stale, .packed = stale_nack, .verify = no_trace },
	{ "ack_invalid: base", FALCON_V_ack_invalid, .packed = never_sent, .verify = no_trace },
	{ "ack_invalid: data bit", FALCON_V_ack_invalid, .packed = never_sent_bit,
	  .verify = no_trace },
	{ "ack_invalid: request bit", FALCON_V_ack_invalid, .packed = never_sent_request,
	  .verify = no_trace },
};

int main(void)
{
	return verdict_main("verdict_ack", cases, ARRAY_SIZE(cases), NULL);
}
