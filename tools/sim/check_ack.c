// SPDX-License-Identifier: BSD-2-Clause
/* Acknowledgments: whether they state what is true (9.1.6, 9.1.7), and what is heard of them (9.2.3). */
#include "check.h"

/* |psn| of the peer's, |p|, may be acknowledged: it is, or the core is just receiving it, and has done so. */
static bool is_done(const struct endpoint *e, bool req, uint32_t psn, const struct psn *p)
{
	const struct falcon_hdr *h = e->arriving;

	if (p->flags & PSN_DONE)
		return true;
	return h && h->psn == psn && h->type != FALCON_PUSH_DATA &&
	       falcon_in_req_window(h->type, h->resync_type) == req;
}

void check_stated(struct endpoint *e, bool req, uint32_t base)
{
	/* The receiver is |e|, the window that of the peer's transmissions. */
	struct shadow *w = req ? &e->peer->req : &e->peer->data;
	uint32_t n = base - w->first;

	if (n > w->next || n < w->stated) {
		sim_fail(e->sim, e, "states base %u of %u sent, after %u", n, w->next, w->stated);
		return;
	}
	w->stated = n;
	for (; w->floor < n; w->floor++)
		if (!is_done(e, req, w->first + w->floor, &w->psn[w->floor]))
			sim_fail(e->sim, e, "states %s PSN %u acknowledged, which it is not",
				 req ? "request" : "data", w->first + w->floor);
}

/* Every bit set from |base| on must have |flag|. */
static void check_bits(struct endpoint *e, bool req, uint32_t base, const uint32_t *bits,
		       uint32_t words, uint8_t flag)
{
	for (uint32_t w = 0; w < words; w++) {
		for (uint32_t b = bits[w]; b; b &= b - 1) {
			uint32_t psn = base + w * 32 + (uint32_t)__builtin_ctz(b);
			const struct psn *p = check_psn(e->peer, req, psn);

			if (!p || !(p->flags & flag || (flag == PSN_DONE && is_done(e, req, psn, p))))
				sim_fail(e->sim, e, "states %s PSN %u %s, which it is not",
					 req ? "request" : "data", psn,
					 flag == PSN_DONE ? "acknowledged" : "received");
		}
	}
}

/* The upper layer was not ready for |t|, and the connection's patience is over: the peer may be told. */
static bool is_rnred(const struct endpoint *e, const struct txn *t)
{
	return t->rnr && host_since(e->host, t->rnr_at) >= e->cfg->rnr_patience;
}

/* 8.5.3.4: what comes after an RNRed request is RNRed, too. What a Resync voided does not count. */
static bool follows_rnr(const struct endpoint *e, uint32_t i)
{
	for (uint32_t n = e->cursor; e->cfg->ordered && n < i; n++) {
		const struct txn *t = txn_of(e->peer, n);

		if (t->state == TXN_RNR && (ulp_is_pull(e->peer, n) || is_rnred(e, t)))
			return true;
		if (!t->resync)
			return false;
	}
	return false;
}

/* The target has no place for a request with |rsn|: its slot is in use, or beyond the ring. */
static bool lacks_slot(const struct endpoint *e, const struct falcon_hdr *h)
{
	int32_t ahead = falcon_seq_diff(h->rsn, e->shared->rx_acked.next_rsn);

	if (e->cfg->ordered && ahead >= FCORE_MAX_TXNS)
		return true;
	return h->type != FALCON_RESYNC && check_slot_taken(e, h->rsn);
}

/* 8.2.4, 8.5.3: a request is refused for want of resources only if one is wanting. */
static void check_refusal(struct endpoint *e, const struct falcon_ack *a, const struct psn *p)
{
	const struct judged *j = &e->judged;
	bool is_true = true;

	if (!j->hdr || j->hdr->psn != a->nack_psn || p->flags & PSN_DONE ||
	    falcon_in_req_window(j->hdr->type, j->hdr->resync_type) != a->nack_req_window) {
		sim_fail(e->sim, e, "refuses PSN %u, which has not just come", a->nack_psn);
		return;
	}
	/* What the accounts were when the agent died is not known any more. */
	if (!e->core)
		return;
	if (j->verdict == FALCON_V_zone_nacked)
		is_true = pool_zone_refuses(e, j->hdr);
	/* Without a credit XDP may refuse anything; it is known here which it had. */
	else if (j->verdict != FALCON_V_resource_nacked)
		is_true = lacks_slot(e, j->hdr) || pool_refuses(e, j->hdr, j->len);
	if (!is_true)
		sim_fail(e->sim, e, "refuses PSN %u, for which there is room (verdict %d)", a->nack_psn,
			 j->verdict);
}

/* 11: a filter of the target's matches what has just come, and has not been here. */
static void check_drop(struct endpoint *e, const struct falcon_ack *a, struct txn *t)
{
	const struct judged *j = &e->judged;

	if (!j->hdr || j->hdr->psn != a->nack_psn || !j->fresh ||
	    !filter_matches(e, FCORE_XLR_TARGET, a->nack_req_window))
		sim_fail(e->sim, e, "drops PSN %u, which no filter matches", a->nack_psn);
	t->dropped = true;
}

