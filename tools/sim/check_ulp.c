// SPDX-License-Identifier: BSD-2-Clause
/* What upper layers are promised: exactly once, in order, with the right result (8.4, 8.5, 11). */
#include "check.h"

enum {
	HOPELESS = 6,		/* timeouts of a packet that is too large for its path until it is given up */
};

bool check_request(struct endpoint *e, uint32_t i, bool pull)
{
	struct endpoint *p = e->peer;

	if (!e->sim->cfg->checks)
		return true;
	if (i >= p->submitted || ulp_is_pull(p, i) != pull) {
		sim_fail(e->sim, e, "transaction %u delivered, which the peer has not made", i);
		return false;
	}
	if (txn_of(p, i)->state != TXN_NONE && txn_of(p, i)->state != TXN_RNR) {
		sim_fail(e->sim, e, "transaction %u delivered twice", i);
		return false;
	}
	if (!e->cfg->ordered)
		return true;
	/* 8.5.2; what is missing has been voided by a Resync. */
	for (; e->cursor < i; e->cursor++) {
		if (!txn_of(p, e->cursor)->resync) {
			sim_fail(e->sim, e, "transaction %u delivered before %u", i, e->cursor);
			return false;
		}
	}
	if (e->cursor != i) {
		sim_fail(e->sim, e, "transaction %u delivered after %u", i, e->cursor - 1);
		return false;
	}
	e->cursor++;
	return true;
}

/* So many attempts that no schedule uses them up. */
static bool is_patient(const struct endpoint *e)
{
	return e->cfg->max_retx >= 60;
}

static bool timed_out(struct endpoint *e, uint32_t i)
{
	const struct txn *t = txn_of(e, i);
	const struct shadow *w = ulp_is_pull(e, i) ? &e->req : &e->data;
	const struct psn *p = &w->psn[t->psn];

	if (host_since(e->host, t->submitted) >= e->cfg->txn_timeout)
		return true;
	/* 11: the attempts are used up; an ACK may still come before the Resync leaves. */
	return !is_patient(e) && p->sends - p->resyncs > e->cfg->max_retx;
}

/* The target's upper layer has refused push |i| in this way. */
static bool refused(struct endpoint *e, uint32_t i, enum fcore_push_outcome how, uint8_t ulp_code)
{
	return !ulp_is_pull(e, i) && txn_of(e, i)->state == TXN_ANSWERED && ulp_outcome(e, i) == how &&
	       ulp_code == (uint8_t)i;
}

static bool is_justified(struct endpoint *e, uint32_t i, enum falcon_completion_code code,
			 uint8_t ulp_code)
{
	const struct txn *t = txn_of(e, i);
	bool pull = ulp_is_pull(e, i);

	switch (code) {
	case kCmplAck:
		if (pull)
			return t->data;
		return t->state == TXN_ANSWERED && ulp_outcome(e, i) == FCORE_PUSH_ACK;
	case kCmplTargetNackCIE: return refused(e, i, FCORE_PUSH_CIE, ulp_code);
	case kCmplTargetNackNRE: return refused(e, i, FCORE_PUSH_NRE, ulp_code);
	case kCmplTargetNackCID: return refused(e, i, FCORE_PUSH_INVALID_CID, ulp_code);
	case kCmplLocalTO: return timed_out(e, i);
	case kCmplOpErr: return pull && e->cfg->overlong && t->state == TXN_ANSWERED;
	case kCmplLocalXlr: return t->filtered;
	case kCmplRemoteErr: return t->dropped || (pull && t->voided && !is_patient(e));
	case kCmplDeadConn: return e->closing;
	default: return false;
	}
}

/* 11: a transaction ends in time, whatever happens; unless the agent stood still. */
static bool is_late(const struct endpoint *e, uint32_t i)
{
	uint64_t slack = 2 * SIM_MS + 2 * e->host->cfg->pause_for + e->cfg->txn_timeout / 16;

	return host_since(e->host, txn_of(e, i)->submitted) > e->cfg->txn_timeout + slack;
}

bool check_completion(struct endpoint *e, uint32_t i, enum falcon_completion_code code,
		      uint8_t ulp_code)
{
	const struct txn *t = txn_of(e, i);

	if (!e->sim->cfg->checks)
		return true;
	if (t->completed) {
		sim_fail(e->sim, e, "transaction %u completed twice", i);
		return false;
	}
	if (e->cfg->ordered && i != e->completed) {
		sim_fail(e->sim, e, "transaction %u completed before %u", i, e->completed);
		return false;
	}
	if (!is_justified(e, i, code, ulp_code))
		sim_fail(e->sim, e, "transaction %u completed with %s, ULP code %u", i,
			 falcon_completion_name((__u8)code), ulp_code);
	if (is_late(e, i) && code != kCmplDeadConn)
		sim_fail(e->sim, e, "transaction %u ends %llu us after its timeout", i,
			 (unsigned long long)(host_since(e->host, t->submitted) -
					      e->cfg->txn_timeout) / 1000);
	if (t->data && code != kCmplAck)
		sim_fail(e->sim, e, "pull %u has its data and completed with %s", i,
			 falcon_completion_name((__u8)code));
	return !e->sim->failed;
}

