/* SPDX-License-Identifier: BSD-2-Clause */
/* The flow control buffer (section 4.D): between the RX logic and the user. */
#ifndef FALCON_RIFL_FLOW_H
#define FALCON_RIFL_FLOW_H

#include "lane.h"

/* Thr_ON and Thr_OFF in frames (equations 24 and 25). */
static inline uint32_t rifl_thr_on(const struct rifl_cfg *cfg)
{
	return cfg->fc_frames / 3 * 2;
}

static inline uint32_t rifl_thr_off(const struct rifl_cfg *cfg)
{
	return cfg->fc_frames / 3;
}

/* The flow control frame due by the queue's length: a pause, a resume, or RIFL_INVALID for none. */
enum rifl_kind rifl_fc_due(const struct rifl_lane *l);

/* Put the data frame |f| into the buffer. Returns false if there is no room. */
bool rifl_fc_put(struct rifl_lane *l, const struct rifl_frame *f);

#endif /* FALCON_RIFL_FLOW_H */
