// SPDX-License-Identifier: BSD-2-Clause
#include "histogram.h"

/*
 * Values below 2 * SUB have a bucket each; above, the leading HISTOGRAM_SUB_BITS + 1 bits choose
 * it: exponent and, below the leading one, the part of it.
 */
static uint32_t bucket_of(uint64_t value)
{
	int shift;

	if (value < HISTOGRAM_SUB)
		return (uint32_t)value;
	shift = 63 - __builtin_clzll(value) - HISTOGRAM_SUB_BITS;
	return (uint32_t)(shift * HISTOGRAM_SUB + (int)(value >> shift));
}

/* The largest value that falls into bucket |i|. */
static uint64_t bucket_end(uint32_t i)
{
	uint32_t shift;

	if (i < 2 * HISTOGRAM_SUB)
		return i;
	shift = i / HISTOGRAM_SUB - 1;
	return (((uint64_t)(i % HISTOGRAM_SUB) + HISTOGRAM_SUB) << shift) + ((1ULL << shift) - 1);
}

void histogram_add(struct histogram *h, uint64_t value)
{
	if (!h->count || value < h->min)
		h->min = value;
	if (!h->count || value > h->max)
		h->max = value;
	h->count++;
	h->sum += value;
	h->buckets[bucket_of(value)]++;
}

uint64_t histogram_quantile(const struct histogram *h, double fraction)
{
	double want = fraction * (double)h->count;
	uint64_t seen = 0;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen && (double)seen >= want)
			return bucket_end(i) < h->max ? bucket_end(i) : h->max;
	}
	return h->max;
}

double histogram_mean(const struct histogram *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}
