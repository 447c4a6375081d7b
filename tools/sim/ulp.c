// SPDX-License-Identifier: BSD-2-Clause
/*
 * The upper layers. Everything about a transaction follows from the number it has at its initiator,
 * so that both ends, and the checks, know what is to come of it. The number is the distance of its
 * RSN from the first.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* Of transaction |i| of |e|; |what| names the property. */
static uint64_t property(const struct endpoint *e, uint32_t i, uint32_t what)
{
	return rng_mix(rng_mix((uint64_t)e->salt << 32 | i) + what);
}

static bool chance(const struct endpoint *e, uint32_t i, uint32_t what, uint64_t ppm)
{
	return property(e, i, what) % SIM_PPM < ppm;
}

bool ulp_is_pull(const struct endpoint *e, uint32_t i)
{
	return chance(e, i, 1, e->cfg->pull);
}

static uint32_t length(const struct endpoint *e, uint32_t i)
{
	const struct sim_conn_cfg *c = e->cfg;

	return (uint32_t)(c->size_min + property(e, i, 2) % (c->size_max - c->size_min + 1));
}

static bool is_overlong(const struct endpoint *e, uint32_t i)
{
	return chance(e, i, 3, e->cfg->overlong);
}

/* Mostly what was asked for, sometimes less, or nothing: the pull's way to fail (8.5.3.5). */
uint32_t ulp_response_len(const struct endpoint *e, uint32_t i)
{
	uint32_t len = length(e, i);

	if (is_overlong(e, i))
		return len + 1 + (uint32_t)(property(e, i, 4) % 8);
	switch (property(e, i, 4) % 16) {
	case 0: return 0;
	case 1: return len / 2;
	default: return len;
	}
}

enum fcore_push_outcome ulp_outcome(const struct endpoint *e, uint32_t i)
{
	const struct sim_conn_cfg *c = e->cfg;

	if (chance(e, i, 5, c->cie))
		return FCORE_PUSH_CIE;
	if (chance(e, i, 6, c->nre))
		return FCORE_PUSH_NRE;
	if (chance(e, i, 7, c->invalid_cid))
		return FCORE_PUSH_INVALID_CID;
	return FCORE_PUSH_ACK;
}

/* Bytes of transaction |i| of |e|, whichever way they go: 8 at a time. */
static uint64_t pattern(const struct endpoint *e, uint32_t i, uint32_t word)
{
	return (property(e, i, 8) + word) * 0x9e3779b97f4a7c15ULL;
}

/* In memory of exactly that size, so that a sanitizer sees every byte too many. */
static uint8_t *make_bytes(const struct endpoint *e, uint32_t i, uint32_t len)
{
	uint8_t *b = malloc(len ? len : 1);

	if (!b)
		abort();
	for (uint32_t n = 0; n < len; n += 8) {
		uint64_t w = pattern(e, i, n / 8);

		memcpy(b + n, &w, len - n < 8 ? len - n : 8);
	}
	return b;
}

static bool bytes_good(const struct endpoint *e, uint32_t i, const uint8_t *b, uint32_t len)
{
	for (uint32_t n = 0; n < len; n += 8) {
		uint64_t w = pattern(e, i, n / 8);

		if (memcmp(b + n, &w, len - n < 8 ? len - n : 8))
			return false;
	}
	return true;
}

/* 0, or what the core says. */
static int submit_one(struct endpoint *e)
{
	uint32_t i = e->submitted, hdr[2] = { i, ~i };
	bool pull = ulp_is_pull(e, i);
	struct fcore_txn t = {
		.proto = FALCON_PROTO_RAW,
		.ulp_hdr = hdr,
		.ulp_hdr_len = SIM_ULP_HDR,
		.len = length(e, i),
		.cookie = i,
	};
	int rc;

	if (!pull)
		t.payload = e->txn[i].payload = make_bytes(e, i, t.len);
	e->txn[i].submitted = e->sim->now;
	rc = pull ? fcore_pull(e->core, &t, e->sim->now) : fcore_push(e->core, &t, e->sim->now);
	if (rc) {
		free(e->txn[i].payload);
		e->txn[i].payload = NULL;
		return rc;
	}
	e->submitted++;
	sim_trace(e->sim, pull ? "pull" : "push", e, i, t.len, 0);
	host_kick(e->host, e->sim->now + e->host->cfg->latency);
	return 0;
}

static bool may_submit(const struct endpoint *e)
{
	uint64_t depth = e->cfg->depth;

	return e->core && !e->closing && !e->fatal && !e->blocked && e->submitted < e->ntxns &&
	       (!depth || e->submitted - e->completed < depth);
}

void ulp_submit(struct endpoint *e)
{
	e->submit_pending = false;
	while (may_submit(e)) {
		if (submit_one(e)) {
			e->blocked = true;
			return;
		}
		if (e->cfg->gap) {
			e->submit_pending = true;
			sim_at(e->sim, e->sim->now + 1 + rng_below(&e->rng, 2 * e->cfg->gap),
			       EV_SUBMIT, e, 0);
			return;
		}
	}
}

