// SPDX-License-Identifier: BSD-2-Clause
/*
 * Scrambling 64 bits at a time. With z the input to which the bits from before have been added, the output is
 * y = z + (D^13 + D^33) y, D being the delay by one bit. So y = z / (1 + a), a = D^13 + D^33, and
 * 1 / (1 + a) = (1 + a)(1 + a^2)(1 + a^4)..., where all from a^8 on lies beyond 64 bits.
 */
#include "scramble.h"

enum {
	TAP1 = 13,
	TAP2 = 33,
	FIRST_BITS = 64 - RIFL_SYN_BITS,		/* scrambled in a frame's first word */
	LAST_BITS = 64 - RIFL_VERIFICATION_BITS,	/* and in its last */
};

/* What the bits from before add to the next ones, highest first. */
static inline uint64_t from_past(uint64_t past)
{
	return past << (64 - TAP1) ^ past << (64 - TAP2);
}

/*
 * The highest |n| bits of |x|, at least TAP2, so that no earlier past has to be kept; the others of the
 * result have no meaning.
 */
static inline uint64_t scramble(uint64_t *past, uint64_t x, uint32_t n)
{
	uint64_t y = x ^ from_past(*past);

	y ^= y >> TAP1 ^ y >> TAP2;
	y ^= y >> 2 * TAP1;
	y ^= y >> 4 * TAP1;
	*past = y >> (64 - n);
	return y;
}

static inline uint64_t descramble(uint64_t *past, uint64_t y, uint32_t n)
{
	uint64_t x = y ^ y >> TAP1 ^ y >> TAP2 ^ from_past(*past);

	*past = y >> (64 - n);
	return x;
}

static const uint64_t syn_mask = 3ULL << FIRST_BITS;
static const uint64_t verification_mask = (1ULL << RIFL_VERIFICATION_BITS) - 1;

/* |w|, but from |x| what is not in |kept|. */
static inline uint64_t replace(uint64_t w, uint64_t x, uint64_t kept)
{
	return (w & kept) | (x & ~kept);
}

void rifl_scramble(struct rifl_scrambler *s, struct rifl_frame *f, uint32_t bits)
{
	uint32_t last = rifl_words(bits) - 1;
	uint64_t past = s->past, *w = f->word, x;

	x = scramble(&past, w[0] << RIFL_SYN_BITS, FIRST_BITS);
	w[0] = replace(w[0], x >> RIFL_SYN_BITS, syn_mask);
	for (uint32_t i = 1; i < last; i++)
		w[i] = scramble(&past, w[i], 64);
	w[last] = replace(w[last], scramble(&past, w[last], LAST_BITS), verification_mask);
	s->past = past;
}

void rifl_descramble(struct rifl_scrambler *s, const struct rifl_frame *f, struct rifl_frame *clear,
		     uint32_t bits)
{
	uint32_t last = rifl_words(bits) - 1;
	const uint64_t *w = f->word;
	uint64_t past = s->past, x;

	x = descramble(&past, w[0] << RIFL_SYN_BITS, FIRST_BITS);
	clear->word[0] = replace(w[0], x >> RIFL_SYN_BITS, syn_mask);
	for (uint32_t i = 1; i < last; i++)
		clear->word[i] = descramble(&past, w[i], 64);
	clear->word[last] = replace(w[last], descramble(&past, w[last], LAST_BITS), verification_mask);
	s->past = past;
}
