// SPDX-License-Identifier: BSD-2-Clause
/* The buffer level that ACKs and NACKs carry (Falcon 10.2), of all pools together. */
#include "core/parts.h"

static void publish(struct fcore *core)
{
	uint32_t level = core->rx_waiting;

	for (int i = 0; i < 2; i++)
		level = core->rx_occupancy[i].level > level ? core->rx_occupancy[i].level : level;
	if (level == core->rx_level)
		return;
	core->rx_level = level;
	if (core->ops.on_rx_level)
		core->ops.on_rx_level(core->arg, level);
}

void fc_rx_level_open(struct fcore *core, const uint32_t percent[2])
{
	for (int i = 0; i < 2; i++)
		fcore_occupancy_init(&core->rx_occupancy[i], core->nic.limit[FCORE_NET_PKT_RX + i],
				     percent[i]);
}

void fc_rx_level_update(struct fcore *core)
{
	bool changed = false;

	for (int i = 0; i < 2; i++)
		changed |= fcore_occupancy_set(&core->rx_occupancy[i],
					       core->nic.used[FCORE_NET_PKT_RX + i]);
	if (changed)
		publish(core);
}

uint32_t fcore_rx_level(const struct fcore *core)
{
	return core->rx_level;
}

void fcore_rx_waiting(struct fcore *core, uint32_t level)
{
	core->rx_waiting = level;
	publish(core);
}
