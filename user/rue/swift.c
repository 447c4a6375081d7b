// SPDX-License-Identifier: BSD-2-Clause
/* Swift behind the engine's interface: profiles, state, and from event to result. */
#include "rue/swift.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "falcon/codes.h"
#include "rue/params.h"
#include "rue/swift_fabric.h"
#include "rue/swift_model.h"
#include "rue/swift_nic.h"
#include "rue/swift_pace.h"
#include "rue/swift_plb.h"
#include "rue/swift_tune.h"

/* Two more codes of an event: none, and a packet outside the receiver's window. */
enum { NACK_NONE = 0, NACK_WINDOW = 5 };

enum { STRIDE_MAX = 4096, CACHE_LINE = 64, HUGE_PAGE = 2 << 20 };

struct swift {
	char *state;		/* |mask| + 1 times 1 << |shift| bytes */
	char *own;		/* as many: |state|, unless that lies with somebody else */
	uint32_t mask;		/* index of a connection to index of its state */
	uint32_t shift;
	uint8_t model_of[SWIFT_PROFILES];
	struct swift_model models[SWIFT_PROFILES];
};

/* The connection as an event brings it, and its result takes it away. */
struct flow {
	struct swift_fabric fabric;
	struct swift_nic nic;
	uint32_t gap;
	bool reroute;
};

