/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rate update engine's interface (Falcon 10.6): the 64-byte CC event and CC result, and the
 * policy that decides which ACKs become events.
 *
 * The tables of 10.6.2 give widths in order; bit 0 of field 0 is bit 0 of word 0, words are
 * host-endian 64-bit, fields may straddle words.
 */
#ifndef FALCON_RUE_H
#define FALCON_RUE_H

#include "types.h"

struct falcon_rue_event {
	__u64 w[8];
};
_Static_assert(sizeof(struct falcon_rue_event) == 64, "Falcon 10.6.2.1");

struct falcon_rue_result {
	__u64 w[8];
};
_Static_assert(sizeof(struct falcon_rue_result) == 64, "Falcon 10.6.2.2");

enum falcon_rue_event_type {
	kRueEventTypeAck = 0,
	kRueEventTypeNack = 1,
	kRueEventTypeRetx = 2,
};

enum falcon_retx_reason {
	kRetxReasonRto = 0,
	kRetxReasonEarly = 1,
};

enum falcon_rue_delay {
	kRueDelayFull = 0,	/* t4 - t1 */
	kRueDelayFabric = 1,	/* (t4 - t1) - (t3 - t2) */
	kRueDelayFwd = 2,	/* t2 - t1 */
	kRueDelayRev = 3,	/* t4 - t3 */
};

/* The unit of inter_packet_gap, ns. */
#define FALCON_RUE_GAP_NS 512

/* Field(name, first bit, width). A field is addressed as FALCON_EV_name. */
#define FALCON_RUE_EVENT_FIELDS(F)                                                                \
	F(connection_id, 0, 24)                                                                   \
	F(event_type, 24, 2)                                                                      \
	F(t1, 26, 24)                                                                             \
	F(t2, 50, 24)                                                                             \
	F(t3, 74, 24)                                                                             \
	F(t4, 98, 24)                                                                             \
	F(retransmit_count, 122, 3)                                                               \
	F(retransmit_reason, 125, 1)                                                              \
	F(nack_code, 126, 8)                                                                      \
	F(forward_hops, 134, 4)                                                                   \
	F(rx_buffer_level, 138, 5)                                                                \
	F(cc_metadata, 143, 24)                                                                   \
	F(fcwnd_fraction, 167, 10)                                                                \
	F(fcwnd_integer, 177, 11)                                                                 \
	F(inter_packet_gap, 188, 20)                                                              \
	F(ncwnd, 208, 11)                                                                         \
	F(retransmit_timeout, 219, 24)                                                            \
	F(num_packets_acked, 243, 10)                                                             \
	F(eack_drop, 253, 1)                                                                      \
	F(eack, 254, 1)                                                                           \
	F(event_queue_select, 263, 2)                                                             \
	F(delay_select, 265, 2)                                                                   \
	F(fabric_window_time_marker, 267, 24)                                                     \
	F(nic_window_time_marker, 291, 24)                                                        \
	F(ncwnd_direction, 315, 1)                                                                \
	F(base_delay_target, 316, 24)                                                             \
	F(delay_state, 340, 24)                                                                   \
	F(rtt_state, 364, 24)                                                                     \
	F(cc_opaque, 388, 2)                                                                      \
	F(ecn_accumulated, 390, 14)                                                               \
	F(gen, 511, 1)

#define FALCON_RUE_RESULT_FIELDS(F)                                                               \
	F(connection_id, 0, 24)                                                                   \
	F(randomize_path, 24, 1)                                                                  \
	F(cc_metadata, 25, 24)                                                                    \
	F(fcwnd_fraction, 49, 10)                                                                 \
	F(fcwnd, 59, 11)                                                                          \
	F(inter_packet_gap, 70, 20)                                                               \
	F(ncwnd, 90, 11)                                                                          \
	F(retransmit_timeout, 101, 24)                                                            \
	F(fabric_window_time_marker, 125, 24)                                                     \
	F(nic_window_time_marker, 149, 24)                                                        \
	F(ncwnd_direction, 173, 1)                                                                \
	F(base_delay_target, 174, 24)                                                             \
	F(delay_state, 198, 24)                                                                   \
	F(rtt_state, 222, 24)                                                                     \
	F(cc_opaque, 246, 2)

/*
 * Two fields of the event that the reference's engine gives back, and 10.6.2.2 does not name: the
 * four bits by which its widths fall short of 64 bytes, at the start of its reserved tail.
 */
#define FALCON_RUE_RESULT_ECHO_FIELDS(F)                                                          \
	F(event_queue_select, 248, 2)                                                             \
	F(delay_select, 250, 2)

/*
 * Loss recovery is the engine's to tune, too (paper 4.1, Table 3), but 10.6.2.2 has no fields for it:
 * in its reserved tail, in Falcon time units; 0 leaves the timeout to what is computed from the RTT.
 */
#define FALCON_RUE_RESULT_LOSS_FIELDS(F)                                                          \
	F(rack_rto, 252, 24)                                                                      \
	F(tlp_timeout, 276, 24)

/*
 * And so is the connection's share of resources (paper 4.6, Table 3): beta, by which its alpha is
 * multiplied, in 1/256, at most 256; 0 leaves it whole.
 */
