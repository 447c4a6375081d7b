// SPDX-License-Identifier: BSD-2-Clause
/*
 * An agent that dies and comes back. XDP goes on with the maps as they are, without anybody to hand frames
 * to; the next agent closes and clears them, and its connections start over, each with other sequence numbers
 * and another SPI: a new incarnation, in which nothing of the old one may be taken for its own. What upper
 * layers had under way has ended with the agent; the rest they submit to the next.
 */
#include "check.h"

#include <string.h>

enum {
	SETUP_NS = 50000,	/* within which both ends have opened what was agreed on */
};

static void forget_lists(struct host *h)
{
	for (uint32_t i = 0; i < h->neps; i++)
		h->ep[i]->dirty = h->ep[i]->touched = false;
	h->ndirty = h->ntouched = 0;
}

static void crash(struct host *h)
{
	sim_trace(h->sim, "crash", NULL, h->index, 0, 0);
	h->sim->totals.crashes++;
	for (uint32_t i = 0; i < h->neps; i++) {
		uint32_t flags = h->ep[i]->shared->id.flags;

		host_end_ep(h->ep[i]);
		h->ep[i]->shared->id.flags = flags;
	}
	host_race(h, true);
	host_lose_frames(h);
	check_pools_full(h, "a crash");
	fcore_destroy(h->core);
	h->core = NULL;
	secure_close(h);
	h->filters = 0;
	forget_lists(h);
}

/* As the agent's adopt_maps(). */
static void adopt_maps(struct host *h)
{
	uint64_t margin = h->config.replay_margin;

	for (uint32_t i = 0; i < h->neps; i++) {
		memset(h->ep[i]->shared, 0, sizeof(*h->ep[i]->shared));
		h->ep[i]->unanswered = 0;
	}
	memset(&h->config, 0, sizeof(h->config));
	h->config.replay_margin = margin;
	h->credits = h->cfg->credits;
	h->dropped = h->at_ease = false;
	h->ack_due = FCORE_NEVER;
	h->level = 0;
	forget_lists(h);
}

/* What the checks know of |w| is over; its numbers begin anew. */
static void renew_shadow(struct shadow *w, uint32_t first)
{
	memset(w->psn, 0, (w->size + 1) * sizeof(*w->psn));
	*w = (struct shadow){ .psn = w->psn, .size = w->size, .first = first };
}

/* Somewhere in all numbers, and mostly so that they wrap. */
static uint32_t draw_first(struct host *h)
{
	uint32_t n = (uint32_t)rng_next(&h->rng);

	return n & 3 ? UINT32_MAX - n % 200 : n;
}

/* No answers of |e| to what its peer has had under way. */
static void forget_deliveries(struct endpoint *e)
{
	for (uint32_t i = 0; i < e->peer->submitted; i++)
		if (txn_of(e->peer, i)->state != TXN_NONE)
			txn_of(e->peer, i)->state = TXN_ANSWERED;
	e->owed_head = e->owed_tail = 0;
	e->cursor = e->peer->submitted;
}

/* Both ends are closed; what |e| begins its next incarnation with. */
static void renew(struct endpoint *e)
{
	struct host *h = e->host;

	forget_deliveries(e);
	renew_shadow(&e->data, draw_first(h));
	renew_shadow(&e->req, draw_first(h));
	e->begun = e->next_tx = e->submitted;
	e->first_rsn = draw_first(h) - e->begun;
	e->incarnation++;
	e->begins = true;
	memset(e->flow, 0, sizeof(e->flow));
	memset(e->heard, 0, sizeof(e->heard));
	e->path = (struct path){ 0 };
	e->fcwnd = (uint32_t)e->cfg->fcwnd;
	e->ncwnd = (uint32_t)e->cfg->ncwnd;
	e->rue_info = e->own = 0;
	e->acked = 0;
	memset(e->pace_last, 0, sizeof(e->pace_last));
	e->sent_again = NULL;
	e->turn.any = false;
	e->keys.heard = false;
	e->owing = e->unanswered = 0;
	e->blocked = e->closing = e->close_soon = false;
}

/* The agents of both ends agree on another incarnation. */
static void agree(struct endpoint *e)
{
	struct endpoint *ends[] = { e, e->peer };
	/* Closed for good at one end, or about to be, it is so at the other. */
	bool over = e->gone || e->peer->gone || e->close_soon || e->peer->close_soon || e->fatal ||
		    e->peer->fatal;

	if (!e->host->core || !e->peer->host->core)
		return;
	for (int i = 0; i < 2; i++) {
		host_end_ep(ends[i]);
		ends[i]->gone |= over;
		/* Frames of the old one that were handed over are not the next one's. */
		host_drain(ends[i]->host);
	}
	if (over)
		return;
	for (int i = 0; i < 2; i++)
		renew(ends[i]);
	secure_agree(e);
	for (int i = 0; i < 2; i++)
		sim_at(e->sim, e->sim->now + rng_below(&e->host->rng, SETUP_NS), EV_OPEN, ends[i],
		       e->incarnation);
}

static void restart(struct host *h)
{
	sim_trace(h->sim, "restart", NULL, h->index, 0, 0);
	pool_config(h);
	adopt_maps(h);
	secure_open(h);
	for (uint32_t i = 0; i < h->neps; i++)
		agree(h->ep[i]);
}

void crash_event(struct host *h, bool again)
{
	if (again)
		restart(h);
	else
		crash(h);
}

void crash_open_ep(struct endpoint *e, uint32_t incarnation)
{
	if (!e->host->core || e->core || e->gone || e->incarnation != incarnation)
		return;
	if (!secure_establish(e)) {
		agree(e);
		return;
	}
	sim_trace(e->sim, "open", e, incarnation, e->begun, 0);
	open_incarnation(e);
	ulp_resume(e);
}

void crash_open(struct host *h)
{
	struct sim *s = h->sim;

	if (!h->cfg->crash_for)
		return;
	sim_at(s, s->now + h->cfg->crash_at, EV_CRASH, h, false);
	sim_at(s, s->now + h->cfg->crash_at + h->cfg->crash_for, EV_CRASH, h, true);
}

void check_incarnation(const struct endpoint *e, const struct frame *f, enum falcon_verdict v)
{
	if (e && f->incarnation != e->incarnation &&
	    (falcon_verdict_delivers(v) || falcon_verdict_answers(v) || v == FALCON_V_ack_consumed ||
	     v == FALCON_V_nack_consumed || falcon_verdict_executed(v)) && v != FALCON_V_steered)
		sim_fail(e->sim, e, "a packet of incarnation %u was accepted in incarnation %u (verdict %d)",
			 f->incarnation, e->incarnation, v);
}
