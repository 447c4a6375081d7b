// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is sent: sequence numbers, gates and order of reliable packets (9.1.2, 9.1.3, 9.1.8).
 *
 * The gates are held against the shared state, of which the core has seen the same or less: a
 * packet that the core rightly sends is never found wrong here.
 */
#include "check.h"

static struct shadow *window(struct endpoint *e, bool req)
{
	return req ? &e->req : &e->data;
}

struct psn *check_psn(struct endpoint *e, bool req, uint32_t psn)
{
	struct shadow *w = window(e, req);

	return psn - w->first < w->next ? &w->psn[psn - w->first] : NULL;
}

static uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Requests of |w| that are not known to be acknowledged: [R/D]ORC, or less. */
static uint32_t outstanding(const struct endpoint *e, const struct shadow *w, bool req,
			    uint32_t base)
{
	const struct falcon_tx_acked *tx = &e->shared->tx_acked;
	uint32_t n = 0;

	for (uint32_t psn = base; psn != w->first + w->next; psn++) {
		bool acked = req ? falcon_ring_test(tx->req_ack, FALCON_REQ_WORDS, psn)
				 : falcon_ring_test(tx->data_ack, FALCON_DATA_WORDS, psn);

		n += !acked && w->psn[psn - w->first].type != FALCON_PULL_DATA;
	}
	return n;
}

/* 9.1.2 for a packet about to be sent first. */
static void check_gates(struct endpoint *e, bool req, uint32_t psn, bool request)
{
	const struct shadow *w = window(e, req);
	uint32_t size = req ? FALCON_REQ_WINDOW : FALCON_DATA_WINDOW;
	uint32_t base = req ? e->shared->tx_acked.req_base : e->shared->tx_acked.data_base;

	if (psn - base >= min(e->fcwnd, size))
		sim_fail(e->sim, e, "PSN %u sent with base %u and fcwnd %u", psn, base, e->fcwnd);
	if (request && e->ncwnd < size && outstanding(e, w, req, base) >= e->ncwnd)
		sim_fail(e->sim, e, "PSN %u sent with ncwnd %u used up", psn, e->ncwnd);
}

/* The transaction that a packet of |e| belongs to; NULL if there is none such. */
static struct txn *find_txn(struct endpoint *e, uint8_t type, uint32_t rsn, uint32_t *i)
{
	struct endpoint *owner = type == FALCON_PULL_DATA ? e->peer : e;

	*i = rsn - owner->first_rsn;
	if (*i >= owner->submitted || ulp_is_pull(owner, *i) != (type != FALCON_PUSH_DATA))
		return NULL;
	return txn_of(owner, *i);
}

static void check_first(struct endpoint *e, struct shadow *w, const struct falcon_hdr *h,
			uint8_t type)
{
	struct psn *p = &w->psn[w->next];
	bool req = w == &e->req;
	uint32_t i;
	struct txn *t = find_txn(e, type, h->rsn, &i);

	if (!t || w->next == w->size) {
		sim_fail(e->sim, e, "PSN %u sent of no transaction", h->psn);
		return;
	}
	check_gates(e, req, h->psn, type != FALCON_PULL_DATA);
	check_alternates(e, type == FALCON_PULL_DATA);
	*p = (struct psn){ .rsn = h->rsn, .type = type };
	if (type == FALCON_PULL_DATA) {
		if (t->state != TXN_ANSWERED)
			sim_fail(e->sim, e, "pull data %u sent without an answer", i);
	} else {
		/* UR rule, 9.1.3; what has no order keeps it all the same. */
		if (e->cfg->ordered && i != e->next_tx)
			sim_fail(e->sim, e, "request %u sent before %u", i, e->next_tx);
		e->next_tx = i + 1;
		t->psn = w->next;
	}
	w->next++;
}

static void check_again(struct endpoint *e, struct psn *p, const struct falcon_hdr *h, uint8_t type,
			bool retransmission)
{
	if (!retransmission || p->rsn != h->rsn || p->type != type)
		sim_fail(e->sim, e, "PSN %u used again for another packet", h->psn);
	if (p->resyncs && h->type != FALCON_RESYNC)
		sim_fail(e->sim, e, "PSN %u sent as itself after its Resync", h->psn);
	p->flags |= PSN_RETX;
}

/* 7.6: the code says why. */
static bool code_is_true(const struct endpoint *e, const struct psn *p, uint8_t code,
			 const struct txn *t)
{
	bool refused = p->type == FALCON_PUSH_DATA && t->state == TXN_ANSWERED;
	enum fcore_push_outcome o = refused ? ulp_outcome(e, p->rsn - e->first_rsn)
					    : FCORE_PUSH_ACK;

	switch (code) {
	case FALCON_RESYNC_TARGET_CIE: return o == FCORE_PUSH_CIE;
	case FALCON_RESYNC_TARGET_NRE: return o == FCORE_PUSH_NRE;
	case FALCON_RESYNC_TARGET_CID: return o == FCORE_PUSH_INVALID_CID;
	case FALCON_RESYNC_LOCAL_XLR: return p->type != FALCON_PULL_DATA && t->filtered;
	case FALCON_RESYNC_REMOTE_XLR: return p->type != FALCON_PULL_DATA && t->dropped;
	case FALCON_RESYNC_RETX_ERROR: return p->sends - p->resyncs > e->cfg->max_retx;
	case FALCON_RESYNC_TXN_TIMEOUT:
		return host_since(e->host, t->submitted) >= e->cfg->txn_timeout;
	default: return false;
	}
}

