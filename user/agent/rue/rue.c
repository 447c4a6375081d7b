// SPDX-License-Identifier: BSD-2-Clause
/*
 * An event that XDP has written describes the connection as it was then. Here it is completed with
 * the state of now, so that of several events in one turn each builds on the result of the one
 * before, and with what the agent alone knows: which engine, profile and index.
 *
 * On a thread, or in another process, a flow has one event under way at a time; those that come
 * meanwhile are merged into one that follows its result. Otherwise they would all start from the same
 * window, and the last result undo the others.
 */
#include "agent/rue/priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/shard/plane.h"
#include "agent/shard/conn.h"
#include "agent/shard/shard.h"
#include "base/log.h"
#include "falcon/receive/ack.h"

enum { ACKED_MAX = (1 << FALCON_EV_num_packets_acked_WIDTH) - 1 };

/* Where engines keep a flow's state, and this file: CID and flow. */
static uint32_t index_of(uint32_t cid, uint32_t flow)
{
	return cid * FALCON_MAX_FLOWS + flow;
}

uint32_t agent_rue_flows(const struct shard *s)
{
	return index_of(s->plane->maps.nconns, 0);
}

static struct flow *flow_of(const struct shard *s, uint32_t cid, uint32_t flow)
{
	return &s->rue->flow[index_of(cid, flow)];
}

uint32_t agent_rue_base(const struct agent_conn *c, uint32_t flow)
{
	return (uint32_t)c->rue_profile << FALCON_RUE_INDEX_BITS |
	       index_of(c->cfg.local_cid, flow);
}

struct rue_host *agent_rue_host(const struct shard *s)
{
	return s->rue->host;
}

const struct rue_flow_stats *agent_rue_stats(const struct agent_conn *c, uint32_t flow)
{
	return &flow_of(c->shard, c->cfg.local_cid, flow)->stats;
}

const struct rue_flow_stats *agent_rue_past(const struct shard *s)
{
	return &s->rue->past;
}

static int start_thread(struct shard *s, char *err, size_t errlen)
{
	s->rue->worker = rue_worker_start(s->rue->host, s->plane->maps.nconns, err, errlen);
	return s->rue->worker ? shard_watch(s, rue_worker_fd(s->rue->worker)) : -ENOMEM;
}

int agent_rue_open(struct shard *s, char *err, size_t errlen)
{
	const struct rue_settings *set = &s->plane->config->rue;
	uint32_t flows = agent_rue_flows(s);
	enum config_rue_mode mode = s->plane->config->agent.rue_mode;

	s->rue = calloc(1, sizeof(*s->rue));
	if (s->rue) {
		s->rue->flow = calloc(flows, sizeof(*s->rue->flow));
		s->rue->host = rue_host_create(flows, set->profile, set->nprofiles,
					      mode == CONFIG_RUE_THREAD);
	}
	if (!s->rue || !s->rue->flow || !s->rue->host) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < THRESHOLDS; i++)
		s->rue->threshold[i] = s->plane->maps.nconns / (THRESHOLDS + 1) * (i + 1);
	if (mode == CONFIG_RUE_THREAD)
		return start_thread(s, err, errlen);
	agent_rue_tick(s);
	return 0;
}

void agent_rue_close(struct shard *s)
{
	if (!s->rue)
		return;
	rue_worker_stop(s->rue->joining);
	rue_worker_stop(s->rue->worker);
	rue_host_destroy(s->rue->host);
	free(s->rue->flow);
	free(s->rue);
	s->rue = NULL;
}

void agent_rue_params(const struct shard *s, const char *name,
		      const char *params[CONFIG_RUE_PARAMS + 1])
{
	const struct rue_settings *set = &s->plane->config->rue;

	params[0] = NULL;
	for (unsigned int i = 0; i < set->nengines; i++) {
		if (strcmp(set->engine[i].name, name))
			continue;
		for (unsigned int k = 0; k < set->engine[i].nparams; k++)
			params[k] = set->engine[i].param[k];
		params[set->engine[i].nparams] = NULL;
	}
}

/* The engine called |name|, with the parameters of its section. */
static int find_engine(struct shard *s, const char *name, char *err, size_t errlen)
{
	const char *params[CONFIG_RUE_PARAMS + 1];
	int engine;

	agent_rue_params(s, name, params);
	engine = rue_host_engine(s->rue->host, name, params, err, errlen);
	if (engine >= 0)
		agent_rue_share_engines(s);
	return engine;
}

