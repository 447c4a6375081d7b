/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Swift's numbers: 24-bit times, fixed-point windows, and the conversions of the reference. Reals
 * are IEEE doubles, rounded after every operation: no wider registers, no fused multiply-add
 * (build.mk).
 */
#ifndef FALCON_RUE_SWIFT_MATH_H
#define FALCON_RUE_SWIFT_MATH_H

#include <float.h>
#include <stdbool.h>
#include <stdint.h>

_Static_assert(FLT_EVAL_METHOD == 0, "doubles must be evaluated as doubles");

#define SWIFT_TIME_MAX 0xffffffu	/* also the mask */
#define SWIFT_FIXED_ONE 1024.0		/* windows have 10 bits of fraction */

/* The time from |from| to |to|, on a clock of 24 bits. */
static inline uint32_t swift_elapsed(uint32_t to, uint32_t from)
{
	return (to - from) & SWIFT_TIME_MAX;
}

static inline double swift_clamp(double x, double min, double max)
{
	if (x < min)
		return min;
	return x > max ? max : x;
}

/* The integer part of |x|, which is not negative; at most |max|. */
static inline uint32_t swift_truncate(double x, uint32_t max)
{
	return x < (double)max ? (uint32_t)x : max;
}

/* The integer nearest to |x|, which is not negative, halves up; at most |max|. */
static inline uint32_t swift_round(double x, uint32_t max)
{
	uint32_t n = swift_truncate(x, max);

	/*
	 * The difference is exact, where x + 0.5 would not be. Added, not chosen: half of all numbers
	 * go either way, which no branch predictor can know.
	 */
	return n + ((n < max) & (x - (double)n >= 0.5));
}

/* 10.3.4 GetSmoothed; |alpha| weighs the old value. */
static inline uint32_t swift_smooth(uint32_t old, uint32_t sample, double alpha)
{
	/* Not smoothed, the sample comes out as it is. */
	if (alpha == 0)
		return sample;
	return swift_truncate((double)old * alpha + (double)sample * (1 - alpha), SWIFT_TIME_MAX);
}

/*
 * The factor by which a window shrinks when |value| is at or over |target|: as much as it is over,
 * times |factor|, but no more than |max|.
 */
static inline double swift_decrease(uint32_t value, uint32_t target, double factor, double max)
{
	double cut;

	if (value == target)
		return 1;
	cut = ((double)value - (double)target) / (double)value * factor;
	return 1 - (cut < max ? cut : max);
}

#endif /* FALCON_RUE_SWIFT_MATH_H */
