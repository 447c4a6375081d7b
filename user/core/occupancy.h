/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How full a receive pool is, as ACKs and NACKs tell it (Falcon 10.2): a moving average of its
 * occupancy, in 32 levels that divide the pool evenly.
 */
#ifndef FALCON_CORE_OCCUPANCY_H
#define FALCON_CORE_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

enum fcore_occupancy_const {
	FCORE_RX_LEVELS = 32,
	FCORE_OCCUPANCY_ONE = 256,	/* one packet or cell, in averages */
};

struct fcore_occupancy {
	uint64_t total;		/* what the pool holds, in 1/FCORE_OCCUPANCY_ONE; not 0 */
	uint64_t ema;		/* ema_occupancy, in the same unit */
	uint64_t from, below;	/* the averages that are of |level| */
	uint32_t percent;	/* alpha, 1..100; 100: the occupancy itself */
	uint32_t level;		/* 0..FCORE_RX_LEVELS - 1 */
};

/* An empty pool of |total|, at least 1. */
void fcore_occupancy_init(struct fcore_occupancy *o, uint32_t total, uint32_t percent);

/* The occupancy has become |used|. True if that changed the level. */
bool fcore_occupancy_set(struct fcore_occupancy *o, uint32_t used);

#endif /* FALCON_CORE_OCCUPANCY_H */
