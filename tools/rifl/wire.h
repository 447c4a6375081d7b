/* SPDX-License-Identifier: BSD-2-Clause */
/* One direction of a lane, bit by bit: delay, independent errors, bursts, and stretches of white noise. */
#ifndef FALCON_RIFL_WIRE_H
#define FALCON_RIFL_WIRE_H

#include "../sim/rng.h"
#include "rifl/frame.h"

enum {
	WIRE_SLOT = 1000000,		/* ticks of a slot by a clock that is right */
	WIRE_BURST_MAX = 12,		/* bits: the longest burst that the checksum finds for certain */
};

#define WIRE_BER_ONE 1000000000000000ULL	/* a BER of 1 */

struct faults {
	uint64_t ber;			/* independent errors, of WIRE_BER_ONE bits */
	uint32_t burst_ppm;		/* frames with a burst in a million */
	uint32_t noise_ppm;		/* frames in a million that begin a stretch of noise */
	uint32_t noise_frames;		/* its greatest length, at least 1 */
};

struct wire_frame {
	uint64_t arrival;		/* ticks */
	struct rifl_frame f;
};

struct wire {
	struct faults faults;		/* the owner may change them at any time */
	struct rng rng;
	uint64_t delay;			/* ticks */
	uint32_t bits;			/* of a frame */
	uint32_t noise_left;		/* frames of noise to come */
	uint64_t gap;			/* bits up to the next independent error */
	uint64_t hit;			/* frames that were changed */
	struct wire_frame *ring;	/* frames on their way */
	uint32_t size, head, count;	/* of the ring: places, oldest, in use */
};

/*
 * A wire for frames of |bits| bits that takes |delay| ticks, with errors from the stream |stream| of |seed|.
 * Returns false without memory.
 */
bool wire_open(struct wire *w, uint32_t bits, uint64_t delay, uint64_t seed, uint64_t stream);
void wire_close(struct wire *w);

/* Change the faults. */
void wire_set_faults(struct wire *w, const struct faults *faults);

/* All that is on its way is gone. */
void wire_clear(struct wire *w);

/* Send |f| at |now|; no more than one in 0.99 slots. */
void wire_send(struct wire *w, uint64_t now, const struct rifl_frame *f);

/* The next frame that has arrived by |now|. Returns false if there is none. */
bool wire_receive(struct wire *w, uint64_t now, struct rifl_frame *f);

#endif /* FALCON_RIFL_WIRE_H */
