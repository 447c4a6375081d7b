// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rest of the agent in fuzz_control.c, in place of the kernel's maps, sockets, the core and the life of
 * connections: what it is asked for is what may be asked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_control.h"

#include "agent/commands/commands.h"
#include "agent/config/keys.h"
#include "agent/conn/conn.h"
#include "agent/conn/rows.h"
#include "agent/conn/security.h"
#include "agent/conn/setup.h"
#include "agent/control/control.h"
#include "agent/metrics/agent.h"
#include "agent/rdma/rdma.h"
#include "agent/rdma/show.h"
#include "agent/shard/shard.h"
#include "check.h"
#include "core/xlr.h"

struct agent agent;
static struct fcore_conn cores[FAKE_CONNS];
static bool watched[FDS_WATCHED];

int shard_watch(struct shard *s, int fd)
{
	CHECK(s == &agent.plane.shards[0] && fd >= 0 && fd < FDS_WATCHED && !watched[fd]);
	watched[fd] = true;
	return 0;
}

void shard_unwatch(struct shard *s, int fd)
{
	CHECK(s == &agent.plane.shards[0] && fd >= 0 && fd < FDS_WATCHED && watched[fd]);
	watched[fd] = false;
}

int maps_counters(const struct maps *m, struct falcon_counters *out)
{
	CHECK(m == &agent.plane.maps);
	memset(out, 0x5a, sizeof(*out));
	return 0;
}

int maps_sadb_add(struct maps *m, uint32_t spi, uint32_t cid)
{
	(void)m, (void)spi, (void)cid;
	abort();
}

void maps_sadb_del(struct maps *m, uint32_t spi)
{
	(void)m, (void)spi;
	abort();
}

void fcore_params_default(struct fcore_params *p)
{
	*p = (struct fcore_params){ .ordered = true };
}

const struct fcore_stats *fcore_conn_stats(const struct fcore_conn *c)
{
	static const struct fcore_stats stats = { .rtt_ns = UINT64_MAX };

	CHECK(c >= cores && c < cores + FAKE_CONNS);
	return &stats;
}

uint32_t fcore_conn_flow(const struct fcore_conn *c, uint32_t flow, struct fcore_flow_stats *s)
{
	CHECK(c >= cores && c < cores + FAKE_CONNS && flow == 0);
	*s = (struct fcore_flow_stats){ 0 };
	return 1;
}

uint32_t fcore_rx_level(const struct fcore *core)
{
	(void)core;
	return 0;
}

void fcore_rue_base(struct fcore_conn *c, uint32_t flow, uint32_t base)
{
	CHECK(c >= cores && c < cores + FAKE_CONNS && flow < FALCON_MAX_FLOWS && base);
}

bool fcore_rue_event(struct fcore *core, struct falcon_rue_event *e)
{
	(void)core, (void)e;
	abort();
}

void fcore_rue_result(struct fcore_conn *c, const struct falcon_rue_result *r, uint64_t now)
{
	(void)now;
	CHECK(c >= cores && c < cores + FAKE_CONNS && falcon_res_get(r, fcwnd));
}

/* The filters that are there. */
static struct {
	struct fcore_xlr_rule rule;
	bool used;
} filters[FCORE_XLR_RULES];

int fcore_xlr_add(struct fcore *core, const struct fcore_xlr_rule *rule)
{
	(void)core;
	/* What the core refuses, the request must have refused before. */
	CHECK(rule->where < FCORE_XLR_WHERES);
	CHECK(!(rule->fields & FCORE_XLR_TYPE) || rule->type == FALCON_PUSH_DATA ||
	       rule->type == FALCON_PULL_REQUEST);
	for (int i = 0; i < FCORE_XLR_RULES; i++) {
		if (filters[i].used)
			continue;
		filters[i].rule = *rule;
		filters[i].used = true;
		return i;
	}
	return -ENOSPC;
}

int fcore_xlr_del(struct fcore *core, uint32_t number)
{
	bool used = number < FCORE_XLR_RULES && filters[number].used;

	(void)core;
	if (used)
		filters[number].used = false;
	return used ? 0 : -ENOENT;
}

int fcore_xlr_get(const struct fcore *core, uint32_t number, struct fcore_xlr_rule *rule,
		  uint64_t *hits)
{
	(void)core;
	if (number >= FCORE_XLR_RULES || !filters[number].used)
		return -ENOENT;
	*rule = filters[number].rule;
	*hits = UINT64_MAX;
	return 0;
}

const char *agent_conn_state_name(enum agent_conn_state s)
{
	CHECK(s <= AGENT_CONN_UP);
	return "state";
}

struct agent_conn *agent_conn_named(const struct agent *a, const char *name)
{
	for (uint32_t i = 0; i < FALCON_MAX_CONNS; i++)
		if (a->conns[i] && !strcmp(a->conns[i]->cfg.name, name))
			return a->conns[i];
	return NULL;
}

struct agent_conn *agent_conn_find(const struct agent *a, const char *name)
{
	return agent_conn_named(a, name);
}

struct agent_conn *agent_conn_find_for(const struct agent *a, const char *name, uid_t uid)
{
	(void)uid;
	return agent_conn_named(a, name);
}

struct agent_conn *agent_conn_at(const struct agent *a, uint32_t cid)
{
	CHECK(a == &agent);
	return cid < a->plane.maps.nconns ? a->conns[cid] : NULL;
}

uint32_t agent_conn_segment(const struct agent_conn *c)
{
	return c->max_len;
}

/* What was given, as "conn-add" would have it. */
static json_t *as_request(const struct conn_config *cfg, json_t *rows)
{
	json_t *req = json_pack("{s:s}", "name", cfg->name), *row;
	size_t i;

	CHECK(req && config_show_conn(rows, cfg) == 0);
	json_array_foreach(rows, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "source")), "configured"))
			json_object_set(req, json_string_value(json_object_get(row, "key")),
					json_object_get(row, "value"));
	return req;
}

