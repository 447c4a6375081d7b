/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames between shards. A packet comes by the queue that the network card has chosen, and the shard of that
 * queue is not always that of the connection: then it hands the frame over. The other one handles it, may
 * keep it as long as it likes, and gives it back to where it came from.
 */
#ifndef FALCON_AGENT_SHARD_HANDOVER_H
#define FALCON_AGENT_SHARD_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "falcon/abi/maps.h"
#include "io/pile.h"

struct shard;

struct handover {
	struct pile inbox __attribute__((aligned(64)));	/* of the shard; others put */
	/* For each other shard, frames that handover_flush() gives it: the latest first. */
	struct {
		struct xsk_frame *first, *last;
	} out[FALCON_MAX_SHARDS] __attribute__((aligned(64)));
	uint32_t filled;		/* which of |out| are not empty, one bit each */
};

/* Give |f|, which |from| has, to shard |to|, another one, with the next handover_flush(). */
void handover_add(struct shard *from, unsigned int to, struct xsk_frame *f);
void handover_flush(struct shard *from);
/* What was handed over to |s|, linked by |next|, in the order in which it came; NULL: nothing. */
struct xsk_frame *handover_take(struct shard *s);
bool handover_waiting(const struct shard *s);

/* |s| needs |f|, a socket's, no more. */
void handover_release(struct shard *s, struct xsk_frame *f);

#endif /* FALCON_AGENT_SHARD_HANDOVER_H */
