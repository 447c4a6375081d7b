/* SPDX-License-Identifier: BSD-2-Clause */
/* What the checks know of an end: of its packets, and of what it owes and was told. */
#ifndef FALCON_SIM_KNOWN_H
#define FALCON_SIM_KNOWN_H

#include <falcon/receive/rx.h>

#include <stdbool.h>
#include <stdint.h>

/* One packet sequence number, as its transmitter and the receiver's receive path have seen it. */
struct psn {
	uint32_t rsn;
	uint8_t type;		/* enum falcon_packet_type of the original */
	uint8_t flags;		/* enum psn_flag */
	uint8_t resync_code;
	uint8_t came;		/* how it was delivered last: flow, and enum psn_came */
	uint32_t sends;
	uint32_t claims;	/* by the receiver's receive path */
	uint32_t resyncs;	/* sends as a Resync */
	uint32_t early;		/* sends before its timeout, since the receiver was not ready for it */
	uint64_t last;		/* ns of the latest send */
	uint64_t hold;		/* RNR: not again before, by its sender's clock */
};

enum psn_flag {
	PSN_ARRIVED = 0x01,	/* claimed in the receiver's window, perhaps lost thereafter */
	PSN_DELIVERED = 0x02,	/* handed to the receiver's core */
	PSN_DONE = 0x04,	/* may be acknowledged */
	PSN_RETX = 0x08,	/* retransmitted */
	PSN_TAKEN = 0x10,	/* push: kept by the receiver's core at least once */
};

enum psn_came {
	PSN_CAME_AR = 0x10,	/* beside the flow */
};

/* What one end sends in one of the windows, and what is known of it. */
struct shadow {
	struct psn *psn;	/* by distance from |first| */
	uint32_t first;
	uint32_t next;		/* how many were sent */
	uint32_t size;		/* how many there can be */
	uint32_t floor;		/* all below this were found PSN_DONE: how far a base may be */
	uint32_t stated;	/* the highest base that the receiver has stated */
	uint32_t seen_tx, seen_rx;	/* bases last seen, to check that they only grow */
};

/* What the next ACK of a flow has to echo. */
struct measured {
	uint32_t t1, t2, ecn;
	uint32_t hops;		/* switches on its way */
	uint64_t sent;		/* the virtual time of |t1| */
	bool any;		/* a packet has come */
};

/* What the rate update engine has told a flow, in the units of its results. */
struct told {
	uint32_t fcwnd;		/* 11.10 fixed point */
	uint32_t gap, rto, target, delay_state, rtt_state;
};

/* The ACK that is owed to a flow. */
struct due_ack {
	uint64_t due;		/* by the clock of its host */
	uint32_t count;		/* packets that it acknowledges */
	bool ar;		/* it was requested */
};

/* Whose turn it is. |any| to |other| are of the latest first transmission of an end. */
struct turn {
	bool refused;		/* in this fcore_run(): it has its next try in the next one */
	bool any;		/* there was one, and the link has taken all that it was offered since */
	bool response;		/* it was pull data */
	bool other;		/* the other queue (8.3) had a packet that could have gone */
};

/* Keys of an end, each by a number; 0: none. */
struct key_use {
	uint64_t seals;		/* with which its packets are sealed */
	uint64_t sealed;	/* packets with that */
	uint64_t last_iv;	/* of the latest of them */
	uint64_t accepts;	/* under which it accepts packets, */
	uint64_t accepted;	/* packets under that */
	uint64_t before;	/* ... and the one before, while that is accepted, too */
	uint64_t until;		/* so long, by its host's clock; FCORE_NEVER: the peer has not answered */
	uint64_t latest;	/* highest IV accepted ... */
	bool heard;		/* ... if there was one */
};

/* The packet that an end is about to answer. */
struct judged {
	const struct falcon_hdr *hdr;	/* NULL: none */
	uint32_t len;		/* bytes behind the header */
	enum falcon_verdict verdict;
	bool fresh;		/* a request that has not been here, or was refused */
};

#endif /* FALCON_SIM_KNOWN_H */
