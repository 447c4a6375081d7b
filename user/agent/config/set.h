/* SPDX-License-Identifier: BSD-2-Clause */
/* Which keys of a section were given, by their index in the section's table. */
#ifndef FALCON_AGENT_CONFIG_SET_H
#define FALCON_AGENT_CONFIG_SET_H

#include <stdbool.h>
#include <stdint.h>

enum { CONFIG_KEYS_MAX = 128 };		/* keys of a section, its parameters included */

struct config_set {
	uint64_t bits[CONFIG_KEYS_MAX / 64];
};

static inline void config_set_add(struct config_set *s, unsigned int key)
{
	s->bits[key / 64] |= 1ULL << key % 64;
}

static inline bool config_set_has(const struct config_set *s, unsigned int key)
{
	return s->bits[key / 64] >> key % 64 & 1;
}

#endif /* FALCON_AGENT_CONFIG_SET_H */
