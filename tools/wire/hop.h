/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A path between two ports that speaks RIFL: both its links share a hop (tools/rifl/hop.h). The bytes that
 * arrive are those that the receiving lane has taken out of its frames.
 *
 * The slots are run when something can come of them: when a frame can have come through, and before another
 * one is let in. What happens in them, and when, is as if each were run in its time.
 */
#ifndef FALCON_WIRE_HOP_H
#define FALCON_WIRE_HOP_H

#include "wire.h"

struct hop {
	struct rifl_hop rifl;
	struct wire *w;
	unsigned int path;
	bool armed;		/* an event is to come, */
	uint64_t due, order;	/* ... then, and this one */
	uint64_t altered[2], restarts;	/* see struct hop_stats; by direction */
};

/* What a hop has done in one direction since the statistics began. */
struct hop_stats {
	uint64_t frames;	/* RIFL frames sent; those are left out while nothing was under way */
	uint64_t damaged;	/* of them, with bit errors */
	uint64_t errors;	/* frames that the receiving end could not verify */
	uint64_t retransmissions;	/* procedures that the sending end has begun */
	uint64_t altered;	/* segments of packets that came with other bytes than were sent */
	uint64_t restarts;	/* of the hop: the ends did not agree any more */
};

/* Make the hop of |path|, whose links have the settings |set|. NULL without memory. */
struct hop *hop_open(struct wire *w, unsigned int path, const struct wire_settings *set, uint64_t seed);
/* NULL is allowed. */
void hop_close(struct hop *h);

/* The hop of the link |l|. */
struct hop *hop_of(const struct wire *w, const struct link *l);

/* Run the slots up to |now|. */
void hop_catch_up(struct hop *h, uint64_t now);

/* |frame| is to go over the link |number| (link_number()), at |now|; hop_catch_up() has been there. */
void hop_offer(struct hop *h, uint32_t number, uint32_t frame, uint64_t now);

/* The hop's event, at |at|. */
void hop_event(struct hop *h, uint64_t at);

/* The link towards |port| has another BER. */
void hop_set_ber(struct hop *h, unsigned int port, uint64_t ber);

void hop_stats(const struct hop *h, unsigned int port, struct hop_stats *s);
void hop_reset_stats(struct hop *h);

#endif /* FALCON_WIRE_HOP_H */
