// SPDX-License-Identifier: BSD-2-Clause
/*
 * The receiver's table of Falcon 11, row by row: is the piggybacked acknowledgment taken, and what
 * happens to the packet. Every packet here acknowledges three of our data packets and one request.
 */
#include "verdict.h"

#include <string.h>

#include "falcon/receive/rx.h"

/* The peer acknowledges, in a packet on an ordered connection, in the middle of the window. */
HEADER(piggyback)
{
	UNUSED;
	c->id.flags |= FALCON_CONN_ORDERED;
	c->rx_acked.next_rsn = p->hdr.rsn;
	p->hdr.rdbpsn += 3;
	p->hdr.rrbpsn += 1;
	p->hdr.psn = ENV_PSN + 2;
}

static void check_piggyback(const struct falcon_conn *c, bool taken)
{
	assert_int_equal(c->tx_acked.data_base, ENV_PSN + (taken ? 3 : 0));
	assert_int_equal(c->tx_acked.req_base, ENV_PSN + (taken ? 1 : 0));
}

VERIFY(no_piggyback)
{
	UNUSED;
	(void)r;
	check_piggyback(c, false);
	assert_memory_equal(c, before, sizeof(*c));
	assert_int_equal(env_dirty(e), 0);
}

/* What the answer says, and that it, like the frame before, has cost the agent nothing. */
static void check_answer(struct env *e, const struct falcon_conn *c,
			 const struct verdict_packet *p, const struct env_result *r,
			 struct packet_reply *out)
{
	check_piggyback(c, true);
	assert_int_equal(packet_parse_reply(r->buf + r->meta_len, r->len, out), 0);
	assert_int_equal(out->wire_error, FALCON_WIRE_OK);
	assert_true(out->ip_csum_ok && out->udp_csum_ok);
	assert_int_equal(out->frame.flow, p->shape.flow);
	assert_int_equal(c->rx.accepted, 0);
	assert_int_equal(env_dirty(e), 1ULL << c->id.cid);
}

VERIFY(acked)
{
	struct packet_reply out;

	check_answer(e, c, p, r, &out);
	assert_int_not_equal(out.ack.type, FALCON_NACK);
	assert_memory_equal(c->rx.data_rx, before->rx.data_rx, sizeof(c->rx.data_rx));
	assert_memory_equal(c->rx.req_rx, before->rx.req_rx, sizeof(c->rx.req_rx));
	assert_int_equal(e->credits[ENV_XSK].credits, 64);
}

static void check_nacked(struct env *e, const struct falcon_conn *c,
			 const struct falcon_conn *before, const struct verdict_packet *p,
			 const struct env_result *r)
{
	struct packet_reply out;

	check_answer(e, c, p, r, &out);
	assert_int_equal(out.ack.type, FALCON_NACK);
	assert_int_equal(out.ack.nack_code, FALCON_NACK_RESOURCE);
	assert_int_equal(out.ack.nack_psn, p->hdr.psn);
	assert_int_equal(out.ack.nack_req_window,
			 falcon_in_req_window(p->hdr.type, p->hdr.resync_type));
	assert_memory_equal(c->rx.data_rx, before->rx.data_rx, sizeof(c->rx.data_rx));
	assert_memory_equal(c->rx.req_rx, before->rx.req_rx, sizeof(c->rx.req_rx));
}

/* The zone alone decides: neither a credit nor the agent's attention is spent. */
VERIFY(zone_nacked)
{
	check_nacked(e, c, before, p, r);
	assert_int_equal(e->credits[ENV_XSK].credits, 64);
	assert_int_equal(e->credits[ENV_XSK].refused, 0);
}

VERIFY(credit_nacked)
{
	check_nacked(e, c, before, p, r);
	assert_int_equal(e->credits[ENV_XSK].refused, 1);
}

VERIFY(delivered)
{
	struct falcon_meta m;

	assert_int_equal(r->meta_len, sizeof(m));
	memcpy(&m, r->buf, sizeof(m));
	assert_int_equal(m.cid, p->hdr.cid);
	check_piggyback(c, true);
	assert_int_equal(e->credits[ENV_XSK].credits, 63);
	assert_int_equal(c->rx.accepted, before->rx.accepted + falcon_verdict_claims(m.verdict));
}

