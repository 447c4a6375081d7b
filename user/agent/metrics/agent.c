// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sums over what comes and goes (connections, queue pairs, applications) never get smaller: what is destroyed
 * leaves its counters to a sum of the past. Control alone closes connections, so that none is missed, or
 * counted twice, between the calls in which they are looked at.
 */
#include "agent/metrics/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/config/endpoint.h"
#include "agent/conn/conn.h"
#include "agent/conn/filter.h"
#include "agent/conn/rows.h"
#include "agent/conn/users.h"
#include "agent/control/control.h"
#include "agent/metrics/http.h"
#include "agent/metrics/now.h"
#include "agent/nvme/priv.h"
#include "agent/raw/app.h"
#include "agent/rdma/priv.h"
#include "agent/rdma/rdma.h"
#include "agent/rue/rue.h"
#include "base/log.h"
#include "core/xlr.h"
#include "ulp/rdma/objects.h"

/* Connections looked at in a call: sums take little time each, metrics of their own more. */
enum { SUMS_AT_ONCE = 256, CONNS_AT_ONCE = 32 };

/* Of the connections of one shard. */
struct sums {
	struct fcore_stats core;
	struct agent_conn_stats conns;
	struct rue_flow_stats rue;
};

struct collection {
	struct agent *agent;
	struct metrics *m;
	uid_t uid;			/* who asks */
	bool connections;
	unsigned int shard;		/* whose add_shard() is called */
	struct falcon_counters shards;	/* verdicts of all shards */
	struct sums sums[FALCON_MAX_SHARDS];
};

static void add_ports(struct collection *k)
{
	const struct agent *a = k->agent;

	for (unsigned int i = 0; i < a->plane.nports; i++) {
		for (uint32_t q = 0; q < a->plane.ports[i].nqueues; q++) {
			char labels[METRICS_LABELS_MAX] = "";
			struct queue_now now;

			metrics_label(labels, "port", a->plane.ports[i].ifname);
			metrics_label_number(labels, "queue", q);
			queue_now(&a->plane.ports[i].xsks[q], &now);
			metrics_add(k->m, STAT_XSK, labels, &a->plane.ports[i].xsks[q]);
			metrics_add(k->m, STAT_QUEUE, labels, &now);
		}
	}
}

static void add_pools(struct collection *k, const struct shard *s, const char *shard)
{
	const struct fcore_account *acc = fcore_resources(s->core, FCORE_LEVEL_NIC, 0);

	for (unsigned int r = 0; r < FCORE_RESOURCES; r++) {
		char labels[METRICS_LABELS_MAX];
		struct pool_now now;

		memcpy(labels, shard, sizeof(labels));
		metrics_label(labels, "resource", fcore_resource_name((enum fcore_resource)r));
		pool_now(acc, r, &now);
		metrics_add(k->m, STAT_POOL, labels, &now);
	}
}

static void add_rdma(struct collection *k, const struct shard *s, const char *labels)
{
	struct rdma_past_stats sum;

	if (!s->rdma)
		return;
	sum = *rdma_past_stats(s->rdma->layer);
	for (const struct rdma_app *app = s->rdma->apps; app; app = app->next) {
		for (uint32_t h = 1; h < app->ctx->handles_size; h++) {
			const struct rdma_qp *qp = rdma_qp_of_handle(app->ctx, h);
			const struct rdma_cq *cq = app->ctx->handles[h].object;

			if (app->ctx->handles[h].kind == RDMA_KIND_QP && qp)
				stat_add(STAT_QP, &sum.qp, rdma_qp_stats(qp));
			else if (app->ctx->handles[h].kind == RDMA_KIND_CQ)
				stat_add(STAT_CQ, &sum.cq, &cq->stats);
		}
	}
	metrics_add(k->m, STAT_QP, labels, &sum.qp);
	metrics_add(k->m, STAT_CQ, labels, &sum.cq);
}

/*
 * In a call of shard |k->shard| alone, so that a tenant with many queues holds up the thread that serves it,
 * and no other.
 */
