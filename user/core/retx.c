/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Retransmission: the queue and its gates (Falcon 9.1.2).
 *
 * rto.c, early.c, rack.c, tlp.c and nack.c find what has to be sent again and mark it in its window's
 * bitmap; the scheduler sends it when the gates allow.
 */
#include "core/parts.h"

void fc_retx_uncount(struct fc_win *w, struct fc_ctx *ctx)
{
	if (!(ctx->flags & FC_CTX_COUNTED))
		return;
	ctx->flags &= (uint8_t)~FC_CTX_COUNTED;
	w->orrc--;
}

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
	fc_retx_uncount(w, ctx);
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
	ctx->lost = 0;
	ctx->hold = 0;
	fc_retx_mark(c, w, psn, FC_RETX_RESYNC);
}

/*
 * A peer short of resources (9.2.4) has the RUE lower ncwnd; until that bites, and for engines that
 * do not, each round trip with a resource NACK halves what may be retransmitted at a time, each one
 * without doubles it. A packet that was refused goes out "as normal", but not into the same wall at
 * the rate that raised it.
 */
void fc_retx_adapt(struct fcore_conn *c, bool again, uint64_t now)
{
	if (!again && c->retx_room == UINT32_MAX)
		return;
	if (now - c->retx_room_at < c->stats.rtt_ns)
		return;
	c->retx_room_at = now;
	if (again)
		c->retx_room = fc_min(c->retx_room, c->ncwnd) / 2;
	else
		c->retx_room = c->retx_room < c->ncwnd ? c->retx_room * 2 : UINT32_MAX;
	if (!c->retx_room)
		c->retx_room = 1;
	fc_sched_wake(c);
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
	return !fc_is_request(fc_ctx(a->w, a->psn)->type) ||
	       a->w->orrc < fc_min(c->ncwnd, c->retx_room);
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

static bool is_loss(uint8_t reason)
{
	return reason != FC_RETX_RESYNC && reason != FC_RETX_PROBE;
}

/* Falcon 10.6.2.1: a retransmission is an event for the RUE, of the flow that lost the packet. */
static void tell_rue(struct fcore_conn *c, const struct fc_ctx *ctx, const struct fc_flow *lost)
{
	struct falcon_rue_event e = { 0 };

	/* A Resync and a probe say nothing of the network. */
	if (!c->core->ops.rue_event || !is_loss(ctx->reason))
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
	s->tx_retx_rack += reason == FC_RETX_RACK;
	s->tx_probes += reason == FC_RETX_PROBE;
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
	old->lost += is_loss(ctx->reason);
	if (is_loss(ctx->reason) && ctx->reason != FC_RETX_RTO && ctx->lost < UINT8_MAX)
		ctx->lost++;
	fc_retx_unmark(a.w, a.psn);
	ctx->last_tx = now;
	ctx->flags = (uint8_t)((ctx->flags & ~FC_CTX_RACK) | FC_CTX_AGAIN |
			       (ctx->reason == FC_RETX_RACK ? FC_CTX_RACK : 0));
	if (fc_is_request(ctx->type)) {
		ctx->flags |= FC_CTX_COUNTED;
		a.w->orrc++;
	}
	count(&c->stats, ctx->reason);
	tell_rue(c, ctx, old);
	fc_arm(c, FC_TIMER_RTO, fc_rto_deadline(c, ctx));
	return FC_SENT;
}
