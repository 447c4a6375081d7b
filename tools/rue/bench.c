// SPDX-License-Identifier: BSD-2-Clause
/*
 * falcon-rue --bench: events per second of Swift on one thread, as the SIGCOMM '25 paper measures
 * its engine (5.3, 6.2): without state of its own, with state that is accessed at random, and with
 * that state prefetched a few events ahead. And, for what the machine has to give at that moment,
 * the same accesses with nothing computed. Only the engine's work is timed, not the making of
 * events.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rue.h"

enum { KINDS = 4096, BATCH = 1024, LINE = 64 };

const char *const bench_variant_name[BENCH_VARIANTS] = { "stateless", "stateful", "prefetch",
							 "access" };

struct engine {
	struct swift *swift;
	uint32_t state;		/* bytes of a connection's */
};

struct load {
	const struct bench_options *options;
	struct falcon_rue_event *kinds;		/* KINDS, of no connection */
	struct falcon_rue_event *events;	/* BATCH */
	struct falcon_rue_result *results;	/* BATCH */
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

/* Each cache line of a connection's state from byte |from| on changed once. */
static void change_lines(const struct engine *g, char *state, uint32_t from)
{
	for (uint32_t at = from; at < g->state; at += LINE)
		++*(uint32_t *)(state + at);
}

/* Swift, and every further line of the state changed, as a larger algorithm would. */
static void process(void *engine, const struct falcon_rue_event *e, uint32_t now,
		    struct falcon_rue_result *r)
{
	const struct engine *g = engine;
	char *state = (char *)swift_state(g->swift, (uint32_t)falcon_ev_get(e, base_delay_target));

	rue_swift.process(g->swift, e, now, r);
	change_lines(g, state, LINE);
}

/* All of the state changed, the event read, a result written. */
static void access(void *engine, const struct falcon_rue_event *e, uint32_t now,
		   struct falcon_rue_result *r)
{
	const struct engine *g = engine;

