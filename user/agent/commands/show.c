// SPDX-License-Identifier: BSD-2-Clause
/* The agent's tables as JSON: one array of flat objects for each object of falconctl. */
#include "agent/commands/commands.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/rows.h"
#include "agent/conn/setup.h"
#include "agent/conn/users.h"
#include "agent/control/control.h"
#include "agent/metrics/now.h"
#include "agent/metrics/tables.h"
#include "agent/net/port.h"
#include "agent/nvme/nvme.h"
#include "agent/raw/app.h"
#include "agent/rdma/show.h"
#include "agent/rue/rue.h"
#include "agent/stats/stat.h"
#include "agent/tenant/operator.h"
#include "agent/tenant/quota.h"
#include "base/version.h"

/* Fills |rows|. */
typedef void (*show_fn)(struct agent *a, const struct show_query *q, json_t *rows);

static void put_addr(json_t *row, const char *key, int family, const struct falcon_addr *addr)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(family, addr->b, text, sizeof(text));
	json_object_set_new(row, key, json_string(text));
}

static void put(json_t *row, const char *key, uint64_t value)
{
	json_object_set_new(row, key, json_integer((json_int_t)value));
}

/* Whose doing it is that there is |c|. */
static const char *made_by(const struct agent_conn *c)
{
	if (c->configured)
		return "file";
	if (c->accepted)
		return "peer";
	if (c->ulp->ops->proto != FALCON_PROTO_RAW)
		return "program";
	return c->owned ? "user" : "command";
}

static void show_one_conn(const struct agent_conn *c, void *rows)
{
	json_t *row = json_pack("{s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:b}", "name", c->cfg.name, "by",
				made_by(c),
				"up", c->state == AGENT_CONN_UP, "state",
				agent_conn_state_name(c->state), "ordering",
				c->cfg.params.ordered ? "ordered" : "unordered", "security",
				sec_name(c->sec.encap), "reason", c->reason, "routed",
				c->routed);

	put_addr(row, "local", c->cfg.family, &c->cfg.local);
	put_addr(row, "remote", c->cfg.family, &c->cfg.remote);
	put(row, "local_cid", c->cfg.local_cid);
	put(row, "remote_cid", c->cfg.remote_cid);
	json_object_set_new(row, "port", json_string(c->port ? c->port->ifname : ""));
	put(row, "mtu", c->mtu);
	put(row, "segment", agent_conn_segment(c));
	put(row, "flows", c->flows);
	STAT_PUT(row, AGENT_CONN_STATS, &c->stats);
	if (c->core)
		STAT_PUT(row, FCORE_STATS, fcore_conn_stats(c->core));
	json_array_append_new(rows, row);
}

static void show_conn(struct agent *a, const struct show_query *q, json_t *rows)
{
	agent_show_each(a, q, false, show_one_conn, rows);
}

static void show_one_window(const struct agent_conn *c, void *rows)
{
	const struct falcon_conn *s = c->shared;
	json_t *row = json_pack("{s:s}", "name", c->cfg.name);
	struct conn_seen seen;

	put(row, "local_cid", c->cfg.local_cid);
	put(row, "data_window", c->data_window);
	put(row, "req_window", c->req_window);
	put(row, "rx_data_base", falcon_load(&s->rx_acked.data_base));
	put(row, "rx_req_base", falcon_load(&s->rx_acked.req_base));
	put(row, "rx_accepted", falcon_load(&s->rx.accepted));
	put(row, "rx_own", falcon_load(&s->rx.own));
	put(row, "ecn_count", falcon_load(&s->rx.flow[0].ecn_count));
	put(row, "hops", falcon_load(&s->rx.flow[0].hops));
	put(row, "tx_data_base", falcon_load(&s->tx_acked.data_base));
	put(row, "tx_data_next", falcon_load(&s->cc.data_next));
	put(row, "tx_req_base", falcon_load(&s->tx_acked.req_base));
	put(row, "tx_req_next", falcon_load(&s->cc.req_next));
	put(row, "fcwnd", falcon_load(&s->cc.fcwnd) >> FALCON_EV_fcwnd_fraction_WIDTH);
	put(row, "ncwnd", falcon_load(&s->cc.ncwnd));
	put(row, "rto_units", falcon_load(&s->cc.rto));
	conn_seen(c, &seen);
	STAT_PUT(row, CONN_SEEN, &seen);
	json_array_append_new(rows, row);
}

