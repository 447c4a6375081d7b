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

#include <stdio.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/rows.h"
#include "agent/stats/stat.h"

enum { FRAMES_NET = 5, FRAMES_ALL = 8 };	/* of frames, so many eighths for network requests */

/* Frames of all sockets that one shard may hold without starving their fill rings. */
static uint64_t frames_to_hold(const struct agent *a)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < a->nports; i++)
		n += (uint64_t)a->ports[i].nqueues * (XSK_RX_FRAMES - XSK_FILL_TARGET);
	return n / a->nshards;
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

void agent_pools_config(const struct agent *a, struct fcore_config *cfg)
{
	const struct pool_options *opt = &a->config.agent.pools;
	uint64_t frames = frames_to_hold(a), net = frames * FRAMES_NET / FRAMES_ALL;

	fcore_config_default(cfg, a->maps.nconns);
	cfg->tx_cell = FCORE_MIN_CELL << opt->tx_cell;
	cfg->rx_cell = FCORE_MIN_CELL << opt->rx_cell;
	cfg->max_len = XSK_MAX_FRAME;
	cfg->functions = CONFIG_FUNCTIONS;
	cfg->red_percent = opt->red_percent;
	cfg->rx_ema[0] = a->config.agent.rx_ema_packets;
	cfg->rx_ema[1] = a->config.agent.rx_ema_buffers;
	set(&cfg->total[FCORE_NET_PKT_RX], net);
	set(&cfg->total[FCORE_NET_BUF_RX], cells(net, cfg->rx_cell));
	set(&cfg->total[FCORE_REQ_BUF_RX], cells(frames - net, cfg->rx_cell));
	for (int r = 0; r < FCORE_RESOURCES; r++)
		if (opt->total[r])
			cfg->total[r] = (opt->total[r] + a->nshards - 1) / a->nshards;
}

void agent_pools_limit(struct shard *s, const struct fcore_config *cfg)
{
	const struct pool_options *opt = &s->agent->config.agent.pools;
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

void pool_now(const struct fcore_account *acc, unsigned int resource, struct pool_now *out)
{
	*out = (struct pool_now){
		.used = acc->used[resource],
		.high = acc->high[resource],
		.limit = acc->limit[resource],
		.refused = acc->refused[resource],
	};
}

static void show_account(json_t *rows, enum fcore_level level, const char *name,
			 const struct fcore_account *acc)
{
	for (int r = 0; r < FCORE_RESOURCES; r++) {
		json_t *row = json_pack("{s:s, s:s, s:s}", "level", fcore_level_name(level), "name", name,
					"resource", fcore_resource_name((enum fcore_resource)r));
		struct pool_now now;

		pool_now(acc, (unsigned int)r, &now);
		STAT_PUT(row, POOL_NOW, &now);
		if (acc->limit[r] == FCORE_NO_LIMIT)
			json_object_set_new(row, "limit", json_null());
		json_array_append_new(rows, row);
	}
}

static bool was_used(const struct fcore_account *acc)
{
	for (int r = 0; r < FCORE_RESOURCES; r++)
		if (acc->high[r] || acc->refused[r])
			return true;
	return false;
}

static void show_shared(const struct fcore *core, json_t *rows)
{
	const struct fcore_account *acc;
	char name[16];

	show_account(rows, FCORE_LEVEL_NIC, "", fcore_resources(core, FCORE_LEVEL_NIC, 0));
	for (int level = FCORE_LEVEL_HOST; level < FCORE_LEVEL_CONN; level++) {
		for (uint32_t i = 0; (acc = fcore_resources(core, (enum fcore_level)level, i)); i++) {
			snprintf(name, sizeof(name), "%u", i);
			if (was_used(acc))
				show_account(rows, (enum fcore_level)level, name, acc);
		}
	}
}

void agent_show_pool(struct agent *a, const struct show_query *q, json_t *rows)
{
	const struct agent_conn *only = q->only;
	const struct fcore_account *acc;

	if (only) {
		acc = fcore_resources(only->shard->core, FCORE_LEVEL_CONN, only->cfg.local_cid);
		if (acc)
			show_account(rows, FCORE_LEVEL_CONN, only->cfg.name, acc);
		return;
	}
	for (unsigned int i = 0; i < a->nshards; i++)
		show_shared(a->shards[i].core, rows);
}
