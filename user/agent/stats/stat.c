// SPDX-License-Identifier: BSD-2-Clause
#include "agent/stats/stat.h"

#include <stdio.h>
#include <string.h>

size_t stat_stem(const char *name, enum stat_unit unit)
{
	size_t n = strlen(name), cut = 0;

	if (unit == STAT_ns || unit == STAT_ns_us)
		cut = strlen("_ns");
	else if (unit == STAT_bytes && n > 6 && !strcmp(name + n - 6, "_bytes"))
		cut = strlen("_bytes");
	return n - cut;
}

void stat_put(json_t *row, const char *name, enum stat_unit unit, uint64_t value)
{
	char key[STAT_NAME_MAX];

	if (unit != STAT_ns_us) {
		json_object_set_new(row, name, json_integer((json_int_t)value));
		return;
	}
	snprintf(key, sizeof(key), "%.*s_us", (int)stat_stem(name, unit), name);
	json_object_set_new(row, key, json_real((double)value / 1000));
}
