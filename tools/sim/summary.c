// SPDX-License-Identifier: BSD-2-Clause
#include "summary.h"

#include <math.h>
#include <stdlib.h>

#define COLUMN(field) { #field, offsetof(struct summary, field) }

static const struct summary_column columns[] = {
	COLUMN(connections), COLUMN(messages), COLUMN(errors), COLUMN(goodput_gbps),
	COLUMN(mean_us), COLUMN(p50_us), COLUMN(p99_us), COLUMN(p999_us), COLUMN(max_us),
	COLUMN(ideal_us), COLUMN(spread), COLUMN(jain), COLUMN(rtt_us), COLUMN(packets),
	COLUMN(retx), COLUMN(rto), COLUMN(early), COLUMN(acks), COLUMN(spurious), COLUMN(nacked),
	COLUMN(lost), COLUMN(queue_full), COLUMN(marked), COLUMN(max_queue), COLUMN(time_ms),
};

const struct summary_column *summary_column(uint32_t i)
{
	return i < sizeof(columns) / sizeof(columns[0]) ? &columns[i] : NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double us(uint64_t ns)
{
	return (double)ns / (double)SIM_US;
}

/* The value that |per_mille| of all do not exceed. */
static double quantile(const struct group *g, uint64_t per_mille)
{
	uint64_t rank = (g->messages * per_mille + 999) / 1000;

	return g->messages ? us(g->latency[rank ? rank - 1 : 0]) : 0;
}

static void sum_latencies(struct group *g, struct summary *sum)
{
	double total = 0;

	if (g->messages)
		qsort(g->latency, g->messages, sizeof(*g->latency), compare);
	for (uint64_t i = 0; i < g->messages; i++)
		total += us(g->latency[i]);
	sum->messages = (double)g->messages;
	sum->mean_us = g->messages ? total / (double)g->messages : 0;
	sum->p50_us = quantile(g, 500);
	sum->p99_us = quantile(g, 990);
	sum->p999_us = quantile(g, 999);
	sum->max_us = quantile(g, 1000);
}

/* Bytes on the wire that a message takes. */
static uint64_t wire_bytes(const struct sim_conn_cfg *c)
{
	uint64_t parts = c->message ? (c->message + c->mtu - 1) / c->mtu : 1;
	uint64_t headers = FRAME_MAX_HDR + sizeof(struct falcon_push_hdr) + SIM_ULP_HDR + 24;

	return (c->message ? c->message : (c->size_min + c->size_max) / 2) + parts * headers;
}

/* All connections to the host of |c| in a closed loop: each waits while the others have a turn. */
static double ideal(const struct sim *s, const struct sim_conn_cfg *c)
{
	const struct sim_link_cfg *l = &s->cfg->link[c->to];
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < s->cfg->nconns; i++) {
		const struct sim_conn_cfg *other = &s->cfg->conn[i];
		uint64_t depth = other->depth ? other->depth : 1;

		for (uint64_t n = 0; n < other->count; n++)
			bytes += sim_cfg_host(s->cfg, other, n, 1) == c->to ?
					 wire_bytes(other) * depth : 0;
	}
	if (!l->rate)
		return 0;
	return (double)bytes * 8e6 / (double)l->rate + us(link_delay(s, (uint32_t)c->from,
								     (uint32_t)c->to));
}

/* ns during which results count. */
static uint64_t interval(const struct sim *s, uint64_t last)
{
	uint64_t end = s->cfg->stop ? s->cfg->stop : last - s->start;

	return end > s->cfg->warmup ? end - s->cfg->warmup : 1;
}

static const struct fcore_stats *stats_of(const struct endpoint *e)
{
	return e->core ? fcore_conn_stats(e->core) : &e->stats;
}

static void sum_connections(const struct sim *s, uint32_t g, struct summary *sum)
{
	double bytes = 0, squares = 0, mean, retx = 0;
	uint64_t last = s->start;

	for (uint32_t i = 0; i < s->neps; i++) {
		const struct endpoint *e = &s->ep[i];
		const struct fcore_stats *st = stats_of(e);

		if (e->group != &s->groups[g])
			continue;
		sum->packets += (double)st->tx_packets;
		sum->rto += (double)st->tx_retx_rto;
		sum->early += (double)(st->tx_retx_early + st->tx_retx_own +
					 st->tx_retx_rack);
		sum->acks += (double)st->tx_acks;
		sum->errors += e->errors;
		if (!e->nmessages)
			continue;
		sum->connections++;
		bytes += (double)e->counted;
		squares += (double)e->counted * (double)e->counted;
		last = e->done_at > last ? e->done_at : last;
	}
	retx = sum->rto + sum->early;
	sum->retx = sum->packets > 0 ? 100 * retx / sum->packets : 0;
	sum->goodput_gbps = bytes * 8 / (double)interval(s, last);
	if (bytes <= 0)
		return;
	mean = bytes / sum->connections;
	sum->spread = 100 * sqrt(fmax(0, squares / sum->connections - mean * mean)) / mean;
	sum->jain = bytes * bytes / (sum->connections * squares);
}

static void sum_network(const struct sim *s, const struct sim_conn_cfg *c, struct summary *sum)
{
	double again = 0, all = 0, nacked = 0;

	for (uint32_t i = 0; i < s->nlinks; i++) {
		sum->lost += (double)s->links[i].stats.lost;
		sum->queue_full += (double)s->links[i].stats.queue_full;
		sum->marked += (double)s->links[i].stats.marked;
	}
	sum->max_queue = (double)s->links[c->to].stats.max_queued;
	for (uint32_t i = 0; i < s->cfg->hosts; i++) {
		const uint64_t *v = s->hosts[i].counters;

		again += (double)(v[FALCON_V_dup_acked] + v[FALCON_V_old_acked]);
		nacked += (double)v[FALCON_V_resource_nacked];
		all += (double)(v[FALCON_V_rx_data] + v[FALCON_V_rx_request]);
	}
	sum->spurious = all > 0 ? 100 * again / all : 0;
	sum->nacked = all > 0 ? 100 * nacked / all : 0;
}

void summarize(const struct sim *s, uint32_t g, struct summary *sum)
{
	struct group *group = &s->groups[g];

	*sum = (struct summary){ .time_ms = (double)(s->now - s->start) / (double)SIM_MS };
	sum_latencies(group, sum);
	sum_connections(s, g, sum);
	sum_network(s, &s->cfg->conn[g], sum);
	sum->ideal_us = ideal(s, &s->cfg->conn[g]);
	sum->rtt_us = group->rtt_n ? us(group->rtt_sum / group->rtt_n) : 0;
}
