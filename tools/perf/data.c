// SPDX-License-Identifier: BSD-2-Clause
/* What falcon-perf puts into its operations and messages. */
#include <string.h>

#include "perf.h"

struct perf_msg perf_msg_make(enum perf_msg_type type, uint64_t size, uint64_t offset,
			      uint64_t digest)
{
	return (struct perf_msg){
		.magic = falcon_hton32(PERF_MAGIC),
		.version = PERF_VERSION,
		.type = (__u8)type,
		.size = falcon_hton64(size),
		.offset = falcon_hton64(offset),
		.digest = falcon_hton64(digest),
	};
}

bool perf_msg_parse(const void *data, uint32_t len, struct perf_msg *out)
{
	if (len != sizeof(*out))
		return false;
	memcpy(out, data, sizeof(*out));
	return falcon_ntoh32(out->magic) == PERF_MAGIC && out->version == PERF_VERSION;
}

/* Odd constants, so that neither neighbours nor consecutive operations are alike. */
static uint64_t pattern_word(uint64_t seq, uint64_t i)
{
	uint64_t x = (seq + 1) * 0x9e3779b97f4a7c15ULL + i * 0xd1342543de82ef95ULL;

	return x ^ (x >> 29);
}

void perf_pattern_fill(void *data, uint64_t len, uint64_t seq)
{
	uint8_t *p = data;

	for (uint64_t i = 0; i < len; i += 8) {
		uint64_t word = pattern_word(seq, i);

		memcpy(p + i, &word, len - i < 8 ? len - i : 8);
	}
}

bool perf_pattern_check(const void *data, uint64_t len, uint64_t seq)
{
	const uint8_t *p = data;

	for (uint64_t i = 0; i < len; i += 8) {
		uint64_t word = pattern_word(seq, i);

		if (memcmp(p + i, &word, len - i < 8 ? len - i : 8))
			return false;
	}
	return true;
}
