// SPDX-License-Identifier: BSD-2-Clause
/* What is handed to the agent: claimed in the right window, with metadata, the frame as it came. */
#include "verdict.h"

#include <string.h>

#include <falcon/receive/window.h>

static void check_delivery(struct env *e, const struct verdict_packet *p,
			   const struct env_result *r, enum falcon_verdict v, size_t len)
{
	struct falcon_meta m;

	assert_int_equal(r->meta_len, sizeof(m));
	memcpy(&m, r->buf, sizeof(m));
	assert_int_equal(m.magic, FALCON_META_MAGIC);
	assert_int_equal(m.verdict, v);
	assert_int_equal(m.falcon_off, packet_falcon_off(&p->shape));
	assert_int_equal(m.falcon_len, p->falcon_len);
	assert_int_equal(m.cid, p->hdr.cid);
	assert_true(m.rx_ns > 0);
	assert_int_equal(m.flow, p->shape.flow);
	assert_int_equal(m.path, p->shape.ipv6 ? falcon_flow_label(0, p->shape.path) >> FALCON_FLOW_BITS
					       : p->shape.path & FALCON_PORT_PATH_MASK);
	assert_int_equal(r->len, len);
	assert_memory_equal(r->buf + sizeof(m), p->frame, len);
	assert_int_equal(e->credits[ENV_XSK].credits, 63);
	assert_int_equal(e->credits[ENV_XSK].refused, 0);
}

/* The marks that any accepted reliable packet leaves. */
static void check_measured(const struct falcon_conn *c, const struct falcon_conn *before,
			   const struct verdict_packet *p)
{
	assert_int_equal(c->rx.flow[p->shape.flow].t1_t2 >> 32, falcon_time_of_iv(p->shape.iv));
	assert_int_not_equal((uint32_t)c->rx.flow[p->shape.flow].t1_t2, 0);
	assert_int_equal(c->rx.remote_time, p->shape.iv);
	assert_int_equal(c->rx.flow[p->shape.flow].hops, FALCON_DEFAULT_TTL - p->shape.ttl);
	assert_int_equal(c->rx.flow[p->shape.flow].ecn_count, p->shape.ecn == FALCON_ECN_CE);
	assert_int_equal(c->rx.accepted, 1);
	assert_int_equal(c->rx.own, 0);
	for (unsigned int i = 0; i < FALCON_MAX_FLOWS; i++)
		if (i != p->shape.flow)
			assert_memory_equal(&c->rx.flow[i], &before->rx.flow[i],
					    sizeof(c->rx.flow[i]));
	assert_memory_equal(&c->id, &before->id, sizeof(c->id));
	assert_memory_equal(&c->rx_acked, &before->rx_acked, sizeof(c->rx_acked));
	assert_memory_equal(&c->cc, &before->cc, sizeof(c->cc));
}

static unsigned int bits_set(const __u64 *ring, unsigned int words)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < words; i++)
		n += (unsigned int)__builtin_popcount((uint32_t)ring[i]);
	return n;
}

static void check_claim(const struct falcon_conn *c, uint32_t psn, bool req)
{
	assert_int_equal(bits_set(c->rx.data_rx, FALCON_DATA_WORDS), !req);
	assert_int_equal(bits_set(c->rx.req_rx, FALCON_REQ_WORDS), req);
	if (req)
		assert_true(falcon_ring_test(c->rx.req_rx, FALCON_REQ_WORDS, psn));
	else
		assert_true(falcon_ring_test(c->rx.data_rx, FALCON_DATA_WORDS, psn));
}

VERIFY(in_data_window)
{
	check_delivery(e, p, r, FALCON_V_rx_data, p->len);
	check_measured(c, before, p);
	check_claim(c, p->hdr.psn, false);
	assert_memory_equal(&c->tx_acked, &before->tx_acked, sizeof(c->tx_acked));
}

VERIFY(in_request_window)
{
	check_delivery(e, p, r, FALCON_V_rx_request, p->len);
	check_measured(c, before, p);
	check_claim(c, p->hdr.psn, true);
}

VERIFY(resync_in_data_window)
{
	check_delivery(e, p, r, FALCON_V_rx_resync, p->len);
	check_measured(c, before, p);
	check_claim(c, p->hdr.psn, false);
}

