// SPDX-License-Identifier: BSD-2-Clause
/*
 * The receive path up to the agent, step by step as in bpf/falcon.bpf.c and with the same shared
 * functions: decide, which includes every change of state, then drop, hand over, or answer.
 */
#include "check.h"

/* A packet's way through the receive path. */
struct work {
	struct host *h;
	struct frame *f;
	struct endpoint *e;
	struct falcon_frame frame;
	struct falcon_hdr hdr;
	uint64_t now;		/* of reception, by the host's clock */
	bool agent;		/* in the agent, which has the frame already */
};

static bool take_credit(struct work *w)
{
	struct host *h = w->h;

	if (w->agent)
		return true;
	if (!h->credits || (!h->sim->healed && rng_chance(&h->rng, h->cfg->no_credit)))
		return false;
	h->credits--;
	return true;
}

static void return_credit(struct work *w)
{
	w->h->credits += !w->agent;
}

static void mark_dirty(struct work *w)
{
	struct endpoint *e = w->e;
	struct host *h = w->h;

	if (w->agent) {
		fcore_acked(e->core, host_now(h));
		return;
	}
	if (!e->dirty) {
		e->dirty = true;
		h->dirty[h->ndirty++] = e;
	}
	host_kick(h, h->sim->now + h->cfg->latency);
}

static enum falcon_verdict take_ack(struct work *w, const uint8_t *falcon)
{
	struct endpoint *e = w->e;
	struct falcon_ack a;
	int err = falcon_ack_unpack(falcon, falcon + w->frame.falcon_len, &a);
	enum falcon_verdict v;
	bool deliver, stale;

	if (err)
		return falcon_wire_verdict(err);
	deliver = a.type == FALCON_NACK && a.nack_code != FALCON_NACK_RESOURCE;
	if (deliver && !take_credit(w))
		return FALCON_V_drop_no_credit;
	stale = falcon_seq_diff(a.rdbpsn, e->shared->tx_acked.data_base) < 0 ||
		falcon_seq_diff(a.rrbpsn, e->shared->tx_acked.req_base) < 0;
	v = falcon_rx_ack(e->shared, w->frame.flow, &a, w->now);
	if (v != FALCON_V_ack_stale && v != FALCON_V_ack_invalid)
		engine_ack(e, w->frame.flow, &a, w->f->iv, w->now);
	if (stale != (v == FALCON_V_ack_stale))
		sim_fail(e->sim, e, "an ACK's age was misjudged (verdict %d)", v);
	if (deliver && v != FALCON_V_rx_nack)
		return_credit(w);
	if (v == FALCON_V_ack_invalid)
		sim_fail(e->sim, e, "the peer acknowledged what was never sent");
	if (v == FALCON_V_ack_stale || v == FALCON_V_ack_invalid)
		return v;
	falcon_rx_remote_time(&e->shared->rx, w->frame.iv);
	check_heard(e, falcon_ack_flow(e->shared, w->frame.flow), &a,
		    w->now - host_clock(w->h, w->f->echoed));
	mark_dirty(w);
	return v;
}

/* As if a packet beyond the window had come, which this transmitter never sends. */
static void pretend_own(struct work *w)
{
	struct host *h = w->h;
	__u32 own;

	if (h->sim->healed || !rng_chance(&h->rng, h->cfg->own))
		return;
	own = (__u32)rng_range(&h->rng, FALCON_OWN_REQ, FALCON_OWN_REQ | FALCON_OWN_DATA);
	falcon_fetch_or(&w->e->shared->rx.own, own);
	w->e->own |= own;
}

/* The packet has passed every check: note its times and the acknowledgment that it carries. */
static void note(struct work *w)
{
	struct endpoint *e = w->e;
	struct measured *m = &e->flow[w->frame.flow];

	falcon_rx_measure(e->shared, &w->frame, w->now);
	m->t1 = falcon_time_of_iv(w->f->iv);
	m->t2 = falcon_time_of_ns(w->now);
	m->sent = w->f->sent;
	m->ecn += w->f->marked;
	m->any = true;
	if (falcon_piggyback(e->shared, w->hdr.rdbpsn, w->hdr.rrbpsn))
		mark_dirty(w);
}

/* Room for pushed data that waits for the host's memory; the first that is missing always has. */
static bool has_room(const struct work *w)
{
	const struct host *h = w->h;

	return !h->cfg->rx_buffer || h->lent + w->f->len <= h->cfg->rx_buffer ||
	       w->hdr.type != FALCON_PUSH_DATA || w->hdr.psn == w->e->shared->rx_acked.data_base;
}

/* 10.2: the receive buffer's occupancy as ACKs tell it, in 32 steps. */
static void tell_level(const struct work *w)
{
	struct host *h = w->h;
	uint64_t level;

	if (!h->cfg->rx_buffer)
		return;
	h->level += h->lent - h->level / 16;
	level = h->level / 16 * 32 / h->cfg->rx_buffer;
	fcore_rx_waiting(h->core, level < 31 ? (uint32_t)level : 31);
}

static enum falcon_verdict take_reliable(struct work *w, const uint8_t *falcon)
{
	int err = falcon_hdr_unpack(falcon, falcon + w->frame.falcon_len, &w->hdr);
	bool credit;
	enum falcon_verdict v;

