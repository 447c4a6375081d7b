/* SPDX-License-Identifier: BSD-2-Clause */
/* The little that the emulator has to know about what is inside a frame. */
#ifndef FALCON_WIRE_FRAME_H
#define FALCON_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng;

/* What frame_look() finds. */
struct frame_info {
	bool flow;	/* unicast IP, and not neighbour discovery: what belongs to a flow */
	uint8_t index;	/* low 4 bits of the IPv6 flow label, or of the IPv4 UDP or TCP source port */
	uint32_t l3;	/* where the network header begins, behind VLAN tags; bytes */
	uint64_t hash;	/* over addresses, flow label, protocol and ports; the same for a whole flow */
};

/* Look into the frame of |len| bytes. A frame that is not IP, or cut short, is no flow; hash 0. */
void frame_look(const uint8_t *frame, size_t len, struct frame_info *info);

/*
 * Set CE, if the packet whose network header begins at |l3| is IPv4 or IPv6 and says that it
 * understands ECN. Returns whether it was marked just now.
 */
bool frame_mark_ce(uint8_t *frame, size_t len, uint32_t l3);

/*
 * Damage the frame behind its first |from| bytes: a burst of |bits| bits (at least 1, at most what
 * there is) at a random place, of which the first and the last are wrong for sure.
 */
void frame_corrupt(uint8_t *frame, size_t len, uint32_t from, uint32_t bits, struct rng *rng);

#endif /* FALCON_WIRE_FRAME_H */
