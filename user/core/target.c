/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The target: transactions of the peer's, from the packet to the upper layer and back (Falcon 8.5).
 *
 * A ring of slots by RSN reorders and holds. Ordered delivery is a cursor that walks over the ring:
 * from where an RNR answer put it back, over what is done, to the first RSN that has not arrived.
 */
#include "core/parts.h"

static bool is_waiting(const struct fcore_conn *c, uint32_t rsn)
{
	uint32_t i = rsn & FC_TXN_MASK;

	return c->tgt_wait[i / 64] >> (i % 64) & 1;
}

static void set_waiting(struct fcore_conn *c, uint32_t rsn, bool on)
{
	uint32_t i = rsn & FC_TXN_MASK;

	if (is_waiting(c, rsn) == on)
		return;
	c->tgt_wait[i / 64] ^= 1ULL << (i % 64);
	c->tgt_waiting += on ? 1 : -1U;
}

/* Ordered: the next delivery waits, and with it all behind it (8.5.3.4). */
static bool is_held_up(const struct fcore_conn *c)
{
	return is_waiting(c, c->tgt_cursor);
}

/* The ULP was not ready for |t|, and the peer is to know it. */
static bool is_rnred(const struct fcore_conn *c, const struct fc_ttxn *t)
{
	return is_waiting(c, t->rsn) && !t->patient;
}

/* Ordered: a push is RNRed because it follows one that is (8.5.3.4). */
static bool follows_rnred(const struct fcore_conn *c)
{
	return c->ordered && is_held_up(c) && !c->ttxn[c->tgt_cursor & FC_TXN_MASK].patient;
}

/* A slot whose transaction is not over; a response that is on the wire lives in the window. */
static bool is_busy(const struct fc_ttxn *t)
{
	return t->state != FC_TARGET_FREE && t->state != PullDataTx && t->state != PullDataAckd;
}

static void put_frame(struct fcore_conn *c, struct fc_ttxn *t)
{
	void *frame = t->frame;

	if (!frame)
		return;
	t->frame = NULL;
	fc_res_give_net(c, t->cells);
	c->core->ops.frame_put(c->core->arg, frame);
}

/* Hand |t| to the ULP, which may answer, or close the connection, before this returns. */
static void deliver(struct fcore_conn *c, struct fc_ttxn *t)
{
	const struct fcore_ops *ops = &c->core->ops;

	if (t->state == PushDataRx) {
		t->state = PushReqUlpTx;
		fc_nack_forget(c, t->rsn);
		ops->on_push(c->core->arg, c, t->proto, t->rsn, t->payload, t->len);
	} else if (t->state == PullReqRx) {
		t->state = PullReqUlpTx;
		ops->on_pull(c->core->arg, c, t->proto, t->rsn, t->payload, t->len, t->request_len);
	}
}

/*
 * A Resync has voided |rsn|, which ordered delivery has not come to. That takes no slot: the slot may
 * be in use by the RSN a whole ring before, over for the initiator but not here, and refusing the
 * Resync would leave the window behind it closed to the very response that frees the slot.
 */
static bool is_void(const struct fcore_conn *c, uint32_t rsn)
{
	uint32_t i = rsn & FC_TXN_MASK;

	return c->tgt_void[i / 64] >> (i % 64) & 1;
}

static void flip_void(struct fcore_conn *c, uint32_t rsn)
{
	uint32_t i = rsn & FC_TXN_MASK;

	c->tgt_voids += is_void(c, rsn) ? -1U : 1;
	c->tgt_void[i / 64] ^= 1ULL << (i % 64);
}

