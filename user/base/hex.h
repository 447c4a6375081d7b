/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that are written as hexadecimal digits: keys, identifiers. */
#ifndef FALCON_BASE_HEX_H
#define FALCON_BASE_HEX_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Read |len| characters of |text|: |bytes| bytes, two digits each, the higher one first, in upper or lower
 * case. Characters of |between| may stand anywhere and count for nothing. False: |text| is not that, and
 * |out| has what was read up to there.
 */
static inline bool hex_read(const char *text, size_t len, const char *between, uint8_t *out,
			    size_t bytes)
{
	size_t digits = 0;

	memset(out, 0, bytes);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c && strchr(between, c))
			continue;
		if (!isxdigit(c) || digits == 2 * bytes)
			return false;
		out[digits / 2] = (uint8_t)(out[digits / 2] << 4 |
					    (isdigit(c) ? c - '0' : tolower(c) - 'a' + 10));
		digits++;
	}
	return digits == 2 * bytes;
}

#endif /* FALCON_BASE_HEX_H */
