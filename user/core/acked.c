/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ACKs have changed (Falcon 9.2.3): the receive path has moved the bases and merged the
 * bitmaps in the shared state; here the packets that they cover are freed.
 */
#include "core/parts.h"

/* |psn| of |w| is acknowledged, the first time that we hear of it; |how|: FC_ARRIVED_FRESH and _BASE. */
static void free_packet(struct fcore_conn *c, struct fc_win *w, uint32_t psn, unsigned int how,
			uint64_t now)
{
	struct fc_ctx *ctx = fc_ctx(w, psn);
	struct fc_flow *f = &c->flow[ctx->flow];
	struct fc_resp *r;

	f->outstanding--;
	f->acked++;
	f->moved = true;
	if (c->rack)
		fc_rack_arrived(c, ctx, how | FC_ARRIVED_ACKED | (w == &c->req ? FC_ARRIVED_REQ : 0), now);
	if (w->npending)
		fc_retx_unmark(w, psn);
	if (fc_is_request(ctx->type)) {
		w->orc--;
		w->orrc -= !!(ctx->flags & FC_CTX_COUNTED);
		fc_init_acked(c, ctx->rsn);
		return;
	}
	r = &c->resp[psn & (w->size - 1)];
	if (fc_ttxn(c, ctx->rsn)->rsn == ctx->rsn && fc_ttxn(c, ctx->rsn)->state == PullDataTx)
		fc_ttxn(c, ctx->rsn)->state = PullDataAckd;
	if (!(ctx->flags & FC_CTX_XDP))
		fc_res_give_data(c, r->hdr_len + r->len);
	c->core->ops.on_response_done(c->core->arg, c, r->cookie);
}

bool fc_acked_base(struct fcore_conn *c, struct fc_win *w, uint64_t now)
{
	uint32_t to = falcon_load(w->shared_base), from = w->base;

	/* Beyond is what is being sent just now, or what XDP has sent. */
	if (falcon_seq_diff(to, w->next) > 0)
		to = w->next;
	while (falcon_seq_diff(to, w->base) > 0 && !c->closed) {
		uint32_t psn = w->base++, bit = 1U << (psn & 31);
		uint32_t *done = fc_bits(w, w->done, psn >> FALCON_GROUP_SHIFT);
		uint32_t *heard = fc_bits(w, w->heard, psn >> FALCON_GROUP_SHIFT);
		unsigned int how = (*heard & bit ? 0 : FC_ARRIVED_FRESH) |
				   (falcon_seq_diff(psn, w->ack_base) < 0 ? 0 : FC_ARRIVED_BASE);
		bool known = *done & bit;

		*done &= ~bit;
		*heard &= ~bit;
		if (!known)
			free_packet(c, w, psn, how, now);
	}
	if (falcon_seq_diff(w->arrived_end, w->base) < 0)
		w->arrived_end = w->base;
	return w->base != from;
}

/* What EACKs report as received and RACK has not seen: |bits| of group |g|. */
static void hear(struct fcore_conn *c, struct fc_win *w, uint32_t g, uint32_t bits, uint64_t now)
{
	*fc_bits(w, w->heard, g) |= bits;
	for (; bits; bits &= bits - 1) {
		uint32_t psn = (g << FALCON_GROUP_SHIFT) + (uint32_t)__builtin_ctz(bits);

		fc_rack_arrived(c, fc_ctx(w, psn), FC_ARRIVED_FRESH, now);
	}
}

/* What EACKs have acknowledged ahead of the base. Returns true if there was something new. */
static bool selective(struct fcore_conn *c, struct fc_win *w, uint64_t now)
{
	uint32_t last = (w->next - 1) >> FALCON_GROUP_SHIFT;
	uint32_t g = w->base >> FALCON_GROUP_SHIFT;
	bool any = false;

	for (; w->base != w->next && falcon_group_diff(g, last) <= 0; g++) {
		uint32_t *done = fc_bits(w, w->done, g), heard = *fc_bits(w, w->heard, g);
		uint32_t mask = fc_group_mask(g, w->base, w->next);
		uint32_t fresh = fc_ring_bits(w, w->acked_ring, g) & mask & ~*done;
		uint32_t rx = fc_ring_bits(w, w->rx_ring, g) & mask;

		any |= fresh != 0;
		if (rx)
			w->arrived_end = (g << FALCON_GROUP_SHIFT) + 32 -
					 (uint32_t)__builtin_clz(rx);
		rx &= ~(heard | *done | fresh);
		if (c->rack && w == &c->data && rx) {
			hear(c, w, g, rx, now);
			any = true;
		}
		/* One by one: what closing amid this finds not done, it gives back. */
		for (; fresh && !c->closed; fresh &= fresh - 1) {
			uint32_t bit = fresh & -fresh;

			*done |= bit;
			free_packet(c, w,
				    (g << FALCON_GROUP_SHIFT) + (uint32_t)__builtin_ctz(fresh),
				    heard & bit ? 0 : FC_ARRIVED_FRESH, now);
		}
	}
	return any;
}

