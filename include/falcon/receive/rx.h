/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receive path's decisions (Falcon 9.2.2), the same code in XDP and, with offload off, in the
 * agent: acceptance checks, then either the sliding window or the transmitter's bookkeeping.
 * Nothing here touches state before every check of the packet has passed.
 */
#ifndef FALCON_RX_H
#define FALCON_RX_H

#include "../abi/maps.h"
#include "ack.h"
#include "parse.h"

/*
 * Falcon 9.2.2.3, the specification's pseudocode. |spi| and |cookie| are the packet's.
 *
 * A rotation of keys may be under way: it changes first the global word (step 1), then a
 * connection's generation, then its SPIs (step 2). Read in the opposite order, every mixture of old
 * and new accepts what both accept.
 */
FALCON_INLINE enum falcon_verdict falcon_rx_check_spi(const struct falcon_conn_id *id,
						      const struct falcon_config *cfg, __u32 spi,
						      __u64 cookie)
{
	bool allow_prev, cur_gen_ok, same_msb, is_prev, cur_ok, prev_same_ok, prev_prev_ok;
	union falcon_spi_pair pair = { .word = falcon_load(&id->spis) };
	__u32 gen = falcon_load(&id->cur_spi_gen), prev_gen;
	union falcon_spi_check global = { .word = falcon_load(&cfg->spi_check) };

	/* SPI 0: the connection is not configured */
	if (pair.cur == 0)
		return FALCON_V_drop_spi;
	prev_gen = global.gen - 1;
	allow_prev = global.allow_prev;
	cur_gen_ok = gen == global.gen || (allow_prev && gen == prev_gen);
	same_msb = (pair.cur >> 31) == (pair.prev >> 31);
	is_prev = pair.prev == spi && pair.prev != 0;
	cur_ok = pair.cur == spi && cur_gen_ok;
	prev_same_ok = same_msb && is_prev && cur_gen_ok;
	prev_prev_ok = !same_msb && allow_prev && is_prev && gen - 1 == prev_gen;
	if (!cur_ok && !prev_same_ok && !prev_prev_ok)
		return FALCON_V_drop_spi;
	if (global.pcid_match && cookie != id->pcid)
		return FALCON_V_drop_pcid;
	return FALCON_V_rx_data;
}

/* Falcon 9.2.2.2: accepted if (Remote Time - Replay Protection Margin) < IV, modulo 2^64. */
FALCON_INLINE bool falcon_rx_replay_ok(__u64 remote_time, __u64 margin, __u64 iv)
{
	return remote_time == 0 || (__s64)(iv - (remote_time - margin)) > 0;
}

/*
 * Remote Time follows the latest IV (Falcon 9.2.1). Only for packets that passed every check. False if others
 * have changed it each time that this tried to.
 */
FALCON_ALONE int falcon_rx_remote_time(struct falcon_conn *c, __u64 iv)
{
	__u64 cur, seen;

	if (!c)
		return false;
	cur = falcon_load(&c->rx.remote_time);
	for (int i = 0; i < FALCON_CAS_TRIES; i++) {
		if (cur != 0 && (__s64)(iv - cur) <= 0)
			return true;
		seen = falcon_cas(&c->rx.remote_time, cur, iv);
		if (seen == cur)
			return true;
		cur = seen;
	}
	return false;
}

FALCON_INLINE bool falcon_same_ip(const void *a, const void *b, bool ipv6)
{
	const __u32 *x = a, *y = b;

	if (x[0] != y[0])
		return false;
	return !ipv6 || (x[1] == y[1] && x[2] == y[2] && x[3] == y[3]);
}

/* The encapsulation that a connection with |flags| accepts. */
FALCON_INLINE __u8 falcon_rx_encap(const struct falcon_conn_id *id, __u32 flags)
{
	return flags & FALCON_CONN_CLEAR ? (__u8)FALCON_PSP_CLEAR : id->encap;
}

/*
 * What the headers alone can decide for a packet that parsed as |f| and belongs to connection |c|,
 * all of it in the clear; checksum or decryption are the caller's to do after it. |saddr| and
 * |daddr| are the packet's addresses (16 bytes readable; IPv4 uses the first 4). FALCON_V_rx_data if
 * all is well.
 */
FALCON_INLINE enum falcon_verdict falcon_rx_check(const struct falcon_conn *c,
						  const struct falcon_config *cfg,
						  const struct falcon_frame *f, const void *saddr,
						  const void *daddr)
{
	const struct falcon_conn_id *id = &c->id;
	__u32 flags = falcon_load(&id->flags);
	enum falcon_verdict v;

	if (!(flags & FALCON_CONN_ALIVE))
		return id->cur_spi ? FALCON_V_drop_not_alive : FALCON_V_drop_cid;
	if (!!(flags & FALCON_CONN_IPV6) != f->ipv6 ||
	    !falcon_same_ip(daddr, id->local_addr, f->ipv6) ||
	    !falcon_same_ip(saddr, id->peer_addr, f->ipv6))
		return FALCON_V_drop_address;
	if (f->encap != falcon_rx_encap(id, flags))
		return FALCON_V_drop_psp_version;
	/* ESP shows it when it is opened. */
	if (!falcon_encap_is_esp(f->encap) && !!(flags & FALCON_CONN_TUNNEL) != !!f->inner_len)
		return FALCON_V_drop_inner;
	v = falcon_rx_check_spi(id, cfg, f->spi, f->cookie);
	if (v != FALCON_V_rx_data)
		return v;
	if (!falcon_rx_replay_ok(falcon_load(&c->rx.remote_time), cfg->replay_margin, f->iv))
		return FALCON_V_drop_replay;
	return FALCON_V_rx_data;
}

