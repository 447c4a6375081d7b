// SPDX-License-Identifier: BSD-2-Clause
#include "report.h"

#include <inttypes.h>
#include <jansson.h>

enum {
	MAX_LINES = 48,		/* of one kind in a table; beyond it only what sums them up */
};

static const char *const verdict_names[FALCON_VERDICT_COUNT] = {
#define NAME(name, text) #name,
	FALCON_VERDICTS(NAME)
#undef NAME
};

static const struct fcore_stats *stats_of(const struct endpoint *e)
{
	return e->core ? fcore_conn_stats(e->core) : &e->stats;
}

/* bit/s of payload between the start and the last completion. */
static uint64_t goodput(const struct endpoint *e)
{
	uint64_t ns = e->done_at ? e->done_at - e->sim->start - e->cfg->start : 0;

	return ns ? (uint64_t)((unsigned __int128)e->bytes * 8 * SIM_S / ns) : 0;
}

static uint64_t mean_latency(const struct endpoint *e)
{
	return e->ended ? e->latency_sum / e->ended : 0;
}

static void print_count(FILE *out, const char *name, uint64_t n)
{
	if (n)
		fprintf(out, " %s %" PRIu64, name, n);
}

void report_totals(const struct sim_totals *t, FILE *out)
{
	fprintf(out, "# packets %" PRIu64 ", events %" PRIu64 "\n# completions:", t->packets,
		t->events);
	for (uint8_t code = 0; code < 16; code++)
		print_count(out, falcon_completion_name(code), t->completions[code]);
	fprintf(out, "\n# retransmissions:");
	print_count(out, "rto", t->retx_rto);
	print_count(out, "early", t->retx_early);
	print_count(out, "own", t->retx_own);
	print_count(out, "rack", t->retx_rack);
	print_count(out, "resync", t->resyncs);
	fprintf(out, "\n# faults:");
	print_count(out, "rnr", t->rnr);
	print_count(out, "fatal", t->fatal);
	print_count(out, "refused", t->refused);
	print_count(out, "pauses", t->pauses);
	print_count(out, "rue", t->rue);
	print_count(out, "claims-released", t->released);
	print_count(out, "unanswered", t->unanswered);
	print_count(out, "t1-wraps", t->wraps);
	print_count(out, "raced", t->raced);
	print_count(out, "executed", t->executed);
	print_count(out, "adopted", t->adopted);
	print_count(out, "crashes", t->crashes);
	print_count(out, "path-searches", t->searches);
	print_count(out, "rekeys", t->rekeys);
	print_count(out, "replayed", t->replayed);
	fprintf(out, "\n# verdicts:");
	for (int v = 0; v < FALCON_VERDICT_COUNT; v++)
		print_count(out, verdict_names[v], t->verdicts[v]);
	fprintf(out, "\n");
}

void report_violation(const struct sim *s, FILE *out)
{
	fprintf(out, "at %" PRIu64 ".%09" PRIu64 " s, ", s->failed_at / SIM_S,
		s->failed_at % SIM_S);
	if (s->failed_ep >= 0)
		fprintf(out, "connection %d, side %d: ", s->failed_ep / 2, s->failed_ep % 2);
	fprintf(out, "%s\n", s->why);
}

static void print_endpoints(const struct sim *s, FILE *out)
{
	fprintf(out, "%-6s %4s %10s %8s %6s %12s %10s %9s %8s %8s %8s %6s %6s\n", "conn", "host",
		"completed", "errors", "state", "goodput Mb/s", "mean us", "packets", "rto",
		"early", "own", "acks", "nacks");
	for (uint32_t i = 0; i < s->neps; i++) {
		const struct endpoint *e = &s->ep[i];
		const struct fcore_stats *st = stats_of(e);

		fprintf(out,
			"%u.%-4u %4u %10u %8u %6s %12" PRIu64 " %10" PRIu64 " %9" PRIu64
			" %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %6" PRIu64 " %6" PRIu64 "\n",
			i / 2, i % 2, e->host->index, e->completed, e->errors,
			e->core ? "open" : e->fatal ? "fatal" : "closed", goodput(e) / 1000000,
			mean_latency(e) / 1000, st->tx_packets, st->tx_retx_rto, st->tx_retx_early,
			st->tx_retx_own, st->tx_acks, st->tx_nacks);
	}
}

void report_table(const struct sim *s, FILE *out)
{
	if (s->neps <= MAX_LINES)
		print_endpoints(s, out);
	for (uint32_t i = 0; i < s->cfg->hosts && i < MAX_LINES; i++) {
		const struct link_stats *l = &s->links[i].stats;

		fprintf(out,
			"link to %u: %" PRIu64 " packets, %" PRIu64 " lost, %" PRIu64
			" queue full, %" PRIu64 " spoiled, %" PRIu64 " doubled, %" PRIu64
			" held back, %" PRIu64 " marked\n",
			i, l->packets, l->lost, l->queue_full, l->corrupted, l->duplicated,
			l->reordered, l->marked);
	}
	fprintf(out, "%" PRIu64 " packets, %" PRIu64 " events, trace %016" PRIx64 "\n",
		s->totals.packets, s->totals.events, s->hash);
}

static json_t *number(uint64_t v)
{
	return json_integer((json_int_t)v);
}