/* Violating integrity or security checks: no piggyback, no answer. */
FRAMED(bad_csum)
{
	UNUSED;
	p->frame[p->len - 1] ^= 1;
}

HEADER(bad_length)
{
	UNUSED;
	p->hdr.request_len++;
}

HEADER(bad_spi)
{
	UNUSED;
	p->shape.spi ^= 1;
}

/* Duplicates. */
HEADER(acked_before)
{
	UNUSED;
	falcon_ring_set(c->rx.data_rx, FALCON_DATA_WORDS, p->hdr.psn);
	falcon_ring_set(c->rx_acked.data_ack, FALCON_DATA_WORDS, p->hdr.psn);
}

HEADER(below_the_window)
{
	UNUSED;
	p->hdr.psn = ENV_PSN - 2;
}

HEADER(received_before)
{
	UNUSED;
	falcon_ring_set(c->rx.data_rx, FALCON_DATA_WORDS, p->hdr.psn);
}

static void make_resync(struct verdict_packet *p, uint8_t type)
{
	p->hdr.type = FALCON_RESYNC;
	p->hdr.resync_code = FALCON_RESYNC_TXN_TIMEOUT;
	p->hdr.resync_type = type;
	p->payload = 0;
}

HEADER(resync_received_before)
{
	received_before(e, c, p);
	make_resync(p, FALCON_PUSH_DATA);
}

HEADER(resync_acked_before)
{
	acked_before(e, c, p);
	make_resync(p, FALCON_PUSH_DATA);
}

HEADER(resync_request_received_before)
{
	UNUSED;
	make_resync(p, FALCON_PULL_REQUEST);
	falcon_ring_set(c->rx.req_rx, FALCON_REQ_WORDS, p->hdr.psn);
}

HEADER(resync_received_no_credit)
{
	resync_received_before(e, c, p);
	e->credits[ENV_XSK].credits = 0;
}

VERIFY(acked_without_credit)
{
	struct packet_reply out;

	(void)before;
	check_answer(e, c, p, r, &out);
	assert_int_not_equal(out.ack.type, FALCON_NACK);
	assert_int_equal(e->credits[ENV_XSK].refused, 1);
}

/* Over a limit: zones as the agent has published them. */
HEADER(red_not_next)
{
	UNUSED;
	c->rx_acked.zone = FALCON_ZONE_RED;
	p->hdr.rsn += FALCON_RED_AHEAD;
}

/* It may be the head of the line when the agent gets to it. */
HEADER(red_soon_next)
{
	red_not_next(e, c, p);
	p->hdr.rsn--;
}

HEADER(red_pull_not_next)
{
	red_not_next(e, c, p);
	p->hdr.type = FALCON_PULL_REQUEST;
}

HEADER(red_everywhere)
{
	UNUSED;
	e->config->shard[c->id.shard].zone = FALCON_ZONE_RED;
	p->hdr.rsn += FALCON_RED_AHEAD;
}

/* The resources of one shard are not another's. */
HEADER(red_in_other_shards)
{
	UNUSED;
	for (uint32_t i = 0; i < FALCON_MAX_SHARDS; i++)
		e->config->shard[i].zone = i == c->id.shard ? FALCON_ZONE_GREEN : FALCON_ZONE_RED;
	p->hdr.rsn += FALCON_RED_AHEAD;
}

HEADER(red_next)
{
	UNUSED;
	c->rx_acked.zone = e->config->shard[c->id.shard].zone = FALCON_ZONE_RED;
}

HEADER(red_unordered)
{
	red_not_next(e, c, p);
	c->id.flags &= ~(uint32_t)FALCON_CONN_ORDERED;
}

HEADER(closed)
{
	UNUSED;
	c->rx_acked.zone = FALCON_ZONE_CLOSED;
}

/* Delivered before, and not acknowledged: it holds nothing new. */
HEADER(closed_behind_next)
{
	closed(e, c, p);
	p->hdr.rsn--;
}

HEADER(closed_everywhere)
{
	UNUSED;
	c->rx_acked.zone = FALCON_ZONE_RED;
	e->config->shard[c->id.shard].zone = FALCON_ZONE_CLOSED;
}

HEADER(closed_unordered)
{
	closed(e, c, p);
	c->id.flags &= ~(uint32_t)FALCON_CONN_ORDERED;
	p->hdr.type = FALCON_PULL_REQUEST;
}