FALCON_INLINE enum falcon_verdict falcon_wire_verdict(int err)
{
	switch (err) {
	case FALCON_WIRE_TRUNCATED: return FALCON_V_drop_truncated;
	case FALCON_WIRE_VERSION: return FALCON_V_drop_version;
	case FALCON_WIRE_LENGTH: return FALCON_V_drop_length;
	case FALCON_WIRE_CODE: return FALCON_V_drop_code;
	default: return FALCON_V_drop_type;
	}
}

/* Take note of a packet that passed every check: remote time, T1 and T2, hops, ECN. */
FALCON_INLINE void falcon_rx_measure(struct falcon_conn *c, const struct falcon_frame *f,
				     __u64 now_ns)
{
	struct falcon_flow_rx *flow = &c->rx.flow[f->flow & FALCON_FLOW_MASK];

	falcon_rx_remote_time(c, f->iv);
	falcon_store(&flow->t1_t2,
		     (__u64)falcon_time_of_iv(f->iv) << 32 | falcon_time_of_ns(now_ns));
	falcon_store(&flow->hops, (__u32)(FALCON_DEFAULT_TTL - f->ttl) & 0xf);
	if (f->ecn == FALCON_ECN_CE)
		falcon_fetch_add(&flow->ecn_count, 1U);
}

/*
 * A reliable packet is for the function that the two ends have agreed on (Falcon 7.2): a peer may not
 * reach another one over a connection that it was given for this one.
 */
FALCON_INLINE bool falcon_rx_function_ok(const struct falcon_conn *c, const struct falcon_hdr *h)
{
	__u32 want = falcon_load(&c->id.rx_function);

	return want == FALCON_FUNCTION_ANY || want == h->function;
}

enum falcon_rx_const {
	FALCON_RED_AHEAD = 32,	/* RSNs that may become the head of the line on their way */
};

/* What the shard of |c| has published. */
FALCON_INLINE const struct falcon_shard *falcon_shard_of(const struct falcon_conn *c,
							 const struct falcon_config *cfg)
{
	return &cfg->shard[c->id.shard & (FALCON_MAX_SHARDS - 1)];
}

/*
 * May a request be claimed, or is there room only for others (Falcon 8.2.4)? What the agent has
 * published may be out of date by what it is about to do. Too strict, and a packet is NACKed that
 * comes again; too lenient, and the agent, which decides by exact counts, NACKs it. So in the red
 * zone what closely follows the head of the line passes, too: the packets of a burst arrive here
 * together, and each is the head when the agent gets to it.
 */
FALCON_INLINE bool falcon_rx_admits(const struct falcon_conn *c, const struct falcon_config *cfg,
				    const struct falcon_hdr *h)
{
	__u32 zone = falcon_load(&c->rx_acked.zone), all = falcon_load(&falcon_shard_of(c, cfg)->zone);
	bool ordered = falcon_load(&c->id.flags) & FALCON_CONN_ORDERED;
	__s32 ahead = falcon_seq_diff(h->rsn, falcon_load(&c->rx_acked.next_rsn));

	if (all > zone)
		zone = all;
	if (zone == FALCON_ZONE_GREEN || h->type == FALCON_PULL_DATA || h->type == FALCON_RESYNC)
		return true;
	/* Delivered before: it holds nothing, and is to be told again how it ended (6.6.5). */
	if (ordered && ahead < 0)
		return true;
	/* Without an order every request is the head of a line of its own. */
	return zone == FALCON_ZONE_RED && (!ordered || ahead < FALCON_RED_AHEAD);
}

/*
 * The sliding window check of a reliable packet (Falcon 9.2.2.4). The caller must hold what the
 * delivery of an accepted packet takes (a credit), since a claim is final. Returns rx_data,
 * rx_request or rx_resync for a claimed packet; rx_resync_dup for the Resync of one that was
 * claimed before and is not acknowledged, which the agent is to do (Falcon 11); dup_acked,
 * old_acked or oow_acked for one to be answered with an ACK; drop_busy.
 */
