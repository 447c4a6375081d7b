// SPDX-License-Identifier: BSD-2-Clause
/* Two cores against each other over a bad link: nothing lost, doubled, reordered or leaked. */
#include "core_ulp.h"

enum {
	PAIR_SEEDS = 40,	/* each scenario */
	PAIR_TXNS = 200,
};

struct pair {
	struct net net;
	struct ulp ulp[2];
	struct ulp_plan plan;
};

/* A pair of hosts with all that a test needs; freed by pair_close(). */
static struct pair *pair_open(const struct ulp_plan *plan, const struct net_faults *faults,
			      const struct fcore_params *params, uint64_t seed)
{
	struct pair *p = calloc(1, sizeof(*p));
	struct fcore_params own = *params;

	p->plan = *plan;
	own.ordered = plan->ordered;
	own.tx_rsn = own.rx_rsn = plan->first_rsn;
	net_open(&p->net, &ulp_ops, own, seed);
	p->net.faults = *faults;
	for (int i = 0; i < 2; i++) {
		p->ulp[i].host = &p->net.host[i];
		p->ulp[i].plan = &p->plan;
		p->net.host[i].ulp = &p->ulp[i];
	}
	return p;
}

static void pair_close(struct pair *p)
{
	net_close(&p->net);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(p->ulp[i].responses, 0);
		assert_int_equal(p->ulp[i].completed, p->ulp[i].submitted);
	}
	free(p);
}

/* Nothing is under way any more: all completed, acknowledged and given back. */
static bool pair_drained(const struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		const struct ulp *u = &p->ulp[i];
		const struct falcon_conn *s = &u->host->shared;

		if (u->completed != p->plan.txns || u->responses || u->host->frames ||
		    s->tx_acked.data_base != s->cc.data_next ||
		    s->tx_acked.req_base != s->cc.req_next)
			return false;
	}
	return true;
}

static void pair_step(struct pair *p)
{
	net_step(&p->net);
	for (int i = 0; i < 2; i++)
		if (p->ulp[i].host->conn)
			ulp_answer_later(&p->ulp[i]);
}

static void pair_run(struct pair *p, uint64_t limit_ns)
{
	uint64_t end = p->net.now + limit_ns;

	ulp_submit(&p->ulp[0]);
	ulp_submit(&p->ulp[1]);
	while (!pair_drained(p)) {
		if (p->net.now > end)
			fail_msg("not drained: %u and %u of %u completed", p->ulp[0].completed,
				 p->ulp[1].completed, p->plan.txns);
		pair_step(p);
	}
}

static void check_results(const struct pair *p)
{
	for (int h = 0; h < 2; h++) {
		const struct ulp *u = &p->ulp[h];

		assert_int_equal(u->accepted, p->plan.txns);
		assert_int_equal(u->host->fatal, 0);
		for (uint32_t i = 0; i < p->plan.txns; i++) {
			bool fails = ulp_fails(&p->plan, h, i);

			assert_int_equal(u->code[i], fails ? ulp_failure_code(h, i) : kCmplAck);
			assert_int_equal(u->ulp_code[i], fails ? (uint8_t)i : 0);
		}
	}
}

static struct fcore_params pair_params(void)
{
	struct fcore_params p;

	fcore_params_default(&p);
	p.rto_ns = 200000;
	p.max_retx = 200;
	/* All sequence numbers wrap during the test. */
	p.tx_data_psn = p.rx_data_psn = UINT32_MAX - 60;
	p.tx_req_psn = p.rx_req_psn = UINT32_MAX - 30;
	return p;
}

/* On a good link nothing is sent twice. */
static void check_quiet(const struct pair *p)
{
	for (int h = 0; h < 2; h++) {
		const struct fcore_stats *s = fcore_conn_stats(p->net.host[h].conn);

		assert_int_equal(s->tx_retx_rto + s->tx_retx_early + s->tx_retx_own, 0);
		assert_int_equal(s->tx_retx_rack + s->rack_spurious, 0);
		assert_int_equal(s->tx_resyncs + s->tx_nacks + s->rx_discarded, 0);
	}
	assert_int_equal(p->net.events[kRueEventTypeRetx], 0);
}

/* Run |plan| over |faults|, ordered and unordered, with many seeds. */
static void drains(struct ulp_plan plan, struct net_faults faults, struct fcore_params params)
{
	plan.first_rsn = UINT32_MAX - 40;
	plan.txns = plan.txns ? plan.txns : PAIR_TXNS;
	for (uint64_t seed = 0; seed < PAIR_SEEDS; seed++) {
		struct pair *p;

		plan.ordered = seed & 1;
		p = pair_open(&plan, &faults, &params, seed + 1);
		pair_run(p, 60000000000ULL);
		check_results(p);
		if (!memcmp(&faults, &(struct net_faults){ 0 }, sizeof(faults)))
			check_quiet(p);
		pair_close(p);
	}
}

