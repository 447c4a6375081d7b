/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of numbers and ranges, as configuration has them: "0,16-31". */
#ifndef FALCON_AGENT_CONFIG_RANGES_H
#define FALCON_AGENT_CONFIG_RANGES_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* The "A" or "A-B" at |*text|, numbers up to |max|, in [|*lo|, |*hi|]; |*text| is left behind it. */
static inline bool ranges_take(const char **text, uint64_t max, uint64_t *lo, uint64_t *hi)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*lo = *hi = strtoull(*text, &end, 0);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		*hi = strtoull(end + 1, &end, 0);
	*text = end;
	return *lo <= *hi && *hi <= max;
}

/* Whether |list| is one, of numbers up to |max|, and not empty. */
static inline bool ranges_valid(const char *list, uint64_t max)
{
	uint64_t lo, hi;

	while (ranges_take(&list, max, &lo, &hi)) {
		if (!*list)
			return true;
		if (*list++ != ',')
			return false;
	}
	return false;
}

/* Whether |list|, which is valid, holds |number|. */
static inline bool ranges_have(const char *list, uint64_t number)
{
	uint64_t lo, hi;

	while (ranges_take(&list, UINT64_MAX, &lo, &hi)) {
		if (number >= lo && number <= hi)
			return true;
		if (*list++ != ',')
			return false;
	}
	return false;
}

/* How many numbers |list| has, one that is in two ranges counted twice; 0: it is empty. */
static inline uint64_t ranges_count(const char *list)
{
	uint64_t lo, hi, n = 0;

	while (ranges_take(&list, UINT64_MAX, &lo, &hi)) {
		n += hi - lo + 1;
		if (*list++ != ',')
			break;
	}
	return n;
}

/* The number at place |n|, from 0 and below ranges_count(), in the order of |list|. */
static inline uint64_t ranges_at(const char *list, uint64_t n)
{
	uint64_t lo = 0, hi = 0;

	while (ranges_take(&list, UINT64_MAX, &lo, &hi)) {
		if (n <= hi - lo)
			return lo + n;
		n -= hi - lo + 1;
		list++;
	}
	return hi;
}

#endif /* FALCON_AGENT_CONFIG_RANGES_H */
