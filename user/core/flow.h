/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows: the paths of a connection, and what is kept of each (paper 4.3). */
#ifndef FALCON_CORE_FLOW_H
#define FALCON_CORE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "falcon/rue.h"

struct fcore_conn;
struct fc_ctx;

/* What the ACKs of one of the peer's flows wait for (9.1.6); coalescing is per flow (paper 4.3). */
struct fc_ack {
	uint64_t deadline;	/* of what is news (ack_news), ns: its ACK Coalescing Timer */
	uint16_t path;		/* that the flow's latest packet came on */
	bool heard;		/* there was one */
};

/* What an engine wants to see again in the flow's next event (10.6.2), in the event's units. */
struct fc_rue {
	uint32_t gap;		/* inter_packet_gap */
	uint32_t rto;
	uint32_t window_time_marker;	/* fabric_window_time_marker */
	uint32_t base_delay_target;
	uint32_t delay_state;
	uint32_t rtt_state;
	uint8_t cc_opaque;
};

/*
 * What RACK knows of a flow (RFC 8985, 6.2). Packets are compared by fc_ctx.order, the order of
 * transmission on the whole connection. [0] counts for the data window: packets known received; [1]
 * for the request window, of which only what the peer's agent has acknowledged is known.
 */
struct fc_rack {
	uint32_t latest[2];	/* order of the latest sent packet that ACK packets say has arrived */
	uint32_t later[2];	/* that bases in other packets say since: |latest| with the next ACK packet */
	uint32_t known[2];	/* |latest| as of the latest ACK packet: what losses are judged by */
	uint32_t widened;	/* order from which on the reordering window may widen again */
	uint32_t recovered;	/* order from which on a loss is another recovery */
	uint8_t quarters;	/* reordering window, in quarters of the least RTT */
	uint8_t persist;	/* recoveries until |quarters| falls back to 1 */
	bool reordered;		/* its packets have been seen to overtake one another */
	uint64_t min_rtt;	/* least sample of this epoch and the one before, ns; 0: none yet */
	uint64_t epoch_min;	/* least sample of this epoch, ns */
	uint64_t epoch_end;	/* ns */
	uint64_t rto;		/* rack_rto that the RUE has set, ns; 0: computed here */
};

/* One of our flows (paper 4.3): a path with a congestion window of its own. */
struct fc_flow {
	uint32_t fcwnd;		/* packets, 11.10 fixed point */
	uint32_t share;		/* of what the connection may have on the wire; as |fcwnd| */
	uint32_t outstanding;	/* packets last sent on it and not acknowledged */
	uint32_t acked;		/* packets of it acknowledged since its last RUE event */
	uint16_t path;		/* what switches hash, beside |index| */
	uint8_t index;
	uint8_t ar_credit;	/* percent towards the next AR */
	uint8_t ar_percent;	/* ACK Request Percent of the RUE, at most 100; 0: the parameters' */
	uint8_t timeouts;	/* in a row on this path, nothing of it acknowledged in between */
	uint8_t silent;		/* timeouts in a row, whatever the path; saturates */
	uint16_t alpha_scale;	/* beta of paper 4.6, 1/FALCON_RUE_ALPHA_WHOLE; 0: whole */
	bool moved;		/* something of it was acknowledged just now */
	uint32_t draws;		/* how often |path| was drawn anew */
	uint64_t rto;		/* ns */
	uint64_t rtt, srtt;	/* latest sample and smoothed, ns; 0: none yet */
	/*
	 * While fcwnd is below 1: ns from a packet's acknowledgment to the next packet (10.6.2.1:
	 * ipg = 1/R - RTT), or from one retransmission to the next; 0: not paced.
	 */
	uint64_t pace_gap;
	uint64_t pace_from;	/* when its latest packet was sent or acknowledged, ns; 0: none */
	uint64_t last_timeout;	/* ns */
	uint32_t seen_t1;	/* T1 of the latest RTT sample, Falcon time units; 0: none yet */
	uint64_t sent, lost;	/* packets, retransmissions among them; timed out or found lost */
	struct fc_rue rue;
	struct fc_rack rack;
};

/* flow.c */
/* Windows, RTO and path of each flow, from the parameters. */
void fc_flow_init(struct fcore_conn *c);
/* Pacing keeps the next packet of |f| back. */
static inline bool fc_flow_paced(const struct fc_flow *f, uint64_t now)
{
	return f->pace_gap && now < f->pace_from + f->pace_gap;
}
/*
 * The flow with the largest open window that may send now, in turn among equals, or NULL. A flow
 * that nothing comes back from has one packet at a time, ever more seldom; one that has been idle
 * for long comes first, since only a flow that carries something can show that it has recovered.
 */
struct fc_flow *fc_flow_choose(struct fcore_conn *c, uint64_t now);
/* When the next paced flow may send, ns. */
uint64_t fc_flow_departure(const struct fcore_conn *c, uint64_t now);
/*
 * Derive what the gates compare with from the flows' windows and |ncwnd|, packets, and each flow's
 * share. Where the windows add up to more than the connection may have on the wire, as many of them
 * as fit: else a flow whose window is small would always find another with more room.
 */
void fc_flow_windows(struct fcore_conn *c, uint32_t ncwnd);
/* What goes out on |flow|, one of ours or an ACK for the peer's, takes this path. */
uint16_t fc_flow_path(const struct fcore_conn *c, uint32_t flow);
/* Take another path: congestion (PLB, 10.4) or an outage (Protective ReRoute, paper 3.2). */
void fc_flow_repath(struct fcore_conn *c, struct fc_flow *f);
/* A packet of |f| has timed out. */
void fc_flow_timed_out(struct fcore_conn *c, struct fc_flow *f, uint64_t now);
/*
 * A round trip on |f|, ns: the longer of the latest and the smoothed one. Before its first sample,
 * what is longer of its timeout and a round trip on another flow: packets of it may be reported, or
 * reported missing, by ACKs of other flows.
 */
uint64_t fc_flow_rtt(const struct fcore_conn *c, const struct fc_flow *f);
/* Put into |e| what belongs to |f|; of a single flow it is there already. */
void fc_flow_event(const struct fcore_conn *c, const struct fc_flow *f,
		   struct falcon_rue_event *e);

/* rack.c */
enum fc_arrival {
	FC_ARRIVED_ACKED = 1,	/* acknowledged, and not only known received */
	FC_ARRIVED_FRESH = 2,	/* no ACK has said so before */
	FC_ARRIVED_REQ = 4,	/* it is one of the request window */
	FC_ARRIVED_BASE = 8,	/* only a base says so that has come in another packet since the latest ACK */
};

/* The packet in |ctx| has arrived; |how| are enum fc_arrival. */
void fc_rack_arrived(struct fcore_conn *c, const struct fc_ctx *ctx, unsigned int how, uint64_t now);
/* An ACK packet has come: it is newer than all that bases in other packets have said. */
void fc_rack_heard(struct fcore_conn *c);
/* An RTT sample of |f|, which is in f->rtt. */
void fc_rack_sample(struct fc_flow *f, uint64_t now);
/* Mark what is lost by now; an ACK packet has been taken in. */
void fc_rack_detect(struct fcore_conn *c, uint64_t now);
/* The reordering timer has fired. */
void fc_rack_timeout(struct fcore_conn *c, uint64_t now);

#endif /* FALCON_CORE_FLOW_H */
