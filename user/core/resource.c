/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The accounts of resource.h: allocation and release at four levels, zones, isolation.
 *
 * Network requests. 8.2.4: beyond a threshold of the pools only head-of-line requests are admitted.
 * The same must hold under every lower limit, or a connection could fill its own with requests that
 * wait for the one that no longer fits: those that are not head of line leave room for one request
 * of the largest size at each level. What is admitted into that room is delivered at once, so a
 * head-of-line request that finds it taken finds it taken by another one (CR rule 3).
 *
 * Isolation. T = alpha * free (paper 4.6) bounds what a connection may hold of each resource. What
 * is head of line on an ordered connection is exempt, since all behind it hold theirs until it came.
 */
#include "core/parts.h"

#include <errno.h>

enum {
	DEFAULT_TXNS = 64 * FCORE_MAX_TXNS,	/* packets in each pool by default */
	DEFAULT_CELL = 1024,
	DEFAULT_CELLS = DEFAULT_TXNS * 4,	/* a packet fills the largest MTU XDP takes by itself */
	DEFAULT_FUNCTIONS = 16,
	DEFAULT_RED_PERCENT = 75,
	DEFAULT_RX_EMA = 25,		/* percent */
	MAX_ACCOUNTS = 65536,		/* hosts, functions */
};

static bool is_buf(unsigned int r)
{
	return r & 1;
}

static bool is_tx(unsigned int r)
{
	return r == FCORE_REQ_PKT_TX || r == FCORE_REQ_BUF_TX || r == FCORE_DATA_PKT_TX ||
	       r == FCORE_DATA_BUF_TX;
}

void fcore_config_default(struct fcore_config *cfg, uint32_t max_conns)
{
	*cfg = (struct fcore_config){
		.max_conns = max_conns,
		.hosts = 1,
		.functions = DEFAULT_FUNCTIONS,
		.tx_cell = DEFAULT_CELL,
		.rx_cell = DEFAULT_CELL,
		.max_len = FALCON_MAX_REQUEST_LEN,
		.red_percent = DEFAULT_RED_PERCENT,
		.alpha = FCORE_ALPHA_ONE,
		.rx_ema = { DEFAULT_RX_EMA, DEFAULT_RX_EMA },
	};
	for (unsigned int r = 0; r < FCORE_RESOURCES; r++)
		cfg->total[r] = is_buf(r) ? DEFAULT_CELLS : DEFAULT_TXNS;
}

static bool is_cell(uint32_t bytes)
{
	return bytes >= FCORE_MIN_CELL && bytes <= FCORE_MAX_CELL && (bytes & (bytes - 1)) == 0;
}

/* ceiling(L/N), N being 1 << |shift|. */
static uint32_t cells(const struct fcore *core, uint32_t len, uint32_t shift)
{
	return (fc_min(len, core->max_len) + (1U << shift) - 1) >> shift;
}

/* What the largest transaction takes of |r|. */
static uint32_t largest(const struct fcore *core, unsigned int r)
{
	if (!is_buf(r))
		return 1;
	return cells(core, core->max_len, is_tx(r) ? core->tx_shift : core->rx_shift);
}

static void set_limits(const struct fcore *core, struct fcore_account *a, const uint32_t *limit)
{
	for (unsigned int r = 0; r < FCORE_RESOURCES; r++) {
		uint32_t least = largest(core, r);

		a->limit[r] = fc_min(limit[r] > least ? limit[r] : least, FCORE_NO_LIMIT);
	}
}

static void set_no_limits(struct fcore_account *a)
{
	for (unsigned int r = 0; r < FCORE_RESOURCES; r++)
		a->limit[r] = FCORE_NO_LIMIT;
}

/* What requests that are not head of line leave free, at the NIC and at each lower level. */
static void set_zones(struct fcore *core, uint32_t red_percent)
{
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int r = FCORE_NET_PKT_RX + i;
		uint32_t total = core->nic.limit[r];
		uint32_t beyond = total - (uint32_t)((uint64_t)total * red_percent / 100);

		core->keep[i] = largest(core, r);
		core->keep_nic[i] = beyond > core->keep[i] ? beyond : core->keep[i];
	}
}

bool fc_res_config_ok(const struct fcore_config *cfg)
{
	return is_cell(cfg->tx_cell) && is_cell(cfg->rx_cell) &&
	       cfg->hosts - 1 < MAX_ACCOUNTS && cfg->functions - 1 < MAX_ACCOUNTS &&
	       cfg->max_len && cfg->max_len <= FALCON_MAX_REQUEST_LEN && cfg->red_percent <= 100 &&
	       cfg->rx_ema[0] - 1 < 100 && cfg->rx_ema[1] - 1 < 100;
}

