// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rate update engine of a host: events go into a queue by the policy of 10.6.1, the engine
 * takes its time for each, and each result comes into force after a delay. The algorithms are the
 * agent's (user/rue).
 */
#include "check.h"

#include <rue/rue.h>

#include <falcon/receive/ack.h>

struct waiting {
	struct falcon_rue_event event;
	struct endpoint *ep;
};

struct engine {
	const struct rue_algorithm *algorithm;
	void *state;
	uint64_t busy;		/* done with everything in the queue, ns */
	uint64_t head, tail;	/* free-running */
	uint64_t suppressed;
	uint32_t threshold[3];	/* events */
	uint32_t size;		/* of |queue| */
	struct waiting queue[];
};

static const char *const algorithm_names[] = {
	[SIM_CC_FIXED] = "fixed",
	[SIM_CC_SWIFT] = "swift",
};

/* What the connections of |h| ask for, all the same. */
static uint64_t wanted(const struct host *h)
{
	for (uint32_t i = 0; i < h->neps; i++)
		if (h->ep[i]->cfg->cc)
			return h->ep[i]->cfg->cc;
	return SIM_CC_NONE;
}

static bool open_engine(struct host *h, const struct rue_algorithm *a)
{
	uint32_t size = (uint32_t)h->cfg->rue_queue;
	const char *params[SIM_MAX_SWIFT + 1] = { NULL };
	struct engine *g = calloc(1, sizeof(*g) + size * sizeof(g->queue[0]));
	char why[200];

	if (!g)
		abort();
	for (int i = 0; i < SIM_MAX_SWIFT && *h->sim->cfg->swift[i]; i++)
		params[i] = h->sim->cfg->swift[i];
	h->engine = g;
	g->algorithm = a;
	g->size = size;
	for (uint32_t i = 0; i < 3; i++)
		g->threshold[i] = size / 4 * (i + 1);
	if (!a->create)
		return true;
	g->state = a->create(h->neps * FALCON_MAX_FLOWS, params, why, sizeof(why));
	if (!g->state)
		fprintf(stderr, "%s: %s\n", a->name, why);
	return g->state != NULL;
}

static void base(struct endpoint *e, uint32_t flow, uint32_t target)
{
	fcore_rue_base(e->core, flow, target);
	e->told[flow].target = target;
}

bool engine_open(struct sim *s)
{
	for (uint32_t i = 0; i < s->cfg->hosts; i++) {
		struct host *h = &s->hosts[i];
		uint64_t cc = wanted(h);

		if (!cc)
			continue;
		if (!open_engine(h, rue_find(algorithm_names[cc])))
			return false;
		/* 10.6.2.1: the engine finds what it keeps of a connection by this. */
		for (uint32_t n = 0; n < h->neps; n++) {
			for (uint32_t flow = 0; flow < h->ep[n]->cfg->flows; flow++)
				base(h->ep[n], flow, n * FALCON_MAX_FLOWS + flow);
			h->ep[n]->shared->cc.delay_select = (__u8)h->ep[n]->cfg->delay_select;
		}
	}
	return true;
}

void engine_close(struct host *h)
{
	struct engine *g = h->engine;

	if (g && g->state)
		g->algorithm->destroy(g->state);
	free(g);
	h->engine = NULL;
}

void engine_event(struct endpoint *e, const struct falcon_rue_event *ev)
{
	struct host *h = e->host;
	struct engine *g = h->engine;
	uint64_t now = h->sim->now;

	if (!g || !e->cfg->cc)
		return;
	if (g->tail - g->head == g->size) {
		g->suppressed++;
		return;
	}
	g->queue[g->tail % g->size] = (struct waiting){ .event = *ev, .ep = e };
	g->tail++;
	g->busy = (g->busy > now ? g->busy : now) + h->cfg->rue_time;
	sim_at(h->sim, g->busy + h->cfg->rue_delay, EV_ENGINE, h, 0);
}

/* The fabric's part of the round trip, for the report. */
static void note_delay(struct endpoint *e, const struct falcon_ack *a, uint64_t iv, uint64_t now)
{
	uint32_t t3 = falcon_time_of_iv(iv), t4 = falcon_time_of_ns(now);
	int32_t delay = (int32_t)(((t4 - a->t1) - (t3 - a->t2)) << 8) >> 8;

	if (delay < 0)
		return;
	e->group->rtt_sum += ((uint64_t)delay << FALCON_TIME_SHIFT) / FALCON_PS_PER_NS;
	e->group->rtt_n++;
}

void engine_ack(struct endpoint *e, uint32_t flow, const struct falcon_ack *a, uint64_t iv,
		uint64_t now)
{
	struct falcon_cc_event *state = &e->shared->cc_event;
	struct engine *g = e->host->engine;
	struct falcon_rue_event ev = { 0 };
	int32_t acked = (int32_t)(falcon_ack_total(a) - state->last_acked);
	bool p1, p2;

	if (!g || !e->cfg->cc)
		return;
	note_delay(e, a, iv, now);
	/* An EACK overtaken by its successor counts fewer packets than are known. */
	acked = acked < 0 ? 0 : acked;
	p1 = now - state->last_ns > e->host->cfg->rue_p1;
	p2 = (uint64_t)acked >= e->host->cfg->rue_p2;
	if (!falcon_rue_wants((uint32_t)(g->tail - g->head), g->threshold, p1, p2)) {
		g->suppressed++;
		return;
	}
	state->last_ns = now;
	state->last_acked += (uint32_t)acked;
	falcon_rue_event_ack(e->shared, flow, a, falcon_time_of_iv(iv), falcon_time_of_ns(now),
			     (uint32_t)acked, &ev);
	check_event_ack(e, flow, a, iv, now, &ev);
	/* Of several flows the core puts in what is each one's, when the engine reads it. */
	if (e->cfg->flows == 1)
		check_event_state(e, &ev);
	engine_event(e, &ev);
}

void engine_apply(struct endpoint *e, const struct falcon_rue_result *r)
{
	uint32_t flow = falcon_rue_flow((uint32_t)falcon_res_get(r, connection_id));
	uint32_t ncwnd = (uint32_t)falcon_res_get(r, ncwnd);

	sim_trace(e->sim, "rue", e, falcon_res_get(r, fcwnd), ncwnd, 0);
	e->ncwnd = ncwnd ? ncwnd : 1;
	e->pace_last[flow] = 0;
	check_told(e, r);
	fcore_rue_result(e->core, r, host_now(e->host));
	host_touch(e);
	host_kick(e->host, e->sim->now);
}

void engine_result(struct host *h)
{
	struct engine *g = h->engine;
	struct waiting *w = &g->queue[g->head++ % g->size];
	struct falcon_rue_result r = { 0 };

	if (!w->ep->core || !fcore_rue_event(h->core, &w->event))
		return;
	h->sim->totals.rue++;
	check_event_read(w->ep, &w->event);
	g->algorithm->process(g->state, &w->event, falcon_time_of_ns(host_now(h)) & 0xffffff, &r);
	engine_apply(w->ep, &r);
}