/* Nothing the zone is about: reserved by the request, or about to set resources free. */
HEADER(closed_pull_data)
{
	closed(e, c, p);
	p->hdr.rsn += 100;
	p->hdr.type = FALCON_PULL_DATA;
}

HEADER(closed_resync)
{
	closed(e, c, p);
	p->hdr.rsn += 100;
	make_resync(p, FALCON_PUSH_DATA);
}

HEADER(closed_resync_of_request)
{
	closed_resync(e, c, p);
	p->hdr.resync_type = FALCON_PULL_REQUEST;
}

/* A duplicate is a duplicate in any zone. */
HEADER(closed_duplicate)
{
	closed(e, c, p);
	falcon_ring_set(c->rx.data_rx, FALCON_DATA_WORDS, p->hdr.psn);
}

HEADER(closed_no_socket)
{
	closed(e, c, p);
	p->queue = 1;
}

#define ROW(n, v, h, check)                                                                        \
	{ #n, FALCON_V_##v, .base = piggyback, .header = h, .verify = check }

static const struct verdict_case cases[] = {
	{ "s11_receiver_integrity_checksum", FALCON_V_drop_csum, .base = piggyback,
	  .framed = bad_csum, .verify = no_piggyback },
	ROW(s11_receiver_integrity_length, drop_length, bad_length, no_piggyback),
	ROW(s11_receiver_security_spi, drop_spi, bad_spi, no_piggyback),
	ROW(s11_receiver_security_pcid, drop_pcid, pcid_differs, no_piggyback),
	ROW(s11_receiver_security_replay, drop_replay, replayed, no_piggyback),
	ROW(s11_receiver_duplicate_acked_before, dup_acked, acked_before, acked),
	ROW(s11_receiver_duplicate_below_window, old_acked, below_the_window, acked),
	ROW(s11_receiver_duplicate_received_before, dup_acked, received_before, acked),
	ROW(s11_receiver_resync_received_before, rx_resync_dup, resync_received_before, delivered),
	ROW(s11_receiver_resync_request_received_before, rx_resync_dup,
	    resync_request_received_before, delivered),
	ROW(s11_receiver_resync_acked_before, dup_acked, resync_acked_before, acked),
	ROW(s11_receiver_resync_received_no_credit, dup_acked, resync_received_no_credit,
	    acked_without_credit),
	ROW(s11_receiver_limit_no_credit, resource_nacked, no_credit, credit_nacked),
	ROW(s11_receiver_limit_red_push, zone_nacked, red_not_next, zone_nacked),
	ROW(s11_receiver_limit_red_soon_head_of_line, rx_data, red_soon_next, delivered),
	ROW(s11_receiver_limit_red_pull, zone_nacked, red_pull_not_next, zone_nacked),
	ROW(s11_receiver_limit_red_everywhere, zone_nacked, red_everywhere, zone_nacked),
	ROW(s11_receiver_limit_red_in_other_shards, rx_data, red_in_other_shards, delivered),
	ROW(s11_receiver_limit_red_head_of_line, rx_data, red_next, delivered),
	ROW(s11_receiver_limit_red_unordered, rx_data, red_unordered, delivered),
	ROW(s11_receiver_limit_closed, zone_nacked, closed, zone_nacked),
	ROW(s11_receiver_limit_closed_behind, rx_data, closed_behind_next, delivered),
	ROW(s11_receiver_limit_closed_everywhere, zone_nacked, closed_everywhere, zone_nacked),
	ROW(s11_receiver_limit_closed_unordered, zone_nacked, closed_unordered, zone_nacked),
	ROW(s11_receiver_limit_not_for_pull_data, rx_data, closed_pull_data, delivered),
	ROW(s11_receiver_limit_not_for_resync, rx_resync, closed_resync, delivered),
	ROW(s11_receiver_limit_not_for_resync_of_request, rx_resync, closed_resync_of_request,
	    delivered),
	ROW(s11_receiver_limit_duplicate, dup_acked, closed_duplicate, acked),
	ROW(s11_receiver_limit_no_agent, drop_no_agent, closed_no_socket, no_piggyback),
	ROW(s11_receiver_not_alive, drop_not_alive, not_alive, no_piggyback),
};

int main(void)
{
	return verdict_main("s11_receiver", cases, ARRAY_SIZE(cases), NULL);
}