static void check_nack(struct endpoint *e, const struct falcon_ack *a)
{
	const struct psn *p = check_psn(e->peer, a->nack_req_window, a->nack_psn);
	struct txn *t = p ? txn_of(e->peer, p->rsn - e->peer->first_rsn) : NULL;
	uint32_t i = p ? p->rsn - e->peer->first_rsn : 0;
	enum fcore_push_outcome o;

	if (!falcon_nack_code_valid(a->nack_code) || !p) {
		sim_fail(e->sim, e, "NACK %u of PSN %u, never sent", a->nack_code, a->nack_psn);
		return;
	}
	if (a->nack_code == FALCON_NACK_RESOURCE) {
		check_refusal(e, a, p);
		return;
	}
	if (a->nack_code == FALCON_NACK_XLR_DROP) {
		check_drop(e, a, t);
		return;
	}
	o = a->nack_code == FALCON_NACK_CIE   ? FCORE_PUSH_CIE
	    : a->nack_code == FALCON_NACK_NRE ? FCORE_PUSH_NRE
					      : FCORE_PUSH_INVALID_CID;
	if (p->type != FALCON_PUSH_DATA ||
	    (a->nack_code == FALCON_NACK_RNR ?
		     !is_rnred(e, t) && !follows_rnr(e, i) :
		     t->state != TXN_ANSWERED || ulp_outcome(e->peer, i) != o ||
			     a->ulp_code != (uint8_t)i))
		sim_fail(e->sim, e, "NACK %u of PSN %u, but its upper layer has not said so",
			 a->nack_code, a->nack_psn);
}

void check_nacked(struct endpoint *e, const struct falcon_ack *a)
{
	struct psn *p = check_psn(e, a->nack_req_window, a->nack_psn);

	if (!p || !e->sim->cfg->checks || a->nack_code != FALCON_NACK_RNR)
		return;
	p->hold = host_now(e->host) + falcon_rnr_timeout_ns(a->rnr);
	p->early = 0;
	/* What follows on an ordered connection waits with it. */
	for (uint32_t n = e->shared->tx_acked.data_base - e->data.first; n < e->data.next; n++)
		e->data.psn[n].early *= !e->cfg->ordered;
}

void check_ack(struct endpoint *e, const struct falcon_ack *a, uint32_t flow)
{
	const struct measured *m = &e->flow[flow];

	if (!e->sim->cfg->checks)
		return;
	if (a->cid != e->peer->cid)
		sim_fail(e->sim, e, "ACK to connection %u", a->cid);
	check_stated(e, false, a->rdbpsn);
	check_stated(e, true, a->rrbpsn);
	if (m->any && (a->t1 != m->t1 || a->t2 != m->t2))
		sim_fail(e->sim, e, "ACK echoes T1 %u T2 %u, not %u and %u", a->t1, a->t2, m->t1,
			 m->t2);
	if (m->any && (a->hops != m->hops || a->rue_info != e->rue_info ||
		       a->buffer_level != e->host->config.shard[0].rx_level))
		sim_fail(e->sim, e, "ACK tells of %u hops, RUE Info %u, level %u; not %u, %u, %u", a->hops,
			 a->rue_info, a->buffer_level, m->hops, e->rue_info,
			 e->host->config.shard[0].rx_level);
	if (a->ecn != (m->ecn & 0x3fff))
		sim_fail(e->sim, e, "ACK tells of %u ECN marks, not %u", a->ecn, m->ecn & 0x3fff);
	if (a->type == FALCON_NACK) {
		check_nack(e, a);
		return;
	}
	/* OWN is told once, and not forgotten; a BACK has no room for it (9.1.6). */
	if (a->own != e->own || (a->type == FALCON_BACK && e->own))
		sim_fail(e->sim, e, "ACK tells OWN %u, not %u", a->own, e->own);
	e->own = 0;
	check_acked(e, flow);
	/* That tells what XDP has left to the core, too. */
	e->unanswered &= (uint16_t)~(1U << flow);
	check_bits(e, false, a->rdbpsn, a->data_ack, 4, PSN_DONE);
	check_bits(e, false, a->rdbpsn, a->data_rx, 4, PSN_ARRIVED);
	check_bits(e, true, a->rrbpsn, a->req, 2, PSN_DONE);
}

/* Times in packets have 32 bits: what they differ by is right, whenever it was and whoever's clock wraps. */
void check_heard(struct endpoint *e, uint32_t flow, const struct falcon_ack *a, uint64_t took)
{
	/* What came on none of ours is for the first. */
	uint32_t ours = flow < e->cfg->flows ? flow : 0;
	uint32_t t4 = (uint32_t)e->shared->tx_acked.t1_t4[ours];
	uint64_t units = took * FALCON_PS_PER_NS >> FALCON_TIME_SHIFT;

	if (a->t1 != e->heard_t1[ours] || took > e->heard[ours])
		e->heard[ours] = took;
	e->heard_t1[ours] = a->t1;
	e->sim->totals.wraps += a->t1 && t4 < a->t1;
	/* |took| has no ps, and a probe's T1 begins with a unit. */
	if (e->sim->cfg->checks && a->t1 && t4 - a->t1 - (uint32_t)units + 1 > 2)
		sim_fail(e->sim, e, "T1 %u and T4 %u of an ACK that took %u units", a->t1, t4,
			 (uint32_t)units);
}