static uint32_t power_of_two(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

/* Zeroed memory for the state; in huge pages if it is large, as it is accessed at random. */
static char *make_state(size_t bytes)
{
	size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : STRIDE_MAX;
	void *state;

	if (posix_memalign(&state, align, bytes))
		return NULL;
	if (align == HUGE_PAGE)
		madvise(state, bytes, MADV_HUGEPAGE);	/* a wish */
	return memset(state, 0, bytes);
}

struct swift *swift_create(uint32_t connections, uint32_t stride)
{
	struct swift_params p;
	struct swift *s;

	if (!connections || connections > 1u << SWIFT_INDEX_BITS || stride < SWIFT_STATE_BYTES ||
	    stride > STRIDE_MAX || stride & (stride - 1))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->mask = power_of_two(connections) - 1;
	s->shift = (uint32_t)__builtin_ctz(stride);
	s->own = s->state = make_state(swift_state_bytes(s));
	if (!s->state) {
		free(s);
		return NULL;
	}
	swift_params_default(&p);
	swift_set_profile(s, 0, &p, NULL, 0);
	return s;
}

void swift_destroy(struct swift *s)
{
	if (s)
		free(s->own);
	free(s);
}

size_t swift_state_bytes(const struct swift *s)
{
	return ((size_t)s->mask + 1) << s->shift;
}

void swift_state_move(struct swift *s, void *memory, bool adopt)
{
	char *to = memory ? memory : s->own;

	if (!adopt && to != s->state)
		memcpy(to, s->state, swift_state_bytes(s));
	s->state = to;
}

int swift_set_profile(struct swift *s, unsigned int profile, const struct swift_params *p,
		      char *err, size_t size)
{
	struct swift_model *m;
	int rc;

	if (profile >= SWIFT_PROFILES) {
		snprintf(err, size, "profile %u: there are %d, from 0", profile, SWIFT_PROFILES);
		return -EINVAL;
	}
	rc = swift_params_check(p, err, size);
	if (rc)
		return rc;
	m = &s->models[profile];
	m->p = *p;
	m->flow_scaling_alpha =
		p->max_flow_scaling / (1 / __builtin_sqrt(p->min_flow_scaling_window) -
				       1 / __builtin_sqrt(p->max_flow_scaling_window));
	m->flow_scaling_beta =
		-m->flow_scaling_alpha / __builtin_sqrt(p->max_fabric_congestion_window);
	m->max_gap = (1u << p->ipg_bits) - 1;
	m->tuning = p->rack_timeout_scalar > 0 || p->tlp_timeout_scalar > 0 || p->alpha_window > 0 ||
		    p->acks_per_window > 0;
	s->model_of[profile] = (uint8_t)profile;
	return 0;
}

struct swift_state *swift_state(struct swift *s, uint32_t base_delay_target)
{
	size_t index = base_delay_target & s->mask;

	return (struct swift_state *)(s->state + (index << s->shift));
}

static const struct swift_model *model_of(const struct swift *s, uint32_t base_delay_target)
{
	return &s->models[s->model_of[(base_delay_target >> SWIFT_INDEX_BITS) % SWIFT_PROFILES]];
}

/* 10.1: the delay that the connection has selected, of the event's four times. */
static inline uint32_t select_delay(const struct falcon_rue_event *e, uint32_t rtt)
{
	uint32_t t1 = (uint32_t)falcon_ev_get(e, t1), t2 = (uint32_t)falcon_ev_get(e, t2);
	uint32_t t3 = (uint32_t)falcon_ev_get(e, t3), t4 = (uint32_t)falcon_ev_get(e, t4);

	switch (falcon_ev_get(e, delay_select)) {
	case kRueDelayFabric: return swift_elapsed(rtt, swift_elapsed(t3, t2));
	case kRueDelayFwd: return swift_elapsed(t2, t1);
	case kRueDelayRev: return swift_elapsed(t4, t3);
	default: return rtt;
	}
}

/* The times of an ACK or NACK, for a window of |fcwnd| packets before it. */
static inline struct swift_times ack_times(const struct swift_model *m,
					   const struct falcon_rue_event *e, uint32_t now,
					   double fcwnd)
{
	uint32_t rtt = swift_elapsed((uint32_t)falcon_ev_get(e, t4),
				     (uint32_t)falcon_ev_get(e, t1));
	struct swift_times t = { .now = now, .guard = rtt };

	t.srtt = swift_smooth((uint32_t)falcon_ev_get(e, rtt_state), rtt,
			      m->p.rtt_smoothing_alpha);
	t.rtt = m->p.calc_rtt_smooth ? t.srtt : rtt;
	t.delay = swift_smooth((uint32_t)falcon_ev_get(e, delay_state), select_delay(e, rtt),
			       m->p.delay_smoothing_alpha);
	t.target = swift_target(m, fcwnd, (uint32_t)falcon_ev_get(e, forward_hops));
	return t;
}

/* True if the event tells of a loss by which the profile cuts the fabric window. */
static inline bool is_drop(const struct swift_model *m, const struct falcon_rue_event *e)
{
	if (!m->p.max_decrease_on_eack_nack_drop)
		return false;
	if (falcon_ev_get(e, event_type) == kRueEventTypeNack)
		return falcon_ev_get(e, nack_code) == NACK_WINDOW;
	return falcon_ev_get(e, eack) && falcon_ev_get(e, eack_drop);
}

static inline struct swift_times on_ack(const struct swift_model *m, struct swift_state *s,
					const struct falcon_rue_event *e, uint32_t now,
					struct flow *f)
{
	struct swift_times t = ack_times(m, e, now, f->fabric.window);
	uint32_t code = (uint32_t)falcon_ev_get(e, nack_code);
	uint32_t acked = (uint32_t)falcon_ev_get(e, num_packets_acked);
	double window = f->fabric.window < f->nic.window ? f->fabric.window : f->nic.window;
	double whole;

	/* PLB looks at the windows that the acknowledged packets were sent with. */
	if (m->p.randomize_path && code == NACK_NONE)
		f->reroute = swift_plb(m, &t, &s->plb, window, acked);
	swift_fabric_ack(m, &t, &f->fabric, acked, is_drop(m, e));
	if (falcon_ev_get(e, event_type) == kRueEventTypeNack && code == FALCON_NACK_RESOURCE)
		swift_nic_exhausted(m, &t, &f->nic);
	else
		swift_nic_ack(m, &t, &f->nic, (uint32_t)falcon_ev_get(e, rx_buffer_level));
	whole = (double)(uint32_t)f->nic.window;
	/* May come to 1024, a whole request: the next event then starts from there. */
	s->ncwnd_fraction = (uint16_t)swift_round((f->nic.window - whole) * SWIFT_FIXED_ONE, 1024);
	f->gap = swift_gap(m, f->fabric.window, f->nic.window, t.rtt);
	return t;
}

/* A retransmission brings no measurement, and says nothing about the receiver. */
static inline struct swift_times on_retransmit(const struct swift_model *m,
					       const struct falcon_rue_event *e, uint32_t now,
					       struct flow *f)
{
	uint32_t srtt = (uint32_t)falcon_ev_get(e, rtt_state);
	struct swift_times t = {
		.now = now,
		.guard = srtt,
		.rtt = srtt,
		.srtt = srtt,
		.delay = (uint32_t)falcon_ev_get(e, delay_state),
	};

	swift_fabric_retransmit(m, &t, &f->fabric, (uint32_t)falcon_ev_get(e, retransmit_count));
	f->gap = swift_gap(m, f->fabric.window,
			   swift_clamp(f->nic.window, m->p.min_nic_congestion_window,
				       m->p.max_nic_congestion_window),
			   srtt);
	return t;
}

static inline struct flow unpack(const struct falcon_rue_event *e, const struct swift_state *s)
{
	uint32_t fcwnd = (uint32_t)falcon_ev_get(e, fcwnd_integer)
				 << FALCON_EV_fcwnd_fraction_WIDTH |
			 (uint32_t)falcon_ev_get(e, fcwnd_fraction);

	return (struct flow){
		.fabric.window = fcwnd / SWIFT_FIXED_ONE,
		.fabric.marker = (uint32_t)falcon_ev_get(e, fabric_window_time_marker),
		.nic.window = (double)falcon_ev_get(e, ncwnd) +
			      s->ncwnd_fraction / SWIFT_FIXED_ONE,
		.nic.marker = (uint32_t)falcon_ev_get(e, nic_window_time_marker),
		.nic.increased = falcon_ev_get(e, ncwnd_direction),
	};
}

/* What every result takes over from its event. */
static inline void echo(const struct falcon_rue_event *e, struct falcon_rue_result *r)
{
	falcon_res_put(r, connection_id, falcon_ev_get(e, connection_id));
	falcon_res_put(r, cc_metadata,
		       falcon_ev_get(e, cc_metadata) & ((1u << FALCON_RUE_METADATA_BITS) - 1));
	falcon_res_put(r, event_queue_select, falcon_ev_get(e, event_queue_select));
	falcon_res_put(r, delay_select, falcon_ev_get(e, delay_select));
	falcon_res_put(r, base_delay_target, falcon_ev_get(e, base_delay_target));
	falcon_res_put(r, cc_opaque, falcon_ev_get(e, cc_opaque));
}

static inline void pack(const struct swift_model *m, const struct flow *f,
			const struct swift_times *t, struct falcon_rue_result *r)
{
	uint32_t fcwnd = swift_round(f->fabric.window * SWIFT_FIXED_ONE, (1u << 21) - 1);

	falcon_res_put(r, fcwnd_fraction, fcwnd);
	falcon_res_put(r, fcwnd, fcwnd >> FALCON_RES_fcwnd_fraction_WIDTH);
	falcon_res_put(r, inter_packet_gap, f->gap);
	falcon_res_put(r, retransmit_timeout, swift_timeout(m, t->srtt, f->gap));
	falcon_res_put(r, fabric_window_time_marker, f->fabric.marker);
	falcon_res_put(r, nic_window_time_marker, f->nic.marker);
	falcon_res_put(r, ncwnd_direction, f->nic.increased);
	falcon_res_put(r, delay_state, t->delay);
	falcon_res_put(r, rtt_state, t->srtt);
}

/* Only ACKs and NACKs tell of the receiver. */
static uint32_t level_of(const struct falcon_rue_event *e)
{
	return falcon_ev_get(e, event_type) == kRueEventTypeRetx
		       ? 0
		       : (uint32_t)falcon_ev_get(e, rx_buffer_level);
}

static void swift_process(void *engine, const struct falcon_rue_event *e, uint32_t now,
			  struct falcon_rue_result *result)
{
	uint32_t base = (uint32_t)falcon_ev_get(e, base_delay_target);
	const struct swift_model *m = model_of(engine, base);
	struct swift_state *s = swift_state(engine, base);
	struct falcon_rue_result r = { 0 };
	struct flow f = unpack(e, s);
	uint32_t ncwnd = (uint32_t)falcon_ev_get(e, ncwnd);
	struct swift_times t;

	switch (falcon_ev_get(e, event_type)) {
	case kRueEventTypeAck:
	case kRueEventTypeNack:
		t = on_ack(m, s, e, now, &f);
		ncwnd = (uint32_t)f.nic.window;
		break;
	case kRueEventTypeRetx: t = on_retransmit(m, e, now, &f); break;
	default: rue_fixed.process(NULL, e, now, result); return;	/* a reserved type */
	}
	echo(e, &r);
	pack(m, &f, &t, &r);
	falcon_res_put(&r, ncwnd, ncwnd);
	if (m->tuning)
		swift_tune(m, &t, f.fabric.window, f.nic.window, level_of(e), &r);
	/* The lower bit of the opaque field asks for another path by itself. */
	falcon_res_put(&r, randomize_path,
		       f.reroute || (m->p.randomize_path && falcon_ev_get(e, cc_opaque) & 1));
	*result = r;
}

static void swift_prefetch(void *engine, const struct falcon_rue_event *e)
{
	struct swift *s = engine;
	const char *state =
		(const char *)swift_state(s, (uint32_t)falcon_ev_get(e, base_delay_target));

	/*
	 * To the second level: the first has few misses under way at a time, and events need them.
	 */
	for (uint32_t at = 0; at < 1u << s->shift; at += CACHE_LINE)
		__builtin_prefetch(state + at, 0, 2);
}

static int set_profile(void *engine, uint32_t profile, const char *const *params, char *err,
		       size_t size)
{
	struct swift_params p;

	swift_params_default(&p);
	for (; params && *params; params++)
		if (swift_params_set_pair(&p, *params, err, size))
			return -EINVAL;
	return swift_set_profile(engine, profile, &p, err, size);
}

static void *create(uint32_t flows, const char *const *params, char *err, size_t size)
{
	struct swift *s = swift_create(flows, SWIFT_STATE_BYTES);

	if (!s) {
		snprintf(err, size, "no memory for %u flows, or not 1 to %u of them", flows,
			 1u << SWIFT_INDEX_BITS);
		return NULL;
	}
	if (set_profile(s, 0, params, err, size)) {
		swift_destroy(s);
		return NULL;
	}
	return s;
}

static void reset(void *engine, uint32_t base_delay_target)
{
	*swift_state(engine, base_delay_target) = (struct swift_state){ 0 };
}

static void destroy(void *engine)
{
	swift_destroy(engine);
}

const struct rue_algorithm rue_swift = {
	.abi = FALCON_RUE_ABI,
	.size = sizeof(rue_swift),
	.name = "swift",
	.create = create,
	.destroy = destroy,
	.process = swift_process,
	.prefetch = swift_prefetch,
	.reset = reset,
	.set_profile = set_profile,
};
