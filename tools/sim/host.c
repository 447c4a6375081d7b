// SPDX-License-Identifier: BSD-2-Clause
/* A host: its agent's loop around the core, as in user/agent/shard/loop.c, and what the core calls. */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	HOST_BURST = 64,	/* frames a turn */
	HOST_TURN_NS = 500,	/* a turn that has left work is followed by the next after this */
	HOST_WHOLE = 32,	/* of an end's checks, one is also costly */
};

void host_kick(struct host *h, uint64_t at)
{
	if (at < h->sim->now)
		at = h->sim->now;
	if (at >= h->agent_at)
		return;
	if (h->agent_at != FCORE_NEVER)
		event_cancel(&h->sim->events, h->agent_event);
	h->agent_at = at;
	h->agent_event = sim_at(h->sim, at, EV_AGENT, h, 0);
}

void host_touch(struct endpoint *e)
{
	if (e->touched)
		return;
	e->touched = true;
	e->host->touched[e->host->ntouched++] = e;
}

static int transmit(void *arg, struct fcore_conn *c, const struct fcore_packet *p)
{
	struct host *h = arg;
	struct endpoint *e = ep_of(c);

	if (!h->sim->healed && rng_chance(&h->rng, h->cfg->refuse)) {
		h->tx_refused++;
		check_not_served(e, true);
		return -EAGAIN;
	}
	if (nic_full(h)) {
		h->tx_refused++;
		check_not_served(e, false);
		return -EAGAIN;
	}
	check_served(e, p);
	check_tx(e, p);
	host_touch(e);
	nic_transmit(e, p, &e->tpl);
	host_race(h, false);
	return 0;
}

static void frame_put(void *arg, void *frame)
{
	struct host *h = arg;

	h->frames--;
	h->lent -= ((struct frame *)frame)->len;
	pool_put(&h->sim->frames, frame);
	host_race(h, false);
}

static void rue_event(void *arg, struct fcore_conn *c, const struct falcon_rue_event *ev)
{
	struct endpoint *e = ep_of(c);

	(void)arg;
	if ((falcon_ev_get(ev, connection_id) & FALCON_RUE_CID_MASK) != e->cid ||
	    falcon_ev_get(ev, event_type) != kRueEventTypeRetx)
		sim_fail(e->sim, e, "a RUE event of another connection or kind");
	check_event_retx(e, ev);
	engine_event(e, ev);
}

/* The connection manager hears of it here at once, and at the other end some time later. */
static void on_fatal(void *arg, struct fcore_conn *c, const char *why)
{
	struct endpoint *e = ep_of(c);

	(void)arg;
	check_fatal(e, why);
	e->sim->totals.fatal++;
	sim_trace(e->sim, "fatal", e, 0, 0, 0);
	e->fatal = true;
	sim_at(e->sim, e->sim->now + SIM_US, EV_CLOSE, e, 0);
	sim_at(e->sim, e->sim->now + 100 * SIM_US, EV_CLOSE, e->peer, 0);
}

static void on_zone(void *arg, enum falcon_zone zone)
{
	struct host *h = arg;

	h->config.shard[0].zone = zone;
}

static void on_rx_level(void *arg, uint32_t level)
{
	struct host *h = arg;

	h->config.shard[0].rx_level = level;
}

/* Not what waits for its turn, its memory or the upper layer: then XDP has to wait, too. */
static enum fcore_exec exec_give(void *arg, struct fcore_conn *c, struct falcon_exec *x)
{
	struct endpoint *e = ep_of(c);
	struct host *h = arg;

	host_race(h, false);
	x->access = FALCON_REGION_WRITE | FALCON_REGION_READ;
	if (e->owed_head != e->owed_tail || !rng_chance(&h->rng, h->cfg->exec))
		return FCORE_EXEC_LATER;
	return FCORE_EXEC_GIVE;
}

static void exec_taken(void *arg, struct fcore_conn *c, const struct falcon_exec *x)
{
	struct host *h = arg;

	(void)c;
	h->sim->totals.executed += x->packets;
}

/* The same bytes as the upper layer's answer; the first go as a header. */
static void exec_response(void *arg, struct fcore_conn *c, const struct falcon_response *r, uint8_t *hdr,
			  struct fcore_response *out)
{
	struct endpoint *e = ep_of(c);
	uint32_t i = r->rsn - e->peer->first_rsn, len = ulp_response_len(e->peer, i);
	uint32_t n = i % (FCORE_MAX_RESP_HDR + 1);
	uint8_t *b = ulp_make_bytes(e->peer, i, len);

