// SPDX-License-Identifier: BSD-2-Clause
/*
 * The random schedules of a soak. Each fault is there or not by a coin of its own, and if it is,
 * its strength is drawn over orders of magnitude: a schedule with all faults at once hides what one
 * with two of them shows.
 */
#include "config.h"
#include "../common/rng.h"

/* Where 2^32 units of T1 and 2^64 ps end. */
#define T1_WRAP_NS 562949953421ULL
#define IV_WRAP_NS 18446744073709551ULL

/* True once in |n|. */
static bool once_in(struct rng *r, uint64_t n)
{
	return rng_below(r, n) == 0;
}

/* In [lo, hi], each order of magnitude about as likely; lo > 0. */
static uint64_t spread(struct rng *r, uint64_t lo, uint64_t hi)
{
	uint64_t doublings = 0, top;

	while (lo << doublings < hi)
		doublings++;
	top = lo << rng_below(r, doublings + 1);
	return rng_range(r, lo, top < hi ? top : hi);
}

/* A chance of up to |percent|, or none at all |never| times in |never| + 1. */
static uint64_t fault(struct rng *r, uint64_t never, uint64_t percent)
{
	return rng_below(r, never + 1) ? 0 : spread(r, 1000, percent * 10000);
}

static void random_link(struct sim_link_cfg *l, struct rng *r, uint64_t heal)
{
	l->rate = once_in(r, 8) ? 0 : spread(r, 200000000ULL, 100000000000ULL);
	l->delay = spread(r, 500, 50 * SIM_US);
	l->jitter = rng_below(r, 3) ? 0 : spread(r, 100, 50 * SIM_US);
	l->queue = rng_below(r, 3) ? 0 : spread(r, 6000, 200000);
	l->ecn = rng_below(r, 3) ? 0 : spread(r, 1000, 100000);
	l->loss = fault(r, 1, 40);
	l->burst = fault(r, 4, 5);
	l->burst_end = spread(r, 10000, 900000);
	l->burst_loss = rng_range(r, 300000, 1000000);
	l->drop_mask = once_in(r, 8) ? rng_next(r) & rng_next(r) : 0;
	l->drop_from = spread(r, 1, 500) - 1;
	l->reorder = fault(r, 2, 50);
	l->reorder_by = spread(r, SIM_US, once_in(r, 3) ? 20 * SIM_MS : 500 * SIM_US);
	l->duplicate = fault(r, 3, 30);
	l->corrupt = fault(r, 3, 20);
	if (once_in(r, 6)) {
		l->blackout_at = rng_below(r, heal);
		l->blackout_for = spread(r, 10 * SIM_US, heal);
		l->blackout_every = once_in(r, 2) ? l->blackout_for * rng_range(r, 2, 8) : 0;
	}
}

/* Sometimes leaves and spines, whose trunks have faults of their own, between the hosts. */
static void random_topology(struct sim_cfg *cfg, struct rng *r)
{
	if (rng_below(r, 4))
		return;
	cfg->leaves = cfg->hosts % 2 ? cfg->hosts : once_in(r, 2) ? 2 : cfg->hosts;
	cfg->spines = rng_range(r, 1, 4);
	cfg->reroute = once_in(r, 2) ? spread(r, 10 * SIM_US, SIM_MS) : 0;
	for (uint64_t i = 0; i < cfg->leaves * cfg->spines; i++) {
		random_link(&cfg->trunk[i], r, cfg->heal);
		cfg->trunk[i].loss /= 4;
	}
}

/*
 * Resources of some transactions up to many, carved in cells of any size. Not fewer, for the reason
 * given for credits below: what is refused together comes again together.
 */
static void random_pools(struct sim_host_cfg *h, struct rng *r)
{
	h->pool = spread(r, 64, 2048);
	h->pool_cells = once_in(r, 4) ? h->pool * spread(r, 16, 64) : 0;
	h->conn_pool = once_in(r, 3) ? spread(r, 16, 256) : 0;
	h->tx_cell = 64ULL << rng_below(r, 8);
	h->rx_cell = 64ULL << rng_below(r, 8);
	h->red = rng_range(r, 10, 100);
	h->alpha = spread(r, 64, 4096);
}

