// SPDX-License-Identifier: BSD-2-Clause
/* Resources (8.2): the core's accounts as a scenario configures them, and what is true of them. */
#include "check.h"

/* |packets| of each pool, |cells| of those that are buffers. */
static void fill(uint32_t of[FCORE_RESOURCES], uint64_t packets, uint64_t cells)
{
	for (uint32_t r = 0; r < FCORE_RESOURCES; r += 2) {
		of[r] = (uint32_t)packets;
		of[r + 1] = (uint32_t)cells;
	}
}

/* Cells that the longest transaction of the scenario takes. */
static uint64_t cells_a_packet(const struct host *h)
{
	uint64_t cell = h->cfg->tx_cell < h->cfg->rx_cell ? h->cfg->tx_cell : h->cfg->rx_cell;

	return h->sim->frame_len / cell + 1;
}

/* The limits of the host and its functions. */
static void limit_levels(struct host *h)
{
	const struct sim_host_cfg *c = h->cfg;
	uint32_t limit[FCORE_RESOURCES];

	fill(limit, c->host_pool, c->host_pool * cells_a_packet(h));
	if (c->host_pool && fcore_limit_host(h->core, 0, limit))
		abort();
	fill(limit, c->function_pool, c->function_pool * cells_a_packet(h));
	for (uint32_t i = 0; c->function_pool && i < c->functions; i++)
		if (fcore_limit_function(h->core, i, limit))
			abort();
}

uint32_t pool_function(const struct endpoint *e)
{
	return e->cid % (uint32_t)e->host->cfg->functions;
}

void pool_config(struct host *h)
{
	const struct sim_host_cfg *c = h->cfg;
	struct fcore_config cfg;
	uint64_t packets = c->pool, cells = c->pool_cells;

	fcore_config_default(&cfg, h->neps + 1);
	cfg.tx_cell = (uint32_t)c->tx_cell;
	cfg.rx_cell = (uint32_t)c->rx_cell;
	cfg.red_percent = (uint32_t)c->red;
	cfg.alpha = (uint32_t)c->alpha;
	cfg.max_len = h->sim->frame_len;
	/* Twice what all connections can have under way, since a share is of what is free. */
	if (!packets)
		packets = 2 * (uint64_t)(h->neps + 1) * FCORE_MAX_TXNS;
	if (!cells)
		cells = packets * cells_a_packet(h);
	fill(cfg.total, packets, cells < FCORE_NO_LIMIT ? cells : FCORE_NO_LIMIT);
	if (!h->responses)
		h->responses = calloc(SIM_RESPONSES, sizeof(*h->responses));
	if (!h->sinks)
		h->sinks = calloc(SIM_SINKS, sizeof(*h->sinks));
	if (!h->responses || !h->sinks)
		abort();
	cfg.responses = h->responses;
	cfg.responses_count = SIM_RESPONSES;
	cfg.sinks = h->sinks;
	cfg.sinks_count = SIM_SINKS;
	if (c->requests)
		cfg.total[FCORE_NET_PKT_RX] = (uint32_t)c->requests;
	h->core = fcore_create(&host_ops, h, &cfg);
	if (!h->core)
		abort();
	limit_levels(h);
}

void pool_limit(struct endpoint *e)
{
	uint64_t packets = e->host->cfg->conn_pool;
	uint32_t limit[FCORE_RESOURCES];

	if (!packets)
		return;
	fill(limit, packets, packets * cells_a_packet(e->host));
	fcore_limit_conn(e->core, limit);
}

static void check_limits(struct host *h, const struct endpoint *e, const struct fcore_account *a)
{
	for (uint32_t r = 0; r < FCORE_RESOURCES; r++)
		if (a->used[r] > a->limit[r])
			sim_fail(h->sim, e, "host %u: %u of %u %s held", h->index, a->used[r],
				 a->limit[r], fcore_resource_name(r));
}

/* What its connections hold is what |level|'s account |index| says, within its limits. */
static void check_level(struct host *h, enum fcore_level level, uint32_t index, const uint32_t *sum)
{
	const struct fcore_account *a = fcore_resources(h->core, level, index);

	check_limits(h, NULL, a);
	for (uint32_t r = 0; r < FCORE_RESOURCES; r++)
		if (sum[r] != a->used[r])
			sim_fail(h->sim, NULL, "host %u: connections hold %u %s, the %s %u", h->index,
				 sum[r], fcore_resource_name(r), fcore_level_name(level), a->used[r]);
}

void check_pools(struct host *h, bool whole)
{
	uint32_t sum[SIM_MAX_FUNCTIONS][FCORE_RESOURCES] = { 0 }, all[FCORE_RESOURCES] = { 0 };

	check_limits(h, NULL, fcore_resources(h->core, FCORE_LEVEL_NIC, 0));
	for (uint32_t i = 0; whole && i < h->neps; i++) {
		const struct endpoint *e = h->ep[i];
		const struct fcore_account *a;

		if (!e->core)
			continue;
		a = fcore_resources(h->core, FCORE_LEVEL_CONN, e->cid);
		check_limits(h, e, a);
		for (uint32_t r = 0; r < FCORE_RESOURCES; r++)
			sum[pool_function(e)][r] += a->used[r], all[r] += a->used[r];
	}
	if (!whole)
		return;
	check_level(h, FCORE_LEVEL_NIC, 0, all);
	check_level(h, FCORE_LEVEL_HOST, 0, all);
	for (uint32_t i = 0; i < h->cfg->functions; i++)
		check_level(h, FCORE_LEVEL_FUNCTION, i, sum[i]);
}

