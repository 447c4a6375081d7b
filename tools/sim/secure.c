// SPDX-License-Identifier: BSD-2-Clause
#include "secure.h"

#include "check.h"

#include <agent/agent.h>
#include <agent/conn/conn.h>
#include <agent/conn/security.h>
#include <base/log.h>
#include <crypto/sa_priv.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SADB_KEYS = 3,		/* of a connection: current, previous, and one on the way in */
	SESSION_LOST = 8,	/* one answer in so many: then what it answers comes again */
};

/* The steps between managers, each some time after the one before; above them the incarnation. */
enum step {
	STEP_ASK,		/* its manager asks for a new key */
	STEP_TAKE,		/* the peer's hears of it */
	STEP_ANSWER,		/* ... and has said so */
	STEP_BITS = 2,
};

/* The connection manager of a host. */
struct cm {
	struct host *host;
};

struct offered {
	struct cm_security security;	/* that the peer shall seal with */
	uint64_t key;			/* by which the checks know it */
	bool open;			/* the peer has not answered */
	struct cm_security peers;	/* that the peer has offered for this incarnation */
	uint64_t peers_key;
};

struct sadb_entry {
	uint32_t spi;			/* 0: not used */
	uint32_t cid;
};

struct security {
	struct agent agent;		/* of it, only what is about keys */
	struct cm cm;
	struct agent_conn *conn;	/* by CID */
	struct offered *offered;	/* the same */
	struct sadb_entry *sadb;	/* falcon_sadb, |size| entries */
	uint32_t size;
};

static const uint8_t encaps[] = {
	[SIM_ENCAP_CLEAR] = FALCON_PSP_CLEAR,
	[SIM_ENCAP_PSP_128] = FALCON_PSP_AES_GCM_128,
	[SIM_ENCAP_PSP_256] = FALCON_PSP_AES_GCM_256,
	[SIM_ENCAP_GMAC] = FALCON_PSP_GMAC_128,
	[SIM_ENCAP_ESP] = FALCON_ESP_AES_GCM_256,
};

uint8_t secure_encap(const struct sim_conn_cfg *c)
{
	return encaps[c->encap];
}

/* What the agent's code calls. */

void log_msg(enum log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

static struct security *security_of_maps(struct maps *m)
{
	return (struct security *)((char *)m - offsetof(struct security, agent.plane.maps));
}

static struct sadb_entry *find_sa(const struct security *s, uint32_t spi)
{
	for (uint32_t i = 0; i < s->size; i++)
		if (s->sadb[i].spi == spi)
			return &s->sadb[i];
	return NULL;
}

int maps_sadb_add(struct maps *m, uint32_t spi, uint32_t cid)
{
	struct security *s = security_of_maps(m);
	struct sadb_entry *entry = find_sa(s, spi);

	if (!entry)
		entry = find_sa(s, 0);
	if (!entry)
		return -E2BIG;
	*entry = (struct sadb_entry){ spi, cid };
	return 0;
}

void maps_sadb_del(struct maps *m, uint32_t spi)
{
	struct sadb_entry *entry = find_sa(security_of_maps(m), spi);

	if (entry)
		entry->spi = 0;
}

static void next_step(struct endpoint *e, enum step step)
{
	uint64_t delay = 1 + rng_below(&e->rng, e->host->cfg->key_delay + 1);

	sim_at(e->sim, e->sim->now + delay, EV_KEY, e, e->incarnation << STEP_BITS | step);
}

int cm_rekey(struct cm *cm, uint32_t cid)
{
	struct endpoint *e = cm->host->by_cid[cid];
	struct offered *o = &cm->host->security->offered[cid];

	if (!e->peer->core)
		return -ENOTCONN;
	if (o->open)
		return -EALREADY;
	o->open = true;
	next_step(e, STEP_ASK);
	return 0;
}

/* The agents of both ends take it down. */
static void fail(struct endpoint *e)
{
	if (e->fatal)
		return;
	e->sim->totals.fatal++;
	sim_trace(e->sim, "fatal", e, 0, 0, 0);
	e->fatal = true;
	sim_at(e->sim, e->sim->now + SIM_US, EV_CLOSE, e, 0);
	sim_at(e->sim, e->sim->now + 100 * SIM_US, EV_CLOSE, e->peer, 0);
}

void agent_conn_fail(struct agent_conn *c, const char *why)
{
	struct host *h = c->agent->cm->host;
	struct endpoint *e = h->by_cid[c->cfg.local_cid];

	sim_fail(h->sim, e, "the agent gives the connection up: %s", why);
	fail(e);
}

void secure_failed(struct endpoint *e, int err)
{
	check_worn(e, err);
	fail(e);
}

static bool needs_keys(const struct host *h)
{
	const struct sim *s = h->sim;

	for (uint32_t i = 0; i < s->neps; i++)
		if (s->ep[i].host == h && secure_wanted(s->ep[i].cfg))
			return true;
	return false;
}

static void *zalloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		abort();
	return p;
}

