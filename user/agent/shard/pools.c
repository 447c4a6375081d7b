// SPDX-License-Identifier: BSD-2-Clause
/*
 * The core's resource pools (core/resource.h): how large they are, and their table for falconctl.
 *
 * What the core holds of received packets are frames of the AF_XDP sockets: network requests, and
 * pull data that came too early. Pools that promise more frames than there are would let requests
 * that wait use up what the request that they wait for arrives in. So each shard's core has its part of what
 * there is, though a frame may come by any shard's queue.
 */
#include "agent/shard/shard.h"

#include "agent/shard/plane.h"

#include <stdio.h>

enum { FRAMES_NET = 5, FRAMES_ALL = 8 };	/* of frames, so many eighths for network requests */

/* Frames of all sockets that one shard may hold without starving their fill rings. */
static uint64_t frames_to_hold(const struct plane *p)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < p->nports; i++)
		n += (uint64_t)p->ports[i].nqueues * (XSK_RX_FRAMES - XSK_FILL_TARGET);
	return n / p->nshards;
}

/* A packet takes at least one cell, and a frame holds so many. */
static uint64_t cells(uint64_t frames, uint32_t cell)
{
	return cell < XSK_FRAME_SIZE ? frames * (XSK_FRAME_SIZE / cell) : frames;
}

static void set(uint32_t *total, uint64_t value)
{
	*total = (uint32_t)(value < FCORE_NO_LIMIT ? value : FCORE_NO_LIMIT);
}

void agent_pools_config(const struct plane *p, struct fcore_config *cfg)
{
	const struct pool_options *opt = &p->config->agent.pools;
	uint64_t frames = frames_to_hold(p), net = frames * FRAMES_NET / FRAMES_ALL;

	fcore_config_default(cfg, p->maps.nconns);
	cfg->tx_cell = FCORE_MIN_CELL << opt->tx_cell;
	cfg->rx_cell = FCORE_MIN_CELL << opt->rx_cell;
	cfg->max_len = XSK_MAX_FRAME;
	cfg->functions = CONFIG_FUNCTIONS;
	cfg->red_percent = opt->red_percent;
	cfg->rx_ema[0] = p->config->agent.rx_ema_packets;
	cfg->rx_ema[1] = p->config->agent.rx_ema_buffers;
	set(&cfg->total[FCORE_NET_PKT_RX], net);
	set(&cfg->total[FCORE_NET_BUF_RX], cells(net, cfg->rx_cell));
	set(&cfg->total[FCORE_REQ_BUF_RX], cells(frames - net, cfg->rx_cell));
	for (int r = 0; r < FCORE_RESOURCES; r++)
		if (opt->total[r])
			cfg->total[r] = (opt->total[r] + p->nshards - 1) / p->nshards;
}

void agent_pools_limit(struct shard *s, const struct fcore_config *cfg)
{
	const struct pool_options *opt = &s->plane->config->agent.pools;
	uint32_t host[FCORE_RESOURCES], function[FCORE_RESOURCES];

	for (int r = 0; r < FCORE_RESOURCES; r++) {
		uint64_t total = cfg->total[r];

		set(&host[r], total * opt->host_percent / 100);
		set(&function[r], total * opt->function_percent / 100);
	}
	if (opt->host_percent < 100)
		fcore_limit_host(s->core, 0, host);
	for (uint32_t i = 0; opt->function_percent < 100 && i < cfg->functions; i++)
		fcore_limit_function(s->core, i, function);
}
