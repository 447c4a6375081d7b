// SPDX-License-Identifier: BSD-2-Clause
/*
 * A RIFL link, slot by slot: two lanes' ends and the wires of falcon-rifl between them.
 *
 * While nothing is under way the slots are not run. Errors have no memory, so they are the same whether a
 * wire stands still or not; what a link may be busy with when the next frame comes, the repair of an error
 * just before, is caught up with then.
 */
#include "hop.h"

#include "../rifl/wire.h"
#include "rifl/lane.h"

#include <stdlib.h>
#include <string.h>

enum {
	PS_PER_NS = 1000,
	SLOTS_AT_THE_ENDS = 2,	/* within which an end answers */
	STREAM = 5000,		/* of randomness, from here on */
};

/* One direction: the end that sends, and what is on its way from there. */
struct way {
	struct rifl_lane lane;
	struct wire wire;
	struct frame *first, **end;	/* not wholly arrived yet, in order */
	struct frame *next;		/* the first of them that is not wholly sent, */
	uint32_t sent;			/* bytes of it that are */
	uint32_t arrived;		/* bytes of |first| that have */
	uint64_t waits;			/* bytes not sent yet */
};

struct hop {
	struct sim *sim;
	const struct sim_link_cfg *cfg;
	uint32_t n, back;
	uint64_t slot_ps;
	uint64_t at_ps;			/* the next slot, while awake */
	uint64_t ticks;			/* what the wires call now */
	uint64_t repair;		/* slots that an error may keep the link busy */
	bool awake, quiet;		/* quiet: errors are over */
	struct way way[2];
};

static uint64_t slot_ps(const struct sim_link_cfg *cfg)
{
	return (cfg->rifl * SIM_S * PS_PER_NS + cfg->rate - 1) / cfg->rate;
}

static int derive(const struct sim_link_cfg *cfg, struct rifl_cfg *lane)
{
	uint64_t rtt = cfg->rate ? 2 * cfg->delay * PS_PER_NS / slot_ps(cfg) + 1 : UINT32_MAX;

	if (rtt > UINT32_MAX - SLOTS_AT_THE_ENDS)
		rtt = UINT32_MAX - SLOTS_AT_THE_ENDS;
	return rifl_cfg_derive(lane, (uint32_t)cfg->rifl, (uint32_t)rtt + SLOTS_AT_THE_ENDS);
}

int hop_check(const struct sim_link_cfg *cfg)
{
	struct rifl_cfg lane;

	return derive(cfg, &lane);
}

/* ---- frames as segments ---- */

/* The bytes of |f| from |at| on; those that it only says to have are zeros. */
static void copy_bytes(const struct frame *f, uint32_t at, uint32_t len, uint8_t *to)
{
	uint32_t stored = at < f->stored ? f->stored - at : 0;

	if (stored > len)
		stored = len;
	memcpy(to, f->data + at, stored);
	memset(to + stored, 0, len - stored);
}

static void make_segment(const struct hop *h, const struct way *w, struct rifl_segment *s)
{
	uint32_t full = rifl_payload_bytes((uint32_t)h->cfg->rifl), left = w->next->len - w->sent;

	s->end = left <= full;
	s->len = s->end ? left : full;
	copy_bytes(w->next, w->sent, s->len, s->data);
}

static void was_taken(struct way *w, const struct rifl_segment *s)
{
	w->sent += s->len;
	w->waits -= s->len;
	if (!s->end)
		return;
	w->next = w->next->next;
	w->sent = 0;
}

/* |f| has come through. */
static void arrive(struct hop *h, uint32_t dir, struct frame *f)
{
	struct sim *s = h->sim;

	if (dir == 0)
		link_out(s, h->n, f, s->now);
	else if (h->back != h->n)
		link_out(s, h->back, f, s->now);
	else
		link_port(s, f, link_first(s, f));
}

static void got(struct hop *h, uint32_t dir, const struct rifl_segment *s)
{
	struct way *w = &h->way[dir];
	struct frame *f = w->first;
	uint8_t want[RIFL_PAYLOAD_MAX];

	if (!f || w->arrived + s->len > f->len || s->end != (w->arrived + s->len == f->len)) {
		sim_fail(h->sim, NULL, "link %u: RIFL has lost or repeated something", h->n);
		return;
	}
	copy_bytes(f, w->arrived, s->len, want);
	if (memcmp(want, s->data, s->len)) {
		sim_fail(h->sim, NULL, "link %u: RIFL has altered something", h->n);
		return;
	}
	w->arrived += s->len;
	if (!s->end)
		return;
	w->arrived = 0;
	w->first = f->next;
	if (!w->first)
		w->end = &w->first;
	arrive(h, dir, f);
}

