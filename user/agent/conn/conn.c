// SPDX-License-Identifier: BSD-2-Clause
/*
 * The set of connections: added, removed, set up anew. setup.c has what happens to one.
 *
 * There may be very many: none of this looks at all of them, but where the agent stops. A connection
 * that is removed is closed at once and nameless; its CID and memory come free when no XDP program
 * can be in its shared state any more, together with those of others, without anybody waiting.
 */
#include "agent/conn/conn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/conn/cid.h"
#include "agent/conn/filter.h"
#include "agent/conn/grace.h"
#include "agent/conn/loopback.h"
#include "agent/conn/path.h"
#include "agent/conn/route.h"
#include "agent/conn/setup.h"
#include "agent/rue/rue.h"
#include "agent/shard/shard.h"
#include "agent/tenant/quota.h"
#include "base/log.h"

/* What agent_conns_run() does at once. */
enum { REAP_AT_ONCE = 32, FORGET_AT_ONCE = 128 };

struct agent_conn *agent_conn_at(const struct agent *a, uint32_t cid)
{
	struct agent_conn *c = cid < a->plane.maps.nconns ? a->conns[cid] : NULL;

	return c && !c->leaving ? c : NULL;
}

static int start(struct agent_conn *c, char *err, size_t errlen)
{
	struct cm_local local;

	if (loopback_wanted(c))
		return loopback_start(c, err, errlen);
	agent_conn_offer(c, &local);
	if (!c->cfg.handshake)
		return agent_conn_start_static(c, err, errlen);
	snprintf(c->reason, sizeof(c->reason), "waiting for the peer's agent");
	return cm_add(c->agent->cm, &local, err, errlen);
}

static int check_conflicts(struct agent *a, const struct conn_config *cfg, char *err, size_t errlen)
{
	const struct agent_conn *named, *placed;

	if (cfg->local_cid >= a->plane.maps.nconns) {
		snprintf(err, errlen,
			 "connection %s: local_cid %u is beyond the %u connections that the attached "
			 "XDP object has room for; falcon-large.bpf.o has more",
			 cfg->name, cfg->local_cid, a->plane.maps.nconns);
		return -ERANGE;
	}
	named = agent_conn_named(a, cfg->name);
	placed = agent_conn_at(a, cfg->local_cid);
	if (named && config_conn_conflict(cfg, &named->cfg, err, errlen) < 0)
		return -EEXIST;
	return placed ? config_conn_conflict(cfg, &placed->cfg, err, errlen) : 0;
}

static void init_security(struct agent_conn *c)
{
	c->sec.maps = &c->agent->plane.maps;
	c->sec.cid = c->cfg.local_cid;
	c->sec.encap = config_encap(c->cfg.security);
	c->sec.tunnel = c->cfg.mode == CONFIG_MODE_TUNNEL;
	c->sec.inner_ipv6 = c->cfg.inner_family == AF_INET6;
	c->sec.inner_local = c->cfg.inner_local;
	c->sec.inner_peer = c->cfg.inner_remote;
}

struct entering {
	struct agent_conn *conn;
	char *err;
	size_t errlen;
	int rc;
};

/* In a call. */
static void take_cid(void *arg)
{
	struct entering *e = arg;
	struct agent_conn *c = e->conn;

	c->shard->conns[c->cfg.local_cid] = c;
	c->shard->nconns++;
	falcon_store(&c->agent->plane.shard_of[c->cfg.local_cid], (uint8_t)c->shard->index);
	e->rc = agent_rue_select(c, &c->cfg.cc, e->err, e->errlen);
}

