/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What shards have told (shard/news.h), and what upper layers on them ask for: heard by control, which sees
 * to it.
 */
#ifndef FALCON_AGENT_CONN_HEARD_H
#define FALCON_AGENT_CONN_HEARD_H

#include <stdbool.h>

struct shard;
struct ulp_host;

/* What upper layers ask for: struct ulp_host, whose |agent| is the shard. */
extern const struct ulp_host shard_ulp_host;

/* What the caller has to see to. */
struct heard_left {
	bool clients;			/* an application has broken the rules: it is to be disconnected */
	bool verbs;			/* a verbs application is to be detached, or freed (rdma/stall.c) */
};

/* See to what |s| has told since the last call of this, but for what is returned. */
struct heard_left heard_serve(struct shard *s);

#endif /* FALCON_AGENT_CONN_HEARD_H */