void fc_res_open(struct fcore *core, const struct fcore_config *cfg)
{
	core->function = core->host + cfg->hosts;
	core->hosts = cfg->hosts;
	core->functions = cfg->functions;
	core->tx_shift = (uint32_t)__builtin_ctz(cfg->tx_cell);
	core->rx_shift = (uint32_t)__builtin_ctz(cfg->rx_cell);
	core->max_len = cfg->max_len;
	core->alpha = cfg->alpha;
	set_limits(core, &core->nic, cfg->total);
	for (uint32_t i = 0; i < cfg->hosts + cfg->functions; i++)
		set_no_limits(&core->host[i]);
	set_zones(core, cfg->red_percent);
	fc_rx_level_open(core, cfg->rx_ema);
	fc_list_init(&core->xon.list);
	fc_list_init(&core->data.list);
}

static void set_share(struct fcore_conn *c, uint32_t percent)
{
	uint32_t limit[FCORE_RESOURCES];

	if (!percent || percent >= 100) {
		set_no_limits(&c->own);
		return;
	}
	for (unsigned int r = 0; r < FCORE_RESOURCES; r++)
		limit[r] = (uint32_t)((uint64_t)c->core->nic.limit[r] * percent / 100);
	set_limits(c->core, &c->own, limit);
}

bool fc_res_conn_open(struct fcore_conn *c)
{
	struct fcore *core = c->core;

	if (c->params.host >= core->hosts || c->params.local_function >= core->functions)
		return false;
	c->account[FCORE_LEVEL_NIC] = &core->nic;
	c->account[FCORE_LEVEL_HOST] = &core->host[c->params.host];
	c->account[FCORE_LEVEL_FUNCTION] = &core->function[c->params.local_function];
	c->account[FCORE_LEVEL_CONN] = &c->own;
	set_share(c, c->params.pool_percent);
	c->alpha = c->params.alpha_percent ? c->params.alpha_percent * FCORE_ALPHA_ONE / 100
					   : core->alpha;
	c->scaled_alpha = c->alpha;
	fc_list_init(&c->xon_link);
	fc_list_init(&c->data_link);
	return true;
}

struct fc_need fc_need_request(const struct fcore *core, bool pull, uint32_t len)
{
	struct fc_need k = { .first = FCORE_REQ_PKT_TX, .n = 4, .of = { 1, 1, 1, 0 } };

	if (pull)
		k.of[3] = cells(core, len, core->rx_shift);
	else
		k.of[1] = cells(core, len, core->tx_shift);
	return k;
}

static struct fc_need need_data(const struct fcore *core, uint32_t len)
{
	return (struct fc_need){ .first = FCORE_DATA_PKT_TX, .n = 2,
				 .of = { 1, cells(core, len, core->tx_shift) } };
}

/* An allocation that fails. */
struct obstacle {
	struct fcore_account *account;	/* NULL: it succeeds */
	unsigned int resource;
};

/* |k| beside |keep|, which is to stay free, under the limits of |a|. */
static struct obstacle beyond_limit(struct fcore_account *a, const struct fc_need *k,
				    const uint32_t *keep)
{
	for (unsigned int i = 0; i < k->n; i++) {
		unsigned int r = k->first + i;

		if (k->of[i] && a->used[r] + k->of[i] + keep[i] > a->limit[r])
			return (struct obstacle){ a, r };
	}
	return (struct obstacle){ NULL, 0 };
}

/* T: what |c| may hold of |r|; |keep| of the pool is not counted as free. */
static uint64_t threshold(const struct fcore_conn *c, unsigned int r, uint32_t keep)
{
	const struct fcore_account *nic = &c->core->nic;
	uint64_t taken = (uint64_t)nic->used[r] + keep;
	uint64_t free = nic->limit[r] > taken ? nic->limit[r] - taken : 0;

	return free * c->scaled_alpha / FCORE_ALPHA_ONE;
}

/* |k| under the threshold of |c|, which may hold one transaction whatever that is. */
static struct obstacle beyond_share(struct fcore_conn *c, const struct fc_need *k,
				    const uint32_t *keep)
{
	for (unsigned int i = 0; i < k->n; i++) {
		unsigned int r = k->first + i;
		uint32_t used = c->own.used[r];

		if (k->of[i] && used && used + k->of[i] > threshold(c, r, keep[i]))
			return (struct obstacle){ &c->own, r };
	}
	return (struct obstacle){ NULL, 0 };
}

static const uint32_t keep_none[4];

static struct obstacle beyond_limits(struct fcore_conn *c, const struct fc_need *k, bool ahead)
{
	struct obstacle o = beyond_limit(&c->core->nic, k, ahead ? c->core->keep_nic : keep_none);

	for (int level = FCORE_LEVEL_HOST; !o.account && level < FCORE_LEVELS; level++)
		o = beyond_limit(c->account[level], k, ahead ? c->core->keep : keep_none);
	return o;
}