static void add_shard(void *arg)
{
	struct collection *k = arg;
	unsigned int i = k->shard;
	const struct shard *s = &k->agent->plane.shards[i];
	char labels[METRICS_LABELS_MAX] = "";
	struct shard_now now;

	metrics_label_number(labels, "shard", i);
	stat_add(STAT_VERDICTS, &k->shards, &s->counters);
	shard_now(s, &now);
	metrics_add(k->m, STAT_SHARD, labels, &s->stats);
	metrics_add(k->m, STAT_SHARD_NOW, labels, &now);
	metrics_add_rtt(k->m, labels, fcore_rtt(s->core));
	add_pools(k, s, labels);
	add_rdma(k, s, labels);
	k->sums[i] = (struct sums){ .core = *fcore_past_stats(s->core), .conns = s->past_conns,
				    .rue = *agent_rue_past(s) };
}

static void add_devices(struct collection *k, const struct shard_nvme *s)
{
	const struct nvme_dev *dev;

	for (unsigned int i = 0; (dev = nvme_dev_at(s->ulp.initiator, i)); i++) {
		char labels[METRICS_LABELS_MAX] = "";
		struct nvme_dev_info info;

		nvme_dev_info(dev, &info);
		metrics_label(labels, "device", nvme_dev_attr(dev)->name);
		metrics_add(k->m, STAT_NVME_DEV, labels, &info);
	}
}

/* Gauges as well, which stat_add() leaves alone. */
#define ADD_TO_SUM(kind, name, unit, text) sum.name += one.name;

static void add_nvme(struct collection *k)
{
	const struct agent_nvme *n = k->agent->nvme;
	struct nvme_target_stats sum = {}, one;

	for (unsigned int i = 0; i < k->agent->plane.nshards; i++) {
		add_devices(k, &n->shards[i]);
		if (!n->shards[i].ulp.target)
			continue;
		nvme_target_stats(n->shards[i].ulp.target, &one);
		NVME_TARGET_STATS(ADD_TO_SUM)
	}
	if (k->agent->config.nnamespaces)
		metrics_add(k->m, STAT_NVME_TARGET, "", &sum);
	for (unsigned int i = 0; i < k->agent->config.nnamespaces; i++) {
		char labels[METRICS_LABELS_MAX] = "";
		struct nvme_ns_attr attr;
		struct nvme_ns_stats ns;

		nvme_target_ns(agent_namespace_owner(n, i)->ulp.target, i, &attr, &ns);
		metrics_label(labels, "namespace", attr.name);
		metrics_add(k->m, STAT_NVME_NS, labels, &ns);
	}
}

static void add_filters(struct collection *k)
{
	for (uint32_t i = 0; i < FCORE_XLR_RULES; i++) {
		char labels[METRICS_LABELS_MAX] = "";
		struct fcore_xlr_rule rule;
		struct filter_now sum;

		if (!filter_get(k->agent, i, &rule, &sum))
			continue;
		metrics_label_number(labels, "number", i);
		metrics_add(k->m, STAT_FILTER, labels, &sum);
	}
}

static void add_client(void *sum, struct control_client *cl)
{
	if (cl->raw)
		raw_app_add_stats(cl->raw, sum);
}

/* In a call. */
static void add_host(void *arg)
{
	struct collection *k = arg;
	struct agent *a = k->agent;
	struct client_stats clients = a->past_clients;
	struct agent_census census;

	agent_census(a, &census);
	control_each(a->control, add_client, &clients);
	metrics_add(k->m, STAT_AGENT, "", &a->stats);
	metrics_add(k->m, STAT_CENSUS, "", &census);
	metrics_add(k->m, STAT_REKEY, "", &a->rekey);
	metrics_add(k->m, STAT_CLIENT, "", &clients);
	add_ports(k);
	add_nvme(k);
	add_filters(k);
}

/* The metrics of |c| itself. */
static void add_one(struct collection *k, const struct agent_conn *c)
{
	char labels[METRICS_LABELS_MAX] = "", peer[INET6_ADDRSTRLEN];
	struct conn_now now;
	struct conn_seen seen;
	struct conn_key key;

	inet_ntop(c->cfg.family, c->cfg.remote.b, peer, sizeof(peer));
	metrics_label(labels, "connection", c->cfg.name);
	metrics_label(labels, "peer", peer);
	conn_now(c, &now);
	metrics_add_one(k->m, STAT_CONN_NOW, labels, &now);
	metrics_add_one(k->m, STAT_CONN, labels, &c->stats);
	if (!c->core)
		return;
	conn_seen(c, &seen);
	sec_usage(&c->sec, &key);
	metrics_add_one(k->m, STAT_CORE, labels, fcore_conn_stats(c->core));
	metrics_add_one(k->m, STAT_CONN_SEEN, labels, &seen);
	metrics_add_one(k->m, STAT_CONN_KEY, labels, &key);
	for (uint32_t flow = 0; flow < c->flows; flow++) {
		char of_flow[METRICS_LABELS_MAX];
		struct fcore_flow_stats stats;

		memcpy(of_flow, labels, sizeof(of_flow));
		metrics_label_number(of_flow, "flow", flow);
		fcore_conn_flow(c->core, flow, &stats);
		metrics_add_one(k->m, STAT_FLOW, of_flow, &stats);
		metrics_add_one(k->m, STAT_RUE, of_flow, agent_rue_stats(c, flow));
	}
}

