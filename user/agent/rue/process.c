// SPDX-License-Identifier: BSD-2-Clause
/*
 * Congestion control computed by another process, falcon-rue --serve (rue_mode = process).
 *
 * The agent can do without: it computes by itself until the process is there, and again when that ends or
 * hangs. Windows are the core's, and Swift's state lies in the agent's memory, so both go on from where
 * the other was; only events that the process has not answered are lost.
 */
#include "agent/rue/priv.h"

#include <stdio.h>
#include <string.h>

#include "agent/shard/plane.h"
#include "agent/shard/conn.h"
#include "agent/shard/shard.h"
#include "base/log.h"

static const uint64_t RETRY_NS = 1000ULL * 1000 * 1000;
static const uint64_t STALL_NS = 1000ULL * 1000 * 1000;

/* Nobody will answer what was asked. */
static void forget_process(struct shard *s)
{
	struct agent_rue *rue = s->rue;
	uint32_t left = rue->under_way;

	shard_unwatch(s, rue_worker_fd(rue->worker));
	shard_unwatch(s, rue_worker_sock(rue->worker));
	rue_host_swift_memory(rue->host, NULL, false);
	rue_worker_stop(rue->worker);
	rue->worker = NULL;
	rue->under_way = 0;
	for (uint32_t i = 0; left && i < agent_rue_flows(s); i++) {
		struct flow *f = &rue->flow[i];
		struct agent_conn *c = agent_rue_conn(s, i / FALCON_MAX_FLOWS);
		bool waiting = f->waiting;

		if (!f->busy)
			continue;
		left--;
		f->busy = f->stale = f->waiting = false;
		if (c && waiting)
			agent_rue_submit(s, c, i % FALCON_MAX_FLOWS, f, &f->next);
	}
}

static void part(struct shard *s, const char *why)
{
	log_warn("the rate update engine at %s is lost: %s; computing without it",
		 s->plane->config->agent.rue_socket, why);
	forget_process(s);
	s->rue->next_try = s->now + RETRY_NS;
}

void agent_rue_share_engines(struct shard *s)
{
	struct agent_rue *rue = s->rue;
	const char *params[CONFIG_RUE_PARAMS + 1];

	while (rue->worker && rue_worker_sock(rue->worker) >= 0 && rue->engines < RUE_ENGINES) {
		const char *name = rue_host_name(rue->host, rue->engines);

		if (!*name)
			return;
		agent_rue_params(s, name, params);
		if (rue_worker_engine(rue->worker, rue->engines, name, params))
			rue->engines++;
		else
			part(s, "it does not read messages");
	}
}

/* The process has answered: events go there from now on. */
static void join(struct shard *s)
{
	struct agent_rue *rue = s->rue;

	rue->worker = rue->joining;
	rue->joining = NULL;
	rue->engines = 0;
	rue->complained = false;
	rue->stalled_since = s->now;
	shard_watch(s, rue_worker_fd(rue->worker));
	rue_host_swift_memory(rue->host, rue_worker_states(rue->worker), false);
	log_info("rate updates are computed by the engine at %s", s->plane->config->agent.rue_socket);
	agent_rue_share_engines(s);
}

static void complain(struct shard *s, const char *why)
{
	if (!s->rue->complained)
		log_warn("no rate update engine: %s; computing without it, trying again", why);
	s->rue->complained = true;
}

static void look_at_joining(struct shard *s)
{
	struct rue_worker *w = s->rue->joining;
	char err[256];
	int news = rue_worker_look(w, err, sizeof(err));

	if (news > 0) {
		join(s);
	} else if (news < 0) {
		shard_unwatch(s, rue_worker_sock(w));
		rue_worker_stop(w);
		s->rue->joining = NULL;
		complain(s, err);
	}
}

static void look_at_process(struct shard *s)
{
	struct agent_rue *rue = s->rue;
	char err[256];

	if (rue_worker_look(rue->worker, err, sizeof(err)) < 0) {
		part(s, err);
		return;
	}
	if (!rue->under_way || rue->taken != rue->taken_then)
		rue->stalled_since = s->now;
	rue->taken_then = rue->taken;
	if (s->now - rue->stalled_since > STALL_NS)
		part(s, "it does not answer");
}

static void find_process(struct shard *s)
{
	struct agent_rue *rue = s->rue;
	char err[256];

	if (s->now < rue->next_try)
		return;
	rue->next_try = s->now + RETRY_NS;
	rue->joining = rue_worker_connect(rue->host, s->plane->config->agent.rue_socket,
					  agent_rue_flows(s), s->plane->maps.nconns, err, sizeof(err));
	if (rue->joining)
		shard_watch(s, rue_worker_sock(rue->joining));
	else
		complain(s, err);
}

void agent_rue_tick(struct shard *s)
{
	if (s->plane->config->agent.rue_mode != CONFIG_RUE_PROCESS)
		return;
	if (s->rue->worker)
		look_at_process(s);
	else if (s->rue->joining)
		look_at_joining(s);
	else
		find_process(s);
}

bool agent_rue_watches(const struct shard *s, int fd)
{
	const struct rue_worker *w = s->rue->worker ? s->rue->worker : s->rue->joining;

	return w && fd == rue_worker_sock(w);
}

const char *agent_rue_where(const struct shard *s)
{
	if (!s->rue->worker)
		return "inline";
	return rue_worker_sock(s->rue->worker) < 0 ? "thread" : "process";
}

bool agent_rue_trace_set(struct shard *s, struct rue_trace *t, int fd, uint32_t records,
			 int64_t only)
{
	struct rue_worker *w = s->rue->worker;

	if (!w || rue_worker_sock(w) < 0) {
		rue_host_trace(s->rue->host, t, records, only);
		return true;
	}
	return rue_worker_trace(w, fd, t ? records : 0, only);
}
