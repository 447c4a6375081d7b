// SPDX-License-Identifier: BSD-2-Clause
/* A hop, slot by slot. */
#include "hop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PS_PER_S 1000000000000ULL

enum { SLOTS_AT_THE_ENDS = 2 };		/* within which an end answers */

static uint64_t slot_ps(const struct rifl_hop_cfg *cfg)
{
	return (cfg->frame_bits * PS_PER_S + cfg->rate - 1) / cfg->rate;
}

static int derive(const struct rifl_hop_cfg *cfg, struct rifl_cfg *lane)
{
	uint64_t rtt;

	if (!cfg->rate)
		return -EINVAL;
	rtt = 2 * cfg->delay * RIFL_HOP_PS_PER_NS / slot_ps(cfg) + 1;
	if (rtt > UINT32_MAX - SLOTS_AT_THE_ENDS)
		rtt = UINT32_MAX - SLOTS_AT_THE_ENDS;
	return rifl_cfg_derive(lane, cfg->frame_bits, (uint32_t)rtt + SLOTS_AT_THE_ENDS);
}

int rifl_hop_check(const struct rifl_hop_cfg *cfg)
{
	struct rifl_cfg lane;

	return derive(cfg, &lane);
}

/* ---- packets as segments ---- */

static void make_segment(const struct rifl_hop *h, const struct rifl_hop_way *w, struct rifl_segment *s)
{
	uint32_t full = rifl_payload_bytes(w->lane.cfg.frame_bits), left = w->next->len - w->sent;

	s->end = left <= full;
	s->len = s->end ? left : full;
	h->user.read(h->user.arg, w->next, w->sent, s->data, s->len);
}

static void was_taken(struct rifl_hop *h, uint32_t dir, const struct rifl_segment *s)
{
	struct rifl_hop_way *w = &h->way[dir];
	struct rifl_hop_packet *p = w->next;

	w->sent += s->len;
	w->waits -= s->len;
	if (!s->end)
		return;
	p->sent = h->ticks;
	w->next = p->next;
	w->sent = 0;
	if (h->user.sent)
		h->user.sent(h->user.arg, dir, p);
}

struct rifl_hop_packet *rifl_hop_take(struct rifl_hop *h, uint32_t dir)
{
	struct rifl_hop_way *w = &h->way[dir];
	struct rifl_hop_packet *p = w->first;

	if (!p)
		return NULL;
	if (p == w->next) {
		w->waits -= p->len - w->sent;
		w->next = p->next;
		w->sent = 0;
	}
	w->arrived = 0;
	w->first = p->next;
	if (!w->first)
		w->end = &w->first;
	return p;
}

static void got(struct rifl_hop *h, uint32_t dir, const struct rifl_segment *s)
{
	struct rifl_hop_way *w = &h->way[dir];
	struct rifl_hop_packet *p = w->first;

	if (!p || w->arrived + s->len > p->len || s->end != (w->arrived + s->len == p->len)) {
		h->broken = true;
		return;
	}
	h->user.write(h->user.arg, p, w->arrived, s->data, s->len);
	w->arrived += s->len;
	if (s->end)
		h->user.arrived(h->user.arg, dir, rifl_hop_take(h, dir));
}

/* ---- slots ---- */

static void receive(struct rifl_hop *h, uint32_t at)
{
	struct rifl_lane *l = &h->way[at].lane;
	struct rifl_segment s;
	struct rifl_frame f;

	while (line_receive(&h->way[!at].line, h->ticks, &f))
		rifl_lane_rx(l, &f);
	while (!h->broken && rifl_lane_read(l, &s))
		got(h, !at, &s);
}

static void transmit(struct rifl_hop *h, uint32_t at)
{
	struct rifl_hop_way *w = &h->way[at];
	struct rifl_segment s;
	struct rifl_frame f;
	bool offers = w->next != NULL;

	if (offers)
		make_segment(h, w, &s);
	if (rifl_lane_tx(&w->lane, offers ? &s : NULL, &f) == 1)
		was_taken(h, at, &s);
	line_send(&w->line, h->ticks, &f);
}

/* The end |at| sends and hears nothing but data. */
static bool content(const struct rifl_hop *h, uint32_t at)
{
	const struct rifl_lane *l = &h->way[at].lane;

	return l->tx.state == RIFL_STATE_NORMAL && l->rx.peer_normal && !l->rx.error &&
	       !l->rx.pause_requests && !l->rx.retrans_requests && !l->fc_count && !l->tx.fc_sent;
}

static void one_slot(struct rifl_hop *h)
{
	uint64_t hit = h->way[0].line.hit + h->way[1].line.hit;

	receive(h, 0);
	receive(h, 1);
	transmit(h, 0);
	transmit(h, 1);
	h->ticks += LINE_SLOT;
	h->calm++;
	if (h->way[0].line.hit + h->way[1].line.hit != hit || !content(h, 0) || !content(h, 1))
		h->calm = 0;
}

bool rifl_hop_slot(struct rifl_hop *h)
{
	one_slot(h);
	h->awake = h->way[0].first || h->way[1].first;
	h->at_ps += h->slot_ps;
	return h->awake && !h->broken;
}

/*
 * Let |n| slots pass in which nothing is to be sent. Where all that is on the lines is data without an error,
 * and the next error is far, a slot is like any other but for its frame ID: they are left out.
 */
static void pass(struct rifl_hop *h, uint64_t n)
{
	while (n && !h->broken) {
		uint64_t skip = n, least;

		for (uint32_t dir = 0; dir < 2; dir++) {
			least = line_good_frames(&h->way[dir].line);
			skip = least < skip ? least : skip;
		}
		if (h->calm <= h->way[0].lane.cfg.rtt_frames)
			skip = 0;
		for (uint32_t dir = 0; dir < 2 && skip; dir++)
			line_skip(&h->way[dir].line, skip);
		if (!skip)
			one_slot(h);
		n -= skip ? skip : 1;
	}
}

