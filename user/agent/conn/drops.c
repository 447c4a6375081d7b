// SPDX-License-Identifier: BSD-2-Clause
/*
 * A socket has dropped frames: what XDP had claimed for them will never arrive, and must be released, or it
 * would pass for received. Claims are compared with arrivals while XDP claims nothing and the sockets are
 * empty. A connection's packets come by any queue, so all shards take part.
 */
#include "agent/conn/drops.h"

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/setup.h"
#include "agent/shard/shard.h"

/* In a call. */
static void hold(void *arg)
{
	shard_each_xsk(arg, xsk_hold_credits);
}

/* In a call of all shards. */
static void release(void *arg)
{
	struct agent *a = arg;

	for (uint32_t cid = 0; cid < a->plane.maps.nconns; cid++)
		if (a->conns[cid] && a->conns[cid]->core)
			fcore_release_claims(a->conns[cid]->core);
	for (unsigned int i = 0; i < a->plane.nshards; i++)
		shard_each_xsk(&a->plane.shards[i], xsk_regrant);
}

void agent_recover_drops(struct agent *a)
{
	for (unsigned int i = 0; i < a->plane.nshards; i++)
		call_run(&a->plane.shards[i].call, hold, &a->plane.shards[i]);
	maps_quiesce();
	agent_drain(a);
	plane_call(&a->plane, release, a);
	a->stats.drops_recovered++;
}
