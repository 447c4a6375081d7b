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

void fc_ack_owe(struct fcore_conn *c, uint32_t flow, uint64_t now, uint32_t count, bool ar)
{
	struct fc_ack *a = &c->ack[flow];
	uint16_t bit = (uint16_t)(1U << flow);

	if (!(c->ack_owed & bit)) {
		c->ack_owed |= bit;
		a->count = 0;
		a->deadline = now + c->params.ack_timeout_ns;
	}
	a->count += count;
	if (ar)
		c->ack_ar |= bit;
	if (ar || a->count >= c->params.ack_count)
		c->ack_due |= bit;
	if (c->ack_due)
		fc_sched_wake(c);
	if (!(c->ack_due & bit))
		fc_arm(c, FC_TIMER_ACK, a->deadline);
}

/* The flows in |mask| know all there is to know. */
static void settled(struct fcore_conn *c, uint32_t mask)
{
	c->ack_owed &= (uint16_t)~mask;
	c->ack_due &= (uint16_t)~mask;
	c->ack_ar &= (uint16_t)~mask;
}

void fc_ack_piggybacked(struct fcore_conn *c)
{
	uint32_t mask = c->ack_owed & (uint32_t)~c->ack_ar;

	/* Only empty bitmaps leave nothing to say; AR wants the timestamps of an ACK, too. */
	if (mask && c->rx_ahead == 0 && falcon_load(&c->shared->rx.own) == 0)
		settled(c, mask);
}

/* No ACK moves the timer: if it comes too early for what is owed now, it comes again. */
void fc_ack_timeout(struct fcore_conn *c, uint64_t now)
{
	uint64_t earliest = FCORE_NEVER;

	for (uint32_t m = c->ack_owed & (uint32_t)~c->ack_due; m; m &= m - 1) {
		uint32_t flow = (uint32_t)__builtin_ctz(m);
		uint64_t due = c->ack[flow].deadline;

		if (due <= now)
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
	p.ulp_hdr_len = p.payload_len = 0;
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

enum fc_sent fc_ack_send(struct fcore_conn *c)
{
	uint32_t flow = (uint32_t)__builtin_ctz(c->ack_due);
	struct falcon_ack a;

	falcon_ack_compose(c->shared, flow, &a);
	a.buffer_level = (uint8_t)c->core->rx_level;
	if (transmit_ack(c, flow, &a)) {
		restore_own(c, a.own);
		return FC_STALLED;
	}
	c->stats.tx_acks++;
	settled(c, 1U << flow);
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
