// SPDX-License-Identifier: BSD-2-Clause
#include "hop.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"

/* Of streams of randomness, the first for hops: behind those of links. */
enum { STREAM = WIRE_MAX_LINKS * (CHANCES + 1) };

/* Direction 0 leads to port 1. */
static struct link *link_of(const struct hop *h, uint32_t dir)
{
	return &h->w->link[!dir][h->path];
}

static uint32_t frame_of(const struct hop *h, const struct rifl_hop_packet *p)
{
	const char *f = (const char *)p - offsetof(struct pool_frame, hop);

	return (uint32_t)((const struct pool_frame *)(const void *)f - h->w->pool->frame);
}

static void read_frame(void *arg, const struct rifl_hop_packet *p, uint32_t at, uint8_t *to, uint32_t len)
{
	const struct hop *h = arg;

	memcpy(to, pool_data(h->w->pool, frame_of(h, p)) + at, len);
}

/* What arrives takes the place of what was sent, of which the hop has no need any more. */
static void write_frame(void *arg, struct rifl_hop_packet *p, uint32_t at, const uint8_t *data, uint32_t len)
{
	struct hop *h = arg;
	uint32_t frame = frame_of(h, p);
	uint8_t *to = pool_data(h->w->pool, frame) + at;

	if (memcmp(to, data, len))
		h->altered[h->w->pool->frame[frame].to != 1]++;
	memcpy(to, data, len);
}

static void frame_sent(void *arg, uint32_t dir, struct rifl_hop_packet *p)
{
	struct hop *h = arg;

	(void)p;
	link_rifl_sent(h->w, link_of(h, dir), rifl_hop_due(&h->rifl));
}

static void frame_arrived(void *arg, uint32_t dir, struct rifl_hop_packet *p)
{
	struct hop *h = arg;

	link_rifl_came(h->w, link_of(h, dir), frame_of(h, p), rifl_hop_due(&h->rifl));
}

/* The ends have lost each other: all under way is lost, too. */
static void restart(struct hop *h)
{
	struct rifl_hop_packet *p;

	for (uint32_t dir = 0; dir < 2; dir++)
		while ((p = rifl_hop_take(&h->rifl, dir)))
			link_rifl_lost(h->w, link_of(h, dir), frame_of(h, p));
	rifl_hop_restart(&h->rifl);
	h->restarts++;
}

void hop_catch_up(struct hop *h, uint64_t now)
{
	while (h->rifl.awake && rifl_hop_due(&h->rifl) <= now)
		if (!rifl_hop_slot(&h->rifl) && h->rifl.broken)
			restart(h);
}

/* The event is no later than a frame can come through. */
static void arm(struct hop *h)
{
	uint64_t due;

	if (!h->rifl.awake)
		return;
	due = rifl_hop_soonest(&h->rifl);
	if (h->armed && h->due <= due)
		return;
	if (h->armed)
		timeline_cancel(&h->w->timeline, h->order);
	h->armed = true;
	h->due = due;
	h->order = timeline_add(&h->w->timeline, due, WIRE_MAX_LINKS + h->w->pool->frames + h->path);
}

void hop_event(struct hop *h, uint64_t at)
{
	h->armed = false;
	hop_catch_up(h, at);
	arm(h);
}

void hop_offer(struct hop *h, uint32_t number, uint32_t frame, uint64_t now)
{
	struct pool_frame *f = &h->w->pool->frame[frame];

	f->hop.len = f->len;
	rifl_hop_send(&h->rifl, number / WIRE_MAX_PATHS != 1, &f->hop, now);
	arm(h);
}

struct hop *hop_of(const struct wire *w, const struct link *l)
{
	return w->hop[link_number(w, l) % WIRE_MAX_PATHS];
}

void hop_set_ber(struct hop *h, unsigned int port, uint64_t ber)
{
	rifl_hop_set_ber(&h->rifl, port != 1, ber);
}

void hop_stats(const struct hop *h, unsigned int port, struct hop_stats *s)
{
	uint32_t dir = port != 1;
	const struct rifl_hop_way *there = &h->rifl.way[dir], *back = &h->rifl.way[!dir];

	*s = (struct hop_stats){
		.frames = rifl_hop_frames(&h->rifl, dir),
		.damaged = there->line.hit,
		.errors = back->lane.stats.errors + back->lane.stats.sync_lost,
		.retransmissions = there->lane.stats.procedures,
		.altered = h->altered[dir],
		.restarts = h->restarts,
	};
}

void hop_reset_stats(struct hop *h)
{
	rifl_hop_reset_stats(&h->rifl);
	h->altered[0] = h->altered[1] = h->restarts = 0;
}

struct hop *hop_open(struct wire *w, unsigned int path, const struct wire_settings *set, uint64_t seed)
{
	struct hop *h = calloc(1, sizeof(*h));
	const struct rifl_hop_cfg cfg = {
		.frame_bits = (uint32_t)set->rifl, .rate = set->rate, .delay = set->delay, .seed = seed,
		.stream = STREAM + 2 * path,
	};
	const struct rifl_hop_user user = {
		.read = read_frame, .write = write_frame, .sent = frame_sent, .arrived = frame_arrived,
		.arg = h,
	};

	if (!h)
		return NULL;
	h->w = w;
	h->path = path;
	if (rifl_hop_open(&h->rifl, &cfg, &user)) {
		free(h);
		return NULL;
	}
	for (unsigned int port = 0; port < 2; port++)
		hop_set_ber(h, port, set->ber);
	return h;
}

void hop_close(struct hop *h)
{
	if (!h)
		return;
	rifl_hop_close(&h->rifl);
	free(h);
}