FALCON_INLINE enum falcon_verdict falcon_rx_window(struct falcon_conn *c,
						   const struct falcon_hdr *h)
{
	bool req = falcon_in_req_window(h->type, h->resync_type);
	enum falcon_claim claim;

	if (req)
		claim = falcon_ring_claim(c->rx.req_rx, FALCON_REQ_WORDS, &c->rx_acked.req_base,
					  FALCON_REQ_WINDOW, h->psn);
	else
		claim = falcon_ring_claim(c->rx.data_rx, FALCON_DATA_WORDS, &c->rx_acked.data_base,
					  FALCON_DATA_WINDOW, h->psn);
	switch (claim) {
	case FALCON_CLAIM_NEW:
		falcon_fetch_add(&c->rx.accepted, 1U);
		if (h->type == FALCON_RESYNC)
			return FALCON_V_rx_resync;
		return req ? FALCON_V_rx_request : FALCON_V_rx_data;
	case FALCON_CLAIM_DUP:
		if (h->type == FALCON_RESYNC && !falcon_acknowledged(c, req, h->psn))
			return FALCON_V_rx_resync_dup;
		return FALCON_V_dup_acked;
	case FALCON_CLAIM_OLD:
		return FALCON_V_old_acked;
	case FALCON_CLAIM_OUT:
		falcon_fetch_or(&c->rx.own, (__u32)(req ? FALCON_OWN_REQ : FALCON_OWN_DATA));
		return FALCON_V_oow_acked;
	default:
		return FALCON_V_drop_busy;
	}
}

/*
 * What to answer to a reliable packet that cannot be delivered for want of room: nothing is
 * claimed. dup_acked, old_acked or oow_acked as falcon_rx_window() would say; |nack|, one of
 * falcon_verdict_nacks(), for one that is new.
 */
FALCON_INLINE enum falcon_verdict falcon_rx_refuse(struct falcon_conn *c,
						   const struct falcon_hdr *h,
						   enum falcon_verdict nack)
{
	bool req = falcon_in_req_window(h->type, h->resync_type);
	__u32 base = req ? falcon_load(&c->rx_acked.req_base) : falcon_load(&c->rx_acked.data_base);
	__s32 off = falcon_seq_diff(h->psn, base);
	bool claimed;

	if (off < 0)
		return FALCON_V_old_acked;
	if (off >= (req ? FALCON_REQ_WINDOW : FALCON_DATA_WINDOW)) {
		falcon_fetch_or(&c->rx.own, (__u32)(req ? FALCON_OWN_REQ : FALCON_OWN_DATA));
		return FALCON_V_oow_acked;
	}
	claimed = req ? falcon_ring_test(c->rx.req_rx, FALCON_REQ_WORDS, h->psn)
		      : falcon_ring_test(c->rx.data_rx, FALCON_DATA_WORDS, h->psn);
	return claimed ? FALCON_V_dup_acked : nack;
}

/*
 * Compose what verdict |v|, one of falcon_verdict_answers(), answers packet |h| of |flow| with: the
 * ACK that the connection owes, or the NACK of this packet. Returns what falcon_ack_told() wants to know
 * once the answer is sent.
 */
FALCON_INLINE __u32 falcon_rx_answer(struct falcon_conn *c, const struct falcon_config *cfg,
				     enum falcon_verdict v, __u32 flow, const struct falcon_hdr *h,
				     struct falcon_ack *a)
{
	__u32 acked;

	if (falcon_verdict_nacks(v)) {
		/* A NACK has no bitmaps. */
		acked = falcon_load(&c->rx.flow[flow & (FALCON_MAX_FLOWS - 1)].told);
		falcon_nack_compose(c, flow, a);
		a->nack_code = FALCON_NACK_RESOURCE;
		a->nack_psn = h->psn;
		a->nack_req_window = falcon_in_req_window(h->type, h->resync_type);
	} else {
		acked = falcon_ack_compose(c, flow, a);
	}
	a->buffer_level = (__u8)falcon_load(&falcon_shard_of(c, cfg)->rx_level);
	return acked;
}

/* An answer on |flow| could not be sent: the core owes it. */
FALCON_INLINE void falcon_rx_owe_answer(struct falcon_conn *c, __u32 flow)
{
	falcon_fetch_or(&c->rx.answers_owed, 1U << (flow & (FALCON_MAX_FLOWS - 1)));
}

/*
 * What becomes of an ACK or NACK that passed the checks and came on |flow|; |a| is applied to the
 * transmitter.
 */
FALCON_INLINE enum falcon_verdict falcon_rx_ack(struct falcon_conn *c, __u32 flow,
						const struct falcon_ack *a, __u64 now_ns)
{
	switch (falcon_ack_apply(c, flow, a, now_ns)) {
	case FALCON_ACK_STALE:
		return FALCON_V_ack_stale;
	case FALCON_ACK_INVALID:
		return FALCON_V_ack_invalid;
	default:
		break;
	}
	if (a->type != FALCON_NACK)
		return FALCON_V_ack_consumed;
	return a->nack_code == FALCON_NACK_RESOURCE ? FALCON_V_nack_consumed : FALCON_V_rx_nack;
}

#endif /* FALCON_RX_H */
