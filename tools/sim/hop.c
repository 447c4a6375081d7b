// SPDX-License-Identifier: BSD-2-Clause
/* The simulator's frames on a RIFL link: an event for each slot while something is under way. */
#include "hop.h"

#include "../rifl/hop.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM = 5000 };		/* of randomness, from here on */

struct hop {
	struct rifl_hop link;
	struct sim *sim;
	uint32_t n, back;
	bool quiet;		/* errors are over */
};

static struct rifl_hop_cfg link_cfg(const struct sim_link_cfg *cfg)
{
	return (struct rifl_hop_cfg){
		.frame_bits = (uint32_t)cfg->rifl, .rate = cfg->rate, .delay = cfg->delay,
	};
}

int hop_check(const struct sim_link_cfg *cfg)
{
	struct rifl_hop_cfg link = link_cfg(cfg);

	return rifl_hop_check(&link);
}

static struct frame *frame_of(const struct rifl_hop_packet *p)
{
	return (struct frame *)((char *)(uintptr_t)p - offsetof(struct frame, hop));
}

/* The bytes that a frame only says to have are zeros. */
static void read_frame(void *arg, const struct rifl_hop_packet *p, uint32_t at, uint8_t *to, uint32_t len)
{
	const struct frame *f = frame_of(p);
	uint32_t stored = at < f->stored ? f->stored - at : 0;

	(void)arg;
	if (stored > len)
		stored = len;
	memcpy(to, f->data + at, stored);
	memset(to + stored, 0, len - stored);
}

static void write_frame(void *arg, struct rifl_hop_packet *p, uint32_t at, const uint8_t *data, uint32_t len)
{
	struct hop *h = arg;
	uint8_t want[RIFL_PAYLOAD_MAX];

	read_frame(arg, p, at, want, len);
	if (memcmp(want, data, len))
		sim_fail(h->sim, NULL, "link %u: RIFL has altered something", h->n);
}

static void frame_arrived(void *arg, uint32_t dir, struct rifl_hop_packet *p)
{
	struct hop *h = arg;
	struct sim *s = h->sim;
	struct frame *f = frame_of(p);

	if (dir == 0)
		link_out(s, h->n, f, s->now);
	else if (h->back != h->n)
		link_out(s, h->back, f, s->now);
	else
		link_port(s, f, link_first(s, f));
}

static void set_ber(struct hop *h, uint64_t ber)
{
	rifl_hop_set_ber(&h->link, 0, ber);
	rifl_hop_set_ber(&h->link, 1, ber);
}

void hop_slot(struct hop *h)
{
	if (h->sim->healed && !h->quiet) {
		h->quiet = true;
		set_ber(h, 0);
	}
	if (rifl_hop_slot(&h->link))
		sim_at(h->sim, rifl_hop_due(&h->link), EV_HOP, h, 0);
	else if (h->link.broken)
		sim_fail(h->sim, NULL, "link %u: RIFL has lost or repeated something", h->n);
}

void hop_send(struct hop *h, uint32_t dir, struct frame *f)
{
	bool awake = h->link.awake;

	f->hop.len = f->len;
	rifl_hop_send(&h->link, dir, &f->hop, h->sim->now);
	if (!awake)
		sim_at(h->sim, rifl_hop_due(&h->link), EV_HOP, h, 0);
}

uint64_t hop_queued(const struct hop *h, uint32_t dir)
{
	return h->link.way[dir].waits;
}

uint64_t hop_damaged(const struct hop *h, uint32_t dir)
{
	return h->link.way[dir].line.hit;
}

struct hop *hop_open(struct sim *s, const struct sim_link_cfg *cfg, uint32_t n, uint32_t back)
{
	struct hop *h = calloc(1, sizeof(*h));
	struct rifl_hop_cfg link = link_cfg(cfg);
	const struct rifl_hop_user user = {
		.read = read_frame, .write = write_frame, .arrived = frame_arrived, .arg = h,
	};

	link.seed = s->cfg->seed;
	link.stream = STREAM + 2 * n;
	if (!h || rifl_hop_open(&h->link, &link, &user))
		abort();
	h->sim = s;
	h->n = n;
	h->back = back;
	set_ber(h, cfg->ber);
	return h;
}

void hop_close(struct hop *h)
{
	struct rifl_hop_packet *p;

	if (!h)
		return;
	for (uint32_t dir = 0; dir < 2; dir++)
		while ((p = rifl_hop_take(&h->link, dir)))
			pool_put(&h->sim->frames, frame_of(p));
	rifl_hop_close(&h->link);
	free(h);
}
