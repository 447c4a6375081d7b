/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The initiator: transactions of ours, from submission to completion (Falcon 8.4).
 *
 * A transaction's slot is free again when its completion has been delivered and its packet has been
 * acknowledged, whichever is later; base follows the oldest that is not. Each RSN that was assigned
 * reaches the target, as its packet or as a Resync in its place: an ordered target waits for it.
 */
#include "core/parts.h"

#include <errno.h>

/* The Request Length: what resources are reckoned by. */
static uint32_t request_len(const struct fc_itxn *t)
{
	return t->flags & FC_ITXN_PULL ? t->len : t->hdr_len + t->len;
}

static bool has_slot(const struct fcore_conn *c)
{
	return c->init_next - c->init_base < FCORE_MAX_TXNS;
}

static int check_size(const struct fcore_conn *c, const struct fcore_txn *txn, bool pull)
{
	uint32_t max = c->core->max_len;

	if (txn->ulp_hdr_len > FCORE_MAX_ULP_HDR || txn->len > max ||
	    (!pull && txn->len + txn->ulp_hdr_len > max))
		return -EMSGSIZE;
	return 0;
}

/* |txn| ends before it has begun. */
static void refuse_with(struct fcore_conn *c, const struct fcore_txn *txn,
			enum falcon_completion_code code)
{
	c->stats.completed++;
	c->stats.completed_in_error++;
	c->core->ops.on_completion(c->core->arg, c, txn->cookie, code, 0);
}

/* Xoff; or, with nobody to tell that, the end of the transaction (8.2.3, 11). */
static int refuse(struct fcore_conn *c, const struct fcore_txn *txn, const struct fc_need *need)
{
	if (!c->params.no_flow_control) {
		c->xoff = true;
		c->xoff_need = *need;
		fc_waiters_add(&c->core->xon, &c->xon_link);
		return -EAGAIN;
	}
	refuse_with(c, txn, kCmplLocalRsrc);
	return 0;
}

void fcore_was_away(struct fcore *core, uint64_t ns)
{
	core->away += ns;
}

static void begin_timeout(const struct fcore_conn *c, struct fc_itxn *t, uint64_t now)
{
	t->deadline = now + c->params.txn_timeout_ns - c->core->away;
}

static uint64_t times_out_at(const struct fcore_conn *c, const struct fc_itxn *t)
{
	return t->deadline + c->core->away;
}

/* Assign the next RSN. Returns the transaction, which holds no resources yet. */
static struct fc_itxn *start(struct fcore_conn *c, const struct fcore_txn *txn, bool pull, uint64_t now)
{
	struct fc_itxn *t = fc_itxn(c, c->init_next++);

	t->cookie = txn->cookie;
	t->payload = txn->payload;
	begin_timeout(c, t, now);
	t->frame = NULL;
	t->data = NULL;
	t->data_len = 0;
	t->len = txn->len;
	t->state = pull ? PullReqUlpRx : PushReqUlpRx;
	t->flags = pull ? FC_ITXN_PULL : 0;
	t->code = kCmplAck;
	t->ulp_code = 0;
	t->proto = txn->proto;
	t->resync_code = 0;
	t->rnr = 0;
	t->hdr_len = (uint8_t)txn->ulp_hdr_len;
	if (txn->ulp_hdr_len)
		memcpy(t->hdr, txn->ulp_hdr, txn->ulp_hdr_len);
	if (!fc_timer_armed(&c->timer[FC_TIMER_TXN]))
		fc_arm(c, FC_TIMER_TXN, times_out_at(c, t));
	fc_sched_wake(c);
	return t;
}

/* Its packet has been acknowledged, or has become a Resync, which takes none. */
static void give_tx(struct fcore_conn *c, struct fc_itxn *t)
{
	if (!(t->flags & FC_ITXN_TX))
		return;
	t->flags &= (uint8_t)~FC_ITXN_TX;
	fc_res_give_request_tx(c, t->flags & FC_ITXN_PULL, request_len(t));
}

/* It is being completed to the ULP. */
static void give_rx(struct fcore_conn *c, struct fc_itxn *t)
{
	if (!(t->flags & FC_ITXN_RX))
		return;
	t->flags &= (uint8_t)~FC_ITXN_RX;
	fc_res_give_request_rx(c, t->flags & FC_ITXN_PULL, request_len(t));
}

