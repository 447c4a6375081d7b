/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pull Data that XDP sends in our place (falcon/pull.h). While it may, it numbers the packets of the data
 * window, and notes what it has sent. What is acknowledged in time we never hear of; when something has to
 * be sent again, or we have something to send ourselves, what is on the wire becomes ours: adopted.
 */
#include "core/parts.h"
#include "falcon/receive/pull.h"

/* An entry of falcon_responses for |c|, which keeps it. False: all are taken. */
static bool take_entry(struct fcore_conn *c)
{
	if (!c->responses)
		c->responses = fc_entry_take(c->core->responses_taken, c->core->responses_count);
	return c->responses;
}

void fc_exec_unlend(struct fcore_conn *c)
{
	if (!c->responses)
		return;
	fc_entry_give(c->core->responses_taken, c->responses);
	c->responses = 0;
	c->exec_sent = false;
}

/* Nothing of ours waits for a number of the data window. */
static bool is_idle(const struct fcore_conn *c)
{
	return c->init_send == c->init_next && c->resp_head == c->resp_end;
}

/* Neither data nor requests of ours are on the wire, nor a probe. */
static bool is_quiet(const struct fcore_conn *c)
{
	return c->data.base == c->data.next && c->req.base == c->req.next &&
	       !falcon_load(&c->shared->cc.probe_t1);
}

void fc_exec_lend(struct fcore_conn *c, struct falcon_exec *e)
{
	bool pulls = e->access & (FALCON_REGION_READ | FALCON_REGION_ATOMIC) && is_idle(c) && take_entry(c);

	e->pulls = 0;
	e->ar_fcwnd = c->params.ar_fcwnd;
	e->ar_percent = c->flow->ar_percent ? c->flow->ar_percent : (__u8)c->params.ar_percent;
	e->responses = pulls ? c->core->first_response + c->responses : 0;
	e->quiet = pulls && is_quiet(c);
	c->exec_pulls = pulls;
	if (!pulls)
		return;
	c->exec_sent = false;
	/*
	 * Of what XDP has sent before, and we have not adopted, the timer runs, or we are still to be told.
	 */
	if (falcon_load(c->data.shared_next) == c->data.next)
		falcon_store(&c->shared->tx_acked.watched, 0U);
}

static const struct falcon_response *response_at(const struct fcore_conn *c, uint32_t psn)
{
	return &c->core->responses[c->responses - 1].at[psn & (FALCON_DATA_WINDOW - 1)];
}

/* |psn|, which is the next of the window, was sent by XDP and is not below the peer's base. */
static void adopt(struct fcore_conn *c, uint32_t psn)
{
	const struct falcon_response *sent = response_at(c, psn);
	struct fc_resp *resp = &c->resp[psn & (FALCON_DATA_WINDOW - 1)];
	struct fc_ctx *ctx = fc_ctx(&c->data, psn);
	struct fcore_response again = { 0 };

	*ctx = (struct fc_ctx){
		.last_tx = sent->sent_ns,
		.rsn = sent->rsn,
		.order = ++c->tx_order,
		.type = FALCON_PULL_DATA,
		.proto = FALCON_PROTO_RDMA,
		.flags = FC_CTX_XDP,
	};
	c->core->ops.exec_response(c->core->arg, c, sent, resp->hdr, &again);
	resp->payload = again.payload;
	resp->cookie = again.cookie;
	resp->len = again.len;
	resp->hdr_len = again.ulp_hdr_len;
	c->flow->outstanding++;
}

void fc_exec_adopt(struct fcore_conn *c, uint64_t now)
{
	struct fc_win *w = &c->data;
	uint32_t end = falcon_load(w->shared_next), from = w->next;
	bool moved;

	c->exec_sent = false;
	moved = fc_acked_base(c, w, now);
	if (c->dead)
		return;
	c->stats.tx_packets += end - from;
	c->flow->sent += end - from;
	/* All of ours is over if anything of XDP's is acknowledged. */
	if (falcon_seq_diff(falcon_load(w->shared_base), from) > 0) {
		w->next = from + fc_min(falcon_load(w->shared_base) - from, end - from);
		w->base = w->arrived_end = w->next;
		moved = true;
	}
	if (moved)
		fc_acked_progress(c, now);
	while (w->next != end)
		adopt(c, w->next++);
	if (w->base == w->next)
		return;
	fc_arm(c, FC_TIMER_RTO, now + fc_rto(c->flow));
	fc_tlp_sent(c, now);
	c->exec_adopted = true;
}

/* What has arrived of group |g| of the data window, as far as ACKs have told. */
static uint32_t arrived(const struct fcore_conn *c, uint32_t g)
{
	return fc_ring_bits(&c->data, c->data.rx_ring, g) | fc_ring_bits(&c->data, c->data.acked_ring, g);
}

bool fc_exec_missing(const struct fcore_conn *c)
{
	uint32_t base = falcon_load(c->data.shared_base), end = falcon_load(c->data.shared_next);
	uint32_t from = falcon_seq_diff(base, c->data.next) < 0 ? c->data.next : base;
	uint32_t g = from >> FALCON_GROUP_SHIFT, last = (end - 1) >> FALCON_GROUP_SHIFT;
	bool hole = false;

	for (; from != end && falcon_group_diff(g, last) <= 0; g++) {
		uint32_t mask = fc_group_mask(g, from, end), have = arrived(c, g) & mask;
		uint32_t missing = mask & ~have;

		/* Above the lowest that is missing, in this group or one before, something has. */
		if (hole ? have != 0 : missing && have > (missing & -missing))
			return true;
		hole |= missing != 0;
	}
	return false;
}

void fc_exec_watch(struct fcore_conn *c, uint64_t now)
{
	if (!c->exec_pulls)
		return;
	falcon_store(&c->shared->exec.quiet, (__u8)is_quiet(c));
	if (falcon_load(&c->shared->tx_acked.watched))
		fc_arm(c, FC_TIMER_RTO, now + fc_rto(c->flow));
}

/*
 * The oldest of what XDP has sent that is not acknowledged. If there is none, XDP, which believes that its
 * packets are watched over, may send one just now: it sees that nobody does any more, or we see the packet.
 */
static bool oldest_sent(struct fcore_conn *c, uint32_t *psn)
{
	struct falcon_tx_acked *tx = &c->shared->tx_acked;

	for (int i = 0; i < 2; i++) {
		uint32_t base = falcon_load(&tx->data_base), next = falcon_load(c->data.shared_next);

		*psn = falcon_seq_diff(base, c->data.next) < 0 ? c->data.next : base;
		if (*psn != next) {
			falcon_fetch_or(&tx->watched, 1U);
			return true;
		}
		falcon_fetch_and(&tx->watched, 0U);
	}
	return false;
}

uint64_t fc_exec_timeout(struct fcore_conn *c, uint64_t now)
{
	uint64_t due;
	uint32_t psn;

	if (c->exec_pulls) {
		if (!oldest_sent(c, &psn))
			return FCORE_NEVER;
		due = response_at(c, psn)->sent_ns + fc_rto(c->flow);
		if (due > now)
			return due;
		fc_exec_take(c);
	}
	if (c->exec_sent)
		fc_exec_adopt(c, now);
	return FCORE_NEVER;
}
