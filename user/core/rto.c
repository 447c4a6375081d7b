/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Retransmission on timeout (Falcon 9.1.5, 11).
 *
 * The retransmit timer of every packet is kept as its time of transmission; one wheel timer a
 * connection stands at or before the earliest deadline and, when it fires, looks at the at most
 * 192 packets on the wire. That is equivalent to a timer a packet, and costs the packets nothing.
 */
#include "core/parts.h"

uint64_t fc_rto(const struct fc_flow *f)
{
	/* A timeout below the round trip would repeat everything: hosts that share CPUs get there. */
	uint64_t floor = f->srtt * FC_RTO_MIN_RTTS;

	return f->rto > floor ? f->rto : floor;
}

uint64_t fc_rto_deadline(const struct fcore_conn *c, const struct fc_ctx *ctx)
{
	uint32_t doublings = ctx->retx < FC_RTO_BACKOFF ? ctx->retx : FC_RTO_BACKOFF;
	const struct fc_flow *f = &c->flow[ctx->flow];
	uint64_t due = ctx->last_tx + (fc_rto(f) << doublings);

	/* A probe on its way has to be answered, or not, first. */
	if (c->probe_at > c->last_ack && due < c->probe_at + f->rto)
		due = c->probe_at + f->rto;
	return ctx->hold > due ? ctx->hold : due;
}

/*
 * The peer has this packet, and has shown itself alive since we sent it: its upper layer is just
 * not done. Sending it again asks for news, but is no attempt that failed.
 */
static bool is_held_by_peer(const struct fcore_conn *c, const struct fc_win *w,
			    const struct fc_ctx *ctx, uint32_t psn)
{
	return falcon_ring_test(w->rx_ring, w->words, psn) && c->last_ack >= ctx->last_tx;
}

void fc_fail(struct fcore_conn *c, const char *why)
{
	struct fcore *core = c->core;

	fcore_exec_withdraw(c);
	c->dead = true;
	fc_sched_remove(c);
	fc_res_reclaim_tx(c);
	if (core->ops.on_fatal)
		core->ops.on_fatal(core->arg, c, why);
}

void fcore_conn_be_patient(struct fcore_conn *c, uint64_t ns)
{
	c->patience = ns;
}

/* How often what is in |ctx| may time out, and not once more. A Resync need not be waited for as long. */
static uint32_t max_retx(const struct fcore_conn *c, const struct fc_ctx *ctx)
{
	uint64_t waited = 0, rto = fc_rto(&c->flow[ctx->flow]);
	uint32_t n;

	if (ctx->flags & FC_CTX_RESYNC)
		return c->params.max_retx;
	for (n = 0; n < FCORE_MAX_RETX && waited < c->patience; n++)
		waited += rto << fc_min(n, FC_RTO_BACKOFF);
	return n > c->params.max_retx ? n : c->params.max_retx;
}

/* The retransmit timer of |psn| has expired (9.1.5, 11). */
static void expire(struct fcore_conn *c, struct fc_win *w, uint32_t psn, uint64_t now)
{
	struct fc_ctx *ctx = fc_ctx(w, psn);
	bool held = is_held_by_peer(c, w, ctx, psn);
	uint32_t limit;

	if (fc_nack_refused_since(c, ctx->last_tx)) {
		ctx->retx += ctx->retx < FC_REFUSED_BACKOFF;
		fc_retx_mark(c, w, psn, FC_RETX_RTO);
		return;
	}
	if (!held)
		fc_flow_timed_out(c, &c->flow[ctx->flow], now);

	limit = max_retx(c, ctx);
	if (ctx->retx < limit)
		ctx->retx++;
	else if (held)
		ctx->retx = (uint8_t)limit;
	else if (ctx->flags & FC_CTX_RESYNC)
		fc_fail(c, "retransmit attempts exhausted");
	else {
		if (fc_is_request(ctx->type))
			fc_init_fail(c, ctx->rsn, kCmplLocalTO, 0);
		fc_retx_resync(c, w, psn, FALCON_RESYNC_RETX_ERROR);
		return;
	}
	if (!held && !c->dead)
		fc_path_suspect(c, psn, ctx, ctx->retx, now);
	/* What the peer has is not lost: the network is not to blame. */
	if (!c->dead)
		fc_retx_mark(c, w, psn, held ? FC_RETX_PROBE : FC_RETX_RTO);
}

/* Mark what is due in |w|; the earliest deadline of the rest, FCORE_NEVER if there is none. */
static uint64_t window_timeout(struct fcore_conn *c, struct fc_win *w, uint64_t now)
{
	uint64_t earliest = FCORE_NEVER;

	for (uint32_t psn = w->base; psn != w->next && !c->dead; psn++) {
		uint32_t g = psn >> FALCON_GROUP_SHIFT;
		uint32_t idle = *fc_bits(w, w->done, g) | *fc_bits(w, w->pending, g);
		uint64_t due;

		if (idle & 1U << (psn & 31))
			continue;
		due = fc_rto_deadline(c, fc_ctx(w, psn));
		if (due <= now && fc_tlp_first(c, fc_ctx(w, psn), now))
			due = fc_rto_deadline(c, fc_ctx(w, psn));
		if (due <= now)
			expire(c, w, psn, now);
		else if (due < earliest)
			earliest = due;
	}
	return earliest;
}

void fc_rto_timeout(struct fcore_conn *c, uint64_t now)
{
	uint64_t data, req, xdp;

	if (c->dead)
		return;
	xdp = fc_exec_timeout(c, now);
	if (c->dead)
		return;
	data = window_timeout(c, &c->data, now);
	req = window_timeout(c, &c->req, now);
	if (c->dead)
		return;
	if (req < data)
		data = req;
	if (xdp < data)
		data = xdp;
	if (data != FCORE_NEVER)
		fc_arm(c, FC_TIMER_RTO, data);
}
