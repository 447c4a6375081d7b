// SPDX-License-Identifier: BSD-2-Clause
#include "reference.h"

enum { RUE_RECORD = sizeof(struct falcon_rue_event) + 8 };	/* with the ring's header */

static uint64_t sum16(const uint8_t *p, size_t len, uint64_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint64_t)p[i] << 8;
	return sum;
}

static bool csum_good(const uint8_t *frame, const struct falcon_frame *f)
{
	const uint8_t *l3 = frame + f->l3_off;
	uint64_t sum = (uint64_t)f->udp_len + IPPROTO_UDP;

	sum = f->ipv6 ? sum16(l3 + 8, 32, sum) : sum16(l3 + 12, 8, sum);
	sum = sum16(frame + f->udp_off, f->udp_len, sum);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return f->udp_check && sum == 0xffff;
}

static enum falcon_verdict check(const struct reference *ref, const struct falcon_conn *c,
				 const uint8_t *frame, const struct falcon_frame *f)
{
	const uint8_t *l3 = frame + f->l3_off;
	uint32_t saddr[4] = {}, daddr[4] = {};
	size_t n = f->ipv6 ? 16 : 4;
	enum falcon_verdict v;

	memcpy(saddr, l3 + (f->ipv6 ? 8 : 12), n);
	memcpy(daddr, l3 + (f->ipv6 ? 24 : 16), n);
	v = falcon_rx_check(c, &ref->config, f, saddr, daddr);
	if (v != FALCON_V_rx_data || f->encap != FALCON_PSP_CLEAR ||
	    (c->id.flags & FALCON_CONN_NO_CSUM))
		return v;
	return csum_good(frame, f) ? FALCON_V_rx_data : FALCON_V_drop_csum;
}

static enum falcon_verdict reserve(struct reference *ref, const struct falcon_frame *f)
{
	if (!ref->agent)
		return FALCON_V_drop_no_agent;
	if ((uint32_t)f->udp_off + f->udp_len > ref->max_frame)
		return FALCON_V_drop_too_big;
	if (ref->credits <= 0)
		return FALCON_V_drop_no_credit;
	ref->credits--;
	return FALCON_V_rx_data;
}

static enum falcon_verdict steer(struct reference *ref, const struct falcon_frame *f)
{
	enum falcon_verdict v = reserve(ref, f);

	return v == FALCON_V_rx_data ? FALCON_V_steered : v;
}

/* The event policy with P1 decided by the threshold alone: tests set it to 0 or to the maximum. */
static void rue(struct reference *ref, struct falcon_conn *c, const struct falcon_ack *a)
{
	uint32_t total = falcon_ack_total(a);
	int32_t acked = falcon_seq_diff(total, c->cc_event.last_acked);

	if (acked < 0)
		acked = 0;
	if (!falcon_rue_wants(ref->rue_used, ref->config.rue_threshold,
			      ref->config.rue_p1_ns != UINT64_MAX,
			      (uint32_t)acked >= ref->config.rue_p2_packets) ||
	    ref->rue_used + RUE_RECORD > FALCON_RUE_RING_BYTES) {
		c->cc_event.suppressed++;
		return;
	}
	ref->rue_used += RUE_RECORD;
	if (acked)
		c->cc_event.last_acked = total;
	c->cc_event.events++;
}

static enum falcon_verdict take_ack(struct reference *ref, struct falcon_conn *c,
				    const uint8_t *falcon, uint64_t now, struct reference_result *r)
{
	int err = falcon_ack_unpack(falcon, falcon + r->frame.falcon_len, &r->ack);
	enum falcon_verdict v;
	bool deliver;

	if (err)
		return falcon_wire_verdict(err);
	deliver = r->ack.type == FALCON_NACK && r->ack.nack_code != FALCON_NACK_RESOURCE;
	if (deliver) {
		v = reserve(ref, &r->frame);
		if (v != FALCON_V_rx_data)
			return v;
	}
	v = falcon_rx_ack(c, r->frame.flow, &r->ack, now);
	if (deliver && v != FALCON_V_rx_nack)
		ref->credits++;
	if (v == FALCON_V_ack_stale || v == FALCON_V_ack_invalid)
		return v;
	falcon_rx_remote_time(&c->rx, r->frame.iv);
	rue(ref, c, &r->ack);
	ref->dirty |= 1ULL << (r->frame.cid % 64);
	return v;
}

