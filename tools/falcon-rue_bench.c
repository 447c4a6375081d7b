// SPDX-License-Identifier: BSD-2-Clause
/*
 * * falcon-rue --bench: events per second of Swift on one thread, as the SIGCOMM '25 paper measures
 * its engine (5.3, 6.2): without state of its own, with state that is accessed at random, and with
 * that state prefetched a few events ahead. Only the engine's work is timed, not the making of
 * events.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "falcon-rue.h"

enum { RING = 4096, BATCH = 1024, ROUNDS = 3, LINE = 64 };

const char *const bench_variant_name[BENCH_VARIANTS] = { "stateless", "stateful", "prefetch" };

struct engine {
	struct swift *swift;
	uint32_t state;		/* bytes of a connection's */
};

struct load {
	const struct bench_options *options;
	struct falcon_rue_event *events;	/* RING */
	struct falcon_rue_result *results;	/* BATCH */
	size_t next;
	uint64_t seed;
	uint32_t now;
};

static uint64_t random64(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint32_t below(uint64_t *state, uint64_t n)
{
	return (uint32_t)((random64(state) >> 32) * n >> 32);
}

/* Swift, and every further cache line of the state changed once, as a larger algorithm would. */
static void process(void *engine, const struct falcon_rue_event *e, uint32_t now,
		    struct falcon_rue_result *r)
{
	const struct engine *g = engine;
	char *state = (char *)swift_state(g->swift, (uint32_t)falcon_ev_get(e, base_delay_target));

	rue_swift.process(g->swift, e, now, r);
	for (uint32_t at = LINE; at < g->state; at += LINE)
		++*(uint32_t *)(state + at);
}

static void prefetch(void *engine, const struct falcon_rue_event *e)
{
	const struct engine *g = engine;

	rue_swift.prefetch(g->swift, e);
}

static const struct rue_algorithm wide_swift = {
	.abi = FALCON_RUE_ABI,
	.size = sizeof(wide_swift),
	.name = "wide",
	.process = process,
	.prefetch = prefetch,
};

/*
 * * An event of |connection|, its outcome no easier to foresee than in a network that works: nine
 * in ten are ACKs, one delay in five is over the target, one buffer in eight, and one window in
 * sixteen is smaller than a packet.
 */
static void make_event(struct falcon_rue_event *e, uint32_t connection, uint64_t *seed)
{
	uint32_t kind = below(seed, 20), t1 = below(seed, 1 << 24), stay = below(seed, 20);
	uint32_t rtt = below(seed, 5) ? 100 + below(seed, 120) : 300 + below(seed, 300);
	uint32_t fcwnd = below(seed, 16) ? 1024 + below(seed, 128 * 1024) : 10 + below(seed, 1014);
	uint32_t level = below(seed, 8) ? below(seed, 15) : 15 + below(seed, 17);

	memset(e, 0, sizeof(*e));
	falcon_ev_put(e, connection_id, connection);
	falcon_ev_put(e, base_delay_target, connection);
	falcon_ev_put(e, event_type, kind == 0 ? kRueEventTypeRetx :
				     kind == 1 ? kRueEventTypeNack : kRueEventTypeAck);
	falcon_ev_put(e, nack_code, kind == 1);
	falcon_ev_put(e, retransmit_count, kind == 0);
	falcon_ev_put(e, t1, t1);
	falcon_ev_put(e, t2, t1 + rtt / 2);
	falcon_ev_put(e, t3, t1 + rtt / 2 + stay);
	falcon_ev_put(e, t4, t1 + rtt + stay);
	falcon_ev_put(e, forward_hops, 5);
	falcon_ev_put(e, rx_buffer_level, level);
	falcon_ev_put(e, fcwnd_fraction, fcwnd);
	falcon_ev_put(e, fcwnd_integer, fcwnd >> FALCON_EV_fcwnd_fraction_WIDTH);
	falcon_ev_put(e, ncwnd, 1 + below(seed, 256));
	falcon_ev_put(e, num_packets_acked, 1 + below(seed, 8));
	falcon_ev_put(e, delay_select, kRueDelayFabric);
	falcon_ev_put(e, fabric_window_time_marker, t1 - below(seed, 1000));
	falcon_ev_put(e, nic_window_time_marker, t1 - below(seed, 1000));
	falcon_ev_put(e, ncwnd_direction, below(seed, 2));
	falcon_ev_put(e, delay_state, rtt);
	falcon_ev_put(e, rtt_state, rtt + stay);
	falcon_ev_put(e, gen, 1);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/*
 * * Process a batch of events of random connections; returns the processor time that the engine
 * took, ns, which a busy neighbour changes less than the wall-clock time.
 */
static uint64_t run_batch(struct load *l, struct engine *g, uint64_t connections, uint32_t ahead)
{
	struct falcon_rue_event *e = &l->events[l->next];
	uint64_t start;

	for (size_t i = 0; i < BATCH; i++)
		make_event(&e[i], below(&l->seed, connections), &l->seed);
	l->next = (l->next + BATCH) % RING;
	l->now = (l->now + 100) & 0xffffff;
	start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (g->state > LINE)
		rue_process_batch(&wide_swift, g, e, BATCH, l->now, l->results, ahead);
	else
		rue_process_batch(&rue_swift, g->swift, e, BATCH, l->now, l->results, ahead);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* Events per second over |seconds| of wall-clock time. */
static double run_for(struct load *l, struct engine *g, uint64_t connections, uint32_t ahead,
		      double seconds)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9), events = 0, busy = 0;

	do {
		busy += run_batch(l, g, connections, ahead);
		events += BATCH;
	} while (clock_ns(CLOCK_MONOTONIC) < end);
	return (double)events * 1e9 / (double)busy;
}

static int make_engine(struct engine *g, const struct rue_config *config, uint64_t connections,
		       uint64_t state)
{
	char err[256];

	g->state = (uint32_t)state;
	g->swift = swift_create((uint32_t)connections, g->state);
	if (!g->swift) {
		fprintf(stderr,
			"falcon-rue: no memory for %llu connections with %llu bytes of state\n",
			(unsigned long long)connections, (unsigned long long)state);
		return -1;
	}
	if (swift_set_profile(g->swift, 0, &config->params, err, sizeof(err))) {
		fprintf(stderr, "falcon-rue: %s\n", err);
		return -1;
	}
	return 0;
}

/*
 * Variants take turns, and the best of their rounds counts, as neighbours only ever slow one down.
 */
static int measure(struct load *l, struct bench_point *p)
{
	const struct bench_options *o = l->options;
	struct engine own = { 0 }, none = { 0 };
	int rc = -1;

	/* Without state of its own: all connections share one that never leaves the cache. */
	if (make_engine(&own, o->config, p->connections, p->state) ||
	    make_engine(&none, o->config, 1, SWIFT_STATE_BYTES))
		goto out;
	for (int round = 0; round < ROUNDS; round++)
		for (int v = 0; v < BENCH_VARIANTS; v++) {
			double rate = run_for(l, v == STATELESS ? &none : &own, p->connections,
					      v == PREFETCH ? o->ahead : 0, o->seconds / ROUNDS);

			if (rate > p->rate[v])
				p->rate[v] = rate;
		}
	rc = 0;
out:
	swift_destroy(own.swift);
	swift_destroy(none.swift);
	return rc;
}

static void print_point(const struct bench_point *p, json_t *list)
{
	json_t *o;

	if (!list) {
		printf("%8llu %12llu", (unsigned long long)p->state,
		       (unsigned long long)p->connections);
		for (int v = 0; v < BENCH_VARIANTS; v++)
			printf(" %12.2f", p->rate[v] / 1e6);
		putchar('\n');
		fflush(stdout);
		return;
	}
	o = json_pack("{s:I, s:I}", "state_bytes", (json_int_t)p->state, "connections",
		      (json_int_t)p->connections);
	for (int v = 0; v < BENCH_VARIANTS; v++)
		json_object_set_new(o, bench_variant_name[v], json_real(p->rate[v]));
	json_array_append_new(list, o);
}

/* Measure all points into |points|, which has room for them. */
static int sweep(struct load *l, json_t *list, struct bench_point *points)
{
	const struct bench_options *o = l->options;
	size_t n = 0;

	for (size_t s = 0; s < o->n_state; s++)
		for (size_t c = 0; c < o->n_connections; c++) {
			struct bench_point *p = &points[n++];

			p->connections = o->connections[c];
			p->state = o->state[s];
			if (measure(l, p))
				return -1;
			print_point(p, list);
		}
	return o->plot ? bench_plot(o, points, n) : 0;
}

static void print_json(const struct bench_options *o, json_t *list)
{
	json_t *all = json_pack("{s:s, s:s, s:i, s:f, s:s, s:O}", "algorithm", "swift", "config",
				o->config->name, "prefetch_ahead", (int)o->ahead, "seconds",
				o->seconds, "unit", "events/s", "points", list);

	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(all);
}

int bench(const struct bench_options *o)
{
	struct load l = { .options = o, .seed = 0x9e3779b97f4a7c15ULL };
	struct bench_point *points = calloc(BENCH_LIST * BENCH_LIST, sizeof(*points));
	json_t *list = o->json ? json_array() : NULL;
	int rc = 1;

	l.events = aligned_alloc(LINE, RING * sizeof(*l.events));
	l.results = aligned_alloc(LINE, BATCH * sizeof(*l.results));
	if (!points || !l.events || !l.results) {
		fprintf(stderr, "falcon-rue: out of memory\n");
		goto out;
	}
	if (!list) {
		printf("million events/s, one thread, parameters \"%s\", prefetch %u ahead\n",
		       o->config->name, o->ahead);
		printf("%8s %12s %12s %12s %12s\n", "state B", "connections",
		       bench_variant_name[STATELESS], bench_variant_name[STATEFUL],
		       bench_variant_name[PREFETCH]);
	}
	rc = sweep(&l, list, points) ? 1 : 0;
	if (list && !rc)
		print_json(o, list);
out:
	json_decref(list);
	free(l.events);
	free(l.results);
	free(points);
	return rc;
}