static void count_rtt(struct fcore_rtt *r, uint64_t rtt)
{
	/* 0 and 1 are of the first bucket as all others below its limit. */
	unsigned int log2 = 64 - (unsigned int)__builtin_clzll((rtt - (rtt > 0)) | 1);
	unsigned int i = log2 > FCORE_RTT_SHIFT ? log2 - FCORE_RTT_SHIFT : 0;

	r->bucket[i < FCORE_RTT_BUCKETS ? i : FCORE_RTT_BUCKETS - 1]++;
	r->sum_ns += rtt;
}

/*
 * 9.2.3: T1 and the ACK's reception time give the RTT. A T1 that was echoed before gives none: such
 * an ACK was sent for another reason than that packet, however long after it.
 */
static void sample_rtt(struct fcore_conn *c, struct fc_flow *f, uint64_t now)
{
	uint64_t t = falcon_load(&c->shared->tx_acked.t1_t4[f->index]);
	uint32_t t1 = (uint32_t)(t >> 32), units = (uint32_t)t - t1;

	if (t1 == f->seen_t1)
		return;
	f->seen_t1 = t1;
	if (t1 == 0 || units > FC_RTT_MAX_UNITS)
		return;
	f->rtt = ((uint64_t)units << FALCON_TIME_SHIFT) / FALCON_PS_PER_NS;
	f->srtt = f->srtt ? f->srtt - (f->srtt >> FC_RTT_SHIFT) + (f->rtt >> FC_RTT_SHIFT) : f->rtt;
	c->stats.rtt_ns = f->srtt;
	count_rtt(&c->core->rtt, f->rtt);
	fc_rack_sample(f, now);
}

/* What the ACK packets say that have come. */
static void take_acks(struct fcore_conn *c, uint32_t acks, uint64_t now)
{
	uint64_t bases = falcon_load(&c->shared->tx_acked.ack_bases);

	c->seen_acks = acks;
	c->last_ack = now;
	c->data.ack_base = (uint32_t)(bases >> 32);
	c->req.ack_base = (uint32_t)bases;
	fc_rack_heard(c);
	for (uint32_t i = 0; i < c->nflows; i++)
		sample_rtt(c, &c->flow[i], now);
}

void fc_acked_progress(struct fcore_conn *c, uint64_t now)
{
	c->last_ack = now;
	for (uint32_t i = 0; i < c->nflows; i++) {
		struct fc_flow *f = &c->flow[i];

		if (!f->moved)
			continue;
		f->moved = false;
		f->timeouts = f->silent = 0;
		f->pace_from = now;
	}
	fc_tlp_progress(c, now);
	fc_sched_wake(c);
}

/* XDP refused a packet and had no room to say so: the ACK is ours to send, and at once. */
static void take_answers_owed(struct fcore_conn *c, uint64_t now)
{
	uint32_t *owed = &c->shared->rx.answers_owed;

	if (!falcon_load(owed))
		return;
	for (uint32_t flows = falcon_fetch_and(owed, 0U); flows; flows &= flows - 1)
		fc_ack_owe(c, (uint32_t)__builtin_ctz(flows), now, false, true);
}

/* What is left on the wire: lost, late or well. */
static void take_stock(struct fcore_conn *c, bool acked, bool moved, uint64_t now)
{
	if (acked && c->rack)
		fc_rack_detect(c, now);
	if (acked)
		fc_nack_resource(c, now);
	take_answers_owed(c, now);
	fc_ack_watch(c);
	if (moved)
		fc_acked_progress(c, now);
}

bool fcore_acked(struct fcore_conn *c, uint64_t now)
{
	struct falcon_tx_acked *tx = &c->shared->tx_acked;
	bool ours = !c->exec_pulls || !falcon_load(&c->shared->exec.quiet);
	uint32_t acks = falcon_load(&tx->acks), eacks = falcon_load(&tx->eacks), told = c->init_told;
	bool moved, acked = acks != c->seen_acks;

	fc_enter(c->core);
	if (c->exec_pulls && falcon_load(&tx->nacks_resource) != c->seen_refused)
		fc_exec_take(c);
	if (c->exec_pulls && eacks != c->seen_eacks && fc_exec_missing(c))
		fc_exec_take(c);
	if (c->exec_sent)
		fc_exec_adopt(c, now);
	if (acked)
		take_acks(c, acks, now);
	moved = fc_acked_base(c, &c->data, now);
	moved |= fc_acked_base(c, &c->req, now);
	if (eacks != c->seen_eacks || c->exec_adopted) {
		c->seen_eacks = eacks;
		c->exec_adopted = false;
		moved |= selective(c, &c->data, now);
		moved |= selective(c, &c->req, now);
		fc_early(c, falcon_load(&tx->own) ? falcon_fetch_and(&tx->own, 0U) : 0, now);
	}
	/* A completion may have closed it: then nothing may be armed any more. */
	if (!c->dead)
		take_stock(c, acked, moved, now);
	if (!c->dead && acked)
		fc_path_acked(c, now);
	if (!c->dead && acked)
		fc_path_stuck(c, now);
	ours |= !c->exec_pulls;
	fc_init_settle(c);
	ours |= c->init_told != told;
	if (!c->dead)
		fc_exec_watch(c, now);
	fc_leave(c->core);
	return ours;
}