/* Into the tables by CID, name and peer; agent_conn_start() or forget() takes it out. */
static int enter(struct agent_conn *c, char *err, size_t errlen)
{
	struct entering e = { .conn = c, .err = err, .errlen = errlen };
	struct agent *a = c->agent;

	HASH_ADD_KEYPTR(by_name, a->conn_names, c->cfg.name, strlen(c->cfg.name), c);
	if (!c->by_name.tbl || remotes_join(&a->remotes, c) < 0) {
		snprintf(err, errlen, "out of memory for connection %s", c->cfg.name);
		return -ENOMEM;
	}
	a->conns[c->cfg.local_cid] = c;
	a->nconns++;
	call_run(&c->shard->call, take_cid, &e);
	return e.rc;
}

/* It cannot be found any more. */
static void hide(struct agent_conn *c)
{
	struct agent *a = c->agent;

	if (c->by_name.tbl)
		HASH_DELETE(by_name, a->conn_names, c);
	c->by_name.tbl = NULL;
	filters_conn_gone(c);
	remotes_leave(&a->remotes, c);
}

/* In a call. */
static void leave_cid(void *arg)
{
	struct agent_conn *c = arg;
	struct shard *s = c->shard;

	if (c->noted.what)
		TAILQ_REMOVE(&s->news.conns, c, noted.link);
	/* Of an offer that was not taken. */
	sec_close(&c->sec);
	if (s->conns[c->cfg.local_cid] != c)
		return;
	memset(c->shared, 0, sizeof(*c->shared));
	s->conns[c->cfg.local_cid] = NULL;
	s->nconns--;
}

/* When no packet can be in its shared state. */
static void forget(struct agent_conn *c)
{
	struct agent *a = c->agent;

	agent_conn_call(c, leave_cid);
	if (a->conns[c->cfg.local_cid] == c) {
		a->conns[c->cfg.local_cid] = NULL;
		a->nconns--;
	}
	agent_cid_release(a, c->cfg.local_cid);
	free(c);
}

struct agent_conn *agent_conn_new(struct shard *s, const struct conn_config *cfg, struct ulp *ulp,
				  char *err, size_t errlen)
{
	struct agent_conn *c = calloc(1, sizeof(*c));
	struct agent *a = s->agent;

	if (!c) {
		snprintf(err, errlen, "out of memory for connection %s", cfg->name);
		agent_cid_release(a, cfg->local_cid);
		return NULL;
	}
	c->agent = a;
	c->shard = s;
	c->cfg = *cfg;
	c->ulp = ulp;
	c->ulp_data.proto = ulp->ops->proto;
	init_security(c);
	c->shared = &a->plane.maps.conns[cfg->local_cid];
	if (enter(c, err, errlen) == 0)
		return c;
	hide(c);
	forget(c);
	return NULL;
}

/* Nothing stays of a pair's other end if that was dialled. */
static void part_for_good(struct agent_conn *c, const char *why)
{
	struct agent_conn *twin = c->twin;

	c->gone = true;
	loopback_part(c, why);
	if (twin && twin->gone)
		agent_conn_take_down(twin, why);
}

/* In a call. */
static void gone(void *arg)
{
	struct agent_conn *c = arg;
	struct agent_conn_stats *sum = &c->shard->past_conns;
	const struct agent_conn_stats *s = &c->stats;

	if (c->ulp->ops->conn_gone)
		c->ulp->ops->conn_gone(c->ulp->self, c->cfg.local_cid);
	AGENT_CONN_STATS(STAT_ADD)
	c->leaving = true;
}

/* Whoever leaves is still to be let go. */
static void leave(struct agent_conn *c, const char *why)
{
	struct agent *a = c->agent;

	if (c->reaping)
		TAILQ_REMOVE(&a->reap, c, reap_link);
	c->reaping = false;
	if (c->cfg.handshake)
		cm_remove(a->cm, c->cfg.local_cid, why);
	agent_conn_take_down(c, why);
	if (c->loop)
		part_for_good(c, why);
	hide(c);
	if (c->owned)
		quota_uncharge(a->quota, c->owner, QUOTA_CONNECTIONS, 1);
	if (c->accepted && !c->loop)
		a->peer_conns[c->section]--;
	agent_conn_call(c, gone);
	TAILQ_INSERT_TAIL(&a->leaving, c, reap_link);
}

