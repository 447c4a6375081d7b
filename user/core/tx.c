/* SPDX-License-Identifier: BSD-2-Clause */
/* The transmitter: gating, first transmission, building packets (Falcon 9.1.2, 9.1.3). */
#include "core/parts.h"

#include <errno.h>

/* By how much the response to the pull |t| is longer than its request, Falcon's headers included. */
static uint32_t response_room(const struct fc_itxn *t)
{
	uint32_t request = (uint32_t)sizeof(struct falcon_pull_req_hdr) + t->hdr_len;
	uint32_t response = (uint32_t)sizeof(struct falcon_base_hdr) + t->len;

	return response > request ? response - request : 0;
}

/* Put what follows the Falcon header into |p|, and its length into the header. */
static void tx_fill(struct fcore_conn *c, const struct fc_ctx *ctx, uint32_t psn,
		    struct falcon_hdr *h, struct fcore_packet *p)
{
	const struct fc_itxn *t = fc_itxn(c, ctx->rsn);
	const struct fc_resp *r = &c->resp[psn & (FALCON_DATA_WINDOW - 1)];

	p->ulp_hdr = p->payload = NULL;
	p->ulp_hdr_len = p->payload_len = p->room = 0;
	if (h->type == FALCON_PULL_DATA) {
		p->ulp_hdr = r->hdr;
		p->ulp_hdr_len = r->hdr_len;
		p->payload = r->payload;
		p->payload_len = r->len;
	} else if (h->type == FALCON_PUSH_DATA) {
		p->ulp_hdr = t->hdr;
		p->ulp_hdr_len = t->hdr_len;
		p->payload = t->payload;
		p->payload_len = t->len;
		h->request_len = (__u16)(t->hdr_len + t->len);
	} else if (h->type == FALCON_PULL_REQUEST) {
		p->ulp_hdr = t->hdr;
		p->ulp_hdr_len = t->hdr_len;
		h->request_len = (__u16)t->len;
		if (c->pad_pulls)
			p->room = response_room(t);
	}
}

int fc_tx_packet(struct fcore_conn *c, struct fc_win *w, uint32_t psn, struct fc_flow *f, bool ar,
		 bool again)
{
	struct fc_ctx *ctx = fc_ctx(w, psn);
	bool resync = ctx->flags & FC_CTX_RESYNC;
	uint32_t acked[FALCON_MAX_FLOWS], in_bases = fc_ack_in_bases(c, acked);
	struct fcore_packet p;
	struct falcon_hdr h = {
		.cid = c->shared->id.peer_cid,
		.function = c->params.function,
		.proto = ctx->proto,
		.type = resync ? FALCON_RESYNC : ctx->type,
		.ar = ar,
		.rdbpsn = falcon_load(&c->shared->rx_acked.data_base),
		.rrbpsn = falcon_load(&c->shared->rx_acked.req_base),
		.psn = psn,
		.rsn = ctx->rsn,
		.resync_code = ctx->resync_code,
		.resync_type = ctx->type,
	};

	tx_fill(c, ctx, psn, &h, &p);
	p.hdr_len = falcon_hdr_pack(&h, p.hdr);
	p.type = h.type;
	p.flow = f->index;
	p.path = f->path;
	p.retransmission = again;
	p.probe = false;
	if (c->core->ops.transmit(c->core->arg, c, &p))
		return -EAGAIN;
	c->stats.tx_resyncs += resync;
	ctx->flow = f->index;
	ctx->order = ++c->tx_order;
	c->last_flow = f->index;
	f->outstanding++;
	f->sent++;
	fc_ack_piggybacked(c, in_bases, acked);
	return 0;
}

/* RORC or DORC below ncwnd: the gate of new requests. */
static bool request_fits(const struct fcore_conn *c, const struct fc_win *w)
{
	return fc_tx_fits(w, w->next) && w->orc < c->ncwnd;
}

/*
 * 9.1.3.1: every packet at small windows, else the configured fraction; and also the packet that
 * closes the window or empties the queue of pushes, since only an ACK lets those go on. A lone Pull
 * Request needs none: its data is the answer.
 */
static bool wants_ar(struct fcore_conn *c, const struct fc_win *w, struct fc_flow *f, uint8_t type)
{
	uint32_t out = w->next - w->base + 1;

	if (f->fcwnd >> FALCON_EV_fcwnd_fraction_WIDTH <= c->params.ar_fcwnd || out >= w->limit)
		return true;
	if (fc_is_request(type) && w->orc + 1 >= c->ncwnd)
		return true;
	if (type == FALCON_PUSH_DATA && c->init_send + 1 == c->init_next)
		return true;
	f->ar_credit = (uint8_t)(f->ar_credit + (f->ar_percent ? f->ar_percent : c->params.ar_percent));
	if (f->ar_credit < 100)
		return false;
	f->ar_credit = (uint8_t)(f->ar_credit - 100);
	return true;
}