/* What the core's events carry; those of XDP are completed anyway. */
static void publish(struct agent_conn *c)
{
	struct falcon_cc *cc = &c->shared->cc;

	falcon_store(&cc->delay_select, c->cfg.cc.delay_select);
	falcon_store(&cc->event_queue_select, c->rue_engine);
	for (uint32_t i = 0; i < FALCON_MAX_FLOWS; i++)
		fcore_rue_base(c->core, i, agent_rue_base(c, i));
}

static void keep_stats(struct rue_flow_stats *sum, const struct rue_flow_stats *s)
{
	RUE_FLOW_STATS(STAT_ADD)
}

/* Engines forget the connection's flows, and so do we; a result under way is of the past. */
static void forget(struct agent_conn *c, bool counters)
{
	static const struct flow unused;

	for (uint32_t i = 0; i < FALCON_MAX_FLOWS; i++) {
		struct flow *f = flow_of(c->shard, c->cfg.local_cid, i);

		rue_host_reset(c->shard->rue->host, agent_rue_base(c, i));
		if (c->shard->rue->worker)
			rue_worker_reset(c->shard->rue->worker, agent_rue_base(c, i));
		/* Of very many connections most have one flow: memory that is zero stays untouched. */
		if (memcmp(f, &unused, sizeof(unused)) == 0)
			continue;
		f->stale = f->busy;
		f->waiting = false;
		f->acked_owed = 0;
		f->last_ns = 0;
		if (counters) {
			keep_stats(&c->shard->rue->past, &f->stats);
			f->stats = (struct rue_flow_stats){ 0 };
		}
	}
}

void agent_rue_stop(struct agent_conn *c)
{
	for (uint32_t i = 0; i < FALCON_MAX_FLOWS; i++) {
		struct flow *f = flow_of(c->shard, c->cfg.local_cid, i);

		keep_stats(&c->shard->rue->past, &f->stats);
		if (f->stats.events || f->stats.suppressed)
			f->stats = (struct rue_flow_stats){ 0 };
	}
}

void agent_rue_start(struct agent_conn *c)
{
	forget(c, true);
	publish(c);
}

/* An algorithm that leaves windows alone has to begin with those that were configured. */
static void restore_windows(struct agent_conn *c, uint32_t flow, uint32_t flows)
{
	const struct fcore_params *p = &c->cfg.params;
	uint32_t fcwnd = (p->fcwnd << FALCON_RES_fcwnd_fraction_WIDTH) / flows;
	struct falcon_rue_result r = { 0 };

	falcon_res_put(&r, connection_id, falcon_rue_id(c->cfg.local_cid, flow));
	falcon_res_put(&r, fcwnd, fcwnd >> FALCON_RES_fcwnd_fraction_WIDTH);
	falcon_res_put(&r, fcwnd_fraction, fcwnd);
	falcon_res_put(&r, ncwnd, p->ncwnd);
	falcon_res_put(&r, retransmit_timeout, falcon_time_of_ns(p->rto_ns));
	falcon_res_put(&r, base_delay_target, agent_rue_base(c, flow));
	falcon_res_put(&r, rtt_state, falcon_load(&c->shared->cc.rtt_state));
	falcon_res_put(&r, delay_state, falcon_load(&c->shared->cc.delay_state));
	fcore_rue_result(c->core, &r, c->shard->now);
}

int agent_rue_select(struct agent_conn *c, const struct cc_options *cc, char *err, size_t errlen)
{
	struct rue_host *host = c->shard->rue->host;
	int engine = find_engine(c->shard, cc->algorithm, err, errlen), profile;
	struct fcore_flow_stats s;
	uint32_t flows;

	if (engine < 0)
		return engine;
	profile = rue_host_profile(host, cc->profile, err, errlen);
	if (profile < 0)
		return profile;
	c->rue_engine = (uint8_t)engine;
	c->rue_profile = rue_host_has_profiles(host, (uint32_t)engine) ? (uint8_t)profile : 0;
	c->cfg.cc = *cc;
	if (!c->core)
		return 0;
	forget(c, false);
	publish(c);
	flows = fcore_conn_flow(c->core, 0, &s);
	for (uint32_t i = 0; i < flows && !strcmp(cc->algorithm, rue_fixed.name); i++)
		restore_windows(c, i, flows);
	return 0;
}

