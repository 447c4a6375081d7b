/* SPDX-License-Identifier: BSD-2-Clause */
/* One direction of a lane, bit by bit: delay, independent errors, bursts, and stretches of white noise. */
#ifndef FALCON_RIFL_LINE_H
#define FALCON_RIFL_LINE_H

#include "../common/noise.h"
#include "rifl/frame.h"

enum {
	LINE_SLOT = 1000000,		/* ticks of a slot by a clock that is right */
	LINE_BURST_MAX = 12,		/* bits: the longest burst that the checksum finds for certain */
};

#define LINE_BER_ONE NOISE_ONE		/* a BER of 1 */

struct faults {
	uint64_t ber;			/* independent errors, of LINE_BER_ONE bits */
	uint32_t burst_ppm;		/* frames with a burst in a million */
	uint32_t noise_ppm;		/* frames in a million that begin a stretch of noise */
	uint32_t noise_frames;		/* its greatest length, at least 1 */
};

struct line_frame {
	uint64_t arrival;		/* ticks */
	struct rifl_frame f;
};

struct line {
	struct faults faults;		/* the owner may change them at any time */
	struct rng rng;
	uint64_t delay;			/* ticks */
	uint32_t bits;			/* of a frame */
	uint32_t noise_left;		/* frames of noise to come */
	uint64_t gap;			/* bits up to the next independent error */
	uint64_t hit;			/* frames that were changed */
	struct line_frame *ring;	/* frames on their way */
	uint32_t size, head, count;	/* of the ring: places, oldest, in use */
};

/*
 * A line for frames of |bits| bits that takes |delay| ticks, with errors from the stream |stream| of |seed|.
 * Returns false without memory.
 */
bool line_open(struct line *l, uint32_t bits, uint64_t delay, uint64_t seed, uint64_t stream);
void line_close(struct line *l);

/* Change the faults. */
void line_set_faults(struct line *l, const struct faults *faults);

/*
 * The greatest BER for frames of that size, of LINE_BER_ONE, that leaves the checksum's blind spot out of the
 * picture: of four errors in one frame it misses one in 2^11, which is less than once in 10^11 frames here.
 */
uint64_t line_greatest_ber(uint32_t frame_bits);

/* How many frames will be sent before one is changed, at least; UINT64_MAX: all. */
uint64_t line_good_frames(const struct line *l);

/* As if |n| frames had been sent and received, at most line_good_frames(), but nothing moves. */
void line_skip(struct line *l, uint64_t n);

/* All that is on its way is gone. */
void line_clear(struct line *l);

/* Send |f| at |now|; no more than one in 0.99 slots. */
void line_send(struct line *l, uint64_t now, const struct rifl_frame *f);

/* The next frame that has arrived by |now|. Returns false if there is none. */
bool line_receive(struct line *l, uint64_t now, struct rifl_frame *f);

#endif /* FALCON_RIFL_LINE_H */