/* Free the slot of |rsn| if nothing refers to it, and let BRSN pass over what is free. */
static void release(struct fcore_conn *c, uint32_t rsn)
{
	struct fc_itxn *t = fc_itxn(c, rsn);
	uint8_t over = FC_ITXN_TOLD | FC_ITXN_SENT;

	if ((t->flags & (over | FC_ITXN_WIRE)) != over)
		return;
	t->state = FC_INITIATOR_FREE;
	while (c->init_base != c->init_next && fc_itxn(c, c->init_base)->state == FC_INITIATOR_FREE)
		c->init_base++;
}

/* Deliver the completion of |rsn|. The slot may be reused from within the callbacks. */
static void tell(struct fcore_conn *c, uint32_t rsn)
{
	const struct fcore_ops *ops = &c->core->ops;
	struct fc_itxn *t = fc_itxn(c, rsn);
	enum falcon_completion_code code = (enum falcon_completion_code)t->code;
	uint64_t cookie = t->cookie;
	uint8_t ulp_code = t->ulp_code;
	const void *data = t->data;
	uint32_t len = t->data_len;
	void *frame = t->frame;
	bool pull = t->flags & FC_ITXN_PULL;

	t->frame = NULL;
	t->flags |= FC_ITXN_TOLD;
	t->state = t->flags & FC_ITXN_PULL ? PullDataUlpTx : PushCplTx;
	c->stats.completed++;
	c->stats.completed_in_error += code != kCmplAck;
	give_rx(c, t);
	release(c, rsn);
	if (pull && code == kCmplAck)
		ops->on_pull_data(c->core->arg, c, cookie, data, len);
	ops->on_completion(c->core->arg, c, cookie, code, ulp_code);
	if (frame)
		ops->frame_put(c->core->arg, frame);
}

/* The result of |rsn| is known. On an ordered connection its turn comes in fc_init_settle(). */
static void finish(struct fcore_conn *c, uint32_t rsn)
{
	fc_sink_close(c, rsn);
	fc_itxn(c, rsn)->flags |= FC_ITXN_DONE;
	if (!c->ordered)
		tell(c, rsn);
}

/* If XDP has placed the data of |rsn|, that is how it ends. It places none any more. */
static bool finish_placed(struct fcore_conn *c, uint32_t rsn)
{
	struct fc_itxn *t = fc_itxn(c, rsn);

	if (!fc_sink_close(c, rsn))
		return false;
	t->state = PullDataRx;
	t->code = kCmplAck;
	finish(c, rsn);
	return true;
}

static bool is_done(struct fcore_conn *c, uint32_t rsn)
{
	return fc_itxn(c, rsn)->flags & FC_ITXN_DONE || (fc_sink_is_placed(c, rsn) && finish_placed(c, rsn));
}

void fc_init_settle(struct fcore_conn *c)
{
	while (c->ordered && !c->closed && c->init_told != c->init_next && is_done(c, c->init_told))
		tell(c, c->init_told++);
	if (c->xoff)
		fc_init_xon(c);
}

void fc_init_xon(struct fcore_conn *c)
{
	if (c->dead)
		return;
	if (!has_slot(c) || !fc_res_fits(c, &c->xoff_need)) {
		fc_waiters_add(&c->core->xon, &c->xon_link);
		return;
	}
	c->xoff = false;
	fc_waiters_remove(&c->core->xon, &c->xon_link);
	if (c->core->ops.on_xon)
		c->core->ops.on_xon(c->core->arg, c);
}

static bool matches_xlr(struct fcore_conn *c, uint8_t proto, bool pull)
{
	return fc_xlr_match(c, FCORE_XLR_INITIATOR, c->params.function, proto,
			    pull ? FALCON_PULL_REQUEST : FALCON_PUSH_DATA);
}

/* A filter ends it here (11). An ordered target waits for its RSN, and gets it as a Resync. */
static void submit_filtered(struct fcore_conn *c, const struct fcore_txn *txn, bool pull,
			    uint64_t now)
{
	uint32_t rsn = c->init_next;
	struct fc_itxn *t;

	if (!c->ordered) {
		refuse_with(c, txn, kCmplLocalXlr);
		return;
	}
	t = start(c, txn, pull, now);
	t->code = kCmplLocalXlr;
	t->resync_code = FALCON_RESYNC_LOCAL_XLR;
	finish(c, rsn);
	fc_init_settle(c);
}

