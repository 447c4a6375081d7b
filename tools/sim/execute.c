// SPDX-License-Identifier: BSD-2-Clause
/*
 * What XDP finishes in place of the agent: pushes are carried out as WRITEs are, pulls answered as READs are,
 * and the data that answer them placed.
 */
#include "check.h"

#include "falcon/receive/sink.h"

/* The peer's |i|-th transaction is one that XDP can carry out, and that the upper layer would take. */
static bool suits(const struct endpoint *e, uint32_t i, bool pull)
{
	if (i >= e->peer->submitted || ulp_is_pull(e->peer, i) != pull || e->close_soon)
		return false;
	return pull ? !ulp_is_overlong(e->peer, i) : ulp_outcome(e->peer, i) == FCORE_PUSH_ACK;
}

static bool by_chance(struct endpoint *e)
{
	return rng_chance(&e->host->rng, SIM_PPM - SIM_PPM / 16);
}

/* The request, which is claimed, is in the upper layer's memory: exactly once, in order, as it was sent. */
static void take(struct endpoint *e, uint32_t i, const struct falcon_hdr *h)
{
	check_claimed(e, h);
	check_request(e, i, h->type == FALCON_PULL_REQUEST);
	txn_of(e->peer, i)->state = TXN_ANSWERED;
	e->accepted++;
	sim_trace(e->sim, "execute", e, i, 0, 0);
}

static void check_pushed(struct endpoint *e, uint32_t i, const struct frame *f, const struct falcon_frame *fr)
{
	uint32_t hdr = falcon_hdr_len(FALCON_PUSH_DATA) + SIM_ULP_HDR, len = ulp_length(e->peer, i);

	if (fr->falcon_len != hdr + len || !ulp_bytes_good(e->peer, i, f->data + fr->falcon_off + hdr, len))
		sim_fail(e->sim, e, "push %u carried out spoiled", i);
}

static enum falcon_verdict push(struct endpoint *e, const struct frame *f, const struct falcon_frame *fr,
				const struct falcon_hdr *h, uint64_t now, struct executed *x)
{
	const struct falcon_write write = { .len = 1, .first = true, .last = true };
	struct falcon_conn *c = e->shared;
	uint32_t i = h->rsn - e->peer->first_rsn;

	if (falcon_rx_window(c, h) != FALCON_V_rx_data)
		return FALCON_V_rx_data;
	take(e, i, h);
	check_pushed(e, i, f, fr);
	falcon_exec_wrote(c, &write, h->psn);
	check_executed(e, i, fr->flow, h->ar);
	x->ack_due = falcon_exec_owe(c, fr->flow, h->ar, now);
	x->wake = !x->ack_due && falcon_exec_watch(c, fr->flow);
	return FALCON_V_xdp_placed;
}

/*
 * The response |h| to pull |i| leaves, on the flow and the path of its request; or is lost, if the NIC is
 * full.
 */
static void respond(struct endpoint *e, uint32_t i, const struct falcon_hdr *h, const struct falcon_frame *fr)
{
	struct fcore_packet p = {
		.type = FALCON_PULL_DATA, .flow = fr->flow, .path = fr->path,
		.payload_len = ulp_response_len(e->peer, i),
	};
	void *bytes = ulp_make_bytes(e->peer, i, p.payload_len);

	p.payload = bytes;
	p.hdr_len = falcon_hdr_pack(h, p.hdr);
	check_tx_xdp(e, &p);
	if (nic_full(e->host))
		e->host->tx_refused++;
	else
		nic_transmit(e, &p, &e->xdp_tpl);
	ulp_put_bytes(e, bytes);
}

