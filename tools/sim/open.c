// SPDX-License-Identifier: BSD-2-Clause
/* A run's parts: hosts, links, both ends of every connection; made, and given back. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum {
	EPOCH_S = 1000,			/* virtual time begins here */
	SPI = 0x5a5a0000,
	FAIR_ENDS = 64,			/* of a host, at most, if it is to be checked who is served */
	TXN_RING = 512,			/* transactions of interest, where nothing is checked */
	OVERLONG = 16,			/* bytes that a response may be too long by, and then some */
};

_Static_assert(TXN_RING >= 2 * FCORE_MAX_TXNS, "what is delivered twice is still known");

static void *zalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		abort();
	return p;
}

static void open_host(struct sim *s, uint32_t i)
{
	struct host *h = &s->hosts[i];

	h->sim = s;
	h->cfg = &s->cfg->host[i];
	h->index = i;
	rng_seed(&h->rng, s->cfg->seed, 1000 + i);
	h->config.replay_margin = h->cfg->replay_margin * FALCON_PS_PER_NS;
	h->agent_at = h->ack_due = FCORE_NEVER;
	h->next_pause = s->now + rng_below(&h->rng, h->cfg->pause_every + 1);
	h->credits = h->cfg->credits;
	h->mtu = (uint32_t)h->cfg->mtu;
	host_lose_frames(h);
}

/* What depends on how many ends of connections there are. */
static void fill_host(struct sim *s, uint32_t i)
{
	struct host *h = &s->hosts[i];

	pool_config(h);
	h->ep = zalloc(h->neps, sizeof(*h->ep));
	h->dirty = zalloc(2 * h->neps, sizeof(*h->dirty));
	h->touched = zalloc(h->neps, sizeof(*h->touched));
	if (s->cfg->checks && h->neps <= FAIR_ENDS)
		h->passed = zalloc((size_t)h->neps * h->neps, sizeof(*h->passed));
	h->by_cid = zalloc(h->ncids, sizeof(struct endpoint *));
	h->neps = 0;
}

/* Where the sequence of this window begins, and with checks, what is known of its packets. */
static void open_shadow(const struct sim *s, struct shadow *w, uint32_t size)
{
	w->size = size;
	if (s->cfg->checks)
		w->psn = zalloc(size + 1, sizeof(*w->psn));
}

static uint32_t txns_kept(const struct endpoint *e)
{
	return e->txn_mask == UINT32_MAX ? e->ntxns : e->txn_mask + 1;
}

/* Identity of one end; its connection opens when both ends have theirs. */
static void init_ep(struct sim *s, const struct sim_conn_cfg *c, uint32_t nth, uint32_t n)
{
	struct endpoint *e = &s->ep[n];

	e->sim = s;
	e->peer = &s->ep[n ^ 1];
	e->cfg = c;
	e->group = &s->groups[c - s->cfg->conn];
	e->index = n;
	e->host = &s->hosts[sim_cfg_host(s->cfg, c, nth, n & 1)];
	/* The two ends, and hosts, count differently. */
	e->cid = 1 + e->host->index + e->host->neps++;
	e->host->ncids = e->cid + 1;
	rng_seed(&e->rng, s->cfg->seed, 3000 + n);
	e->salt = (uint32_t)rng_mix(s->cfg->seed ^ n << 8);
	/* Both ends count from different numbers; with psn or rsn 0 they are just that. */
	e->first_rsn = (uint32_t)c->rsn + (n & 1 && c->rsn ? 17 : 0);
	e->data.first = (uint32_t)c->psn + (n & 1 && c->psn ? 31 : 0);
	e->req.first = (uint32_t)c->psn + (c->psn ? 13 : 0);
	e->fcwnd = (uint32_t)c->fcwnd;
	e->ncwnd = (uint32_t)c->ncwnd;
	ulp_open(e);
	e->txn_mask = s->cfg->checks || e->ntxns < TXN_RING ? UINT32_MAX : TXN_RING - 1;
	e->txns = zalloc(txns_kept(e), sizeof(*e->txns));
	e->shared = aligned_alloc(FALCON_CACHE_LINE, sizeof(*e->shared));
	if (!e->shared)
		abort();
	memset(e->shared, 0, sizeof(*e->shared));
}

