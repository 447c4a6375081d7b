/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One direction of one path: a tail-drop queue before a wire of some rate, and behind that a flight
 * of some time, on which everything bad happens. What is lost has had its turn on the wire, as on a
 * real one. Without a rate there is neither queue nor wire.
 */
#ifndef FALCON_WIRE_LINK_H
#define FALCON_WIRE_LINK_H

#include "wire.h"

/* Prepare the zeroed link |number| of a run with |seed|. */
void link_init(struct link *l, const struct wire_settings *set, uint64_t seed, uint64_t number);

/* Offer it a frame at time |now|. */
void link_offer(struct wire *w, struct link *l, uint32_t frame, uint64_t now);

/* The frame on the wire has left it, at |at|. */
void link_sent(struct wire *w, struct link *l, uint64_t at);

/* RIFL: all of the frame on the wire is sent, at |at|. The next one is on it. */
void link_rifl_sent(struct wire *w, struct link *l, uint64_t at);

/* RIFL: the frame has come through, at |at|. */
void link_rifl_came(struct wire *w, struct link *l, uint32_t frame, uint64_t at);

/* RIFL: the hop begins again and will not carry the frame. */
void link_rifl_lost(struct wire *w, struct link *l, uint32_t frame);

/* A frame has arrived, at |at|. */
void link_arrived(struct wire *w, struct link *l, uint32_t frame, uint64_t at);

/* Lose what waits, and what flies when it arrives. */
void link_fail(struct wire *w, struct link *l);

/* Exactly how long |bytes| take at |rate| (not 0); |*remainder| carries what is less than 1 ns. */
uint64_t link_wire_ns(uint64_t bytes, uint64_t rate, uint64_t *remainder);

/* The number of a link in events, and as a stream of chance. */
static inline uint32_t link_number(const struct wire *w, const struct link *l)
{
	return (uint32_t)(l - &w->link[0][0]);
}

#endif /* FALCON_WIRE_LINK_H */