static void clean_link(void **state)
{
	(void)state;
	drains((struct ulp_plan){ 0 }, (struct net_faults){ 0 }, pair_params());
}

static void slow_ulp(void **state)
{
	(void)state;
	drains((struct ulp_plan){ .later = 50 }, (struct net_faults){ 0 }, pair_params());
}

static void reordered(void **state)
{
	(void)state;
	drains((struct ulp_plan){ .later = 20 },
	       (struct net_faults){ .reorder = 20, .jitter = 2000 }, pair_params());
}

static void loss_1(void **state)
{
	(void)state;
	drains((struct ulp_plan){ .later = 10 },
	       (struct net_faults){ .loss = 1, .dup = 1, .jitter = 200 }, pair_params());
}

static void loss_10(void **state)
{
	(void)state;
	drains((struct ulp_plan){ .later = 10 },
	       (struct net_faults){ .loss = 10, .dup = 5, .reorder = 10 }, pair_params());
}

static void loss_30(void **state)
{
	(void)state;
	drains((struct ulp_plan){ .later = 10 },
	       (struct net_faults){ .loss = 30, .dup = 10, .reorder = 20 }, pair_params());
}

static void refused_transmissions(void **state)
{
	(void)state;
	drains((struct ulp_plan){ .later = 20 }, (struct net_faults){ .loss = 5, .refuse = 40 },
	       pair_params());
}

static void receiver_not_ready(void **state)
{
	(void)state;
	drains((struct ulp_plan){ .later = 20, .rnr = 20 },
	       (struct net_faults){ .loss = 5, .refuse = 10 }, pair_params());
}

static void completed_in_error(void **state)
{
	(void)state;
	drains((struct ulp_plan){ .later = 20, .rnr = 5, .fail = 20 },
	       (struct net_faults){ .loss = 10, .dup = 5, .reorder = 10, .refuse = 10 },
	       pair_params());
}

static void resources_short(void **state)
{
	(void)state;
	drains((struct ulp_plan){ .later = 20 },
	       (struct net_faults){ .loss = 3, .no_credit = 10, .swallow = 5 }, pair_params());
}

static void small_windows(void **state)
{
	struct fcore_params p = pair_params();

	(void)state;
	p.fcwnd = 3;
	p.ncwnd = 2;
	drains((struct ulp_plan){ .later = 20 },
	       (struct net_faults){ .loss = 5, .reorder = 10 }, p);
}

static void several_flows(void **state)
{
	struct fcore_params p = pair_params();

	(void)state;
	p.flows = 5;
	p.fcwnd = 40;
	drains((struct ulp_plan){ .later = 20, .fail = 5 },
	       (struct net_faults){ .loss = 5, .dup = 3, .reorder = 20, .refuse = 10 }, p);
}

static void backpressure(void **state)
{
	(void)state;
	drains((struct ulp_plan){ .txns = ULP_TXNS, .later = 30 }, (struct net_faults){ .loss = 2 },
	       pair_params());
}

/* Close in the middle: every transaction ends once, and everything borrowed comes back. */
static void closed_in_flight(void **state)
{
	const struct ulp_plan plan = { .txns = PAIR_TXNS, .later = 40, .rnr = 10, .fail = 5,
				       .first_rsn = 5 };
	const struct net_faults faults = { .loss = 10, .reorder = 20, .refuse = 10 };
	struct fcore_params params = pair_params();

	(void)state;
	for (uint64_t seed = 1; seed <= 4 * PAIR_SEEDS; seed++) {
		struct ulp_plan own = plan;
		struct pair *p;

		own.ordered = seed & 1;
		p = pair_open(&own, &faults, &params, seed);
		ulp_submit(&p->ulp[0]);
		ulp_submit(&p->ulp[1]);
		for (uint64_t n = 0; n < seed; n++)
			pair_step(p);
		pair_close(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_link),
		cmocka_unit_test(slow_ulp),
		cmocka_unit_test(reordered),
		cmocka_unit_test(loss_1),
		cmocka_unit_test(loss_10),
		cmocka_unit_test(loss_30),
		cmocka_unit_test(refused_transmissions),
		cmocka_unit_test(receiver_not_ready),
		cmocka_unit_test(completed_in_error),
		cmocka_unit_test(resources_short),
		cmocka_unit_test(small_windows),
		cmocka_unit_test(several_flows),
		cmocka_unit_test(backpressure),
		cmocka_unit_test(closed_in_flight),
	};

	return unit_run(tests);
}