static void wake(struct rifl_hop *h, uint64_t now_ps)
{
	uint64_t missed = now_ps > h->at_ps ? (now_ps - h->at_ps) / h->slot_ps : 0;

	pass(h, missed < h->repair ? missed : h->repair);
	if (h->at_ps < now_ps)
		h->at_ps = now_ps;
	h->awake = true;
}

void rifl_hop_send(struct rifl_hop *h, uint32_t dir, struct rifl_hop_packet *p, uint64_t now)
{
	struct rifl_hop_way *w = &h->way[dir];

	if (!h->awake)
		wake(h, now * RIFL_HOP_PS_PER_NS);
	p->next = NULL;
	*w->end = p;
	w->end = &p->next;
	if (!w->next)
		w->next = p;
	w->waits += p->len;
}

/* In how many slots the first packet of |w| can have come through: 0 for the next one. */
static uint64_t slots_left(const struct rifl_hop *h, const struct rifl_hop_way *w)
{
	const struct rifl_hop_packet *p = w->first;
	uint64_t full = rifl_payload_bytes(w->lane.cfg.frame_bits), at = p->sent;

	if (p == w->next) {
		uint64_t segments = (p->len - w->sent + full - 1) / full;

		at = h->ticks + (segments ? segments - 1 : 0) * LINE_SLOT;
	}
	at += w->line.delay;
	return at > h->ticks ? (at - h->ticks + LINE_SLOT - 1) / LINE_SLOT : 0;
}

uint64_t rifl_hop_soonest(const struct rifl_hop *h)
{
	uint64_t slots = UINT64_MAX;

	for (uint32_t dir = 0; dir < 2; dir++) {
		uint64_t n = h->way[dir].first ? slots_left(h, &h->way[dir]) : UINT64_MAX;

		slots = n < slots ? n : slots;
	}
	return (h->at_ps + slots * h->slot_ps + RIFL_HOP_PS_PER_NS - 1) / RIFL_HOP_PS_PER_NS;
}

uint64_t rifl_hop_frames(const struct rifl_hop *h, uint32_t dir)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < RIFL_STATES; i++)
		n += h->way[dir].lane.stats.sent[i];
	return n;
}

/* ---- opening ---- */

void rifl_hop_set_ber(struct rifl_hop *h, uint32_t dir, uint64_t ber)
{
	const struct faults faults = { .ber = ber, .noise_frames = 1 };

	line_set_faults(&h->way[dir].line, &faults);
}

void rifl_hop_reset_stats(struct rifl_hop *h)
{
	for (uint32_t dir = 0; dir < 2; dir++) {
		h->way[dir].lane.stats = (struct rifl_stats){ 0 };
		h->way[dir].line.hit = 0;
	}
}

/* Slots without errors until both ends take user data. */
static void bring_up(struct rifl_hop *h)
{
	const struct rifl_rx *a = &h->way[0].lane.rx, *b = &h->way[1].lane.rx;

	while (!a->peer_normal || !b->peer_normal)
		one_slot(h);
}

void rifl_hop_restart(struct rifl_hop *h)
{
	struct rifl_stats stats[2];
	uint64_t ber[2];

	for (uint32_t dir = 0; dir < 2; dir++) {
		struct rifl_hop_way *w = &h->way[dir];

		stats[dir] = w->lane.stats;
		ber[dir] = w->line.faults.ber;
		rifl_hop_set_ber(h, dir, 0);
		rifl_lane_reset(&w->lane);
		line_clear(&w->line);
	}
	h->broken = h->awake = false;
	bring_up(h);
	for (uint32_t dir = 0; dir < 2; dir++) {
		h->way[dir].lane.stats = stats[dir];
		rifl_hop_set_ber(h, dir, ber[dir]);
	}
}

static int open_way(struct rifl_hop *h, uint32_t dir, const struct rifl_hop_cfg *cfg,
		    const struct rifl_cfg *lane)
{
	struct rifl_hop_way *w = &h->way[dir];
	uint64_t delay = (uint64_t)((unsigned __int128)cfg->delay * RIFL_HOP_PS_PER_NS * LINE_SLOT /
				    h->slot_ps);
	int rc = rifl_lane_open(&w->lane, lane);

	w->end = &w->first;
	if (!rc && !line_open(&w->line, lane->frame_bits, delay, cfg->seed, cfg->stream + dir))
		rc = -ENOMEM;
	return rc;
}

int rifl_hop_open(struct rifl_hop *h, const struct rifl_hop_cfg *cfg, const struct rifl_hop_user *user)
{
	struct rifl_cfg lane;
	int rc = derive(cfg, &lane);

	memset(h, 0, sizeof(*h));
	h->user = *user;
	if (rc)
		return rc;
	h->slot_ps = slot_ps(cfg);
	h->repair = 3ULL * rifl_ids(&lane) + 2 * lane.rtt_frames;
	for (uint32_t dir = 0; dir < 2 && !rc; dir++)
		rc = open_way(h, dir, cfg, &lane);
	if (rc) {
		rifl_hop_close(h);
		return rc;
	}
	bring_up(h);
	rifl_hop_reset_stats(h);
	return 0;
}

void rifl_hop_close(struct rifl_hop *h)
{
	for (uint32_t dir = 0; dir < 2; dir++) {
		rifl_lane_close(&h->way[dir].lane);
		line_close(&h->way[dir].line);
	}
}
