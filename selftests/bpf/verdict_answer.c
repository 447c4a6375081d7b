// SPDX-License-Identifier: BSD-2-Clause
/* What XDP answers itself: the frame turned round, checked to the last field and checksum. */
#include "verdict.h"

#include <string.h>

#include <falcon/receive/window.h>

/* All but the ACK itself: the ends exchanged, what belongs to the path kept, the rest fresh. */
static void check_turned(struct env *e, const struct falcon_conn *c, const struct verdict_packet *p,
			 const struct env_result *r, struct packet_reply *out)
{
	size_t tags = packet_l3_off(&p->shape) - 12;
	size_t n = p->shape.ipv6 ? 16 : 4;

	assert_int_equal(r->meta_len, 0);
	assert_int_equal(packet_parse_reply(r->buf, r->len, out), 0);
	assert_memory_equal(out->dst_mac, packet_src_mac, 6);
	assert_memory_equal(out->src_mac, packet_dst_mac, 6);
	assert_memory_equal(r->buf + 12, p->frame + 12, tags);
	assert_memory_equal(out->saddr, p->shape.daddr, n);
	assert_memory_equal(out->daddr, p->shape.saddr, n);
	assert_true(out->ip_csum_ok);
	assert_true(out->udp_csum_ok);
	assert_int_equal(out->src_port, packet_src_port(&p->shape));
	assert_int_equal(out->label, p->shape.ipv6 ? falcon_flow_label(p->shape.flow, p->shape.path)
						   : 0);
	assert_int_equal(out->frame.flow, p->shape.flow);
	assert_int_equal(out->frame.ttl, FALCON_DEFAULT_TTL);
	assert_int_equal(out->frame.ecn, 0);
	assert_int_equal(out->frame.encap, FALCON_PSP_CLEAR);
	assert_int_equal(out->frame.spi, c->id.peer_spi);
	assert_int_equal(out->frame.vc, p->shape.vc);
	if (p->shape.vc)
		assert_int_equal(out->frame.cookie, p->shape.cookie);
	/* The transmit time is now, within the time the test has run: one minute. */
	assert_true(falcon_time_of_iv(out->frame.iv) - (uint32_t)c->rx.flow[p->shape.flow].t1_t2 <
		    458752000);
	assert_int_equal(r->len, out->frame.falcon_off + out->frame.falcon_len);
	assert_int_equal(out->wire_error, FALCON_WIRE_OK);
	/* The credit was taken and given back, or there was none. */
	assert_int_equal(e->credits[ENV_XSK].credits, e->credits[ENV_XSK].refused ? 0 : 64);
}

/* What every ACK and NACK states. */
static void check_statement(const struct env *e, const struct falcon_conn *c,
			    const struct falcon_conn *before, const struct verdict_packet *p,
			    const struct packet_reply *out)
{
	assert_int_equal(out->ack.cid, c->id.peer_cid);
	assert_int_equal(out->ack.rdbpsn, before->rx_acked.data_base);
	assert_int_equal(out->ack.rrbpsn, before->rx_acked.req_base);
	assert_int_equal(out->ack.t1, falcon_time_of_iv(p->shape.iv));
	assert_int_equal(out->ack.t2, (uint32_t)c->rx.flow[p->shape.flow].t1_t2);
	assert_int_equal(out->ack.hops, FALCON_DEFAULT_TTL - p->shape.ttl);
	assert_int_equal(out->ack.buffer_level, e->config->shard[c->id.shard].rx_level);
	assert_int_equal(out->ack.rue_info, before->rx_acked.rue_info);
	assert_int_equal(out->ack.ecn, before->rx.flow[p->shape.flow].ecn_count + 1);
}

/* Answers are looked at with a CE mark, congestion state and odd sizes on. */
static void busy(struct falcon_conn *c, struct verdict_packet *p)
{
	p->shape.ecn = FALCON_ECN_CE;
	p->payload = p->hdr.request_len = 333;
	c->rx.flow[p->shape.flow].ecn_count = 41;
	c->rx_acked.rue_info = 0x2abcde;
}

