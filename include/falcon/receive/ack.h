/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ACKs both ways: composing them from the receive windows, and applying them to the transmitter. */
#ifndef FALCON_ACK_H
#define FALCON_ACK_H

#include "../abi/maps.h"
#include "../rue.h"
#include "../wire/wire.h"
#include "window.h"

FALCON_INLINE bool falcon_bitmap_any(const __u32 *bitmap, __u32 words)
{
	__u32 any = 0;

	for (__u32 i = 0; i < words; i++)
		any |= bitmap[i];
	return any;
}

/*
 * PSNs from the first that is missing to the last that is set, if that is beyond it; else 0. Counting the
 * ones of a mask finds a bit without the instructions for it, which BPF lacks.
 */
FALCON_INLINE __u32 falcon_bitmap_distance(const __u32 *bitmap, __u32 words)
{
	__u32 first = words * 32, last = 0;

	for (__u32 i = 0; i < words; i++) {
		__u32 word = bitmap[i], upto = word;

		if (first == words * 32 && word != 0xffffffff)
			first = i * 32 + falcon_ones_from_0(word);
		for (__u32 shift = 1; shift < 32; shift *= 2)
			upto |= upto >> shift;
		if (word)
			last = i * 32 + (__u32)__builtin_popcount(upto) - 1;
	}
	return last > first ? last - first : 0;
}

/* Falcon 10.6.2.1: what |a|, an EACK, reports as missing lies more than |threshold| PSNs back. */
FALCON_ALONE int falcon_ack_shows_drop(const struct falcon_ack *a, __u32 threshold)
{
	return a && (falcon_bitmap_distance(a->data_rx, 4) > threshold ||
		     falcon_bitmap_distance(a->req, 2) > threshold);
}

/* Has the receiver acknowledged |psn|, which is in its window? */
FALCON_INLINE bool falcon_acknowledged(const struct falcon_conn *c, bool req, __u32 psn)
{
	return req ? falcon_ring_test(c->rx_acked.req_ack, FALCON_REQ_WORDS, psn)
		   : falcon_ring_test(c->rx_acked.data_ack, FALCON_DATA_WORDS, psn);
}

/* Move *|base| forward to |to|, never back. Returns by how much it moved. */
FALCON_INLINE __u32 falcon_base_advance(__u32 *base, __u32 to)
{
	__u32 cur = falcon_load(base);

	for (int i = 0; i < FALCON_CAS_TRIES; i++) {
		__u32 seen;

		if (falcon_seq_diff(to, cur) <= 0)
			return 0;
		seen = falcon_cas(base, cur, to);
		if (seen == cur)
			return to - cur;
		cur = seen;
	}
	return 0;
}

/*
 * Acknowledge |psn|, which is claimed: its bit, and the base as far as all is acknowledged. Whoever sets
 * the last bit that is missing sees the others', and moves the base.
 */
FALCON_INLINE void falcon_rx_acknowledge(struct falcon_conn *c, bool req, __u32 psn)
{
	__u64 *ring = req ? c->rx_acked.req_ack : c->rx_acked.data_ack;
	__u32 *base = req ? &c->rx_acked.req_base : &c->rx_acked.data_base;
	__u32 words = req ? FALCON_REQ_WORDS : FALCON_DATA_WORDS;

	falcon_ring_merge(ring, words, psn >> FALCON_GROUP_SHIFT, 1U << (psn & 31));
	falcon_base_advance(base, falcon_ring_first_clear(ring, words, falcon_load(base)));
}

/*
 * One more packet of |flow| is acknowledged, at |now_ns|; *|acked| is what falcon_ack_told() wants to know
 * once that is told. Returns how many there are of which no ACK has told. Who finds more than one before the
 * first has written its time takes an older one for it: an ACK then goes out early.
 */
FALCON_INLINE __u32 falcon_ack_owe_as(struct falcon_conn *c, __u32 flow, __u64 now_ns, __u32 *acked)
{
	struct falcon_flow_rx *rx = &c->rx.flow[flow & (FALCON_MAX_FLOWS - 1)];
	__u32 untold;

	*acked = falcon_fetch_add(&rx->acked, 1U) + 1;
	untold = *acked - falcon_load(&rx->told);
	if (untold == 1)
		falcon_store(&rx->owed_since, now_ns);
	return untold;
}

FALCON_INLINE __u32 falcon_ack_owe(struct falcon_conn *c, __u32 flow, __u64 now_ns)
{
	__u32 acked;

	return falcon_ack_owe_as(c, flow, now_ns, &acked);
}