	if (err)
		return falcon_wire_verdict(err);
	if (!falcon_rx_function_ok(w->e->shared, &w->hdr))
		return FALCON_V_drop_function;
	credit = has_room(w) && take_credit(w);
	note(w);
	tell_level(w);
	/* What was acknowledged may have had the upper layer close the connection. */
	if (!w->e->core)
		return FALCON_V_drop_not_alive;
	pretend_own(w);
	if (!falcon_rx_admits(w->e->shared, &w->h->config, &w->hdr))
		v = falcon_rx_refuse(w->e->shared, &w->hdr, FALCON_V_zone_nacked);
	else if (!credit)
		v = falcon_rx_refuse(w->e->shared, &w->hdr, FALCON_V_resource_nacked);
	else
		v = falcon_rx_window(w->e->shared, &w->hdr);
	if (falcon_verdict_claims(v))
		check_claimed(w->e, &w->hdr);
	if (credit && !falcon_verdict_delivers(v))
		return_credit(w);
	return v;
}

/* Of a frame whose payload is not there, it is known. */
static bool checksum_ok(const struct work *w)
{
	if (w->f->stored < w->f->len)
		return !w->f->corrupt;
	return frame_checksum_ok(w->f->data, &w->frame);
}

static enum falcon_verdict decide(struct work *w)
{
	const uint8_t *data = w->f->data, *falcon;
	const struct falcon_frame *f = &w->frame;
	enum falcon_verdict v = falcon_parse_frame(data, data + w->f->len, &w->frame);
	uint32_t alen;

	if (v != FALCON_V_rx_data)
		return v;
	w->e = f->cid < w->h->ncids ? w->h->by_cid[f->cid] : NULL;
	if (!w->e || !w->e->core)
		return FALCON_V_drop_cid;
	if (!w->h->cfg->offload && !w->agent)
		return take_credit(w) ? FALCON_V_steered : FALCON_V_drop_no_credit;
	alen = f->ipv6 ? 16 : 4;
	v = falcon_rx_check(w->e->shared, &w->h->config, f, data + f->udp_off - 2 * alen,
			    data + f->udp_off - alen);
	if (v != FALCON_V_rx_data)
		return v;
	if (!checksum_ok(w))
		return FALCON_V_drop_csum;
	falcon = data + f->falcon_off;
	return falcon_type_is_ack(f->type) ? take_ack(w, falcon) : take_reliable(w, falcon);
}

/* What the metadata before a redirected frame says. */
static void note_verdict(struct work *w, enum falcon_verdict v)
{
	struct frame *f = w->f;

	f->verdict = (uint8_t)v;
	f->verdict_ep = w->e;
	f->falcon_off = w->frame.falcon_off;
	f->falcon_len = w->frame.falcon_len;
	f->flow = w->frame.flow;
	f->path = w->frame.path;
}

/* Into the agent's ring, unless the redirect loses it after all. */
static void hand_over(struct work *w, enum falcon_verdict v)
{
	struct host *h = w->h;
	struct frame *f = w->f;

	if (!h->sim->healed && rng_chance(&h->rng, h->cfg->swallow)) {
		sim_trace(h->sim, "swallowed", w->e, f->src, v, 0);
		h->dropped = true;
		h->credits++;
		pool_put(&h->sim->frames, f);
	} else {
		f->next = NULL;
		f->rx_ns = host_now(h);
		note_verdict(w, v);
		*h->ring_end = f;
		h->ring_end = &f->next;
	}
	host_kick(h, h->sim->now + h->cfg->latency);
}

/*
 * As XDP_TX, or the agent in its place: the ACK that is owed, or the NACK of this packet. Lost if
 * the NIC is full.
 */
static void answer(struct work *w, enum falcon_verdict v)
{
	struct endpoint *e = w->e;
	struct fcore_packet p = { .flow = w->frame.flow, .path = w->frame.path };
	struct falcon_ack a;

	falcon_rx_answer(e->shared, &w->h->config, v, w->frame.flow, &w->hdr, &a);
	check_ack(e, &a, w->frame.flow);
	sim_trace(e->sim, "xdp-tx", e, a.type, a.rdbpsn, a.rrbpsn);
	p.hdr_len = falcon_ack_pack(&a, p.hdr);
	if (nic_full(w->h))
		w->h->tx_refused++;
	else
		nic_send(w->h, nic_frame(e, &p, &e->xdp_tpl));
}

void xdp_receive(struct host *h, struct frame *f, bool agent)
{
	struct work w = { .h = h, .f = f, .agent = agent, .now = agent ? f->rx_ns : host_now(h) };
	enum falcon_verdict v = decide(&w);

	h->counters[v]++;
	sim_trace(h->sim, "rx", w.e, v, f->src, f->len);
	if (f->corrupt && v != FALCON_V_steered &&
	    (falcon_verdict_delivers(v) || falcon_verdict_answers(v) ||
	     v == FALCON_V_ack_consumed || v == FALCON_V_nack_consumed))
		sim_fail(h->sim, w.e, "a spoiled packet was accepted (verdict %d)", v);
	if (falcon_verdict_delivers(v) && agent) {
		note_verdict(&w, v);
		host_accept(h, f);
		return;
	}
	if (falcon_verdict_delivers(v)) {
		hand_over(&w, v);
		return;
	}
	if (falcon_verdict_answers(v))
		answer(&w, v);
	pool_put(&h->sim->frames, f);
}
