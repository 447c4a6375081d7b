// SPDX-License-Identifier: BSD-2-Clause
/* The agent's tables as JSON: one array of flat objects for each object of falconctl. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/commands.h"
#include "agent/nvme.h"
#include "agent/raw_app.h"
#include "agent/rdma.h"
#include "agent/rdma_show.h"
#include "agent/rue.h"
#include "base/version.h"

/* Fills |rows|; only the connection |only| unless that is NULL. */
typedef void (*show_fn)(struct agent *a, const struct agent_conn *only, json_t *rows);

struct each_conn {
	struct agent *agent;
	const struct agent_conn *only;
	void (*fn)(const struct agent_conn *c, json_t *rows);
	json_t *rows;
	bool up;
	uint32_t cid;			/* the next */
};

enum { ROWS_AT_ONCE = 32, CIDS_AT_ONCE = 4096 };

/* In a call. */
static void some_conns(void *arg)
{
	struct each_conn *e = arg;
	uint32_t nconns = e->agent->maps.nconns, left = ROWS_AT_ONCE;

	for (uint32_t n = 0; n < CIDS_AT_ONCE && left && e->cid < nconns; n++, e->cid++) {
		const struct agent_conn *c = agent_conn_at(e->agent, e->cid);

		if (!c || (e->only && c != e->only) || (e->up && !c->core))
			continue;
		e->fn(c, e->rows);
		left--;
	}
}

void agent_show_each(struct agent *a, const struct agent_conn *only, bool up,
		     void (*fn)(const struct agent_conn *c, json_t *rows), json_t *rows)
{
	struct each_conn e = { .agent = a, .only = only, .up = up, .fn = fn, .rows = rows };

	while (e.cid < a->maps.nconns)
		agent_call(a, some_conns, &e);
}

static void put_addr(json_t *row, const char *key, int family, const uint8_t *addr)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(family, addr, text, sizeof(text));
	json_object_set_new(row, key, json_string(text));
}

static void put(json_t *row, const char *key, uint64_t value)
{
	json_object_set_new(row, key, json_integer((json_int_t)value));
}

static void put_stats(json_t *row, const struct fcore_stats *s)
{
	put(row, "tx_packets", s->tx_packets);
	put(row, "tx_retx_rto", s->tx_retx_rto);
	put(row, "tx_retx_early", s->tx_retx_early);
	put(row, "tx_retx_own", s->tx_retx_own);
	put(row, "tx_retx_rack", s->tx_retx_rack);
	put(row, "repaths", s->repaths);
	put(row, "tx_acks", s->tx_acks);
	put(row, "tx_nacks", s->tx_nacks);
	put(row, "tx_resyncs", s->tx_resyncs);
	put(row, "tx_path_probes", s->tx_path_probes);
	put(row, "rx_packets", s->rx_packets);
	put(row, "rx_discarded", s->rx_discarded);
	put(row, "push_submitted", s->push_submitted);
	put(row, "pull_submitted", s->pull_submitted);
	put(row, "push_received", s->push_received);
	put(row, "pull_received", s->pull_received);
	put(row, "completed", s->completed);
	put(row, "completed_in_error", s->completed_in_error);
	put(row, "rnr_nacks_sent", s->rnr_nacks_sent);
	put(row, "rnr_nacks_received", s->rnr_nacks_received);
	put(row, "claims_released", s->claims_released);
	put(row, "rtt_ns", s->rtt_ns);
}