/* What stands against an allocation for a request or response of the upper layer. */
static struct obstacle against(struct fcore_conn *c, const struct fc_need *k)
{
	struct obstacle o = beyond_limits(c, k, false);

	return o.account ? o : beyond_share(c, k, keep_none);
}

static void take(struct fcore_conn *c, const struct fc_need *k)
{
	for (int level = 0; level < FCORE_LEVELS; level++) {
		struct fcore_account *a = c->account[level];

		for (unsigned int r = k->first, i = 0; i < k->n; i++, r++) {
			a->used[r] += k->of[i];
			a->high[r] = a->used[r] > a->high[r] ? a->used[r] : a->high[r];
		}
	}
}

static void give(struct fcore_conn *c, const struct fc_need *k)
{
	for (int level = 0; level < FCORE_LEVELS; level++)
		for (unsigned int r = k->first, i = 0; i < k->n; i++, r++)
			c->account[level]->used[r] -= k->of[i];
}

static bool take_unless(struct fcore_conn *c, const struct fc_need *k, struct obstacle o)
{
	if (o.account)
		o.account->refused[o.resource]++;
	else
		take(c, k);
	return !o.account;
}

bool fc_res_fits(struct fcore_conn *c, const struct fc_need *k)
{
	return !against(c, k).account;
}

bool fc_res_take_request(struct fcore_conn *c, const struct fc_need *k)
{
	return take_unless(c, k, against(c, k));
}

void fc_res_give_request_tx(struct fcore_conn *c, bool pull, uint32_t len)
{
	struct fc_need k = fc_need_request(c->core, pull, len);

	if (c->tx_reclaimed)
		return;
	k.n = 2;
	give(c, &k);
	fc_waiters_scan(&c->core->xon);
}

void fc_res_give_request_rx(struct fcore_conn *c, bool pull, uint32_t len)
{
	struct fc_need k = fc_need_request(c->core, pull, len);

	k.of[0] = k.of[1] = 0;
	give(c, &k);
	fc_waiters_scan(&c->core->xon);
}

bool fc_res_take_data(struct fcore_conn *c, uint32_t len)
{
	const struct fc_need k = need_data(c->core, len);

	return take_unless(c, &k, against(c, &k));
}

void fc_res_give_data(struct fcore_conn *c, uint32_t len)
{
	const struct fc_need k = need_data(c->core, len);

	if (c->tx_reclaimed)
		return;
	give(c, &k);
	fc_waiters_scan(&c->core->data);
}

/* The zone that |a| is in by itself; |keep| is what is kept for the head of the line. */
static enum falcon_zone zone_of(const struct fcore_account *a, const uint32_t *keep)
{
	enum falcon_zone zone = FALCON_ZONE_GREEN;

	for (unsigned int i = 0; i < 2; i++) {
		uint32_t used = a->used[FCORE_NET_PKT_RX + i];
		uint32_t limit = a->limit[FCORE_NET_PKT_RX + i];

		if (used >= limit)
			return FALCON_ZONE_CLOSED;
		if (used + keep[i] >= limit)
			zone = FALCON_ZONE_RED;
	}
	return zone;
}

enum falcon_zone fcore_zone(const struct fcore *core)
{
	return zone_of(&core->nic, core->keep_nic);
}

/*
 * What the receive path is told of |c|'s own account, which only |c| changes. Hosts and functions
 * are not in it: nobody would tell |c| when another one has given back what they lack.
 */
static void publish_zone(struct fcore_conn *c)
{
	enum falcon_zone zone = zone_of(&c->own, c->core->keep), all = fcore_zone(c->core);
	struct fcore *core = c->core;

	if (zone != c->shared->rx_acked.zone)
		falcon_store(&c->shared->rx_acked.zone, (__u32)zone);
	if (all == core->zone)
		return;
	core->zone = all;
	if (core->ops.on_zone)
		core->ops.on_zone(core->arg, all);
}

/* What network requests hold has changed by a packet of |c|'s. */
static void publish(struct fcore_conn *c)
{
	fc_rx_level_update(c->core);
	publish_zone(c);
}

uint32_t fc_res_take_net(struct fcore_conn *c, bool pull, uint32_t len, bool hol)
{
	bool ahead = c->ordered && !hol;
	const struct fc_need k = { .first = FCORE_NET_PKT_RX, .n = 2,
				   .of = { 1, pull ? 1 : cells(c->core, len, c->core->rx_shift) } };
	struct obstacle o = beyond_limits(c, &k, ahead);

	if (!o.account && (ahead || !c->ordered))
		o = beyond_share(c, &k, ahead ? c->core->keep_nic : keep_none);
	if (!take_unless(c, &k, o))
		return FC_RES_REFUSED;
	publish(c);
	return k.of[1];
}

