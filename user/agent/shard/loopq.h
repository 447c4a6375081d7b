/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that stay in this host: a shard's frames for what its connections send to each other, and the queue
 * of those that are sent. A frame may also go to another shard (handover.h), which gives it back.
 */
#ifndef FALCON_AGENT_SHARD_LOOPQ_H
#define FALCON_AGENT_SHARD_LOOPQ_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"
#include "io/xsk.h"

enum loopq_const {
	LOOPQ_FRAMES = 2048,		/* sent and not yet given back */
};

/* A packet on its way, from the Falcon header on. The receiver may hold it, as it holds frames. */
struct loopq_frame {
	struct xsk_frame handle;	/* first: what the core holds; its |xsk| is NULL */
	struct loopq *queue;
	uint32_t shard;			/* whose queue that is */
	struct loopq_frame *next;
	uint32_t cid;			/* that it is for */
	uint64_t incarnation;		/* of that connection */
	uint64_t iv;			/* ps, when it was sent */
	uint8_t type;			/* enum falcon_packet_type */
	uint8_t flow;
	uint16_t len;			/* bytes of data */
	uint8_t data[XSK_MAX_FRAME] __attribute__((aligned(64)));
};

/* That of |shard|. NULL if memory is short. */
struct loopq *loopq_create(uint32_t shard);
/* The core holds no frame any more. NULL is allowed. */
void loopq_destroy(struct loopq *q);
/*
 * A frame with a copy of |p|, to be filled in and handed to loopq_send(); NULL: all are in use, or |p|
 * is longer than a frame.
 */
struct loopq_frame *loopq_frame_of(struct loopq *q, const struct fcore_packet *p);
void loopq_send(struct loopq_frame *f);
/* The oldest, which is the caller's until loopq_put(); NULL: none. */
struct loopq_frame *loopq_take(struct loopq *q);
void loopq_put(struct loopq_frame *f);
/* By another shard. True: the one that has the queue waits for frames. */
bool loopq_return(struct loopq_frame *f);
/* Frames that loopq_frame_of() was short of have been returned. */
bool loopq_refillable(const struct loopq *q);
bool loopq_empty(const struct loopq *q);

#endif /* FALCON_AGENT_SHARD_LOOPQ_H */