static json_t *endpoint_json(const struct endpoint *e)
{
	const struct fcore_stats *st = stats_of(e);
	json_t *j = json_object();

	json_object_set_new(j, "connection", number(e->index / 2));
	json_object_set_new(j, "side", number(e->index % 2));
	json_object_set_new(j, "host", number(e->host->index));
	json_object_set_new(j, "open", json_boolean(e->core != NULL));
	json_object_set_new(j, "submitted", number(e->submitted));
	json_object_set_new(j, "completed", number(e->completed));
	json_object_set_new(j, "errors", number(e->errors));
	json_object_set_new(j, "bytes", number(e->bytes));
	json_object_set_new(j, "goodput_bps", number(goodput(e)));
	json_object_set_new(j, "mean_latency_ns", number(mean_latency(e)));
	json_object_set_new(j, "tx_packets", number(st->tx_packets));
	json_object_set_new(j, "tx_retx_rto", number(st->tx_retx_rto));
	json_object_set_new(j, "tx_retx_early", number(st->tx_retx_early));
	json_object_set_new(j, "tx_retx_own", number(st->tx_retx_own));
	json_object_set_new(j, "tx_retx_rack", number(st->tx_retx_rack));
	json_object_set_new(j, "tx_probes", number(st->tx_probes));
	json_object_set_new(j, "tx_acks", number(st->tx_acks));
	json_object_set_new(j, "tx_nacks", number(st->tx_nacks));
	json_object_set_new(j, "tx_resyncs", number(st->tx_resyncs));
	json_object_set_new(j, "rx_packets", number(st->rx_packets));
	json_object_set_new(j, "claims_released", number(st->claims_released));
	json_object_set_new(j, "rtt_ns", number(st->rtt_ns));
	return j;
}

/* Leaves' trunks to spines come first, then spines' to leaves. */
static json_t *trunk_name(const struct sim *s, uint32_t i)
{
	uint32_t leaves = (uint32_t)s->cfg->leaves, spines = (uint32_t)s->cfg->spines;
	char name[48];

	if (i < leaves * spines) {
		snprintf(name, sizeof(name), "leaf %u to spine %u", i / spines, i % spines);
	} else {
		i -= leaves * spines;
		snprintf(name, sizeof(name), "spine %u to leaf %u", i / leaves, i % leaves);
	}
	return json_string(name);
}

static json_t *link_json(const struct sim *s, uint32_t i)
{
	const struct link_stats *l = &s->links[i].stats;
	json_t *j = json_object();

	if (i < s->cfg->hosts)
		json_object_set_new(j, "to", number(i));
	else
		json_object_set_new(j, "to", trunk_name(s, i - (uint32_t)s->cfg->hosts));
	json_object_set_new(j, "packets", number(l->packets));
	json_object_set_new(j, "bytes", number(l->bytes));
	json_object_set_new(j, "lost", number(l->lost));
	json_object_set_new(j, "queue_full", number(l->queue_full));
	json_object_set_new(j, "damaged", number(link_damaged(s, i)));
	json_object_set_new(j, "corrupted", number(l->corrupted));
	json_object_set_new(j, "duplicated", number(l->duplicated));
	json_object_set_new(j, "reordered", number(l->reordered));
	json_object_set_new(j, "marked", number(l->marked));
	return j;
}

/* How packets ended, those kinds that there were. */
static json_t *host_json(const struct host *h)
{
	json_t *j = json_object(), *v = json_object();

	json_object_set_new(j, "host", number(h->index));
	json_object_set_new(j, "tx_frames", number(h->tx_frames));
	json_object_set_new(j, "tx_refused", number(h->tx_refused));
	for (int i = 0; i < FALCON_VERDICT_COUNT; i++)
		if (h->counters[i])
			json_object_set_new(v, verdict_names[i], number(h->counters[i]));
	json_object_set_new(j, "verdicts", v);
	return j;
}

void report_json(const struct sim *s, FILE *out)
{
	json_t *j = json_object(), *ends = json_array(), *links = json_array();
	json_t *hosts = json_array();
	char hash[17];

	snprintf(hash, sizeof(hash), "%016" PRIx64, s->hash);
	json_object_set_new(j, "seed", number(s->cfg->seed));
	json_object_set_new(j, "time_ns", number(s->now - s->start));
	json_object_set_new(j, "packets", number(s->totals.packets));
	json_object_set_new(j, "events", number(s->totals.events));
	json_object_set_new(j, "rekeys", number(s->totals.rekeys));
	json_object_set_new(j, "trace", json_string(hash));
	json_object_set_new(j, "violation", s->failed ? json_string(s->why) : json_null());
	for (uint32_t i = 0; i < s->neps; i++)
		json_array_append_new(ends, endpoint_json(&s->ep[i]));
	for (uint32_t i = 0; i < s->nlinks; i++)
		json_array_append_new(links, link_json(s, i));
	for (uint32_t i = 0; i < s->cfg->hosts; i++)
		json_array_append_new(hosts, host_json(&s->hosts[i]));
	json_object_set_new(j, "endpoints", ends);
	json_object_set_new(j, "links", links);
	json_object_set_new(j, "hosts", hosts);
	json_dumpf(j, out, JSON_INDENT(2));
	fprintf(out, "\n");
	json_decref(j);
}