static void show_window(struct agent *a, const struct show_query *q, json_t *rows)
{
	agent_show_each(a, q, true, show_one_window, rows);
}

static const char *rekey_state_name(enum rekey_state s)
{
	switch (s) {
	case REKEY_DUE: return "due";
	case REKEY_SENT: return "sent";
	case REKEY_SETTLING: return "settling";
	default: return "none";
	}
}

static void show_one_key(const struct agent_conn *c, void *rows)
{
	const struct falcon_conn_id *id = &c->shared->id;
	json_t *row = json_pack("{s:s, s:s, s:s}", "name", c->cfg.name, "security",
				sec_name(c->sec.encap), "rotation",
				rekey_state_name(c->rekey));
	struct conn_key key;

	put(row, "generation", falcon_load(&id->cur_spi_gen));
	put(row, "spi", falcon_load(&id->cur_spi));
	put(row, "prev_spi", falcon_load(&id->prev_spi));
	put(row, "peer_spi", c->sec.tx ? sa_spi(c->sec.tx) : 0);
	sec_usage(&c->sec, &key);
	STAT_PUT(row, CONN_KEY, &key);
	json_array_append_new(rows, row);
}

static void show_key(struct agent *a, const struct show_query *q, json_t *rows)
{
	agent_show_each(a, q, true, show_one_key, rows);
}

static void show_port(struct agent *a, const struct show_query *q, json_t *rows)
{
	(void)q;
	for (unsigned i = 0; i < a->plane.nports; i++) {
		const struct port *p = &a->plane.ports[i];

		for (uint32_t q = 0; q < p->nqueues; q++) {
			const struct xsk *x = &p->xsks[q];
			struct queue_now now;
			json_t *row = json_pack("{s:s, s:s, s:s}", "dev", p->ifname, "xdp",
						p->native ? "native" : "generic", "af_xdp",
						x->zerocopy ? "zerocopy" : "copy");

			put(row, "queue", q);
			STAT_PUT(row, XSK_STATS, x);
			queue_now(x, &now);
			STAT_PUT(row, QUEUE_NOW, &now);
			json_array_append_new(rows, row);
		}
	}
}

static void put_counter(json_t *rows, const char *name, const char *text, uint64_t xdp,
			uint64_t agent)
{
	json_t *row = json_pack("{s:s, s:s}", "name", name, "meaning", text);

	put(row, "xdp", xdp);
	put(row, "agent", agent);
	json_array_append_new(rows, row);
}

/* What XDP and the shards have counted by the same name. */
static void put_both(json_t *rows, enum stat_table_id id, const struct falcon_counters *xdp,
		     const struct falcon_counters *shards, const struct shard_stats *loops)
{
	const struct stat_table *t = &stat_tables[id];

	for (size_t i = 0; i < t->n; i++) {
		const struct stat_desc *s = &t->stats[i], *own = stat_find(STAT_SHARD, s->name);

		put_counter(rows, s->name, s->help, stat_get(s, xdp),
			    stat_get(s, shards) + (own ? stat_get(own, loops) : 0));
	}
}

/* Counters of the agent alone; not gauges. */
static void put_own(json_t *rows, enum stat_table_id id, const void *base)
{
	const struct stat_table *t = &stat_tables[id];

	for (size_t i = 0; i < t->n; i++)
		if (t->stats[i].kind == STAT_counter)
			put_counter(rows, t->stats[i].name, t->stats[i].help, 0,
				    stat_get(&t->stats[i], base));
}

static void show_counters(struct agent *a, const struct show_query *q, json_t *rows)
{
	struct falcon_counters x, g = {};
	struct shard_stats loops = {};
	struct shard_now now = {};

	(void)q;
	if (maps_counters(&a->plane.maps, &x) < 0)
		return;
	for (unsigned int i = 0; i < a->plane.nshards; i++) {
		const struct shard *s = &a->plane.shards[i];
		struct shard_now n;

		shard_now(s, &n);
		stat_add(STAT_VERDICTS, &g, &s->counters);
		stat_add(STAT_SHARD, &loops, &s->stats);
		stat_add(STAT_SHARD_NOW, &now, &n);
	}
	put_both(rows, STAT_VERDICTS, &x, &g, &loops);
	put_both(rows, STAT_XDP, &x, &g, &loops);
	put_counter(rows, "loop_turns", stat_find(STAT_SHARD, "turns")->help, 0, loops.turns);
	put_counter(rows, "loop_sleeps", stat_find(STAT_SHARD, "sleeps")->help, 0, loops.sleeps);
	if (a->config.agent.verbs)
		put_own(rows, STAT_SHARD_NOW, &now);
	put_own(rows, STAT_REKEY, &a->rekey);
	put_own(rows, STAT_AGENT, &a->stats);
}

