// SPDX-License-Identifier: BSD-2-Clause
/*
 * How full the receiver is, as ACKs tell it (Falcon 10.2), of the two pools that the agent has on
 * each socket: frames that the core and upper layers hold, and frames that wait in the receive ring,
 * for which XDP has used credits. Each has its moving average; the fuller one counts.
 */
#include "agent/rue.h"

enum {
	LEVELS = 32,
	/* What may be held before the fill ring runs short. */
	POOL_HELD = XSK_RX_FRAMES - XSK_FILL_TARGET,
	POOL_WAITING = XSK_FILL_TARGET,
	ONE = 256,		/* a frame, in averages */
};

static void average(uint32_t *ema, uint32_t frames, uint32_t percent)
{
	*ema = (*ema * (100 - percent) + frames * ONE * percent) / 100;
}

/* 10.2 with levels that divide the pool evenly. */
static uint32_t quantize(uint32_t ema, uint32_t pool)
{
	uint32_t level = (uint32_t)((uint64_t)ema * LEVELS / ((uint64_t)pool * ONE));

	return level < LEVELS ? level : LEVELS - 1;
}

uint32_t agent_rx_level(const struct agent *a, struct xsk *x)
{
	const struct agent_options *o = &a->config.agent;
	int64_t credits = falcon_load(&x->credit->credits);
	uint32_t held = XSK_RX_FRAMES - x->rx_nfree - x->in_fill;
	uint32_t waiting = credits < (int64_t)x->in_fill
				   ? (uint32_t)((int64_t)x->in_fill - (credits > 0 ? credits : 0))
				   : 0;
	uint32_t by_held, by_waiting;

	average(&x->held_ema, held, o->rx_ema_packets);
	average(&x->waiting_ema, waiting, o->rx_ema_ring);
	by_held = quantize(x->held_ema, POOL_HELD);
	by_waiting = quantize(x->waiting_ema, POOL_WAITING);
	return by_held > by_waiting ? by_held : by_waiting;
}