/* Packets of |flow| that are acknowledged and of which no ACK has told. */
FALCON_INLINE __u32 falcon_ack_untold(const struct falcon_conn *c, __u32 flow)
{
	const struct falcon_flow_rx *rx = &c->rx.flow[flow & (FALCON_MAX_FLOWS - 1)];
	__u32 told = falcon_load(&rx->told);

	return falcon_load(&rx->acked) - told;
}

/* An ACK of |flow| was sent that told of all up to |acked|. */
FALCON_INLINE void falcon_ack_told(struct falcon_conn *c, __u32 flow, __u32 acked)
{
	falcon_base_advance(&c->rx.flow[flow & (FALCON_MAX_FLOWS - 1)].told, acked);
}

/*
 * The part of an ACK or NACK that tells times and congestion of flow |flow| (Falcon 7.7.1), and the
 * bases.
 */
FALCON_INLINE void falcon_ack_common(const struct falcon_conn *c, __u32 flow,
				     struct falcon_ack *a)
{
	const struct falcon_flow_rx *rx = &c->rx.flow[flow & (FALCON_MAX_FLOWS - 1)];
	__u64 t = falcon_load(&rx->t1_t2);

	__builtin_memset(a, 0, sizeof(*a));
	a->cid = c->id.peer_cid;
	a->rdbpsn = falcon_load(&c->rx_acked.data_base);
	a->rrbpsn = falcon_load(&c->rx_acked.req_base);
	a->t1 = (__u32)(t >> 32);
	a->t2 = (__u32)t;
	a->hops = (__u8)falcon_load(&rx->hops);
	a->ecn = falcon_load(&rx->ecn_count) & 0x3fff;
	a->rue_info = falcon_load(&c->rx_acked.rue_info);
}

/*
 * Bases that were read as |rdbpsn| and |rrbpsn| tell all that there is to tell: nothing beyond them has come.
 */
FALCON_ALONE int falcon_ack_in_bases(const struct falcon_conn *c, __u32 rdbpsn, __u32 rrbpsn)
{
	__u32 any = 0;

	if (!c || falcon_load(&c->rx.own))
		return 0;
	for (__u32 i = 0; i < 4 && !any; i++)
		any = falcon_ring_bits(c->rx.data_rx, FALCON_DATA_WORDS, rdbpsn + 32 * i);
	for (__u32 i = 0; i < 2 && !any; i++)
		any = falcon_ring_bits(c->rx.req_rx, FALCON_REQ_WORDS, rrbpsn + 32 * i);
	return !any;
}

/*
 * Compose the ACK that connection |c| owes to |flow| (Falcon 9.1.6): bases first, bitmaps after, so
 * that the statement is true however packets arrive meanwhile. Chooses BACK or EACK by the rules
 * there, RACK-TLP's among them: an EACK if any bitmap says anything. It takes the OWN bits along.
 * Returns what falcon_ack_told() wants to know once the ACK is sent.
 */
FALCON_ALONE __u32 falcon_ack_compose(struct falcon_conn *c, __u32 flow, struct falcon_ack *a)
{
	bool extended;
	__u32 acked;

	if (!c || !a)
		return 0;
	/* Before the bases: of what is acknowledged meanwhile nobody says that it has been told. */
	acked = falcon_load(&c->rx.flow[flow & (FALCON_MAX_FLOWS - 1)].acked);
	falcon_ack_common(c, flow, a);
	falcon_ring_snapshot(c->rx_acked.data_ack, FALCON_DATA_WORDS, a->rdbpsn, a->data_ack, 4);
	falcon_ring_snapshot(c->rx.data_rx, FALCON_DATA_WORDS, a->rdbpsn, a->data_rx, 4);
	falcon_ring_snapshot(c->rx_acked.req_ack, FALCON_REQ_WORDS, a->rrbpsn, a->req, 2);
	extended = falcon_bitmap_any(a->req, 2) || falcon_bitmap_any(a->data_ack, 4) ||
		   falcon_bitmap_any(a->data_rx, 4) || falcon_load(&c->rx.own);
	if (extended)
		a->own = (__u8)falcon_fetch_and(&c->rx.own, 0U);
	a->type = extended ? FALCON_EACK : FALCON_BACK;
	return acked;
}

/*
 * Compose a NACK of a packet of |flow| (Falcon 9.1.7); the caller sets its code, PSN and window. A
 * NACK has no OWN field and leaves the bits to the next EACK.
 */
FALCON_INLINE void falcon_nack_compose(const struct falcon_conn *c, __u32 flow,
				       struct falcon_ack *a)
{
	falcon_ack_common(c, flow, a);
	a->type = FALCON_NACK;
}

/* What an acknowledgment did. */
enum falcon_ack_result {
	FALCON_ACK_INVALID = -2,	/* acknowledges what was never sent: nothing changed */
	FALCON_ACK_STALE = -1,		/* a base below ours (Falcon 9.2.3): nothing changed */
	FALCON_ACK_DONE = 0,
};