	(void)arg;
	out->ulp_hdr_len = n < len ? n : len;
	memcpy(hdr, b, out->ulp_hdr_len);
	out->payload = b + out->ulp_hdr_len;
	out->len = len - out->ulp_hdr_len;
	out->cookie = (uintptr_t)b;
	e->responses++;
	e->sim->totals.adopted++;
}

const struct fcore_ops host_ops = {
	.transmit = transmit,
	.frame_put = frame_put,
	.rue_event = rue_event,
	.on_push = ulp_on_push,
	.on_pull = ulp_on_pull,
	.on_response_done = ulp_on_response_done,
	.on_pull_data = ulp_on_pull_data,
	.on_completion = ulp_on_completion,
	.on_xon = ulp_on_xon,
	.on_zone = on_zone,
	.on_rx_level = on_rx_level,
	.exec_give = exec_give,
	.exec_taken = exec_taken,
	.exec_response = exec_response,
	.on_path = path_on_found,
	.on_fatal = on_fatal,
};

void host_close_ep(struct endpoint *e)
{
	e->gone |= e->core != NULL;
	host_end_ep(e);
}

void host_end_ep(struct endpoint *e)
{
	struct fcore_conn *c = e->core;

	if (!c)
		return;
	sim_trace(e->sim, "close", e, e->submitted, e->completed, 0);
	e->stats = *fcore_conn_stats(c);
	e->closing = true;
	e->shared->id.flags &= ~(__u32)FALCON_CONN_ALIVE;
	fcore_conn_close(c, kCmplDeadConn);
	e->core = NULL;
	secure_down(e);
}

static void receive_nack(struct endpoint *e, const struct frame *f)
{
	const uint8_t *falcon = f->data + f->falcon_off;
	struct falcon_ack a;

	if (falcon_ack_unpack(falcon, falcon + f->falcon_len, &a) != FALCON_WIRE_OK)
		return;
	fcore_acked(e->core, host_now(e->host));
	/* A callback may have closed it. */
	if (!e->core)
		return;
	check_nacked(e, &a);
	fcore_nacked(e->core, &a, host_now(e->host));
}

void host_accept(struct host *h, struct frame *f)
{
	struct endpoint *e = f->verdict_ep;
	const uint8_t *falcon = f->data + f->falcon_off;
	struct fcore_rx rx = { .frame = f, .flow = f->flow, .path = f->path, .now = f->rx_ns };
	uint32_t hdr_len;

	if (!e->core || f->verdict == FALCON_V_rx_nack) {
		if (e->core)
			receive_nack(e, f);
		pool_put(&h->sim->frames, f);
		return;
	}
	falcon_hdr_unpack(falcon, falcon + f->falcon_len, &rx.hdr);
	hdr_len = falcon_hdr_len(rx.hdr.type);
	rx.payload = falcon + hdr_len;
	rx.len = f->falcon_len - hdr_len;
	h->frames++;
	h->lent += f->len;
	host_touch(e);
	e->judged = (struct judged){ &rx.hdr, rx.len, (enum falcon_verdict)f->verdict, false };
	check_arriving(e, &rx);
	e->arriving = &rx.hdr;
	fcore_receive(e->core, &rx);
	e->arriving = NULL;
	e->judged.hdr = NULL;
	check_delivered(e, &rx);
}

static void put_last(struct ring *r, struct frame *f)
{
	f->next = NULL;
	*r->end = f;
	r->end = &f->next;
}

/* NULL if there is none. */
static struct frame *take_first(struct ring *r)
{
	struct frame *f = r->first;

	if (f)
		r->first = f->next;
	if (!r->first)
		r->end = &r->first;
	return f;
}

void host_queue(struct host *h, struct frame *f)
{
	put_last(&h->ring[rng_mix(f->label) % h->cfg->queues], f);
}

bool host_waits(const struct host *h)
{
	for (uint64_t q = 0; q < h->cfg->queues; q++)
		if (h->ring[q].first)
			return true;
	return h->wire.first;
}

static void lose_all(struct sim *s, struct ring *r)
{
	struct frame *f;

	while ((f = take_first(r)))
		pool_put(&s->frames, f);
}

void host_lose_frames(struct host *h)
{
	for (uint64_t q = 0; q < SIM_MAX_QUEUES; q++)
		lose_all(h->sim, &h->ring[q]);
	lose_all(h->sim, &h->wire);
}

void host_arrive(struct host *h, struct frame *f)
{
	if (h->sim->healed || !h->core || (!h->wire.first && !rng_chance(&h->rng, h->cfg->race))) {
		host_race(h, true);
		xdp_receive(h, f, false);
		return;
	}
	put_last(&h->wire, f);
	host_kick(h, h->sim->now + h->cfg->latency);
}

