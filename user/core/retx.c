/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Retransmission: on timeout, and early on what EACKs tell (Falcon 9.1.4, 9.1.5).
 *
 * The retransmit timer of every packet is kept as its time of transmission; one wheel timer a
 * connection stands at or before the earliest deadline and, when it fires, looks at the at most
 * 192 packets on the wire. That is equivalent to a timer a packet, and costs the packets nothing.
 *
 * A packet to be retransmitted is marked in its window's bitmap; the scheduler sends it when the
 * gates of 9.1.2 allow.
 */
#include "core/conn.h"

void fc_retx_mark(struct fcore_conn *c, struct fc_win *w, uint32_t psn, enum fc_retx_reason why)
{
	uint32_t *word = fc_bits(w, w->pending, psn >> FALCON_GROUP_SHIFT);
	struct fc_ctx *ctx = fc_ctx(w, psn);

	if (*word & 1U << (psn & 31))
		return;
	*word |= 1U << (psn & 31);
	w->npending++;
	ctx->reason = (uint8_t)why;
	/* 9.1.2: eligible again, so no longer an outstanding retransmission. */
	if (ctx->flags & FC_CTX_COUNTED) {
		ctx->flags &= (uint8_t)~FC_CTX_COUNTED;
		w->orrc--;
	}
	fc_sched_wake(c);
}

void fc_retx_unmark(struct fc_win *w, uint32_t psn)
{
	uint32_t *word = fc_bits(w, w->pending, psn >> FALCON_GROUP_SHIFT);
	uint32_t bit = 1U << (psn & 31);

	w->npending -= !!(*word & bit);
	*word &= ~bit;
}

void fc_retx_resync(struct fcore_conn *c, struct fc_win *w, uint32_t psn,
		    enum falcon_resync_code code)
{
	struct fc_ctx *ctx = fc_ctx(w, psn);

	if (ctx->flags & FC_CTX_RESYNC)
		return;
	ctx->flags |= FC_CTX_RESYNC;
	ctx->resync_code = (uint8_t)code;
	ctx->retx = 0;
	ctx->hold = 0;
	fc_retx_mark(c, w, psn, FC_RETX_RESYNC);
}

uint64_t fc_retx_deadline(const struct fcore_conn *c, const struct fc_ctx *ctx)
{
	uint32_t doublings = ctx->retx < FC_RTO_BACKOFF ? ctx->retx : FC_RTO_BACKOFF;
	/* A timeout below the round trip would repeat everything: hosts that share CPUs get there. */
	const struct fc_flow *f = &c->flow[ctx->flow];
	uint64_t floor = f->srtt * FC_RTO_MIN_RTTS;
	uint64_t due = ctx->last_tx + ((f->rto > floor ? f->rto : floor) << doublings);

	return ctx->hold > due ? ctx->hold : due;
}

/*
 * The peer has this packet, and has shown itself alive since we sent it: its upper layer is just
 * not done. Sending it again asks for news, but is no attempt that failed.
 */
static bool is_held_by_peer(const struct fcore_conn *c, const struct fc_win *w,
			    const struct fc_ctx *ctx, uint32_t psn)
{
	return falcon_ring_test(w->rx_ring, w->words, psn) && c->last_ack >= ctx->last_tx;
}

/* Resync attempts are exhausted, too. */
static void fail(struct fcore_conn *c)
{
	struct fcore *core = c->core;

	c->dead = true;
	fc_sched_remove(c);
	fc_res_reclaim_tx(c);
	if (core->ops.on_fatal)
		core->ops.on_fatal(core->arg, c, "retransmit attempts exhausted");
}

/* The retransmit timer of |psn| has expired (9.1.5, 11). */
static void expire(struct fcore_conn *c, struct fc_win *w, uint32_t psn, uint64_t now)
{
	struct fc_ctx *ctx = fc_ctx(w, psn);
	bool held = is_held_by_peer(c, w, ctx, psn);

	if (!held)
		fc_flow_timed_out(c, &c->flow[ctx->flow], now);

	if (ctx->retx < c->params.max_retx)
		ctx->retx++;
	else if (held)
		ctx->retx = (uint8_t)c->params.max_retx;
	else if (ctx->flags & FC_CTX_RESYNC)
		fail(c);
	else {
		if (fc_is_request(ctx->type))
			fc_init_fail(c, ctx->rsn, kCmplLocalTO, 0);
		fc_retx_resync(c, w, psn, FALCON_RESYNC_RETX_ERROR);
		return;
	}
	if (!c->dead)
		fc_retx_mark(c, w, psn, FC_RETX_RTO);
}

