// SPDX-License-Identifier: BSD-2-Clause
/*
 * Congestion control computed by another process, falcon-rue --serve (rue_mode = process).
 *
 * The agent can do without: it computes by itself until the process is there, and again when that ends or
 * hangs. Windows are the core's, and Swift's state lies in the agent's memory, so both go on from where
 * the other was; only events that the process has not answered are lost.
 */
#include <stdio.h>
#include <string.h>

#include "agent/log.h"
#include "agent/rue_priv.h"

static const uint64_t RETRY_NS = 1000ULL * 1000 * 1000;
static const uint64_t STALL_NS = 1000ULL * 1000 * 1000;

/* Nobody will answer what was asked. */
static void forget_process(struct agent *a)
{
	struct agent_rue *rue = a->rue;
	uint32_t left = rue->under_way;

	agent_unwatch(a, rue_worker_fd(rue->worker));
	agent_unwatch(a, rue_worker_sock(rue->worker));
	rue_host_swift_memory(rue->host, NULL, false);
	rue_worker_stop(rue->worker);
	rue->worker = NULL;
	rue->under_way = 0;
	for (uint32_t i = 0; left && i < agent_rue_flows(a); i++) {
		struct flow *f = &rue->flow[i];
		struct agent_conn *c = agent_rue_conn(a, i / FALCON_MAX_FLOWS);
		bool waiting = f->waiting;

		if (!f->busy)
			continue;
		left--;
		f->busy = f->stale = f->waiting = false;
		if (c && waiting)
			agent_rue_submit(a, c, i % FALCON_MAX_FLOWS, f, &f->next);
	}
}

static void part(struct agent *a, const char *why)
{
	log_warn("the rate update engine at %s is lost: %s; computing without it",
		 a->config.agent.rue_socket, why);
	forget_process(a);
	a->rue->next_try = a->now + RETRY_NS;
}

void agent_rue_share_engines(struct agent *a)
{
	struct agent_rue *rue = a->rue;
	const char *params[CONFIG_RUE_PARAMS + 1];

	while (rue->worker && rue_worker_sock(rue->worker) >= 0 && rue->engines < RUE_ENGINES) {
		const char *name = rue_host_name(rue->host, rue->engines);

		if (!*name)
			return;
		agent_rue_params(a, name, params);
		if (rue_worker_engine(rue->worker, rue->engines, name, params))
			rue->engines++;
		else
			part(a, "it does not read messages");
	}
}

/* The process has answered: events go there from now on. */
static void join(struct agent *a)
{
	struct agent_rue *rue = a->rue;

	rue->worker = rue->joining;
	rue->joining = NULL;
	rue->engines = 0;
	rue->complained = false;
	rue->stalled_since = a->now;
	agent_watch(a, rue_worker_fd(rue->worker));
	rue_host_swift_memory(rue->host, rue_worker_states(rue->worker), false);
	log_info("rate updates are computed by the engine at %s", a->config.agent.rue_socket);
	agent_rue_share_engines(a);
}

static void complain(struct agent *a, const char *why)
{
	if (!a->rue->complained)
		log_warn("no rate update engine: %s; computing without it, trying again", why);
	a->rue->complained = true;
}

static void look_at_joining(struct agent *a)
{
	struct rue_worker *w = a->rue->joining;
	char err[256];
	int news = rue_worker_look(w, err, sizeof(err));

	if (news > 0) {
		join(a);
	} else if (news < 0) {
		agent_unwatch(a, rue_worker_sock(w));
		rue_worker_stop(w);
		a->rue->joining = NULL;
		complain(a, err);
	}
}

static void look_at_process(struct agent *a)
{
	struct agent_rue *rue = a->rue;
	char err[256];

	if (rue_worker_look(rue->worker, err, sizeof(err)) < 0) {
		part(a, err);
		return;
	}
	if (!rue->under_way || rue->taken != rue->taken_then)
		rue->stalled_since = a->now;
	rue->taken_then = rue->taken;
	if (a->now - rue->stalled_since > STALL_NS)
		part(a, "it does not answer");
}

static void find_process(struct agent *a)
{
	struct agent_rue *rue = a->rue;
	char err[256];

	if (a->now < rue->next_try)
		return;
	rue->next_try = a->now + RETRY_NS;
	rue->joining = rue_worker_connect(rue->host, a->config.agent.rue_socket,
					  agent_rue_flows(a), a->maps.nconns, err, sizeof(err));
	if (rue->joining)
		agent_watch(a, rue_worker_sock(rue->joining));
	else
		complain(a, err);
}

void agent_rue_tick(struct agent *a)
{
	if (a->config.agent.rue_mode != CONFIG_RUE_PROCESS)
		return;
	if (a->rue->worker)
		look_at_process(a);
	else if (a->rue->joining)
		look_at_joining(a);
	else
		find_process(a);
}

bool agent_rue_watches(const struct agent *a, int fd)
{
	const struct rue_worker *w = a->rue->worker ? a->rue->worker : a->rue->joining;

	return w && fd == rue_worker_sock(w);
}

const char *agent_rue_where(const struct agent *a)
{
	if (!a->rue->worker)
		return "inline";
	return rue_worker_sock(a->rue->worker) < 0 ? "thread" : "process";
}

bool agent_rue_trace_set(struct agent *a, struct rue_trace *t, int fd, uint32_t records,
			 int64_t only)
{
	struct rue_worker *w = a->rue->worker;

	if (!w || rue_worker_sock(w) < 0) {
		rue_host_trace(a->rue->host, t, records, only);
		return true;
	}
	return rue_worker_trace(w, fd, t ? records : 0, only);
}
