/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receive sequence (Falcon 9.2.2), written once: XDP, the agent and the simulator run these
 * functions, in this order, and differ only in the hooks.
 *
 *	check	headers, integrity, function, and whether the frame could be delivered at all;
 *		a packet that fails has changed nothing
 *	admit	is the packet one that the receiver's resources allow (Falcon 8.2.4)?
 *	reserve	what delivery takes, since a claim is final
 *	claim	its place in the sliding window; without admission or reservation it is refused
 *	note	times, hops, ECN, and the acknowledgment that the packet carries
 *
 * A request that can be carried out on the spot needs no admission, reservation or delivery: it is carried
 * out in their place, and claimed and acknowledged with that.
 *
 * The verdict says what is left to do: deliver the packet, or answer it (falcon_rx_answer()).
 *
 * Who includes this file defines the hooks that it declares. |at| is the hooks' own: the steps pass
 * it on.
 */
#ifndef FALCON_RECEIVE_H
#define FALCON_RECEIVE_H

#include "rx.h"

/* A packet on its way through the sequence. The caller sets all but |hdr|. */
struct falcon_receive {
	const struct falcon_config *config;
	struct falcon_conn *conn;
	__u64 now;			/* CLOCK_MONOTONIC at reception, ns */
	struct falcon_frame frame;	/* as parsed; with ESP, as opened */
	struct falcon_hdr hdr;		/* reliable packets only */
};

/*
 * In BPF each step is a function of its own, so that the verifier's paths through it meet at its
 * end, and packet pointers do not live from one to the next.
 */
#ifdef __bpf__
#define FALCON_STEP static __attribute__((noinline))
#else
#define FALCON_STEP static inline
#endif

/* The frame's first byte. */
FALCON_INLINE const void *falcon_hook_frame(void *at, const struct falcon_receive *r);

/* One past the Falcon packet's last byte. */
FALCON_INLINE const void *falcon_hook_end(void *at, const struct falcon_receive *r);

/*
 * Is the packet, whose headers are as expected, whole and the peer's? FALCON_V_rx_data to go on.
 * Who cannot tell may hand the frame on to who can, with a verdict that says so.
 */
FALCON_INLINE enum falcon_verdict falcon_hook_whole(void *at, struct falcon_receive *r);

/* Could the frame be delivered, were there room? FALCON_V_rx_data, or why not. */
FALCON_INLINE enum falcon_verdict falcon_hook_deliverable(void *at, struct falcon_receive *r);

/*
 * Carry out the request |r->hdr|, claim it and acknowledge it. FALCON_V_rx_data if that is not to be done
 * here, in which case nothing has changed; else the verdict of the packet.
 */
FALCON_INLINE enum falcon_verdict falcon_hook_execute(void *at, struct falcon_receive *r);

/*
 * Reserve what delivery takes. FALCON_V_rx_data; FALCON_V_drop_no_credit if there is no room at
 * present; any other verdict rules the packet out.
 */
FALCON_INLINE enum falcon_verdict falcon_hook_reserve(void *at, struct falcon_receive *r);

/* Give back what falcon_hook_reserve() has reserved. */
FALCON_INLINE void falcon_hook_unreserve(void *at, struct falcon_receive *r);

/* The packet was noted; with |moved|, it has moved a base of the transmitter. */
FALCON_INLINE void falcon_hook_noted(void *at, struct falcon_receive *r, bool moved);

/* |a| was applied to the transmitter; |v| says what it was. */
FALCON_INLINE void falcon_hook_acked(void *at, struct falcon_receive *r, const struct falcon_ack *a,
				     enum falcon_verdict v);

/* Addresses, encapsulation, SPI, replay (Falcon 9.2.2.1 to 9.2.2.3), then integrity. */
FALCON_STEP enum falcon_verdict falcon_receive_check(void *at, struct falcon_receive *r)
{
	const void *l3 = (const char *)falcon_hook_frame(at, r) + (r->frame.l3_off & 0x1f);
	const void *saddr, *daddr;
	enum falcon_verdict v;

	/* For the verifier: UDP and PSP or ESP make even an IPv4 packet longer than this. */
	if ((const char *)l3 + sizeof(struct ipv6hdr) > (const char *)falcon_hook_end(at, r))
		return FALCON_V_drop_truncated;
	if (r->frame.ipv6) {
		saddr = (const char *)l3 + __builtin_offsetof(struct ipv6hdr, saddr);
		daddr = (const char *)l3 + __builtin_offsetof(struct ipv6hdr, daddr);
	} else {
		saddr = (const char *)l3 + __builtin_offsetof(struct iphdr, saddr);
		daddr = (const char *)l3 + __builtin_offsetof(struct iphdr, daddr);
	}
	v = falcon_rx_check(r->conn, r->config, &r->frame, saddr, daddr);
	return v == FALCON_V_rx_data ? falcon_hook_whole(at, r) : v;
}
_Static_assert(FALCON_MAX_L3_OFF <= 0x1f, "falcon_receive_check() masks the offset");

