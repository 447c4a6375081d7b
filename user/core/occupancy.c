// SPDX-License-Identifier: BSD-2-Clause
/* The moving average of occupancy.h. Only a level that changes costs divisions. */
#include "core/occupancy.h"

/* The smallest average of |level|. */
static uint64_t start_of(const struct fcore_occupancy *o, uint32_t level)
{
	return (o->total * level + FCORE_RX_LEVELS - 1) / FCORE_RX_LEVELS;
}

static void set_level(struct fcore_occupancy *o)
{
	uint64_t level = o->ema * FCORE_RX_LEVELS / o->total;

	o->level = level < FCORE_RX_LEVELS ? (uint32_t)level : FCORE_RX_LEVELS - 1;
	o->from = start_of(o, o->level);
	o->below = o->level < FCORE_RX_LEVELS - 1 ? start_of(o, o->level + 1) : UINT64_MAX;
}

void fcore_occupancy_init(struct fcore_occupancy *o, uint32_t total, uint32_t percent)
{
	*o = (struct fcore_occupancy){
		.total = (uint64_t)total * FCORE_OCCUPANCY_ONE,
		.percent = percent,
	};
	set_level(o);
}

bool fcore_occupancy_set(struct fcore_occupancy *o, uint32_t used)
{
	uint64_t now = (uint64_t)used * FCORE_OCCUPANCY_ONE;
	uint32_t before = o->level;

	o->ema = (o->ema * (100 - o->percent) + now * o->percent) / 100;
	if (o->ema >= o->from && o->ema < o->below)
		return false;
	set_level(o);
	return o->level != before;
}
