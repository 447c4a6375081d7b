/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that stay in this host: a queue from a connection's transmitter to its other end. */
#ifndef FALCON_AGENT_LOOPQ_H
#define FALCON_AGENT_LOOPQ_H

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
	struct loopq_frame *next;
	uint32_t cid;			/* that it is for */
	uint64_t incarnation;		/* of that connection */
	uint64_t iv;			/* ps, when it was sent */
	uint8_t type;			/* enum falcon_packet_type */
	uint8_t flow;
	uint16_t len;			/* bytes of data */
	uint8_t data[XSK_MAX_FRAME] __attribute__((aligned(64)));
};

/* NULL if memory is short. */
struct loopq *loopq_create(void);
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
bool loopq_empty(const struct loopq *q);

#endif /* FALCON_AGENT_LOOPQ_H */