VERIFY(resync_in_request_window)
{
	check_delivery(e, p, r, FALCON_V_rx_resync, p->len);
	check_measured(c, before, p);
	check_claim(c, p->hdr.psn, true);
}

HEADER(last_of_window)
{
	UNUSED;
	p->hdr.psn += FALCON_DATA_WINDOW - 1;
}

HEADER(across_wrap)
{
	UNUSED;
	conn_windows(c, 0xfffffff0);
	p->hdr.rdbpsn = p->hdr.rrbpsn = 0xfffffff0;
	p->hdr.psn = 0x50;
}

HEADER(congestion_experienced)
{
	UNUSED;
	p->shape.ecn = FALCON_ECN_CE;
}

HEADER(no_payload)
{
	UNUSED;
	p->payload = p->hdr.request_len = 0;
}

HEADER(odd_payload)
{
	UNUSED;
	p->payload = p->hdr.request_len = 1403;
}

/* Every step of the checksum: 512, 256, 128, 64, 32, 16, 8, 4, 2 and 1 bytes. */
HEADER(all_steps)
{
	UNUSED;
	p->payload = p->hdr.request_len = (uint16_t)(
		1023 - sizeof(struct udphdr) - falcon_psp_len(p->shape.vc) -
		sizeof(struct falcon_push_hdr));
}

HEADER(pull_data)
{
	UNUSED;
	p->hdr.type = FALCON_PULL_DATA;
}

HEADER(pull_request)
{
	UNUSED;
	p->hdr.type = FALCON_PULL_REQUEST;
	p->hdr.request_len = 4096;
	p->hdr.psn += FALCON_REQ_WINDOW - 1;
}

HEADER(resync_of_push)
{
	UNUSED;
	p->hdr.type = FALCON_RESYNC;
	p->hdr.resync_code = FALCON_RESYNC_TXN_TIMEOUT;
	p->hdr.resync_type = FALCON_PUSH_DATA;
	p->payload = 0;
}

HEADER(resync_of_pull_request)
{
	resync_of_push(e, c, p);
	p->hdr.resync_type = FALCON_PULL_REQUEST;
}

HEADER(trusted_csum)
{
	UNUSED;
	c->id.flags |= FALCON_CONN_NO_CSUM;
}

FRAMED(no_csum)
{
	struct udphdr *udp = (void *)(p->frame + packet_udp_off(&p->shape));

	UNUSED;
	udp->check = 0;
}

/* A packet that is newer than a replay by one picosecond. */
HEADER(old_within_margin)
{
	UNUSED;
	c->rx.remote_time = p->shape.iv + e->config->replay_margin - 1;
}

VERIFY(remote_time_stays)
{
	(void)e;
	(void)p;
	(void)r;
	assert_int_equal(c->rx.remote_time, before->rx.remote_time);
}

/* Bytes behind the datagram, as a switch may add them, do not reach the agent. */
FRAMED(padded)
{
	UNUSED;
	memset(p->frame + p->len, 0xee, 9);
	p->len += 9;
}

VERIFY(without_padding)
{
	check_delivery(e, p, r, FALCON_V_rx_data, p->len - 9);
	check_measured(c, before, p);
}

HEADER(piggyback)
{
	UNUSED;
	p->hdr.rdbpsn += 3;
	p->hdr.rrbpsn += 16;
}

VERIFY(bases_moved)
{
	check_delivery(e, p, r, FALCON_V_rx_data, p->len);
	check_measured(c, before, p);
	assert_int_equal(c->tx_acked.data_base, ENV_PSN + 3);
	assert_int_equal(c->tx_acked.req_base, ENV_PSN + 16);
	assert_int_equal(env_dirty(e), 1ULL << p->hdr.cid);
}

/* An acknowledgment of packets that were never sent is ignored, the packet is taken. */
HEADER(piggyback_beyond)
{
	UNUSED;
	p->hdr.rdbpsn += 17;
	p->hdr.rrbpsn += 1;
}

VERIFY(bases_stay)
{
	check_delivery(e, p, r, FALCON_V_rx_data, p->len);
	assert_memory_equal(&c->tx_acked, &before->tx_acked, sizeof(c->tx_acked));
	assert_int_equal(env_dirty(e), 0);
}

HEADER(steer)
{
	UNUSED;
	c->id.flags |= FALCON_CONN_STEER;
}

