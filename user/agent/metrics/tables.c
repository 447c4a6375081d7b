// SPDX-License-Identifier: BSD-2-Clause
#include "agent/metrics/tables.h"

#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/filter.h"
#include "agent/metrics/now.h"
#include "agent/rue/rue.h"
#include "ulp/nvme/nvme.h"
#include "ulp/rdma/rdma.h"

/* A line of a list as an element of a table. */
#define ENTRY(type, k, n, u, text)                                                                        \
	{ .name = #n, .help = (text), .kind = STAT_##k, .unit = STAT_##u, .offset = offsetof(type, n) },

#define VERDICT(n, text) ENTRY(struct falcon_counters, counter, n, none, text)
static const struct stat_desc verdicts[] = { FALCON_VERDICTS(VERDICT) };

#define XDP(k, n, u, text) ENTRY(struct falcon_counters, k, n, u, text)
static const struct stat_desc xdp[] = { FALCON_XDP_STATS(XDP) };

#define AGENT(k, n, u, text) ENTRY(struct agent_stats, k, n, u, text)
static const struct stat_desc agent[] = { AGENT_STATS(AGENT) };

#define CENSUS(k, n, u, text) ENTRY(struct agent_census, k, n, u, text)
static const struct stat_desc census[] = { AGENT_CENSUS(CENSUS) };

#define REKEY(k, n, u, text) ENTRY(struct rekey, k, n, u, text)
static const struct stat_desc rekey[] = { REKEY_STATS(REKEY) };

#define SHARD(k, n, u, text) ENTRY(struct shard_stats, k, n, u, text)
static const struct stat_desc shard[] = { SHARD_STATS(SHARD) };

#define NOW(k, n, u, text) ENTRY(struct shard_now, k, n, u, text)
static const struct stat_desc now[] = { SHARD_NOW(NOW) };

#define XSK(k, n, u, text) ENTRY(struct xsk, k, n, u, text)
static const struct stat_desc xsk[] = { XSK_STATS(XSK) };

#define QUEUE(k, n, u, text) ENTRY(struct queue_now, k, n, u, text)
static const struct stat_desc queue[] = { QUEUE_NOW(QUEUE) };

#define CORE(k, n, u, text) ENTRY(struct fcore_stats, k, n, u, text)
static const struct stat_desc core[] = { FCORE_STATS(CORE) };

#define CONN(k, n, u, text) ENTRY(struct agent_conn_stats, k, n, u, text)
static const struct stat_desc conn[] = { AGENT_CONN_STATS(CONN) };

#define CNOW(k, n, u, text) ENTRY(struct conn_now, k, n, u, text)
static const struct stat_desc conn_now_stats[] = { CONN_NOW(CNOW) };

#define SEEN(k, n, u, text) ENTRY(struct conn_seen, k, n, u, text)
static const struct stat_desc seen[] = { CONN_SEEN(SEEN) };

#define KEY(k, n, u, text) ENTRY(struct conn_key, k, n, u, text)
static const struct stat_desc key[] = { CONN_KEY(KEY) };

#define FLOW(k, n, u, text) ENTRY(struct fcore_flow_stats, k, n, u, text)
static const struct stat_desc flow[] = { FCORE_FLOW_STATS(FLOW) };

#define RUE(k, n, u, text) ENTRY(struct rue_flow_stats, k, n, u, text)
static const struct stat_desc rue[] = { RUE_FLOW_STATS(RUE) };

#define POOL(k, n, u, text) ENTRY(struct pool_now, k, n, u, text)
static const struct stat_desc pool[] = { POOL_NOW(POOL) };

#define FILTER(k, n, u, text) ENTRY(struct filter_now, k, n, u, text)
static const struct stat_desc filter[] = { FILTER_NOW(FILTER) };

#define CLIENT(k, n, u, text) ENTRY(struct client_stats, k, n, u, text)
static const struct stat_desc client[] = { CLIENT_STATS(CLIENT) };

#define QP(k, n, u, text) ENTRY(struct rdma_qp_stats, k, n, u, text)
static const struct stat_desc qp[] = { RDMA_QP_STATS(QP) };

#define CQ(k, n, u, text) ENTRY(struct rdma_cq_stats, k, n, u, text)
static const struct stat_desc cq[] = { RDMA_CQ_STATS(CQ) };

#define DEV(k, n, u, text) ENTRY(struct nvme_dev_info, k, n, u, text)
static const struct stat_desc nvme_dev[] = { NVME_DEV_STATS(DEV) };

#define NS(k, n, u, text) ENTRY(struct nvme_ns_stats, k, n, u, text)
static const struct stat_desc nvme_ns[] = { NVME_NS_STATS(NS) };

#define TARGET(k, n, u, text) ENTRY(struct nvme_target_stats, k, n, u, text)
static const struct stat_desc nvme_target[] = { NVME_TARGET_STATS(TARGET) };

#define STATS(array) .stats = (array), .n = sizeof(array) / sizeof((array)[0])
#define TABLE(name, array) { .prefix = (name), STATS(array) }
#define SUMS(name, array) { .prefix = (name), .sums = true, STATS(array) }

const struct stat_table stat_tables[STAT_TABLES] = {
	[STAT_VERDICTS] = { .prefix = "falcon_packets", .label = "verdict",
			    .help = "frames received, by who looked at them and how they ended",
			    STATS(verdicts) },
	[STAT_XDP] = TABLE("falcon_xdp", xdp),
	[STAT_AGENT] = TABLE("falcon_agent", agent),
	[STAT_CENSUS] = TABLE("falcon_agent", census),
	[STAT_REKEY] = TABLE("falcon_agent", rekey),
	[STAT_SHARD] = TABLE("falcon_shard", shard),
	[STAT_SHARD_NOW] = TABLE("falcon_shard", now),
	[STAT_XSK] = TABLE("falcon_queue", xsk),
	[STAT_QUEUE] = TABLE("falcon_queue", queue),
	[STAT_CORE] = { .prefix = "falcon_transport", .one = "falcon_connection", .sums = true,
			STATS(core) },
	[STAT_CONN] = { .prefix = "falcon_transport", .one = "falcon_connection", .sums = true,
			STATS(conn) },
	[STAT_CONN_NOW] = { .one = "falcon_connection", STATS(conn_now_stats) },
	[STAT_CONN_SEEN] = { .one = "falcon_connection", STATS(seen) },
	[STAT_CONN_KEY] = { .one = "falcon_connection_key", STATS(key) },
	[STAT_FLOW] = { .one = "falcon_flow", STATS(flow) },
	[STAT_RUE] = { .prefix = "falcon_rue", .one = "falcon_flow_rue", .sums = true, STATS(rue) },
	[STAT_POOL] = TABLE("falcon_pool", pool),
	[STAT_FILTER] = TABLE("falcon_filter", filter),
	[STAT_CLIENT] = SUMS("falcon_client", client),
	[STAT_QP] = SUMS("falcon_rdma_qp", qp),
	[STAT_CQ] = SUMS("falcon_rdma_cq", cq),
	[STAT_NVME_DEV] = TABLE("falcon_nvme_device", nvme_dev),
	[STAT_NVME_NS] = TABLE("falcon_nvme_namespace", nvme_ns),
	[STAT_NVME_TARGET] = TABLE("falcon_nvme_target", nvme_target),
};

_Static_assert(sizeof(verdicts) / sizeof(verdicts[0]) <= STAT_MAX, "the largest table");

const struct stat_desc *stat_find(enum stat_table_id id, const char *name)
{
	const struct stat_table *t = &stat_tables[id];

	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->stats[i].name, name))
			return &t->stats[i];
	return NULL;
}

void stat_metric_name(const struct stat_desc *s, const char *prefix, char name[STAT_NAME_MAX])
{
	static const char *const units[] = { [STAT_none] = "", [STAT_bytes] = "_bytes",
					     [STAT_ns] = "_seconds", [STAT_ns_us] = "_seconds" };
	const char *last = strrchr(prefix, '_'), *from = s->name;
	size_t n = last ? strlen(++last) : 0;

	if (n && !strncmp(from, last, n) && from[n] == '_')
		from += n + 1;
	n = stat_stem(s->name, s->unit) - (size_t)(from - s->name);
	snprintf(name, STAT_NAME_MAX, "%s_%.*s%s", prefix, (int)n, from, units[s->unit]);
}

void stat_add(enum stat_table_id id, void *sum, const void *base)
{
	const struct stat_table *t = &stat_tables[id];

	for (size_t i = 0; i < t->n; i++) {
		const struct stat_desc *s = &t->stats[i];

		if (s->kind == STAT_counter)
			*(uint64_t *)(void *)((char *)sum + s->offset) += stat_get(s, base);
	}
}