_Static_assert((int)ULP_DATA_MAX == (int)CM_ULP_DATA_MAX, "the offer carries what the upper layer says");

void agent_conn_set_data(struct agent_conn *c, const struct ulp_data *data)
{
	c->ulp_data.len = data->len;
	memcpy(c->ulp_data.data, data->bytes, sizeof(c->ulp_data.data));
}

int agent_conn_start(struct agent_conn *c, char *err, size_t errlen)
{
	int rc = start(c, err, errlen);

	if (rc < 0)
		leave(c, err);
	return rc;
}

void agent_conn_begin(struct agent_conn *c)
{
	char err[256] = "";

	if (start(c, err, sizeof(err)) == 0)
		return;
	agent_conn_tell_not_up(c, false, err);
	leave(c, err);
}

struct shard *agent_quietest_shard(struct agent *a)
{
	struct shard *s = &a->plane.shards[0];

	for (unsigned int i = 1; i < a->plane.nshards; i++)
		if (a->plane.shards[i].nconns < s->nconns)
			s = &a->plane.shards[i];
	return s;
}

/* Configured connections carry raw transactions. */
static int add(struct agent *a, const struct conn_config *cfg, uid_t owner, char *err, size_t errlen)
{
	struct shard *s = agent_quietest_shard(a);
	struct agent_conn *c = agent_conn_new(s, cfg, agent_ulp(s, FALCON_PROTO_RAW), err, errlen);

	if (!c)
		return -EINVAL;
	c->owner = owner;
	return agent_conn_start(c, err, errlen);
}

int agent_conn_add(struct agent *a, const struct conn_config *cfg, uid_t owner, char *err, size_t errlen)
{
	int rc = check_conflicts(a, cfg, err, errlen);
	struct conn_config chosen = *cfg;

	if (rc < 0)
		return rc;
	if (cfg->local_cid) {
		agent_cid_free(a, cfg->local_cid);
		if (!agent_cid_claim(a, cfg->local_cid)) {
			snprintf(err, errlen,
				 "connection %s: an application has made one with CID %u meanwhile",
				 cfg->name, cfg->local_cid);
			return -EEXIST;
		}
	} else {
		rc = agent_cid_choose(a, err, errlen);
		chosen.local_cid = (uint32_t)rc;
	}
	return rc < 0 ? rc : add(a, &chosen, owner, err, errlen);
}

int agent_conn_configure(struct agent *a, const struct conn_config *cfg, char *err, size_t errlen)
{
	int rc = agent_conn_add(a, cfg, 0, err, errlen);
	struct agent_conn *c = rc < 0 ? NULL : agent_conn_named(a, cfg->name);

	if (c)
		c->configured = true;
	return rc;
}

static struct agent_conn *find_or_explain(struct agent *a, const char *name, char *err,
					  size_t errlen)
{
	struct agent_conn *c = agent_conn_named(a, name);

	if (!c)
		snprintf(err, errlen, "no connection named \"%s\"; falconctl conn show lists them",
			 name);
	return c;
}

int agent_conn_del(struct agent *a, const char *name, char *err, size_t errlen)
{
	struct agent_conn *c = find_or_explain(a, name, err, errlen);

	if (!c)
		return -ENOENT;
	leave(c, "deleted by the operator");
	return 0;
}

/* Have agent_conns_run() look at it. */
static void reap_later(struct agent_conn *c)
{
	if (c->reaping || c->leaving)
		return;
	c->reaping = true;
	TAILQ_INSERT_TAIL(&c->agent->reap, c, reap_link);
}

void agent_conn_fail(struct agent_conn *c, const char *why)
{
	snprintf(c->reason, sizeof(c->reason), "%s", why);
	reap_later(c);
}

void agent_conn_drop(struct agent_conn *c, const char *why)
{
	snprintf(c->reason, sizeof(c->reason), "%s", why);
	c->gone = true;
	reap_later(c);
}

