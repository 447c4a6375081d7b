/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Swift's parts share: a profile made ready for use, and the times of one event.
 *
 * Where they join conditions by | instead of ||, it spares a branch that cannot be predicted.
 */
#ifndef FALCON_RUE_SWIFT_MODEL_H
#define FALCON_RUE_SWIFT_MODEL_H

#include "rue/swift.h"
#include "rue/swift_math.h"

struct swift_model {
	struct swift_params p;
	/* The flow's part of the target delay is alpha / sqrt(fcwnd) + beta (10.3.4). */
	double flow_scaling_alpha;
	double flow_scaling_beta;
	uint32_t max_gap;		/* TW; what |ipg_bits| hold */
	bool tuning;			/* the profile asks for any of swift_tune.h */
};

/* The times an event is judged by, FU. */
struct swift_times {
	uint32_t now;
	uint32_t guard;		/* a window is guarded for this long (10.3.6) */
	uint32_t rtt;		/* for markers and the inter-packet gap */
	uint32_t srtt;		/* smoothed */
	uint32_t delay;		/* smoothed */
	uint32_t target;	/* for |delay| */
};

/* 10.3.4 HasRttElapsed. */
static inline bool swift_rtt_elapsed(const struct swift_times *t, uint32_t marker)
{
	return swift_elapsed(t->now, marker) >= t->guard;
}

/*
 * 10.3.4 UpdateTimeMarker: where the marker of a window that has not moved is to be. It follows the
 * clock one round trip behind, so that it never seems to lie ahead when the clock wraps (10.3.6).
 */
static inline uint32_t swift_trail(const struct swift_times *t, uint32_t marker)
{
	if (swift_elapsed(t->now, marker) > t->rtt)
		return swift_elapsed(t->now, t->rtt);
	return marker;
}

/* 10.3.4 FabricDelayTarget, FU, for a window of |fcwnd| packets and a path of |hops|. */
static inline uint32_t swift_target(const struct swift_model *m, double fcwnd, uint32_t hops)
{
	double flow = m->flow_scaling_alpha / __builtin_sqrt(fcwnd) + m->flow_scaling_beta;
	uint32_t scaling = flow > 0 ? swift_truncate(flow, m->p.max_flow_scaling) : 0;
	uint32_t target = m->p.fabric_base_delay + scaling + m->p.topo_scaling_per_hop * hops;

	return target < SWIFT_TIME_MAX ? target : SWIFT_TIME_MAX;
}

#endif /* FALCON_RUE_SWIFT_MODEL_H */
