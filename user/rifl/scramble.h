/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scrambler 1 + x^13 + x^33 (section 5.B), which synchronizes itself: every bit is combined with those
 * sent 13 and 33 before it. Syncword and verification code are left out. The verification code is that of
 * the scrambled frame, so a frame is scrambled before it is sealed, and verified before it is descrambled.
 */
#ifndef FALCON_RIFL_SCRAMBLE_H
#define FALCON_RIFL_SCRAMBLE_H

#include "frame.h"

struct rifl_scrambler {
	uint64_t past;		/* scrambled bits of the frames before, the latest lowest; any at first */
};

/* Scramble |f|, of |bits| bits, in place. */
void rifl_scramble(struct rifl_scrambler *s, struct rifl_frame *f, uint32_t bits);

/* The inverse, of |f| into |clear|, which may be |f|. Right once the 33 bits before came undamaged. */
void rifl_descramble(struct rifl_scrambler *s, const struct rifl_frame *f, struct rifl_frame *clear,
		     uint32_t bits);

#endif /* FALCON_RIFL_SCRAMBLE_H */