/* The state of a connection with one flow as it is now; of several the core has put it in. */
static void refresh(const struct falcon_cc *cc, struct falcon_rue_event *e)
{
	falcon_ev_set(e, fcwnd_fraction, cc->fcwnd);
	falcon_ev_set(e, fcwnd_integer, cc->fcwnd >> FALCON_EV_fcwnd_fraction_WIDTH);
	falcon_ev_set(e, inter_packet_gap, cc->inter_packet_gap);
	falcon_ev_set(e, retransmit_timeout, cc->rto);
	falcon_ev_set(e, fabric_window_time_marker, cc->fabric_window_time_marker);
	falcon_ev_set(e, delay_state, cc->delay_state);
	falcon_ev_set(e, rtt_state, cc->rtt_state);
	falcon_ev_set(e, cc_opaque, cc->cc_opaque);
}

/* Make |e| describe flow |flow| of |c| as it is now. False if there is none. */
static bool complete(const struct agent_conn *c, uint32_t flow, struct flow *f,
		     struct falcon_rue_event *e)
{
	const struct falcon_cc *cc = &c->shared->cc;
	uint32_t acked;

	if (!fcore_rue_event(c->shard->core, e))
		return false;
	if (c->flows <= 1)
		refresh(cc, e);
	acked = (uint32_t)falcon_ev_get(e, num_packets_acked) + f->acked_owed;
	falcon_ev_set(e, ncwnd, cc->ncwnd);
	falcon_ev_set(e, nic_window_time_marker, cc->nic_window_time_marker);
	falcon_ev_set(e, ncwnd_direction, cc->ncwnd_direction);
	falcon_ev_set(e, delay_select, cc->delay_select);
	falcon_ev_set(e, event_queue_select, c->rue_engine);
	falcon_ev_set(e, base_delay_target, agent_rue_base(c, flow));
	falcon_ev_set(e, num_packets_acked, acked < ACKED_MAX ? acked : ACKED_MAX);
	f->acked_owed = 0;
	return true;
}

static void withhold(struct flow *f, const struct falcon_rue_event *e)
{
	f->acked_owed += (uint32_t)falcon_ev_get(e, num_packets_acked);
	f->stats.suppressed++;
}

/* Two events become one: the later one's, unless that is a mere ACK and the first says more. */
static void merge(struct flow *f, const struct falcon_rue_event *e)
{
	bool plain = falcon_ev_get(e, event_type) == kRueEventTypeAck;

	if (f->waiting && plain && falcon_ev_get(&f->next, event_type) != kRueEventTypeAck) {
		withhold(f, e);
		return;
	}
	if (f->waiting)
		withhold(f, &f->next);
	f->next = *e;
	f->waiting = true;
}

static void apply(struct shard *s, struct agent_conn *c, struct flow *f,
		  const struct falcon_rue_result *r)
{
	f->stats.results++;
	f->stats.reroutes_plb += falcon_res_get(r, randomize_path);
	f->stats.delay = (uint32_t)falcon_res_get(r, delay_state);
	f->stats.rtt = (uint32_t)falcon_res_get(r, rtt_state);
	f->stats.gap = (uint32_t)falcon_res_get(r, inter_packet_gap);
	fcore_rue_result(c->core, r, s->now);
}

void agent_rue_submit(struct shard *s, struct agent_conn *c, uint32_t flow, struct flow *f,
		      const struct falcon_rue_event *event)
{
	struct falcon_rue_event e = *event;
	struct falcon_rue_result r;

	if (!complete(c, flow, f, &e))
		return;
	if (!s->rue->worker) {
		rue_host_process(s->rue->host, &e, 1, falcon_time_of_ns(s->now) & 0xffffff, &r);
		f->stats.events++;
		apply(s, c, f, &r);
	} else if (rue_worker_put(s->rue->worker, &e)) {
		f->stats.events++;
		f->busy = true;
		s->rue->under_way++;
	} else {
		withhold(f, &e);
	}
}

