/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Randomness of the simulator (splitmix64). Every link, host and endpoint has a stream of its own,
 * so that switching one fault off leaves the decisions of the others as they were.
 */
#ifndef FALCON_TOOLS_RNG_H
#define FALCON_TOOLS_RNG_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_PPM 1000000ULL

struct rng {
	uint64_t state;
};

static inline uint64_t rng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline uint64_t rng_next(struct rng *r)
{
	r->state += 0x9e3779b97f4a7c15ULL;
	return rng_mix(r->state);
}

/* Start the stream |stream| of |seed|. */
static inline void rng_seed(struct rng *r, uint64_t seed, uint64_t stream)
{
	r->state = rng_mix(seed + 1) ^ rng_mix(~stream * 0x9e3779b97f4a7c15ULL);
}

/* Uniform in [0, n); 0 if n is 0. */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)rng_next(r) * n) >> 64);
}

/* Uniform in [lo, hi]. */
static inline uint64_t rng_range(struct rng *r, uint64_t lo, uint64_t hi)
{
	return lo + rng_below(r, hi - lo + 1);
}

/* True |ppm| times in a million; takes nothing from the stream if that is never. */
static inline bool rng_chance(struct rng *r, uint64_t ppm)
{
	return ppm && rng_below(r, SIM_PPM) < ppm;
}

/*
 * Exponentially distributed with mean |mean| (below 2^60). In whole numbers, so that it is the same
 * everywhere: -log2 of a uniform fraction, bit by bit by squaring, times ln 2.
 */
static inline uint64_t rng_exponential(struct rng *r, uint64_t mean)
{
	uint64_t u = rng_next(r) | 1, log2 = 0;
	uint32_t zeros = (uint32_t)__builtin_clzll(u);

	u <<= zeros;
	for (int bit = 23; bit >= 0; bit--) {
		unsigned __int128 square = (unsigned __int128)u * u;

		if (square >> 127) {
			log2 |= 1ULL << bit;
			u = (uint64_t)(square >> 64);
		} else {
			u = (uint64_t)(square >> 63);
		}
	}
	log2 = ((uint64_t)zeros + 1) * (1ULL << 24) - log2;
	/* 2977044472 is ln 2 * 2^32. */
	return (uint64_t)(((unsigned __int128)mean * (log2 * 2977044472ULL)) >> 56);
}

#endif /* FALCON_TOOLS_RNG_H */
