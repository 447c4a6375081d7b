/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A model of one direction of one link: a tail-drop queue before a wire of some rate and length.
 * It knows no sockets and no clock; times are nanoseconds of whatever clock the caller has.
 */
#ifndef FALCON_LAB_LINK_H
#define FALCON_LAB_LINK_H

#include <stdbool.h>
#include <stdint.h>

/* What all links of a lab have in common. Shares are out of 2^32. */
struct link_conf {
	uint64_t rate;		/* bit/s; 0: infinitely fast */
	uint64_t delay_ns;	/* one way */
	uint64_t jitter_ns;	/* each packet's delay is delay +- jitter, evenly spread */
	uint64_t queue;		/* bytes that may wait for the wire */
	uint64_t ecn;		/* bytes waiting from which packets are marked CE; 0: never */
	uint32_t reorder;	/* share that overtakes: is spared the delay */
	uint32_t dup;		/* share that arrives twice */
};

/* One direction of one link. Zero it before first use. */
struct link {
	uint64_t free_at;	/* when the wire has sent all that was admitted */
	uint64_t sent;		/* packets admitted */
	uint64_t dropped;	/* packets that found the queue full */
	uint64_t marked;	/* packets marked; the caller counts, who knows which can be */
};

/* What becomes of a packet. */
struct link_fate {
	bool dropped;
	bool mark;		/* set CE if the packet understands ECN */
	unsigned int copies;	/* 1 or 2 */
	uint64_t at;		/* when it arrives, ns */
};

/*
 * Offer a packet of |len| bytes to |link| at time |now|. |rng| is the state of the generator that
 * all random choices come from (never 0): same seed and same offers, same fates.
 */
struct link_fate link_offer(struct link *link, const struct link_conf *conf, uint64_t *rng,
			    uint64_t now, uint32_t len);

#endif /* FALCON_LAB_LINK_H */
