/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RACK (paper 4.1, 4.3; RFC 8985): a packet is lost if one that was sent after it on the same flow
 * has arrived, and the round trip and the reordering window have passed since.
 *
 * Which was sent first tells fc_ctx.order, so nothing hangs on how fine the clock is, and a
 * retransmission counts like any packet, if it is what has arrived. That its predecessor has, an ACK shows
 * that answers an older packet, by its T1, or that comes sooner than any round trip: it proves nothing,
 * except, if RACK had caused the retransmission, that the window was too small. RFC 8985 learns that from
 * DSACK, which Falcon lacks. Of a base in another packet nothing is known, so it proves nothing either.
 *
 * Only an ACK packet says of every packet whether it has arrived. What a piggybacked base has told since
 * counts with the next one, also where the core sees both at once: between them requests, say, may have been
 * acknowledged, and the pushes sent before them received, of which no base tells.
 */
#include "core/parts.h"

enum {
	DUP_THRESHOLD = 3,	/* RFC 8985, 6.2: so many arrivals ahead outweigh the window */
	MAX_QUARTERS = 64,
	PERSIST = 16,		/* RFC 8985, 6.2: recoveries that a wider window lasts */
};

static const uint64_t MIN_RTT_EPOCH = 10000000000ULL;

static bool before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

void fc_rack_sample(struct fc_flow *f, uint64_t now)
{
	struct fc_rack *k = &f->rack;

	if (now >= k->epoch_end) {
		k->min_rtt = k->epoch_end ? k->epoch_min : f->rtt;
		k->epoch_min = f->rtt;
		k->epoch_end = now + MIN_RTT_EPOCH;
	}
	if (f->rtt < k->epoch_min)
		k->epoch_min = f->rtt;
	if (k->epoch_min < k->min_rtt)
		k->min_rtt = k->epoch_min;
}

/* A packet that RACK held for lost was not: allow for more reordering, once a round trip. */
static void widen(struct fcore_conn *c, struct fc_rack *k, const struct fc_ctx *ctx)
{
	if (before(ctx->order, k->widened))
		return;
	k->widened = c->tx_order;
	k->reordered = true;
	k->persist = PERSIST;
	if (k->quarters < MAX_QUARTERS)
		k->quarters++;
	c->stats.rack_spurious++;
}

static void advance(uint32_t *latest, uint32_t order)
{
	if (before(*latest, order))
		*latest = order;
}

/* Whether the latest ACK of |f| answers a packet that was sent before the retransmission |ctx|. */
static bool answers_older(const struct fc_flow *f, const struct fc_ctx *ctx)
{
	return (int32_t)(f->seen_t1 - falcon_time_of_ns(ctx->last_tx)) < 0;
}

void fc_rack_arrived(struct fcore_conn *c, const struct fc_ctx *ctx, unsigned int how, uint64_t now)
{
	struct fc_flow *f = &c->flow[ctx->flow];
	struct fc_rack *k = &f->rack;
	uint32_t *latest = how & FC_ARRIVED_BASE ? k->later : k->latest;
	bool hasty = now - ctx->last_tx < k->min_rtt;

	if (ctx->flags & FC_CTX_AGAIN) {
		if (how & FC_ARRIVED_BASE)
			return;
		if (hasty || answers_older(f, ctx)) {
			/* It may be another flow's ACK that tells: the T1 of this one's is older then. */
			if ((hasty || c->nflows == 1) && how & FC_ARRIVED_FRESH && ctx->flags & FC_CTX_RACK)
				widen(c, k, ctx);
			return;
		}
		c->rack_all = true;
	} else if (how & FC_ARRIVED_FRESH && before(ctx->order, k->known[!!(how & FC_ARRIVED_REQ)])) {
		k->reordered = true;
	}
	advance(&latest[0], ctx->order);
	/* Pull Data the peer's XDP may acknowledge before its agent has seen the requests before them. */
	if (how & FC_ARRIVED_ACKED && ctx->type != FALCON_PULL_DATA)
		advance(&latest[1], ctx->order);
}

void fc_rack_heard(struct fcore_conn *c)
{
	for (uint32_t i = 0; i < c->nflows; i++)
		for (int which = 0; which < 2; which++)
			advance(&c->flow[i].rack.latest[which], c->flow[i].rack.later[which]);
}

/* How many packets of |w| have arrived ahead of its base. */
static uint32_t arrived_ahead(const struct fc_win *w)
{
	uint32_t g = w->base >> FALCON_GROUP_SHIFT, n = 0;
	uint32_t last = (w->arrived_end - 1) >> FALCON_GROUP_SHIFT;

	for (; w->arrived_end != w->base && falcon_group_diff(g, last) <= 0; g++)
		n += (uint32_t)__builtin_popcount((fc_ring_bits(w, w->rx_ring, g) |
						   *fc_bits(w, (uint32_t *)w->done, g)) &
						  fc_group_mask(g, w->base, w->arrived_end));
	return n;
}