/* As the agent makes its own: clear connections are there, too, since they follow the generation of keys. */
static void open_conns(struct host *h, struct security *s)
{
	for (uint32_t i = 0; i < h->sim->neps; i++) {
		struct endpoint *e = &h->sim->ep[i];
		struct agent_conn *c = &s->conn[e->cid];

		if (e->host != h)
			continue;
		c->agent = &s->agent;
		c->shard = &s->agent.plane.shards[0];
		c->cfg.local_cid = e->cid;
		snprintf(c->cfg.name, sizeof(c->cfg.name), "%u.%u", e->index / 2, e->index % 2);
		c->sec = (struct sec){ .maps = &s->agent.plane.maps, .cid = e->cid,
				       .encap = secure_encap(e->cfg) };
		c->shared = e->shared;
		s->agent.conns[e->cid] = c;
		h->by_cid[e->cid] = e;
	}
}

void secure_open(struct host *h)
{
	struct security *s;

	if (!needs_keys(h))
		return;
	s = h->security = zalloc(1, sizeof(*s));
	s->conn = zalloc(h->ncids, sizeof(*s->conn));
	s->offered = zalloc(h->ncids, sizeof(*s->offered));
	s->size = h->ncids * SADB_KEYS;
	s->sadb = zalloc(s->size, sizeof(*s->sadb));
	s->cm.host = h;
	s->agent.cm = &s->cm;
	s->agent.plane.maps.config = &h->config;
	s->agent.plane.maps.nconns = h->ncids;
	s->agent.config.agent = (struct agent_options){
		.pcid = h->cfg->pcid,
		.key_packets = h->cfg->key_packets,
		.key_bytes = UINT64_MAX,
		.key_settle_ns = h->cfg->key_settle,
		.key_lifetime_ns = h->sim->healed ? 0 : h->cfg->key_lifetime,
	};
	if (sec_keys_open(&s->agent.keys) < 0) {
		fputs("falcon-sim: no locked memory or no random numbers for keys\n", stderr);
		abort();
	}
	rekey_init(&s->agent);
	if (s->agent.config.agent.key_lifetime_ns)
		s->agent.rekey.next_rotation = host_now(h) + h->cfg->key_lifetime;
	h->config.cur_spi_gen = sec_keys_generation(s->agent.keys);
	h->config.pcid_match = h->cfg->pcid;
	open_conns(h, s);
}

void secure_close(struct host *h)
{
	struct security *s = h->security;

	if (!s)
		return;
	for (uint32_t cid = 0; cid < h->ncids; cid++)
		if (s->agent.conns[cid])
			sec_close(&s->conn[cid].sec);
	sec_keys_close(s->agent.keys);
	free(s->sadb);
	free(s->offered);
	free(s->conn);
	free(s);
	h->security = NULL;
}

static struct agent_conn *conn_of(const struct endpoint *e)
{
	return e->host->security ? &e->host->security->conn[e->cid] : NULL;
}

static struct offered *offered_by(const struct endpoint *e)
{
	return &e->host->security->offered[e->cid];
}

static struct agent *agent_at(const struct endpoint *e)
{
	struct agent *a = &e->host->security->agent;

	a->now = host_now(e->host);
	return a;
}

/* |e| has a key that its peer shall seal with. */
static void make_key(struct endpoint *e)
{
	struct offered *o = offered_by(e);

	if (agent_fill_security(agent_at(e), e->cid, &o->security) < 0)
		abort();
	if (secure_wanted(e->cfg))
		o->key = check_key_made(e, o->security.key, o->security.key_len);
}

/* A key may have done most of its work already. */
static void wear(const struct endpoint *e)
{
	if (e->cfg->key_left)
		conn_of(e)->sec.tx->used.packets = SA_MAX_PACKETS - e->cfg->key_left;
}

void secure_agree(struct endpoint *e)
{
	struct endpoint *ends[] = { e, e->peer };

	if (!secure_wanted(e->cfg))
		return;
	for (int i = 0; i < 2; i++) {
		ends[i]->keys = (struct key_use){ .until = FCORE_NEVER };
		*offered_by(ends[i]) = (struct offered){ 0 };
		make_key(ends[i]);
	}
	for (int i = 0; i < 2; i++) {
		offered_by(ends[i])->peers = offered_by(ends[!i])->security;
		offered_by(ends[i])->peers_key = offered_by(ends[!i])->key;
	}
}

bool secure_establish(struct endpoint *e)
{
	struct agent_conn *c = conn_of(e);
	const struct offered *o;
	char err[128];
	int rc;

	if (!secure_wanted(e->cfg))
		return true;
	o = offered_by(e);
	c->ours.security = o->security;
	c->peer.security = o->peers;
	agent_at(e);
	rc = agent_agree_security(c, err, sizeof(err));
	if (rc == -ESTALE)
		return false;
	if (rc < 0)
		sim_fail(e->sim, e, "no agreement on keys: %s", err);
	check_key_taken(e, o->peers_key);
	wear(e);
	return true;
}

void secure_route(const struct endpoint *e, struct frame_route *r)
{
	const struct agent_conn *c = conn_of(e);

	/* Without an agent nothing is sealed. */
	if (!secure_wanted(e->cfg) || !c)
		return;
	r->encap = c->sec.encap;
	r->spi = c->peer.security.spi;
	r->vc = c->sec.peer_pcid != 0;
	r->cookie = c->sec.peer_pcid;
}

