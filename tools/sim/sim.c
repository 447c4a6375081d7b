// SPDX-License-Identifier: BSD-2-Clause
/* A run: setting it up, the event loop, and what must be true when everything has drained. */
#include "check.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	EPOCH_S = 1000,			/* virtual time begins here */
	MAX_EVENTS = 200000000,		/* beyond it nothing will come of it */
	REPLAY_MARGIN_S = 100,		/* no packet is late by as much */
	SPI = 0x5a5a0000,
};

void sim_fail(struct sim *s, const struct endpoint *e, const char *fmt, ...)
{
	va_list ap;

	if (s->failed)
		return;
	s->failed = true;
	s->failed_at = s->now - s->start;
	s->failed_ep = e ? (int)e->index : -1;
	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
}

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
	h->core = fcore_create(&host_ops, h, SIM_MAX_CONNS);
	if (!h->core)
		abort();
	rng_seed(&h->rng, s->cfg->seed, 1000 + i);
	h->config.replay_margin = REPLAY_MARGIN_S * SIM_S * FALCON_PS_PER_NS;
	h->agent_at = FCORE_NEVER;
	h->next_pause = s->now + rng_below(&h->rng, h->cfg->pause_every + 1);
	h->credits = h->cfg->credits;
	h->ring_end = &h->ring;
	h->dirty = zalloc(s->neps, sizeof(*h->dirty));
	h->ep = zalloc(s->neps, sizeof(*h->ep));
	s->links[i].cfg = &s->cfg->link[i];
	rng_seed(&s->links[i].rng, s->cfg->seed, 2000 + i);
}

static void open_shadow(struct shadow *w, uint32_t first, uint32_t size)
{
	w->first = first;
	w->size = size;
	w->psn = zalloc(size + 1, sizeof(*w->psn));
}