/* ---- slots ---- */

static void receive(struct hop *h, uint32_t at)
{
	struct rifl_lane *l = &h->way[at].lane;
	struct rifl_segment s;
	struct rifl_frame f;

	while (wire_receive(&h->way[!at].wire, h->ticks, &f))
		rifl_lane_rx(l, &f);
	while (rifl_lane_read(l, &s))
		got(h, !at, &s);
}

static void transmit(struct hop *h, uint32_t at)
{
	struct way *w = &h->way[at];
	struct rifl_segment s;
	struct rifl_frame f;
	bool offers = w->next != NULL;

	if (offers)
		make_segment(h, w, &s);
	if (rifl_lane_tx(&w->lane, offers ? &s : NULL, &f) == 1)
		was_taken(w, &s);
	wire_send(&w->wire, h->ticks, &f);
}

static void one_slot(struct hop *h)
{
	receive(h, 0);
	receive(h, 1);
	transmit(h, 0);
	transmit(h, 1);
	h->ticks += WIRE_SLOT;
}

static void set_ber(struct hop *h, uint64_t ber)
{
	const struct faults faults = { .ber = ber, .noise_frames = 1 };

	wire_set_faults(&h->way[0].wire, &faults);
	wire_set_faults(&h->way[1].wire, &faults);
}

void hop_slot(struct hop *h)
{
	if (h->sim->healed && !h->quiet) {
		h->quiet = true;
		set_ber(h, 0);
	}
	one_slot(h);
	h->awake = h->way[0].first || h->way[1].first;
	h->at_ps += h->slot_ps;
	if (h->awake)
		sim_at(h->sim, (h->at_ps + PS_PER_NS - 1) / PS_PER_NS, EV_HOP, h, 0);
}

static void wake(struct hop *h)
{
	uint64_t now = h->sim->now * PS_PER_NS, missed = 0;

	if (now > h->at_ps)
		missed = (now - h->at_ps) / h->slot_ps;
	for (uint64_t n = missed < h->repair ? missed : h->repair; n; n--)
		one_slot(h);
	if (h->at_ps < now)
		h->at_ps = now;
	h->awake = true;
	sim_at(h->sim, (h->at_ps + PS_PER_NS - 1) / PS_PER_NS, EV_HOP, h, 0);
}

void hop_send(struct hop *h, uint32_t dir, struct frame *f)
{
	struct way *w = &h->way[dir];

	if (!h->awake)
		wake(h);
	f->next = NULL;
	*w->end = f;
	w->end = &f->next;
	if (!w->next)
		w->next = f;
	w->waits += f->len;
}

uint64_t hop_queued(const struct hop *h, uint32_t dir)
{
	return h->way[dir].waits;
}

uint64_t hop_damaged(const struct hop *h, uint32_t dir)
{
	return h->way[dir].wire.hit;
}

/* ---- opening ---- */

/* The link comes up before the run begins. */
static void bring_up(struct hop *h)
{
	const struct rifl_rx *a = &h->way[0].lane.rx, *b = &h->way[1].lane.rx;

	while (!a->peer_normal || !b->peer_normal)
		one_slot(h);
}

struct hop *hop_open(struct sim *s, const struct sim_link_cfg *cfg, uint32_t n, uint32_t back)
{
	struct hop *h = calloc(1, sizeof(*h));
	struct rifl_cfg lane;
	uint64_t delay;

	if (!h || derive(cfg, &lane))
		abort();
	h->sim = s;
	h->cfg = cfg;
	h->n = n;
	h->back = back;
	h->slot_ps = slot_ps(cfg);
	h->repair = 3ULL * rifl_ids(&lane) + 2 * lane.rtt_frames;
	delay = (uint64_t)((unsigned __int128)cfg->delay * PS_PER_NS * WIRE_SLOT / h->slot_ps);
	for (uint32_t dir = 0; dir < 2; dir++) {
		struct way *w = &h->way[dir];

		w->end = &w->first;
		if (rifl_lane_open(&w->lane, &lane) ||
		    !wire_open(&w->wire, lane.frame_bits, delay, s->cfg->seed, STREAM + 2 * n + dir))
			abort();
	}
	bring_up(h);
	set_ber(h, cfg->ber);
	return h;
}

static void drop_all(struct hop *h, struct way *w)
{
	while (w->first) {
		struct frame *f = w->first;

		w->first = f->next;
		pool_put(&h->sim->frames, f);
	}
}

void hop_close(struct hop *h)
{
	if (!h)
		return;
	for (uint32_t dir = 0; dir < 2; dir++) {
		drop_all(h, &h->way[dir]);
		rifl_lane_close(&h->way[dir].lane);
		wire_close(&h->way[dir].wire);
	}
	free(h);
}
