// SPDX-License-Identifier: BSD-2-Clause
/* The target's upper layer: ready or not, at once or late, with data or an error. */
#include "check.h"

#include <string.h>

static void respond(struct endpoint *e, uint32_t i)
{
	uint32_t len = ulp_response_len(e->peer, i), n = i % (FCORE_MAX_RESP_HDR + 1);
	uint8_t *b = ulp_make_bytes(e->peer, i, len);
	struct fcore_response r = { .ulp_hdr = b, .cookie = (uintptr_t)b };

	/* The first bytes go as a header: the peer sees no difference. */
	r.ulp_hdr_len = n < len ? n : len;
	r.payload = b + r.ulp_hdr_len;
	r.len = len - r.ulp_hdr_len;
	e->responses++;
	fcore_pull_respond(e->core, e->peer->first_rsn + i, &r, host_now(e->host));
}

/* The final answer to the peer's transaction |i|. */
static void answer(struct endpoint *e, uint32_t i)
{
	struct endpoint *p = e->peer;
	enum fcore_push_outcome o;

	txn_of(p, i)->state = TXN_ANSWERED;
	e->accepted++;
	sim_trace(e->sim, "answer", e, i, 0, 0);
	if (ulp_is_pull(p, i)) {
		respond(e, i);
		return;
	}
	o = ulp_outcome(p, i);
	if (o == FCORE_PUSH_ACK)
		check_accepted(e, i);
	fcore_push_done(e->core, p->first_rsn + i, o, 0, (uint8_t)i, host_now(e->host));
}

static void not_ready(struct endpoint *e, uint32_t i)
{
	struct endpoint *p = e->peer;
	uint8_t code = (uint8_t)rng_range(&e->rng, 1, e->cfg->rnr_code);
	struct txn *t = txn_of(p, i);

	t->state = TXN_RNR;
	if (!t->rnr)
		t->rnr_at = e->sim->now;
	t->rnr = true;
	e->sim->totals.rnr++;
	if (e->cfg->ordered && i < e->cursor)
		e->cursor = i;
	sim_trace(e->sim, "rnr", e, i, code, 0);
	if (ulp_is_pull(p, i))
		fcore_pull_rnr(e->core, p->first_rsn + i, code, host_now(e->host));
	else
		fcore_push_done(e->core, p->first_rsn + i, FCORE_PUSH_RNR, code, 0, host_now(e->host));
}

static bool is_ready(struct endpoint *e)
{
	return e->sim->healed || !rng_chance(&e->rng, e->cfg->rnr);
}

/*
 * Answers of an ordered connection keep the order of delivery; and what was delivered after
 * something that is not ready is not ready either (8.5.3.4).
 */
static void answer_in_order(struct endpoint *e)
{
	while (e->core && e->owed_head != e->owed_tail) {
		uint32_t i = e->owed[e->owed_head % SIM_OWED];

		if (txn_of(e->peer, i)->answer_at > e->sim->now)
			return;
		e->owed_head++;
		if (is_ready(e)) {
			answer(e, i);
			continue;
		}
		not_ready(e, i);
		while (e->owed_head != e->owed_tail)
			not_ready(e, e->owed[e->owed_head++ % SIM_OWED]);
	}
}

void ulp_answer(struct endpoint *e, uint32_t i)
{
	const struct txn *t = txn_of(e->peer, i);

	if (!e->core)
		return;
	if (e->cfg->ordered)
		answer_in_order(e);
	else if (t->state != TXN_DELIVERED || t->answer_at > e->sim->now)
		return;
	else if (is_ready(e))
		answer(e, i);
	else
		not_ready(e, i);
}

/* The rate of the memory of |h| at |at|, and until when it stays so. */
static uint64_t mem_rate(const struct host *h, uint64_t at, uint64_t *until)
{
	const struct sim_host_cfg *c = h->cfg;
	uint64_t since = h->sim->start + c->slow_at;

	*until = UINT64_MAX;
	if (!c->slow_for || h->sim->healed)
		return c->mem_rate;
	if (at >= since && c->slow_every)
		since += (at - since) / c->slow_every * c->slow_every;
	if (at < since)
		*until = since;
	else if (at < since + c->slow_for)
		*until = since + c->slow_for;
	else if (c->slow_every)
		*until = since + c->slow_every;
	return at >= since && at < since + c->slow_for ? c->slow_rate : c->mem_rate;
}

