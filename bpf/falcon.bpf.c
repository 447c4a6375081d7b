// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * falcon_rx: the receive side of Falcon's packet delivery sublayer (Falcon 9.2) in XDP.
 *
 * A packet is first decided upon, which includes every change of state, and then acted upon:
 * left to the kernel, dropped, handed to the agent, or turned round as an ACK or NACK. Each packet
 * ends in exactly one verdict and moves exactly that counter.
 */
#include "falcon_csum.h"
#include "falcon_deliver.h"
#include "falcon_maps.h"
#include "falcon_notify.h"
#include "falcon_turn.h"
#include "falcon_work.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/*
 * Cut off what lies behind the datagram (padding, a trailer), so that from here on the end of the
 * frame is the end of the Falcon packet.
 */
FALCON_INLINE bool falcon_trim(struct xdp_md *ctx, const struct falcon_frame *f)
{
	int excess = (int)falcon_frame_len(ctx) - f->udp_off - f->udp_len;

	return excess == 0 || bpf_xdp_adjust_tail(ctx, -excess) == 0;
}

/* The connection of an ESP packet, by its SPI; false if it is not ours. */
FALCON_INLINE bool falcon_find_sa(struct falcon_work *w)
{
	const __u32 *cid = bpf_map_lookup_elem(&falcon_sadb, &w->frame.spi);

	if (cid)
		w->frame.cid = *cid;
	return cid;
}

/* Parse and find the connection. FALCON_V_rx_data to go on. */
static __noinline enum falcon_verdict falcon_classify(struct xdp_md *ctx, struct falcon_work *w)
{
	__u32 zero = 0;
	enum falcon_verdict v;

	v = falcon_parse_frame(falcon_data(ctx), falcon_data_end(ctx), &w->frame);
	if (falcon_encap_is_esp(w->frame.encap) && !falcon_find_sa(w))
		return FALCON_V_pass_spi;
	if (v != FALCON_V_rx_data)
		return v;
	if (!falcon_trim(ctx, &w->frame))
		return FALCON_V_drop_ip_length;
	w->config = bpf_map_lookup_elem(&falcon_config, &zero);
	w->conn = bpf_map_lookup_elem(&falcon_conns, &w->frame.cid);
	if (!w->config || !w->conn)
		return FALCON_V_drop_cid;
	w->now = bpf_ktime_get_ns();
	return FALCON_V_rx_data;
}

/*
 * Is the packet what its connection expects, and whole (Falcon 9.2.2.1 to 9.2.2.3)? If it is to be
 * decrypted, only the agent can tell the latter.
 */
static __noinline enum falcon_verdict falcon_check(struct xdp_md *ctx, struct falcon_work *w)
{
	const void *l3 = falcon_data(ctx) + (w->frame.l3_off & 0x1f);
	const void *saddr = l3 + __builtin_offsetof(struct iphdr, saddr);
	const void *daddr = l3 + __builtin_offsetof(struct iphdr, daddr);
	enum falcon_verdict v;

	/* For the verifier: UDP and PSP or ESP make even an IPv4 packet longer than this. */
	if (l3 + sizeof(struct ipv6hdr) > falcon_data_end(ctx))
		return FALCON_V_drop_truncated;
	if (w->frame.ipv6) {
		saddr = l3 + __builtin_offsetof(struct ipv6hdr, saddr);
		daddr = l3 + __builtin_offsetof(struct ipv6hdr, daddr);
	}
	v = falcon_rx_check(w->conn, w->config, &w->frame, saddr, daddr);
	if (v != FALCON_V_rx_data)
		return v;
	if (w->frame.encap != FALCON_PSP_CLEAR ||
	    (falcon_load(&w->conn->id.flags) & FALCON_CONN_NO_CSUM))
		return FALCON_V_rx_data;
	return falcon_csum_good(ctx, &w->frame) ? FALCON_V_rx_data : FALCON_V_drop_csum;
}

FALCON_INLINE const void *falcon_packet(const struct xdp_md *ctx, const struct falcon_work *w)
{
	return falcon_data(ctx) + (w->frame.falcon_off & 0xff);
}
_Static_assert(FALCON_MAX_FALCON_OFF <= 0xff, "falcon_packet() masks the offset");

/* BACK, EACK, NACK: the transmitter's business (Falcon 9.2.3, 9.2.4). */
static __noinline enum falcon_verdict falcon_take_ack(struct xdp_md *ctx, struct falcon_work *w)
{
	struct falcon_ack a;
	int err = falcon_ack_unpack(falcon_packet(ctx, w), falcon_data_end(ctx), &a);
	enum falcon_verdict v;
	bool deliver;

	if (err)
		return falcon_wire_verdict(err);
	deliver = a.type == FALCON_NACK && a.nack_code != FALCON_NACK_RESOURCE;
	if (deliver) {
		v = falcon_reserve(ctx, w);
		if (v != FALCON_V_rx_data)
			return v;
	}
	v = falcon_rx_ack(w->conn, w->frame.flow, &a, w->now);
	if (deliver && v != FALCON_V_rx_nack)
		falcon_credit_return(w);
	if (v == FALCON_V_ack_stale || v == FALCON_V_ack_invalid)
		return v;
	/* T1 and T2 are those of reliable packets; of an ACK only the time counts. */
	falcon_rx_remote_time(&w->conn->rx, w->frame.iv);
	falcon_rue_ack(w, &a);
	falcon_mark_dirty(w);
	return v;
}