/* Is there room for a reliable packet? rx_data, a drop verdict, or the NACK that says why not. */
static enum falcon_verdict admit(struct reference *ref, const struct falcon_conn *c,
				 const struct reference_result *r)
{
	int64_t credits = ref->credits;
	enum falcon_verdict v = reserve(ref, &r->frame);

	if (v != FALCON_V_rx_data && v != FALCON_V_drop_no_credit)
		return v;
	if (!falcon_rx_admits(c, &ref->config, &r->hdr)) {
		ref->credits = credits;
		return FALCON_V_zone_nacked;
	}
	return v == FALCON_V_rx_data ? v : FALCON_V_resource_nacked;
}

static enum falcon_verdict take_reliable(struct reference *ref, struct falcon_conn *c,
					 const uint8_t *falcon, uint64_t now,
					 struct reference_result *r)
{
	int err = falcon_hdr_unpack(falcon, falcon + r->frame.falcon_len, &r->hdr);
	enum falcon_verdict room;

	if (err)
		return falcon_wire_verdict(err);
	if (!falcon_rx_function_ok(c, &r->hdr))
		return FALCON_V_drop_function;
	room = admit(ref, c, r);
	if (room != FALCON_V_rx_data && !falcon_verdict_nacks(room))
		return room;
	falcon_rx_measure(c, &r->frame, now);
	if (falcon_piggyback(c, r->hdr.rdbpsn, r->hdr.rrbpsn))
		ref->dirty |= 1ULL << (r->frame.cid % 64);
	if (room != FALCON_V_rx_data) {
		r->verdict = falcon_rx_refuse(c, &r->hdr, room);
	} else {
		r->verdict = falcon_rx_window(c, &r->hdr);
		r->claimed = falcon_verdict_claims(r->verdict);
		ref->credits += !falcon_verdict_delivers(r->verdict);
	}
	if (falcon_verdict_answers(r->verdict))
		falcon_rx_answer(c, &ref->config, r->verdict, r->frame.flow, &r->hdr, &r->ack);
	return r->verdict;
}

/* falcon_sadb as the tests fill it: the current and previous SPIs of connections in ESP. */
static bool find_sa(const struct reference *ref, struct falcon_frame *f)
{
	for (uint32_t cid = 0; cid < ref->nconns; cid++) {
		const struct falcon_conn_id *id = &ref->conns[cid].id;

		if (!falcon_encap_is_esp(id->encap) ||
		    (id->cur_spi != f->spi && id->prev_spi != f->spi))
			continue;
		f->cid = cid;
		return true;
	}
	return false;
}

enum falcon_verdict reference_rx(struct reference *ref, const uint8_t *frame, size_t len,
				 uint64_t now, struct reference_result *r)
{
	const uint32_t mode = FALCON_CONN_ALIVE | FALCON_CONN_CLEAR | FALCON_CONN_STEER;
	const uint8_t *falcon;
	struct falcon_conn *c;

	memset(r, 0, sizeof(*r));
	r->verdict = falcon_parse_frame(frame, frame + len, &r->frame);
	if (falcon_encap_is_esp(r->frame.encap) && !find_sa(ref, &r->frame))
		return r->verdict = FALCON_V_pass_spi;
	if (r->verdict != FALCON_V_rx_data)
		return r->verdict;
	if (r->frame.cid >= ref->nconns)
		return r->verdict = FALCON_V_drop_cid;
	c = &ref->conns[r->frame.cid];
	if ((c->id.flags & mode) == mode)
		return r->verdict = steer(ref, &r->frame);
	r->verdict = check(ref, c, frame, &r->frame);
	if (r->verdict != FALCON_V_rx_data)
		return r->verdict;
	if (r->frame.encap != FALCON_PSP_CLEAR)
		return r->verdict = steer(ref, &r->frame);
	falcon = frame + r->frame.falcon_off;
	if (falcon_type_is_ack(r->frame.type))
		r->verdict = take_ack(ref, c, falcon, now, r);
	else
		r->verdict = take_reliable(ref, c, falcon, now, r);
	return r->verdict;
}