static void show_one_conn(const struct agent_conn *c, json_t *rows)
{
	json_t *row = json_pack("{s:s, s:b, s:s, s:s, s:s, s:s, s:b}", "name", c->cfg.name,
				"up", c->state == AGENT_CONN_UP, "state",
				agent_conn_state_name(c->state), "ordering",
				c->cfg.params.ordered ? "ordered" : "unordered", "security",
				sec_name(c->sec.encap), "reason", c->reason, "routed",
				c->routed);

	put_addr(row, "local", c->cfg.family, c->cfg.local);
	put_addr(row, "remote", c->cfg.family, c->cfg.remote);
	put(row, "local_cid", c->cfg.local_cid);
	put(row, "remote_cid", c->cfg.remote_cid);
	json_object_set_new(row, "port", json_string(c->port ? c->port->ifname : ""));
	put(row, "mtu", c->mtu);
	put(row, "segment", agent_conn_segment(c));
	put(row, "flows", c->flows);
	put(row, "setups", c->setups);
	put(row, "tx_unrouted", c->tx_unrouted);
	put(row, "tx_unsealed", c->tx_unsealed);
	put(row, "rx_answered", c->rx_answered);
	if (c->core)
		put_stats(row, fcore_conn_stats(c->core));
	json_array_append_new(rows, row);
}

static void show_conn(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	agent_show_each(a, only, false, show_one_conn, rows);
}

static void show_one_window(const struct agent_conn *c, json_t *rows)
{
	const struct falcon_conn *s = c->shared;
	json_t *row = json_pack("{s:s}", "name", c->cfg.name);

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
	put(row, "acks", falcon_load(&s->tx_acked.acks));
	put(row, "eacks", falcon_load(&s->tx_acked.eacks));
	put(row, "resource_nacks", falcon_load(&s->tx_acked.nacks_resource));
	put(row, "fcwnd", falcon_load(&s->cc.fcwnd) >> FALCON_EV_fcwnd_fraction_WIDTH);
	put(row, "ncwnd", falcon_load(&s->cc.ncwnd));
	put(row, "rto_units", falcon_load(&s->cc.rto));
	put(row, "rue_events", falcon_load(&s->cc_event.events));
	put(row, "rue_suppressed", falcon_load(&s->cc_event.suppressed));
	json_array_append_new(rows, row);
}

