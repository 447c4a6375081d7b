/* SPDX-License-Identifier: BSD-2-Clause */
/* IP addresses in binary. Their family stands beside them, since what has two has one for both. */
#ifndef FALCON_BASE_ADDR_H
#define FALCON_BASE_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct falcon_addr {
	uint8_t b[16];		/* network order; IPv4 in the first 4, and zeros */
};

/* As memcmp(); both are of one family. */
static inline int falcon_addr_cmp(const struct falcon_addr *a, const struct falcon_addr *b)
{
	return memcmp(a->b, b->b, sizeof(a->b));
}

static inline bool falcon_addr_equal(const struct falcon_addr *a, const struct falcon_addr *b)
{
	return falcon_addr_cmp(a, b) == 0;
}

/* 0.0.0.0 or ::, which is none. */
static inline bool falcon_addr_is_none(const struct falcon_addr *a)
{
	return falcon_addr_equal(a, &(struct falcon_addr){ 0 });
}

#endif /* FALCON_BASE_ADDR_H */