/* Deliver in RSN order as far as possible. Answers from within a delivery end up here again. */
static void deliver_in_order(struct fcore_conn *c)
{
	if (c->tgt_delivering)
		return;
	c->tgt_delivering = true;
	while (!c->closed && !is_held_up(c)) {
		struct fc_ttxn *t = fc_ttxn(c, c->tgt_cursor);
		bool again = c->tgt_cursor != c->tgt_next;
		bool skip = !again && is_void(c, c->tgt_cursor);

		if (!again && !skip && !(is_busy(t) && t->rsn == c->tgt_cursor))
			break;
		if (skip)
			flip_void(c, c->tgt_cursor);
		else if (!again)
			c->tgt_early--;
		if (!again)
			falcon_store(&c->shared->rx_acked.next_rsn, ++c->tgt_next);
		c->tgt_cursor++;
		if (t->rsn != c->tgt_cursor - 1)
			continue;
		deliver(c, t);
	}
	c->tgt_delivering = false;
}

/* Where a request with |rsn| belongs. */
enum place {
	PLACE_NEW,
	PLACE_RNR,	/* a push that the ULP was not ready for, whose PSN is open */
	PLACE_NACKED,	/* it ended in error, and the peer has not heard */
	PLACE_STALE,	/* it is over */
	PLACE_NONE,	/* its slot is taken, or beyond the ring */
};

static enum place find_place(struct fcore_conn *c, uint32_t rsn)
{
	struct fc_ttxn *t = fc_ttxn(c, rsn);
	int32_t ahead = falcon_seq_diff(rsn, c->tgt_next);

	if (is_busy(t) && t->rsn == rsn) {
		if (t->state == PushDataRx && is_waiting(c, rsn))
			return PLACE_RNR;
		return t->state == FC_TARGET_NACKED ? PLACE_NACKED : PLACE_STALE;
	}
	if (c->ordered && (ahead < 0 || (ahead < FCORE_MAX_TXNS && is_void(c, rsn))))
		return PLACE_STALE;
	if (is_busy(t) || (c->ordered && ahead >= FCORE_MAX_TXNS))
		return PLACE_NONE;
	return PLACE_NEW;
}

/* 8.5.3.4: what comes after an RNRed request is RNRed, too, until that one is accepted. */
static void follow_not_ready(struct fcore_conn *c, struct fc_ttxn *t)
{
	t->nack_code = FALCON_NACK_RNR;
	t->rnr = fc_ttxn(c, c->tgt_cursor)->rnr;
	t->ulp_code = 0;
	fc_nack_owe(c, t);
}

bool fc_tgt_is_idle(const struct fcore_conn *c)
{
	return c->tgt_cursor == c->tgt_next && !c->tgt_waiting && !c->tgt_early && !c->tgt_voids;
}

void fc_tgt_skip(struct fcore_conn *c, uint32_t rsn, uint32_t pulls)
{
	c->stats.push_received += rsn - c->tgt_next - pulls;
	c->stats.pull_received += pulls;
	c->tgt_cursor = c->tgt_next = rsn;
	falcon_store(&c->shared->rx_acked.next_rsn, rsn);
}

bool fc_tgt_is_nacked(const struct fcore_conn *c, const struct fc_ttxn *t)
{
	return t->state == FC_TARGET_NACKED || is_rnred(c, t) ||
	       (t->state == PushDataRx && follows_rnred(c));
}

/* Take |rx| into its slot, for which it holds |cells|. */
static void admit(struct fcore_conn *c, const struct fcore_rx *rx, uint32_t cells)
{
	struct fc_ttxn *t = fc_ttxn(c, rx->hdr.rsn);
	bool push = rx->hdr.type == FALCON_PUSH_DATA;

	t->cells = cells;
	t->frame = rx->frame;
	t->payload = rx->payload;
	t->len = rx->len;
	t->rsn = rx->hdr.rsn;
	t->psn = rx->hdr.psn;
	t->request_len = rx->hdr.request_len;
	t->proto = rx->hdr.proto;
	t->ar = rx->hdr.ar;
	t->flow = rx->flow & (FALCON_MAX_FLOWS - 1);
	t->patient = false;
	t->refused_at = 0;
	t->state = push ? PushDataRx : PullReqRx;
	c->stats.push_received += push;
	c->stats.pull_received += !push;
	if (push)
		fc_ack_owe(c, rx->flow, rx->now, false, false);
	else
		fc_rx_accept(c, rx, rx->hdr.ar);
	if (push && follows_rnred(c))
		follow_not_ready(c, t);
	c->tgt_early += c->ordered;
	if (c->ordered)
		deliver_in_order(c);
	else
		deliver(c, t);
}