static int submit(struct fcore_conn *c, const struct fcore_txn *txn, bool pull, uint64_t now)
{
	uint32_t len = pull ? txn->len : txn->len + txn->ulp_hdr_len;
	struct fc_need need = fc_need_request(c->core, pull, len);
	int rc = c->dead ? -ENOTCONN : check_size(c, txn, pull);

	if (rc)
		return rc;
	if (!has_slot(c))
		return refuse(c, txn, &need);
	if (matches_xlr(c, txn->proto, pull)) {
		submit_filtered(c, txn, pull, now);
		return 0;
	}
	if (!fc_res_take_request(c, &need))
		return refuse(c, txn, &need);
	start(c, txn, pull, now)->flags |= FC_ITXN_TX | FC_ITXN_RX;
	if (pull && txn->sink)
		fc_sink_open(c, c->init_next - 1, txn->sink);
	return 0;
}

int fcore_push(struct fcore_conn *c, const struct fcore_txn *t, uint64_t now)
{
	int rc;

	fc_enter(c->core);
	rc = submit(c, t, false, now);
	c->stats.push_submitted += rc == 0;
	fc_leave(c->core);
	return rc;
}

int fcore_pull(struct fcore_conn *c, const struct fcore_txn *t, uint64_t now)
{
	int rc;

	fc_enter(c->core);
	rc = submit(c, t, true, now);
	c->stats.pull_submitted += rc == 0;
	fc_leave(c->core);
	return rc;
}

void fc_init_acked(struct fcore_conn *c, uint32_t rsn)
{
	struct fc_itxn *t = fc_itxn(c, rsn);

	t->flags &= (uint8_t)~FC_ITXN_WIRE;
	give_tx(c, t);
	if (t->flags & FC_ITXN_DONE) {
		release(c, rsn);
		return;
	}
	if (t->flags & FC_ITXN_PULL) {
		t->state = PullReqAckd;
		/* Failed, and now its Resync has arrived: no data will come. */
		if (t->code != kCmplAck)
			finish(c, rsn);
		return;
	}
	t->state = PushDataAckd;
	finish(c, rsn);
}

/* How |t| will end; what was found out first counts. */
static void set_result(struct fc_itxn *t, enum falcon_completion_code code, uint8_t ulp_code)
{
	if (t->flags & FC_ITXN_DONE || t->code != kCmplAck)
		return;
	t->code = (uint8_t)code;
	t->ulp_code = ulp_code;
}

void fc_init_fail(struct fcore_conn *c, uint32_t rsn, enum falcon_completion_code code,
		  uint8_t ulp_code)
{
	give_tx(c, fc_itxn(c, rsn));
	set_result(fc_itxn(c, rsn), code, ulp_code);
}

/* The pull transaction that waits for data with |rsn|, or NULL. */
static struct fc_itxn *find_pull(struct fcore_conn *c, uint32_t rsn)
{
	struct fc_itxn *t = fc_itxn(c, rsn);

	if (rsn - c->init_base >= c->init_send - c->init_base)
		return NULL;
	if ((t->flags & (FC_ITXN_PULL | FC_ITXN_DONE)) != FC_ITXN_PULL)
		return NULL;
	return t;
}

void fc_init_pull_data(struct fcore_conn *c, const struct fcore_rx *rx)
{
	struct fc_itxn *t = find_pull(c, rx->hdr.rsn);

	if (!t || finish_placed(c, rx->hdr.rsn)) {
		fc_rx_discard(c, rx);
		fc_init_settle(c);
		return;
	}
	if (rx->len > t->len) {
		fc_rx_discard(c, rx);
		set_result(t, kCmplOpErr, 0);
	} else {
		fc_rx_accept(c, rx, rx->hdr.ar);
		t->frame = rx->frame;
		t->data = rx->payload;
		t->data_len = rx->len;
		t->state = PullDataRx;
		t->code = kCmplAck;
	}
	finish(c, rx->hdr.rsn);
	fc_init_settle(c);
}

void fcore_sinks_close(struct fcore_conn *c)
{
	for (uint32_t rsn = c->init_told; c->sinks && rsn != c->init_next; rsn++)
		finish_placed(c, rsn);
}

