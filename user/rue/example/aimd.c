// SPDX-License-Identifier: BSD-2-Clause
/*
 * A complete congestion control algorithm for falcond in a shared object: additive increase,
 * multiplicative decrease, driven by losses and by ECN marks.
 *
 *	cc -O2 -Wall -shared -fPIC -I/usr/local/include -o aimd.so aimd.c
 *	falconctl rue set CONNECTION /path/to/aimd.so
 *
 * It keeps, of each flow, the count of marked packets that the last event has reported; everything
 * else it needs travels in events and results.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/rue_engine.h>

enum {
	ONE = 1024,		/* a packet, in the 11.10 fixed point of windows */
	MAX_WINDOW = 2047,	/* packets */
};

struct flow {
	uint16_t ecn;		/* the peer's count of marked packets, modulo 2^14 */
};

struct engine {
	uint32_t increase;	/* packets a round trip */
	uint32_t percent;	/* of the window that a loss or a mark leaves */
	uint32_t flows;
	struct flow flow[];
};

/* "name=value" with a value from 1 to |max| into |*to|. 0: another name; -1: no such value. */
static int setting(const char *text, const char *name, unsigned long max, uint32_t *to)
{
	size_t n = strlen(name);
	unsigned long v;
	char *end;

	if (strncmp(text, name, n) || text[n] != '=')
		return 0;
	v = strtoul(text + n + 1, &end, 10);
	if (*end || v < 1 || v > max)
		return -1;
	*to = (uint32_t)v;
	return 1;
}

static void *create(uint32_t flows, const char *const *params, char *err, size_t size)
{
	struct engine *g = calloc(1, sizeof(*g) + flows * sizeof(g->flow[0]));

	if (!g) {
		snprintf(err, size, "out of memory");
		return NULL;
	}
	g->flows = flows;
	g->increase = 1;
	g->percent = 50;
	for (; params && *params; params++) {
		int known = setting(*params, "increase", MAX_WINDOW, &g->increase);

		if (!known)
			known = setting(*params, "percent", 99, &g->percent);
		if (known <= 0) {
			snprintf(err, size, "%s: want increase=1..%d (packets) or percent=1..99",
				 *params, MAX_WINDOW);
			free(g);
			return NULL;
		}
	}
	return g;
}

static struct flow *flow_of(struct engine *g, uint32_t base_delay_target)
{
	return &g->flow[(base_delay_target & ((1u << FALCON_RUE_INDEX_BITS) - 1)) % g->flows];
}

static void reset(void *engine, uint32_t base_delay_target)
{
	flow_of(engine, base_delay_target)->ecn = 0;
}

/* True if |e| tells of a loss, or of packets marked since the last event. */
static int is_congested(struct flow *f, const struct falcon_rue_event *e)
{
	uint16_t ecn = (uint16_t)falcon_ev_get(e, ecn_accumulated), before = f->ecn;

	if (falcon_ev_get(e, event_type) == kRueEventTypeRetx)
		return 1;	/* such an event has no count of marks */
	f->ecn = ecn;
	return falcon_ev_get(e, eack_drop) || ecn != before;
}

/* The fabric window after |e|, at least one packet. */
static uint64_t new_window(const struct engine *g, struct flow *f, const struct falcon_rue_event *e,
			   uint32_t now, uint32_t *marker)
{
	uint64_t w = falcon_ev_get(e, fcwnd_integer) * ONE + falcon_ev_get(e, fcwnd_fraction);
	uint64_t acked = falcon_ev_get(e, num_packets_acked);
	uint32_t since = (now - *marker) & 0xffffff;

	if (!is_congested(f, e)) {
		w += w ? acked * g->increase * ONE * ONE / w : ONE;
	} else if (since >= falcon_ev_get(e, rtt_state)) {
		/* Once a round trip. */
		w = w * g->percent / 100;
		*marker = now;
	}
	if (w < ONE)
		w = ONE;
	return w > MAX_WINDOW * (uint64_t)ONE ? MAX_WINDOW * (uint64_t)ONE : w;
}

static uint32_t smooth(uint32_t old, uint32_t sample)
{
	return old ? old - old / 8 + sample / 8 : sample;
}

static void process(void *engine, const struct falcon_rue_event *e, uint32_t now,
		    struct falcon_rue_result *r)
{
	uint32_t base = (uint32_t)falcon_ev_get(e, base_delay_target);
	uint32_t marker = (uint32_t)falcon_ev_get(e, fabric_window_time_marker);
	uint32_t rtt = (uint32_t)falcon_ev_get(e, rtt_state);
	uint32_t sample = (uint32_t)(falcon_ev_get(e, t4) - falcon_ev_get(e, t1)) & 0xffffff;
	uint64_t w = new_window(engine, flow_of(engine, base), e, now, &marker);

	if (falcon_ev_get(e, event_type) != kRueEventTypeRetx)
		rtt = smooth(rtt, sample);
	/* What identifies the flow comes back as it was. */
	falcon_res_put(r, connection_id, falcon_ev_get(e, connection_id));
	falcon_res_put(r, base_delay_target, base);
	falcon_res_put(r, event_queue_select, falcon_ev_get(e, event_queue_select));
	falcon_res_put(r, delay_select, falcon_ev_get(e, delay_select));
	falcon_res_put(r, cc_opaque, falcon_ev_get(e, cc_opaque));
	falcon_res_put(r, fcwnd, w / ONE);
	falcon_res_put(r, fcwnd_fraction, w % ONE);
	falcon_res_put(r, ncwnd, falcon_ev_get(e, ncwnd));
	falcon_res_put(r, retransmit_timeout, falcon_ev_get(e, retransmit_timeout));
	falcon_res_put(r, fabric_window_time_marker, marker);
	falcon_res_put(r, delay_state, sample);
	falcon_res_put(r, rtt_state, rtt);
}

const struct rue_algorithm falcon_rue_algorithm = {
	.abi = FALCON_RUE_ABI,
	.size = sizeof(struct rue_algorithm),
	.name = "aimd",
	.create = create,
	.destroy = free,
	.process = process,
	.reset = reset,
};
