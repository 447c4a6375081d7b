/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters by description. The lists beside the structures (falcon/stats.h) are made into tables here, and
 * what shows counters, as rows for falconctl (stat_put()) or as metrics (metrics.h), goes by the tables.
 */
#ifndef FALCON_AGENT_STATS_STAT_H
#define FALCON_AGENT_STATS_STAT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "falcon/abi/stats.h"

enum stat_kind {
	STAT_counter,
	STAT_gauge,
};

enum stat_unit {
	STAT_none,
	STAT_bytes,
	STAT_ns,
	STAT_ns_us,		/* ns, as rows have it us */
};

/* A counter or gauge: a uint64_t in a structure. */
struct stat_desc {
	const char *name;
	const char *help;
	enum stat_kind kind;
	enum stat_unit unit;
	size_t offset;		/* bytes into the structure */
};

enum {
	STAT_MAX = 64,		/* of a table */
	STAT_NAME_MAX = 96,	/* bytes of a metric's name, with the final 0 */
};

enum stat_table_id {
	STAT_VERDICTS,		/* struct falcon_counters: verdicts alone */
	STAT_XDP,		/* struct falcon_counters: the rest */
	STAT_AGENT,		/* struct agent_stats */
	STAT_CENSUS,		/* struct agent_census */
	STAT_REKEY,		/* struct rekey */
	STAT_SHARD,		/* struct shard_stats */
	STAT_SHARD_NOW,		/* struct shard_now */
	STAT_XSK,		/* struct xsk */
	STAT_QUEUE,		/* struct queue_now */
	STAT_CORE,		/* struct fcore_stats */
	STAT_CONN,		/* struct agent_conn_stats */
	STAT_CONN_NOW,		/* struct conn_now */
	STAT_CONN_SEEN,		/* struct conn_seen */
	STAT_CONN_KEY,		/* struct conn_key */
	STAT_FLOW,		/* struct fcore_flow_stats */
	STAT_RUE,		/* struct rue_flow_stats */
	STAT_POOL,		/* struct pool_now */
	STAT_FILTER,		/* struct filter_now */
	STAT_CLIENT,		/* struct client_stats */
	STAT_QP,		/* struct rdma_qp_stats */
	STAT_CQ,		/* struct rdma_cq_stats */
	STAT_NVME_DEV,		/* struct nvme_dev_info */
	STAT_NVME_NS,		/* struct nvme_ns_stats */
	STAT_NVME_TARGET,	/* struct nvme_target_stats */
	STAT_TABLES,
};

struct stat_table {
	const char *prefix;	/* of the host's metrics; with |label| their whole name */
	const char *one;	/* prefix of metrics of one connection; NULL: it has none */
	const char *label;	/* all are one metric, with this label; NULL: each is its own */
	const char *help;	/* with |label| */
	bool sums;		/* the host's metrics are sums over objects: of counters alone */
	const struct stat_desc *stats;
	size_t n;
};

extern const struct stat_table stat_tables[STAT_TABLES];

/* The value of |s| in the structure |base|. */
static inline uint64_t stat_get(const struct stat_desc *s, const void *base)
{
	return *(const uint64_t *)(const void *)((const char *)base + s->offset);
}

/* All of |base| as members of |row|. */
void stat_put(json_t *row, enum stat_table_id id, const void *base);
/* The description of |name|, or NULL. */
const struct stat_desc *stat_find(enum stat_table_id id, const char *name);
/*
 * The name of |s| as a metric, |prefix| in front, without _total: in base units, which end it. A word that
 * ends the prefix and begins the name is said once.
 */
void stat_metric_name(const struct stat_desc *s, const char *prefix, char name[STAT_NAME_MAX]);

/* Add the counters of |base| to those of |sum|, a structure of the same kind; gauges are left alone. */
void stat_add(enum stat_table_id id, void *sum, const void *base);

/* ---- what is counted only when it is shown ------------------------------------------------------------ */

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

/* What the keys of a connection have done (falcon/stats.h). */
#define CONN_KEY(V)                                                                                       \
	V(gauge, rx_packets, none, "packets opened with the current key")                                 \
	V(gauge, rx_bytes, bytes, "PSP or ESP packets opened with the current key")                       \
	V(gauge, tx_packets, none, "packets sealed with the current key")                                 \
	V(gauge, tx_blocks, none, "cipher blocks sealed with the current key")                            \
	V(counter, rotations, none, "times that the key was replaced")

struct conn_key {
	CONN_KEY(STAT_MEMBER)
};

/* A filter of transactions, in all shards (falcon/stats.h). */
#define FILTER_NOW(V)                                                                                     \
	V(counter, hits, none, "transactions that the filter has dropped")

struct filter_now {
	FILTER_NOW(STAT_MEMBER)
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

struct agent;
struct agent_conn;
struct shard;
struct xsk;
struct fcore_account;

/* In calls of the shards that they look at. */
void agent_census(const struct agent *a, struct agent_census *out);
void shard_now(const struct shard *s, struct shard_now *out);
void conn_now(const struct agent_conn *c, struct conn_now *out);
/* Of one that is set up. */
void conn_seen(const struct agent_conn *c, struct conn_seen *out);
void queue_now(const struct xsk *x, struct queue_now *out);
/* |resource|: an enum fcore_resource. */
void pool_now(const struct fcore_account *acc, unsigned int resource, struct pool_now *out);

#endif /* FALCON_AGENT_STATS_STAT_H */