#define FALCON_RUE_RESULT_SHARE_FIELDS(F) F(alpha_scale, 300, 9)
#define FALCON_RUE_ALPHA_WHOLE 256

/*
 * And when packets ask for an ACK (paper Table 3): the ACK Request Percent of the flow (Falcon 9.1.3.1), at
 * most 100; 0 leaves it to the connection's parameters.
 */
#define FALCON_RUE_RESULT_ACK_FIELDS(F) F(ar_percent, 309, 7)

/*
 * The reference divides cc_metadata: the lower 22 bits are the RUE's (ACKs carry no more), the
 * upper two of an event the ACK's OWN bits, of a result 0.
 */
#define FALCON_RUE_METADATA_BITS 22

#define FALCON_EV_ENUM(name, lo, width)                                                           \
	FALCON_EV_##name = lo, FALCON_EV_##name##_WIDTH = width,
#define FALCON_RES_ENUM(name, lo, width)                                                          \
	FALCON_RES_##name = lo, FALCON_RES_##name##_WIDTH = width,
enum falcon_rue_event_bits { FALCON_RUE_EVENT_FIELDS(FALCON_EV_ENUM) };
enum falcon_rue_result_bits {
	FALCON_RUE_RESULT_FIELDS(FALCON_RES_ENUM)
	FALCON_RUE_RESULT_ECHO_FIELDS(FALCON_RES_ENUM)
	FALCON_RUE_RESULT_LOSS_FIELDS(FALCON_RES_ENUM)
	FALCON_RUE_RESULT_SHARE_FIELDS(FALCON_RES_ENUM)
	FALCON_RUE_RESULT_ACK_FIELDS(FALCON_RES_ENUM)
};
#undef FALCON_EV_ENUM
#undef FALCON_RES_ENUM

/* OR |v|, cut to |width| bits (at most 63), into the zeroed words at bit |lo|. */
FALCON_INLINE void falcon_bits_put(__u64 *w, __u32 lo, __u32 width, __u64 v)
{
	__u32 i = lo / 64, s = lo % 64;

	v &= (1ULL << width) - 1;
	w[i] |= v << s;
	if (s + width > 64)
		w[i + 1] |= v >> (64 - s);
}

/* Replace the |width| bits (at most 63) at bit |lo| by |v|, cut to as many. */
FALCON_INLINE void falcon_bits_set(__u64 *w, __u32 lo, __u32 width, __u64 v)
{
	__u64 mask = (1ULL << width) - 1;
	__u32 i = lo / 64, s = lo % 64;

	w[i] &= ~(mask << s);
	if (s + width > 64)
		w[i + 1] &= ~(mask >> (64 - s));
	falcon_bits_put(w, lo, width, v);
}

FALCON_INLINE __u64 falcon_bits_get(const __u64 *w, __u32 lo, __u32 width)
{
	__u32 i = lo / 64, s = lo % 64;
	__u64 v = w[i] >> s;

	if (s + width > 64)
		v |= w[i + 1] << (64 - s);
	return v & ((1ULL << width) - 1);
}

#define falcon_ev_put(e, name, v)                                                                 \
	falcon_bits_put((e)->w, FALCON_EV_##name, FALCON_EV_##name##_WIDTH, (v))
#define falcon_ev_set(e, name, v)                                                                 \
	falcon_bits_set((e)->w, FALCON_EV_##name, FALCON_EV_##name##_WIDTH, (v))
#define falcon_ev_get(e, name)                                                                    \
	falcon_bits_get((e)->w, FALCON_EV_##name, FALCON_EV_##name##_WIDTH)
#define falcon_res_put(r, name, v)                                                                \
	falcon_bits_put((r)->w, FALCON_RES_##name, FALCON_RES_##name##_WIDTH, (v))
#define falcon_res_get(r, name)                                                                   \
	falcon_bits_get((r)->w, FALCON_RES_##name, FALCON_RES_##name##_WIDTH)

/*
 * connection_id in events and results: the CID (at most 17 bits) below, the flow above. To an engine
 * every flow is a connection of its own.
 */
enum falcon_rue_id_const {
	FALCON_RUE_FLOW_SHIFT = 20,
	FALCON_RUE_CID_MASK = (1 << FALCON_RUE_FLOW_SHIFT) - 1,
};

FALCON_INLINE __u32 falcon_rue_id(__u32 cid, __u32 flow)
{
	return (cid & FALCON_RUE_CID_MASK) | flow << FALCON_RUE_FLOW_SHIFT;
}

/* The flow in a connection_id, 24 bits. */
FALCON_INLINE __u32 falcon_rue_flow(__u32 connection_id)
{
	return connection_id >> FALCON_RUE_FLOW_SHIFT & 0xf;
}

/*
 * Falcon 10.6.1: whether an ACK becomes an event, from the fill of the event queue |used| against
 * its three ascending thresholds, and the two predicates.
 */
FALCON_INLINE bool falcon_rue_wants(__u32 used, const __u32 threshold[3], bool p1, bool p2)
{
	if (used < threshold[0])
		return true;
	if (used < threshold[1])
		return p1 || p2;
	if (used < threshold[2])
		return p1;
	return p1 && p2;
}

#endif /* FALCON_RUE_H */
