// SPDX-License-Identifier: BSD-2-Clause
/* A run: the event loop, and what must be true when everything has drained. */
#include "check.h"
#include "hop.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_EVENTS = 2000000000,	/* beyond it nothing will come of it */
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
		if (s->hosts[i].frames || host_waits(&s->hosts[i]))
			return false;
	for (uint32_t i = 0; i < s->neps; i++)
		if (!sim_ep_drained(&s->ep[i]))
			return false;
	return true;
}

static uint64_t slower(uint64_t slowest, uint64_t rate)
{
	return rate && rate < slowest ? rate : slowest;
}

/* When everything must have drained: the slowest way that each part may take, and some more. */
static uint64_t reckon_limit(const struct sim_cfg *cfg)
{
	uint64_t limit = cfg->heal + SIM_S, slowest = UINT64_MAX, delay = 0;
	bool starved = false;

	for (uint64_t i = 0; i < cfg->hosts; i++) {
		slowest = slower(slowest, cfg->link[i].rate);
		slowest = slower(slowest, cfg->host[i].nic_rate);
		slowest = slower(slowest, cfg->host[i].mem_rate);
		slowest = slower(slowest, cfg->host[i].slow_rate);
		starved |= cfg->host[i].credits < 64 || cfg->host[i].pool ||
			   cfg->host[i].host_pool || cfg->host[i].function_pool;
		delay += cfg->link[i].delay + cfg->link[i].delay_then + cfg->link[i].jitter +
			 4 * cfg->host[i].latency + cfg->link[i].replay_by;
		limit += cfg->link[i].mtu_at + cfg->host[i].mtu_at + cfg->host[i].move_for +
			 cfg->host[i].crash_at + cfg->host[i].crash_for;
	}
	for (uint64_t i = 0; i < cfg->leaves * cfg->spines; i++) {
		slowest = slower(slowest, cfg->trunk[i].rate);
		delay += cfg->trunk[i].delay + cfg->trunk[i].delay_then + cfg->trunk[i].jitter;
	}
	for (uint64_t i = 0; i < cfg->nconns; i++) {
		const struct sim_conn_cfg *c = &cfg->conn[i];
		uint64_t n = (c->transactions + c->back) * c->count;

		if (c->message)
			n *= (c->message + c->mtu - 1) / c->mtu;

		/* Of a burst into little room, each timeout may bring one across. */
		limit += (1024 + (starved ? 64 * n : 0)) * c->rto + c->start + c->start_spread;
		/* A timeout of the engine's choice, at most 2.2 s, doubles six times. */
		if (c->cc)
			limit += 300 * SIM_S;
		if (c->load)
			limit += n * c->mtu * 8 * SIM_S / c->load * 4;
		/* Searches, and packets that are given up as too large. */
		if (c->path)
			limit += 30 * SIM_S;
		limit += 2 * falcon_rnr_timeout_ns((__u8)c->rnr_code) + 2 * c->rnr_patience;
		limit += n * (c->late_by + 2 * c->gap + 4 * delay + c->ack_timeout + 10 * SIM_US);
		limit += n * ((c->message ? c->mtu : c->size_max) + 200) * 8 * SIM_S / slowest * 4;
	}
	/* Clocks may be slow by as much as keys.c lets them. */
	return limit + limit / 64;
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
	falcon_res_put(&r, connection_id,
		       falcon_rue_id(e->cid, (uint32_t)rng_below(&e->rng, c->flows)));
	/* Another one each time, which takes nothing from the stream. */
	falcon_res_put(&r, cc_metadata, rng_mix(s->totals.rue) & ((1U << FALCON_RUE_METADATA_BITS) - 1));
	falcon_res_put(&r, randomize_path, rng_below(&e->rng, 16) == 0);
	falcon_res_put(&r, fcwnd, fcwnd);
	falcon_res_put(&r, ncwnd, ncwnd);
	falcon_res_put(&r, retransmit_timeout, falcon_time_of_ns(rto));
	s->totals.rue++;
	engine_apply(e, &r);
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
	for (uint32_t i = 0; i < s->cfg->hosts; i++) {
		if (s->hosts[i].filters)
			filter_set(&s->hosts[i], false);
		secure_heal(&s->hosts[i]);
		host_kick(&s->hosts[i], s->now);
	}
}

/* One end, or both at once, are to replace their keys. */
static void ask_for_keys(struct endpoint *e)
{
	secure_rekey(e);
	if (rng_below(&e->rng, 2))
		secure_rekey(e->peer);
	sim_at(e->sim, e->sim->now + 1 + rng_below(&e->rng, 2 * e->cfg->rekey_every), EV_REKEY, e, 0);
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
	e->gone = true;
}

/* Who has moved takes no frames for where it was. */
static void arrive(struct sim *s, struct frame *f)
{
	struct host *h = &s->hosts[f->dst];

	if (((const struct ethhdr *)f->data)->h_dest[4] == h->station) {
		host_arrive(h, f);
		return;
	}
	sim_trace(s, "astray", NULL, f->src, f->dst, f->len);
	pool_put(&s->frames, f);
}

static void dispatch(struct sim *s, const struct event *ev)
{
	s->totals.packet_events += ev->kind == EV_PORT || ev->kind == EV_ARRIVE;
	switch (ev->kind) {
	case EV_PORT:
		link_port(s, ev->p, ev->n);
		break;
	case EV_UPLINK:
		link_uplink(s, ev->p);
		break;
	case EV_HOP:
		hop_slot(ev->p);
		break;
	case EV_ARRIVE:
		arrive(s, ev->p);
		break;
	case EV_AGENT:
		host_turn(ev->p);
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
	case EV_ENGINE:
		engine_result(ev->p);
		break;
	case EV_CLOSE:
		close_ep(ev->p);
		break;
	case EV_FILTER:
		if (!s->healed)
			filter_set(ev->p, ev->n);
		break;
	case EV_MTU:
		path_changes(ev->p, ev->n);
		break;
	case EV_TOLD:
		path_told(ev->p, ev->n);
		break;
	case EV_REKEY:
		if (!s->healed)
			ask_for_keys(ev->p);
		break;
	case EV_KEY:
		secure_step(ev->p, ev->n);
		break;
	case EV_CRASH:
		crash_event(ev->p, ev->n);
		break;
	case EV_OPEN:
		crash_open_ep(ev->p, ev->n);
		break;
	case EV_MOVE:
		route_moved(ev->p, ev->n);
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

		if (fcore_next_deadline(h->core, host_now(h)) != FCORE_NEVER)
			sim_fail(s, NULL, "host %u: a timer is left", i);
		check_pools_full(h, "the end");
		if (!secure_settled(h))
			sim_fail(s, NULL, "host %u: keys are still being replaced", i);
	}
	for (uint32_t i = 0; i < s->neps && !s->failed; i++)
		if (s->ep[i].core && s->cfg->checks) {
			check_state(&s->ep[i], true);
			check_nothing_owed(&s->ep[i]);
			check_path(&s->ep[i]);
			check_clean(&s->ep[i]);
		}
}

void sim_run(struct sim *s)
{
	uint64_t limit = s->start + (s->cfg->limit ? s->cfg->limit : reckon_limit(s->cfg));
	bool done = false;
	struct event ev;

	while (!s->failed && event_take(&s->events, &ev)) {
		s->now = ev.at;
		if (!done && s->now > limit) {
			done = true;
			if (!drained(s))
				fail_undrained(s);
			path_widen(s);
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
