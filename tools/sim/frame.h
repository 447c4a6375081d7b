/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame on its way, and in the rings of a host. */
#ifndef FALCON_SIM_FRAME_H
#define FALCON_SIM_FRAME_H

#include "../rifl/hop.h"

#include <stdbool.h>
#include <stdint.h>

struct endpoint;

struct frame {
	struct frame *next;	/* in a host's ring */
	struct rifl_hop_packet hop;	/* on its way over a RIFL link */
	struct endpoint *verdict_ep;	/* in the ring: whose it is */
	struct endpoint *from;
	uint64_t key;		/* that it is sealed with, as the checks know it; 0: clear */
	uint64_t iv;		/* as it was sent, whatever has become of the bytes */
	uint64_t sent;		/* the virtual time of its T1 */
	uint64_t echoed;	/* ACKs: |sent| of the packet whose T1 they echo */
	uint32_t len;		/* bytes on the wire */
	uint32_t stored;	/* of them in |data|; without the payload if there is none */
	uint32_t label;		/* what ECMP hashes beside the hosts: flow label or source port */
	uint16_t src, dst;	/* hosts */
	uint16_t falcon_off, falcon_len;	/* in the ring: metadata, as XDP's */
	uint32_t incarnation;	/* of its sender's end */
	uint8_t verdict;
	uint8_t flow;		/* the same: of the sender, as its |path| */
	uint16_t path;
	uint8_t hops;		/* switches that it has passed */
	bool corrupt;
	bool marked;		/* ECN CE */
	uint64_t rx_ns;		/* by the receiver's clock */
	uint8_t data[] __attribute__((aligned(8)));
};

/* Frames in the order of their coming. */
struct ring {
	struct frame *first, **end;
};

#endif /* FALCON_SIM_FRAME_H */