static void set_address(uint8_t addr[16], const struct endpoint *e)
{
	memset(addr, 0, 16);
	addr[0] = e->cfg->ipv6 ? 0xfd : 10;
	addr[e->cfg->ipv6 ? 15 : 3] = (uint8_t)(1 + e->host->index);
}

/* The SPI that packets to |e| have, another one in each incarnation. */
static uint32_t spi_of(const struct endpoint *e)
{
	return SPI + e->index + (e->incarnation << 20);
}

void set_route(struct endpoint *e)
{
	struct frame_route r = {
		.ipv6 = e->cfg->ipv6,
		.src_mac = { 2, 0, 0, 0, e->host->station, (uint8_t)e->host->index },
		.dst_mac = { 2, 0, 0, 0, e->peer->host->station, (uint8_t)e->peer->host->index },
		.encap = FALCON_PSP_CLEAR,
		.spi = spi_of(e->peer),
	};

	set_address(r.src_addr.b, e);
	set_address(r.dst_addr.b, e->peer);
	secure_route(e, &r);
	frame_template_init(&e->tpl, &r);
	frame_template_init(&e->xdp_tpl, &r);
}

static void set_identity(struct endpoint *e)
{
	struct falcon_conn_id *id = &e->shared->id;

	memset(id, 0, sizeof(*id));
	id->cid = e->cid;
	id->peer_cid = e->peer->cid;
	id->cur_spi = spi_of(e);
	id->peer_spi = spi_of(e->peer);
	set_address(id->local_addr, e);
	set_address(id->peer_addr, e->peer);
	id->flags = FALCON_CONN_ALIVE | FALCON_CONN_CLEAR |
		    (e->cfg->ordered ? FALCON_CONN_ORDERED : 0) |
		    (e->cfg->ipv6 ? FALCON_CONN_IPV6 : 0);
	secure_identity(e);
}

static void open_core(struct endpoint *e)
{
	const struct sim_conn_cfg *c = e->cfg;
	const struct fcore_params p = {
		.ordered = c->ordered,
		.no_flow_control = !c->flow_control,
		.tx_data_psn = e->data.first,
		.tx_req_psn = e->req.first,
		.rx_data_psn = e->peer->data.first,
		.rx_req_psn = e->peer->req.first,
		.tx_rsn = e->first_rsn + e->begun,
		.rx_rsn = e->peer->first_rsn + e->peer->begun,
		.fcwnd = (uint32_t)c->fcwnd,
		.ncwnd = (uint32_t)c->ncwnd,
		.rto_ns = c->rto,
		.max_retx = (uint32_t)c->max_retx,
		.txn_timeout_ns = c->txn_timeout,
		.rnr_patience_ns = c->rnr_patience,
		.ack_timeout_ns = c->ack_timeout,
		.ack_count = (uint32_t)c->ack_count,
		.ar_fcwnd = (uint32_t)c->ar_fcwnd,
		.ar_percent = (uint32_t)c->ar_percent,
		.ooo_threshold = (uint32_t)c->ooo_threshold,
		.early_retx = (enum fcore_early_retx)c->early_retx,
		.rack_rto_ns = c->rack_rto,
		.tlp_ns = c->tlp,
		.flows = (uint32_t)c->flows,
		.prr_threshold = (uint32_t)c->prr_threshold,
		.path_seed = e->salt,
		.local_function = pool_function(e),
	};

	e->core = fcore_conn_open(e->host->core, e->cid, e->shared, &p, host_now(e->host));
	if (!e->core)
		abort();
	fcore_conn_set_user(e->core, e);
	pool_limit(e);
	check_told_first(e);
	path_open(e);
	/* XDP cannot open what is sealed. */
	if (e->host->cfg->offload && e->host->cfg->exec && !secure_wanted(e->cfg))
		fcore_exec_offer(e->core);
}

