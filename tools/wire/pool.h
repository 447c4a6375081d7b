/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of a falcon-wire: one area of memory cut into buffers of equal size, shared by all
 * ports, so that a frame crosses without being copied here. A frame has one owner at a time: the
 * pool, a port (to receive into, or to send), or the emulator.
 */
#ifndef FALCON_WIRE_POOL_H
#define FALCON_WIRE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "../rifl/hop.h"

#define POOL_NONE UINT32_MAX

enum pool_const {
	POOL_HEADROOM = 256,	/* bytes that the kernel keeps free before an AF_XDP frame */
};

/* What is known about the frame in a buffer. */
struct pool_frame {
	uint64_t entered;	/* when it came in, ns */
	struct rifl_hop_packet hop;	/* on its way over a RIFL hop */
	uint32_t next;		/* behind it in a queue; POOL_NONE */
	uint32_t offset;	/* of the frame in its buffer */
	uint32_t len;		/* bytes */
	uint32_t epoch;		/* of the link when the frame was let in */
	uint8_t to;		/* port it leaves by */
	uint8_t path;
	uint8_t queue;		/* receive queue it came through */
	bool flow;		/* see struct frame_info */
	uint16_t l3;		/* offset of the network header in the frame */
};

struct pool {
	uint8_t *area;		/* frames * size bytes, on a page */
	struct pool_frame *frame;
	uint32_t *free;		/* stack */
	uint32_t frees;
	uint32_t frames;
	uint32_t size;		/* of a buffer, bytes; a power of 2 */
};

/* Make a pool of |frames| buffers. 0 or -ENOMEM. */
int pool_init(struct pool *p, uint32_t frames, uint32_t size);
void pool_close(struct pool *p);

/* A free frame, or POOL_NONE. */
uint32_t pool_take(struct pool *p);
void pool_give(struct pool *p, uint32_t frame);

/* The longest frame that a buffer of |size| bytes holds. */
static inline uint32_t pool_max_len(uint32_t size)
{
	return size - POOL_HEADROOM;
}

static inline uint8_t *pool_data(const struct pool *p, uint32_t frame)
{
	return p->area + (uint64_t)frame * p->size + p->frame[frame].offset;
}

/* A copy of |frame|, what is known about it included; POOL_NONE if no frame is free. */
uint32_t pool_copy(struct pool *p, uint32_t frame);

#endif /* FALCON_WIRE_POOL_H */