/*
 * RFC 8985, 6.2, step 4. While nothing is known to be reordered, enough arrivals ahead of a hole are
 * proof; of several flows they may be another's.
 */
static uint64_t reordering_window(const struct fcore_conn *c, const struct fc_flow *f,
				  uint32_t ahead)
{
	const struct fc_rack *k = &f->rack;
	uint64_t wnd = k->min_rtt * (k->quarters ? k->quarters : 1) / 4;

	if (!k->reordered && c->nflows == 1 && ahead >= DUP_THRESHOLD)
		return 0;
	return wnd < f->srtt ? wnd : f->srtt;
}

/* How long after its transmission a packet of |f| that was overtaken is lost, ns. */
static uint64_t rack_rto(const struct fcore_conn *c, const struct fc_flow *f, uint32_t ahead)
{
	uint64_t rtt = fc_flow_rtt(c, f);

	if (f->rack.rto)
		return f->rack.rto;
	if (c->params.rack_rto_ns)
		return c->params.rack_rto_ns;
	return rtt + reordering_window(c, f, ahead);
}

static void lose(struct fcore_conn *c, struct fc_win *w, uint32_t psn, struct fc_rack *k)
{
	const struct fc_ctx *ctx = fc_ctx(w, psn);

	if (k->persist && !before(ctx->order, k->recovered)) {
		k->recovered = c->tx_order;
		if (--k->persist == 0)
			k->quarters = 1;
	}
	fc_retx_mark(c, w, psn, FC_RETX_RACK);
}

/* Look at |psn|, which has not arrived. When it is lost, FCORE_NEVER if that cannot be said. */
static uint64_t suspect(struct fcore_conn *c, struct fc_win *w, uint32_t psn, uint32_t ahead,
			uint64_t now)
{
	const struct fc_ctx *ctx = fc_ctx(w, psn);
	struct fc_flow *f = &c->flow[ctx->flow];
	uint64_t due;

	if (!before(ctx->order, f->rack.known[w == &c->req]) || ctx->hold > now)
		return FCORE_NEVER;
	due = ctx->last_tx + rack_rto(c, f, ahead);
	if (due > now)
		return due;
	lose(c, w, psn, &f->rack);
	return FCORE_NEVER;
}

/*
 * Holes are below what has arrived; beyond, only a retransmission that has arrived, or an arrival in
 * the other window, can make a packet suspect.
 */
static uint32_t suspects_end(const struct fcore_conn *c, struct fc_win *w, bool all)
{
	const struct fc_ctx *first = fc_ctx(w, w->base);

	if (w->base == w->next)
		return w->base;
	if (all || before(first->order, c->flow[first->flow].rack.known[w == &c->req]))
		return w->next;
	return w->arrived_end;
}

static uint64_t detect_window(struct fcore_conn *c, struct fc_win *w, bool all, uint64_t now)
{
	uint32_t end = suspects_end(c, w, all), g = w->base >> FALCON_GROUP_SHIFT;
	uint32_t last = (end - 1) >> FALCON_GROUP_SHIFT, ahead;
	uint64_t earliest = FCORE_NEVER;

	if (end == w->base)
		return FCORE_NEVER;
	ahead = arrived_ahead(w);
	for (; falcon_group_diff(g, last) <= 0; g++) {
		uint32_t missing = fc_missing(w, g) & fc_group_mask(g, w->base, end);

		for (; missing; missing &= missing - 1) {
			uint32_t n = (uint32_t)__builtin_ctz(missing);
			uint64_t due = suspect(c, w, (g << FALCON_GROUP_SHIFT) + n, ahead, now);

			earliest = due < earliest ? due : earliest;
		}
	}
	return earliest;
}

static void detect(struct fcore_conn *c, bool all, uint64_t now)
{
	uint64_t data = detect_window(c, &c->data, all, now);
	uint64_t req = detect_window(c, &c->req, all, now);

	if (req < data)
		data = req;
	if (data != FCORE_NEVER)
		fc_arm(c, FC_TIMER_RACK, data);
}

void fc_rack_detect(struct fcore_conn *c, uint64_t now)
{
	for (uint32_t i = 0; i < c->nflows; i++) {
		struct fc_rack *k = &c->flow[i].rack;

		k->known[0] = k->latest[0];
		k->known[1] = k->latest[1];
	}
	detect(c, c->rack_all, now);
	c->rack_all = false;
}

void fc_rack_timeout(struct fcore_conn *c, uint64_t now)
{
	if (!c->dead)
		detect(c, true, now);
}
