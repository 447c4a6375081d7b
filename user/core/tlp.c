/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tail loss probes (paper 4.1; RFC 8985, 7): when a connection with packets on the wire has been
 * quiet for about two round trips, the lowest of them that has not arrived goes out once more. Its
 * ACK tells RACK what became of the others, or that all is well and only late.
 *
 * One probe a silence: after it, nothing but progress allows the next, and the retransmission timeout
 * takes over. Packets that would time out while the peer is silent and has not been asked are not
 * sent again: they wait for the answer to the probe. A host that is merely slow, since it shares its
 * CPU with its peer, thus costs one packet instead of a window.
 */
#include "core/parts.h"

/* The Probe Timeout (RFC 8985, 7.2), ns: ACKs may be late by what coalescing takes. */
static uint64_t probe_timeout(const struct fcore_conn *c)
{
	uint64_t srtt = 0;

	if (c->tlp)
		return c->tlp;
	if (c->params.tlp_ns)
		return c->params.tlp_ns;
	for (uint32_t i = 0; i < c->nflows; i++)
		srtt = c->flow[i].srtt > srtt ? c->flow[i].srtt : srtt;
	return srtt ? 2 * srtt + c->params.ack_timeout_ns : c->flow[0].rto;
}

/* PSNs from the bases on that have been sent. */
static uint32_t flight(const struct fcore_conn *c)
{
	return c->data.next - c->data.base + c->req.next - c->req.base;
}

void fc_tlp_sent(struct fcore_conn *c, uint64_t now)
{
	c->active = now;
	c->probed = false;
	/* An armed timer may stay, unless it is from before the first RTT samples. */
	if (c->rack && (!fc_timer_armed(&c->timer[FC_TIMER_TLP]) || flight(c) == 1))
		fc_arm(c, FC_TIMER_TLP, now + probe_timeout(c));
}

void fc_tlp_progress(struct fcore_conn *c, uint64_t now)
{
	c->active = now;
	c->probed = false;
	if (c->rack && flight(c))
		fc_arm(c, FC_TIMER_TLP, now + probe_timeout(c));
}

/* The first of |w| that may be sent again: one that has not arrived, else any; w->next if none. */
static uint32_t lowest(struct fc_win *w, uint64_t now)
{
	uint32_t any = w->next;

	for (uint32_t psn = w->base; psn != w->next; psn++) {
		uint32_t g = psn >> FALCON_GROUP_SHIFT, bit = 1U << (psn & 31);

		if (*fc_bits(w, w->done, g) & bit || fc_ctx(w, psn)->hold > now)
			continue;
		if (fc_missing(w, g) & bit)
			return psn;
		if (any == w->next)
			any = psn;
	}
	return any;
}

/*
 * Queue the probe. Whatever is queued already is as good as one: all of it asks for an ACK. False if
 * the peer wants everything kept back (RNR).
 */
static bool probe(struct fcore_conn *c, uint64_t now)
{
	uint32_t data = lowest(&c->data, now), req = lowest(&c->req, now);
	bool have_data = data != c->data.next, have_req = req != c->req.next;
	bool older = have_req && have_data &&
		     fc_ctx(&c->req, req)->last_tx < fc_ctx(&c->data, data)->last_tx;

	if (!have_data && !have_req)
		return false;
	c->probed = true;
	c->probe_at = now;
	if (c->data.npending | c->req.npending)
		return true;
	if (older || !have_data)
		fc_retx_mark(c, &c->req, req, FC_RETX_PROBE);
	else
		fc_retx_mark(c, &c->data, data, FC_RETX_PROBE);
	return true;
}

void fc_tlp_timeout(struct fcore_conn *c, uint64_t now)
{
	uint64_t due = c->active + probe_timeout(c);

	if (c->dead || c->probed || !flight(c))
		return;
	if (now < due)
		fc_arm(c, FC_TIMER_TLP, due);
	else
		probe(c, now);
}

bool fc_tlp_first(struct fcore_conn *c, const struct fc_ctx *ctx, uint64_t now)
{
	if (!c->rack || c->probed || c->last_ack > ctx->last_tx)
		return false;
	return probe(c, now);
}