	change_lines(g, (char *)swift_state(g->swift, (uint32_t)falcon_ev_get(e, base_delay_target)),
		     0);
	r->w[0] = e->w[0] + now;
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

static const struct rue_algorithm only_access = {
	.abi = FALCON_RUE_ABI,
	.size = sizeof(only_access),
	.name = "access",
	.process = access,
	.prefetch = prefetch,
};

/*
 * An event, its outcome no easier to foresee than in a network that works: nine in ten are ACKs,
 * one delay in five is over the target, one buffer in eight, and one window in sixteen is smaller
 * than a packet.
 */
static void make_kind(struct falcon_rue_event *e, uint64_t *seed)
{
	uint32_t kind = below(seed, 20), t1 = below(seed, 1 << 24), stay = below(seed, 20);
	uint32_t rtt = below(seed, 5) ? 100 + below(seed, 120) : 300 + below(seed, 300);
	uint32_t fcwnd = below(seed, 16) ? 1024 + below(seed, 128 * 1024) : 10 + below(seed, 1014);
	uint32_t level = below(seed, 8) ? below(seed, 15) : 15 + below(seed, 17);

	memset(e, 0, sizeof(*e));
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
 * Events of random kinds and connections, quickly made: a busy engine has no long pauses, in which
 * others would fill the caches.
 */
static void make_events(struct load *l, uint64_t connections)
{
	for (size_t i = 0; i < BATCH; i++) {
		struct falcon_rue_event *e = &l->events[i];
		uint64_t dice = random64(&l->seed);
		uint32_t connection = (uint32_t)((dice >> 32) * connections >> 32);

		*e = l->kinds[(uint32_t)dice % KINDS];
		falcon_ev_put(e, connection_id, connection);
		falcon_ev_put(e, base_delay_target, connection);
	}
}

/*
 * Process a batch of events; returns the processor time that the engine took, ns, which a busy
 * neighbour changes less than the wall-clock time.
 */
static uint64_t run_batch(struct load *l, struct engine *g, uint64_t connections,
			  enum bench_variant v)
{
	uint32_t ahead = v == PREFETCH || v == ACCESS ? l->options->ahead : 0;
	uint64_t start;

	make_events(l, connections);
	l->now = (l->now + 100) & 0xffffff;
	start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (v == ACCESS)
		rue_process_batch(&only_access, g, l->events, BATCH, l->now, l->results, ahead);
	else if (g->state > LINE)
		rue_process_batch(&wide_swift, g, l->events, BATCH, l->now, l->results, ahead);
	else
		rue_process_batch(&rue_swift, g->swift, l->events, BATCH, l->now, l->results,
				  ahead);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* Events per second over |seconds| of wall-clock time. */
static double run_for(struct load *l, struct engine *g, uint64_t connections,
		      enum bench_variant v, double seconds)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9), events = 0, busy = 0;

	do {
		busy += run_batch(l, g, connections, v);
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

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Variants take turns. The best of their rounds counts, as neighbours only ever slow one down; the
 * median tells how much they have.
 */
static int measure(struct load *l, struct bench_point *p)
{
	const struct bench_options *o = l->options;
	double rate[BENCH_VARIANTS][BENCH_ROUNDS];
	struct engine own = { 0 }, none = { 0 };
	int rc = -1;

	/* Without state of its own: all connections share one that never leaves the cache. */
	if (make_engine(&own, o->config, p->connections, p->state) ||
	    make_engine(&none, o->config, 1, SWIFT_STATE_BYTES))
		goto out;
	for (int round = 0; round < BENCH_ROUNDS; round++)
		for (int v = 0; v < BENCH_VARIANTS; v++)
			rate[v][round] = run_for(l, v == STATELESS ? &none : &own, p->connections,
						 v, o->seconds / BENCH_ROUNDS);
	for (int v = 0; v < BENCH_VARIANTS; v++) {
		qsort(rate[v], BENCH_ROUNDS, sizeof(rate[v][0]), ascending);
		p->median[v] = rate[v][BENCH_ROUNDS / 2];
		p->rate[v] = rate[v][BENCH_ROUNDS - 1];
	}
	rc = 0;
out:
	swift_destroy(own.swift);
	swift_destroy(none.swift);
	return rc;
}

static void print_point(const struct bench_point *p, json_t *list)
{
	json_t *o, *medians;

	if (!list) {
		printf("%8llu %12llu", (unsigned long long)p->state,
		       (unsigned long long)p->connections);
		for (int v = 0; v < BENCH_VARIANTS; v++)
			printf(" %7.2f (%6.2f)", p->rate[v] / 1e6, p->median[v] / 1e6);
		putchar('\n');
		fflush(stdout);
		return;
	}
	o = json_pack("{s:I, s:I}", "state_bytes", (json_int_t)p->state, "connections",
		      (json_int_t)p->connections);
	medians = json_object();
	for (int v = 0; v < BENCH_VARIANTS; v++) {
		json_object_set_new(o, bench_variant_name[v], json_real(p->rate[v]));
		json_object_set_new(medians, bench_variant_name[v], json_real(p->median[v]));
	}
	json_object_set_new(o, "medians", medians);
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
	json_t *all = json_pack("{s:s, s:s, s:i, s:f, s:i, s:s, s:O}", "algorithm", "swift",
				"config", o->config->name, "prefetch_ahead", (int)o->ahead,
				"seconds", o->seconds, "rounds", BENCH_ROUNDS, "unit", "events/s",
				"points", list);

	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(all);
}

static void print_head(const struct bench_options *o)
{
	printf("million events/s, one thread, parameters \"%s\", prefetch %u ahead, best of %d rounds "
	       "(median)\n%8s %12s",
	       o->config->name, o->ahead, BENCH_ROUNDS, "state B", "connections");
	for (int v = 0; v < BENCH_VARIANTS; v++)
		printf(" %16s", bench_variant_name[v]);
	putchar('\n');
}

int bench(const struct bench_options *o)
{
	struct load l = { .options = o, .seed = 0x9e3779b97f4a7c15ULL };
	struct bench_point *points = calloc(BENCH_LIST * BENCH_LIST, sizeof(*points));
	json_t *list = o->json ? json_array() : NULL;
	int rc = 1;

	l.kinds = aligned_alloc(LINE, KINDS * sizeof(*l.kinds));
	l.events = aligned_alloc(LINE, BATCH * sizeof(*l.events));
	l.results = aligned_alloc(LINE, BATCH * sizeof(*l.results));
	if (!points || !l.kinds || !l.events || !l.results) {
		fprintf(stderr, "falcon-rue: out of memory\n");
		goto out;
	}
	for (size_t i = 0; i < KINDS; i++)
		make_kind(&l.kinds[i], &l.seed);
	if (!list)
		print_head(o);
	rc = sweep(&l, list, points) ? 1 : 0;
	if (list && !rc)
		print_json(o, list);
out:
	json_decref(list);
	free(l.kinds);
	free(l.events);
	free(l.results);
	free(points);
	return rc;
}