static enum falcon_verdict pull(struct endpoint *e, const struct falcon_frame *fr, const struct falcon_hdr *h,
				uint64_t now, struct executed *x)
{
	const struct falcon_pull request = { .opcode = FALCON_RDMA_READ_REQUEST, .length = 1 };
	struct falcon_conn *c = e->shared;
	uint32_t i = h->rsn - e->peer->first_rsn;
	struct falcon_hdr out;

	/* Drivers may have no room behind the frame. */
	if (!c->exec.responses || !falcon_exec_window_open(c, fr->flow) ||
	    rng_chance(&e->host->rng, e->host->cfg->no_room) || falcon_rx_window(c, h) != FALCON_V_rx_request)
		return FALCON_V_rx_data;
	take(e, i, h);
	falcon_rx_acknowledge(c, true, h->psn);
	check_executed(e, i, fr->flow, false);
	falcon_response_hdr(c, h->rsn, &out);
	falcon_exec_tell(c, fr->flow, now, &out);
	falcon_exec_answered(c, &e->host->responses[c->exec.responses - 1], &request, h->rsn, 0, now);
	respond(e, i, &out, fr);
	x->wake = falcon_exec_watch_sent(c);
	x->wake |= falcon_exec_leave_ack(c, fr->flow, h->ar);
	return FALCON_V_xdp_read;
}

static void check_bytes(struct endpoint *e, uint32_t i, const struct frame *f, const struct falcon_frame *fr)
{
	uint32_t hdr = falcon_hdr_len(FALCON_PULL_DATA), len = ulp_response_len(e, i);
	const struct txn *t = txn_of(e, i);

	if (t->state != TXN_ANSWERED || t->placed || t->data || t->completed)
		sim_fail(e->sim, e, "data of pull %u placed out of the question", i);
	if (fr->falcon_len != hdr + len || !ulp_bytes_good(e, i, f->data + fr->falcon_off + hdr, len))
		sim_fail(e->sim, e, "data of pull %u placed spoiled", i);
}

/* Whose sink the core has opened. */
static enum falcon_verdict place(struct endpoint *e, const struct frame *f, const struct falcon_frame *fr,
				 const struct falcon_hdr *h, uint64_t now, struct executed *x)
{
	uint32_t entry = falcon_load(&e->shared->cc.sinks), i = h->rsn - e->first_rsn;
	struct falcon_conn *c = e->shared;
	struct falcon_sink *sink;
	bool placed;

	if (!entry || !by_chance(e))
		return FALCON_V_rx_data;
	sink = falcon_sink_at(&e->host->sinks[entry - 1], h->rsn);
	if (!falcon_sink_take(sink, h->rsn))
		return FALCON_V_rx_data;
	placed = falcon_rx_window(c, h) == FALCON_V_rx_data;
	if (placed) {
		check_claimed(e, h);
		check_bytes(e, i, f, fr);
		txn_of(e, i)->placed = true;
		falcon_rx_acknowledge(c, false, h->psn);
		check_placed(e, h, fr->flow);
		sim_trace(e->sim, "place", e, i, 0, 0);
		x->ack_due = falcon_exec_owe(c, fr->flow, h->ar, now);
		if (!x->ack_due)
			falcon_exec_watch(c, fr->flow);
		x->wake = true;
	}
	falcon_sink_leave(sink, h->rsn, placed);
	return placed ? FALCON_V_xdp_placed : FALCON_V_rx_data;
}

enum falcon_verdict execute(struct endpoint *e, const struct frame *f, const struct falcon_frame *fr,
			    const struct falcon_hdr *h, uint64_t now, struct executed *x)
{
	struct falcon_exec *exec = &e->shared->exec;
	bool is_pull = h->type == FALCON_PULL_REQUEST;
	enum falcon_verdict v;

	if (h->type == FALCON_PULL_DATA)
		return place(e, f, fr, h, now, x);
	if (!is_pull && h->type != FALCON_PUSH_DATA)
		return FALCON_V_rx_data;
	if (!suits(e, h->rsn - e->peer->first_rsn, is_pull) || !by_chance(e))
		return FALCON_V_rx_data;
	if (!falcon_exec_take(exec, h->rsn))
		return FALCON_V_rx_data;
	v = is_pull ? pull(e, fr, h, now, x) : push(e, f, fr, h, now, x);
	falcon_exec_free(exec, h->rsn, h->rsn + (v != FALCON_V_rx_data));
	return v;
}