/* Rows of one kind, for whoever asks. */
struct own_rows {
	const struct show_query *q;
	json_t *rows;
};

static bool his(const struct show_query *q, uid_t uid)
{
	return q->uid == uid || user_is_operator(q->uid);
}

static void show_one_client(void *arg, struct control_client *cl)
{
	const struct own_rows *o = arg;

	if (cl->raw && his(o->q, cl->uid))
		json_array_append_new(o->rows, raw_app_row(cl->raw, cl));
}

static void show_client(struct agent *a, const struct show_query *q, json_t *rows)
{
	struct own_rows o = { q, rows };

	control_each(a->control, show_one_client, &o);
}

/* What a user holds, and may hold; without a limit, the kind's limit is left out. */
static void show_one_user(void *arg, const struct quota_usage *u)
{
	const struct own_rows *o = arg;
	char max[32];
	json_t *row;

	if (!his(o->q, u->uid))
		return;
	row = json_pack("{s:I, s:s, s:s}", "uid", (json_int_t)u->uid, "kind",
				!u->section || !u->section->name[0] ? ""
				: u->section->group		    ? "group"
								    : "user", "section",
				u->section ? u->section->name : "");

	for (int k = 0; k < QUOTA_KINDS; k++) {
		const char *key = quota_kind_key((enum quota_kind)k);

		put(row, key, u->held[k]);
		snprintf(max, sizeof(max), "max_%s", key);
		if (u->section)
			put(row, max, u->section->limit[k]);
	}
	json_array_append_new(o->rows, row);
}

static void show_agent(struct agent *a, const struct show_query *q, json_t *rows)
{
	json_t *row = json_object();
	struct agent_census census;

	(void)q;
	agent_census(a, &census);
	STAT_PUT(row, AGENT_CENSUS, &census);
	STAT_PUT(row, AGENT_STATS, &a->stats);
	json_array_append_new(rows, row);
}

static void show_user(struct agent *a, const struct show_query *q, json_t *rows)
{
	struct own_rows o = { q, rows };

	quota_each(a->quota, show_one_user, &o);
}

static void show_config_of(const struct agent_conn *c, void *rows)
{
	config_show_conn(rows, &c->cfg);
}

static void show_config(struct agent *a, const struct show_query *q, json_t *rows)
{
	json_t *all = q->only || q->from ? NULL : config_show(&a->config);

	if (all) {
		json_array_extend(rows, all);
		agent_nvme_show_config(a, rows);
	}
	json_decref(all);
	agent_show_each(a, q, false, show_config_of, rows);
}

/* Of what falconctl prints as JSON: grows when a member goes, or means something else; not with new ones. */
enum { SHOW_SCHEMA = 1 };

static void show_version(struct agent *a, const struct show_query *q, json_t *rows)
{
	/* Whoever asks may be in another directory. */
	char *path = realpath(a->config_path, NULL);

	(void)q;
	json_array_append_new(rows, json_pack("{s:s, s:i, s:i, s:s, s:s, s:s, s:s, s:b}",
					      "version", FALCON_VERSION_STRING, "schema", SHOW_SCHEMA,
					      "pid", (int)getpid(),
					      "config", path ? path : a->config_path,
					      "maps", a->plane.maps.dir, "rue", a->config.agent.cc.algorithm,
					      "rue_runs", agent_rue_where(&a->plane.shards[0]), "offload",
					      a->offload));
	free(path);
}