/* PSNs base .. base + 2 claimed. */
HEADER(duplicate)
{
	(void)e;
	busy(c, p);
	for (uint32_t i = 0; i < 3; i++)
		falcon_ring_set(c->rx.data_rx, FALCON_DATA_WORDS, ENV_PSN + i);
	p->hdr.psn = ENV_PSN + 1;
}

VERIFY(back_sent)
{
	struct packet_reply out;

	check_turned(e, c, p, r, &out);
	check_statement(e, c, before, p, &out);
	assert_int_equal(out.ack.type, FALCON_BACK);
	assert_int_equal(c->rx.accepted, 0);
	assert_memory_equal(c->rx.data_rx, before->rx.data_rx, sizeof(c->rx.data_rx));
}

/* Without a hole, too: RACK has to know (Falcon 9.1.6). */
VERIFY(received_told)
{
	struct packet_reply out;

	check_turned(e, c, p, r, &out);
	check_statement(e, c, before, p, &out);
	assert_int_equal(out.ack.type, FALCON_EACK);
	assert_int_equal(out.ack.data_rx[0], 7);
	assert_int_equal(out.ack.data_ack[0], 0);
	assert_int_equal(c->rx.accepted, 0);
	assert_memory_equal(c->rx.data_rx, before->rx.data_rx, sizeof(c->rx.data_rx));
}

/* A hole in what was received, something acknowledged out of order, and a request. */
HEADER(duplicate_with_holes)
{
	duplicate(e, c, p);
	falcon_ring_set(c->rx.data_rx, FALCON_DATA_WORDS, ENV_PSN + 100);
	falcon_ring_set(c->rx_acked.data_ack, FALCON_DATA_WORDS, ENV_PSN + 2);
	falcon_ring_set(c->rx_acked.req_ack, FALCON_REQ_WORDS, ENV_PSN + 33);
}

VERIFY(eack_sent)
{
	struct packet_reply out;

	check_turned(e, c, p, r, &out);
	check_statement(e, c, before, p, &out);
	assert_int_equal(out.ack.type, FALCON_EACK);
	assert_int_equal(out.ack.own, 0);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(out.ack.data_rx[i], i == 0 ? 7 : i == 3 ? 1 << 4 : 0);
		assert_int_equal(out.ack.data_ack[i], i == 0 ? 4 : 0);
	}
	assert_int_equal(out.ack.req[0], 0);
	assert_int_equal(out.ack.req[1], 2);
}

/* A small packet answered by a longer one: the frame grows. */
HEADER(small_duplicate)
{
	duplicate_with_holes(e, c, p);
	p->hdr.type = FALCON_PULL_DATA;
	p->payload = 0;
}

HEADER(duplicate_request)
{
	(void)e;
	busy(c, p);
	p->hdr.type = FALCON_PULL_REQUEST;
	falcon_ring_set(c->rx.req_rx, FALCON_REQ_WORDS, ENV_PSN);
}

HEADER(old)
{
	(void)e;
	busy(c, p);
	p->hdr.psn = ENV_PSN - 1;
}

HEADER(very_old)
{
	old(e, c, p);
	p->hdr.psn = ENV_PSN - 0x7fffffff;
}

HEADER(beyond)
{
	(void)e;
	busy(c, p);
	p->hdr.psn = ENV_PSN + FALCON_DATA_WINDOW;
}

HEADER(beyond_request)
{
	(void)e;
	busy(c, p);
	p->hdr.type = FALCON_PULL_REQUEST;
	p->hdr.psn = ENV_PSN + FALCON_REQ_WINDOW;
	c->rx.own = FALCON_OWN_DATA;
}

/* The EACK carries OWN, and thereby clears it (Falcon 9.2.1). */
static void check_own(const struct falcon_conn *c, const struct packet_reply *out, uint8_t own)
{
	assert_int_equal(out->ack.type, FALCON_EACK);
	assert_int_equal(out->ack.own, own);
	assert_int_equal(c->rx.own, 0);
}

VERIFY(own_sent)
{
	struct packet_reply out;

	check_turned(e, c, p, r, &out);
	check_statement(e, c, before, p, &out);
	check_own(c, &out, FALCON_OWN_DATA);
}

