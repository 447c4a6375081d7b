/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ACK generation: coalescing by count and time, AR, piggybacking (Falcon 9.1.6), and the packets
 * themselves, BACK, EACK and NACK (9.1.7).
 *
 * An ACK that is due goes out when the scheduler serves the connection, so a batch of received
 * packets is answered once, with the state after all of them.
 */
#include "core/parts.h"

#include <errno.h>

/*
 * Is there something that |flow| does not know? The receive path's ACK that answers a duplicate may have told
 * it meanwhile.
 */
static bool owes(const struct fcore_conn *c, uint32_t flow)
{
	return c->ack_news >> flow & 1 || falcon_ack_untold(c->shared, flow);
}

/* When the ACK that |flow| is owed is due. What XDP has acknowledged counts from when it did. */
static uint64_t due_at(const struct fcore_conn *c, uint32_t flow)
{
	uint64_t due = c->ack_news >> flow & 1 ? c->ack[flow].deadline : FCORE_NEVER, since;

	if (!falcon_ack_untold(c->shared, flow))
		return due;
	since = falcon_load(&c->shared->rx.flow[flow].owed_since);
	return since + c->params.ack_timeout_ns < due ? since + c->params.ack_timeout_ns : due;
}

static void arm(struct fcore_conn *c, uint32_t flow)
{
	uint64_t due = due_at(c, flow);

	if (due != FCORE_NEVER)
		fc_arm(c, FC_TIMER_ACK, due);
}

void fc_ack_owe(struct fcore_conn *c, uint32_t flow, uint64_t now, bool acknowledged, bool ar)
{
	uint16_t bit = (uint16_t)(1U << flow);
	uint32_t untold = 0;

	if (acknowledged)
		untold = falcon_ack_owe(c->shared, flow, now);
	else if (!(c->ack_news & bit))
		c->ack[flow].deadline = now + c->params.ack_timeout_ns;
	if (!acknowledged)
		c->ack_news |= bit;
	c->ack_owed |= bit;
	if (ar)
		c->ack_ar |= bit;
	if (ar || untold >= c->params.ack_count)
		c->ack_due |= bit;
	if (c->ack_due)
		fc_sched_wake(c);
	if (!(c->ack_due & bit))
		arm(c, flow);
}

/*
 * Nothing is owed to |flow|. XDP, which believes that its ACKs are watched over, may have begun to owe one
 * just now: it sees that nobody does any more, or we see that it does.
 */
static void settled(struct fcore_conn *c, uint32_t flow)
{
	uint32_t *watched = &c->shared->rx.acks_watched, bit = 1U << flow;

	c->ack_owed &= (uint16_t)~bit;
	if (!(falcon_load(watched) & bit))
		return;
	falcon_fetch_and(watched, ~bit);
	if (!owes(c, flow))
		return;
	falcon_fetch_or(watched, bit);
	c->ack_owed |= (uint16_t)bit;
	arm(c, flow);
}

void fc_ack_watch(struct fcore_conn *c)
{
	uint32_t flows = falcon_load(&c->shared->rx.acks_watched);

	for (; flows; flows &= flows - 1) {
		uint32_t flow = (uint32_t)__builtin_ctz(flows);

		c->ack_owed |= (uint16_t)(1U << flow);
		if (owes(c, flow))
			arm(c, flow);
		else
			settled(c, flow);
	}
}

/* |flow| knows all of what was acknowledged up to |acked|; what came since it is still to hear. */
static void told(struct fcore_conn *c, uint32_t flow, uint32_t acked)
{
	uint16_t mask = (uint16_t)~(1U << flow);

	falcon_ack_told(c->shared, flow, acked);
	c->ack_news &= mask;
	c->ack_due &= mask;
	c->ack_ar &= mask;
	if (!falcon_ack_untold(c->shared, flow))
		settled(c, flow);
	else
		arm(c, flow);	/* XDP has acknowledged more meanwhile, and takes the timer for running */
}