/* One path of a connection, both ways: what we send on it, what of the peer's flow has come. */
static void show_one_flow(const struct agent_conn *c, uint32_t flow, json_t *rows)
{
	const struct falcon_flow_rx *rx = &c->shared->rx.flow[flow];
	json_t *row = json_pack("{s:s, s:i}", "name", c->cfg.name, "flow", (int)flow);
	struct fcore_flow_stats s = {};

	fcore_conn_flow(c->core, flow, &s);
	put(row, "path", s.path);
	json_object_set_new(row, "fcwnd", json_real(s.fcwnd / 1024.0));
	put(row, "outstanding", s.outstanding);
	STAT_PUT(row, FCORE_FLOW_STATS, &s);
	put(row, "rx_ecn", falcon_load(&rx->ecn_count));
	put(row, "rx_hops", falcon_load(&rx->hops));
	json_array_append_new(rows, row);
}

static void show_flows_of(const struct agent_conn *c, void *rows)
{
	for (uint32_t flow = 0; flow < c->flows; flow++)
		show_one_flow(c, flow, rows);
}

static void show_flow(struct agent *a, const struct show_query *q, json_t *rows)
{
	agent_show_each(a, q, true, show_flows_of, rows);
}

static void show_shard(struct agent *a, const struct show_query *q, json_t *rows)
{
	(void)q;
	for (unsigned int i = 0; i < a->plane.nshards; i++) {
		const struct shard *s = &a->plane.shards[i];
		json_t *row = json_pack("{s:i, s:s}", "shard", (int)i, "priority",
					priority_name(priority_granted(&s->priority)));
		struct shard_now now;

		shard_now(s, &now);
		STAT_PUT(row, SHARD_NOW, &now);
		STAT_PUT(row, SHARD_STATS, &s->stats);
		json_array_append_new(rows, row);
	}
}

static const struct {
	const char *object;
	show_fn fn;
	bool by_itself;		/* makes calls for what it shows; the others are made in one */
} tables[] = {
	{ "conn", show_conn, true },
	{ "window", show_window, true },
	{ "port", show_port, false },
	{ "counters", show_counters, false },
	{ "client", show_client, false },
	{ "config", show_config, true },
	{ "version", show_version, false },
	{ "rue", agent_rue_show, true },
	{ "key", show_key, true },
	{ "flow", show_flow, true },
	{ "pool", agent_show_pool, false },
	{ "user", show_user, true },
	{ "agent", show_agent, false },
	{ "shard", show_shard, false },
	{ "nvme", agent_show_nvme, false },
	{ "namespace", agent_show_namespace, false },
	{ "device", agent_show_device, false },
	{ "qp", agent_show_qp, true },
	{ "cq", agent_show_cq, true },
	{ "mr", agent_show_mr, true },
	{ "pd", agent_show_pd, true },
	{ "xlr", agent_show_xlr, false },
};

struct table_call {
	show_fn fn;
	struct agent *agent;
	struct show_query q;
	json_t *rows;
};

/* In a call. */
static void fill_table(void *arg)
{
	const struct table_call *t = arg;

	t->fn(t->agent, &t->q, t->rows);
}

int agent_show(struct agent *a, json_t *req, uid_t uid, json_t **reply)
{
	const char *object = json_string_value(json_object_get(req, "object"));
	const char *name = json_string_value(json_object_get(req, "name"));
	const json_t *from = json_object_get(req, "from");
	uint64_t next = 0;
	struct table_call t = { .agent = a, .q = { .uid = uid, .next = &next } };

	if (from && (!json_is_integer(from) || json_integer_value(from) < 0))
		return control_error(reply, -EINVAL, "from is what a reply had as next");
	t.q.from = (uint64_t)json_integer_value(from);
	if (name)
		t.q.only = agent_conn_find_for(a, name, uid);
	if (name && (!t.q.only || !user_sees_conn(t.q.only, uid)))
		return control_error(reply, -ENOENT,
				     "no connection named \"%s\"; falconctl conn show lists them",
				     name);
	for (size_t i = 0; object && i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (strcmp(object, tables[i].object))
			continue;
		t.fn = tables[i].fn;
		t.rows = json_array();
		if (tables[i].by_itself)
			fill_table(&t);
		else
			plane_call(&a->plane, fill_table, &t);
		*reply = json_pack("{s:o}", "rows", t.rows);
		if (next)
			put(*reply, "next", next);
		return 0;
	}
	return control_error(reply, -EINVAL, "unknown object \"%s\"", object ? object : "");
}