/* A host that is slow to take what it gets, all the time or now and then. */
static void random_memory(struct sim_host_cfg *h, struct rng *r)
{
	h->mem_rate = once_in(r, 3) ? 0 : spread(r, 1000000000ULL, 100000000000ULL);
	h->slow_rate = spread(r, 100000000ULL, 10000000000ULL);
	h->slow_for = spread(r, SIM_US, 200 * SIM_US);
	h->slow_every = h->slow_for * rng_range(r, 2, 10);
	h->rx_buffer = once_in(r, 3) ? spread(r, 20000, 500000) : 0;
}

static void random_host(struct sim_host_cfg *h, struct rng *r)
{
	h->nic_rate = once_in(r, 4) ? 0 : spread(r, 1000000000ULL, 100000000000ULL);
	h->nic_queue = once_in(r, 3) ? 0 : spread(r, 2000, 100000);
	h->offload = rng_below(r, 4) != 0;
	h->latency = spread(r, 50, 20 * SIM_US);
	h->budget = spread(r, 1, 256);
	/*
	 * Not fewer: packets that time out in step and come as one burst get into a ring of one
	 * frame one at a time, and with windows that never shrink use their attempts up. What is
	 * only steered takes a place even if it is a duplicate.
	 */
	h->credits = h->offload && once_in(r, 3) ? spread(r, 16, 256) : 2048;
	h->requests = once_in(r, 4) ? spread(r, 8, 512) : 0;
	h->no_credit = fault(r, 5, 30);
	h->swallow = fault(r, 5, 20);
	h->own = fault(r, 5, 10);
	h->refuse = fault(r, 4, 60);
	h->pause_every = spread(r, 50 * SIM_US, 5 * SIM_MS);
	h->pause_for = rng_below(r, 4) ? 0 : spread(r, SIM_US, 2 * SIM_MS);
	if (once_in(r, 3))
		random_pools(h, r);
	if (once_in(r, 6))
		random_memory(h, r);
}

/* Where a sequence starts: mostly such that it wraps. */
static uint64_t first_number(struct rng *r)
{
	if (once_in(r, 4))
		return 0;
	return once_in(r, 4) ? rng_below(r, UINT32_MAX) : UINT32_MAX - rng_below(r, 200);
}

static void random_upper_layer(struct sim_conn_cfg *c, struct rng *r)
{
	c->pull = once_in(r, 3) ? 0 : spread(r, 10000, SIM_PPM);
	c->flow_control = rng_below(r, 5) != 0;
	c->late = fault(r, 1, 100);
	c->late_by = spread(r, SIM_US, 400 * SIM_US);
	c->rnr = fault(r, 2, 50);
	c->rnr_code = spread(r, 1, 12);
	c->rnr_patience = once_in(r, 2) ? 0 : spread(r, 10 * SIM_US, 3 * SIM_MS);
	c->cie = fault(r, 3, 30);
	c->nre = fault(r, 4, 20);
	c->invalid_cid = fault(r, 4, 20);
	c->overlong = fault(r, 5, 10);
	c->brief = fault(r, 1, 25);
}

static void random_parameters(struct sim_conn_cfg *c, struct rng *r)
{
	c->fcwnd = rng_below(r, 3) ? rng_range(r, 1, 255) : spread(r, 1, 16);
	c->ncwnd = rng_below(r, 3) ? rng_range(r, 1, 1023) : spread(r, 1, 16);
	c->rto = spread(r, 30 * SIM_US, 4 * SIM_MS);
	c->max_retx = once_in(r, 4) ? rng_range(r, 1, 6) : rng_range(r, 60, 254);
	c->txn_timeout = once_in(r, 6) ? spread(r, 200 * SIM_US, 20 * SIM_MS) : 30 * SIM_S;
	c->ack_timeout = spread(r, SIM_US, 200 * SIM_US);
	c->ack_count = spread(r, 1, 64);
	c->ar_fcwnd = spread(r, 1, 64) - 1;
	c->ar_percent = once_in(r, 4) ? 0 : rng_range(r, 0, 100);
	c->ooo_threshold = spread(r, 1, 32) - 1;
	c->rue_every = once_in(r, 4) ? spread(r, 5 * SIM_US, SIM_MS) : 0;
	c->cc = c->rue_every || rng_below(r, 3) ? SIM_CC_NONE : SIM_CC_SWIFT;
	c->delay_select = rng_below(r, 4);
	c->early_retx = rng_below(r, 2);
	c->flows = once_in(r, 3) ? spread(r, 2, 16) : 1;
	c->prr_threshold = rng_below(r, 4);
}

