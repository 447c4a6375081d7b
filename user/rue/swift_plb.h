/* SPDX-License-Identifier: BSD-2-Clause */
/* Protective Load Balancing (Falcon 10.4): leave a path that stays congested. */
#ifndef FALCON_RUE_SWIFT_PLB_H
#define FALCON_RUE_SWIFT_PLB_H

#include "rue/swift_model.h"

static inline uint32_t swift_plb_word(uint32_t congested, uint32_t acked, uint32_t attempts)
{
	return congested << SWIFT_PLB_congested | acked << SWIFT_PLB_acked |
	       attempts << SWIFT_PLB_attempts;
}

/*
 * * Count |n| more packets acknowledged, with the delay in |t|. A round trip is over once as many
 * are as |window|, the smaller of both windows before this event. True: take another path.
 */
static inline bool swift_plb(const struct swift_model *m, const struct swift_times *t,
			     uint32_t *word, double window, uint32_t n)
{
	const struct swift_params *p = &m->p;
	uint32_t congested = swift_plb_get(*word, congested), acked = swift_plb_get(*word, acked);
	uint32_t attempts = swift_plb_get(*word, attempts);
	bool reroute = false;

	acked += n;
	if ((double)t->delay > (double)t->target * p->plb_target_rtt_multiplier)
		congested += n;
	if ((double)acked < window) {
		/* Windows are at most 1024 where PLB is on, so both counts fit. */
		*word = swift_plb_word(congested & SWIFT_PLB_congested_MAX,
				       acked & SWIFT_PLB_acked_MAX, attempts);
		return false;
	}
	if ((double)congested / (double)acked < p->plb_congestion_threshold) {
		attempts = 0;
	} else if (++attempts >= p->plb_attempt_threshold) {
		reroute = true;
		attempts = 0;
	}
	*word = swift_plb_word(0, 0, attempts);
	return reroute;
}

#endif /* FALCON_RUE_SWIFT_PLB_H */