/*
 * Check bases against the transmitter's window: neither behind what is known acknowledged, nor
 * ahead of what was sent.
 */
FALCON_INLINE int falcon_ack_check_bases(const struct falcon_conn *c, __u32 rdbpsn, __u32 rrbpsn)
{
	/*
	 * Next before base: what is read as "sent" may only be too small by packets still on their
	 * way into the doorbell, which nobody can have acknowledged.
	 */
	__u32 data_base = falcon_load(&c->tx_acked.data_base);
	__u32 req_base = falcon_load(&c->tx_acked.req_base);
	__u32 data_next = falcon_load(&c->cc.data_next);
	__u32 req_next = falcon_load(&c->cc.req_next);

	if (falcon_seq_diff(rdbpsn, data_next) > 0 || falcon_seq_diff(rrbpsn, req_next) > 0)
		return FALCON_ACK_INVALID;
	if (falcon_seq_diff(rdbpsn, data_base) < 0 || falcon_seq_diff(rrbpsn, req_base) < 0)
		return FALCON_ACK_STALE;
	return FALCON_ACK_DONE;
}

/* True if a bit at or beyond |limit| is set: the peer speaks of a PSN that was never sent. */
FALCON_INLINE bool falcon_bitmap_beyond(const __u32 *bitmap, __u32 words, __u32 limit)
{
	for (__u32 i = 0; i < words; i++) {
		__u32 first = i * 32;
		__u32 valid = limit >= first + 32 ? 0xffffffff
			      : limit <= first	  ? 0
						  : (1U << (limit - first)) - 1;

		if (bitmap[i] & ~valid)
			return true;
	}
	return false;
}

/*
 * The acknowledgment in a reliable packet's base header (piggyback, Falcon 9.1.6). Bases only move
 * forward; a value outside the window is ignored. Returns how many PSNs it newly covered.
 */
FALCON_ALONE __u32 falcon_piggyback(struct falcon_conn *c, __u32 rdbpsn, __u32 rrbpsn)
{
	if (!c || falcon_ack_check_bases(c, rdbpsn, rrbpsn) != FALCON_ACK_DONE)
		return 0;
	return falcon_base_advance(&c->tx_acked.data_base, rdbpsn) +
	       falcon_base_advance(&c->tx_acked.req_base, rrbpsn);
}

/*
 * Which of our flows an acknowledgment is for that came on |flow|. A peer of another make hashes what it
 * likes into flow label or port: what is none of our flows is our first.
 */
FALCON_INLINE __u32 falcon_ack_flow(const struct falcon_conn *c, __u32 flow)
{
	return flow < c->cc.flows ? flow & (FALCON_MAX_FLOWS - 1) : 0;
}

/*
 * Apply a BACK, EACK or NACK that came on |flow| to the transmitter (Falcon 9.2.3, 9.2.4): bases,
 * bitmaps, OWN, RTT sample. |now_ns| is its reception time. Returns an enum falcon_ack_result.
 */
FALCON_ALONE int falcon_ack_apply(struct falcon_conn *c, __u32 flow, const struct falcon_ack *a,
				  __u64 now_ns)
{
	struct falcon_tx_acked *tx;
	int rc;

	if (!c || !a)
		return FALCON_ACK_INVALID;
	tx = &c->tx_acked;
	rc = falcon_ack_check_bases(c, a->rdbpsn, a->rrbpsn);
	if (rc != FALCON_ACK_DONE)
		return rc;
	if (a->type == FALCON_EACK) {
		__u32 data_sent = falcon_load(&c->cc.data_next) - a->rdbpsn;
		__u32 req_sent = falcon_load(&c->cc.req_next) - a->rrbpsn;

		if (falcon_bitmap_beyond(a->data_ack, 4, data_sent) ||
		    falcon_bitmap_beyond(a->data_rx, 4, data_sent) ||
		    falcon_bitmap_beyond(a->req, 2, req_sent))
			return FALCON_ACK_INVALID;
		falcon_ring_merge_bitmap(tx->data_ack, FALCON_DATA_WORDS, a->rdbpsn, a->data_ack, 4);
		falcon_ring_merge_bitmap(tx->data_rx, FALCON_DATA_WORDS, a->rdbpsn, a->data_rx, 4);
		falcon_ring_merge_bitmap(tx->req_ack, FALCON_REQ_WORDS, a->rrbpsn, a->req, 2);
		if (a->own)
			falcon_fetch_or(&tx->own, (__u32)a->own);
		falcon_fetch_add(&tx->eacks, 1U);
	}
	falcon_base_advance(&tx->data_base, a->rdbpsn);
	falcon_base_advance(&tx->req_base, a->rrbpsn);
	falcon_store(&tx->t1_t4[falcon_ack_flow(c, flow)],
		     (__u64)a->t1 << 32 | falcon_time_of_ns(now_ns));
	if (a->t1 == falcon_load(&c->cc.probe_t1))
		falcon_store(&tx->probe_seen, a->t1);
	if (a->type == FALCON_NACK && a->nack_code == FALCON_NACK_RESOURCE)
		falcon_fetch_add(&tx->nacks_resource, 1U);
	falcon_store(&tx->ack_bases, (__u64)a->rdbpsn << 32 | a->rrbpsn);
	falcon_fetch_add(&tx->acks, 1U);
	return FALCON_ACK_DONE;
}