/* A request that has not been here: it needs resources (8.5.3). */
static void request_new(struct fcore_conn *c, const struct fcore_rx *rx)
{
	const struct falcon_hdr *h = &rx->hdr;
	uint32_t cells;

	if (fc_xlr_match(c, FCORE_XLR_TARGET, h->function, h->proto, h->type)) {
		fc_rx_refuse(c, rx, FALCON_NACK_XLR_DROP);
		return;
	}
	cells = fc_res_take_net(c, h->type == FALCON_PULL_REQUEST, rx->len, h->rsn == c->tgt_next);
	if (cells == FC_RES_REFUSED)
		fc_rx_refuse(c, rx, FALCON_NACK_RESOURCE);
	else
		admit(c, rx, cells);
}

/*
 * A push that was RNRed has come again: the NACK was lost, or the peer has waited long enough. It is
 * delivered again (11); while it has to wait for an older one, it is RNRed again.
 */
static void request_not_ready(struct fcore_conn *c, const struct fcore_rx *rx)
{
	struct fc_ttxn *t = fc_ttxn(c, rx->hdr.rsn);

	/* It is this packet that will be acknowledged. */
	t->ar = rx->hdr.ar;
	t->flow = rx->flow & (FALCON_MAX_FLOWS - 1);
	c->core->ops.frame_put(c->core->arg, rx->frame);
	if (c->ordered && t->rsn != c->tgt_cursor) {
		fc_rx_release(c, false, t->psn);
		fc_nack_owe(c, t);
		return;
	}
	fc_ack_owe(c, rx->flow, rx->now, false, false);
	set_waiting(c, t->rsn, false);
	if (c->ordered)
		deliver_in_order(c);
	else
		deliver(c, t);
}

static bool is_repetition(struct fcore_conn *c, const struct fcore_rx *rx)
{
	return rx->hdr.type == FALCON_PUSH_DATA && rx->hdr.psn == fc_ttxn(c, rx->hdr.rsn)->psn;
}

void fc_tgt_request(struct fcore_conn *c, const struct fcore_rx *rx)
{
	enum place place = find_place(c, rx->hdr.rsn);

	/* A slot answers for the packet that it was filled with, and for no other. */
	if ((place == PLACE_RNR || place == PLACE_NACKED) && !is_repetition(c, rx))
		place = PLACE_STALE;
	switch (place) {
	case PLACE_NEW:
		request_new(c, rx);
		break;
	case PLACE_RNR:
		request_not_ready(c, rx);
		break;
	case PLACE_NACKED:
		/* 6.6.5: the same NACK again; the claim stays open for the Resync. */
		fc_nack_owe(c, fc_ttxn(c, rx->hdr.rsn));
		fc_rx_release(c, false, rx->hdr.psn);
		c->core->ops.frame_put(c->core->arg, rx->frame);
		break;
	case PLACE_STALE:
		fc_rx_discard(c, rx);
		break;
	default:
		fc_rx_refuse(c, rx, FALCON_NACK_RESOURCE);
		break;
	}
}

void fc_tgt_resync(struct fcore_conn *c, const struct fcore_rx *rx)
{
	struct fc_ttxn *t = fc_ttxn(c, rx->hdr.rsn);
	enum place place = find_place(c, rx->hdr.rsn);

	if (c->ordered && falcon_seq_diff(rx->hdr.rsn, c->tgt_next) >= FCORE_MAX_TXNS) {
		fc_rx_refuse(c, rx, FALCON_NACK_RESOURCE);
		return;
	}
	fc_rx_accept(c, rx, true);
	c->core->ops.frame_put(c->core->arg, rx->frame);
	if (place == PLACE_NACKED || place == PLACE_RNR) {
		fc_nack_forget(c, t->rsn);
		set_waiting(c, t->rsn, false);
		put_frame(c, t);
		t->state = FC_TARGET_FREE;
		if (c->ordered)
			deliver_in_order(c);
	} else if (place != PLACE_STALE && c->ordered) {
		flip_void(c, rx->hdr.rsn);
		deliver_in_order(c);
	}
}

