/* SPDX-License-Identifier: BSD-2-Clause */
/* NACKs: those that the upper layer here causes (9.1.7), and those that arrive (9.2.4). */
#include "core/parts.h"

void fc_nack_owe(struct fcore_conn *c, struct fc_ttxn *t)
{
	uint32_t i = t->rsn & FC_TXN_MASK;

	c->tgt_nack[i / 64] |= 1ULL << (i % 64);
	c->nack_owed = true;
	fc_sched_wake(c);
}

void fc_nack_forget(struct fcore_conn *c, uint32_t rsn)
{
	uint32_t i = rsn & FC_TXN_MASK;

	c->tgt_nack[i / 64] &= ~(1ULL << (i % 64));
}

static enum fc_sent send_nack(struct fcore_conn *c, const struct fc_ttxn *t)
{
	const struct falcon_ack nack = {
		.nack_psn = t->psn,
		.nack_code = t->nack_code,
		.rnr = t->nack_code == FALCON_NACK_RNR ? t->rnr : 0,
		.ulp_code = t->ulp_code,
	};

	if (fc_ack_send_nack(c, t->flow, &nack))
		return FC_STALLED;
	c->stats.rnr_nacks_sent += t->nack_code == FALCON_NACK_RNR;
	fc_nack_forget(c, t->rsn);
	return FC_SENT;
}

enum fc_sent fc_nack_send(struct fcore_conn *c)
{
	for (uint32_t i = 0; i < FC_TXN_WORDS; i++) {
		while (c->tgt_nack[i]) {
			uint32_t n = i * 64 + (uint32_t)__builtin_ctzll(c->tgt_nack[i]);

			if (fc_tgt_is_nacked(c, &c->ttxn[n]))
				return send_nack(c, &c->ttxn[n]);
			c->tgt_nack[i] &= c->tgt_nack[i] - 1;
		}
	}
	c->nack_owed = false;
	return FC_IDLE;
}

/*
 * The packet was not lost, so its attempts count anew; it is only to be kept back (8.4.3.4). A
 * Resync is not: that NACK is of the packet before, and has been overtaken.
 */
static void hold_back(struct fc_win *w, uint32_t psn, uint64_t until)
{
	struct fc_ctx *ctx = fc_ctx(w, psn);

	if (ctx->flags & FC_CTX_RESYNC)
		return;
	ctx->retx = 0;
	ctx->lost = 0;
	ctx->hold = until;
	fc_retx_unmark(w, psn);
	fc_retx_uncount(w, ctx);
}

static bool is_acked(struct fc_win *w, uint32_t psn)
{
	return *fc_bits(w, w->done, psn >> FALCON_GROUP_SHIFT) & 1U << (psn & 31);
}

/*
 * Receiver not ready. On an ordered connection the pushes after this one wait with it at the target
 * (8.5.3.4); those of them that have arrived are kept back likewise, without a NACK each.
 */
static void receiver_not_ready(struct fcore_conn *c, struct fc_win *w,
			       const struct falcon_ack *nack, uint64_t now)
{
	const struct fc_ctx *nacked = fc_ctx(w, nack->nack_psn);
	uint64_t delay = falcon_rnr_timeout_ns(nack->rnr), rto = c->flow[nacked->flow].rto;
	uint64_t until = now + (delay > rto ? delay : rto);
	uint32_t rsn = nacked->rsn;
	/* The target delivers it again by itself, and NACKs a repetition, too: once counts. */
	bool again = nacked->hold && until - nacked->hold < delay - delay / 4;
	bool push = nacked->type == FALCON_PUSH_DATA && !(nacked->flags & FC_CTX_RESYNC);

	c->stats.rnr_nacks_received++;
	hold_back(w, nack->nack_psn, until);
	for (uint32_t psn = w->base; c->ordered && psn != w->next; psn++) {
		const struct fc_ctx *ctx = fc_ctx(w, psn);

		/* One that has had a NACK of its own may have to wait longer. */
		if (ctx->type == FALCON_PUSH_DATA && falcon_seq_diff(ctx->rsn, rsn) > 0 &&
		    ctx->hold < until && !is_acked(w, psn) && falcon_ring_test(w->rx_ring, w->words, psn))
			hold_back(w, psn, until);
	}
	fc_arm(c, FC_TIMER_RTO, until);
	if (push && !again)
		fc_init_not_ready(c, rsn, now);
}

/* What a NACK code says to the initiator: completion code and Resync code (9.2.4, 11). */
static bool is_drop(uint8_t nack_code, enum falcon_completion_code *code,
		    enum falcon_resync_code *resync)
{
	switch (nack_code) {
	case FALCON_NACK_XLR_DROP:
		*code = kCmplRemoteErr;
		*resync = FALCON_RESYNC_REMOTE_XLR;
		return true;
	case FALCON_NACK_CIE:
		*code = kCmplTargetNackCIE;
		*resync = FALCON_RESYNC_TARGET_CIE;
		return true;
	case FALCON_NACK_NRE:
		*code = kCmplTargetNackNRE;
		*resync = FALCON_RESYNC_TARGET_NRE;
		return true;
	case FALCON_NACK_INVALID_CID:
		*code = kCmplTargetNackCID;
		*resync = FALCON_RESYNC_TARGET_CID;
		return true;
	default:
		return false;
	}
}

/* The transaction completes with the code when the Resync has been acknowledged (6.6.5). */
static void dropped(struct fcore_conn *c, struct fc_win *w, const struct falcon_ack *nack)
{
	const struct fc_ctx *ctx = fc_ctx(w, nack->nack_psn);
	enum falcon_completion_code code;
	enum falcon_resync_code resync;

	if (!is_drop(nack->nack_code, &code, &resync))
		return;
	if (fc_is_request(ctx->type))
		fc_init_fail(c, ctx->rsn, code, nack->ulp_code);
	fc_retx_resync(c, w, nack->nack_psn, resync);
}

/*
 * A peer short of resources takes the head of the line and little else (8.2.4). Left to timeouts,
 * which are long by then, each packet that it waits for would cost it one: the oldest that it has
 * not got is sent as soon as a round trip has passed, as long as it goes on refusing others.
 */
void fc_nack_resource(struct fcore_conn *c, uint64_t now)
{
	uint32_t n = falcon_load(&c->shared->tx_acked.nacks_resource);
	bool again = n != c->seen_refused;

	if (again)
		c->refused_at = now;
	c->seen_refused = n;
	fc_retx_adapt(c, again, now);
	if (!c->refused_at || now - c->refused_at > c->flow[0].rto * FC_REFUSED_RTOS)
		return;
	fc_early_oldest(c, &c->data, now);
	fc_early_oldest(c, &c->req, now);
}

void fcore_nacked(struct fcore_conn *c, const struct falcon_ack *nack, uint64_t now)
{
	struct fc_win *w = nack->nack_req_window ? &c->req : &c->data;
	uint32_t psn = nack->nack_psn;

	/* A PSN outside the window, or known to be acknowledged, has nothing to be done about. */
	if (c->dead || psn - w->base >= w->next - w->base || is_acked(w, psn))
		return;
	fc_enter(c->core);
	c->last_ack = now;
	if (nack->nack_code == FALCON_NACK_RNR)
		receiver_not_ready(c, w, nack, now);
	else
		dropped(c, w, nack);
	fc_leave(c->core);
}