/* Mark what is due in |w|; the earliest deadline of the rest, FCORE_NEVER if there is none. */
static uint64_t window_timeout(struct fcore_conn *c, struct fc_win *w, uint64_t now)
{
	uint64_t earliest = FCORE_NEVER;

	for (uint32_t psn = w->base; psn != w->next && !c->dead; psn++) {
		uint32_t g = psn >> FALCON_GROUP_SHIFT;
		uint32_t idle = *fc_bits(w, w->done, g) | *fc_bits(w, w->pending, g);
		uint64_t due;

		if (idle & 1U << (psn & 31))
			continue;
		due = fc_retx_deadline(c, fc_ctx(w, psn));
		if (due <= now)
			expire(c, w, psn, now);
		else if (due < earliest)
			earliest = due;
	}
	return earliest;
}

void fc_retx_timeout(struct fcore_conn *c, uint64_t now)
{
	uint64_t data, req;

	if (c->dead)
		return;
	data = window_timeout(c, &c->data, now);
	req = window_timeout(c, &c->req, now);
	if (c->dead)
		return;
	if (req < data)
		data = req;
	if (data != FCORE_NEVER)
		fc_arm(c, FC_TIMER_RTO, data);
}

/* Recency check: at least a round trip has passed since the latest transmission. */
static void mark_unless_recent(struct fcore_conn *c, struct fc_win *w, uint32_t psn,
			       enum fc_retx_reason why, uint64_t now)
{
	const struct fc_ctx *ctx = fc_ctx(w, psn);
	const struct fc_flow *f = &c->flow[ctx->flow];
	uint64_t smooth = f->srtt ? f->srtt : f->rto;
	uint64_t rtt = smooth > f->rtt ? smooth : f->rtt;

	/* RNRed, it is not lost, although the peer's bitmap has a hole there. */
	if (ctx->hold > now)
		return;
	if (ctx->last_tx + rtt < now)
		fc_retx_mark(c, w, psn, why);
}

/* Mark the PSNs in [base, end) of |w| that the peer has not received. */
static void mark_missing(struct fcore_conn *c, struct fc_win *w, uint32_t end,
			 enum fc_retx_reason why, uint64_t now)
{
	uint32_t last = (end - 1) >> FALCON_GROUP_SHIFT;

	for (uint32_t g = w->base >> FALCON_GROUP_SHIFT; falcon_group_diff(g, last) <= 0; g++) {
		uint32_t missing = ~(fc_ring_bits(w, w->rx_ring, g) | *fc_bits(w, w->done, g) |
				     *fc_bits(w, w->pending, g)) &
				   fc_group_mask(g, w->base, end);

		for (; missing; missing &= missing - 1)
			mark_unless_recent(c, w,
					   (g << FALCON_GROUP_SHIFT) +
						   (uint32_t)__builtin_ctz(missing),
					   why, now);
	}
}

/* One past the highest PSN of |w| that the peer has received; |w->base| if none is known. */
static uint32_t received_end(const struct fc_win *w)
{
	uint32_t first = w->base >> FALCON_GROUP_SHIFT;
	uint32_t g = (w->next - 1) >> FALCON_GROUP_SHIFT;

	for (; falcon_group_diff(g, first) >= 0; g--) {
		uint32_t bits = fc_ring_bits(w, w->rx_ring, g) & fc_group_mask(g, w->base, w->next);

		if (bits)
			return (g << FALCON_GROUP_SHIFT) + 32 - (uint32_t)__builtin_clz(bits);
	}
	return w->base;
}

static void window_early(struct fcore_conn *c, struct fc_win *w, bool own, uint64_t now)
{
	uint32_t end = received_end(w) - 1 - c->params.ooo_threshold;

	if (w->base == w->next)
		return;
	if (own)
		mark_missing(c, w, w->next, FC_RETX_OWN, now);
	if (falcon_seq_diff(end, w->base) > 0)
		mark_missing(c, w, end, FC_RETX_EARLY, now);
}

void fc_retx_early(struct fcore_conn *c, uint32_t own, uint64_t now)
{
	window_early(c, &c->data, own & FALCON_OWN_DATA, now);
	window_early(c, &c->req, own & FALCON_OWN_REQ, now);
}

/* A packet to send again. */
struct candidate {
	struct fc_win *w;	/* NULL: none */
	uint32_t psn;
};

static bool queued(const struct candidate *a)
{
	return a->w != NULL;
}