/* The packet has passed every check: note its times and the acknowledgment that it carries. */
FALCON_INLINE void falcon_note(struct falcon_work *w)
{
	falcon_rx_measure(w->conn, &w->frame, w->now);
	if (w->frame.ecn == FALCON_ECN_CE)
		w->counters->ce_marked++;
	if (falcon_piggyback(w->conn, w->hdr.rdbpsn, w->hdr.rrbpsn))
		falcon_mark_dirty(w);
}

/*
 * Pull Request, Pull Data, Push Data, Resync: into the sliding window (Falcon 9.2.2.4). Delivery
 * is reserved first, because a claim is final.
 */
static __noinline enum falcon_verdict falcon_take_reliable(struct xdp_md *ctx,
							   struct falcon_work *w)
{
	int err = falcon_hdr_unpack(falcon_packet(ctx, w), falcon_data_end(ctx), &w->hdr);
	enum falcon_verdict v;

	if (err)
		return falcon_wire_verdict(err);
	if (!falcon_rx_function_ok(w->conn, &w->hdr))
		return FALCON_V_drop_function;
	v = falcon_find_socket(ctx, w);
	if (v == FALCON_V_rx_data)
		v = falcon_rx_admits(w->conn, w->config, &w->hdr) ? falcon_reserve_room(ctx, w)
								   : FALCON_V_zone_nacked;
	if (v == FALCON_V_drop_no_credit)
		v = FALCON_V_resource_nacked;
	if (v != FALCON_V_rx_data && !falcon_verdict_nacks(v))
		return v;
	falcon_note(w);
	if (v != FALCON_V_rx_data)
		return falcon_rx_refuse(w->conn, &w->hdr, v);
	v = falcon_rx_window(w->conn, &w->hdr);
	if (!falcon_verdict_delivers(v))
		falcon_credit_return(w);
	return v;
}

/* To the agent, which runs the receive path from here on. */
FALCON_INLINE enum falcon_verdict falcon_steer(struct xdp_md *ctx, struct falcon_work *w)
{
	enum falcon_verdict v = falcon_reserve(ctx, w);

	return v == FALCON_V_rx_data ? FALCON_V_steered : v;
}

/* Everything up to the verdict. */
FALCON_INLINE enum falcon_verdict falcon_decide(struct xdp_md *ctx, struct falcon_work *w)
{
	const __u32 mode = FALCON_CONN_ALIVE | FALCON_CONN_CLEAR | FALCON_CONN_STEER;
	enum falcon_verdict v = falcon_classify(ctx, w);

	if (v != FALCON_V_rx_data)
		return v;
	/* Of a packet to be decrypted, all that is in the clear is checked before it costs more. */
	if ((falcon_load(&w->conn->id.flags) & mode) == mode)
		return falcon_steer(ctx, w);
	v = falcon_check(ctx, w);
	if (v != FALCON_V_rx_data)
		return v;
	if (w->frame.encap != FALCON_PSP_CLEAR)
		return falcon_steer(ctx, w);
	if (falcon_type_is_ack(w->frame.type))
		return falcon_take_ack(ctx, w);
	return falcon_take_reliable(ctx, w);
}

/* Do what |*v| means; it becomes a drop verdict if that cannot be done. Returns the XDP action. */
FALCON_INLINE int falcon_act(struct xdp_md *ctx, struct falcon_work *w, enum falcon_verdict *v)
{
	int action = XDP_DROP;

	if (falcon_verdict_passes(*v))
		return XDP_PASS;
	if (falcon_verdict_delivers(*v)) {
		action = falcon_deliver(ctx, w, *v);
		if (action != XDP_REDIRECT)
			*v = FALCON_V_drop_no_agent;
	} else if (falcon_verdict_answers(*v)) {
		falcon_meta_drop(ctx);
		if (falcon_turn(ctx, w, *v)) {
			w->counters->xdp_tx++;
			return XDP_TX;
		}
		/* A driver that gives frames no tailroom, and a short frame: an EACK is longer. */
		*v = FALCON_V_drop_no_room;
		falcon_fetch_or(&w->conn->rx.answers_owed, 1U << (w->frame.flow & (FALCON_MAX_FLOWS - 1)));
		falcon_mark_dirty(w);
	}
	return action;
}

SEC("xdp")
int falcon_rx(struct xdp_md *ctx)
{
	struct falcon_work w = {};
	enum falcon_verdict v;
	__u32 zero = 0;
	int action;

	w.counters = bpf_map_lookup_elem(&falcon_counters, &zero);
	if (!w.counters)
		return XDP_PASS;
	v = falcon_decide(ctx, &w);
	action = falcon_act(ctx, &w, &v);
	if (v < FALCON_VERDICT_COUNT)
		((__u64 *)w.counters)[v]++;
	return action;
}
