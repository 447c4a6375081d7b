// SPDX-License-Identifier: BSD-2-Clause
/*
 * The core's bookkeeping and the shared state: counters against what they count, bases against one
 * another (9.1.1, 9.2.1).
 */
#include "check.h"

#include <core/parts.h>

static bool acked(struct fc_win *w, uint32_t psn)
{
	return *fc_bits(w, w->done, psn >> FALCON_GROUP_SHIFT) >> (psn & 31) & 1;
}

static bool pending(struct fc_win *w, uint32_t psn)
{
	return *fc_bits(w, w->pending, psn >> FALCON_GROUP_SHIFT) >> (psn & 31) & 1;
}

/* [R/D]ORC, [R/D]ORRC and the retransmission queue. */
static void check_window(struct endpoint *e, struct fc_win *w)
{
	uint32_t orc = 0, orrc = 0, npending = 0;

	for (uint32_t psn = w->base; psn != w->next; psn++) {
		const struct fc_ctx *ctx = fc_ctx(w, psn);

		if (acked(w, psn))
			continue;
		npending += pending(w, psn);
		orc += fc_is_request(ctx->type);
		orrc += fc_is_request(ctx->type) && ctx->flags & FC_CTX_COUNTED;
	}
	if (orc != w->orc || orrc != w->orrc || npending != w->npending)
		sim_fail(e->sim, e, "ORC %u/%u ORRC %u/%u queued %u/%u", w->orc, orc, w->orrc, orrc,
			 w->npending, npending);
}

/* A round trip takes no less, whatever else there is. */
static uint64_t shortest_rtt(const struct endpoint *e)
{
	uint64_t rtt = link_delay(e->sim, e->host->index, e->peer->host->index) +
		       link_delay(e->sim, e->peer->host->index, e->host->index);

	/* Times in packets are rounded, and averages of them, too. */
	return rtt > SIM_US ? rtt - SIM_US : 0;
}

/*
 * A packet is found lost no earlier. Of several flows ACKs may tell of losses before any of them has
 * shown a round trip: the timeout has to do.
 */
static uint64_t shortest_wait(const struct endpoint *e)
{
	uint64_t rtt = shortest_rtt(e);

	return e->cfg->flows == 1 || rtt < e->cfg->rto ? rtt : e->cfg->rto;
}

/* UR rule, 9.1.5: no request that is to be sent again comes before |rsn|. */
static bool is_first(struct fc_win *w, uint32_t rsn)
{
	for (uint32_t psn = w->base; psn != w->next && w->npending; psn++)
		if (pending(w, psn) && fc_is_request(fc_ctx(w, psn)->type) &&
		    falcon_seq_diff(fc_ctx(w, psn)->rsn, rsn) < 0)
			return false;
	return true;
}

void check_retx(struct endpoint *e, bool req, uint32_t psn, uint64_t last)
{
	struct fc_win *w = req ? &e->core->req : &e->core->data;
	const struct fc_ctx *ctx = fc_ctx(w, psn);

	if (fc_is_request(ctx->type) && w->orrc >= e->ncwnd)
		sim_fail(e->sim, e, "PSN %u sent again with ORRC %u of %u", psn, w->orrc, e->ncwnd);
	if (e->cfg->ordered && fc_is_request(ctx->type) &&
	    !(is_first(&e->core->data, ctx->rsn) && is_first(&e->core->req, ctx->rsn)))
		sim_fail(e->sim, e, "request %u sent again before an older one",
			 ctx->rsn - e->first_rsn);
	if (psn - w->base >= fc_min(e->fcwnd, w->size))
		sim_fail(e->sim, e, "PSN %u sent again with base %u and fcwnd %u", psn, w->base,
			 e->fcwnd);
	if ((ctx->reason == FC_RETX_EARLY || ctx->reason == FC_RETX_OWN) &&
	    e->sim->now - last < shortest_wait(e))
		sim_fail(e->sim, e, "PSN %u sent again after %u ns", psn,
			 (uint32_t)(e->sim->now - last));
}

/* The peer's transmitter cannot know more acknowledged than this receiver has; both only grow. */
static void check_bases(struct endpoint *e, struct shadow *w, const struct fc_win *win,
			uint32_t tx_base, uint32_t peer_rx_base)
{
	uint32_t tx = tx_base - w->first, rx = peer_rx_base - w->first;

	if (tx < w->seen_tx || rx < w->seen_rx)
		sim_fail(e->sim, e, "a base went back");
	if (tx > rx || rx > w->next)
		sim_fail(e->sim, e, "bases out of order: %u acknowledged, %u known, %u sent", rx,
			 tx, w->next);
	if (win->next != w->first + w->next || win->next - win->base > win->size ||
	    win->base - w->first > tx)
		sim_fail(e->sim, e, "window [%u, %u) with %u acknowledged and %u sent", win->base,
			 win->next, tx_base, w->first + w->next);
	w->seen_tx = tx;
	w->seen_rx = rx;
}

static uint32_t arrived(const __u64 *ring, uint32_t words, uint32_t base, uint32_t window)
{
	uint32_t n = 0;

	for (uint32_t psn = base; psn != base + window; psn++)
		n += falcon_ring_test(ring, words, psn);
	return n;
}

static void check_receiver(struct endpoint *e, const struct fcore_conn *c)
{
	const struct falcon_rx_acked *a = &e->shared->rx_acked;
	uint32_t ahead = arrived(c->arrived_data, FALCON_DATA_WORDS, a->data_base,
				 FALCON_DATA_WINDOW) +
			 arrived(c->arrived_req, FALCON_REQ_WORDS, a->req_base, FALCON_REQ_WINDOW);
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < FC_TXN_WORDS; i++)
		waiting += (uint32_t)__builtin_popcountll(c->tgt_wait[i]);
	if (ahead != c->rx_ahead || waiting != c->tgt_waiting)
		sim_fail(e->sim, e, "%u arrived ahead, not %u; %u wait, not %u", ahead, c->rx_ahead,
			 waiting, c->tgt_waiting);
}

void check_state(struct endpoint *e, bool whole)
{
	const struct falcon_tx_acked *tx = &e->shared->tx_acked;
	const struct falcon_rx_acked *rx = &e->peer->shared->rx_acked;
	struct fcore_conn *c = e->core;

	check_bases(e, &e->data, &c->data, tx->data_base, rx->data_base);
	check_bases(e, &e->req, &c->req, tx->req_base, rx->req_base);
	if (!whole)
		return;
	check_window(e, &c->data);
	check_window(e, &c->req);
	check_receiver(e, c);
}
