// SPDX-License-Identifier: BSD-2-Clause
/*
 * A frame's way: the sender's NIC (rate, queue with back pressure), the switch's port towards the
 * destination (rate, finite queue, ECN), and the wire behind it (delay and everything bad).
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

/* Preamble, frame check sequence and gap: what a frame takes on the wire beyond its bytes. */
enum {
	WIRE_OVERHEAD = 24,
};

static uint64_t wire_ns(uint64_t rate, uint32_t len)
{
	return rate ? (uint64_t)(len + WIRE_OVERHEAD) * 8 * SIM_S / rate : 0;
}

/* Bytes waiting before something that is busy until |busy|. */
static uint64_t backlog(uint64_t rate, uint64_t busy, uint64_t now)
{
	return busy > now ? (uint64_t)((unsigned __int128)(busy - now) * rate / (8 * SIM_S)) : 0;
}

static bool relieved(const struct sim *s)
{
	return s->healed && s->cfg->relief;
}

bool link_nic_full(const struct host *h)
{
	const struct sim_host_cfg *cfg = h->cfg;

	return cfg->nic_queue && !relieved(h->sim) &&
	       backlog(cfg->nic_rate, h->nic_busy, h->sim->now) > cfg->nic_queue;
}

bool link_send(struct host *h, struct frame *f)
{
	struct sim *s = h->sim;

	if (link_nic_full(h)) {
		h->tx_refused++;
		return false;
	}
	if (h->nic_busy < s->now || relieved(s))
		h->nic_busy = s->now;
	h->nic_busy += wire_ns(relieved(s) ? 0 : h->cfg->nic_rate, f->len);
	h->tx_frames++;
	sim_at(s, h->nic_busy, EV_PORT, f, 0);
	return true;
}

static void mark(struct link *l, struct frame *f)
{
	uint8_t *l3 = f->data + ETH_HLEN;

	if (l3[0] >> 4 == 4)
		l3[1] |= FALCON_ECN_CE;
	else
		l3[1] |= FALCON_ECN_CE << 4;
	f->marked = true;
	l->stats.marked++;
}

/*
 * Spoil a run of at most 15 bits from the IP addresses on. A run of that length never escapes the
 * UDP checksum, so that whoever accepts the frame has not looked.
 */
static void spoil(struct link *l, struct frame *f)
{
	uint32_t ipv6 = f->data[ETH_HLEN] >> 4 == 6;
	uint32_t from = ETH_HLEN + (ipv6 ? 8 : 12);
	uint32_t bit = (uint32_t)rng_below(&l->rng, (f->len - from - 2) * 8);
	uint32_t run = 1U << rng_below(&l->rng, 15), pattern;

	pattern = (run | 1U | (uint32_t)rng_below(&l->rng, run)) << (bit % 8);
	for (uint32_t i = 0; i < 3; i++)
		if (from + bit / 8 + i < f->len)
			f->data[from + bit / 8 + i] ^= (uint8_t)(pattern >> (8 * i));
	f->corrupt = true;
	l->stats.corrupted++;
}

static bool blacked_out(const struct sim *s, const struct sim_link_cfg *c)
{
	uint64_t t = s->now - s->start;

	return c->blackout_for && t >= c->blackout_at && t - c->blackout_at < c->blackout_for;
}

/* On the wire: |f| leaves the port at |at|. */
static void wire(struct sim *s, struct link *l, struct frame *f, uint64_t at)
{
	const struct sim_link_cfg *c = l->cfg;
	uint64_t delay = c->delay;

	if (c->jitter && !s->healed)
		delay += rng_below(&l->rng, c->jitter + 1);
	if (!s->healed && rng_chance(&l->rng, c->reorder)) {
		delay += rng_below(&l->rng, c->reorder_by + 1);
		l->stats.reordered++;
	}
	sim_at(s, at + delay, EV_ARRIVE, f, 0);
}

static void lose(struct sim *s, struct frame *f, uint64_t *counter)
{
	(*counter)++;
	sim_trace(s, "lost", NULL, f->src, f->dst, f->len);
	free(f);
}

static struct frame *copy(const struct frame *f)
{
	struct frame *d = malloc(sizeof(*d) + f->len);

	if (!d)
		abort();
	memcpy(d, f, sizeof(*d) + f->len);
	return d;
}

void link_port(struct sim *s, struct frame *f)
{
	struct link *l = &s->links[f->dst];
	const struct sim_link_cfg *c = l->cfg;
	uint64_t rate = relieved(s) ? 0 : c->rate, queued = backlog(rate, l->busy, s->now);
	bool faulty = !s->healed;

	l->stats.packets++;
	l->stats.bytes += f->len;
	s->totals.packets++;
	if (c->queue && queued + f->len > c->queue) {
		lose(s, f, &l->stats.queue_full);
		return;
	}
	if (faulty && (blacked_out(s, c) || rng_chance(&l->rng, c->loss))) {
		lose(s, f, &l->stats.lost);
		return;
	}
	if (c->ecn && queued >= c->ecn)
		mark(l, f);
	if (l->busy < s->now || relieved(s))
		l->busy = s->now;
	l->busy += wire_ns(rate, f->len);
	if (faulty && rng_chance(&l->rng, c->duplicate)) {
		l->stats.duplicated++;
		wire(s, l, copy(f), l->busy);
	}
	if (faulty && rng_chance(&l->rng, c->corrupt))
		spoil(l, f);
	wire(s, l, f, l->busy);
}
