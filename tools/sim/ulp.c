// SPDX-License-Identifier: BSD-2-Clause
/*
 * The initiator's upper layer: messages arrive, in a closed loop as others end, or by the clock, and
 * are submitted transaction by transaction as the core takes them.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_LATENCIES = 1024,
};

void ulp_open(struct endpoint *e)
{
	const struct sim_conn_cfg *c = e->cfg;

	e->nmessages = (uint32_t)(e->index & 1 ? c->back : c->transactions);
	e->parts = c->message ? (uint32_t)((c->message + c->mtu - 1) / c->mtu) : 1;
	e->ntxns = e->nmessages * e->parts;
	e->messages = calloc(e->nmessages + 1, sizeof(*e->messages));
	if (!e->messages)
		abort();
}

void ulp_close(struct endpoint *e)
{
	free(e->messages);
}

/* What ends now counts in the results. */
static bool counts(const struct sim *s)
{
	uint64_t t = s->now - s->start;

	return t >= s->cfg->warmup && (!s->cfg->stop || t < s->cfg->stop);
}

static void count_bytes(struct endpoint *e, uint32_t n)
{
	e->bytes += n;
	if (!counts(e->sim))
		return;
	e->counted += n;
	e->group->bytes += n;
}

static void keep_latency(struct group *g, uint64_t ns)
{
	if (g->messages == g->size) {
		g->size = g->size ? g->size * 2 : FIRST_LATENCIES;
		g->latency = realloc(g->latency, g->size * sizeof(*g->latency));
		if (!g->latency)
			abort();
	}
	g->latency[g->messages++] = ns;
}

static void end_part(struct endpoint *e, struct message *m)
{
	uint64_t ns = e->sim->now - m->arrived;

	if (--m->left)
		return;
	e->ended++;
	e->latency_sum += ns;
	if (e->sim->measure && counts(e->sim))
		keep_latency(e->group, ns);
}

/* False if it should not have ended so. */
static bool end_txn(struct endpoint *e, uint32_t i, enum falcon_completion_code code, uint8_t ulp_code)
{
	struct txn *t = txn_of(e, i);

	if (!check_completion(e, i, code, ulp_code))
		return false;
	sim_trace(e->sim, "complete", e, i, code, ulp_code);
	t->completed = true;
	ulp_put_bytes(e, t->payload);
	t->payload = NULL;
	e->completed++;
	e->done_at = e->sim->now;
	e->sim->totals.completions[code]++;
	if (code == kCmplAck)
		count_bytes(e, ulp_is_pull(e, i) ? ulp_response_len(e, i) : ulp_length(e, i));
	else
		e->errors++;
	end_part(e, &e->messages[i / e->parts]);
	return true;
}

static bool is_open(const struct endpoint *e)
{
	return e->core && !e->closing && !e->fatal;
}

/* From the end of the measurement on there is nothing new. */
static bool is_over(struct endpoint *e)
{
	const struct sim *s = e->sim;

	if (!s->cfg->stop || s->now - s->start < s->cfg->stop)
		return false;
	e->nmessages = e->arrived;
	e->ntxns = e->arrived * e->parts;
	return true;
}

/* One more message may arrive. */
static bool may_arrive(struct endpoint *e)
{
	uint64_t depth = e->cfg->load ? 0 : e->cfg->depth;

	return is_open(e) && e->arrived < e->nmessages && !is_over(e) &&
	       (!depth || e->arrived - e->ended < depth);
}

static void come_back(struct endpoint *e)
{
	e->submit_pending = true;
	sim_at(e->sim, e->sim->now + rng_below(&e->rng, SIM_US), EV_SUBMIT, e, 0);
}

/* What has ended makes room for another message, which with pauses between them comes by itself. */
static void arrive_later(struct endpoint *e)
{
	if (e->cfg->gap && !e->submit_pending && may_arrive(e))
		come_back(e);
}

/* 0, or what the core says. */
static int submit_one(struct endpoint *e)
{
	uint32_t i = e->submitted, hdr[2] = { i, ~i };
	bool pull = ulp_is_pull(e, i);
	struct txn *txn = txn_of(e, i);
	struct fcore_txn t = {
		.proto = FALCON_PROTO_RAW,
		.ulp_hdr = hdr,
		.ulp_hdr_len = SIM_ULP_HDR,
		.cookie = i,
	};
	const struct falcon_sink sink = { .length = pull ? ulp_response_len(e, i) : 0 };
	uint64_t now = host_now(e->host);
	int rc;

	*txn = (struct txn){ .submitted = e->sim->now, .most = (uint16_t)e->path.most };
	t.len = ulp_length(e, i);
	if (pull && !ulp_is_overlong(e, i) && rng_below(&e->rng, 4))
		t.sink = &sink;
	if (!pull)
		t.payload = txn->payload = ulp_make_bytes(e, i, t.len);
	txn->filtered = filter_matches(e, FCORE_XLR_INITIATOR, pull);
	e->submitting = true;
	e->turned_away = e->cut = false;
	rc = pull ? fcore_pull(e->core, &t, now) : fcore_push(e->core, &t, now);
	e->submitting = false;
	if (rc || e->turned_away) {
		ulp_put_bytes(e, txn->payload);
		txn->payload = NULL;
		return e->turned_away ? -ENOSPC : rc;
	}
	e->submitted++;
	sim_trace(e->sim, pull ? "pull" : "push", e, i, t.len, 0);
	if (e->cut) {
		end_txn(e, i, kCmplLocalXlr, 0);
		arrive_later(e);
	}
	host_kick(e->host, e->sim->now + e->host->cfg->latency);
	return 0;
}

