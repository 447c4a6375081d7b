/* SPDX-License-Identifier: BSD-2-Clause */
/* What is counted only when it is shown. */
#ifndef FALCON_AGENT_METRICS_NOW_H
#define FALCON_AGENT_METRICS_NOW_H

#include <stdint.h>

#include "falcon/abi/stats.h"

struct agent;
struct agent_conn;
struct fcore_account;
struct shard;
struct xsk;

/* Connections (falcon/stats.h). */
#define AGENT_CENSUS(V)                                                                                   \
	V(gauge, connections, none, "connections that there are")                                         \
	V(gauge, up, none, "connections that are up")                                                     \
	V(gauge, leaving, none, "connections removed, of which something is still to be let go")          \
	V(gauge, room, none, "connections that there can be")

struct agent_census {
	AGENT_CENSUS(STAT_MEMBER)
};

/* What a shard has (falcon/stats.h). */
#define SHARD_NOW(V)                                                                                      \
	V(gauge, connections, none, "connections of the shard")                                           \
	V(gauge, applications, none, "verbs applications of the shard")                                   \
	V(counter, verbs_stalls, none, "calls in which applications' memory did not answer")		\
	V(counter, verbs_rests, none, "calls in which applications' memory had the thread sleep")

struct shard_now {
	SHARD_NOW(STAT_MEMBER)
};

/* A connection (falcon/stats.h). */
#define CONN_NOW(V)                                                                                       \
	V(gauge, up, none, "1: the connection is up")                                                     \
	V(gauge, mtu, bytes, "largest packet that the path carries both ways; 0: not known")              \
	V(gauge, flows, none, "paths used at a time")

struct conn_now {
	CONN_NOW(STAT_MEMBER)
};

/* What XDP has counted of a connection since it was set up (falcon/stats.h). */
#define CONN_SEEN(V)                                                                                      \
	V(counter, acks, none, "ACKs and NACKs consumed")                                                 \
	V(counter, eacks, none, "EACKs among them")                                                       \
	V(counter, resource_nacks, none, "resource NACKs among them")                                     \
	V(counter, rue_events, none, "events of XDP for the rate update engine")                          \
	V(counter, rue_suppressed, none, "ACKs that policy or a full ring kept from being events")

struct conn_seen {
	CONN_SEEN(STAT_MEMBER)
};

/* A socket's place in its rings (falcon/stats.h). */
#define QUEUE_NOW(V)                                                                                      \
	V(gauge, rx_free, none, "free frames for reception outside of the rings")                         \
	V(gauge, credits, none, "frames that XDP may redirect before the agent grants more")              \
	V(counter, refused, none, "frames that XDP refused for want of credit")

struct queue_now {
	QUEUE_NOW(STAT_MEMBER)
};

/* A resource pool (falcon/stats.h). */
#define POOL_NOW(V)                                                                                       \
	V(gauge, used, none, "packets or cells of the pool in use")                                       \
	V(gauge, high, none, "packets or cells of the pool in use at most at any time")                   \
	V(gauge, limit, none, "packets or cells of the pool")                                             \
	V(counter, refused, none, "times that the pool had no room")

struct pool_now {
	POOL_NOW(STAT_MEMBER)
};

/* In calls of the shards that they look at. */
void agent_census(const struct agent *a, struct agent_census *out);
void shard_now(const struct shard *s, struct shard_now *out);
void conn_now(const struct agent_conn *c, struct conn_now *out);
/* Of one that is set up. */
void conn_seen(const struct agent_conn *c, struct conn_seen *out);
void queue_now(const struct xsk *x, struct queue_now *out);
/* |resource| is an enum fcore_resource. */
void pool_now(const struct fcore_account *acc, unsigned int resource, struct pool_now *out);

#endif /* FALCON_AGENT_METRICS_NOW_H */
