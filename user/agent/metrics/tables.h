/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters by description: the lists beside the structures (falcon/abi/stats.h) as tables, by which counters
 * become metrics (metrics.h) and sums.
 */
#ifndef FALCON_AGENT_METRICS_TABLES_H
#define FALCON_AGENT_METRICS_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/stats/stat.h"

enum stat_kind {
	STAT_counter,
	STAT_gauge,
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

/* The description of |name|, or NULL. */
const struct stat_desc *stat_find(enum stat_table_id id, const char *name);
/*
 * The name of |s| as a metric, |prefix| in front, without _total: in base units, which end it. A word that
 * ends the prefix and begins the name is said once.
 */
void stat_metric_name(const struct stat_desc *s, const char *prefix, char name[STAT_NAME_MAX]);

/* Add the counters of |base| to those of |sum|, a structure of the same kind; gauges are left alone. */
void stat_add(enum stat_table_id id, void *sum, const void *base);

#endif /* FALCON_AGENT_METRICS_TABLES_H */
