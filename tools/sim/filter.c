// SPDX-License-Identifier: BSD-2-Clause
/*
 * xLR drop filters (11): from some time on, for a while, a host's core has rules that end transactions of
 * its own, drop those of peers, or both.
 */
#include "check.h"

/* The rule of |h| for filter |n|: where it applies is the upper of its two bits, the lower one is pulls. */
static struct fcore_xlr_rule rule_of(const struct host *h, uint32_t n)
{
	uint64_t nth = h->cfg->xlr_conn;

	return (struct fcore_xlr_rule){
		.where = n & 2 ? FCORE_XLR_TARGET : FCORE_XLR_INITIATOR,
		.fields = (uint8_t)(FCORE_XLR_TYPE | (nth ? FCORE_XLR_CID : 0)),
		.type = n & 1 ? FALCON_PULL_REQUEST : FALCON_PUSH_DATA,
		.cid = nth ? h->ep[nth % h->neps]->cid : 0,
	};
}

bool filter_matches(const struct endpoint *e, enum fcore_xlr_where where, bool pull)
{
	const struct host *h = e->host;
	uint64_t nth = h->cfg->xlr_conn;
	uint32_t n = (where == FCORE_XLR_TARGET ? 2 : 0) + pull;

	return h->filters >> n & 1 && (!nth || h->ep[nth % h->neps] == e);
}

/* All of |e| that is under way and matches ends with the rule that is being added; |over|: it has been. */
static void mark(struct endpoint *e, bool pull, bool over)
{
	for (uint32_t i = 0; i < e->submitted; i++) {
		struct txn *t = txn_of(e, i);

		if (ulp_is_pull(e, i) != pull || t->completed)
			continue;
		if (over && t->filtered && !e->cfg->ordered)
			sim_fail(e->sim, e, "transaction %u goes on in spite of a filter", i);
		t->filtered = true;
	}
}

static void mark_all(struct host *h, uint32_t n, bool over)
{
	for (uint32_t i = 0; !(n & 2) && i < h->neps && h->sim->cfg->checks; i++)
		if (h->ep[i]->core && filter_matches(h->ep[i], FCORE_XLR_INITIATOR, n & 1))
			mark(h->ep[i], n & 1, over);
}

static void add(struct host *h, uint32_t n)
{
	const struct fcore_xlr_rule r = rule_of(h, n);
	int rc;

	h->filters |= (uint8_t)(1U << n);
	mark_all(h, n, false);
	rc = fcore_xlr_add(h->core, &r);
	if (rc < 0)
		abort();
	h->filter[n] = (uint32_t)rc;
	mark_all(h, n, true);
}

void filter_set(struct host *h, bool on)
{
	for (uint32_t n = 0; n < SIM_FILTERS && h->core; n++) {
		if (on && h->neps && h->cfg->xlr >> n & 1) {
			add(h, n);
		} else if (!on && h->filters >> n & 1) {
			h->filters &= (uint8_t)~(1U << n);
			fcore_xlr_del(h->core, h->filter[n]);
		}
	}
	sim_trace(h->sim, "filter", NULL, h->index, h->filters, 0);
	host_kick(h, h->sim->now);
}

void filter_open(struct host *h)
{
	uint64_t at = h->sim->now + h->cfg->xlr_at;

	if (!h->cfg->xlr)
		return;
	sim_at(h->sim, at, EV_FILTER, h, true);
	sim_at(h->sim, at + h->cfg->xlr_for, EV_FILTER, h, false);
}