/* Down, and set up anew: by a new handshake, or at once without one. */
static int restart(struct agent_conn *c, const char *why, char *err, size_t errlen)
{
	agent_conn_take_down(c, why);
	c->state = AGENT_CONN_WAITING;
	if (c->accepted)
		agent_conn_drop(c, why);
	if (c->loop)
		loopback_part(c, why);
	else if (!c->cfg.handshake)
		return agent_conn_start_static(c, err, errlen);
	else
		cm_reset(c->agent->cm, c->cfg.local_cid, why);
	return 0;
}

int agent_conn_reset(struct agent *a, const char *name, char *err, size_t errlen)
{
	struct agent_conn *c = find_or_explain(a, name, err, errlen);

	return c ? restart(c, "reset by the operator", err, errlen) : -ENOENT;
}

/* A connection that has failed, or is to go. */
static void reap(struct agent_conn *c)
{
	char why[sizeof(c->reason)], err[256] = "";

	c->reaping = false;
	TAILQ_REMOVE(&c->agent->reap, c, reap_link);
	snprintf(why, sizeof(why), "%s", c->reason);
	if (c->gone)
		leave(c, why);
	else if (restart(c, why, err, sizeof(err)) < 0)
		log_warn("connection stays down conn=%s: %s", c->cfg.name, err);
}

bool agent_conns_run(struct agent *a)
{
	struct agent_conn *c;
	bool more;

	for (int n = 0; n < REAP_AT_ONCE && (c = TAILQ_FIRST(&a->reap)); n++)
		reap(c);
	for (int n = 0; n < FORGET_AT_ONCE && (c = TAILQ_FIRST(&a->leaving)); n++) {
		if (!agent_conn_settled(c))
			break;
		TAILQ_REMOVE(&a->leaving, c, reap_link);
		forget(c);
	}
	more = remotes_run(&a->remotes) || !TAILQ_EMPTY(&a->reap);
	return more || (!TAILQ_EMPTY(&a->leaving) && agent_conn_settled(TAILQ_FIRST(&a->leaving)));
}

/* Connections that have left keep theirs for a while; who wants just that one waits for it. */
void agent_cid_free(struct agent *a, uint32_t cid)
{
	struct agent_conn *c = a->conns[cid];

	if (!c || !c->leaving)
		return;
	agent_conn_settle(c);
	TAILQ_REMOVE(&a->leaving, c, reap_link);
	forget(c);
}

/* The way to the peer of |c| has changed. */
static void follow(struct agent_conn *c)
{
	agent_conn_route(c);
	if (c->cfg.handshake)
		cm_set_mtu(c->agent->cm, c->cfg.local_cid, c->route.mtu);
	if (c->core && c->routed && !c->loop)
		agent_path_follow(c);
}

void agent_conns_init(struct agent *a)
{
	TAILQ_INIT(&a->reap);
	TAILQ_INIT(&a->leaving);
	remotes_init(&a->remotes, follow);
}

int agent_conns_open(struct agent *a)
{
	a->remotes.neigh = a->neigh;
	a->grace = grace_start(maps_quiesce);
	return a->grace ? 0 : -ENOMEM;
}

void agent_conns_close(struct agent *a)
{
	struct agent_conn *c;

	for (uint32_t cid = 0; cid < a->plane.maps.nconns; cid++) {
		c = agent_conn_at(a, cid);
		if (c)
			leave(c, "the agent stops");
	}
	maps_quiesce();
	for (unsigned int i = 0; i < a->plane.nshards; i++)
		while (shard_receive(&a->plane.shards[i]))
			;
	for (unsigned int i = 0; i < a->plane.nshards; i++)
		shard_take_over(&a->plane.shards[i]);
	while ((c = TAILQ_FIRST(&a->leaving))) {
		TAILQ_REMOVE(&a->leaving, c, reap_link);
		forget(c);
	}
	grace_stop(a->grace);
	a->grace = NULL;
}
