/* SPDX-License-Identifier: BSD-2-Clause */
/* Swift's NIC window, ncwnd, in requests (Falcon 10.3.1, 10.3.3). */
#ifndef FALCON_RUE_SWIFT_NIC_H
#define FALCON_RUE_SWIFT_NIC_H

#include "rue/swift_model.h"

struct swift_nic {
	double window;		/* requests */
	uint32_t marker;
	bool increased;		/* the last change was one upwards */
};

/*
 * Clamp the new window |w|, and take direction and marker from what came of it. The lower bound
 * counts as a decrease and the upper one as an increase, whatever led there.
 */
static inline void swift_nic_set(const struct swift_model *m, const struct swift_times *t,
				 struct swift_nic *n, double w)
{
	double min = m->p.min_nic_congestion_window, max = m->p.max_nic_congestion_window;

	w = swift_clamp(w, min, max);
	if ((w < n->window) | (w == min)) {
		n->increased = false;
		n->marker = t->now;
	} else if ((w > n->window) | (w == max)) {
		n->increased = true;
		n->marker = t->now;
	} else {
		n->marker = swift_trail(t, n->marker);
	}
	n->window = w;
}

/*
 * * An ACK, or a NACK with another reason than exhausted resources. The window moves once a round
 * trip in each direction, |level| being the fill of the receiver's buffers, 0 to 31.
 */
static inline void swift_nic_ack(const struct swift_model *m, const struct swift_times *t,
				 struct swift_nic *n, uint32_t level)
{
	const struct swift_params *p = &m->p;
	bool elapsed = swift_rtt_elapsed(t, n->marker);
	double w = n->window;

	if (level < p->target_rx_buffer_level) {
		if (!n->increased | elapsed)
			w += p->nic_additive_increment_factor;
	} else if (elapsed) {
		w *= swift_decrease(level, p->target_rx_buffer_level,
				    p->nic_multiplicative_decrease_factor,
				    p->max_nic_multiplicative_decrease);
	}
	swift_nic_set(m, t, n, w);
}

/* A NACK: the receiver had no room. */
static inline void swift_nic_exhausted(const struct swift_model *m, const struct swift_times *t,
				       struct swift_nic *n)
{
	double w = n->window;

	if (n->increased || swift_rtt_elapsed(t, n->marker))
		w *= 1 - m->p.max_nic_multiplicative_decrease;
	swift_nic_set(m, t, n, w);
}

#endif /* FALCON_RUE_SWIFT_NIC_H */
