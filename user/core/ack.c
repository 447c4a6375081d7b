/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ACK generation: coalescing by count and time, AR, piggybacking (Falcon 9.1.6), and the packets
 * themselves, BACK, EACK and NACK (9.1.7).
 *
 * An ACK that is due goes out when the scheduler serves the connection, so a batch of received
 * packets is answered once, with the state after all of them.
 */
#include "core/conn.h"

#include <errno.h>

void fc_ack_owe(struct fcore_conn *c, uint64_t now, uint32_t count, bool ar)
{
	if (!c->ack_owed) {
		c->ack_owed = true;
		c->ack_deadline = now + c->params.ack_timeout_ns;
	}
	c->ack_count += count;
	if (ar)
		c->ack_due |= FC_ACK_AR;
	else if (c->ack_count >= c->params.ack_count)
		c->ack_due |= FC_ACK_COALESCED;
	if (c->ack_due)
		fc_sched_wake(c);
	else if (!fc_timer_armed(&c->timer[FC_TIMER_ACK]))
		fc_arm(c, FC_TIMER_ACK, c->ack_deadline);
}

static void settled(struct fcore_conn *c)
{
	c->ack_owed = false;
	c->ack_due = 0;
	c->ack_count = 0;
}

void fc_ack_piggybacked(struct fcore_conn *c)
{
	/* Only empty bitmaps leave nothing to say; AR wants the timestamps of an ACK, too. */
	if (c->ack_owed && !(c->ack_due & FC_ACK_AR) && c->rx_ahead == 0 &&
	    falcon_load(&c->shared->rx.own) == 0)
		settled(c);
}

/* No ACK moves the timer: if it comes too early for what is owed now, it comes again. */
void fc_ack_timeout(struct fcore_conn *c, uint64_t now)
{
	if (!c->ack_owed || c->ack_due)
		return;
	if (now < c->ack_deadline) {
		fc_arm(c, FC_TIMER_ACK, c->ack_deadline);
		return;
	}
	c->ack_due |= FC_ACK_COALESCED;
	fc_sched_wake(c);
}

static int transmit_ack(struct fcore_conn *c, const struct falcon_ack *a)
{
	struct fcore_packet p;

	p.hdr_len = falcon_ack_pack(a, p.hdr);
	p.ulp_hdr = p.payload = NULL;
	p.ulp_hdr_len = p.payload_len = 0;
	p.type = a->type;
	p.flow = 0;
	p.path = 0;
	p.retransmission = false;
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
	struct falcon_ack a;

	falcon_ack_compose(c->shared, 0, &a);
	if (transmit_ack(c, &a)) {
		restore_own(c, a.own);
		return FC_STALLED;
	}
	c->stats.tx_acks++;
	settled(c);
	return FC_SENT;
}

int fc_ack_send_nack(struct fcore_conn *c, const struct falcon_ack *nack)
{
	struct falcon_ack a;

	falcon_nack_compose(c->shared, 0, &a);
	a.nack_psn = nack->nack_psn;
	a.nack_code = nack->nack_code;
	a.nack_req_window = nack->nack_req_window;
	a.rnr = nack->rnr;
	a.ulp_code = nack->ulp_code;
	if (transmit_ack(c, &a))
		return -EAGAIN;
	c->stats.tx_nacks++;
	return 0;
}
