// SPDX-License-Identifier: BSD-2-Clause
#include "agent/conn/loopback.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/config/keys.h"
#include "agent/conn/accept.h"
#include "agent/conn/cid.h"
#include "agent/conn/conn.h"
#include "agent/conn/dial.h"
#include "agent/conn/setup.h"
#include "agent/shard/loopq.h"
#include "agent/shard/shard.h"
#include "base/log.h"
#include "falcon/wire/psp.h"

static const uint64_t LOOPBACK_REDIAL_NS = CM_REDIAL_MS * 1000000ULL;

struct loopback {
	TAILQ_HEAD(, agent_conn) due;	/* connections to be dialled, by |loop_link| */
	uint64_t next_at;		/* ns: no connection's |loop_at| is earlier */
	uint64_t incarnations;		/* so many pairs were made */
};

bool loopback_wanted(const struct agent_conn *c)
{
	const struct neigh_entry *way = remote_route(&c->agent->remotes, c->remote);

	return !c->cfg.remote_cid && c->cfg.handshake && way && way->local;
}

static void not_due(struct agent_conn *c)
{
	if (c->loop_at != UINT64_MAX)
		TAILQ_REMOVE(&c->agent->loop->due, c, loop_link);
	c->loop_at = UINT64_MAX;
}

static void due(struct agent_conn *c, uint64_t at)
{
	not_due(c);
	c->loop_at = at;
	TAILQ_INSERT_TAIL(&c->agent->loop->due, c, loop_link);
	if (at < c->agent->loop->next_at)
		c->agent->loop->next_at = at;
}

/* What this host keeps to itself needs no keys, and is agreed on without messages. */
static void keep_inside(struct agent_conn *c)
{
	c->loop = true;
	c->loop_at = UINT64_MAX;
	c->cfg.handshake = false;
	c->cfg.security = CONFIG_SECURITY_CLEAR;
	c->cfg.mode = CONFIG_MODE_TRANSPORT;
	c->cfg.params.flows = 1;
	c->sec.encap = FALCON_PSP_CLEAR;
	c->sec.tunnel = false;
}

/* In a call: the first connection to ourselves needs a queue. */
static void make_queue(void *arg)
{
	struct shard *s = arg;

	if (!s->loopq)
		s->loopq = loopq_create(s->index);
}

static int have_queue(struct shard *s)
{
	call_run(&s->call, make_queue, s);
	return s->loopq ? 0 : -ENOMEM;
}

static int prepare(struct agent *a)
{
	if (!a->loop) {
		a->loop = calloc(1, sizeof(*a->loop));
		if (!a->loop)
			return -ENOMEM;
		TAILQ_INIT(&a->loop->due);
		a->loop->next_at = UINT64_MAX;
	}
	return 0;
}

int loopback_start(struct agent_conn *c, char *err, size_t errlen)
{
	struct agent *a = c->agent;

	if (prepare(a) < 0 || have_queue(c->shard) < 0) {
		snprintf(err, errlen, "out of memory for connection %s", c->cfg.name);
		return -ENOMEM;
	}
	keep_inside(c);
	due(c, a->now);
	snprintf(c->reason, sizeof(c->reason), "waiting for the other end, which is here");
	return 0;
}

void loopback_close(struct agent *a)
{
	for (unsigned int i = 0; i < a->plane.nshards; i++) {
		loopq_destroy(a->plane.shards[i].loopq);
		a->plane.shards[i].loopq = NULL;
	}
	free(a->loop);
	a->loop = NULL;
}

void loopback_part(struct agent_conn *c, const char *why)
{
	struct agent_conn *twin = c->twin;

	if (!c->accepted && !c->gone)
		due(c, c->agent->now + LOOPBACK_REDIAL_NS);
	else
		not_due(c);
	if (!twin)
		return;
	c->twin = twin->twin = NULL;
	if (twin->accepted)
		agent_conn_drop(twin, why);
	else
		agent_conn_fail(twin, why);
}