/* In a call. */
static void add_conn(const struct agent_conn *c, void *arg)
{
	struct collection *k = arg;
	struct sums *sums = &k->sums[c->shard->index];

	stat_add(STAT_CONN, &sums->conns, &c->stats);
	if (c->core)
		stat_add(STAT_CORE, &sums->core, fcore_conn_stats(c->core));
	for (uint32_t flow = 0; c->core && flow < c->flows; flow++)
		stat_add(STAT_RUE, &sums->rue, agent_rue_stats(c, flow));
	if (k->connections && user_sees_conn(c, k->uid))
		add_one(k, c);
}

static void add_sums(struct collection *k)
{
	for (unsigned int i = 0; i < k->agent->plane.nshards; i++) {
		char labels[METRICS_LABELS_MAX] = "";

		metrics_label_number(labels, "shard", i);
		metrics_add(k->m, STAT_CORE, labels, &k->sums[i].core);
		metrics_add(k->m, STAT_CONN, labels, &k->sums[i].conns);
		metrics_add(k->m, STAT_RUE, labels, &k->sums[i].rue);
	}
}

char *agent_metrics_text(struct agent *a, bool connections, uid_t uid, enum metrics_format format,
			 size_t *len)
{
	struct collection k = { .agent = a, .m = metrics_new(), .uid = uid, .connections = connections };
	struct falcon_counters xdp;
	char *text;

	if (!k.m)
		return NULL;
	if (maps_counters(&a->plane.maps, &xdp) == 0) {
		metrics_add(k.m, STAT_VERDICTS, "by=\"xdp\"", &xdp);
		metrics_add(k.m, STAT_XDP, "", &xdp);
	}
	for (k.shard = 0; k.shard < a->plane.nshards; k.shard++)
		call_run(&a->plane.shards[k.shard].call, add_shard, &k);
	metrics_add(k.m, STAT_VERDICTS, "by=\"agent\"", &k.shards);
	plane_call(&a->plane, add_host, &k);
	agent_each_conn(a, connections ? CONNS_AT_ONCE : SUMS_AT_ONCE, add_conn, &k);
	add_sums(&k);
	text = metrics_text(k.m, format, len);
	metrics_free(k.m);
	return text;
}

int agent_metrics_command(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
			  json_t **reply)
{
	bool connections = json_is_true(json_object_get(req, "connections"));
	size_t len;
	char *text = agent_metrics_text(a, connections, cl->uid, METRICS_OPENMETRICS, &len);

	(void)fds, (void)nfds;
	if (!text)
		return control_error(reply, -ENOMEM, "out of memory");
	*reply = json_pack("{s:s%}", "text", text, len);
	free(text);
	return 0;
}

/* Whoever can connect may read all: the configuration has decided about that. */
static char *make_text(void *arg, enum metrics_format format, size_t *len)
{
	struct agent *a = arg;

	return agent_metrics_text(a, a->config.agent.metrics_connections, 0, format, len);
}

int agent_metrics_open(struct agent *a)
{
	const char *where = a->config.agent.metrics;
	struct sockaddr_storage addr;
	socklen_t len;
	char err[256];
	int rc;

	if (!where[0])
		return 0;
	/* config.c has seen to it that this is an address. */
	if (!endpoint_parse(where, &addr, &len))
		return -EINVAL;
	rc = metrics_http_open(&a->metrics, (const struct sockaddr *)&addr, len, make_text, a, err,
			       sizeof(err));
	if (rc < 0)
		log_err("metrics = %s: %s", where, err);
	else
		log_info("metrics served at http://%s/metrics", where);
	return rc;
}

void agent_metrics_close(struct agent *a)
{
	metrics_http_close(a->metrics);
	a->metrics = NULL;
}