/* Steering looks at nothing but the CID: even a wrong checksum is the agent's to find. */
FRAMED(break_csum)
{
	UNUSED;
	p->frame[p->len - 1] ^= 1;
}

VERIFY(untouched)
{
	check_delivery(e, p, r, FALCON_V_steered, p->len);
	assert_memory_equal(c, before, sizeof(*c));
}

PACKED(nack_rnr)
{
	const struct falcon_ack a = {
		.cid = c->id.cid,
		.type = FALCON_NACK,
		.rdbpsn = ENV_PSN + 2,
		.rrbpsn = ENV_PSN + 1,
		.t1 = 77,
		.nack_psn = ENV_PSN + 2,
		.nack_code = FALCON_NACK_RNR,
		.rnr = 9,
	};

	(void)e;
	p->falcon_len = falcon_ack_pack(&a, p->falcon);
}

VERIFY(nack_applied)
{
	check_delivery(e, p, r, FALCON_V_rx_nack, p->len);
	assert_int_equal(c->tx_acked.data_base, ENV_PSN + 2);
	assert_int_equal(c->tx_acked.req_base, ENV_PSN + 1);
	assert_int_equal(c->tx_acked.acks, 1);
	assert_int_equal(c->tx_acked.nacks_resource, 0);
	assert_int_equal(c->tx_acked.t1_t4[p->shape.flow] >> 32, 77);
	assert_int_equal(c->rx.remote_time, p->shape.iv);
	assert_int_equal(c->rx.flow[p->shape.flow].t1_t2, before->rx.flow[p->shape.flow].t1_t2);
	assert_int_equal(env_dirty(e), 1ULL << c->id.cid);
	assert_int_equal(env_consume(e), 1);
	assert_int_equal(falcon_ev_get(&e->event, event_type), kRueEventTypeNack);
	assert_int_equal(falcon_ev_get(&e->event, nack_code), FALCON_NACK_RNR);
}

static const struct verdict_case cases[] = {
	{ "rx_data: Push Data", FALCON_V_rx_data, .verify = in_data_window },
	{ "rx_data: Pull Data", FALCON_V_rx_data, .header = pull_data, .verify = in_data_window },
	{ "rx_data: no payload", FALCON_V_rx_data, .header = no_payload, .verify = in_data_window },
	{ "rx_data: odd length", FALCON_V_rx_data, .header = odd_payload,
	  .verify = in_data_window },
	{ "rx_data: all checksum steps", FALCON_V_rx_data, .header = all_steps,
	  .verify = in_data_window },
	{ "rx_data: last of the window", FALCON_V_rx_data, .header = last_of_window,
	  .verify = in_data_window },
	{ "rx_data: window across 2^32", FALCON_V_rx_data, .header = across_wrap,
	  .verify = in_data_window },
	{ "rx_data: CE", FALCON_V_rx_data, .header = congestion_experienced,
	  .verify = in_data_window },
	{ "rx_data: checksum trusted", FALCON_V_rx_data, .header = trusted_csum, .framed = no_csum,
	  .verify = in_data_window },
	{ "rx_data: old, within the margin", FALCON_V_rx_data, .header = old_within_margin,
	  .verify = remote_time_stays },
	{ "rx_data: padding cut off", FALCON_V_rx_data, .framed = padded,
	  .verify = without_padding },
	{ "rx_data: piggybacked ACK", FALCON_V_rx_data, .header = piggyback,
	  .verify = bases_moved },
	{ "rx_data: impossible piggyback", FALCON_V_rx_data, .header = piggyback_beyond,
	  .verify = bases_stay },
	{ "rx_request", FALCON_V_rx_request, .header = pull_request,
	  .verify = in_request_window },
	{ "rx_resync: of Push Data", FALCON_V_rx_resync, .header = resync_of_push,
	  .verify = resync_in_data_window },
	{ "rx_resync: of Pull Request", FALCON_V_rx_resync, .header = resync_of_pull_request,
	  .verify = resync_in_request_window },
	{ "rx_nack", FALCON_V_rx_nack, .packed = nack_rnr, .verify = nack_applied },
	{ "steered", FALCON_V_steered, .header = steer, .framed = break_csum,
	  .verify = untouched },
};

int main(void)
{
	return verdict_main("verdict_rx", cases, ARRAY_SIZE(cases), NULL);
}