/* The other end of |c| as the one that is dialled. NULL with a sentence: refused. */
static struct agent_conn *answer(struct agent_conn *c, char *err, size_t errlen)
{
	static const struct chan_identity nobody;
	struct cm_request req = {
		.family = c->cfg.family,
		.who = &nobody,
		.function = c->cfg.params.function,
		.ordered = c->cfg.params.ordered,
		.ulp = c->ulp_data,
	};
	struct conn_config cfg = c->cfg;
	struct ulp_data reply = {};
	struct agent_conn *twin;
	struct shard *shard;
	struct ulp *ulp;
	int cid = agent_cid_choose(c->agent, err, errlen);

	if (cid < 0)
		return NULL;
	snprintf(cfg.name, sizeof(cfg.name), "%.48s.%d", c->cfg.name, cid);
	cfg.local_cid = (uint32_t)cid;
	cfg.local = c->cfg.remote;
	cfg.remote = c->cfg.local;
	if (agent_ask_ulp(c->agent, &cfg, &req, &shard, &ulp, &reply, err, errlen) < 0) {
		agent_cid_release(c->agent, (uint32_t)cid);
		return NULL;
	}
	twin = agent_conn_new(shard, &cfg, ulp, err, errlen);
	if (!twin) {
		agent_ulp_not_up(shard, ulp, (uint32_t)cid, err);
		return NULL;
	}
	agent_conn_set_data(twin, &reply);
	keep_inside(twin);
	twin->accepted = true;
	return twin;
}

static void fill_values(struct agent_conn *c, struct cm_values *v)
{
	*v = (struct cm_values){
		.incarnation = c->agent->loop->incarnations,
		.cid = c->cfg.local_cid,
		.function = c->cfg.params.function,
		.params.flows = 1,
		.ulp = c->ulp_data,
		.security = { .spi = 1, .version = FALCON_PSP_CLEAR },
	};
}

static void bring_up(struct agent_conn *c)
{
	if (agent_conn_go_up(c) < 0)
		agent_conn_fail(c, "out of memory");
}

static void join(struct agent_conn *c, struct agent_conn *twin)
{
	char err[sizeof(c->reason)] = "";

	c->agent->loop->incarnations++;
	c->twin = twin;
	twin->twin = c;
	fill_values(c, &c->ours);
	fill_values(twin, &twin->ours);
	c->peer = twin->ours;
	twin->peer = c->ours;
	c->cfg.remote_cid = twin->cfg.local_cid;
	twin->cfg.remote_cid = c->cfg.local_cid;
	c->twin_shard = twin->shard->index;
	twin->twin_shard = c->shard->index;
	if (have_queue(twin->shard) < 0)
		return agent_conn_fail(c, "out of memory");
	if (agent_conn_set_up(c, err, sizeof(err)) < 0 ||
	    agent_conn_set_up(twin, err, sizeof(err)) < 0) {
		agent_conn_fail(c, err);
		return;
	}
	bring_up(c);
	bring_up(twin);
}

static void dial(struct agent_conn *c)
{
	char err[sizeof(c->reason)] = "";
	struct agent_conn *twin;

	not_due(c);
	twin = answer(c, err, sizeof(err));
	if (twin)
		return join(c, twin);
	due(c, c->agent->now + LOOPBACK_REDIAL_NS);
	agent_conn_tell_not_up(c, true, err);
}

void loopback_dial(struct agent *a)
{
	struct agent_conn *c, *next;

	if (!a->loop || a->now < a->loop->next_at)
		return;
	a->loop->next_at = UINT64_MAX;
	for (c = TAILQ_FIRST(&a->loop->due); c; c = next) {
		next = TAILQ_NEXT(c, loop_link);
		if (c->loop_at <= a->now && !c->gone)
			dial(c);
		else if (c->loop_at < a->loop->next_at)
			a->loop->next_at = c->loop_at;
	}
}

uint64_t loopback_deadline(const struct agent *a)
{
	return a->loop ? a->loop->next_at : UINT64_MAX;
}