static void check_resync(struct endpoint *e, struct psn *p, const struct falcon_hdr *h,
			 struct txn *t)
{
	if (!p->resyncs && !code_is_true(e, p, h->resync_code, t))
		sim_fail(e->sim, e, "PSN %u: Resync with code %u", h->psn, h->resync_code);
	if (p->resyncs && p->resync_code != h->resync_code)
		sim_fail(e->sim, e, "PSN %u: another Resync code", h->psn);
	p->resync_code = h->resync_code;
	if (p->type == FALCON_PULL_DATA)
		t->voided = true;
	else
		t->resync = true;
}

static void check_tx_ack(struct endpoint *e, const struct fcore_packet *p)
{
	struct falcon_ack a;

	if (falcon_ack_unpack(p->hdr, p->hdr + p->hdr_len, &a) != FALCON_WIRE_OK) {
		sim_fail(e->sim, e, "sends a malformed ACK");
		return;
	}
	sim_trace(e->sim, "tx-ack", e, a.type, a.rdbpsn, a.rrbpsn);
	check_ack(e, &a, p->flow);
}

/* 10.6.2.1: an fcwnd of a flow below one packet means a gap between any two. */
static void check_pace(struct endpoint *e, uint32_t flow)
{
	const struct told *t = &e->told[flow];
	uint64_t gap = t->fcwnd >> FALCON_EV_fcwnd_fraction_WIDTH ? 0 : t->gap * FALCON_RUE_GAP_NS;
	uint64_t last = e->pace_last[flow];

	if (gap && last && host_since(e->host, last) < gap)
		sim_fail(e->sim, e, "flow %u sends after %u ns, the gap is %u", flow,
			 (uint32_t)host_since(e->host, last), (uint32_t)gap);
	e->pace_last[flow] = e->sim->now;
}

/* 9.1.3.1: where the flow's window is small, every packet asks for an ACK. */
static void check_ar(const struct endpoint *e, const struct falcon_hdr *h, uint32_t flow)
{
	uint32_t fcwnd = e->told[flow].fcwnd >> FALCON_EV_fcwnd_fraction_WIDTH;

	if (fcwnd <= e->cfg->ar_fcwnd && !h->ar)
		sim_fail(e->sim, e, "PSN %u without AR at fcwnd %u of flow %u", h->psn, fcwnd, flow);
}

void check_tx(struct endpoint *e, const struct fcore_packet *p)
{
	const struct falcon_base_hdr *b = (const void *)p->hdr;
	struct falcon_hdr h;
	struct shadow *w;
	struct psn *psn;
	struct txn *t;
	uint8_t type;
	uint32_t i;

	if (!e->sim->cfg->checks)
		return;
	if (falcon_type_is_ack(falcon_wire_type(b->func_type))) {
		check_tx_ack(e, p);
		return;
	}
	/* Push Data announces a length that is not in the header's buffer. */
	falcon_base_unpack(b, &h);
	if (h.type == FALCON_RESYNC)
		falcon_resync_unpack((const void *)p->hdr, &h);
	if (p->probe) {
		check_probe(e, &h, p->payload_len);
		return;
	}
	type = h.type == FALCON_RESYNC ? h.resync_type : h.type;
	w = window(e, type == FALCON_PULL_REQUEST);
	sim_trace(e->sim, p->retransmission ? "retx" : "tx", e, h.type, h.psn, h.rsn);
	if (h.psn - w->first == w->next && !p->retransmission)
		check_first(e, w, &h, type);
	psn = check_psn(e, w == &e->req, h.psn);
	t = find_txn(e, type, h.rsn, &i);
	if (!psn || !t || h.cid != e->peer->cid) {
		sim_fail(e->sim, e, "PSN %u out of turn, next is %u", h.psn, w->first + w->next);
		return;
	}
	if (psn->sends) {
		check_again(e, psn, &h, type, p->retransmission);
		check_retx(e, w == &e->req, h.psn, psn->last);
		e->sent_again = psn;
	}
	psn->last = e->sim->now;
	check_pace(e, p->flow);
	if (h.type == FALCON_RESYNC)
		check_resync(e, psn, &h, t);
	psn->sends++;
	check_piggybacked(e);
	if (h.type == FALCON_RESYNC)
		psn->resyncs++;
	else if (h.type == FALCON_PUSH_DATA && t->completed)
		sim_fail(e->sim, e, "push %u sent after its completion", i);
	check_ar(e, &h, p->flow);
	check_stated(e, false, h.rdbpsn);
	check_stated(e, true, h.rrbpsn);
}

