/* SPDX-License-Identifier: BSD-2-Clause */
/* Random links with random faults. */
#ifndef FALCON_RIFL_SOAK_H
#define FALCON_RIFL_SOAK_H

#include <stdint.h>

struct soak_options {
	uint64_t frames;	/* to send at least, both ends together */
	uint64_t seed;
	uint64_t first;		/* schedule to begin with */
	uint64_t ber;		/* of every schedule, in WIRE_BER_ONE; UINT64_MAX: as the schedule says */
};

/* Prints a line for each violation and the sum; an exit status. */
int soak(const struct soak_options *o);

#endif /* FALCON_RIFL_SOAK_H */
