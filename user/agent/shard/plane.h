/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data plane: the shards of an agent, and what they have in common. That changes in calls of all shards
 * only, but for |shard_of|; a shard's own state is its own.
 */
#ifndef FALCON_AGENT_SHARD_PLANE_H
#define FALCON_AGENT_SHARD_PLANE_H

#include <stdint.h>

#include "agent/config/config.h"
#include "agent/net/port.h"
#include "agent/shard/call.h"
#include "agent/shard/shard.h"
#include "falcon/abi/maps.h"
#include "io/maps.h"

struct quota;

struct plane {
	const struct agent_config *config;	/* control's, as the next */
	const struct quota *quota;	/* of which only quota_tenants() is asked */
	struct maps maps;
	struct port ports[FALCON_MAX_PORTS];
	unsigned nports;
	struct shard shards[FALCON_MAX_SHARDS];
	unsigned int nshards;		/* that there are; fixed once the agent has begun */
	struct call_slot *calls[FALCON_MAX_SHARDS];	/* theirs */
	uint8_t shard_of[FALCON_MAX_CONNS];	/* that has that connection, or had it last; atomic */
};

/* Run |fn| while no shard turns (call_run_all()): what belongs to any may be read and changed. */
static inline void plane_call(struct plane *p, void (*fn)(void *arg), void *arg)
{
	call_run_all(p->calls, p->nshards, fn, arg);
}

#endif /* FALCON_AGENT_SHARD_PLANE_H */