void open_incarnation(struct endpoint *e)
{
	e->begins = false;
	set_route(e);
	set_identity(e);
	open_core(e);
	secure_up(e);
}

static void open_ep(struct endpoint *e)
{
	struct host *h = e->host;

	/* Pushes and responses share the data window; a PSN is never given twice. */
	open_shadow(e->sim, &e->data, e->ntxns + e->peer->ntxns);
	open_shadow(e->sim, &e->req, e->ntxns);
	if (!secure_establish(e))
		abort();
	open_incarnation(e);
	h->by_cid[e->cid] = e;
	e->nth = h->neps;
	h->ep[h->neps++] = e;
}

static void first_events(struct endpoint *e)
{
	const struct sim_conn_cfg *c = e->cfg;
	struct sim *s = e->sim;
	uint64_t start = c->start + rng_below(&e->rng, c->start_spread + 1);

	if (e->nmessages) {
		sim_at(s, s->now + start, EV_SUBMIT, e, 0);
		e->submit_pending = true;
	}
	if (c->rue_every)
		sim_at(s, s->now + rng_below(&e->rng, 2 * c->rue_every), EV_RUE, e, 0);
	if (secure_wanted(c) && c->rekey_every && e->index % 2 == 0)
		sim_at(s, s->now + rng_below(&e->rng, 2 * c->rekey_every), EV_REKEY, e, 0);
	if (c->close_at)
		sim_at(s, s->now + c->close_at + rng_below(&e->rng, 50 * SIM_US), EV_CLOSE, e, 0);
}

static bool any_secure(const struct sim_cfg *cfg)
{
	for (uint64_t i = 0; i < cfg->nconns; i++)
		if (secure_wanted(&cfg->conn[i]))
			return true;
	return false;
}

/* Frames and payloads as long as any connection of the scenario needs. */
static void open_pools(struct sim *s)
{
	uint64_t longest = 0;

	for (uint64_t i = 0; i < s->cfg->nconns; i++) {
		const struct sim_conn_cfg *c = &s->cfg->conn[i];
		uint64_t len = c->message ? c->mtu : c->size_max;

		/* Probes are as long as any packet can be. */
		len = c->path && len < SIM_MAX_MTU ? SIM_MAX_MTU : len;
		longest = len > longest ? len : longest;
	}
	longest += OVERLONG;
	s->frame_len = (uint32_t)(FRAME_MAX_HDR + FALCON_MAX_HDR_LEN + SIM_ULP_HDR + longest);
	if (any_secure(s->cfg))
		s->frame_len += FRAME_MAX_TRAILER;
	s->blank = zalloc(1, longest);
	pool_open(&s->payloads, longest);
	pool_open(&s->frames, sizeof(struct frame) + FRAME_MAX_HDR + FALCON_MAX_HDR_LEN +
			      SIM_ULP_HDR + (s->cfg->data ? longest + FRAME_MAX_TRAILER : 0));
}

static void open_connections(struct sim *s)
{
	const struct sim_cfg *cfg = s->cfg;
	uint32_t n = 0;

	for (uint64_t i = 0; i < cfg->nconns; i++)
		s->neps += 2 * (uint32_t)cfg->conn[i].count;
	s->ep = zalloc(s->neps, sizeof(*s->ep));
	s->groups = zalloc(cfg->nconns, sizeof(*s->groups));
	for (uint64_t i = 0; i < cfg->nconns; i++) {
		for (uint32_t nth = 0; nth < cfg->conn[i].count; nth++, n += 2) {
			init_ep(s, &cfg->conn[i], nth, n);
			init_ep(s, &cfg->conn[i], nth, n + 1);
		}
	}
	for (uint32_t i = 0; i < cfg->hosts; i++)
		fill_host(s, i);
	for (uint32_t i = 0; i < cfg->hosts; i++)
		secure_open(&s->hosts[i]);
	for (uint32_t i = 0; i < s->neps; i += 2)
		secure_agree(&s->ep[i]);
	for (uint32_t i = 0; i < s->neps; i++)
		open_ep(&s->ep[i]);
	for (uint32_t i = 0; i < s->neps; i++)
		first_events(&s->ep[i]);
	for (uint32_t i = 0; i < cfg->hosts; i++)
		filter_open(&s->hosts[i]);
	for (uint32_t i = 0; i < cfg->hosts; i++) {
		path_open_host(&s->hosts[i]);
		crash_open(&s->hosts[i]);
	}
}