/* Packets an acknowledgment states as acknowledged since the connection began; modulo 2^32. */
FALCON_INLINE __u32 falcon_ack_total(const struct falcon_ack *a)
{
	__u32 n = a->rdbpsn + a->rrbpsn;

	for (int i = 0; i < 4; i++)
		n += (__u32)__builtin_popcount(a->data_ack[i]);
	for (int i = 0; i < 2; i++)
		n += (__u32)__builtin_popcount(a->req[i]);
	return n;
}

/*
 * The part of a RUE event that is the congestion state, the same for all types. What an engine
 * controls is a flow; connection_id names both. The state is that of flow 0: of connections with
 * more, the core puts in what belongs to |flow|.
 */
FALCON_INLINE void falcon_rue_event_state(const struct falcon_conn *c, __u32 flow,
					  struct falcon_rue_event *e)
{
	const struct falcon_cc *cc = &c->cc;
	__u32 fcwnd = falcon_load(&cc->fcwnd);

	falcon_ev_put(e, connection_id, falcon_rue_id(c->id.cid, flow));
	falcon_ev_put(e, fcwnd_fraction, fcwnd);
	falcon_ev_put(e, fcwnd_integer, fcwnd >> FALCON_EV_fcwnd_fraction_WIDTH);
	falcon_ev_put(e, inter_packet_gap, falcon_load(&cc->inter_packet_gap));
	falcon_ev_put(e, ncwnd, falcon_load(&cc->ncwnd));
	falcon_ev_put(e, retransmit_timeout, falcon_load(&cc->rto));
	falcon_ev_put(e, event_queue_select, cc->event_queue_select);
	falcon_ev_put(e, delay_select, cc->delay_select);
	falcon_ev_put(e, fabric_window_time_marker, falcon_load(&cc->fabric_window_time_marker));
	falcon_ev_put(e, nic_window_time_marker, falcon_load(&cc->nic_window_time_marker));
	falcon_ev_put(e, ncwnd_direction, cc->ncwnd_direction);
	falcon_ev_put(e, base_delay_target, falcon_load(&cc->base_delay_target));
	falcon_ev_put(e, delay_state, falcon_load(&cc->delay_state));
	falcon_ev_put(e, rtt_state, falcon_load(&cc->rtt_state));
	falcon_ev_put(e, cc_opaque, cc->cc_opaque);
}

/*
 * Compose the RUE event of an ACK or NACK that came on |flow| (Falcon 10.6.2.1). |t3| is the ACK's own
 * transmit time (its IV), |t4| its reception time, Falcon time units; |acked| the packets acknowledged
 * since the last event. |e| must be zeroed.
 */
FALCON_INLINE void falcon_rue_event_ack(const struct falcon_conn *c, __u32 flow,
					const struct falcon_ack *a, __u32 t3, __u32 t4, __u32 acked,
					struct falcon_rue_event *e)
{
	falcon_rue_event_state(c, falcon_ack_flow(c, flow), e);
	falcon_ev_put(e, event_type,
		      a->type == FALCON_NACK ? kRueEventTypeNack : kRueEventTypeAck);
	falcon_ev_put(e, t1, a->t1);
	falcon_ev_put(e, t2, a->t2);
	falcon_ev_put(e, t3, t3);
	falcon_ev_put(e, t4, t4);
	falcon_ev_put(e, nack_code, a->nack_code);
	falcon_ev_put(e, forward_hops, a->hops);
	falcon_ev_put(e, rx_buffer_level, a->buffer_level);
	falcon_ev_put(e, cc_metadata, a->rue_info);
	falcon_ev_put(e, num_packets_acked, acked > 1023 ? 1023 : acked);
	falcon_ev_put(e, eack, a->type == FALCON_EACK);
	falcon_ev_put(e, eack_drop,
		      a->type == FALCON_EACK && falcon_ack_shows_drop(a, c->cc.ooo_threshold));
	falcon_ev_put(e, ecn_accumulated, a->ecn);
	falcon_ev_put(e, gen, 1);
}

#endif /* FALCON_ACK_H */
