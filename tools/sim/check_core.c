// SPDX-License-Identifier: BSD-2-Clause
/*
 * The core's bookkeeping and the shared state: counters against what they count, bases against one
 * another (9.1.1, 9.2.1).
 */
#include "check.h"

#include <core/parts.h>

enum {
	EARLY_TRIES = 3,	/* early retransmissions of a packet at intervals of a round trip, */
	EARLY_BACKOFF = 16,	/* ... which double with each thereafter, so often */
	CLOCK_UNITS = 2 * 132,	/* ns: times in packets are rounded */
};

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

/* A round trip takes no less by the clock of |e|, whatever else there is. */
static uint64_t shortest_rtt(const struct endpoint *e)
{
	uint64_t rtt = link_delay(e->sim, e->host->index, e->peer->host->index) +
		       link_delay(e->sim, e->peer->host->index, e->host->index);

	rtt -= rtt * e->host->cfg->clock_slow / SIM_PPM;
	/* Times in packets are rounded, and averages of them, too. */
	return rtt > SIM_US ? rtt - SIM_US : 0;
}

/*
 * A packet of |f| is found lost no earlier. Before a round trip was measured the timeout has to do: ACKs may
 * tell of losses on another flow first, or have a T1 of 0, which stands for none.
 */
static uint64_t shortest_wait(const struct endpoint *e, const struct fc_flow *f)
{
	uint64_t rtt = shortest_rtt(e);

	return (e->cfg->flows == 1 && f->srtt) || rtt < e->least_rto ? rtt : e->least_rto;
}

/*
 * 9.2.3: the latest T1 that came back has given an RTT, which is no longer than its ACK took and no shorter
 * than the way, whatever clocks show. Where an earlier ACK had the same T1, it was that one's.
 */
