/* SPDX-License-Identifier: BSD-2-Clause */
/* Random links with random faults. */
#ifndef FALCON_RIFL_SOAK_H
#define FALCON_RIFL_SOAK_H

#include <stdint.h>

struct soak_options {
	uint64_t frames;	/* to send at least, both ends together */
	uint64_t seed;
	uint64_t first;		/* schedule to begin with */
	uint64_t ber;		/* of every schedule, in LINE_BER_ONE; UINT64_MAX: as the schedule says */
	const char *pcap;	/* capture the first schedule's frames here; NULL: do not */
};

/* Prints a line for each violation and the sum; an exit status, 2 also if the capture cannot be written. */
int soak(const struct soak_options *o);

#endif /* FALCON_RIFL_SOAK_H */
