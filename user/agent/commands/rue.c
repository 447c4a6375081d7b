// SPDX-License-Identifier: BSD-2-Clause
/* "show rue": congestion control flow by flow, in microseconds and packets. */
#include "agent/commands/commands.h"

#include "agent/conn/conn.h"
#include "agent/conn/rows.h"
#include "agent/rue/rue.h"
#include "agent/stats/stat.h"

static const double FU_US = 0.131072;	/* a Falcon time unit */
static const double TW_US = 0.512;	/* a unit of inter_packet_gap */

static void put(json_t *row, const char *key, uint64_t value)
{
	json_object_set_new(row, key, json_integer((json_int_t)value));
}

/* With a tenth of a unit: more digits would only be noise. */
static void put_real(json_t *row, const char *key, double value)
{
	json_object_set_new(row, key, json_real((double)(int64_t)(value * 10 + 0.5) / 10));
}

static const char *delay_name(uint8_t delay_select)
{
	static const char *const names[] = { "full", "fabric", "forward", "reverse" };

	return names[delay_select & 3];
}

static void put_engine(json_t *row, const struct agent_conn *c)
{
	const struct rue_host *h = agent_rue_host(c->shard);
	const struct rue_config *profile = rue_host_profile_at(h, c->rue_profile);
	bool profiles = rue_host_has_profiles(h, c->rue_engine);

	json_object_set_new(row, "algorithm", json_string(rue_host_name(h, c->rue_engine)));
	json_object_set_new(row, "profile", json_string(profiles && profile ? profile->name : ""));
	json_object_set_new(row, "delay_select", json_string(delay_name(c->cfg.cc.delay_select)));
}

static void put_windows(json_t *row, const struct falcon_cc *cc, const struct fcore_flow_stats *s,
			const struct rue_flow_stats *r)
{
	put_real(row, "fcwnd", s->fcwnd / 1024.0);
	put(row, "ncwnd", falcon_load(&cc->ncwnd));
	put(row, "outstanding", s->outstanding);
	put_real(row, "delay_us", r->delay * FU_US);
	put_real(row, "rtt_us", r->rtt * FU_US);
	put_real(row, "rto_us", (double)s->rto_ns / 1000);
	put_real(row, "gap_us", r->gap * TW_US);
	put(row, "path", s->path);
	put(row, "sent", s->sent);
	put(row, "lost", s->lost);
}

static void put_plb(json_t *row, const struct agent_conn *c, uint32_t flow)
{
	struct swift_state s =
		rue_host_swift_state(agent_rue_host(c->shard), agent_rue_base(c, flow));

	put(row, "plb_acked", swift_plb_get(s.plb, acked));
	put(row, "plb_congested", swift_plb_get(s.plb, congested));
	put(row, "plb_attempts", swift_plb_get(s.plb, attempts));
}

/* Returns how many flows the connection has. */
static uint32_t show_flow(const struct agent_conn *c, uint32_t flow, json_t *rows)
{
	const struct falcon_cc_event *seen = &c->shared->cc_event;
	const struct rue_flow_stats *s = agent_rue_stats(c, flow);
	json_t *row = json_pack("{s:s, s:i}", "name", c->cfg.name, "flow", (int)flow);
	struct fcore_flow_stats core = {};
	uint32_t flows = fcore_conn_flow(c->core, flow, &core);

	put_engine(row, c);
	put_windows(row, &c->shared->cc, &core, s);
	put_plb(row, c, flow);
	put(row, "buffer_level", fcore_rx_level(c->shard->core));
	STAT_PUT(row, RUE_FLOW_STATS, s);
	/* XDP counts for the connection. */
	put(row, "suppressed", s->suppressed + (flow ? 0 : falcon_load(&seen->suppressed)));
	json_array_append_new(rows, row);
	return flows;
}

static void show_one(const struct agent_conn *c, void *rows)
{
	uint32_t flow = 0;

	while (show_flow(c, flow, rows) > flow + 1)
		flow++;
}

void agent_rue_show(struct agent *a, const struct show_query *q, json_t *rows)
{
	agent_show_each(a, q, true, show_one, rows);
}
