/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the paper has the engine compute besides (4.1, 4.6), and the reference does not: the timeouts of
 * RACK and TLP, a connection's share of resources, and how many packets ask for an ACK. Each only if the
 * profile says so.
 */
#ifndef FALCON_RUE_SWIFT_TUNE_H
#define FALCON_RUE_SWIFT_TUNE_H

#include "rue/swift_fabric.h"
#include "rue/swift_model.h"
#include "rue/swift_nic.h"

/* |a| / |b|, but at most 1. */
static inline double swift_part(double a, double b)
{
	return a < b ? a / b : 1;
}

/*
 * Beta: how much of its share a connection makes use of, in 1/256, from 1 on. One that is held back,
 * by its windows, the fabric's delay or the fill |level| of the receiver's buffers, is slow to give
 * back what it holds, and needs less of it.
 */
static inline uint32_t swift_alpha_scale(const struct swift_model *m, const struct swift_times *t,
					 double fcwnd, double ncwnd, uint32_t level)
{
	double w = m->p.alpha_window;
	double beta = swift_part(fcwnd, w) * swift_part(ncwnd, w);
	uint32_t scale;

	/* A retransmission brings no delay, hence no target. */
	if (t->target)
		beta *= swift_part(t->target, t->delay);
	beta *= swift_part(m->p.target_rx_buffer_level + 1.0, level + 1.0);
	scale = swift_round(beta * FALCON_RUE_ALPHA_WHOLE, FALCON_RUE_ALPHA_WHOLE);
	return scale ? scale : 1;
}

/*
 * ACK Request Percent (9.1.3.1): |acks_per_window| packets of a window of |fcwnd| ask for an ACK, so that
 * Swift, which decides once a round trip, gets as many samples of it however large the window.
 */
static inline uint32_t swift_ar_percent(const struct swift_model *m, double fcwnd)
{
	uint32_t percent = swift_round(100 * swift_part(m->p.acks_per_window, fcwnd), 100);

	return percent ? percent : 1;
}

static inline void swift_tune(const struct swift_model *m, const struct swift_times *t, double fcwnd,
			      double ncwnd, uint32_t level, struct falcon_rue_result *r)
{
	const struct swift_params *p = &m->p;
	double srtt = (double)t->srtt;

	falcon_res_put(r, rack_rto, swift_truncate(srtt * p->rack_timeout_scalar, SWIFT_TIME_MAX));
	falcon_res_put(r, tlp_timeout, swift_truncate(srtt * p->tlp_timeout_scalar, SWIFT_TIME_MAX));
	if (p->alpha_window > 0)
		falcon_res_put(r, alpha_scale, swift_alpha_scale(m, t, fcwnd, ncwnd, level));
	if (p->acks_per_window > 0)
		falcon_res_put(r, ar_percent, swift_ar_percent(m, fcwnd));
}

#endif /* FALCON_RUE_SWIFT_TUNE_H */