static void check_rtt(struct endpoint *e, const struct fc_flow *f)
{
	uint32_t t1 = (uint32_t)(e->shared->tx_acked.t1_t4[f->index] >> 32);
	uint64_t took = e->heard[f->index];

	if (f->seen_t1 != t1)
		sim_fail(e->sim, e, "flow %u: T1 %u came back, and %u was the last to be measured",
			 f->index, t1, f->seen_t1);
	/* What takes as long is taken for a clock that jumped. */
	if (!t1 || took > 2 * SIM_S)
		return;
	if (f->rtt > took + CLOCK_UNITS || f->rtt < shortest_rtt(e))
		sim_fail(e->sim, e, "flow %u: RTT %u ns, of an ACK that took %u ns", f->index,
			 (uint32_t)f->rtt, (uint32_t)took);
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

static bool is_early(uint8_t reason)
{
	return reason == FC_RETX_RACK || reason == FC_RETX_EARLY || reason == FC_RETX_OWN;
}

/* How long after its latest transmission |p| may be sent again for |reason|, at least, ns. */
static uint64_t least_wait(const struct endpoint *e, const struct psn *p, const struct fc_ctx *ctx)
{
	const struct fc_flow *f = &e->core->flow[ctx->flow];
	uint32_t more = p->early > EARLY_TRIES ? p->early - EARLY_TRIES : 0;

	switch (ctx->reason) {
	case FC_RETX_RTO: return e->least_rto;
	case FC_RETX_RACK: return e->cfg->rack_rto ? e->cfg->rack_rto : shortest_wait(e, f);
	case FC_RETX_EARLY:
	case FC_RETX_OWN: return shortest_wait(e, f) << fc_min(more, EARLY_BACKOFF);
	default: return 0;
	}
}

/* The core counts anew when the packet becomes a Resync. */
static void count_early(struct psn *p, const struct fc_ctx *ctx)
{
	if (ctx->flags & FC_CTX_RESYNC && !p->resyncs)
		p->early = 0;
	p->early += is_early(ctx->reason);
}

void check_retx(struct endpoint *e, bool req, uint32_t psn, uint64_t last)
{
	struct fc_win *w = req ? &e->core->req : &e->core->data;
	const struct fc_ctx *ctx = fc_ctx(w, psn);
	struct psn *p = check_psn(e, req, psn);
	uint64_t since = host_since(e->host, last);

	if (fc_is_request(ctx->type) && w->orrc >= e->ncwnd)
		sim_fail(e->sim, e, "PSN %u sent again with ORRC %u of %u", psn, w->orrc, e->ncwnd);
	if (e->cfg->ordered && fc_is_request(ctx->type) &&
	    !(is_first(&e->core->data, ctx->rsn) && is_first(&e->core->req, ctx->rsn)))
		sim_fail(e->sim, e, "request %u sent again before an older one",
			 ctx->rsn - e->first_rsn);
	if (psn - w->base >= fc_min(e->fcwnd, w->size))
		sim_fail(e->sim, e, "PSN %u sent again with base %u and fcwnd %u", psn, w->base,
			 e->fcwnd);
	if (since < least_wait(e, p, ctx))
		sim_fail(e->sim, e, "PSN %u sent again after %u ns (reason %u), the %u. time early", psn,
			 (uint32_t)since, ctx->reason, p->early + 1);
	if (p->hold > host_now(e->host) && !(ctx->flags & FC_CTX_RESYNC))
		sim_fail(e->sim, e, "PSN %u sent again, RNRed for %u ns more", psn,
			 (uint32_t)(p->hold - host_now(e->host)));
	count_early(p, ctx);
}

/* The peer's transmitter cannot know more acknowledged than this receiver has; both only grow. */
static void check_bases(struct endpoint *e, struct shadow *w, const struct fc_win *win,
			uint32_t tx_base, uint32_t peer_rx_base)
{
	uint32_t tx = tx_base - w->first, rx = peer_rx_base - w->first, sent = win->next - w->first;
	/* What XDP sends the core adopts when it must. */
	bool xdp = win == &e->core->data && (e->core->exec_pulls || e->core->exec_sent);

	if (tx < w->seen_tx || rx < w->seen_rx)
		sim_fail(e->sim, e, "a base went back");
	if (tx > rx || rx > w->next)
		sim_fail(e->sim, e, "bases out of order: %u acknowledged, %u known, %u sent", rx,
			 tx, w->next);
	if (!(sent == w->next || (xdp && sent < w->next)) || win->next - win->base > win->size ||
	    win->base - w->first > tx)
		sim_fail(e->sim, e, "window [%u, %u) with %u acknowledged and %u sent", win->base,
			 win->next, tx_base, w->first + w->next);
	w->seen_tx = tx;
	w->seen_rx = rx;
}

bool check_all_told(const struct endpoint *e)
{
	return fc_rx_ahead(e->core) == 0 && e->shared->rx.own == 0;
}

bool check_slot_taken(const struct endpoint *e, uint32_t rsn)
{
	const struct fc_ttxn *t = fc_ttxn(e->core, rsn);

	return t->rsn != rsn && t->state != FC_TARGET_FREE && t->state != PullDataTx &&
	       t->state != PullDataAckd;
}

/* In the core, or acknowledged by XDP, which has carried them out. */
static uint32_t arrived(const __u64 *ring, const __u64 *acked, uint32_t words, uint32_t base, uint32_t window)
{
	uint32_t n = 0;

	for (uint32_t psn = base; psn != base + window; psn++)
		n += falcon_ring_test(ring, words, psn) || falcon_ring_test(acked, words, psn);
	return n;
}

static void check_receiver(struct endpoint *e, const struct fcore_conn *c)
{
	const struct falcon_rx_acked *a = &e->shared->rx_acked;
	uint32_t ahead = arrived(c->arrived_data, a->data_ack, FALCON_DATA_WORDS, a->data_base,
				 FALCON_DATA_WINDOW) +
			 arrived(c->arrived_req, a->req_ack, FALCON_REQ_WORDS, a->req_base,
				 FALCON_REQ_WINDOW);
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < FC_TXN_WORDS; i++)
		waiting += (uint32_t)__builtin_popcountll(c->tgt_wait[i]);
	if (ahead != fc_rx_ahead(c) || waiting != c->tgt_waiting)
		sim_fail(e->sim, e, "%u arrived ahead, not %u; %u wait, not %u", ahead, fc_rx_ahead(c),
			 waiting, c->tgt_waiting);
}

void check_state(struct endpoint *e, bool whole)
{
	const struct falcon_tx_acked *tx = &e->shared->tx_acked;
	const struct falcon_rx_acked *rx = &e->peer->shared->rx_acked;
	struct fcore_conn *c = e->core;

	/* Of a peer that is not open yet there is nothing to compare with. */
	if (e->peer->begins)
		return;
	check_bases(e, &e->data, &c->data, tx->data_base, rx->data_base);
	check_bases(e, &e->req, &c->req, tx->req_base, rx->req_base);
	for (uint32_t i = 0; i < c->nflows && c->seen_acks == tx->acks; i++)
		check_rtt(e, &c->flow[i]);
	if (!whole)
		return;
	check_window(e, &c->data);
	check_window(e, &c->req);
	check_receiver(e, c);
}