static void check_empty(struct host *h, const struct fcore_account *a, const char *when)
{
	for (uint32_t r = 0; r < FCORE_RESOURCES; r++)
		if (a->used[r])
			sim_fail(h->sim, NULL, "host %u: %u %s are held at %s", h->index, a->used[r],
				 fcore_resource_name(r), when);
}

void check_pools_full(struct host *h, const char *when)
{
	check_empty(h, fcore_resources(h->core, FCORE_LEVEL_NIC, 0), when);
	check_empty(h, fcore_resources(h->core, FCORE_LEVEL_HOST, 0), when);
	for (uint32_t i = 0; i < h->cfg->functions; i++)
		check_empty(h, fcore_resources(h->core, FCORE_LEVEL_FUNCTION, i), when);
}

static uint64_t cells(const struct host *h, uint32_t len)
{
	return (len + h->cfg->rx_cell - 1) / h->cfg->rx_cell;
}

/* What requests that are not head of line leave free of Net Req Pkt and Buf Rx: of |a|'s, or below it. */
static uint64_t kept(const struct host *h, const struct fcore_account *a, bool nic, int buf)
{
	uint64_t limit = a->limit[FCORE_NET_PKT_RX + buf];
	uint64_t keep = buf ? cells(h, h->sim->frame_len) : 1;
	uint64_t beyond = limit - limit * h->cfg->red / 100;

	return nic && beyond > keep ? beyond : keep;
}

static enum falcon_zone zone_of(const struct host *h, const struct fcore_account *a, bool nic)
{
	enum falcon_zone zone = FALCON_ZONE_GREEN;

	for (int buf = 0; buf < 2; buf++) {
		uint64_t used = a->used[FCORE_NET_PKT_RX + buf], limit = a->limit[FCORE_NET_PKT_RX + buf];

		if (used >= limit)
			return FALCON_ZONE_CLOSED;
		if (used + kept(h, a, nic, buf) >= limit)
			zone = FALCON_ZONE_RED;
	}
	return zone;
}

bool pool_zone_refuses(const struct endpoint *e, const struct falcon_hdr *h)
{
	const struct host *host = e->host;
	enum falcon_zone nic = zone_of(host, fcore_resources(host->core, FCORE_LEVEL_NIC, 0), true);
	enum falcon_zone own = zone_of(host, fcore_resources(host->core, FCORE_LEVEL_CONN, e->cid), false);
	int32_t ahead = falcon_seq_diff(h->rsn, e->shared->rx_acked.next_rsn);

	if (h->type != FALCON_PUSH_DATA && h->type != FALCON_PULL_REQUEST)
		return false;
	if (e->cfg->ordered && ahead < 0)
		return false;
	if (nic == FALCON_ZONE_CLOSED || own == FALCON_ZONE_CLOSED)
		return true;
	return (nic == FALCON_ZONE_RED || own == FALCON_ZONE_RED) && e->cfg->ordered &&
	       ahead >= FALCON_RED_AHEAD;
}

/* 8.2.4: |need| of Net Req Pkt or Buf Rx, which is ahead of the line or not, within the limits. */
static bool beyond_limits(const struct endpoint *e, uint64_t need, int buf, bool ahead)
{
	const uint32_t index[FCORE_LEVELS] = {
		[FCORE_LEVEL_FUNCTION] = pool_function(e), [FCORE_LEVEL_CONN] = e->cid,
	};

	for (int level = 0; level < FCORE_LEVELS; level++) {
		const struct fcore_account *a = fcore_resources(e->host->core, (enum fcore_level)level,
								index[level]);
		uint64_t keep = ahead ? kept(e->host, a, level == FCORE_LEVEL_NIC, buf) : 0;

		if (a->used[FCORE_NET_PKT_RX + buf] + need + keep > a->limit[FCORE_NET_PKT_RX + buf])
			return true;
	}
	return false;
}

/* Paper 4.6: what is head of line on an ordered connection is exempt, and so is a first transaction. */
static bool beyond_share(const struct endpoint *e, uint64_t need, int buf, bool ahead)
{
	const struct fcore_account *nic = fcore_resources(e->host->core, FCORE_LEVEL_NIC, 0);
	const struct fcore_account *own = fcore_resources(e->host->core, FCORE_LEVEL_CONN, e->cid);
	uint64_t taken = nic->used[FCORE_NET_PKT_RX + buf], used = own->used[FCORE_NET_PKT_RX + buf];
	uint64_t limit = nic->limit[FCORE_NET_PKT_RX + buf], free;

	taken += ahead ? kept(e->host, nic, true, buf) : 0;
	free = limit > taken ? limit - taken : 0;
	return (ahead || !e->cfg->ordered) && used &&
	       used + need > free * fcore_conn_alpha(e->core) / FCORE_ALPHA_ONE;
}

bool pool_refuses(const struct endpoint *e, const struct falcon_hdr *h, uint32_t len)
{
	bool ahead = e->cfg->ordered && h->rsn != e->shared->rx_acked.next_rsn;
	const uint64_t need[2] = { 1, h->type == FALCON_PULL_REQUEST ? 1 : cells(e->host, len) };

	if (h->type != FALCON_PUSH_DATA && h->type != FALCON_PULL_REQUEST)
		return false;
	for (int buf = 0; buf < 2; buf++)
		if (need[buf] && (beyond_limits(e, need[buf], buf, ahead) ||
				  beyond_share(e, need[buf], buf, ahead)))
			return true;
	return false;
}
