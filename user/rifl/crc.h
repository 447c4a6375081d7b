/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verification code (sections 3.B.5 and 4.C): 12 bits, the checksum of all before them, syncword
 * included, exclusive-or the frame ID. The checksum is the remainder by x^12 + x^5 + x^3 + x^2 + x + 1.
 *
 * Read as a polynomial, a frame with a verification code of 0 leaves its checksum as the remainder, and a
 * good frame its ID: so one function makes and checks.
 */
#ifndef FALCON_RIFL_CRC_H
#define FALCON_RIFL_CRC_H

#include "frame.h"

enum {
	RIFL_CRC_POLY = 0x102f,
	RIFL_VERIFICATION_MASK = (1 << RIFL_VERIFICATION_BITS) - 1,
};

/* The remainder of |f|, of |bits| bits, by the best instructions that the machine has. */
uint32_t rifl_residue(const struct rifl_frame *f, uint32_t bits);

/* The same, by tables. */
uint32_t rifl_residue_portable(const struct rifl_frame *f, uint32_t bits);

/* The same, by carry-less multiplication; only where rifl_residue_fast_usable(). */
uint32_t rifl_residue_fast(const struct rifl_frame *f, uint32_t bits);
bool rifl_residue_fast_usable(void);

/* Give |f|, whose verification code is 0, the one for the frame ID |id|, below 4096. */
static inline void rifl_seal(struct rifl_frame *f, uint32_t bits, uint32_t id)
{
	f->word[rifl_words(bits) - 1] |= rifl_residue(f, bits) ^ id;
}

/* Whether |f| has the verification code for |id|. */
static inline bool rifl_verify(const struct rifl_frame *f, uint32_t bits, uint32_t id)
{
	return rifl_residue(f, bits) == id;
}

/* Set the verification code of |f| back to 0. */
static inline void rifl_unseal(struct rifl_frame *f, uint32_t bits)
{
	f->word[rifl_words(bits) - 1] &= ~(uint64_t)RIFL_VERIFICATION_MASK;
}

#endif /* FALCON_RIFL_CRC_H */