/* The first queued packet of |w| that is a request, or is not. */
static struct candidate first_queued(struct fc_win *w, bool request)
{
	uint32_t last = (w->next - 1) >> FALCON_GROUP_SHIFT;
	uint32_t g = w->base >> FALCON_GROUP_SHIFT;

	for (; w->npending && falcon_group_diff(g, last) <= 0; g++) {
		uint32_t bits = *fc_bits(w, w->pending, g) & fc_group_mask(g, w->base, w->next);

		for (; bits; bits &= bits - 1) {
			uint32_t psn = (g << FALCON_GROUP_SHIFT) + (uint32_t)__builtin_ctz(bits);

			if (fc_is_request(fc_ctx(w, psn)->type) == request)
				return (struct candidate){ w, psn };
		}
	}
	return (struct candidate){ NULL, 0 };
}

/* The retransmission gates of 9.1.2. */
static bool allowed(const struct fcore_conn *c, const struct candidate *a)
{
	if (!fc_tx_fits(a->w, a->psn))
		return false;
	return !fc_is_request(fc_ctx(a->w, a->psn)->type) || a->w->orrc < c->ncwnd;
}

/* Between a queued push and a queued Pull Request: RSN order, even if the first must wait. */
static struct candidate next_request(const struct fcore_conn *c, struct candidate push,
				     struct candidate pull)
{
	int32_t ahead;

	if (!queued(&push) || !queued(&pull))
		return queued(&push) ? push : pull;
	ahead = falcon_seq_diff(fc_ctx(pull.w, pull.psn)->rsn, fc_ctx(push.w, push.psn)->rsn);
	if (!c->ordered && !allowed(c, &push))
		return pull;
	return c->ordered && ahead < 0 ? pull : push;
}

/*
 * The next packet to send again: requests in RSN order on an ordered connection, the data window
 * in PSN order; pull data never waits for a request (CR rule 2).
 */
static struct candidate next_candidate(struct fcore_conn *c)
{
	struct candidate data = first_queued(&c->data, false);
	struct candidate r = next_request(c, first_queued(&c->data, true),
					  first_queued(&c->req, true));

	if (queued(&r) && !allowed(c, &r))
		r.w = NULL;
	if (queued(&data) && !allowed(c, &data))
		data.w = NULL;
	if (!queued(&r))
		return data;
	if (queued(&data) && r.w == data.w && falcon_seq_diff(data.psn, r.psn) < 0)
		return data;
	return r;
}

/* Falcon 10.6.2.1: a retransmission is an event for the RUE, of the flow that lost the packet. */
static void tell_rue(struct fcore_conn *c, const struct fc_ctx *ctx, const struct fc_flow *lost)
{
	struct falcon_rue_event e = { 0 };

	if (!c->core->ops.rue_event || ctx->reason == FC_RETX_RESYNC)
		return;
	falcon_rue_event_state(c->shared, lost->index, &e);
	fc_flow_event(c, lost, &e);
	falcon_ev_put(&e, event_type, kRueEventTypeRetx);
	falcon_ev_put(&e, retransmit_count, ctx->retx < 7 ? ctx->retx : 7);
	falcon_ev_put(&e, retransmit_reason,
		      ctx->reason == FC_RETX_RTO ? kRetxReasonRto : kRetxReasonEarly);
	falcon_ev_put(&e, gen, 1);
	c->core->ops.rue_event(c->core->arg, c, &e);
}

static void count(struct fcore_stats *s, uint8_t reason)
{
	s->tx_retx_rto += reason == FC_RETX_RTO;
	s->tx_retx_early += reason == FC_RETX_EARLY;
	s->tx_retx_own += reason == FC_RETX_OWN;
}

enum fc_sent fc_retx_send(struct fcore_conn *c, struct fc_flow *f, uint64_t now)
{
	struct candidate a = next_candidate(c);
	struct fc_flow *old;
	struct fc_ctx *ctx;

	if (!queued(&a))
		return FC_IDLE;
	ctx = fc_ctx(a.w, a.psn);
	old = &c->flow[ctx->flow];
	if (fc_tx_packet(c, a.w, a.psn, f, true, true))
		return FC_STALLED;
	old->outstanding--;
	old->lost += ctx->reason != FC_RETX_RESYNC;
	fc_retx_unmark(a.w, a.psn);
	ctx->last_tx = now;
	if (fc_is_request(ctx->type)) {
		ctx->flags |= FC_CTX_COUNTED;
		a.w->orrc++;
	}
	count(&c->stats, ctx->reason);
	tell_rue(c, ctx, old);
	fc_arm(c, FC_TIMER_RTO, fc_retx_deadline(c, ctx));
	return FC_SENT;
}
