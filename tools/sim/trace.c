// SPDX-License-Identifier: BSD-2-Clause
/* The trace: one line an event, and a hash over all of them that is kept even without a file. */
#include "sim.h"

#include <inttypes.h>

static uint64_t mix(uint64_t hash, uint64_t v)
{
	return rng_mix(hash ^ v) + 0x9e3779b97f4a7c15ULL;
}

void sim_trace(struct sim *s, const char *what, const struct endpoint *e, uint64_t a, uint64_t b,
	       uint64_t c)
{
	uint64_t t = s->now - s->start, who = e ? e->index : UINT32_MAX;

	s->hash = mix(s->hash, t << 8 ^ (uint64_t)(unsigned char)what[0] << 4 ^ who << 40);
	s->hash = mix(s->hash, a ^ b << 20 ^ c << 40 ^ (uint64_t)(unsigned char)what[1]);
	if (!s->trace)
		return;
	fprintf(s->trace, "%" PRIu64 ".%09" PRIu64 " ", t / SIM_S, t % SIM_S);
	if (e)
		fprintf(s->trace, "%u.%u", e->index / 2, e->index % 2);
	else
		fprintf(s->trace, "-");
	fprintf(s->trace, " %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", what, a, b, c);
}
