// SPDX-License-Identifier: BSD-2-Clause
#include "link.h"

#include "frame.h"
#include "hop.h"

enum {
	BITS = 8,
	NOISE = WIRE_MAX_LINKS * CHANCES,	/* of streams of randomness, the first for bit errors */
};

#define NS_PER_S 1000000000ULL

static bool hit(struct link *l, enum link_chance kind, uint64_t share)
{
	return share && (rng_next(&l->rng[kind]) >> 32) < share;
}

void link_init(struct link *l, const struct wire_settings *set, uint64_t seed, uint64_t number)
{
	l->set = *set;
	l->head = l->tail = l->serving = POOL_NONE;
	for (unsigned int i = 0; i < CHANCES; i++)
		rng_seed(&l->rng[i], seed, number * CHANCES + i);
	rng_seed(&l->noise.rng, seed, NOISE + number);
	noise_begin(&l->noise, set->ber);
}

uint64_t link_wire_ns(uint64_t bytes, uint64_t rate, uint64_t *remainder)
{
	unsigned __int128 work = (unsigned __int128)bytes * BITS * NS_PER_S + *remainder;

	*remainder = (uint64_t)(work % rate);
	return (uint64_t)(work / rate);
}

/* The frame leaves the link, by whatever way |counter| counts. */
static void drop(struct wire *w, struct link *l, uint32_t frame, uint64_t *counter)
{
	(*counter)++;
	l->under_way--;
	pool_give(w->pool, frame);
}

/* Whether |size| is exceeded by one more packet of |len| bytes, or reached already. */
static bool exceeded(const struct link *l, const struct wire_size *size, uint64_t len)
{
	return size->packets ? l->packets + 1 > size->n : l->bytes + len > size->n;
}

static bool reached(const struct link *l, const struct wire_size *size)
{
	return size->n && (size->packets ? l->packets : l->bytes) >= size->n;
}

static bool impaired(const struct wire *w, uint32_t frame)
{
	return w->all || w->pool->frame[frame].flow;
}

static void mark(struct wire *w, struct link *l, uint32_t frame)
{
	const struct pool_frame *f = &w->pool->frame[frame];

	/* The draw comes first, so that each packet takes one whatever waits. */
	if (impaired(w, frame) &&
	    (hit(l, CHANCE_ECN, l->set.ecn_share) || (l->set.rate && reached(l, &l->set.ecn))))
		l->stats.marked += frame_mark_ce(pool_data(w->pool, frame), f->len, f->l3);
}

/* Gilbert-Elliott: the state decides about this packet, and then moves. */
static bool lose(struct link *l)
{
	const struct wire_loss *m = &l->set.loss;
	bool lost;

	if (!m->gilbert_elliott)
		return hit(l, CHANCE_LOSS, m->p);
	lost = !hit(l, CHANCE_LOSS, l->bad ? m->h : m->k);
	if (hit(l, CHANCE_STATE, l->bad ? m->r : m->p))
		l->bad = !l->bad;
	return lost;
}

/* How long the flight takes. */
static uint64_t flight_ns(struct link *l, bool flow)
{
	const struct wire_settings *s = &l->set;
	uint64_t delay = s->rifl ? 0 : s->delay;	/* it has had that of a hop */

	if (s->jitter)
		delay = delay - s->jitter + rng_below(&l->rng[CHANCE_JITTER], 2 * s->jitter + 1);
	if (!flow || !hit(l, CHANCE_REORDER, s->reorder))
		return delay;
	l->stats.reordered++;
	return s->reorder_by ? delay + s->reorder_by : 0;
}

static void fly(struct wire *w, struct link *l, uint32_t frame, uint64_t at, bool flow)
{
	uint64_t ns = flight_ns(l, flow);

	if (ns)
		timeline_add(&w->timeline, at + ns, WIRE_MAX_LINKS + frame);
	else
		link_arrived(w, l, frame, at);
}

/* A second one, right behind the first. */
static void duplicate(struct wire *w, struct link *l, uint32_t copy, uint64_t at)
{
	l->stats.duplicated++;
	l->under_way++;
	fly(w, l, copy, at, true);
}

/* The frame leaves the wire and flies, or what becomes of it. */
static void leave(struct wire *w, struct link *l, uint32_t frame, uint64_t at)
{
	const struct pool_frame *f = &w->pool->frame[frame];
	bool flow = impaired(w, frame);
	uint32_t copy = POOL_NONE;

	if (flow && lose(l)) {
		drop(w, l, frame, &l->stats.lost);
		return;
	}
	if (flow && l->set.ber && !l->set.rifl && noise_hits(&l->noise, l->set.ber, f->len)) {
		drop(w, l, frame, &l->stats.bit_errors);
		return;
	}
	if (flow && hit(l, CHANCE_DUP, l->set.dup)) {
		copy = pool_copy(w->pool, frame);
		l->stats.no_buffer += copy == POOL_NONE;
	}
	if (flow && hit(l, CHANCE_CORRUPT, l->set.corrupt)) {
		frame_corrupt(pool_data(w->pool, frame), f->len, f->l3, (uint32_t)l->set.burst,
			      &l->rng[CHANCE_CORRUPT]);
		l->stats.corrupted++;
	}
	fly(w, l, frame, at, flow);
	if (copy != POOL_NONE)
		duplicate(w, l, copy, at);
}

