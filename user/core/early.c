/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Early retransmission by PSNs (Falcon 9.1.4): out-of-window notifications, and OOO distance, for
 * which RACK stands in where it is chosen.
 */
#include "core/parts.h"

/*
 * How long the latest transmission of the packet in |ctx| has to be answered, ns: |rtt|, and ever longer if
 * that was in vain again and again. What is refused, dropped beyond the window or lost each time anew brings
 * about, by the answer that it or another such packet has, that it is sent again: that would go on for ever,
 * once a round trip, and the packet never time out. RACK knows no such circle: it goes by what arrives, which
 * each packet does once.
 */
static uint64_t patience(const struct fc_ctx *ctx, uint64_t rtt)
{
	uint32_t lost = ctx->lost;

	return rtt << (lost > FC_EARLY_TRIES ? fc_min(lost - FC_EARLY_TRIES, FC_EARLY_BACKOFF) : 0);
}

/* Recency check: at least a round trip has passed since the latest transmission. */
static void mark_unless_recent(struct fcore_conn *c, struct fc_win *w, uint32_t psn,
			       enum fc_retx_reason why, uint64_t now)
{
	const struct fc_ctx *ctx = fc_ctx(w, psn);
	uint64_t rtt = fc_flow_rtt(c, &c->flow[ctx->flow]);

	/* RNRed, it is not lost, although the peer's bitmap has a hole there. */
	if (ctx->hold > now)
		return;
	if (ctx->last_tx + patience(ctx, rtt) < now)
		fc_retx_mark(c, w, psn, why);
}

/* Mark the PSNs in [base, end) of |w| that the peer has not received. */
static void mark_missing(struct fcore_conn *c, struct fc_win *w, uint32_t end,
			 enum fc_retx_reason why, uint64_t now)
{
	uint32_t last = (end - 1) >> FALCON_GROUP_SHIFT;

	for (uint32_t g = w->base >> FALCON_GROUP_SHIFT; falcon_group_diff(g, last) <= 0; g++) {
		uint32_t missing = fc_missing(w, g) & fc_group_mask(g, w->base, end);

		for (; missing; missing &= missing - 1)
			mark_unless_recent(c, w,
					   (g << FALCON_GROUP_SHIFT) +
						   (uint32_t)__builtin_ctz(missing),
					   why, now);
	}
}

void fc_early_oldest(struct fcore_conn *c, struct fc_win *w, uint64_t now)
{
	uint32_t last = (w->next - 1) >> FALCON_GROUP_SHIFT;
	uint32_t g = w->base >> FALCON_GROUP_SHIFT;

	for (; w->base != w->next && falcon_group_diff(g, last) <= 0; g++) {
		uint32_t lacks = ~(fc_ring_bits(w, w->rx_ring, g) | *fc_bits(w, w->done, g)) &
				 fc_group_mask(g, w->base, w->next);

		if (!lacks)
			continue;
		mark_unless_recent(c, w,
				   (g << FALCON_GROUP_SHIFT) + (uint32_t)__builtin_ctz(lacks),
				   FC_RETX_EARLY, now);
		return;
	}
}

static void window_early(struct fcore_conn *c, struct fc_win *w, bool own, uint64_t now)
{
	uint32_t end = w->arrived_end - 1 - c->params.ooo_threshold;

	if (w->base == w->next)
		return;
	if (own)
		mark_missing(c, w, w->next, FC_RETX_OWN, now);
	if (!c->rack && falcon_seq_diff(end, w->base) > 0)
		mark_missing(c, w, end, FC_RETX_EARLY, now);
}

void fc_early(struct fcore_conn *c, uint32_t own, uint64_t now)
{
	window_early(c, &c->data, own & FALCON_OWN_DATA, now);
	window_early(c, &c->req, own & FALCON_OWN_REQ, now);
}