/* The timeout of |rsn| begins anew, and with it that of what an ordered target holds behind it. */
static void put_off_timeout(struct fcore_conn *c, uint32_t rsn, uint64_t now)
{
	uint32_t end = c->ordered ? c->init_next : rsn + 1;

	for (; rsn != end; rsn++)
		begin_timeout(c, fc_itxn(c, rsn), now);
}

void fc_init_not_ready(struct fcore_conn *c, uint32_t rsn, uint64_t now)
{
	struct fc_itxn *t = fc_itxn(c, rsn);

	/* What the target holds behind another has not been tried (8.5.3.4). */
	if (t->flags & FC_ITXN_DONE || (c->ordered && rsn != c->init_told))
		return;
	t->rnr += t->rnr < UINT8_MAX;
	if (c->core->ops.on_rnr && c->core->ops.on_rnr(c->core->arg, c, t->cookie, t->rnr))
		put_off_timeout(c, rsn, now);
}

void fc_init_voided(struct fcore_conn *c, uint32_t rsn)
{
	struct fc_itxn *t = find_pull(c, rsn);

	if (!t)
		return;
	if (!finish_placed(c, rsn)) {
		set_result(t, kCmplRemoteErr, 0);
		finish(c, rsn);
	}
	fc_init_settle(c);
}

/*
 * |rsn| ends now with |code|, whatever becomes of it elsewhere (11); what it has on the wire, or
 * would have had, becomes a Resync, which does not need the ULP's memory.
 */
static void cut_short(struct fcore_conn *c, uint32_t rsn, enum falcon_completion_code code,
		      enum falcon_resync_code resync)
{
	struct fc_itxn *t = fc_itxn(c, rsn);
	struct fc_win *w = t->flags & FC_ITXN_PULL ? &c->req : &c->data;

	if (finish_placed(c, rsn))
		return;
	fc_init_fail(c, rsn, code, 0);
	if (t->flags & FC_ITXN_WIRE)
		fc_retx_resync(c, w, t->psn, resync);
	t->resync_code = (uint8_t)resync;
	finish(c, rsn);
}

static bool is_open(const struct fc_itxn *t)
{
	return t->state != FC_INITIATOR_FREE && !(t->flags & FC_ITXN_DONE);
}

void fc_init_xlr(struct fcore_conn *c)
{
	for (uint32_t rsn = c->init_base; rsn != c->init_next && !c->closed; rsn++) {
		struct fc_itxn *t = fc_itxn(c, rsn);

		if (is_open(t) && matches_xlr(c, t->proto, t->flags & FC_ITXN_PULL))
			cut_short(c, rsn, kCmplLocalXlr, FALCON_RESYNC_LOCAL_XLR);
	}
	fc_init_settle(c);
}

void fc_init_timeout(struct fcore_conn *c, uint64_t now)
{
	uint64_t earliest = FCORE_NEVER;
	uint32_t rsn = c->init_base;

	for (; rsn != c->init_next && !c->closed; rsn++) {
		struct fc_itxn *t = fc_itxn(c, rsn);
		uint64_t at;

		/* Below the base a slot may have been used again, from within a completion. */
		if (falcon_seq_diff(rsn, c->init_base) < 0 || !is_open(t))
			continue;
		at = times_out_at(c, t);
		if (at <= now)
			cut_short(c, rsn, kCmplLocalTO, FALCON_RESYNC_TXN_TIMEOUT);
		else if (at < earliest)
			earliest = at;
	}
	if (earliest != FCORE_NEVER && !c->closed)
		fc_arm(c, FC_TIMER_TXN, earliest);
	fc_init_settle(c);
}

void fc_init_close(struct fcore_conn *c, enum falcon_completion_code code)
{
	for (uint32_t rsn = c->init_base; rsn != c->init_next; rsn++) {
		struct fc_itxn *t = fc_itxn(c, rsn);

		if (t->state == FC_INITIATOR_FREE)
			continue;
		give_tx(c, t);
		fc_sink_close(c, rsn);
		if (t->flags & FC_ITXN_TOLD)
			continue;
		t->code = (uint8_t)code;
		t->ulp_code = 0;
		t->flags |= FC_ITXN_SENT | FC_ITXN_DONE;
		t->flags &= (uint8_t)~FC_ITXN_WIRE;
		tell(c, rsn);
	}
}