void fc_res_give_net(struct fcore_conn *c, uint32_t taken)
{
	const struct fc_need k = { .first = FCORE_NET_PKT_RX, .n = 2, .of = { 1, taken } };

	give(c, &k);
	publish(c);
}

void fc_res_reclaim_tx(struct fcore_conn *c)
{
	for (unsigned int r = 0; r < FCORE_RESOURCES; r++) {
		const struct fc_need k = { .first = (uint8_t)r, .n = 1, .of = { c->own.used[r] } };

		if (is_tx(r))
			give(c, &k);
	}
	c->tx_reclaimed = true;
	fc_waiters_scan(&c->core->xon);
	fc_waiters_scan(&c->core->data);
}

static int limit_account(struct fcore *core, struct fcore_account *table, uint32_t n,
			 uint32_t index, const uint32_t *limit)
{
	if (index >= n)
		return -ENOENT;
	set_limits(core, &table[index], limit);
	fc_waiters_scan(&core->xon);
	fc_waiters_scan(&core->data);
	return 0;
}

int fcore_limit_host(struct fcore *core, uint32_t host, const uint32_t limit[FCORE_RESOURCES])
{
	return limit_account(core, core->host, core->hosts, host, limit);
}

int fcore_limit_function(struct fcore *core, uint32_t function,
			 const uint32_t limit[FCORE_RESOURCES])
{
	return limit_account(core, core->function, core->functions, function, limit);
}

void fcore_limit_conn(struct fcore_conn *c, const uint32_t limit[FCORE_RESOURCES])
{
	limit_account(c->core, &c->own, 1, 0, limit);
	publish_zone(c);
}

void fc_scale_alpha(struct fcore_conn *c)
{
	uint32_t before = c->scaled_alpha, sum = 0;

	for (uint32_t i = 0; i < c->nflows; i++)
		sum += c->flow[i].alpha_scale ? c->flow[i].alpha_scale : FALCON_RUE_ALPHA_WHOLE;
	c->scaled_alpha = (uint32_t)((uint64_t)c->alpha * sum / (FALCON_RUE_ALPHA_WHOLE * c->nflows));
	if (c->scaled_alpha <= before)
		return;
	fc_waiters_scan(&c->core->xon);
	fc_waiters_scan(&c->core->data);
}

void fcore_conn_set_alpha(struct fcore_conn *c, uint32_t alpha)
{
	c->alpha = alpha;
	fc_scale_alpha(c);
}

uint32_t fcore_conn_alpha(const struct fcore_conn *c)
{
	return c->scaled_alpha;
}

static uint32_t credit(const struct fcore_conn *c, unsigned int r)
{
	uint32_t used = c->own.used[r], least = used ? 0 : largest(c->core, r);
	uint64_t share = threshold(c, r, 0);
	uint32_t n;

	share = share > used ? share - used : 0;
	n = share > least ? (uint32_t)(share < FCORE_NO_LIMIT ? share : FCORE_NO_LIMIT) : least;
	for (int level = 0; level < FCORE_LEVELS; level++) {
		const struct fcore_account *a = c->account[level];

		n = fc_min(n, a->limit[r] > a->used[r] ? a->limit[r] - a->used[r] : 0);
	}
	return n;
}

void fcore_credits(const struct fcore_conn *c, struct fcore_credits *out)
{
	for (unsigned int r = 0; r < FCORE_NET_PKT_RX; r++)
		out->credit[r] = credit(c, r);
	out->xoff = c->xoff;
}

const struct fcore_account *fcore_resources(const struct fcore *core, enum fcore_level level,
					    uint32_t index)
{
	struct fcore_conn *c;

	switch (level) {
	case FCORE_LEVEL_NIC:
		return index ? NULL : &core->nic;
	case FCORE_LEVEL_HOST:
		return index < core->hosts ? &core->host[index] : NULL;
	case FCORE_LEVEL_FUNCTION:
		return index < core->functions ? &core->function[index] : NULL;
	default:
		c = index < FALCON_MAX_CONNS ? core->conns[index] : NULL;
		return c ? &c->own : NULL;
	}
}

const char *fcore_resource_name(enum fcore_resource r)
{
	static const char *const names[FCORE_RESOURCES] = {
		"Req Pkt Tx",  "Req Buf Tx",  "Req Pkt Rx",	"Req Buf Rx",
		"Data Pkt Tx", "Data Buf Tx", "Net Req Pkt Rx", "Net Req Buf Rx",
	};

	return r < FCORE_RESOURCES ? names[r] : "unknown";
}

const char *fcore_level_name(enum fcore_level level)
{
	static const char *const names[FCORE_LEVELS] = { "nic", "host", "function", "connection" };

	return level < FCORE_LEVELS ? names[level] : "unknown";
}