/* Identity and transactions of one end; its connection opens when both ends have theirs. */
static void init_ep(struct sim *s, uint32_t n)
{
	const struct sim_conn_cfg *c = &s->cfg->conn[n / 2];
	struct endpoint *e = &s->ep[n];

	e->sim = s;
	e->peer = &s->ep[n ^ 1];
	e->cfg = c;
	e->index = n;
	e->host = &s->hosts[n & 1 ? c->to : c->from];
	e->ntxns = (uint32_t)(n & 1 ? c->back : c->transactions);
	e->cid = 1 + n;
	rng_seed(&e->rng, s->cfg->seed, 3000 + n);
	e->salt = (uint32_t)rng_mix(s->cfg->seed ^ n << 8);
	/* Both ends count from different numbers; with psn or rsn 0 they are just that. */
	e->first_rsn = (uint32_t)c->rsn + (n & 1 && c->rsn ? 17 : 0);
	e->data.first = (uint32_t)c->psn + (n & 1 && c->psn ? 31 : 0);
	e->req.first = (uint32_t)c->psn + (c->psn ? 13 : 0);
	e->fcwnd = (uint32_t)c->fcwnd;
	e->ncwnd = (uint32_t)c->ncwnd;
	e->txn = zalloc(e->ntxns, sizeof(*e->txn));
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

static void set_route(struct endpoint *e)
{
	struct frame_route r = {
		.ipv6 = e->cfg->ipv6,
		.src_mac = { 2, 0, 0, 0, 0, (uint8_t)e->host->index },
		.dst_mac = { 2, 0, 0, 0, 0, (uint8_t)e->peer->host->index },
		.path = (uint16_t)e->index,
		.spi = SPI + e->peer->index,
	};

	set_address(r.src_addr, e);
	set_address(r.dst_addr, e->peer);
	frame_template_init(&e->tpl, &r);
	frame_template_init(&e->xdp_tpl, &r);
}

static void set_identity(struct endpoint *e)
{
	struct falcon_conn_id *id = &e->shared->id;

	id->cid = e->cid;
	id->peer_cid = e->peer->cid;
	id->cur_spi = SPI + e->index;
	id->peer_spi = SPI + e->peer->index;
	set_address(id->local_addr, e);
	set_address(id->peer_addr, e->peer);
	id->flags = FALCON_CONN_ALIVE | FALCON_CONN_CLEAR |
		    (e->cfg->ordered ? FALCON_CONN_ORDERED : 0) |
		    (e->cfg->ipv6 ? FALCON_CONN_IPV6 : 0);
}

static void open_ep(struct endpoint *e)
{
	const struct sim_conn_cfg *c = e->cfg;
	const struct fcore_params p = {
		.ordered = c->ordered,
		.tx_data_psn = e->data.first,
		.tx_req_psn = e->req.first,
		.rx_data_psn = e->peer->data.first,
		.rx_req_psn = e->peer->req.first,
		.tx_rsn = e->first_rsn,
		.rx_rsn = e->peer->first_rsn,
		.fcwnd = (uint32_t)c->fcwnd,
		.ncwnd = (uint32_t)c->ncwnd,
		.rto_ns = c->rto,
		.max_retx = (uint32_t)c->max_retx,
		.txn_timeout_ns = c->txn_timeout,
		.ack_timeout_ns = c->ack_timeout,
		.ack_count = (uint32_t)c->ack_count,
		.ar_fcwnd = (uint32_t)c->ar_fcwnd,
		.ar_percent = (uint32_t)c->ar_percent,
		.ooo_threshold = (uint32_t)c->ooo_threshold,
	};

	/* Pushes and responses share the data window; a PSN is never given twice. */
	open_shadow(&e->data, e->data.first, e->ntxns + e->peer->ntxns);
	open_shadow(&e->req, e->req.first, e->ntxns);
	set_route(e);
	set_identity(e);
	e->core = fcore_conn_open(e->host->core, e->cid, e->shared, &p, e->sim->now);
	if (!e->core)
		abort();
	fcore_conn_set_user(e->core, e);
	e->host->by_cid[e->cid] = e;
	e->host->ep[e->host->neps++] = e;
}

static void first_events(struct endpoint *e)
{
	const struct sim_conn_cfg *c = e->cfg;
	struct sim *s = e->sim;

	sim_at(s, s->now + c->start, EV_SUBMIT, e, 0);
	e->submit_pending = true;
	if (c->rue_every)
		sim_at(s, s->now + rng_below(&e->rng, 2 * c->rue_every), EV_RUE, e, 0);
	if (c->close_at)
		sim_at(s, s->now + c->close_at + rng_below(&e->rng, 50 * SIM_US), EV_CLOSE, e, 0);
}

void sim_open(struct sim *s, const struct sim_cfg *cfg, FILE *trace)
{
	memset(s, 0, sizeof(*s));
	s->cfg = cfg;
	s->trace = trace;
	s->now = s->start = EPOCH_S * SIM_S;
	s->neps = (uint32_t)cfg->nconns * 2;
	s->failed_ep = -1;
	s->hosts = zalloc(cfg->hosts, sizeof(*s->hosts));
	s->links = zalloc(cfg->hosts, sizeof(*s->links));
	s->ep = zalloc(s->neps, sizeof(*s->ep));
	for (uint32_t i = 0; i < cfg->hosts; i++)
		open_host(s, i);
	for (uint32_t i = 0; i < s->neps; i++)
		init_ep(s, i);
	for (uint32_t i = 0; i < s->neps; i++)
		open_ep(&s->ep[i]);
	for (uint32_t i = 0; i < s->neps; i++)
		first_events(&s->ep[i]);
	sim_at(s, s->now + cfg->heal, EV_HEAL, NULL, 0);
}

bool sim_ep_drained(const struct endpoint *e)
{
	const struct falcon_conn *c = e->shared;

	if (e->responses)
		return false;
	if (!e->core)
		return e->completed == e->submitted;
	return e->completed == e->ntxns && c->tx_acked.data_base == c->cc.data_next &&
	       c->tx_acked.req_base == c->cc.req_next;
}

static bool drained(const struct sim *s)
{
	for (uint32_t i = 0; i < s->cfg->hosts; i++)
		if (s->hosts[i].frames || s->hosts[i].ring)
			return false;
	for (uint32_t i = 0; i < s->neps; i++)
		if (!sim_ep_drained(&s->ep[i]))
			return false;
	return true;
}

/* When everything must have drained: the slowest way that each part may take, and some more. */
static uint64_t reckon_limit(const struct sim_cfg *cfg)
{
	uint64_t limit = cfg->heal + SIM_S, slowest = UINT64_MAX, delay = 0;
	bool starved = false;

	for (uint64_t i = 0; i < cfg->hosts; i++) {
		if (cfg->link[i].rate && cfg->link[i].rate < slowest)
			slowest = cfg->link[i].rate;
		if (cfg->host[i].nic_rate && cfg->host[i].nic_rate < slowest)
			slowest = cfg->host[i].nic_rate;
		starved |= cfg->host[i].credits < 64;
		delay += cfg->link[i].delay + cfg->link[i].jitter + 4 * cfg->host[i].latency;
	}
	for (uint64_t i = 0; i < cfg->nconns; i++) {
		const struct sim_conn_cfg *c = &cfg->conn[i];
		uint64_t n = c->transactions + c->back;

		/* Of a burst into a ring of few frames, each timeout may bring one across. */
		limit += (1024 + (starved ? 64 * n : 0)) * c->rto + c->start;
		limit += 2 * falcon_rnr_timeout_ns((__u8)c->rnr_code);
		limit += n * (c->late_by + 2 * c->gap + 4 * delay + c->ack_timeout + 10 * SIM_US);
		limit += n * (c->size_max + 200) * 8 * SIM_S / slowest * 4;
	}
	return limit;
}

/* Any result a rate update engine may come to; after the faults the best one. */
static void rate_update(struct endpoint *e)
{
	const struct sim_conn_cfg *c = e->cfg;
	struct falcon_rue_result r = { 0 };
	struct sim *s = e->sim;
	bool below = !s->healed && rng_below(&e->rng, 8) == 0;
	uint64_t fcwnd = s->healed ? FALCON_DATA_WINDOW : rng_range(&e->rng, 1, FALCON_DATA_WINDOW);
	uint64_t ncwnd = s->healed ? FALCON_DATA_WINDOW : rng_range(&e->rng, 1, FALCON_DATA_WINDOW);
	uint64_t rto = s->healed ? c->rto : rng_range(&e->rng, c->rto, 2 * c->rto);

	if (!e->core)
		return;
	if (!s->healed && rng_below(&e->rng, 2))
		fcwnd = 1 + fcwnd % 8;
	if (!s->healed && rng_below(&e->rng, 2))
		ncwnd = 1 + ncwnd % 8;
	if (below) {
		falcon_res_put(&r, fcwnd_fraction, 1 + rng_below(&e->rng, 1023));
		falcon_res_put(&r, inter_packet_gap, 1 + rng_below(&e->rng, 150));
		fcwnd = 0;
	}
	falcon_res_put(&r, fcwnd, fcwnd);
	falcon_res_put(&r, ncwnd, ncwnd);
	falcon_res_put(&r, retransmit_timeout, falcon_time_of_ns(rto));
	s->totals.rue++;
	sim_trace(s, "rue", e, fcwnd, ncwnd, 0);
	e->fcwnd = fcwnd ? (uint32_t)fcwnd : 1;
	e->ncwnd = (uint32_t)ncwnd;
	e->pace_gap = below ? falcon_res_get(&r, inter_packet_gap) * FALCON_RUE_GAP_NS : 0;
	e->pace_last = 0;
	fcore_rue_result(e->core, &r, s->now);
	host_kick(e->host, s->now + e->host->cfg->latency);
	if (!s->healed)
		sim_at(s, s->now + 1 + rng_below(&e->rng, 2 * c->rue_every), EV_RUE, e, 0);
}

static void heal(struct sim *s)
{
	s->healed = true;
	sim_trace(s, "heal", NULL, 0, 0, 0);
	for (uint32_t i = 0; i < s->neps; i++)
		if (s->ep[i].cfg->rue_every)
			rate_update(&s->ep[i]);
	for (uint32_t i = 0; i < s->cfg->hosts; i++)
		host_kick(&s->hosts[i], s->now);
}

/* At once, or from within the next callback, which is allowed as well. */
static void close_ep(struct endpoint *e)
{
	if (!e->fatal && !e->peer->fatal && !e->close_soon && rng_below(&e->rng, 2)) {
		e->close_soon = true;
		sim_at(e->sim, e->sim->now + SIM_MS, EV_CLOSE, e, 0);
		return;
	}
	host_close_ep(e);
}

static void dispatch(struct sim *s, const struct event *ev)
{
	struct host *h;

	switch (ev->kind) {
	case EV_PORT:
		link_port(s, ev->p);
		break;
	case EV_ARRIVE:
		xdp_receive(&s->hosts[((struct frame *)ev->p)->dst], ev->p, false);
		break;
	case EV_AGENT:
		h = ev->p;
		/* One that was meant for later, and has been overtaken, counts no more. */
		if (h->agent_at == ev->at)
			host_turn(h);
		break;
	case EV_ANSWER:
		ulp_answer(ev->p, ev->n);
		host_kick(((struct endpoint *)ev->p)->host, s->now);
		break;
	case EV_SUBMIT:
		ulp_submit(ev->p);
		break;
	case EV_RUE:
		if (!s->healed)
			rate_update(ev->p);
		break;
	case EV_CLOSE:
		close_ep(ev->p);
		break;
	default:
		heal(s);
		break;
	}
}

/* What has not drained, for the message. */
static void fail_undrained(struct sim *s)
{
	for (uint32_t i = 0; i < s->neps; i++) {
		const struct endpoint *e = &s->ep[i];

		if (!sim_ep_drained(e))
			sim_fail(s, e, "not drained: %u of %u completed, %u responses lent, "
				 "data [%u, %u) requests [%u, %u)",
				 e->completed, e->ntxns, e->responses,
				 e->shared->tx_acked.data_base, e->shared->cc.data_next,
				 e->shared->tx_acked.req_base, e->shared->cc.req_next);
	}
	for (uint32_t i = 0; i < s->cfg->hosts; i++)
		if (s->hosts[i].frames)
			sim_fail(s, NULL, "host %u: %ld frames not given back", i,
				 s->hosts[i].frames);
	sim_fail(s, NULL, "not drained");
}

/* Nothing is left to do: timers run out, and then nothing happens any more. */
static void check_silence(struct sim *s)
{
	for (uint32_t i = 0; i < s->cfg->hosts && !s->failed; i++) {
		struct host *h = &s->hosts[i];

		if (fcore_next_deadline(h->core, s->now) != FCORE_NEVER)
			sim_fail(s, NULL, "host %u: a timer is left", i);
	}
	for (uint32_t i = 0; i < s->neps && !s->failed; i++)
		if (s->ep[i].core) {
			check_state(&s->ep[i], true);
			check_clean(&s->ep[i]);
		}
}

void sim_run(struct sim *s)
{
	uint64_t limit = s->start + (s->cfg->limit ? s->cfg->limit : reckon_limit(s->cfg));
	bool done = false;
	struct event ev;

	while (!s->failed && sim_next(s, &ev)) {
		s->now = ev.at;
		if (!done && s->now > limit) {
			done = true;
			if (!drained(s))
				fail_undrained(s);
		}
		if (++s->totals.events > MAX_EVENTS)
			sim_fail(s, NULL, "never silent");
		dispatch(s, &ev);
	}
	if (!s->failed && !drained(s))
		fail_undrained(s);
	if (!s->failed)
		check_silence(s);
}

static void free_event(const struct event *ev)
{
	if (ev->kind == EV_PORT || ev->kind == EV_ARRIVE)
		free(ev->p);
}

static void add_up(struct sim *s)
{
	struct sim_totals *t = &s->totals;

	for (uint32_t i = 0; i < s->neps; i++) {
		const struct fcore_stats *st = &s->ep[i].stats;

		t->retx_rto += st->tx_retx_rto;
		t->retx_early += st->tx_retx_early;
		t->retx_own += st->tx_retx_own;
		t->resyncs += st->tx_resyncs;
		t->released += st->claims_released;
	}
	for (uint32_t i = 0; i < s->cfg->hosts; i++) {
		t->refused += s->hosts[i].tx_refused;
		for (int v = 0; v < FALCON_VERDICT_COUNT; v++)
			t->verdicts[v] += s->hosts[i].counters[v];
	}
}

static void free_ep(struct endpoint *e)
{
	for (uint32_t i = 0; i < e->ntxns; i++)
		free(e->txn[i].payload);
	free(e->txn);
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
	for (uint32_t i = 0; i < s->cfg->hosts; i++) {
		struct host *h = &s->hosts[i];

		while (h->ring) {
			struct frame *f = h->ring;

			h->ring = f->next;
			free(f);
		}
		if (h->frames)
			sim_fail(s, NULL, "host %u: %ld frames lost at closing", i, h->frames);
		fcore_destroy(h->core);
		free(h->dirty);
		free(h->ep);
	}
	while (sim_next(s, &ev))
		free_event(&ev);
	for (uint32_t i = 0; i < s->neps; i++)
		free_ep(&s->ep[i]);
	free(s->ep);
	free(s->links);
	free(s->hosts);
	free(s->heap);
}