/* Give |ctx|, filled in for PSN w->next, its first transmission. Nothing has changed if refused. */
static enum fc_sent tx_first(struct fcore_conn *c, struct fc_win *w, struct fc_ctx *ctx,
			     struct fc_flow *f, uint64_t now)
{
	uint8_t credit = f->ar_credit;
	uint32_t psn = w->next;

	if (w == &c->req)
		fc_exec_listen(c);
	/* The peer may answer before transmit() returns; its ACK must find the PSN sent. */
	falcon_store(w->shared_next, psn + 1);
	if (fc_tx_packet(c, w, psn, f, wants_ar(c, w, f, ctx->type), false)) {
		falcon_store(w->shared_next, psn);
		f->ar_credit = credit;
		return FC_STALLED;
	}
	w->next = psn + 1;
	w->orc += fc_is_request(ctx->type);
	ctx->last_tx = now;
	c->stats.tx_packets++;
	fc_arm(c, FC_TIMER_RTO, now + f->rto);
	fc_tlp_sent(c, now);
	return FC_SENT;
}

/* Head of the queue of Pull Requests and Push Data (8.3). */
static enum fc_sent send_request(struct fcore_conn *c, struct fc_flow *f, uint64_t now)
{
	struct fc_itxn *t = fc_itxn(c, c->init_send);
	bool pull = t->flags & FC_ITXN_PULL;
	struct fc_win *w = pull ? &c->req : &c->data;
	struct fc_ctx *ctx = fc_ctx(w, w->next);
	enum fc_sent r;

	if (!request_fits(c, w))
		return FC_IDLE;
	*ctx = (struct fc_ctx){
		.rsn = c->init_send,
		.type = pull ? FALCON_PULL_REQUEST : FALCON_PUSH_DATA,
		.proto = t->proto,
		.flags = t->flags & FC_ITXN_DONE ? FC_CTX_RESYNC : 0,
		.resync_code = t->resync_code,
	};
	t->psn = w->next;
	r = tx_first(c, w, ctx, f, now);
	if (r == FC_SENT) {
		c->init_send++;
		t->flags |= FC_ITXN_SENT | FC_ITXN_WIRE;
		t->state = pull ? PullReqTx : PushDataTx;
	}
	return r;
}

/* Head of the queue of Pull Data (8.3). */
static enum fc_sent send_response(struct fcore_conn *c, struct fc_flow *f, uint64_t now)
{
	struct fc_win *w = &c->data;
	struct fc_ctx *ctx = fc_ctx(w, w->next);
	struct fc_resp *resp = &c->resp[w->next & (w->size - 1)];
	struct fc_ttxn *t;
	enum fc_sent r;

	if (!fc_tx_fits(w, w->next))
		return FC_IDLE;
	t = fc_ttxn(c, c->resp_queue[c->resp_head & FC_TXN_MASK]);
	*ctx = (struct fc_ctx){ .rsn = t->rsn, .type = FALCON_PULL_DATA, .proto = t->proto };
	resp->payload = t->resp;
	resp->cookie = t->cookie;
	resp->len = t->resp_len;
	resp->hdr_len = t->resp_hdr_len;
	if (resp->hdr_len)
		memcpy(resp->hdr, c->resp_hdr[t->rsn & FC_TXN_MASK], resp->hdr_len);
	r = tx_first(c, w, ctx, f, now);
	if (r == FC_SENT) {
		c->resp_head++;
		t->state = PullDataTx;
	}
	return r;
}

bool fc_tx_takes_data(const struct fcore_conn *c)
{
	return c->resp_head != c->resp_tail ||
	       (c->init_send != c->init_next && !(c->itxn[c->init_send & FC_TXN_MASK].flags & FC_ITXN_PULL));
}

enum fc_sent fc_tx_new(struct fcore_conn *c, struct fc_flow *f, uint64_t now)
{
	for (int i = 0; i < 2; i++) {
		bool response = c->turn;
		enum fc_sent r = FC_IDLE;

		if (response && c->resp_head != c->resp_tail)
			r = send_response(c, f, now);
		else if (!response && c->init_send != c->init_next)
			r = send_request(c, f, now);
		if (r == FC_STALLED)
			return r;
		c->turn = !response;
		if (r == FC_SENT)
			return r;
	}
	return FC_IDLE;
}