void sim_open(struct sim *s, const struct sim_cfg *cfg, FILE *trace, bool measure)
{
	/* All but the queue's slots, which need no clearing. */
	memset((void *)s, 0, offsetof(struct sim, events));
	memset((char *)s + offsetof(struct sim, frames), 0,
	       sizeof(*s) - offsetof(struct sim, frames));
	s->cfg = cfg;
	s->trace = trace;
	s->measure = measure;
	s->now = s->start = EPOCH_S * SIM_S;
	s->failed_ep = -1;
	event_open(&s->events, s->now);
	open_pools(s);
	s->hosts = zalloc(cfg->hosts, sizeof(*s->hosts));
	for (uint32_t i = 0; i < cfg->hosts; i++)
		open_host(s, i);
	link_open(s);
	open_connections(s);
	if (!engine_open(s))
		sim_fail(s, NULL, "no rate update engine");
	sim_at(s, s->now + cfg->heal, EV_HEAL, NULL, 0);
}

static void free_event(struct sim *s, const struct event *ev)
{
	if (ev->kind == EV_PORT || ev->kind == EV_UPLINK || ev->kind == EV_ARRIVE)
		pool_put(&s->frames, ev->p);
}

static void add_up(struct sim *s)
{
	struct sim_totals *t = &s->totals;

	for (uint32_t i = 0; i < s->neps; i++) {
		const struct fcore_stats *st = &s->ep[i].stats;

		t->retx_rto += st->tx_retx_rto;
		t->retx_early += st->tx_retx_early;
		t->retx_own += st->tx_retx_own;
		t->retx_rack += st->tx_retx_rack;
		t->resyncs += st->tx_resyncs;
		t->released += st->claims_released;
	}
	for (uint32_t i = 0; i < s->cfg->hosts; i++) {
		t->refused += s->hosts[i].tx_refused;
		for (int v = 0; v < FALCON_VERDICT_COUNT; v++)
			t->verdicts[v] += s->hosts[i].counters[v];
	}
}

static void close_host(struct sim *s, uint32_t i)
{
	struct host *h = &s->hosts[i];

	host_lose_frames(h);
	if (h->frames)
		sim_fail(s, NULL, "host %u: %ld frames lost at closing", i, h->frames);
	if (h->core) {
		check_pools_full(h, "closing");
		fcore_destroy(h->core);
	}
	engine_close(h);
	secure_close(h);
	free(h->dirty);
	free(h->touched);
	free(h->passed);
	free(h->by_cid);
	free(h->ep);
	free(h->responses);
	free(h->sinks);
}

static void free_ep(struct endpoint *e)
{
	for (uint32_t i = 0; i < txns_kept(e); i++)
		ulp_put_bytes(e, e->txns[i].payload);
	ulp_close(e);
	free(e->txns);
	free(e->data.psn);
	free(e->req.psn);
	free(e->shared);
}

void sim_close(struct sim *s)
{
	struct event ev;

	for (uint32_t i = 0; i < s->neps; i++)
		host_close_ep(&s->ep[i]);
	add_up(s);
	for (uint32_t i = 0; i < s->cfg->hosts; i++)
		close_host(s, i);
	while (event_take(&s->events, &ev))
		free_event(s, &ev);
	for (uint32_t i = 0; i < s->neps; i++)
		free_ep(&s->ep[i]);
	for (uint64_t i = 0; i < s->cfg->nconns; i++)
		free(s->groups[i].latency);
	link_close(s);
	event_close(&s->events);
	pool_close(&s->frames);
	pool_close(&s->payloads);
	free(s->keys);
	free(s->blank);
	free(s->groups);
	free(s->ep);
	free(s->hosts);
}