void check_tx_xdp(struct endpoint *e, const struct fcore_packet *p)
{
	e->turn.any = false;
	check_tx(e, p);
	e->turn.any = false;
}

void check_claimed(struct endpoint *e, const struct falcon_hdr *h)
{
	struct psn *p = check_psn(e->peer, falcon_in_req_window(h->type, h->resync_type), h->psn);

	if (!e->sim->cfg->checks)
		return;
	if (!p)
		sim_fail(e->sim, e, "PSN %u accepted, which was never sent", h->psn);
	else if (p->flags & PSN_DONE)
		sim_fail(e->sim, e, "PSN %u accepted again", h->psn);
	else {
		p->flags |= PSN_ARRIVED;
		p->claims++;
	}
}

static bool is_request(const struct falcon_hdr *h)
{
	return h->type == FALCON_PUSH_DATA || h->type == FALCON_PULL_REQUEST;
}

void check_arriving(struct endpoint *e, const struct fcore_rx *rx)
{
	struct psn *p = check_psn(e->peer, falcon_in_req_window(rx->hdr.type, rx->hdr.resync_type),
				  rx->hdr.psn);

	if (!p || !e->sim->cfg->checks)
		return;
	e->claims = p->claims;
	e->answered = 0;
	p->came = (uint8_t)(rx->flow | (rx->hdr.ar ? PSN_CAME_AR : 0));
	e->judged.fresh = is_request(&rx->hdr) && !(p->flags & (PSN_TAKEN | PSN_DONE)) &&
			  txn_of(e->peer, p->rsn - e->peer->first_rsn)->state == TXN_NONE;
}

/* By the time the core has seen it, all but Push Data is acknowledged, unless it was refused. */
void check_delivered(struct endpoint *e, const struct fcore_rx *rx)
{
	const struct falcon_hdr *h = &rx->hdr;
	bool req = falcon_in_req_window(h->type, h->resync_type);
	struct psn *p = check_psn(e->peer, req, h->psn);
	const struct falcon_conn *s = e->shared;
	uint32_t base = req ? s->rx_acked.req_base : s->rx_acked.data_base;
	bool claimed = req ? falcon_ring_test(s->rx.req_rx, FALCON_REQ_WORDS, h->psn)
			   : falcon_ring_test(s->rx.data_rx, FALCON_DATA_WORDS, h->psn);
	bool told = e->answered >> rx->flow & 1;

	if (!p || !e->sim->cfg->checks)
		return;
	p->flags |= PSN_DELIVERED;
	/* Refused it was released, and XDP may have claimed another copy meanwhile. */
	if ((!claimed && falcon_seq_diff(h->psn, base) >= 0) || p->claims != e->claims)
		return;
	if (e->judged.fresh && filter_matches(e, FCORE_XLR_TARGET, req))
		sim_fail(e->sim, e, "PSN %u taken in spite of a filter", h->psn);
	if (h->type == FALCON_PUSH_DATA) {
		if (!(p->flags & (PSN_TAKEN | PSN_DONE)) && !told)
			check_owe(e, rx->flow, 0, false);
		p->flags |= PSN_TAKEN;
		return;
	}
	if (!(p->flags & PSN_DONE) && !told)
		check_owe(e, rx->flow, 1, h->ar);
	p->flags |= PSN_DONE;
}

/* |psn| of the peer's is acknowledged. Of what a Resync has voided meanwhile the peer has been told. */
static void acknowledged(struct endpoint *e, struct psn *psn)
{
	if (!(psn->flags & PSN_DONE))
		check_owe(e, psn->came & FALCON_FLOW_MASK, 1, psn->came & PSN_CAME_AR);
	psn->flags |= PSN_DONE;
}

void check_executed(struct endpoint *e, uint32_t i, uint32_t flow, bool ar)
{
	struct endpoint *p = e->peer;
	struct psn *psn;

	if (!e->sim->cfg->checks)
		return;
	psn = &window(p, ulp_is_pull(p, i))->psn[txn_of(p, i)->psn];
	psn->came = (uint8_t)(flow | (ar ? PSN_CAME_AR : 0));
	acknowledged(e, psn);
}

void check_placed(struct endpoint *e, const struct falcon_hdr *h, uint32_t flow)
{
	struct psn *psn = check_psn(e->peer, false, h->psn);

	if (!psn || !e->sim->cfg->checks)
		return;
	psn->came = (uint8_t)(flow | (h->ar ? PSN_CAME_AR : 0));
	acknowledged(e, psn);
}

void check_accepted(struct endpoint *e, uint32_t i)
{
	struct endpoint *p = e->peer;

	if (e->sim->cfg->checks)
		acknowledged(e, &p->data.psn[txn_of(p, i)->psn]);
}