/* Back to "received", to be delivered again at |at| (8.5.3.4, 11). */
static void wait_for_ready(struct fcore_conn *c, struct fc_ttxn *t, uint64_t at)
{
	t->redeliver = at;
	set_waiting(c, t->rsn, true);
	if (falcon_seq_diff(t->rsn, c->tgt_cursor) < 0)
		c->tgt_cursor = t->rsn;
	fc_arm(c, FC_TIMER_RNR, t->redeliver);
}

/*
 * Until |rnr_patience_ns| have passed since the first refusal, the target delivers the push again at
 * intervals that grow with the wait, and the peer only sees an acknowledgment that takes its time.
 * Returns when to deliver |t| again, or 0: the peer is to be told.
 */
static uint64_t patience(const struct fcore_conn *c, const struct fc_ttxn *t, uint64_t now)
{
	uint64_t waited = now - t->refused_at, end = t->refused_at + c->params.rnr_patience_ns;
	uint64_t at = now + (waited < FC_PATIENCE_MIN ? FC_PATIENCE_MIN :
			     waited > FC_PATIENCE_MAX ? FC_PATIENCE_MAX : waited);

	if (now >= end)
		return 0;
	return at < end ? at : end;
}

/*
 * The frame is kept, to be delivered again. Once the peer is to be told, it knows nothing unless the
 * NACK arrives, so the PSN is opened for a repetition (6.6.3).
 */
static void push_not_ready(struct fcore_conn *c, struct fc_ttxn *t, uint64_t now)
{
	uint64_t at;

	if (!t->refused_at)
		t->refused_at = now;
	at = patience(c, t, now);
	t->patient = at != 0;
	t->state = PushDataRx;
	if (t->patient) {
		wait_for_ready(c, t, at);
		return;
	}
	t->nack_code = FALCON_NACK_RNR;
	wait_for_ready(c, t, now + falcon_rnr_timeout_ns(t->rnr));
	fc_nack_owe(c, t);
	fc_rx_release(c, false, t->psn);
}

static void push_acked(struct fcore_conn *c, struct fc_ttxn *t, uint64_t now)
{
	t->state = PushReqUlpAckd;
	fc_rx_ack_psn(c, false, t->psn);
	fc_ack_owe(c, t->flow, now, true, t->ar);
	t->state = FC_TARGET_FREE;
	put_frame(c, t);
}

/* The push ends in error. Its PSN opens again for the Resync, or for a repeated push (6.6.5). */
static void push_failed(struct fcore_conn *c, struct fc_ttxn *t, enum fcore_push_outcome outcome)
{
	t->nack_code = outcome == FCORE_PUSH_CIE   ? FALCON_NACK_CIE
		       : outcome == FCORE_PUSH_NRE ? FALCON_NACK_NRE
						   : FALCON_NACK_INVALID_CID;
	t->state = FC_TARGET_NACKED;
	fc_nack_owe(c, t);
	fc_rx_release(c, false, t->psn);
	put_frame(c, t);
}

void fcore_push_done(struct fcore_conn *c, uint32_t rsn, enum fcore_push_outcome outcome,
		     uint8_t rnr, uint8_t ulp_code, uint64_t now)
{
	struct fc_ttxn *t = fc_ttxn(c, rsn);

	if (c->closed || t->rsn != rsn || t->state != PushReqUlpTx)
		return;
	fc_enter(c->core);
	t->rnr = rnr;
	t->ulp_code = ulp_code;
	if (outcome == FCORE_PUSH_ACK) {
		push_acked(c, t, now);
	} else if (fc_rx_is_acked(c, false, t->psn)) {
		/* The Resync has been here already: nobody waits for a NACK. */
		put_frame(c, t);
		t->state = FC_TARGET_FREE;
	} else if (outcome == FCORE_PUSH_RNR) {
		push_not_ready(c, t, now);
	} else {
		push_failed(c, t, outcome);
	}
	fc_leave(c->core);
}