/* Put |frame| on the wire at |at|. */
static void serve(struct wire *w, struct link *l, uint32_t frame, uint64_t at)
{
	const struct pool_frame *f = &w->pool->frame[frame];
	uint64_t ns = 0;

	histogram_add(&l->stats.wait, at - f->entered);
	if (l->set.rate)
		ns = link_wire_ns(f->len + l->set.overhead, l->set.rate, &l->remainder);
	l->serving = frame;
	l->served = timeline_add(&w->timeline, at + ns, link_number(w, l));
}

static void enqueue(struct wire *w, struct link *l, uint32_t frame)
{
	w->pool->frame[frame].next = POOL_NONE;
	if (l->tail == POOL_NONE)
		l->head = frame;
	else
		w->pool->frame[l->tail].next = frame;
	l->tail = frame;
	l->packets++;
	l->bytes += w->pool->frame[frame].len;
	if (l->packets > l->stats.max_packets)
		l->stats.max_packets = l->packets;
}

static uint32_t dequeue(struct wire *w, struct link *l)
{
	uint32_t frame = l->head;

	if (frame == POOL_NONE)
		return frame;
	l->head = w->pool->frame[frame].next;
	if (l->head == POOL_NONE)
		l->tail = POOL_NONE;
	l->packets--;
	l->bytes -= w->pool->frame[frame].len;
	return frame;
}

/* A hop has a queue of its own, but what may wait is counted here. */
static void offer_to_hop(struct wire *w, struct link *l, uint32_t frame, bool busy, uint64_t now)
{
	if (busy) {
		enqueue(w, l, frame);
	} else {
		l->serving = frame;
		histogram_add(&l->stats.wait, 0);
	}
	hop_offer(hop_of(w, l), link_number(w, l), frame, now);
}

void link_offer(struct wire *w, struct link *l, uint32_t frame, uint64_t now)
{
	struct pool_frame *f = &w->pool->frame[frame];
	bool busy;

	if (l->set.rifl)
		hop_catch_up(hop_of(w, l), now);
	busy = l->serving != POOL_NONE;

	f->entered = now;
	f->epoch = l->epoch;
	l->stats.offered++;
	l->stats.offered_bytes += f->len;
	l->under_way++;
	if (l->set.down) {
		drop(w, l, frame, &l->stats.down);
		return;
	}
	if (l->set.rate)
		histogram_add(&l->stats.depth, l->bytes);
	if (busy && exceeded(l, &l->set.queue, f->len)) {
		drop(w, l, frame, &l->stats.queue_full);
		return;
	}
	mark(w, l, frame);
	if (l->set.rifl) {
		offer_to_hop(w, l, frame, busy, now);
	} else if (busy) {
		enqueue(w, l, frame);
	} else if (l->set.rate) {
		l->remainder = 0;
		serve(w, l, frame, now);
	} else {
		leave(w, l, frame, now);
	}
}

void link_sent(struct wire *w, struct link *l, uint64_t at)
{
	uint32_t frame = l->serving, next = dequeue(w, l);

	l->serving = POOL_NONE;
	if (next != POOL_NONE)
		serve(w, l, next, at);
	leave(w, l, frame, at);
}

void link_rifl_sent(struct wire *w, struct link *l, uint64_t at)
{
	l->serving = dequeue(w, l);
	if (l->serving != POOL_NONE)
		histogram_add(&l->stats.wait, at - w->pool->frame[l->serving].entered);
}

void link_rifl_came(struct wire *w, struct link *l, uint32_t frame, uint64_t at)
{
	leave(w, l, frame, at);
}

void link_rifl_lost(struct wire *w, struct link *l, uint32_t frame)
{
	l->head = l->tail = l->serving = POOL_NONE;
	l->packets = l->bytes = 0;
	drop(w, l, frame, &l->stats.bit_errors);
}

void link_arrived(struct wire *w, struct link *l, uint32_t frame, uint64_t at)
{
	const struct pool_frame *f = &w->pool->frame[frame];

	if (f->epoch != l->epoch) {
		drop(w, l, frame, &l->stats.down);
		return;
	}
	l->stats.delivered++;
	l->stats.delivered_bytes += f->len;
	l->under_way--;
	histogram_add(&l->stats.delay, at - f->entered);
	w->deliver(w->arg, frame);
}

void link_fail(struct wire *w, struct link *l)
{
	uint32_t frame;

	l->epoch++;
	/* A hop carries what it has, all of it too old when it arrives. */
	if (l->set.rifl)
		return;
	if (l->serving != POOL_NONE) {
		timeline_cancel(&w->timeline, l->served);
		drop(w, l, l->serving, &l->stats.down);
	}
	l->serving = POOL_NONE;
	while ((frame = dequeue(w, l)) != POOL_NONE)
		drop(w, l, frame, &l->stats.down);
}