static void random_connection(struct sim_conn_cfg *c, struct rng *r, uint64_t hosts, uint64_t heal)
{
	c->from = rng_below(r, hosts);
	c->to = (c->from + 1 + rng_below(r, hosts - 1)) % hosts;
	c->ordered = rng_below(r, 2);
	c->ipv6 = rng_below(r, 2);
	c->transactions = spread(r, 1, 400);
	c->back = once_in(r, 3) ? 0 : spread(r, 1, 400);
	c->size_max = spread(r, 1, once_in(r, 4) ? 4096 : 256) - 1;
	c->size_min = rng_below(r, c->size_max + 1);
	c->depth = once_in(r, 3) ? spread(r, 1, 64) : 0;
	c->gap = once_in(r, 4) ? spread(r, 100, 20 * SIM_US) : 0;
	if (once_in(r, 4)) {
		c->mtu = spread(r, 64, 2048);
		c->message = spread(r, 1, 8 * c->mtu);
		c->transactions = 1 + c->transactions / 4;
		c->load = once_in(r, 2) ? spread(r, 100000000ULL, 20000000000ULL) : 0;
	}
	c->start = once_in(r, 3) ? rng_below(r, heal) : 0;
	c->close_at = once_in(r, 16) ? 1 + rng_below(r, heal) : 0;
	c->psn = first_number(r);
	c->rsn = first_number(r);
	random_upper_layer(c, r);
	random_parameters(c, r);
}

/* Much is lost and little is tried again: timeouts of packets, and Resyncs that get lost. */
static void make_harsh(struct sim_cfg *cfg, struct rng *r)
{
	for (uint64_t i = 0; i < cfg->hosts; i++)
		cfg->link[i].loss = rng_range(r, 200000, 600000);
	for (uint64_t i = 0; i < cfg->nconns; i++) {
		cfg->conn[i].max_retx = rng_range(r, 1, 3);
		cfg->conn[i].pull = rng_range(r, 200000, 900000);
	}
}

/* Transactions time out under the hands of upper layers that take their time. */
static void make_sluggish(struct sim_cfg *cfg, struct rng *r)
{
	for (uint64_t i = 0; i < cfg->nconns; i++) {
		struct sim_conn_cfg *c = &cfg->conn[i];

		c->late = rng_range(r, 300000, 1000000);
		c->late_by = spread(r, SIM_MS, 10 * SIM_MS);
		c->txn_timeout = spread(r, 100 * SIM_US, 2 * SIM_MS);
		c->transactions = rng_range(r, 200, 1200);
		c->ordered = rng_below(r, 3) == 0;
		c->pull = rng_range(r, 100000, 1000000);
	}
}

/* Nothing bad happens, so that nothing may be sent twice (check_clean()). */
static void make_clean(struct sim_cfg *cfg)
{
	uint64_t late = cfg->conn[0].late;
	bool changed;

	cfg->nconns = 1;
	cfg->leaves = 0;
	cfg->conn[0].cc = SIM_CC_NONE;
	/* What is relieved overtakes what is queued. */
	cfg->relief = 0;
	for (uint32_t i = 0; sim_cfg_remove_fault(cfg, i, &changed); i++)
		;
	for (uint64_t i = 0; i < cfg->hosts; i++) {
		cfg->link[i].queue = 0;
		cfg->host[i].credits = 2048;
		cfg->host[i].requests = 0;
		cfg->host[i].budget = 64;
		cfg->host[i].pool = cfg->host[i].pool_cells = cfg->host[i].conn_pool = 0;
		cfg->host[i].host_pool = cfg->host[i].function_pool = 0;
		cfg->host[i].mem_rate = cfg->host[i].rx_buffer = 0;
		/* A replaced key is accepted for longer than a packet is under way. */
		cfg->host[i].key_settle = 20 * SIM_MS;
	}
	cfg->conn[0].late = late;
	cfg->conn[0].rto = 200 * SIM_MS;
	cfg->conn[0].txn_timeout = 30 * SIM_S;
}