/* When |len| pushed bytes will be in the memory of |h|: one after the other, at its rate. */
static uint64_t in_memory(struct host *h, uint32_t len)
{
	uint64_t now = h->sim->now, at = h->mem_busy > now ? h->mem_busy : now;
	uint64_t bits = (uint64_t)len * 8, until, rate, fit;

	for (;; bits -= fit) {
		rate = mem_rate(h, at, &until);
		if (!rate)
			break;
		fit = until - at < SIM_S ? rate / 1000 * (until - at) / SIM_MS : bits;
		if (fit >= bits) {
			at += bits * SIM_S / rate;
			break;
		}
		at = until;
	}
	h->mem_busy = at;
	return at;
}

/* The peer's transaction |i| has been delivered, and been found in order. */
static void deliver(struct endpoint *e, uint32_t i)
{
	struct txn *t = txn_of(e->peer, i);
	bool waits = e->cfg->ordered && e->owed_head != e->owed_tail;

	sim_trace(e->sim, "deliver", e, i, 0, 0);
	if (e->close_soon) {
		host_close_ep(e);
		return;
	}
	t->state = TXN_DELIVERED;
	t->answer_at = ulp_is_pull(e->peer, i) ? e->sim->now
					       : in_memory(e->host, ulp_length(e->peer, i));
	waits |= t->answer_at > e->sim->now;
	if (rng_chance(&e->rng, e->cfg->late))
		t->answer_at += 1 + rng_below(&e->rng, e->cfg->late_by);
	else if (!waits) {
		if (is_ready(e))
			answer(e, i);
		else
			not_ready(e, i);
		return;
	}
	if (e->cfg->ordered && e->owed_tail - e->owed_head == SIM_OWED) {
		sim_fail(e->sim, e, "%u deliveries unanswered", SIM_OWED);
		return;
	}
	if (e->cfg->ordered)
		e->owed[e->owed_tail++ % SIM_OWED] = i;
	sim_at(e->sim, t->answer_at, EV_ANSWER, e, i);
}

/* The ULP header tells which transaction it is; the RSN must say the same. */
static bool identify(struct endpoint *e, uint8_t proto, uint32_t rsn, const void *hdr, uint32_t len,
		     uint32_t *i)
{
	uint32_t h[2];

	*i = rsn - e->peer->first_rsn;
	if (len >= SIM_ULP_HDR)
		memcpy(h, hdr, SIM_ULP_HDR);
	if (proto == FALCON_PROTO_RAW && len >= SIM_ULP_HDR && h[0] == *i && h[1] == ~*i)
		return true;
	sim_fail(e->sim, e, "RSN %u delivered with another's header", rsn);
	return false;
}

void ulp_on_push(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn, const void *payload,
		 uint32_t len)
{
	struct endpoint *e = ep_of(c);
	uint32_t i;

	(void)arg;
	host_race(e->host, false);
	if (!identify(e, proto, rsn, payload, len, &i) || !check_request(e, i, false))
		return;
	if (len != SIM_ULP_HDR + ulp_length(e->peer, i) ||
	    !ulp_bytes_good(e->peer, i, (const uint8_t *)payload + SIM_ULP_HDR, len - SIM_ULP_HDR)) {
		sim_fail(e->sim, e, "push %u arrived spoiled, %u bytes", i, len);
		return;
	}
	deliver(e, i);
}

void ulp_on_pull(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn, const void *hdr,
		 uint32_t hdr_len, uint16_t request_len)
{
	struct endpoint *e = ep_of(c);
	uint32_t i;

	(void)arg;
	host_race(e->host, false);
	if (!identify(e, proto, rsn, hdr, hdr_len, &i) || !check_request(e, i, true))
		return;
	if (hdr_len != SIM_ULP_HDR || request_len != ulp_length(e->peer, i)) {
		sim_fail(e->sim, e, "pull %u arrived spoiled", i);
		return;
	}
	deliver(e, i);
}

void ulp_on_response_done(void *arg, struct fcore_conn *c, uint64_t cookie)
{
	struct endpoint *e = ep_of(c);

	(void)arg;
	if (!e->responses--)
		sim_fail(e->sim, e, "a response was given back twice");
	ulp_put_bytes(e, (void *)(uintptr_t)cookie);
}
