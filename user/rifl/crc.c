// SPDX-License-Identifier: BSD-2-Clause
/* The checksum by tables, eight bytes at a time. */
#include "crc.h"

/* x times |v|, reduced. */
#define NEXT(v) ((((v) << 1) ^ (((v) >> 11 & 1) * RIFL_CRC_POLY)) & RIFL_VERIFICATION_MASK)

/* Ckb is x^(8k + b + 12), reduced. */
enum {
	C00 = RIFL_CRC_POLY & RIFL_VERIFICATION_MASK,
	C01 = NEXT(C00), C02 = NEXT(C01), C03 = NEXT(C02), C04 = NEXT(C03), C05 = NEXT(C04), C06 = NEXT(C05),
	C07 = NEXT(C06), C10 = NEXT(C07), C11 = NEXT(C10), C12 = NEXT(C11), C13 = NEXT(C12), C14 = NEXT(C13),
	C15 = NEXT(C14), C16 = NEXT(C15), C17 = NEXT(C16), C20 = NEXT(C17), C21 = NEXT(C20), C22 = NEXT(C21),
	C23 = NEXT(C22), C24 = NEXT(C23), C25 = NEXT(C24), C26 = NEXT(C25), C27 = NEXT(C26), C30 = NEXT(C27),
	C31 = NEXT(C30), C32 = NEXT(C31), C33 = NEXT(C32), C34 = NEXT(C33), C35 = NEXT(C34), C36 = NEXT(C35),
	C37 = NEXT(C36), C40 = NEXT(C37), C41 = NEXT(C40), C42 = NEXT(C41), C43 = NEXT(C42), C44 = NEXT(C43),
	C45 = NEXT(C44), C46 = NEXT(C45), C47 = NEXT(C46), C50 = NEXT(C47), C51 = NEXT(C50), C52 = NEXT(C51),
	C53 = NEXT(C52), C54 = NEXT(C53), C55 = NEXT(C54), C56 = NEXT(C55), C57 = NEXT(C56), C60 = NEXT(C57),
	C61 = NEXT(C60), C62 = NEXT(C61), C63 = NEXT(C62), C64 = NEXT(C63), C65 = NEXT(C64), C66 = NEXT(C65),
	C67 = NEXT(C66), C70 = NEXT(C67), C71 = NEXT(C70), C72 = NEXT(C71), C73 = NEXT(C72), C74 = NEXT(C73),
	C75 = NEXT(C74), C76 = NEXT(C75), C77 = NEXT(C76),
};

#define ENTRY(k, b)                                                                                \
	(((b) & 1) * C##k##0 ^ ((b) >> 1 & 1) * C##k##1 ^ ((b) >> 2 & 1) * C##k##2 ^               \
	 ((b) >> 3 & 1) * C##k##3 ^ ((b) >> 4 & 1) * C##k##4 ^ ((b) >> 5 & 1) * C##k##5 ^          \
	 ((b) >> 6 & 1) * C##k##6 ^ ((b) >> 7 & 1) * C##k##7)
#define ENTRIES4(k, b) ENTRY(k, b), ENTRY(k, (b) + 1), ENTRY(k, (b) + 2), ENTRY(k, (b) + 3)
#define ENTRIES16(k, b) ENTRIES4(k, b), ENTRIES4(k, (b) + 4), ENTRIES4(k, (b) + 8), ENTRIES4(k, (b) + 12)
#define ENTRIES64(k, b)                                                                            \
	ENTRIES16(k, b), ENTRIES16(k, (b) + 16), ENTRIES16(k, (b) + 32), ENTRIES16(k, (b) + 48)
#define TABLE(k) { ENTRIES64(k, 0), ENTRIES64(k, 64), ENTRIES64(k, 128), ENTRIES64(k, 192) }

/* [k][b]: the byte b, times x^(8k + 12). */
static const uint16_t table[8][256] = {
	TABLE(0), TABLE(1), TABLE(2), TABLE(3), TABLE(4), TABLE(5), TABLE(6), TABLE(7),
};

/* |w| times x^12. */
static uint64_t reduce(uint64_t w)
{
	return table[0][w & 0xff] ^ table[1][w >> 8 & 0xff] ^ table[2][w >> 16 & 0xff] ^
	       table[3][w >> 24 & 0xff] ^ table[4][w >> 32 & 0xff] ^ table[5][w >> 40 & 0xff] ^
	       table[6][w >> 48 & 0xff] ^ table[7][w >> 56];
}

uint32_t rifl_residue_portable(const struct rifl_frame *f, uint32_t bits)
{
	uint32_t last = rifl_words(bits) - 1;
	uint64_t r = 0, w = f->word[last];

	for (uint32_t i = 0; i < last; i++)
		r = reduce(f->word[i] ^ r << 52);
	/* Of the last word 52 bits are before the verification code. */
	r = reduce(w >> RIFL_VERIFICATION_BITS ^ r << 40);
	return (uint32_t)(r ^ (w & RIFL_VERIFICATION_MASK));
}
