// SPDX-License-Identifier: BSD-2-Clause
/*
 * How full the receive rings are, for the buffer level of ACKs (Falcon 10.2). The core knows what its
 * pools for network requests hold; frames that it has not been given yet are in none of them, but
 * XDP has used credits for them, and refuses packets when there are no more.
 */
#include "agent/rue/rue.h"

#include "agent/shard/plane.h"

void agent_rx_level_init(const struct shard *s, struct fcore_occupancy *ring)
{
	fcore_occupancy_init(ring, XSK_FILL_TARGET, s->plane->config->agent.rx_ema_ring);
}

void agent_rx_level_set(struct shard *s, struct fcore_occupancy *ring, uint32_t n)
{
	uint32_t level = 0;

	if (!fcore_occupancy_set(ring, n))
		return;
	for (unsigned i = 0; i < s->plane->nports; i++)
		for (uint32_t q = s->index; q < s->plane->ports[i].nqueues; q += s->plane->nshards)
			if (s->plane->ports[i].waiting[q].level > level)
				level = s->plane->ports[i].waiting[q].level;
	fcore_rx_waiting(s->core, level);
}
