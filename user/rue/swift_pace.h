/* SPDX-License-Identifier: BSD-2-Clause */
/* When to send next, and when again: inter-packet gap and retransmission timeout. */
#ifndef FALCON_RUE_SWIFT_PACE_H
#define FALCON_RUE_SWIFT_PACE_H

#include "rue/swift_model.h"

/*
 * The gap, TW, that paces a window |w| of less than one. It starts when the packet's predecessor is
 * acknowledged, one round trip after that was sent (10.6.2.1: ipg = 1/R - RTT).
 */
static inline uint32_t swift_window_gap(const struct swift_model *m, double w, uint32_t rtt)
{
	double r = (double)rtt;

	if (w >= 1)
		return 0;
	return swift_round((r / w - r) * m->p.ipg_time_scalar, m->max_gap);
}

/* 10.3.4 ComputeInterPacketGap: of the two windows, the one that paces more. TW. */
static inline uint32_t swift_gap(const struct swift_model *m, double fcwnd, double ncwnd,
				 uint32_t rtt)
{
	uint32_t f = swift_window_gap(m, fcwnd, rtt), n = swift_window_gap(m, ncwnd, rtt);

	return f > n ? f : n;
}

/* The retransmission timeout, FU, with |gap| (TW) to come before the packet leaves. */
static inline uint32_t swift_timeout(const struct swift_model *m, uint32_t srtt, uint32_t gap)
{
	uint32_t r = swift_truncate((double)srtt * m->p.retransmit_timeout_scalar, UINT32_MAX);

	if (gap)
		r = swift_truncate((double)r + (double)gap / m->p.ipg_time_scalar, SWIFT_TIME_MAX);
	r = r < SWIFT_TIME_MAX ? r : SWIFT_TIME_MAX;
	return r > m->p.min_retransmit_timeout ? r : m->p.min_retransmit_timeout;
}

#endif /* FALCON_RUE_SWIFT_PACE_H */
