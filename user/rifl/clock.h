/* SPDX-License-Identifier: BSD-2-Clause */
/* Clock compensation (sections 4.E and 5.B): the faster end sends as much less as the slower end can take. */
#ifndef FALCON_RIFL_CLOCK_H
#define FALCON_RIFL_CLOCK_H

#include <stdint.h>

struct rifl_clock {
	uint64_t ahead;		/* slots: the most that our clock has been ahead of the peer's */
};

/*
 * Our clock has counted |tx| slots, the one recovered from what the peer sends |rx|, both since the same
 * moment. Returns for how many slots to pause: rifl_lane_compensate() for each lane.
 */
static inline uint32_t rifl_clock_compare(struct rifl_clock *c, uint64_t tx, uint64_t rx)
{
	uint64_t ahead = tx > rx ? tx - rx : 0;
	uint32_t more;

	if (ahead <= c->ahead)
		return 0;
	more = (uint32_t)(ahead - c->ahead);
	c->ahead = ahead;
	return more;
}

#endif /* FALCON_RIFL_CLOCK_H */
