// SPDX-License-Identifier: BSD-2-Clause
/*
 * The checksum by PCLMULQDQ, and the choice between that and crc.c. Each word is multiplied by what its
 * place in the frame is worth, x^64j reduced to 12 bits; the products, of 76 bits at most, add up to a sum
 * that is reduced once. All of that is done 52 places further up, where the sum's quotient by x^12 is a
 * register's upper half: nothing has to be shifted.
 */
#include "crc.h"

#ifdef __x86_64__

#include <immintrin.h>

enum { UP = 52 };

#define W(v) (UINT64_C(v) << UP)

/* [k]: x^64(31 - k), reduced; so that the last word of a frame of any size has the last. */
static const uint64_t worth[RIFL_WORDS_MAX] __attribute__((aligned(16))) = {
	W(0x9ae), W(0xd9f), W(0xbee), W(0x0a7), W(0xb3f), W(0x07f), W(0x9d6), W(0xa43),
	W(0x9fb), W(0x0b6), W(0x224), W(0x2bd), W(0x3c2), W(0x73f), W(0xd18), W(0xb66),
	W(0x8c3), W(0xd00), W(0x04c), W(0x2d4), W(0xd05), W(0x7e8), W(0x71d), W(0xf01),
	W(0xee2), W(0xcc4), W(0x7d7), W(0x98a), W(0x55b), W(0x8e4), W(0x8bd), W(0x001),
};

/* x^76 divided by the polynomial, without x^64; and the polynomial, of which x^64 falls off. */
static const uint64_t barrett[2] __attribute__((aligned(16))) = {
	0x02f45e4a0e7978ab, (uint64_t)RIFL_CRC_POLY << UP,
};

bool rifl_residue_fast_usable(void)
{
	return __builtin_cpu_supports("pclmul") != 0;
}

/*
 * What the two words at |f| are worth. They are loaded one by one, as the scrambler has stored them just
 * before: a load of both would have to wait until both stores are done.
 */
__attribute__((target("pclmul")))
static inline __m128i products(const uint64_t *f, const uint64_t *w)
{
	__m128i a = _mm_cvtsi64_si128((long long)f[0]), b = _mm_cvtsi64_si128((long long)f[1]);
	__m128i v = _mm_load_si128((const __m128i *)w);

	return _mm_xor_si128(_mm_clmulepi64_si128(a, v, 0x00), _mm_clmulepi64_si128(b, v, 0x10));
}

/* By Barrett's method: the quotient of the upper half, then what is left in the lower one. */
__attribute__((target("pclmul")))
static inline uint32_t reduce(__m128i sum)
{
	__m128i c = _mm_load_si128((const __m128i *)barrett);
	__m128i q = _mm_xor_si128(_mm_clmulepi64_si128(sum, c, 0x01), sum);
	__m128i r = _mm_xor_si128(_mm_clmulepi64_si128(q, c, 0x11), sum);

	return (uint32_t)((uint64_t)_mm_cvtsi128_si64(r) >> UP);
}

__attribute__((target("pclmul")))
uint32_t rifl_residue_fast(const struct rifl_frame *f, uint32_t bits)
{
	uint32_t words = rifl_words(bits);
	const uint64_t *w = worth + RIFL_WORDS_MAX - words;
	__m128i sum = products(f->word, w);

	for (uint32_t i = 2; i < words; i += 2)
		sum = _mm_xor_si128(sum, products(f->word + i, w + i));
	return reduce(sum);
}

#else

bool rifl_residue_fast_usable(void)
{
	return false;
}

uint32_t rifl_residue_fast(const struct rifl_frame *f, uint32_t bits)
{
	return rifl_residue_portable(f, bits);
}

#endif

uint32_t rifl_residue(const struct rifl_frame *f, uint32_t bits)
{
	return rifl_residue_fast_usable() ? rifl_residue_fast(f, bits) : rifl_residue_portable(f, bits);
}