void secure_identity(struct endpoint *e)
{
	struct falcon_conn_id *id = &e->shared->id;
	const struct agent_conn *c = conn_of(e);

	id->cur_spi_gen = e->host->config.cur_spi_gen;
	if (!secure_wanted(e->cfg))
		return;
	id->flags &= ~(__u32)FALCON_CONN_CLEAR;
	id->cur_spi = id->prev_spi = c->ours.security.spi;
	id->cur_spi_gen = c->ours.security.generation;
	id->peer_spi = c->peer.security.spi;
	id->encap = falcon_encap_seen(c->sec.encap);
	id->pcid = c->sec.pcid;
}

void secure_up(struct endpoint *e)
{
	struct agent_conn *c = conn_of(e);

	if (!c)
		return;
	agent_at(e);
	c->core = e->core;
	c->state = AGENT_CONN_UP;
	rekey_join(c);
}

void secure_down(struct endpoint *e)
{
	struct agent_conn *c = conn_of(e);

	if (!c)
		return;
	agent_at(e);
	c->core = NULL;
	c->state = AGENT_CONN_WAITING;
	rekey_leave(c);
	sec_close(&c->sec);
}

struct sa *secure_sa(const struct endpoint *e)
{
	return secure_wanted(e->cfg) ? conn_of(e)->sec.tx : NULL;
}

uint32_t secure_around(const struct endpoint *e)
{
	const struct agent_conn *c = conn_of(e);

	return frame_around(secure_encap(e->cfg), c && c->sec.peer_pcid, 0);
}

struct endpoint *secure_find(const struct host *h, uint32_t spi)
{
	const struct sadb_entry *sa = h->security ? find_sa(h->security, spi) : NULL;

	return sa ? h->by_cid[sa->cid] : NULL;
}

/* As the shard tells control. */
static void use_up(struct agent_conn *c)
{
	if (sec_worn(&c->sec, c->agent->config.agent.key_packets, c->agent->config.agent.key_bytes))
		rekey_worn(c);
}

enum falcon_verdict secure_open_packet(struct endpoint *e, uint8_t *frame, struct falcon_frame *f)
{
	struct agent_conn *c = conn_of(e);
	enum falcon_verdict v;

	agent_at(e);
	v = sec_open(&c->sec, frame, f);
	if (v == FALCON_V_rx_data)
		use_up(c);
	return v;
}

void secure_run(struct host *h)
{
	if (!h->security)
		return;
	h->security->agent.now = host_now(h);
	rekey_run(&h->security->agent);
	for (uint32_t i = 0; i < h->neps; i++)
		if (secure_wanted(h->ep[i]->cfg) && h->ep[i]->core)
			check_keys(h->ep[i], conn_of(h->ep[i])->sec.rx_prev != NULL);
}

uint64_t secure_deadline(const struct host *h)
{
	return h->security ? rekey_deadline(&h->security->agent) : UINT64_MAX;
}

void secure_rekey(struct endpoint *e)
{
	char why[128];

	if (!e->core || e->fatal)
		return;
	agent_at(e);
	/* It may say that this is under way. */
	if (rekey_conn(conn_of(e), why, sizeof(why)) == 0)
		host_kick(e->host, e->sim->now);
}

static void take(struct endpoint *e)
{
	struct endpoint *peer = e->peer;
	struct offered *o = offered_by(e);

	if (agent_use_security(agent_at(peer), peer->cid, &o->security) < 0)
		sim_fail(e->sim, peer, "does not take its peer's key");
	if (check_key_taken(peer, o->key))
		wear(peer);
	if (rng_below(&e->rng, SESSION_LOST))
		next_step(e, STEP_ANSWER);
	else
		next_step(e, STEP_TAKE);
}

void secure_step(struct endpoint *e, uint32_t what)
{
	enum step step = what & ((1U << STEP_BITS) - 1);

	if ((e->incarnation << STEP_BITS | step) != what || !e->core || !e->peer->core)
		return;
	sim_trace(e->sim, "key", e, step, 0, 0);
	if (step == STEP_ASK) {
		make_key(e);
		next_step(e, STEP_TAKE);
	} else if (step == STEP_TAKE) {
		take(e);
	} else {
		offered_by(e)->open = false;
		agent_security_used(agent_at(e), e->cid, offered_by(e)->security.generation);
		check_key_answered(e);
		e->sim->totals.rekeys++;
	}
	host_kick(e->host, e->sim->now);
}

void secure_heal(struct host *h)
{
	if (!h->security)
		return;
	h->security->agent.config.agent.key_lifetime_ns = 0;
	h->security->agent.rekey.next_rotation = UINT64_MAX;
}

bool secure_replaces(const struct endpoint *e)
{
	return conn_of(e)->rekey != REKEY_NONE;
}

bool secure_settled(const struct host *h)
{
	return !h->security || (!h->security->agent.rekey.open && !h->security->agent.rekey.rotating);
}