static bool exhausted(const struct endpoint *e, const struct shadow *w)
{
	for (uint32_t i = 0; i < w->next; i++)
		if (w->psn[i].resyncs > e->cfg->max_retx)
			return true;
	return false;
}

/* Bytes after the Falcon header of |p|, which is no Resync. */
static uint32_t length_of(struct endpoint *e, const struct psn *p)
{
	if (p->type == FALCON_PULL_DATA)
		return ulp_response_len(e->peer, p->rsn - e->peer->first_rsn);
	return SIM_ULP_HDR + ulp_length(e, p->rsn - e->first_rsn);
}

/* |e| knows that its data packet |psn| is acknowledged. */
static bool is_known(const struct endpoint *e, uint32_t psn)
{
	const struct falcon_tx_acked *tx = &e->shared->tx_acked;

	return falcon_seq_diff(psn, tx->data_base) < 0 ||
	       falcon_ring_test(tx->data_ack, FALCON_DATA_WORDS, psn);
}

/* Larger than what the path has been found to carry, and tried again and again. */
static bool too_large(struct endpoint *e)
{
	for (uint32_t i = 0; e->path.len && i < e->data.next; i++) {
		const struct psn *p = &e->data.psn[i];

		if (!is_known(e, e->data.first + i) && p->sends >= HOPELESS && length_of(e, p) > e->path.len)
			return true;
	}
	return false;
}

void check_fatal(struct endpoint *e, const char *why)
{
	bool spent = exhausted(e, &e->data) || exhausted(e, &e->req);

	if (e->sim->cfg->checks && (e->fatal || ((is_patient(e) || !spent) && !too_large(e))))
		sim_fail(e->sim, e, "fatal without reason: %s", why);
}

/* How long a full data and request window of |e| takes on a line of |rate|, ns. */
static uint64_t window_ns(const struct endpoint *e, uint64_t rate)
{
	const uint64_t packets = FALCON_DATA_WINDOW + FALCON_REQ_WINDOW;

	return rate ? packets * (e->sim->frame_len + 100) * 8 * SIM_S / rate : 0;
}

/* Nothing bad can befall a packet, and the timeout is longer than anything that delays its ACK. */
static bool is_clean(const struct endpoint *e)
{
	const struct sim_cfg *cfg = e->sim->cfg;
	uint64_t slack = e->cfg->late_by + e->cfg->ack_timeout;

	if (cfg->leaves)
		return false;

	for (uint64_t i = 0; i < cfg->hosts; i++) {
		const struct sim_link_cfg *l = &cfg->link[i];
		const struct sim_host_cfg *h = &cfg->host[i];

		if (l->queue || l->jitter || l->loss || l->reorder || l->duplicate || l->replay ||
		    l->corrupt || l->corrupt_ip || l->mtu || l->mtu_then || l->delay_then ||
		    l->blackout_for || l->burst || l->drop_mask ||
		    h->slow_for || h->mem_rate ||
		    h->pool || h->conn_pool || h->host_pool || h->function_pool ||
		    h->no_credit || h->swallow || h->own || h->xlr || h->pause_for ||
		    h->mtu_then || h->move_for || h->crash_for || h->race ||
		    h->queues > 1 ||
		    h->credits < 2048 || h->requests || h->budget < 64)
			return false;
		slack += l->delay + 4 * h->latency;
		slack += window_ns(e, l->rate) + window_ns(e, h->nic_rate);
	}
	return cfg->nconns == 1 && e->cfg->count == 1 && !e->cfg->cc && !e->cfg->rnr &&
	       !e->cfg->cie && !e->cfg->nre && !e->cfg->invalid_cid && !e->cfg->close_at &&
	       !e->cfg->rue_every &&
	       !e->cfg->key_left && e->host->cfg->key_settle >= slack &&
	       e->cfg->txn_timeout >= SIM_S && e->cfg->rto >= 2 * slack + SIM_MS;
}

void check_clean(struct endpoint *e)
{
	const struct fcore_stats *st = fcore_conn_stats(e->core);
	/*
	 * The answer to a probe may be that to the packet before: it makes all others suspect. And the bases
	 * that a packet carries tell of requests that came after a push, but not, as an EACK's bitmaps do, of
	 * the push, for which the upper layer is late.
	 */
	uint64_t rack = st->tx_probes || e->cfg->late ? 0 : st->tx_retx_rack;

	if (is_clean(e) &&
	    st->tx_retx_rto + st->tx_retx_early + st->tx_retx_own + rack + st->tx_resyncs)
		sim_fail(e->sim, e, "sent again on a clean path: %u on timeout, %u early, %u by RACK",
			 (unsigned int)st->tx_retx_rto, (unsigned int)st->tx_retx_early,
			 (unsigned int)rack);
}