static void check_round_trip(const struct agent *a, const struct conn_config *cfg)
{
	json_t *rows = json_array(), *req = as_request(cfg, rows), *again = json_array();
	struct conn_config second;
	char err[256];

	if (config_conn_from_json(req, &a->config.agent, &second, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		abort();
	}
	CHECK(config_show_conn(again, &second) == 0 && json_equal(rows, again));
	json_decref(rows);
	json_decref(again);
	json_decref(req);
}

/* All addresses are this host's. */
int neigh_resolve(struct neigh *n, int family, const struct falcon_addr *dst, struct neigh_entry *out)
{
	(void)n, (void)family, (void)dst;
	*out = (struct neigh_entry){ .local = true };
	return 0;
}

void neigh_release(struct neigh_entry *e)
{
	(void)e;
}

int agent_conn_add(struct agent *a, const struct conn_config *cfg, uid_t owner, char *err, size_t errlen)
{
	static const struct ulp_ops raw_ops = { .proto = FALCON_PROTO_RAW };
	static struct ulp raw = { .ops = &raw_ops };
	struct agent_conn *c;

	CHECK(config_name_valid(cfg->name));
	CHECK(cfg->local_cid < FALCON_MAX_CONNS && cfg->remote_cid < 1U << 24);
	/* Number 0 of this agent is for what is dialled. */
	CHECK(!cfg->local_cid == !cfg->remote_cid);
	CHECK(cfg->family == AF_INET || cfg->family == AF_INET6);
	check_round_trip(a, cfg);
	if (a->conns[cfg->local_cid] || agent_conn_find(a, cfg->name)) {
		snprintf(err, errlen, "there is one");
		return -EEXIST;
	}
	c = calloc(1, sizeof(*c));
	c->agent = a;
	c->shard = &a->plane.shards[0];
	c->ulp = &raw;
	c->cfg = *cfg;
	c->owner = owner;
	if (cfg->local_cid < FAKE_CONNS) {
		c->core = &cores[cfg->local_cid];
		c->shared = calloc(1, sizeof(*c->shared));
		c->state = AGENT_CONN_UP;
	}
	a->conns[cfg->local_cid] = c;
	return 0;
}

static void conn_free(struct agent *a, struct agent_conn *c)
{
	a->conns[c->cfg.local_cid] = NULL;
	free(c->shared);
	free(c);
}

int agent_conn_del(struct agent *a, const char *name, char *err, size_t errlen)
{
	struct agent_conn *c = agent_conn_find(a, name);

	if (!c) {
		snprintf(err, errlen, "no connection named \"%s\"", name);
		return -ENOENT;
	}
	conn_free(a, c);
	return 0;
}

int agent_conn_reset(struct agent *a, const char *name, char *err, size_t errlen)
{
	if (agent_conn_find(a, name))
		return 0;
	snprintf(err, errlen, "no connection named \"%s\"", name);
	return -ENOENT;
}

int rekey_conn(struct agent_conn *c, char *err, size_t errlen)
{
	CHECK(c && c->agent == &agent);
	snprintf(err, errlen, "not up");
	return -ENOTCONN;
}

int rekey_all(struct agent *a, char *err, size_t errlen)
{
	(void)err, (void)errlen;
	CHECK(a == &agent);
	return 0;
}

json_t *agent_keys_json(struct agent *a)
{
	CHECK(a->config.agent.key_export);
	return json_array();
}

/* No verbs applications: no rows. */
#define NO_ROWS(name)                                                                              \
	void name(struct agent *a, const struct show_query *q, json_t *rows)                    \
	{                                                                                          \
		(void)a, (void)q, (void)rows;                                                   \
	}

NO_ROWS(agent_show_device)
NO_ROWS(agent_show_qp)
NO_ROWS(agent_show_cq)
NO_ROWS(agent_show_mr)
NO_ROWS(agent_show_pd)

int agent_rdma_attach(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply)
{
	(void)a, (void)cl, (void)req, (void)fds, (void)nfds;
	return control_error(reply, -EOPNOTSUPP, "no verbs applications here");
}

/* Nothing of a request but a boolean gets to the metrics, which look at cores that are not here. */
int agent_metrics_command(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
			  json_t **reply)
{
	(void)a, (void)cl, (void)req, (void)fds, (void)nfds;
	return control_error(reply, -EOPNOTSUPP, "no metrics here");
}

void agent_show_pool(struct agent *a, const struct show_query *q, json_t *rows)
{
	CHECK(a == &agent && (!q->only || q->only->agent == a) && json_is_array(rows));
}

/* Devices are never dialled here: nobody calls the layer's pump(). */
const struct ulp_host shard_ulp_host;

void shard_ulp_add(struct shard *s, const struct ulp_ops *ops, void *self)
{
	CHECK(s == &agent.plane.shards[0] && ops && self);
}

bool fake_client_broken;

void news_clients(struct shard *s)
{
	CHECK(s == &agent.plane.shards[0]);
	fake_client_broken = true;
}

static void on_client_broken(void *arg, struct client *cl, const char *why)
{
	(void)cl, (void)why;
	news_clients(arg);
}

const struct raw_ops fake_raw_ops = { .client_broken = on_client_broken };

void fake_agent_rest(void)
{
	for (int i = 0; i < FDS_WATCHED; i++)
		CHECK(!watched[i]);
	for (uint32_t i = 0; i < FALCON_MAX_CONNS; i++)
		if (agent.conns[i])
			conn_free(&agent, agent.conns[i]);
}