FALCON_INLINE const void *falcon_receive_packet(void *at, const struct falcon_receive *r)
{
	return (const char *)falcon_hook_frame(at, r) + (r->frame.falcon_off & 0xff);
}
_Static_assert(FALCON_MAX_FALCON_OFF <= 0xff, "falcon_receive_packet() masks the offset");

/* BACK, EACK, NACK: the transmitter's business (Falcon 9.2.3, 9.2.4). */
FALCON_STEP enum falcon_verdict falcon_receive_ack(void *at, struct falcon_receive *r)
{
	struct falcon_ack a;
	int err = falcon_ack_unpack(falcon_receive_packet(at, r), falcon_hook_end(at, r), &a);
	enum falcon_verdict v;
	bool deliver;

	if (err)
		return falcon_wire_verdict(err);
	deliver = a.type == FALCON_NACK && a.nack_code != FALCON_NACK_RESOURCE;
	if (deliver) {
		v = falcon_hook_deliverable(at, r);
		if (v == FALCON_V_rx_data)
			v = falcon_hook_reserve(at, r);
		if (v != FALCON_V_rx_data)
			return v;
	}
	v = falcon_rx_ack(r->conn, r->frame.flow, &a, r->now);
	if (deliver && v != FALCON_V_rx_nack)
		falcon_hook_unreserve(at, r);
	if (v == FALCON_V_ack_stale || v == FALCON_V_ack_invalid)
		return v;
	/* T1 and T2 are those of reliable packets; of an ACK only the time counts. */
	falcon_rx_remote_time(r->conn, r->frame.iv);
	falcon_hook_acked(at, r, &a, v);
	return v;
}

/* Admission and reservation, for what is to be delivered. FALCON_V_rx_data if it may be claimed. */
FALCON_INLINE enum falcon_verdict falcon_receive_reserve(void *at, struct falcon_receive *r)
{
	enum falcon_verdict v = FALCON_V_zone_nacked;

	if (falcon_rx_admits(r->conn, r->config, &r->hdr))
		v = falcon_hook_reserve(at, r);
	return v == FALCON_V_drop_no_credit ? FALCON_V_resource_nacked : v;
}

/* Pull Request, Pull Data, Push Data, Resync: into the sliding window (Falcon 9.2.2.4). */
FALCON_STEP enum falcon_verdict falcon_receive_reliable(void *at, struct falcon_receive *r)
{
	int err = falcon_hdr_unpack(falcon_receive_packet(at, r), falcon_hook_end(at, r), &r->hdr);
	enum falcon_verdict v;

	if (err)
		return falcon_wire_verdict(err);
	if (!falcon_rx_function_ok(r->conn, &r->hdr))
		return FALCON_V_drop_function;
	v = falcon_hook_deliverable(at, r);
	if (v != FALCON_V_rx_data)
		return v;
	v = falcon_hook_execute(at, r);
	if (v != FALCON_V_rx_data)
		goto note;
	v = falcon_receive_reserve(at, r);
	if (v == FALCON_V_rx_data) {
		v = falcon_rx_window(r->conn, &r->hdr);
		if (!falcon_verdict_delivers(v))
			falcon_hook_unreserve(at, r);
	} else if (falcon_verdict_nacks(v)) {
		v = falcon_rx_refuse(r->conn, &r->hdr, v);
	} else {
		return v;
	}
note:
	falcon_rx_measure(r->conn, &r->frame, r->now);
	falcon_hook_noted(at, r, falcon_piggyback(r->conn, r->hdr.rdbpsn, r->hdr.rrbpsn) != 0);
	return v;
}

/* What comes after the check. */
FALCON_INLINE enum falcon_verdict falcon_receive_checked(void *at, struct falcon_receive *r)
{
	return falcon_type_is_ack(r->frame.type) ? falcon_receive_ack(at, r)
						 : falcon_receive_reliable(at, r);
}

/* The whole sequence. */
FALCON_INLINE enum falcon_verdict falcon_receive(void *at, struct falcon_receive *r)
{
	enum falcon_verdict v = falcon_receive_check(at, r);

	return v == FALCON_V_rx_data ? falcon_receive_checked(at, r) : v;
}

#endif /* FALCON_RECEIVE_H */