/*
 * A clock that goes wrong by up to 500 ppm, and that shows a time shortly before T1 wraps, before all the
 * ps that an IV has room for are over, or none in particular.
 */
static void random_clock(struct sim_host_cfg *h, struct rng *r, uint64_t heal)
{
	uint64_t wrap = once_in(r, 3) ? IV_WRAP_NS : T1_WRAP_NS * rng_range(r, 1, 1000);

	if (once_in(r, 2))
		return;
	h->clock = once_in(r, 3) ? spread(r, SIM_S, 10000000 * SIM_S)
				 : wrap - spread(r, 10 * SIM_US, 2 * heal);
	*(once_in(r, 2) ? &h->clock_fast : &h->clock_slow) = spread(r, 1, 500);
}

/* Connections of some functions, which together may hold no more than this. */
static void random_levels(struct sim_host_cfg *h, struct rng *r)
{
	h->functions = spread(r, 1, 4);
	h->function_pool = once_in(r, 2) ? spread(r, 16, 512) : 0;
	h->host_pool = once_in(r, 2) ? spread(r, 32, 1024) : 0;
}

/* What has come later is drawn from numbers of its own: all else stays as it was with the same seed. */
static void random_clocks(struct sim_cfg *cfg, uint64_t seed)
{
	struct rng r;

	rng_seed(&r, seed, 2);
	for (uint64_t i = 0; i < cfg->hosts; i++)
		random_clock(&cfg->host[i], &r, cfg->heal);
}

/* What only looks like an intact packet, and peers of another make. */
static void random_strangers(struct sim_cfg *cfg, uint64_t seed)
{
	struct rng r;

	rng_seed(&r, seed, 4);
	for (uint64_t i = 0; i < cfg->hosts; i++) {
		cfg->link[i].corrupt_ip = fault(&r, 3, 20);
		if (once_in(&r, 4))
			cfg->host[i].stray_flow = once_in(&r, 2) ? SIM_PPM : fault(&r, 0, 100);
	}
	for (uint64_t i = 0; i < cfg->leaves * cfg->spines; i++)
		cfg->trunk[i].corrupt_ip = fault(&r, 7, 20);
}

static void random_tailroom(struct sim_cfg *cfg, uint64_t seed)
{
	struct rng r;

	rng_seed(&r, seed, 5);
	for (uint64_t i = 0; i < cfg->hosts; i++)
		cfg->host[i].no_room = fault(&r, 3, 100);
}

static void random_filters(struct sim_cfg *cfg, uint64_t seed)
{
	struct rng r;

	rng_seed(&r, seed, 6);
	for (uint64_t i = 0; i < cfg->hosts; i++) {
		struct sim_host_cfg *h = &cfg->host[i];

		if (!once_in(&r, 5))
			continue;
		h->xlr = rng_range(&r, 1, (1 << SIM_FILTERS) - 1);
		h->xlr_at = rng_below(&r, cfg->heal);
		h->xlr_for = spread(&r, 5 * SIM_US, cfg->heal);
		h->xlr_conn = once_in(&r, 2) ? 0 : rng_range(&r, 1, 4);
	}
}