static void offer(struct shard *s, struct agent_conn *c, const struct falcon_rue_event *e)
{
	uint32_t flow = falcon_rue_flow((uint32_t)falcon_ev_get(e, connection_id));
	struct flow *f = flow_of(s, c->cfg.local_cid, flow);

	s->stats.rue_events++;
	if (f->busy)
		merge(f, e);
	else
		agent_rue_submit(s, c, flow, f, e);
}

struct agent_conn *agent_rue_conn(struct shard *s, uint32_t connection_id)
{
	struct agent_conn *c = s->conns[connection_id % FALCON_MAX_CONNS];

	return c && c->core ? c : NULL;
}

void agent_on_rue_event(void *arg, const struct falcon_rue_event *e)
{
	struct shard *s = arg;
	struct agent_conn *c = agent_rue_conn(s, (uint32_t)falcon_ev_get(e, connection_id));

	if (c)
		offer(s, c, e);
}

/*
 * By how full the queue is that the agent itself writes to. Inline there is none; what waits then, and
 * what computing makes wait longer, are frames in the receive ring, ACKs among them.
 */
static bool wanted(struct shard *s, bool p1, bool p2)
{
	static const uint32_t frames[THRESHOLDS] = { XSK_FILL_TARGET / 4, XSK_FILL_TARGET / 2,
						     XSK_FILL_TARGET / 4 * 3 };

	if (!s->rue->worker)
		return falcon_rue_wants(s->rx_waiting, frames, p1, p2);
	return falcon_rue_wants(rue_worker_used(s->rue->worker), s->rue->threshold, p1, p2);
}

void agent_rue_core_event(struct shard *s, struct agent_conn *c, const struct falcon_rue_event *e)
{
	struct flow *f = flow_of(s, c->cfg.local_cid,
				 falcon_rue_flow((uint32_t)falcon_ev_get(e, connection_id)));

	if (!wanted(s, s->now - f->last_ns > s->plane->config->agent.rue_p1_ns, false)) {
		withhold(f, e);
		return;
	}
	f->last_ns = s->now;
	offer(s, c, e);
}

void agent_rue_ack(struct shard *s, struct agent_conn *c, uint32_t flow,
		   const struct falcon_ack *ack, uint32_t t3, uint64_t now_ns)
{
	struct falcon_cc_event *ev = &c->shared->cc_event;
	uint32_t total = falcon_ack_total(ack);
	int32_t acked = falcon_seq_diff(total, ev->last_acked);
	struct falcon_rue_event e = {};

	/* An EACK overtaken by its successor counts fewer packets than are known. */
	if (acked < 0)
		acked = 0;
	if (!wanted(s, now_ns - ev->last_ns > s->plane->config->agent.rue_p1_ns,
		    (uint32_t)acked >= s->plane->config->agent.rue_p2_packets)) {
		ev->suppressed++;
		return;
	}
	ev->last_ns = now_ns;
	if (acked)
		ev->last_acked = total;
	ev->events++;
	falcon_rue_event_ack(c->shared, flow, ack, t3, falcon_time_of_ns(now_ns), (uint32_t)acked,
			     &e);
	offer(s, c, &e);
}

/* A result of the thread. */
static void take(struct shard *s, const struct falcon_rue_result *r)
{
	uint32_t id = (uint32_t)falcon_res_get(r, connection_id), flow = falcon_rue_flow(id);
	struct flow *f = flow_of(s, id % s->plane->maps.nconns, flow);
	struct agent_conn *c = agent_rue_conn(s, id);
	bool stale = f->stale;

	if (!f->busy)
		return;		/* to no event of ours */
	f->busy = f->stale = false;
	s->rue->under_way--;
	if (!c)
		return;
	if (!stale)
		apply(s, c, f, r);
	if (f->waiting) {
		f->waiting = false;
		agent_rue_submit(s, c, flow, f, &f->next);
	}
}

uint32_t agent_rue_poll(struct shard *s)
{
	struct falcon_rue_result r;
	uint32_t n = 0;

	if (!s->rue->worker)
		return 0;
	for (; n < s->plane->maps.nconns && rue_worker_get(s->rue->worker, &r); n++)
		take(s, &r);
	s->rue->taken += n;
	rue_worker_flush(s->rue->worker);
	return n;
}

bool agent_rue_waiting(struct shard *s)
{
	return s->rue->worker && !rue_worker_idle(s->rue->worker);
}