void fcore_pull_respond(struct fcore_conn *c, uint32_t rsn, const struct fcore_response *resp,
			uint64_t now)
{
	struct fc_ttxn *t = fc_ttxn(c, rsn);
	uint32_t hdr_len = fc_min(resp->ulp_hdr_len, FCORE_MAX_RESP_HDR);

	(void)now;
	fc_enter(c->core);
	if (c->dead || t->rsn != rsn || t->state != PullReqUlpTx) {
		c->core->ops.on_response_done(c->core->arg, c, resp->cookie);
	} else {
		t->state = PullReqUlpAckd;
		/* Now: the header may have been made in the frame. */
		if (hdr_len)
			memcpy(c->resp_hdr[rsn & FC_TXN_MASK], resp->ulp_hdr, hdr_len);
		put_frame(c, t);
		t->resp_hdr_len = hdr_len;
		t->resp = resp->payload;
		t->resp_len = resp->len;
		t->cookie = resp->cookie;
		t->state = PullDataUlpRx;
		c->resp_queue[c->resp_end++ & FC_TXN_MASK] = rsn;
		fc_res_fund(c);
	}
	fc_leave(c->core);
}

void fcore_pull_rnr(struct fcore_conn *c, uint32_t rsn, uint8_t rnr, uint64_t now)
{
	struct fc_ttxn *t = fc_ttxn(c, rsn);

	if (c->closed || t->rsn != rsn || t->state != PullReqUlpTx)
		return;
	t->state = PullReqRx;
	t->rnr = rnr;
	wait_for_ready(c, t, now + falcon_rnr_timeout_ns(rnr));
}

void fcore_pull_invalid_cid(struct fcore_conn *c, uint32_t rsn)
{
	struct fc_ttxn *t = fc_ttxn(c, rsn);

	if (c->closed || t->rsn != rsn || t->state != PullReqUlpTx)
		return;
	put_frame(c, t);
	t->state = FC_TARGET_FREE;
}

/* Redeliver |t| if its time has come. Returns when it will, FCORE_NEVER if it has. */
static uint64_t redeliver(struct fcore_conn *c, struct fc_ttxn *t, uint64_t now)
{
	if (t->redeliver > now)
		return t->redeliver;
	set_waiting(c, t->rsn, false);
	if (t->state == PushDataRx)
		fc_rx_claim_again(c, t->psn);
	if (!c->ordered)
		deliver(c, t);
	return FCORE_NEVER;
}

void fc_tgt_timeout(struct fcore_conn *c, uint64_t now)
{
	uint64_t earliest = FCORE_NEVER;

	for (uint32_t i = 0; i < FC_TXN_WORDS; i++) {
		uint64_t bits = c->tgt_wait[i];

		for (; bits && !c->closed; bits &= bits - 1) {
			uint32_t n = i * 64 + (uint32_t)__builtin_ctzll(bits);
			uint64_t due = redeliver(c, &c->ttxn[n], now);

			earliest = due < earliest ? due : earliest;
		}
	}
	if (c->closed)
		return;
	if (earliest != FCORE_NEVER)
		fc_arm(c, FC_TIMER_RNR, earliest);
	if (c->ordered)
		deliver_in_order(c);
}

void fc_tgt_close(struct fcore_conn *c)
{
	for (; c->resp_head != c->resp_tail; c->resp_head++)
		fc_res_give_data(
			c, fc_resp_len(fc_ttxn(c, c->resp_queue[c->resp_head & FC_TXN_MASK])));
	for (uint32_t i = 0; i < FCORE_MAX_TXNS; i++) {
		struct fc_ttxn *t = &c->ttxn[i];

		put_frame(c, t);
		if (t->state == PullDataUlpRx)
			c->core->ops.on_response_done(c->core->arg, c, t->cookie);
		t->state = FC_TARGET_FREE;
	}
}