VERIFY(both_own_sent)
{
	struct packet_reply out;

	check_turned(e, c, p, r, &out);
	check_statement(e, c, before, p, &out);
	check_own(c, &out, FALCON_OWN_DATA | FALCON_OWN_REQ);
}

HEADER(new_no_credit)
{
	busy(c, p);
	p->hdr.psn = ENV_PSN + 9;
	c->rx.own = FALCON_OWN_REQ;
	e->credits[ENV_XSK].credits = 0;
}

HEADER(new_no_credit_request)
{
	new_no_credit(e, c, p);
	p->hdr.type = FALCON_PULL_REQUEST;
}

static void check_nacked(struct env *e, struct falcon_conn *c, const struct falcon_conn *before,
			 const struct verdict_packet *p, const struct env_result *r, bool req)
{
	struct packet_reply out;

	check_turned(e, c, p, r, &out);
	check_statement(e, c, before, p, &out);
	assert_int_equal(out.ack.type, FALCON_NACK);
	assert_int_equal(out.ack.nack_code, FALCON_NACK_RESOURCE);
	assert_int_equal(out.ack.nack_psn, p->hdr.psn);
	assert_int_equal(out.ack.nack_req_window, req);
	assert_int_equal(out.ack.ulp_code, 0);
	/* Nothing claimed, and OWN waits for an ACK that has the field. */
	assert_memory_equal(c->rx.data_rx, before->rx.data_rx, sizeof(c->rx.data_rx));
	assert_memory_equal(c->rx.req_rx, before->rx.req_rx, sizeof(c->rx.req_rx));
	assert_int_equal(c->rx.own, FALCON_OWN_REQ);
	assert_int_equal(c->rx.accepted, 0);
	assert_int_equal(e->credits[ENV_XSK].refused, 1);
}

VERIFY(data_nacked)
{
	check_nacked(e, c, before, p, r, false);
}

VERIFY(request_nacked)
{
	check_nacked(e, c, before, p, r, true);
}

/* Without credit a duplicate is still a duplicate. */
HEADER(no_credit_duplicate)
{
	duplicate(e, c, p);
	e->credits[ENV_XSK].credits = 0;
}

HEADER(no_credit_old)
{
	old(e, c, p);
	e->credits[ENV_XSK].credits = 0;
}

HEADER(no_credit_beyond)
{
	beyond(e, c, p);
	e->credits[ENV_XSK].credits = 0;
}

static const struct verdict_case cases[] = {
	{ "dup_acked: received in sequence", FALCON_V_dup_acked, .header = duplicate,
	  .verify = received_told },
	{ "dup_acked: EACK", FALCON_V_dup_acked, .header = duplicate_with_holes,
	  .verify = eack_sent },
	{ "dup_acked: frame grows", FALCON_V_dup_acked, .header = small_duplicate,
	  .verify = eack_sent },
	{ "dup_acked: request", FALCON_V_dup_acked, .header = duplicate_request,
	  .verify = back_sent },
	{ "dup_acked: no credit", FALCON_V_dup_acked, .header = no_credit_duplicate,
	  .verify = received_told },
	{ "old_acked", FALCON_V_old_acked, .header = old, .verify = back_sent },
	{ "old_acked: by 2^31 - 1", FALCON_V_old_acked, .header = very_old, .verify = back_sent },
	{ "old_acked: no credit", FALCON_V_old_acked, .header = no_credit_old,
	  .verify = back_sent },
	{ "oow_acked: data", FALCON_V_oow_acked, .header = beyond, .verify = own_sent },
	{ "oow_acked: both windows", FALCON_V_oow_acked, .header = beyond_request,
	  .verify = both_own_sent },
	{ "oow_acked: no credit", FALCON_V_oow_acked, .header = no_credit_beyond,
	  .verify = own_sent },
	{ "resource_nacked: data", FALCON_V_resource_nacked, .header = new_no_credit,
	  .verify = data_nacked },
	{ "resource_nacked: request", FALCON_V_resource_nacked, .header = new_no_credit_request,
	  .verify = request_nacked },
};

int main(void)
{
	return verdict_main("verdict_answer", cases, ARRAY_SIZE(cases), NULL);
}
