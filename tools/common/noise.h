/* SPDX-License-Identifier: BSD-2-Clause */
/* Independent bit errors of one direction of an Ethernet link, as what they do to whole packets. */
#ifndef FALCON_TOOLS_NOISE_H
#define FALCON_TOOLS_NOISE_H

#include "rng.h"

#define NOISE_ONE UINT64_C(1000000000000000)	/* a BER of 1 */

enum { NOISE_FCS_LEN = 4 };

struct noise {
	struct rng rng;
	uint64_t gap;		/* bits up to the next error */
};

static inline void noise_next(struct noise *e, uint64_t ber)
{
	e->gap += rng_exponential(&e->rng, NOISE_ONE / ber);
}

/* From the next bit on errors of the ratio |ber|, of NOISE_ONE; 0: none. */
static inline void noise_begin(struct noise *e, uint64_t ber)
{
	e->gap = 0;
	if (ber)
		noise_next(e, ber);
}

/* Whether a bit of the next packet, of |len| bytes, or of its FCS is wrong, which shows. |ber| is not 0. */
static inline bool noise_hits(struct noise *e, uint64_t ber, uint32_t len)
{
	uint64_t bits = 8ULL * (len + NOISE_FCS_LEN);
	bool hit = e->gap < bits;

	while (e->gap < bits)
		noise_next(e, ber);
	e->gap -= bits;
	return hit;
}

#endif /* FALCON_TOOLS_NOISE_H */
