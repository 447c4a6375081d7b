// SPDX-License-Identifier: BSD-2-Clause
/*
 * The receive path of Falcon 9.2.2 for frames that XDP has only redirected: those to be decrypted,
 * and with offload off all of them. XDP's decisions, made with the same code (include/falcon/rx.h).
 *
 * Of an encrypted packet XDP has checked what is in the clear. That is checked again here, since
 * meanwhile keys may have been rotated; then the packet is authenticated, and only after that does
 * it change anything.
 */
#include "agent/agent.h"
#include "agent/rue.h"
#include "falcon/rx.h"

/*
 * Send the ACK or NACK of a packet refused here, on that packet's flow, as XDP does by turning the
 * frame round. What could not be sent the core will: it is still owed.
 */
/* The way the packet |f| came, as XDP does. */
static void answer(struct agent_conn *c, struct falcon_conn *shared, struct falcon_ack *ack,
		   const struct falcon_frame *f)
{
	struct fcore_packet p = { .type = ack->type, .flow = f->flow, .path = f->path };

	p.hdr_len = falcon_ack_pack(ack, p.hdr);
	if (agent_transmit(c->agent, c->core, &p) == 0) {
		c->rx_answered++;
		return;
	}
	falcon_fetch_or(&shared->rx.own, (__u32)ack->own);
	falcon_fetch_or(&shared->rx.answers_owed, 1U << f->flow);
	agent_mark_dirty(c->agent, shared->id.cid);
}

void agent_give(struct agent_conn *c, const struct falcon_hdr *h, const struct falcon_meta *m,
		const struct xsk_rx_item *it)
{
	uint32_t hdr_len = falcon_hdr_len(h->type);
	struct fcore_rx rx = {
		.hdr = *h,
		.payload = it->data + m->falcon_off + hdr_len,
		.len = m->falcon_len - hdr_len,
		.frame = it->frame,
		.flow = m->flow,
		.path = m->path,
		.now = m->rx_ns,
	};

	fcore_receive(c->core, &rx);
}

static enum falcon_verdict take_ack(struct agent *a, struct agent_conn *c,
				    const struct falcon_frame *f, const uint8_t *falcon,
				    const struct falcon_meta *m)
{
	struct falcon_conn *shared = fcore_conn_shared(c->core);
	struct falcon_ack ack;
	enum falcon_verdict v;
	int rc = falcon_ack_unpack(falcon, falcon + f->falcon_len, &ack);

	if (rc != FALCON_WIRE_OK)
		return falcon_wire_verdict(rc);
	v = falcon_rx_ack(shared, f->flow, &ack, m->rx_ns);
	if (v == FALCON_V_ack_stale || v == FALCON_V_ack_invalid)
		return v;
	falcon_rx_remote_time(&shared->rx, f->iv);
	/* First the core, which completes the event with what it knows of the flow. */
	fcore_acked(c->core, a->now);
	agent_rue_ack(a, c, f->flow, &ack, falcon_time_of_iv(f->iv), m->rx_ns);
	if (v == FALCON_V_rx_nack)
		fcore_nacked(c->core, &ack, a->now);
	return v;
}

/* |*kept| is set if the core took the frame over. */
static enum falcon_verdict take_reliable(struct agent_conn *c, const struct falcon_frame *f,
					 const uint8_t *falcon, const struct falcon_meta *m,
					 const struct xsk_rx_item *it, bool *kept)
{
	struct falcon_conn *shared = fcore_conn_shared(c->core);
	struct falcon_hdr h;
	struct falcon_ack ack;
	enum falcon_verdict v;
	int rc = falcon_hdr_unpack(falcon, falcon + f->falcon_len, &h);

	if (rc != FALCON_WIRE_OK)
		return falcon_wire_verdict(rc);
	if (!falcon_rx_function_ok(shared, &h))
		return FALCON_V_drop_function;
	falcon_rx_measure(shared, f, m->rx_ns);
	c->agent->stats.ce_marked += f->ecn == FALCON_ECN_CE;
	if (falcon_piggyback(shared, h.rdbpsn, h.rrbpsn))
		fcore_acked(c->core, m->rx_ns);
	if (falcon_rx_admits(shared, c->agent->maps.config, &h))
		v = falcon_rx_window(shared, &h);
	else
		v = falcon_rx_refuse(shared, &h, FALCON_V_zone_nacked);
	if (falcon_verdict_delivers(v)) {
		*kept = true;
		agent_give(c, &h, m, it);
	} else if (falcon_verdict_answers(v)) {
		falcon_rx_answer(shared, c->agent->maps.config, v, f->flow, &h, &ack);
		answer(c, shared, &ack, f);
	}
	return v;
}

/* Whole and from the peer: by the UDP checksum, or by authentication, which decrypts as well. */
static enum falcon_verdict check_integrity(struct agent_conn *c, const struct falcon_conn *shared,
					   uint8_t *data, struct falcon_frame *f)
{
	enum falcon_verdict v;

	if (f->encap != FALCON_PSP_CLEAR) {
		v = sec_open(&c->sec, data, f);
		if (v == FALCON_V_rx_data)
			rekey_used(c);
		return v;
	}
	if ((shared->id.flags & FALCON_CONN_NO_CSUM) || frame_checksum_ok(data, f))
		return FALCON_V_rx_data;
	return FALCON_V_drop_csum;
}

enum falcon_verdict agent_judged(struct agent *a, struct agent_conn *c,
				 const struct falcon_frame *f, const struct falcon_meta *m,
				 const struct xsk_rx_item *it, bool *kept)
{
	const uint8_t *falcon = it->data + f->falcon_off;

	if (falcon_type_is_ack(f->type))
		return take_ack(a, c, f, falcon, m);
	return take_reliable(c, f, falcon, m, it, kept);
}

enum falcon_verdict agent_steered(struct agent *a, struct agent_conn *c,
				  const struct falcon_meta *m, const struct xsk_rx_item *it,
				  bool *kept)
{
	const struct falcon_conn *shared = fcore_conn_shared(c->core);
	struct falcon_frame f;
	enum falcon_verdict v = falcon_parse_frame(it->data, it->data + it->len, &f);
	struct falcon_meta opened;
	size_t alen;

	if (v != FALCON_V_rx_data)
		return v;
	/* Which connection an ESP packet is of, XDP knows by the SPI. */
	if (falcon_encap_is_esp(f.encap))
		f.cid = m->cid;
	if (f.cid != m->cid)
		return FALCON_V_drop_cid;
	alen = f.ipv6 ? 16 : 4;
	v = falcon_rx_check(shared, a->maps.config, &f, it->data + f.udp_off - 2 * alen,
			    it->data + f.udp_off - alen);
	if (v == FALCON_V_rx_data)
		v = check_integrity(c, shared, it->data, &f);
	if (v != FALCON_V_rx_data)
		return v;
	/* Where ESP ends XDP could not see. */
	opened = *m;
	opened.falcon_off = f.falcon_off;
	opened.falcon_len = f.falcon_len;
	return agent_judged(a, c, &f, &opened, it, kept);
}