static bool may_submit(const struct endpoint *e)
{
	return is_open(e) && !e->blocked && e->submitted < e->arrived * e->parts;
}

static void arrive(struct endpoint *e)
{
	e->messages[e->arrived++] = (struct message){ .arrived = e->sim->now, .left = e->parts };
}

/* The transaction is tried again: after on_xon(), or, where nobody tells, after a while. */
static void refused(struct endpoint *e, int rc)
{
	e->blocked = rc != -ENOSPC;
	if (e->blocked || e->submit_pending)
		return;
	e->submit_pending = true;
	sim_at(e->sim, e->sim->now + 5 * SIM_US + rng_below(&e->rng, 20 * SIM_US), EV_SUBMIT, e, 0);
}

/* Submit what has arrived; in a closed loop without pauses, more arrives as the core takes it. */
static void submit_all(struct endpoint *e)
{
	bool fast = !e->cfg->gap && !e->cfg->load;
	int rc;

	for (;;) {
		if (!may_submit(e)) {
			if (!fast || e->blocked || !may_arrive(e))
				return;
			arrive(e);
		} else if ((rc = submit_one(e)) != 0) {
			refused(e, rc);
			return;
		}
	}
}

/* Mean time between messages of an open loop at |load| bit/s. */
static uint64_t load_gap(const struct sim_conn_cfg *c)
{
	return c->message * 8 * SIM_S / c->load;
}

void ulp_submit(struct endpoint *e)
{
	const struct sim_conn_cfg *c = e->cfg;
	uint64_t wait;

	e->submit_pending = false;
	e->path.held = !path_is_up(e);
	if (e->path.held)
		return;
	if ((c->gap || c->load) && may_arrive(e)) {
		arrive(e);
		wait = c->load ? rng_exponential(&e->rng, load_gap(c)) : rng_below(&e->rng, 2 * c->gap);
		e->submit_pending = true;
		sim_at(e->sim, e->sim->now + 1 + wait, EV_SUBMIT, e, 0);
	}
	submit_all(e);
}

void ulp_begin(struct endpoint *e)
{
	if (e->path.held)
		come_back(e);
	e->path.held = false;
}

void ulp_resume(struct endpoint *e)
{
	if (!e->submit_pending && (e->submitted < e->arrived * e->parts || may_arrive(e)))
		come_back(e);
}

/* There is room for more: now, from within the core's call, or a little later. */
static void submit_more(struct endpoint *e)
{
	bool arrives = !e->submit_pending && may_arrive(e);

	/* A submission that is under way is followed by others. */
	if (e->submitting || (!may_submit(e) && !arrives))
		return;
	if (may_submit(e) || (!e->cfg->gap && !e->cfg->load && rng_below(&e->rng, 2))) {
		submit_all(e);
		return;
	}
	come_back(e);
}

void ulp_on_xon(void *arg, struct fcore_conn *c)
{
	(void)arg;
	ep_of(c)->blocked = false;
	submit_more(ep_of(c));
}

void ulp_on_pull_data(void *arg, struct fcore_conn *c, uint64_t cookie, const void *payload,
		      uint32_t len)
{
	struct endpoint *e = ep_of(c);
	uint32_t i = (uint32_t)cookie;
	struct txn *t = txn_of(e, i);

	(void)arg;
	if (cookie >= e->submitted || !ulp_is_pull(e, i) || t->data || t->completed ||
	    t->state != TXN_ANSWERED) {
		sim_fail(e->sim, e, "data of pull %u out of the question", i);
		return;
	}
	t->data = true;
	if (!payload != t->placed)
		sim_fail(e->sim, e, "data of pull %u %s", i,
			 t->placed ? "placed, and delivered" : "are nowhere");
	if (!payload)
		return;
	if (ulp_is_overlong(e, i) || len != ulp_response_len(e, i) || !ulp_bytes_good(e, i, payload, len))
		sim_fail(e->sim, e, "data of pull %u spoiled, %u bytes", i, len);
}

/* The core's answer to a submission is a completion. True if that was all. */
static bool ends_at_once(struct endpoint *e, enum falcon_completion_code code)
{
	uint32_t i = e->submitted;

	if (code == kCmplLocalXlr && e->cfg->ordered) {
		e->cut = true;
		return true;
	}
	if (code != kCmplLocalRsrc && code != kCmplLocalXlr)
		return false;
	e->turned_away = true;
	e->sim->totals.completions[code]++;
	if (code == kCmplLocalRsrc && e->cfg->flow_control)
		sim_fail(e->sim, e, "transaction %u turned away in spite of flow control", i);
	if (code == kCmplLocalXlr && !txn_of(e, i)->filtered)
		sim_fail(e->sim, e, "transaction %u ended by no filter", i);
	return true;
}

void ulp_on_completion(void *arg, struct fcore_conn *c, uint64_t cookie,
		       enum falcon_completion_code code, uint8_t ulp_code)
{
	struct endpoint *e = ep_of(c);
	uint32_t i = (uint32_t)cookie;

	(void)arg;
	host_race(e->host, false);
	if (e->submitting && cookie == e->submitted && ends_at_once(e, code))
		return;
	if (cookie >= e->submitted || !end_txn(e, i, code, ulp_code))
		return;
	if (e->close_soon && !e->closing)
		host_close_ep(e);
	submit_more(e);
}