static void show_window(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	agent_show_each(a, only, true, show_one_window, rows);
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

static void show_one_key(const struct agent_conn *c, json_t *rows)
{
	const struct falcon_conn_id *id = &c->shared->id;
	struct sa_usage used = c->sec.tx ? sa_usage(c->sec.tx) : (struct sa_usage){};
	json_t *row = json_pack("{s:s, s:s, s:s}", "name", c->cfg.name, "security",
				sec_name(c->sec.encap), "rotation",
				rekey_state_name(c->rekey));

	put(row, "generation", falcon_load(&id->cur_spi_gen));
	put(row, "spi", falcon_load(&id->cur_spi));
	put(row, "prev_spi", falcon_load(&id->prev_spi));
	put(row, "peer_spi", c->sec.tx ? sa_spi(c->sec.tx) : 0);
	put(row, "rx_packets", c->sec.rx_packets);
	put(row, "rx_bytes", c->sec.rx_bytes);
	put(row, "tx_packets", used.packets);
	put(row, "tx_blocks", used.blocks);
	put(row, "rotations", c->sec.rotations);
	json_array_append_new(rows, row);
}

static void show_key(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	agent_show_each(a, only, true, show_one_key, rows);
}

static void show_port(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	(void)only;
	for (unsigned i = 0; i < a->nports; i++) {
		const struct port *p = &a->ports[i];

		for (uint32_t q = 0; q < p->nqueues; q++) {
			const struct xsk *x = &p->xsks[q];
			json_t *row = json_pack("{s:s, s:s, s:s}", "dev", p->ifname, "xdp",
						p->native ? "native" : "generic", "af_xdp",
						x->zerocopy ? "zerocopy" : "copy");

			put(row, "queue", q);
			put(row, "rx_frames", x->rx_packets);
			put(row, "tx_frames", x->tx_packets);
			put(row, "tx_no_slot", x->tx_no_slot);
			put(row, "rx_kicks", x->rx_kicks);
			put(row, "tx_kicks", x->tx_kicks);
			put(row, "rx_free", x->rx_nfree);
			json_object_set_new(row, "credits",
					    json_integer(falcon_load(&x->credit->credits)));
			put(row, "refused", falcon_load(&x->credit->refused));
			put(row, "drops", x->drops_seen);
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

/* What all shards have counted. */
static void sum_up(const struct agent *a, struct falcon_counters *counters, struct shard_stats *stats,
		   uint64_t *stalls)
{
	for (unsigned int i = 0; i < a->nshards; i++) {
		const struct shard *s = &a->shards[i];

		for (size_t k = 0; k < sizeof(*counters) / sizeof(__u64); k++)
			((__u64 *)counters)[k] += ((const __u64 *)&s->counters)[k];
		stats->turns += s->stats.turns;
		stats->sleeps += s->stats.sleeps;
		stats->rue_events += s->stats.rue_events;
		stats->ce_marked += s->stats.ce_marked;
		*stalls += s->rdma ? s->rdma->stalls : 0;
	}
}

static void show_counters(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	struct falcon_counters x, g = {};
	struct shard_stats s = {};
	uint64_t stalls = 0;

	(void)only;
	if (maps_counters(&a->maps, &x) < 0)
		return;
	sum_up(a, &g, &s, &stalls);
#define PUT_VERDICT(name, text) put_counter(rows, #name, text, x.name, g.name);
	FALCON_VERDICTS(PUT_VERDICT)
#undef PUT_VERDICT
	put_counter(rows, "xdp_tx", "frames turned round and sent by XDP_TX", x.xdp_tx, 0);
	put_counter(rows, "xdp_acked", "ACKs among them of packets that XDP has accepted", x.xdp_acked, 0);
	put_counter(rows, "rue_events", "events for the rate update engine", x.rue_events,
		    s.rue_events);
	put_counter(rows, "rue_suppressed", "events withheld by the policy of Falcon 10.6.1",
		    x.rue_suppressed, 0);
	put_counter(rows, "wakeups", "times XDP woke the sleeping agent", x.wakeups, 0);
	put_counter(rows, "ce_marked", "packets accepted with ECN CE", x.ce_marked,
		    s.ce_marked);
	put_counter(rows, "loop_turns", "turns of the agent's loop", 0, s.turns);
	if (a->config.agent.verbs)
		put_counter(rows, "verbs_stalls", "calls in which applications' memory did not answer", 0,
			    stalls);
	put_counter(rows, "loop_sleeps", "times the agent went to sleep", 0, s.sleeps);
	put_counter(rows, "key_rotations", "rotations of the master keys", 0, a->rekey.rotations);
	put_counter(rows, "keys_replaced", "keys of connections replaced while in use", 0,
		    a->rekey.rekeyed);
	put_counter(rows, "keys_unanswered", "connections lost because a new key was not taken", 0,
		    a->rekey.failed);
	put_counter(rows, "dials_refused", "connections that peers dialled and policy refused", 0,
		    a->stats.dials_refused);
	put_counter(rows, "clients_refused", "programs whose user may not use the agent", 0,
		    a->stats.clients_refused);
	put_counter(rows, "drops_recovered", "times dropped frames made the agent release claims", 0,
		    a->stats.drops_recovered);
}

static void show_one_client(void *arg, struct control_client *cl)
{
	if (cl->user)
		json_array_append_new(arg, raw_app_row(cl->user, cl));
}

static void show_client(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	(void)only;
	control_each(a->control, show_one_client, rows);
}

/* What a user holds, and may hold; without a limit, the kind's limit is left out. */
static void show_one_user(void *arg, const struct quota_usage *u)
{
	static const char *const held[QUOTA_KINDS] = { "clients", "connections", "qps", "mrs",
						       "memory" };
	static const char *const max[QUOTA_KINDS] = { "max_clients", "max_connections", "max_qps",
						      "max_mrs", "max_memory" };
	json_t *row = json_pack("{s:I, s:s, s:s}", "uid", (json_int_t)u->uid, "kind",
				!u->section ? "" : u->section->group ? "group" : "user", "section",
				u->section ? u->section->name : "");

	for (int k = 0; k < QUOTA_KINDS; k++) {
		put(row, held[k], u->held[k]);
		if (u->section)
			put(row, max[k], u->section->limit[k]);
	}
	json_array_append_new(arg, row);
}

static void show_agent(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	const struct agent_conn *c;
	json_t *row = json_object();
	uint32_t leaving = 0;

	(void)only;
	TAILQ_FOREACH(c, &a->leaving, reap_link)
		leaving++;
	put(row, "connections", a->nconns - leaving);
	put(row, "up", a->nup);
	put(row, "leaving", leaving);
	put(row, "room", a->maps.nconns - 1);
	put(row, "setups", a->stats.setups);
	json_array_append_new(rows, row);
}

static void show_user(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	(void)only;
	quota_each(a->quota, show_one_user, rows);
}

static void show_config_of(const struct agent_conn *c, json_t *rows)
{
	config_show_conn(rows, &c->cfg);
}

static void show_config(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	json_t *all = only ? NULL : config_show(&a->config);

	if (all)
		json_array_extend(rows, all);
	json_decref(all);
	agent_show_each(a, only, false, show_config_of, rows);
}

static void show_version(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	(void)only;
	json_array_append_new(rows, json_pack("{s:s, s:i, s:s, s:s, s:s, s:b}",
					      "version", FALCON_VERSION_STRING, "pid", (int)getpid(),
					      "maps", a->maps.dir, "rue", a->config.agent.cc.algorithm,
					      "rue_runs", agent_rue_where(&a->shards[0]), "offload",
					      a->offload));
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
	json_object_set_new(row, "rtt_us", json_real((double)s.rtt_ns / 1000));
	json_object_set_new(row, "rto_us", json_real((double)s.rto_ns / 1000));
	put(row, "sent", s.sent);
	put(row, "lost", s.lost);
	put(row, "rx_ecn", falcon_load(&rx->ecn_count));
	put(row, "rx_hops", falcon_load(&rx->hops));
	json_array_append_new(rows, row);
}

static void show_flows_of(const struct agent_conn *c, json_t *rows)
{
	for (uint32_t flow = 0; flow < c->flows; flow++)
		show_one_flow(c, flow, rows);
}

static void show_flow(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	agent_show_each(a, only, true, show_flows_of, rows);
}

static void show_shard(struct agent *a, const struct agent_conn *only, json_t *rows)
{
	(void)only;
	for (unsigned int i = 0; i < a->nshards; i++) {
		const struct shard_stats *s = &a->shards[i].stats;
		json_t *row = json_object();

		put(row, "shard", i);
		put(row, "connections", a->shards[i].nconns);
		put(row, "applications", a->shards[i].rdma ? a->shards[i].rdma->napps : 0);
		put(row, "turns", s->turns);
		put(row, "sleeps", s->sleeps);
		put(row, "rx_frames", s->rx_frames);
		put(row, "handed_over", s->handed_over);
		put(row, "calls", s->calls);
		json_object_set_new(row, "longest_turn_us", json_real((double)s->longest_turn_ns / 1000));
		json_object_set_new(row, "longest_call_us", json_real((double)s->longest_call_ns / 1000));
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
	{ "qp", agent_show_qp, false },
	{ "cq", agent_show_cq, false },
	{ "mr", agent_show_mr, false },
	{ "pd", agent_show_pd, false },
	{ "xlr", agent_show_xlr, false },
};

struct table_call {
	show_fn fn;
	struct agent *agent;
	const struct agent_conn *only;
	json_t *rows;
};

/* In a call. */
static void fill_table(void *arg)
{
	const struct table_call *t = arg;

	t->fn(t->agent, t->only, t->rows);
}

int agent_show(struct agent *a, json_t *req, json_t **reply)
{
	const char *object = json_string_value(json_object_get(req, "object"));
	const char *name = json_string_value(json_object_get(req, "name"));
	struct table_call t = { .agent = a, .only = name ? agent_conn_find(a, name) : NULL };

	if (name && !t.only)
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
			agent_call(a, fill_table, &t);
		*reply = json_pack("{s:o}", "rows", t.rows);
		return 0;
	}
	return control_error(reply, -EINVAL, "unknown object \"%s\"", object ? object : "");
}
