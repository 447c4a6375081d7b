/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random traffic for a connection, made after its state so that all ways through the receive path
 * are taken often: new packets, duplicates, old and too new ones, ACKs true, stale and impossible,
 * and frames with something broken. The same seed gives the same traffic.
 */
#ifndef FALCON_SELFTESTS_TRAFFIC_H
#define FALCON_SELFTESTS_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

#include "falcon/abi/maps.h"
#include "packet.h"

struct traffic {
	uint64_t rng;		/* state of the generator; not 0 */
	uint64_t clock;		/* transmit time of the latest packet, picoseconds */
};

/* A random number below |n|. */
uint32_t traffic_random(struct traffic *t, uint32_t n);

/* The next frame for |c|, well-formed or not. Returns its length. */
size_t traffic_frame(struct traffic *t, const struct falcon_conn *c, uint8_t *frame);

/* Break something in a frame of |len| bytes, often behind right checksums. Returns its length. */
size_t traffic_mutate(struct traffic *t, uint8_t *frame, size_t len);

/*
 * What an agent might do to |c| between packets, in the fields that are its own: acknowledge
 * claimed packets, move the bases, send packets of its own.
 */
void traffic_agent(struct traffic *t, struct falcon_conn *c);

/* A claimed data PSN that is not acknowledged, to be released; false if there is none at hand. */
bool traffic_unclaim(struct traffic *t, const struct falcon_conn *c, uint32_t *psn);

#endif /* FALCON_SELFTESTS_TRAFFIC_H */
