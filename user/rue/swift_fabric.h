/* SPDX-License-Identifier: BSD-2-Clause */
/* Swift's fabric window, fcwnd, in packets (Falcon 10.3.1, 10.3.2). */
#ifndef FALCON_RUE_SWIFT_FABRIC_H
#define FALCON_RUE_SWIFT_FABRIC_H

#include "rue/swift_model.h"

struct swift_fabric {
	double window;		/* packets, not rounded to the event's 10 bits of fraction */
	uint32_t marker;
};

/*
 * * Clamp the new window |w| and move the marker. A window at its minimum counts as cut: there,
 * nothing may be cut for a round trip either.
 */
static inline void swift_fabric_set(const struct swift_model *m, const struct swift_times *t,
				    struct swift_fabric *f, double w)
{
	double min = m->p.min_fabric_congestion_window;

	w = swift_clamp(w, min, m->p.max_fabric_congestion_window);
	if ((w < f->window) | (w == min))
		f->marker = t->now;
	else
		f->marker = swift_trail(t, f->marker);
	f->window = w;
}

/*
 * An ACK, or a NACK of any kind. |acked|: packets acknowledged since the last event. |dropped|: it
 * tells of a loss, and the profile cuts on those, whatever the delay.
 */
static inline void swift_fabric_ack(const struct swift_model *m, const struct swift_times *t,
				    struct swift_fabric *f, uint32_t acked, bool dropped)
{
	const struct swift_params *p = &m->p;
	double w = f->window;

	if (dropped) {
		if (swift_rtt_elapsed(t, f->marker))
			w *= 1 - p->max_fabric_multiplicative_decrease;
	} else if (t->delay < t->target) {
		double increase = p->fabric_additive_increment_factor * (double)acked;

		w += w >= 1 ? increase / w : increase;
	} else if (swift_rtt_elapsed(t, f->marker)) {
		w *= swift_decrease(t->delay, t->target, p->fabric_multiplicative_decrease_factor,
				    p->max_fabric_multiplicative_decrease);
	}
	swift_fabric_set(m, t, f, w);
}

/* A retransmission, the |count|th in sequence: the first one halves, the last one gives up. */
static inline void swift_fabric_retransmit(const struct swift_model *m,
					   const struct swift_times *t, struct swift_fabric *f,
					   uint32_t count)
{
	const struct swift_params *p = &m->p;
	double w = f->window;

	if (swift_rtt_elapsed(t, f->marker)) {
		if (count == 1)
			w *= 1 - p->max_fabric_multiplicative_decrease;
		else if (count >= p->retransmit_limit)
			w = p->min_fabric_congestion_window;
	}
	swift_fabric_set(m, t, f, w);
}

#endif /* FALCON_RUE_SWIFT_FABRIC_H */
