/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters as rows for falconctl, made of the lists beside the structures (falcon/abi/stats.h). */
#ifndef FALCON_AGENT_STATS_STAT_H
#define FALCON_AGENT_STATS_STAT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "falcon/abi/stats.h"

enum stat_unit {
	STAT_none,
	STAT_bytes,
	STAT_ns,
	STAT_ns_us,		/* ns, as rows have it us */
};

enum { STAT_NAME_MAX = 96 };	/* bytes of a column or a metric, with the final 0 */

/* All of |base|, a structure with the counters of |LIST|, as members of |row|. */
#define STAT_PUT(row, LIST, base)                                                                         \
	do {                                                                                              \
		json_t *stat_row = (row);                                                                 \
		const __typeof__(*(base)) *stat_base = (base);                                            \
		LIST(STAT_PUT_ONE)                                                                        \
	} while (0)
#define STAT_PUT_ONE(kind, name, unit, text) stat_put(stat_row, #name, STAT_##unit, stat_base->name);

/* |value| as a member of |row|. */
void stat_put(json_t *row, const char *name, enum stat_unit unit, uint64_t value);
/* Bytes of |name| without the unit that ends it. */
size_t stat_stem(const char *name, enum stat_unit unit);

#endif /* FALCON_AGENT_STATS_STAT_H */