/* Packets as large as paths may carry, over so long that paths change under way. */
static void random_sizes(struct sim_conn_cfg *c, struct rng *r, bool alone)
{
	c->path = alone ? SIM_PATH_ALONE : SIM_PATH_AGREED;
	c->size_max = once_in(r, 2) ? rng_range(r, 500, 4096) : c->size_max;
	c->size_min = c->size_min < c->size_max ? c->size_min : c->size_max;
	c->gap = once_in(r, 2) ? spread(r, SIM_US, SIM_MS) : c->gap;
	/* A search takes a second or more: with shorter timeouts a packet's attempts are used up by then. */
	c->rto = spread(r, 2 * SIM_MS, 8 * SIM_MS);
	c->rue_every = 0;
}

static void random_way(struct sim_link_cfg *l, struct rng *r, uint64_t heal)
{
	l->mtu = once_in(r, 2) ? rng_range(r, 600, 4200) : 0;
	l->mtu_at = rng_below(r, 2 * heal);
	l->mtu_then = once_in(r, 2) ? rng_range(r, 600, 4200) : 0;
	l->delay_at = rng_below(r, 2 * heal);
	l->delay_then = once_in(r, 3) ? spread(r, 500, 200 * SIM_US) : 0;
}

static void random_station(struct sim_host_cfg *h, struct rng *r, uint64_t heal)
{
	h->mtu = once_in(r, 2) ? rng_range(r, 600, 4200) : 4200;
	h->mtu_at = rng_below(r, 2 * heal);
	h->mtu_then = once_in(r, 3) ? rng_range(r, 600, 4200) : 0;
	h->move_at = rng_below(r, heal);
	h->move_for = once_in(r, 3) ? spread(r, 10 * SIM_US, heal) : 0;
}

/*
 * Ways that change, and what they carry. Who has no handshake knows of the other direction only what it finds
 * in its own: there both are alike.
 */
static void random_ways(struct sim_cfg *cfg, uint64_t seed)
{
	struct rng r;
	bool alike;

	rng_seed(&r, seed, 7);
	if (rng_below(&r, 6))
		return;
	alike = once_in(&r, 2);
	if (once_in(&r, 3))
		cfg->heal = spread(&r, 100 * SIM_MS, SIM_S);
	for (uint64_t i = 0; i < cfg->hosts; i++) {
		random_way(&cfg->link[i], &r, cfg->heal);
		random_station(&cfg->host[i], &r, cfg->heal);
		if (!alike)
			continue;
		cfg->link[i].mtu = cfg->link[0].mtu;
		cfg->link[i].mtu_at = cfg->link[0].mtu_at;
		cfg->link[i].mtu_then = cfg->link[0].mtu_then;
		cfg->host[i].mtu_then = 0;
	}
	for (uint64_t i = 0; i < cfg->nconns; i++)
		random_sizes(&cfg->conn[i], &r, alike && once_in(&r, 2));
}

/* Agents that crash. What an engine still has of an incarnation that is over is nobody's. */
static void random_crashes(struct sim_cfg *cfg, uint64_t seed)
{
	struct rng r;

	rng_seed(&r, seed, 8);
	if (rng_below(&r, 8))
		return;
	for (uint64_t i = 0; i < cfg->hosts; i++) {
		cfg->host[i].crash_at = rng_below(&r, cfg->heal);
		cfg->host[i].crash_for = once_in(&r, 2) ? spread(&r, 5 * SIM_US, cfg->heal) : 0;
	}
	for (uint64_t i = 0; i < cfg->nconns; i++)
		cfg->conn[i].cc = SIM_CC_NONE;
}

/* Receive queues that are not in step, and XDP on other processors than the agent. */
static void random_queues(struct sim_cfg *cfg, uint64_t seed)
{
	struct rng r;

	rng_seed(&r, seed, 9);
	for (uint64_t i = 0; i < cfg->hosts; i++) {
		cfg->host[i].queues = once_in(&r, 4) ? rng_range(&r, 2, SIM_MAX_QUEUES) : 1;
		cfg->host[i].race = once_in(&r, 4) ? spread(&r, 10000, SIM_PPM) : 0;
	}
}

/* XDP carries out what it may, often or now and then. */
static void random_exec(struct sim_cfg *cfg, uint64_t seed)
{
	struct rng r;

	rng_seed(&r, seed, 11);
	for (uint64_t i = 0; i < cfg->hosts; i++)
		cfg->host[i].exec = once_in(&r, 3) ? spread(&r, 10000, SIM_PPM) : 0;
}

