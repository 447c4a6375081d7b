// SPDX-License-Identifier: BSD-2-Clause
/*
 * The receive path up to the agent: the sequence of falcon/receive.h with the host's credits and the
 * checks of what it decides; then drop, hand over, or answer.
 */
#include "check.h"

#include "falcon/receive/pull.h"
#include "falcon/receive/receive.h"

/* A packet's way through the receive path. */
struct work {
	struct falcon_receive rx;
	struct host *h;
	struct frame *f;
	struct endpoint *e;
	bool agent;		/* in the agent, which has the frame already */
	bool ack_due;		/* of a push carried out: the ACK goes out now */
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

/* The agent is to look at the connection when it next has its turn. */
static void wake(struct work *w)
{
	struct endpoint *e = w->e;
	struct host *h = w->h;

	if (!e->dirty) {
		e->dirty = true;
		h->dirty[h->ndirty++] = e;
	}
	host_kick(h, h->sim->now + h->cfg->latency);
}

static void mark_dirty(struct work *w)
{
	if (w->agent)
		fcore_acked(w->e->core, host_now(w->h));
	else
		wake(w);
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

/* Room for pushed data that waits for the host's memory; the first that is missing always has. */
static bool has_room(const struct work *w)
{
	const struct host *h = w->h;

	return !h->cfg->rx_buffer || h->lent + w->f->len <= h->cfg->rx_buffer ||
	       w->rx.hdr.type != FALCON_PUSH_DATA || w->rx.hdr.psn == w->e->shared->rx_acked.data_base;
}

/* 10.2: the receive buffer's occupancy as ACKs tell it, in 32 steps. */
static void tell_level(const struct work *w)
{
	struct host *h = w->h;
	uint64_t level;

	if (!h->cfg->rx_buffer || !h->core || h->racing)
		return;
	h->level += h->lent - h->level / 16;
	level = h->level / 16 * 32 / h->cfg->rx_buffer;
	fcore_rx_waiting(h->core, level < 31 ? (uint32_t)level : 31);
}

FALCON_INLINE const void *falcon_hook_frame(void *at, const struct falcon_receive *r)
{
	(void)r;
	return ((const struct work *)at)->f->data;
}

FALCON_INLINE const void *falcon_hook_end(void *at, const struct falcon_receive *r)
{
	return ((const struct work *)at)->f->data + r->frame.falcon_off + r->frame.falcon_len;
}

/* To the agent, which runs the receive path from here on. */
static enum falcon_verdict steer(struct work *w)
{
	return take_credit(w) ? FALCON_V_steered : FALCON_V_drop_no_credit;
}

/* Of a frame whose payload is not there, it is known. */
FALCON_INLINE enum falcon_verdict falcon_hook_whole(void *at, struct falcon_receive *r)
{
	struct work *w = at;
	const struct frame *f = w->f;
	bool whole;

	/* Only the agent can open it. */
	if (r->frame.encap != FALCON_PSP_CLEAR)
		return w->agent ? secure_open_packet(w->e, w->f->data, &r->frame) : steer(w);
	whole = f->stored < f->len ? !f->corrupt : frame_checksum_ok(f->data, &r->frame);
	return whole ? FALCON_V_rx_data : FALCON_V_drop_csum;
}

FALCON_INLINE enum falcon_verdict falcon_hook_deliverable(void *at, struct falcon_receive *r)
{
	(void)at;
	(void)r;
	return FALCON_V_rx_data;
}

FALCON_INLINE enum falcon_verdict falcon_hook_execute(void *at, struct falcon_receive *r)
{
	struct work *w = at;
	struct executed x = { 0 };
	enum falcon_verdict v;

	if (w->agent || !w->h->core)
		return FALCON_V_rx_data;
	v = execute(w->e, w->f, &r->frame, &r->hdr, r->now, &x);
	w->ack_due = x.ack_due;
	if (x.wake)
		wake(w);
	return v;
}

FALCON_INLINE enum falcon_verdict falcon_hook_reserve(void *at, struct falcon_receive *r)
{
	struct work *w = at;

	if (!falcon_type_is_ack(r->frame.type) && !has_room(w))
		return FALCON_V_drop_no_credit;
	return take_credit(w) ? FALCON_V_rx_data : FALCON_V_drop_no_credit;
}

FALCON_INLINE void falcon_hook_unreserve(void *at, struct falcon_receive *r)
{
	struct work *w = at;

	(void)r;
	w->h->credits += !w->agent;
}

FALCON_INLINE void falcon_hook_noted(void *at, struct falcon_receive *r, bool moved)
{
	struct work *w = at;
	struct measured *m = &w->e->flow[r->frame.flow];

	m->t1 = falcon_time_of_iv(w->f->iv);
	m->t2 = falcon_time_of_ns(r->now);
	m->sent = w->f->sent;
	m->hops = w->f->hops;
	m->ecn += w->f->marked;
	m->any = true;
	if (moved && !falcon_exec_quiet(r->conn))
		mark_dirty(w);
	tell_level(w);
}

FALCON_INLINE void falcon_hook_acked(void *at, struct falcon_receive *r, const struct falcon_ack *a,
				     enum falcon_verdict v)
{
	struct work *w = at;
	struct endpoint *e = w->e;

	(void)v;
	engine_ack(e, r->frame.flow, a, w->f->iv, r->now);
	check_heard(e, r->frame.flow, a, r->now - host_clock(w->h, w->f->echoed));
	if (a->type != FALCON_BACK || !falcon_exec_quiet(r->conn))
		mark_dirty(w);
}

/* Is the ACK older than what is known? For a packet that is one. */
static bool stale(const struct work *w)
{
	const struct falcon_tx_acked *tx = &w->e->shared->tx_acked;
	const uint8_t *falcon = w->f->data + w->rx.frame.falcon_off;
	struct falcon_ack a;

	return falcon_ack_unpack(falcon, falcon + w->rx.frame.falcon_len, &a) == FALCON_WIRE_OK &&
	       (falcon_seq_diff(a.rdbpsn, tx->data_base) < 0 ||
		falcon_seq_diff(a.rrbpsn, tx->req_base) < 0);
}

static bool applied(enum falcon_verdict v)
{
	return v == FALCON_V_ack_consumed || v == FALCON_V_nack_consumed || v == FALCON_V_rx_nack;
}

/* The receive sequence, and what its result must be. */
static enum falcon_verdict receive(struct work *w)
{
	bool sealed = w->rx.frame.encap != FALCON_PSP_CLEAR, is_ack, old;
	enum falcon_verdict v = FALCON_V_rx_data;
	struct endpoint *e = w->e;

	/* What is sealed shows what it is when it has been opened. */
	if (sealed)
		v = falcon_receive_check(w, &w->rx);
	if (v != FALCON_V_rx_data)
		return v;
	is_ack = falcon_type_is_ack(w->rx.frame.type);
	old = is_ack && stale(w);
	if (!is_ack)
		pretend_own(w);
	v = sealed ? falcon_receive_checked(w, &w->rx) : falcon_receive(w, &w->rx);
	if (v == FALCON_V_ack_invalid)
		sim_fail(e->sim, e, "the peer acknowledged what was never sent");
	if (old ? applied(v) : v == FALCON_V_ack_stale)
		sim_fail(e->sim, e, "an ACK's age was misjudged (verdict %d)", v);
	if (falcon_verdict_claims(v))
		check_claimed(e, &w->rx.hdr);
	return v;
}

/* Whose the packet is: by its CID, or ESP's by what its SPI is known for. */
static struct endpoint *find(struct work *w)
{
	struct falcon_frame *f = &w->rx.frame;
	struct endpoint *e;

	if (!falcon_encap_is_esp(f->encap))
		return f->cid < w->h->ncids ? w->h->by_cid[f->cid] : NULL;
	e = w->agent ? w->f->verdict_ep : secure_find(w->h, f->spi);
	f->cid = e ? e->cid : 0;
	return e;
}

static enum falcon_verdict decide(struct work *w)
{
	const uint8_t *data = w->f->data;
	const struct falcon_frame *f = &w->rx.frame;
	enum falcon_verdict v = falcon_parse_frame(data, data + w->f->len, &w->rx.frame);

	if (v != FALCON_V_rx_data)
		return v;
	w->e = find(w);
	if (!w->e && falcon_encap_is_esp(f->encap))
		return FALCON_V_pass_spi;
	/* Without an agent XDP goes on. */
	if (!w->e || (!w->e->core && w->h->core))
		return FALCON_V_drop_cid;
	if (!w->h->cfg->offload && !w->agent)
		return steer(w);
	w->rx.config = &w->h->config;
	w->rx.conn = w->e->shared;
	return receive(w);
}

/* What the metadata before a redirected frame says. */
static void note_verdict(struct work *w, enum falcon_verdict v)
{
	struct frame *f = w->f;

	f->verdict = (uint8_t)v;
	f->verdict_ep = w->e;
	f->falcon_off = w->rx.frame.falcon_off;
	f->falcon_len = w->rx.frame.falcon_len;
	f->flow = w->rx.frame.flow;
	f->path = w->rx.frame.path;
}

/* Into the agent's ring, unless the redirect loses it after all. */
static void hand_over(struct work *w, enum falcon_verdict v)
{
	struct host *h = w->h;
	struct frame *f = w->f;

	if (!h->core) {
		pool_put(&h->sim->frames, f);
		return;
	}
	if (!h->sim->healed && rng_chance(&h->rng, h->cfg->swallow)) {
		sim_trace(h->sim, "swallowed", w->e, f->src, v, 0);
		h->dropped = true;
		h->credits++;
		pool_put(&h->sim->frames, f);
	} else {
		f->rx_ns = host_now(h);
		note_verdict(w, v);
		host_queue(h, f);
	}
	host_kick(h, h->sim->now + h->cfg->latency);
}

/* There is no way to send the answer: the agent may find its NIC full, XDP the frame too short. */
static bool is_stuck(const struct work *w)
{
	struct host *h = w->h;

	return w->agent ? nic_full(h) : !h->sim->healed && rng_chance(&h->rng, h->cfg->no_room);
}

/* The core is to say what |a| would have said. */
static void leave_answer(struct work *w, const struct falcon_ack *a)
{
	struct endpoint *e = w->e;

	if (a->own)
		falcon_fetch_or(&e->shared->rx.own, (__u32)a->own);
	falcon_rx_owe_answer(e->shared, w->rx.frame.flow);
	e->unanswered |= (uint16_t)(1U << w->rx.frame.flow);
	e->sim->totals.unanswered++;
	wake(w);
}

/*
 * As XDP_TX, or the agent in its place: the ACK that is owed, or the NACK of this packet. Lost if
 * XDP finds the NIC full.
 */
static void answer(struct work *w, enum falcon_verdict v)
{
	struct endpoint *e = w->e;
	struct fcore_packet p = { .flow = w->rx.frame.flow, .path = w->rx.frame.path };
	struct judged before = e->judged;
	struct falcon_ack a;
	__u32 acked;

	acked = falcon_rx_answer(e->shared, &w->h->config, v, w->rx.frame.flow, &w->rx.hdr, &a);
	if (is_stuck(w)) {
		leave_answer(w, &a);
		return;
	}
	e->judged = (struct judged){ &w->rx.hdr, 0, v, false };
	check_ack(e, &a, w->rx.frame.flow);
	e->judged = before;
	falcon_ack_told(e->shared, w->rx.frame.flow, acked);
	sim_trace(e->sim, "xdp-tx", e, a.type, a.rdbpsn, a.rrbpsn);
	p.hdr_len = falcon_ack_pack(&a, p.hdr);
	if (nic_full(w->h))
		w->h->tx_refused++;
	else
		nic_transmit(e, &p, &e->xdp_tpl);
}

void xdp_receive(struct host *h, struct frame *f, bool agent)
{
	struct work w = {
		.rx.now = agent ? f->rx_ns : host_now(h),
		.h = h,
		.f = f,
		.agent = agent,
	};
	enum falcon_verdict v = decide(&w);

	h->counters[v]++;
	sim_trace(h->sim, "rx", w.e, v, f->src, f->len);
	if (f->corrupt && v != FALCON_V_steered &&
	    (falcon_verdict_delivers(v) || falcon_verdict_answers(v) ||
	     v == FALCON_V_ack_consumed || v == FALCON_V_nack_consumed))
		sim_fail(h->sim, w.e, "a spoiled packet was accepted (verdict %d)", v);
	check_incarnation(w.e, f, v);
	check_opened(w.e, f, v);
	if (falcon_verdict_delivers(v) && agent) {
		note_verdict(&w, v);
		host_accept(h, f);
		return;
	}
	if (falcon_verdict_delivers(v)) {
		hand_over(&w, v);
		return;
	}
	/* What the packet acknowledged may have had the upper layer close the connection. */
	if (w.ack_due || (falcon_verdict_answers(v) && (w.e->core || !h->core)))
		answer(&w, v);
	pool_put(&h->sim->frames, f);
}