void host_race(struct host *h, bool all)
{
	if (h->racing)
		return;
	h->racing = true;
	while (h->wire.first && (all || rng_below(&h->rng, 4) == 0)) {
		h->sim->totals.raced += !all;
		xdp_receive(h, take_first(&h->wire), false);
	}
	h->racing = false;
}

static void receive_burst(struct host *h, struct ring *r)
{
	struct frame *f;

	for (int i = 0; i < HOST_BURST && (f = take_first(r)); i++) {
		h->credits++;
		if (f->verdict == FALCON_V_steered)
			xdp_receive(h, f, true);
		else
			host_accept(h, f);
		host_race(h, false);
	}
}

static void receive_all(struct host *h)
{
	for (uint64_t q = 0; q < h->cfg->queues; q++)
		receive_burst(h, &h->ring[q]);
}

void host_drain(struct host *h)
{
	host_race(h, true);
	while (host_waits(h))
		receive_all(h);
	host_kick(h, h->sim->now);
}

static void take_dirty(struct host *h)
{
	uint32_t n = h->ndirty;

	for (uint32_t i = 0; i < n; i++) {
		struct endpoint *e = h->dirty[i];

		e->dirty = false;
		if (!e->core)
			continue;
		host_touch(e);
		for (; e->unanswered; e->unanswered &= (uint16_t)(e->unanswered - 1))
			check_owe(e, (uint32_t)__builtin_ctz(e->unanswered), 0, true);
		fcore_acked(e->core, host_now(h));
		host_race(h, false);
	}
	/* What XDP has marked meanwhile is for the next turn. */
	h->ndirty -= n;
	memmove(h->dirty, h->dirty + n, h->ndirty * sizeof(*h->dirty));
}

/* Every frame that was handed over has been seen: what is claimed and has not arrived is lost. */
static void recover_drops(struct host *h)
{
	struct sim *s = h->sim;

	if (!h->dropped || host_waits(h))
		return;
	if (!s->healed && rng_below(&h->rng, 2)) {
		host_kick(h, s->now + 10 * SIM_US);
		return;
	}
	h->dropped = false;
	for (uint32_t i = 0; i < h->neps; i++)
		if (h->ep[i]->core)
			fcore_release_claims(h->ep[i]->core);
}

static bool paused(struct host *h)
{
	struct sim *s = h->sim;
	const struct sim_host_cfg *c = h->cfg;
	uint64_t length;

	if (s->healed || !c->pause_for || s->now < h->next_pause)
		return false;
	length = rng_below(&h->rng, c->pause_for + 1);
	h->next_pause = s->now + length + 1 + rng_below(&h->rng, 2 * c->pause_every);
	s->totals.pauses++;
	sim_trace(s, "pause", NULL, h->index, length, 0);
	host_kick(h, s->now + length);
	return true;
}

/* As many packets as the NIC's queue takes: the core is not asked for what must be refused. */
static uint32_t budget(const struct host *h)
{
	uint32_t room = nic_room(h, h->sim->frame_len);

	return room < h->cfg->budget ? room : (uint32_t)h->cfg->budget;
}

static void check_touched(struct host *h)
{
	for (uint32_t i = 0; i < h->ntouched; i++) {
		struct endpoint *e = h->touched[i];

		e->touched = false;
		if (e->core && h->sim->cfg->checks)
			check_state(e, e->turns++ % HOST_WHOLE == 0);
	}
	if (h->ntouched && h->sim->cfg->checks)
		check_pools(h, h->checks++ % HOST_WHOLE == 0);
	h->ntouched = 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void host_turn(struct host *h)
{
	struct sim *s = h->sim;
	uint64_t next, refused = h->tx_refused;
	uint32_t most;

	h->agent_at = FCORE_NEVER;
	if (!h->core)
		return;
	if (paused(h)) {
		host_race(h, true);
		h->at_ease = false;
		return;
	}
	check_awake(h);
	receive_all(h);
	take_dirty(h);
	recover_drops(h);
	secure_run(h);
	most = budget(h);
	h->running = true;
	check_turn(h, refused, fcore_run(h->core, host_now(h), most) >= most);
	h->running = false;
	check_served_all(h);
	fcore_exec_run(h->core);
	check_touched(h);
	host_race(h, true);
	next = host_when(h, earlier(fcore_next_deadline(h->core, host_now(h)), secure_deadline(h)));
	if (next <= s->now && nic_full(h))
		next = nic_relief(h);
	else if (next <= s->now)
		next = s->now + HOST_TURN_NS;
	if (host_waits(h) && next > s->now + HOST_TURN_NS)
		next = s->now + HOST_TURN_NS;
	if (next != FCORE_NEVER)
		host_kick(h, next);
}