/* Only empty bitmaps leave nothing to say beyond the bases; AR wants the timestamps of an ACK, too. */
uint32_t fc_ack_in_bases(const struct fcore_conn *c, uint32_t acked[FALCON_MAX_FLOWS])
{
	uint32_t mask = c->ack_owed & (uint32_t)~c->ack_ar;

	for (uint32_t m = mask; m; m &= m - 1) {
		uint32_t flow = (uint32_t)__builtin_ctz(m);

		acked[flow] = falcon_load(&c->shared->rx.flow[flow].acked);
	}
	return mask && fc_rx_ahead(c) == 0 && falcon_load(&c->shared->rx.own) == 0 ? mask : 0;
}

void fc_ack_piggybacked(struct fcore_conn *c, uint32_t mask, const uint32_t acked[FALCON_MAX_FLOWS])
{
	for (; mask; mask &= mask - 1) {
		uint32_t flow = (uint32_t)__builtin_ctz(mask);

		told(c, flow, acked[flow]);
	}
}

/* No ACK moves the timer: if it comes too early for what is owed now, it comes again. */
void fc_ack_timeout(struct fcore_conn *c, uint64_t now)
{
	uint64_t earliest = FCORE_NEVER;

	for (uint32_t m = c->ack_owed & (uint32_t)~c->ack_due; m; m &= m - 1) {
		uint32_t flow = (uint32_t)__builtin_ctz(m);
		uint64_t due = due_at(c, flow);

		if (!owes(c, flow))
			settled(c, flow);
		else if (due <= now)
			c->ack_due |= (uint16_t)(1U << flow);
		else if (due < earliest)
			earliest = due;
	}
	if (earliest != FCORE_NEVER)
		fc_arm(c, FC_TIMER_ACK, earliest);
	if (c->ack_due)
		fc_sched_wake(c);
}

static int transmit_ack(struct fcore_conn *c, uint32_t flow, const struct falcon_ack *a)
{
	struct fcore_packet p;

	p.hdr_len = falcon_ack_pack(a, p.hdr);
	p.ulp_hdr = p.payload = NULL;
	p.ulp_hdr_len = p.payload_len = p.room = 0;
	p.type = a->type;
	p.flow = (uint8_t)flow;
	/*
	 * The way the flow came, as XDP answers: a sender that leaves a dead path then brings ACKs onto
	 * another one as well.
	 */
	p.path = c->ack[flow].heard ? c->ack[flow].path : fc_flow_path(c, flow);
	p.retransmission = p.probe = false;
	return c->core->ops.transmit(c->core->arg, c, &p) ? -EAGAIN : 0;
}

/* OWN bits are taken out when an EACK is composed; what does not carry them puts them back. */
static void restore_own(struct fcore_conn *c, uint8_t own)
{
	if (own)
		falcon_fetch_or(&c->shared->rx.own, (__u32)own);
}

bool fc_ack_is_due(struct fcore_conn *c)
{
	for (uint32_t m = c->ack_due; m; m &= m - 1) {
		uint32_t flow = (uint32_t)__builtin_ctz(m);

		if (!owes(c, flow))
			told(c, flow, falcon_load(&c->shared->rx.flow[flow].told));
	}
	return c->ack_due;
}

enum fc_sent fc_ack_send(struct fcore_conn *c)
{
	uint32_t flow = (uint32_t)__builtin_ctz(c->ack_due), acked;
	struct falcon_ack a;

	acked = falcon_ack_compose(c->shared, flow, &a);
	a.buffer_level = (uint8_t)c->core->rx_level;
	if (transmit_ack(c, flow, &a)) {
		restore_own(c, a.own);
		return FC_STALLED;
	}
	c->stats.tx_acks++;
	told(c, flow, acked);
	return FC_SENT;
}

int fc_ack_send_nack(struct fcore_conn *c, uint32_t flow, const struct falcon_ack *nack)
{
	struct falcon_ack a;

	falcon_nack_compose(c->shared, flow, &a);
	a.buffer_level = (uint8_t)c->core->rx_level;
	a.nack_psn = nack->nack_psn;
	a.nack_code = nack->nack_code;
	a.nack_req_window = nack->nack_req_window;
	a.rnr = nack->rnr;
	a.ulp_code = nack->ulp_code;
	if (transmit_ack(c, flow, &a))
		return -EAGAIN;
	c->stats.tx_nacks++;
	return 0;
}
