// SPDX-License-Identifier: BSD-2-Clause
/*
 * The checksum by PCLMULQDQ. Each word is multiplied by what its place in the frame is worth, x^64j reduced
 * to 12 bits; the products, of 76 bits at most, add up to something that is reduced once.
 */
#include "crc.h"

#ifdef __x86_64__

#include <immintrin.h>

/* [j]: x^64j, reduced. */
static const uint64_t worth[RIFL_WORDS_MAX] = {
	0x001, 0x8bd, 0x8e4, 0x55b, 0x98a, 0x7d7, 0xcc4, 0xee2,
	0xf01, 0x71d, 0x7e8, 0xd05, 0x2d4, 0x04c, 0xd00, 0x8c3,
	0xb66, 0xd18, 0x73f, 0x3c2, 0x2bd, 0x224, 0x0b6, 0x9fb,
	0xa43, 0x9d6, 0x07f, 0xb3f, 0x0a7, 0xbee, 0xd9f, 0x9ae,
};

static const uint64_t quotient = 0x102f45e4a0e797ULL;	/* x^64 divided by the polynomial */

bool rifl_residue_fast_usable(void)
{
	return __builtin_cpu_supports("pclmul") != 0;
}

__attribute__((target("pclmul")))
static inline __m128i multiply(uint64_t a, uint64_t b)
{
	return _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)a), _mm_cvtsi64_si128((long long)b), 0);
}

/* |sum|, below x^76, by Barrett's method. */
__attribute__((target("pclmul")))
static inline uint32_t reduce(__m128i sum)
{
	uint64_t low = (uint64_t)_mm_cvtsi128_si64(sum);
	uint64_t high = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(sum, sum));
	uint64_t q;
	__m128i t;

	low ^= (uint64_t)_mm_cvtsi128_si64(multiply(high, worth[1]));
	t = multiply(low >> 12, quotient);
	q = (uint64_t)_mm_cvtsi128_si64(t) >> 52 |
	    (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(t, t)) << 12;
	low ^= (uint64_t)_mm_cvtsi128_si64(multiply(q, RIFL_CRC_POLY));
	return (uint32_t)(low & RIFL_VERIFICATION_MASK);
}

__attribute__((target("pclmul")))
uint32_t rifl_residue_fast(const struct rifl_frame *f, uint32_t bits)
{
	uint32_t words = rifl_words(bits);
	__m128i sum = _mm_setzero_si128();

	for (uint32_t i = 0; i < words; i++)
		sum = _mm_xor_si128(sum, multiply(f->word[i], worth[words - 1 - i]));
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