/* Packets that strangers have seen, and send again. */
static void random_replays(struct sim_link_cfg *l, struct rng *r)
{
	l->replay = once_in(r, 3) ? spread(r, 1000, 200000) : 0;
	l->replay_by = spread(r, 10 * SIM_US, 50 * SIM_MS);
}

static void random_host_keys(struct sim_host_cfg *h, struct rng *r)
{
	h->replay_margin = once_in(r, 3) ? spread(r, SIM_MS, 100 * SIM_S) : 100 * SIM_S;
	h->pcid = once_in(r, 3);
	h->key_packets = once_in(r, 3) ? spread(r, 8, 2000) : 1U << 31;
	h->key_lifetime = once_in(r, 4) ? spread(r, 100 * SIM_US, 10 * SIM_MS) : 0;
	h->key_settle = spread(r, 5 * SIM_US, 20 * SIM_MS);
	h->key_delay = spread(r, SIM_US, SIM_MS);
}

static void random_conn_keys(struct sim_conn_cfg *c, struct rng *r)
{
	c->encap = once_in(r, 4) ? SIM_ENCAP_CLEAR : rng_range(r, SIM_ENCAP_PSP_128, SIM_ENCAP_ESP);
	c->rekey_every = once_in(r, 2) ? spread(r, 20 * SIM_US, 5 * SIM_MS) : 0;
	c->key_left = once_in(r, 12) ? spread(r, 16, 2000) : 0;
}

/* Connections whose packets are sealed, and keys that are replaced for any reason there is. */
static void random_keys(struct sim_cfg *cfg, uint64_t seed)
{
	struct rng r;

	rng_seed(&r, seed, 12);
	if (rng_below(&r, 5))
		return;
	for (uint64_t i = 0; i < cfg->hosts; i++) {
		random_replays(&cfg->link[i], &r);
		random_host_keys(&cfg->host[i], &r);
	}
	for (uint64_t i = 0; i < cfg->nconns; i++)
		random_conn_keys(&cfg->conn[i], &r);
}

static void random_accounts(struct sim_cfg *cfg, uint64_t seed)
{
	struct rng r;

	rng_seed(&r, seed, 3);
	for (uint64_t i = 0; i < cfg->hosts; i++)
		if (once_in(&r, 4))
			random_levels(&cfg->host[i], &r);
}

void sim_cfg_random(struct sim_cfg *cfg, uint64_t seed)
{
	struct rng r;
	uint64_t nconns;
	bool alike;

	sim_cfg_init(cfg);
	rng_seed(&r, seed, 1);
	cfg->seed = seed;
	cfg->hosts = spread(&r, 2, 8);
	cfg->heal = spread(&r, 500 * SIM_US, 20 * SIM_MS);
	/* With fixed windows and timeouts a slow link may collapse for good under congestion. */
	cfg->relief = 1;
	alike = rng_below(&r, 2);
	for (uint64_t i = 0; i < cfg->hosts; i++) {
		random_link(&cfg->link[i], &r, cfg->heal);
		random_host(&cfg->host[i], &r);
		if (alike && i)
			cfg->link[i] = cfg->link[0];
	}
	random_topology(cfg, &r);
	nconns = spread(&r, 1, 12);
	for (uint64_t i = 0; i < nconns; i++)
		random_connection(sim_cfg_add_conn(cfg), &r, cfg->hosts, cfg->heal);
	random_accounts(cfg, seed);
	random_strangers(cfg, seed);
	random_tailroom(cfg, seed);
	random_filters(cfg, seed);
	random_ways(cfg, seed);
	random_crashes(cfg, seed);
	random_queues(cfg, seed);
	random_exec(cfg, seed);
	random_keys(cfg, seed);
	if (once_in(&r, 12))
		make_harsh(cfg, &r);
	else if (once_in(&r, 12))
		make_clean(cfg);
	else if (once_in(&r, 24))
		make_sluggish(cfg, &r);
	random_clocks(cfg, seed);
}
