/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The initiator: transactions of ours, from submission to completion (Falcon 8.4).
 *
 * A transaction's slot is free again when its completion has been delivered and its packet has been
 * acknowledged, whichever is later; base follows the oldest that is not. Each RSN that was assigned
 * reaches the target, as its packet or as a Resync in its place: an ordered target waits for it.
 */
#include "core/conn.h"

#include <errno.h>

static int submit(struct fcore_conn *c, const struct fcore_txn *txn, bool pull, uint64_t now)
{
	uint32_t rsn = c->init_next;
	struct fc_itxn *t = fc_itxn(c, rsn);

	if (c->dead)
		return -ENOTCONN;
	if (txn->ulp_hdr_len > FCORE_MAX_ULP_HDR || txn->len > FALCON_MAX_REQUEST_LEN ||
	    (!pull && txn->len + txn->ulp_hdr_len > FALCON_MAX_REQUEST_LEN))
		return -EMSGSIZE;
	if (rsn - c->init_base >= FCORE_MAX_TXNS) {
		c->xoff = true;
		return -EAGAIN;
	}
	c->init_next = rsn + 1;
	t->cookie = txn->cookie;
	t->payload = txn->payload;
	t->deadline = now + c->params.txn_timeout_ns;
	t->frame = NULL;
	t->len = txn->len;
	t->state = pull ? PullReqUlpRx : PushReqUlpRx;
	t->flags = pull ? FC_ITXN_PULL : 0;
	t->code = kCmplAck;
	t->ulp_code = 0;
	t->proto = txn->proto;
	t->resync_code = 0;
	t->hdr_len = (uint8_t)txn->ulp_hdr_len;
	if (txn->ulp_hdr_len)
		memcpy(t->hdr, txn->ulp_hdr, txn->ulp_hdr_len);
	if (!fc_timer_armed(&c->timer[FC_TIMER_TXN]))
		fc_arm(c, FC_TIMER_TXN, t->deadline);
	fc_sched_wake(c);
	return 0;
}

int fcore_push(struct fcore_conn *c, const struct fcore_txn *t, uint64_t now)
{
	int rc = submit(c, t, false, now);

	c->stats.push_submitted += rc == 0;
	return rc;
}

int fcore_pull(struct fcore_conn *c, const struct fcore_txn *t, uint64_t now)
{
	int rc = submit(c, t, true, now);

	c->stats.pull_submitted += rc == 0;
	return rc;
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

	t->frame = NULL;
	t->flags |= FC_ITXN_TOLD;
	t->state = t->flags & FC_ITXN_PULL ? PullDataUlpTx : PushCplTx;
	c->stats.completed++;
	c->stats.completed_in_error += code != kCmplAck;
	release(c, rsn);
	if (frame && code == kCmplAck)
		ops->on_pull_data(c->core->arg, c, cookie, data, len);
	ops->on_completion(c->core->arg, c, cookie, code, ulp_code);
	if (frame)
		ops->frame_put(c->core->arg, frame);
}

/* The result of |rsn| is known. On an ordered connection its turn comes in fc_init_settle(). */
static void finish(struct fcore_conn *c, uint32_t rsn)
{
	fc_itxn(c, rsn)->flags |= FC_ITXN_DONE;
	if (!c->ordered)
		tell(c, rsn);
}

void fc_init_settle(struct fcore_conn *c)
{
	while (c->ordered && !c->closed && c->init_told != c->init_next &&
	       fc_itxn(c, c->init_told)->flags & FC_ITXN_DONE)
		tell(c, c->init_told++);
	if (c->xoff && !c->dead && c->init_next - c->init_base < FCORE_MAX_TXNS) {
		c->xoff = false;
		if (c->core->ops.on_xon)
			c->core->ops.on_xon(c->core->arg, c);
	}
}

void fc_init_acked(struct fcore_conn *c, uint32_t rsn)
{
	struct fc_itxn *t = fc_itxn(c, rsn);

	t->flags &= (uint8_t)~FC_ITXN_WIRE;
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

void fc_init_fail(struct fcore_conn *c, uint32_t rsn, enum falcon_completion_code code,
		  uint8_t ulp_code)
{
	struct fc_itxn *t = fc_itxn(c, rsn);

	if (t->flags & FC_ITXN_DONE || t->code != kCmplAck)
		return;
	t->code = (uint8_t)code;
	t->ulp_code = ulp_code;
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

	if (!t) {
		fc_rx_discard(c, rx);
		return;
	}
	if (rx->len > t->len) {
		fc_rx_discard(c, rx);
		fc_init_fail(c, rx->hdr.rsn, kCmplOpErr, 0);
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

void fc_init_voided(struct fcore_conn *c, uint32_t rsn)
{
	if (!find_pull(c, rsn))
		return;
	fc_init_fail(c, rsn, kCmplRemoteErr, 0);
	finish(c, rsn);
	fc_init_settle(c);
}

/*
 * |rsn| has waited too long (11). It ends now; what it has on the wire, or would have had, becomes
 * a Resync, which does not need the ULP's memory.
 */
static void time_out(struct fcore_conn *c, uint32_t rsn)
{
	struct fc_itxn *t = fc_itxn(c, rsn);
	struct fc_win *w = t->flags & FC_ITXN_PULL ? &c->req : &c->data;

	fc_init_fail(c, rsn, kCmplLocalTO, 0);
	if (t->flags & FC_ITXN_WIRE)
		fc_retx_resync(c, w, t->psn, FALCON_RESYNC_TXN_TIMEOUT);
	t->resync_code = FALCON_RESYNC_TXN_TIMEOUT;
	finish(c, rsn);
}

void fc_init_timeout(struct fcore_conn *c, uint64_t now)
{
	uint32_t rsn = c->init_base;

	/* Deadlines rise with the RSN. */
	for (; rsn != c->init_next && !c->closed; rsn++) {
		struct fc_itxn *t = fc_itxn(c, rsn);

		if (t->state == FC_INITIATOR_FREE || t->flags & FC_ITXN_DONE)
			continue;
		if (t->deadline > now) {
			fc_arm(c, FC_TIMER_TXN, t->deadline);
			break;
		}
		time_out(c, rsn);
	}
	fc_init_settle(c);
}

void fc_init_close(struct fcore_conn *c, enum falcon_completion_code code)
{
	for (uint32_t rsn = c->init_base; rsn != c->init_next; rsn++) {
		struct fc_itxn *t = fc_itxn(c, rsn);

		if (t->state == FC_INITIATOR_FREE || t->flags & FC_ITXN_TOLD)
			continue;
		t->code = (uint8_t)code;
		t->ulp_code = 0;
		t->flags |= FC_ITXN_SENT | FC_ITXN_DONE;
		t->flags &= (uint8_t)~FC_ITXN_WIRE;
		tell(c, rsn);
	}
}