/* There is room for more: now, from within the core's call, or a little later. */
static void submit_more(struct endpoint *e)
{
	if (e->submit_pending || !may_submit(e))
		return;
	if (!e->cfg->gap && rng_below(&e->rng, 2)) {
		ulp_submit(e);
		return;
	}
	e->submit_pending = true;
	sim_at(e->sim, e->sim->now + rng_below(&e->rng, SIM_US), EV_SUBMIT, e, 0);
}

void ulp_on_xon(void *arg, struct fcore_conn *c)
{
	(void)arg;
	ep_of(c)->blocked = false;
	submit_more(ep_of(c));
}

static void respond(struct endpoint *e, uint32_t i)
{
	uint32_t len = ulp_response_len(e->peer, i);
	uint8_t *b = make_bytes(e->peer, i, len);

	e->responses++;
	fcore_pull_respond(e->core, e->peer->first_rsn + i, b, len, (uintptr_t)b, e->sim->now);
}

/* The final answer to the peer's transaction |i|. */
static void answer(struct endpoint *e, uint32_t i)
{
	struct endpoint *p = e->peer;
	enum fcore_push_outcome o;

	p->txn[i].state = TXN_ANSWERED;
	e->accepted++;
	sim_trace(e->sim, "answer", e, i, 0, 0);
	if (ulp_is_pull(p, i)) {
		respond(e, i);
		return;
	}
	o = ulp_outcome(p, i);
	if (o == FCORE_PUSH_ACK)
		check_accepted(e, i);
	fcore_push_done(e->core, p->first_rsn + i, o, 0, (uint8_t)i, e->sim->now);
}

static void not_ready(struct endpoint *e, uint32_t i)
{
	struct endpoint *p = e->peer;
	uint8_t code = (uint8_t)rng_range(&e->rng, 1, e->cfg->rnr_code);

	p->txn[i].state = TXN_RNR;
	p->txn[i].rnr = true;
	e->sim->totals.rnr++;
	if (e->cfg->ordered && i < e->cursor)
		e->cursor = i;
	sim_trace(e->sim, "rnr", e, i, code, 0);
	if (ulp_is_pull(p, i))
		fcore_pull_rnr(e->core, p->first_rsn + i, code, e->sim->now);
	else
		fcore_push_done(e->core, p->first_rsn + i, FCORE_PUSH_RNR, code, 0, e->sim->now);
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

		if (e->peer->txn[i].answer_at > e->sim->now)
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
	const struct txn *t = &e->peer->txn[i];

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

/* The peer's transaction |i| has been delivered, and been found in order. */
static void deliver(struct endpoint *e, uint32_t i)
{
	struct txn *t = &e->peer->txn[i];
	bool waits = e->cfg->ordered && e->owed_head != e->owed_tail;

	sim_trace(e->sim, "deliver", e, i, 0, 0);
	if (e->close_soon) {
		host_close_ep(e);
		return;
	}
	t->state = TXN_DELIVERED;
	t->answer_at = e->sim->now;
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
	if (!identify(e, proto, rsn, payload, len, &i) || !check_request(e, i, false))
		return;
	if (len != SIM_ULP_HDR + length(e->peer, i) ||
	    !bytes_good(e->peer, i, (const uint8_t *)payload + SIM_ULP_HDR, len - SIM_ULP_HDR)) {
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
	if (!identify(e, proto, rsn, hdr, hdr_len, &i) || !check_request(e, i, true))
		return;
	if (hdr_len != SIM_ULP_HDR || request_len != length(e->peer, i)) {
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
	free((void *)(uintptr_t)cookie);
}

void ulp_on_pull_data(void *arg, struct fcore_conn *c, uint64_t cookie, const void *payload,
		      uint32_t len)
{
	struct endpoint *e = ep_of(c);
	uint32_t i = (uint32_t)cookie;
	struct txn *t = &e->txn[i];

	(void)arg;
	if (cookie >= e->submitted || !ulp_is_pull(e, i) || t->data || t->completed ||
	    t->state != TXN_ANSWERED) {
		sim_fail(e->sim, e, "data of pull %u out of the question", i);
		return;
	}
	t->data = true;
	if (is_overlong(e, i) || len != ulp_response_len(e, i) || !bytes_good(e, i, payload, len))
		sim_fail(e->sim, e, "data of pull %u spoiled, %u bytes", i, len);
}

void ulp_on_completion(void *arg, struct fcore_conn *c, uint64_t cookie,
		       enum falcon_completion_code code, uint8_t ulp_code)
{
	struct endpoint *e = ep_of(c);
	uint32_t i = (uint32_t)cookie;
	struct txn *t = &e->txn[i];

	(void)arg;
	if (cookie >= e->submitted || !check_completion(e, i, code, ulp_code))
		return;
	sim_trace(e->sim, "complete", e, i, code, ulp_code);
	t->completed = true;
	free(t->payload);
	t->payload = NULL;
	e->completed++;
	e->done_at = e->sim->now;
	e->sim->totals.completions[code]++;
	e->latency_sum += e->sim->now - t->submitted;
	if (code == kCmplAck)
		e->bytes += ulp_is_pull(e, i) ? ulp_response_len(e, i) : length(e, i);
	else
		e->errors++;
	if (e->close_soon && !e->closing)
		host_close_ep(e);
	submit_more(e);
}
