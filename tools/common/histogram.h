/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A log-linear histogram: each power of two is divided into HISTOGRAM_SUB equal buckets, so that a
 * value read back is at most 1/HISTOGRAM_SUB above the value put in. Recording is a few
 * instructions and never allocates.
 */
#ifndef FALCON_TOOLS_HISTOGRAM_H
#define FALCON_TOOLS_HISTOGRAM_H

#include <stdint.h>

enum histogram_const {
	HISTOGRAM_SUB_BITS = 6,
	HISTOGRAM_SUB = 1 << HISTOGRAM_SUB_BITS,
	HISTOGRAM_BUCKETS = (64 - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUB,
};

/* Zero is an empty histogram. */
struct histogram {
	uint64_t count;
	uint64_t min, max;	/* valid if count is not 0 */
	uint64_t sum;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t value);

/*
 * The smallest value that at least |fraction| (0 to 1) of the values do not exceed: the upper end
 * of its bucket, at most the maximum. 0 of an empty histogram.
 */
uint64_t histogram_quantile(const struct histogram *h, double fraction);

/* Mean, exact; 0 of an empty histogram. */
double histogram_mean(const struct histogram *h);

#endif /* FALCON_TOOLS_HISTOGRAM_H */
