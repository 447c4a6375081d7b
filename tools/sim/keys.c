// SPDX-License-Identifier: BSD-2-Clause
#include "keys.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <core/core.h>

#include "rifl/frame.h"

#define ENTRY(sec, st, field, type, min, max, fault, names) \
	{ sec, #field, type, offsetof(st, field), min, max, fault, names }
#define RUN(field, type, ...) \
	ENTRY(S_RUN, struct sim_cfg, field, type, __VA_ARGS__, false, NULL)
#define LINK(field, type, ...) \
	ENTRY(S_LINK, struct sim_link_cfg, field, type, __VA_ARGS__, false, NULL)
#define LINK_FAULT(field, type, max) \
	ENTRY(S_LINK, struct sim_link_cfg, field, type, 0, max, true, NULL)
#define HOST(field, type, ...) \
	ENTRY(S_HOST, struct sim_host_cfg, field, type, __VA_ARGS__, false, NULL)
#define HOST_FAULT(field, type, max) \
	ENTRY(S_HOST, struct sim_host_cfg, field, type, 0, max, true, NULL)
#define CONN(field, type, ...) \
	ENTRY(S_CONNECTION, struct sim_conn_cfg, field, type, __VA_ARGS__, false, NULL)
#define CONN_FAULT(field, type, max) \
	ENTRY(S_CONNECTION, struct sim_conn_cfg, field, type, 0, max, true, NULL)
#define CONN_NAME(field, names, max) \
	ENTRY(S_CONNECTION, struct sim_conn_cfg, field, T_NAME, 0, max, false, names)

#define TIMES 0, 1000 * SIM_S
#define RATES 0, 10000000000000ULL
#define BYTES 0, 1ULL << 40
#define PPM 1000000ULL
#define MAX_CLOCK (40000000 * SIM_S)
#define MAX_DRIFT 10000ULL

const char *const key_section_names[S_SECTIONS] = {
	"run", "link", "trunk", "host", "connection", "swift",
};

static const char *const cc_names[] = { "none", "fixed", "swift", NULL };
static const char *const encap_names[] = { "clear", "psp-128", "psp-256", "gmac", "esp", NULL };
static const char *const path_names[] = { "any", "agreed", "alone", NULL };
static const char *const early_names[] = { "ooo", "rack", NULL };
static const char *const delay_names[] = { "full", "fabric", "forward", "reverse", NULL };

static const struct key keys[] = {
	RUN(seed, T_COUNT, 0, UINT64_MAX),
	RUN(hosts, T_COUNT, 2, SIM_MAX_HOSTS),
	RUN(leaves, T_COUNT, 0, SIM_MAX_LEAVES),
	RUN(spines, T_COUNT, 0, SIM_MAX_SPINES),
	RUN(reroute, T_TIME, TIMES),
	RUN(heal, T_TIME, TIMES),
	RUN(relief, T_BOOL, 0, 1),
	RUN(limit, T_TIME, TIMES),
	RUN(warmup, T_TIME, TIMES),
	RUN(stop, T_TIME, TIMES),
	RUN(data, T_BOOL, 0, 1),
	RUN(checks, T_BOOL, 0, 1),

	LINK(rate, T_RATE, RATES),
	LINK(delay, T_TIME, TIMES),
	LINK(delay_at, T_TIME, TIMES),
	LINK_FAULT(delay_then, T_TIME, SIM_S),
	LINK_FAULT(mtu, T_COUNT, UINT16_MAX),
	LINK(mtu_at, T_TIME, TIMES),
	LINK_FAULT(mtu_then, T_COUNT, UINT16_MAX),
	LINK_FAULT(jitter, T_TIME, SIM_S),
	LINK(queue, T_COUNT, BYTES),
	LINK(ecn, T_COUNT, BYTES),
	LINK_FAULT(loss, T_CHANCE, PPM),
	LINK_FAULT(burst, T_CHANCE, PPM),
	LINK(burst_end, T_CHANCE, 1, PPM),
	LINK(burst_loss, T_CHANCE, 0, PPM),
	LINK(drop_from, T_COUNT, 0, UINT64_MAX),
	LINK_FAULT(drop_mask, T_COUNT, UINT64_MAX),
	LINK_FAULT(reorder, T_CHANCE, PPM),
	LINK(reorder_by, T_TIME, TIMES),
	LINK_FAULT(duplicate, T_CHANCE, PPM),
	LINK_FAULT(replay, T_CHANCE, PPM),
	LINK(replay_by, T_TIME, TIMES),
	LINK_FAULT(corrupt, T_CHANCE, PPM),
	LINK_FAULT(corrupt_ip, T_CHANCE, PPM),
	LINK_FAULT(ber, T_RATIO, SIM_BER_ONE / 1000),
	LINK(rifl, T_COUNT, 0, RIFL_FRAME_BITS_MAX),
	LINK(blackout_at, T_TIME, TIMES),
	LINK_FAULT(blackout_for, T_TIME, 100 * SIM_S),
	LINK(blackout_every, T_TIME, TIMES),

	HOST(nic_rate, T_RATE, RATES),
	HOST(nic_queue, T_COUNT, BYTES),
	HOST(nic_clock, T_BOOL, 0, 1),
	HOST_FAULT(clock, T_TIME, MAX_CLOCK),
	HOST_FAULT(clock_fast, T_CHANCE, MAX_DRIFT),
	HOST_FAULT(clock_slow, T_CHANCE, MAX_DRIFT),
	HOST(offload, T_BOOL, 0, 1),
	HOST(queues, T_COUNT, 1, SIM_MAX_QUEUES),
	HOST_FAULT(race, T_CHANCE, PPM),
	HOST(exec, T_CHANCE, 0, PPM),
	HOST(latency, T_TIME, TIMES),
	HOST(budget, T_COUNT, 1, 100000),
	HOST(credits, T_COUNT, 1, 1000000),
	HOST(requests, T_COUNT, 0, 1000000),
	HOST_FAULT(no_credit, T_CHANCE, PPM),
	HOST_FAULT(no_room, T_CHANCE, PPM),
	HOST_FAULT(swallow, T_CHANCE, PPM),
	HOST_FAULT(own, T_CHANCE, PPM),
	HOST_FAULT(refuse, T_CHANCE, 990000),
	HOST(mtu, T_COUNT, SIM_MIN_MTU, SIM_MAX_MTU),
	HOST(mtu_at, T_TIME, TIMES),
	HOST_FAULT(mtu_then, T_COUNT, SIM_MAX_MTU),
	HOST(move_at, T_TIME, TIMES),
	HOST_FAULT(move_for, T_TIME, SIM_S),
	HOST_FAULT(stray_flow, T_CHANCE, PPM),
	HOST(replay_margin, T_TIME, 1, 1000 * SIM_S),
	HOST(pcid, T_BOOL, 0, 1),
	HOST(key_packets, T_COUNT, 1, 1U << 31),
	HOST_FAULT(key_lifetime, T_TIME, 1000 * SIM_S),
	HOST(key_settle, T_TIME, 1, SIM_S),
	HOST(key_delay, T_TIME, 0, SIM_S),
	HOST(pause_every, T_TIME, TIMES),
	HOST_FAULT(pause_for, T_TIME, SIM_S),
	HOST(crash_at, T_TIME, TIMES),
	HOST_FAULT(crash_for, T_TIME, SIM_S),
	HOST_FAULT(xlr, T_COUNT, (1 << SIM_FILTERS) - 1),
	HOST(xlr_at, T_TIME, TIMES),
	HOST(xlr_for, T_TIME, TIMES),
	HOST(xlr_conn, T_COUNT, 0, 1000),
	HOST(mem_rate, T_RATE, RATES),
	HOST(slow_rate, T_RATE, RATES),
	HOST(slow_at, T_TIME, TIMES),
	HOST_FAULT(slow_for, T_TIME, 100 * SIM_S),
	HOST(slow_every, T_TIME, TIMES),
	HOST(rx_buffer, T_COUNT, BYTES),
	HOST(pool, T_COUNT, 0, 1 << 24),
	HOST(pool_cells, T_COUNT, 0, 1 << 26),
	HOST(conn_pool, T_COUNT, 0, 1 << 24),
	HOST(functions, T_COUNT, 1, SIM_MAX_FUNCTIONS),
	HOST(function_pool, T_COUNT, 0, 1 << 24),
	HOST(host_pool, T_COUNT, 0, 1 << 24),
	HOST(tx_cell, T_COUNT, FCORE_MIN_CELL, FCORE_MAX_CELL),
	HOST(rx_cell, T_COUNT, FCORE_MIN_CELL, FCORE_MAX_CELL),
	HOST(red, T_COUNT, 0, 100),
	HOST(alpha, T_COUNT, 1, 1 << 20),
	HOST(rue_delay, T_TIME, TIMES),
	HOST(rue_time, T_TIME, TIMES),
	HOST(rue_queue, T_COUNT, 4, 1 << 20),
	HOST(rue_p1, T_TIME, TIMES),
	HOST(rue_p2, T_COUNT, 0, 1000),

	CONN(from, T_COUNT, 0, SIM_MAX_HOSTS - 1),
	CONN(to, T_COUNT, 0, SIM_MAX_HOSTS - 1),
	CONN(count, T_COUNT, 1, 100000),
	CONN(from_hosts, T_COUNT, 1, SIM_MAX_HOSTS),
	CONN(to_hosts, T_COUNT, 1, SIM_MAX_HOSTS),
	CONN(ordered, T_BOOL, 0, 1),
	CONN(ipv6, T_BOOL, 0, 1),
	CONN_NAME(encap, encap_names, SIM_ENCAP_ESP),
	CONN(rekey_every, T_TIME, TIMES),
	CONN_FAULT(key_left, T_COUNT, 1 << 30),
	CONN(transactions, T_COUNT, 0, SIM_MAX_TXNS),
	CONN(back, T_COUNT, 0, SIM_MAX_TXNS),
	CONN(pull, T_CHANCE, 0, PPM),
	CONN(size_min, T_COUNT, 0, SIM_MAX_SIZE),
	CONN(size_max, T_COUNT, 0, SIM_MAX_SIZE),
	CONN_NAME(path, path_names, SIM_PATH_ALONE),
	CONN(message, T_COUNT, 0, 1 << 30),
	CONN(mtu, T_COUNT, 64, SIM_MAX_SIZE),
	CONN(depth, T_COUNT, 0, 1 << 20),
	CONN(gap, T_TIME, TIMES),
	CONN(load, T_RATE, RATES),
	CONN(start, T_TIME, TIMES),
	CONN(start_spread, T_TIME, TIMES),
	CONN_FAULT(close_at, T_TIME, 100 * SIM_S),
	CONN(psn, T_COUNT, 0, UINT32_MAX),
	CONN(rsn, T_COUNT, 0, UINT32_MAX),
	CONN(flow_control, T_BOOL, 0, 1),
	CONN_FAULT(late, T_CHANCE, PPM),
	CONN(late_by, T_TIME, TIMES),
	CONN_FAULT(rnr, T_CHANCE, 990000),
	CONN(rnr_code, T_COUNT, 1, 31),
	CONN(rnr_patience, T_TIME, TIMES),
	CONN_FAULT(cie, T_CHANCE, PPM),
	CONN_FAULT(nre, T_CHANCE, PPM),
	CONN_FAULT(invalid_cid, T_CHANCE, PPM),
	CONN_FAULT(overlong, T_CHANCE, PPM),
	CONN_FAULT(brief, T_CHANCE, PPM),
	CONN_NAME(cc, cc_names, SIM_CC_SWIFT),
	CONN_NAME(delay_select, delay_names, 3),
	CONN(fcwnd, T_COUNT, 1, 255),
	CONN(ncwnd, T_COUNT, 1, 1023),
	CONN(rto, T_TIME, TIMES),
	CONN(max_retx, T_COUNT, 1, 254),
	CONN(txn_timeout, T_TIME, TIMES),
	CONN(ack_timeout, T_TIME, TIMES),
	CONN(ack_count, T_COUNT, 1, 1000),
	CONN(ar_fcwnd, T_COUNT, 0, 255),
	CONN(ar_percent, T_COUNT, 0, 100),
	CONN(ooo_threshold, T_COUNT, 0, 128),
	CONN_NAME(early_retx, early_names, FCORE_EARLY_RACK),
	CONN(rack_rto, T_TIME, TIMES),
	CONN(tlp, T_TIME, TIMES),
	CONN(flows, T_COUNT, 1, FALCON_MAX_FLOWS),
	CONN(prr_threshold, T_COUNT, 0, 100),
	CONN_FAULT(rue_every, T_TIME, SIM_S),
};

enum {
	NKEYS = sizeof(keys) / sizeof(keys[0]),
};

const struct sim_link_cfg link_defaults = {
	.rate = 10000000000ULL,
	.delay = 5 * SIM_US,
	.burst_end = 250000,
	.burst_loss = 500000,
	.reorder_by = 50 * SIM_US,
	.replay_by = SIM_MS,
};

const struct sim_host_cfg host_defaults = {
	.nic_rate = 10000000000ULL,
	.nic_queue = 1 << 16,
	.clock = 1000 * SIM_S,
	.offload = 1,
	.queues = 1,
	.latency = SIM_US,
	.budget = 256,
	.credits = 2048,
	.mtu = 9000,
	.replay_margin = 100 * SIM_S,
	.key_packets = 1U << 31,
	.key_settle = 20 * SIM_MS,
	.key_delay = 100 * SIM_US,
	.pause_every = SIM_MS,
	.functions = 1,
	.tx_cell = 1024,
	.rx_cell = 1024,
	.red = 75,
	.alpha = FCORE_ALPHA_ONE,
	.rue_delay = SIM_US,
	.rue_queue = 16384,
};

/* As fcore_params_default(), but for an RTO that suits a data centre. */
const struct sim_conn_cfg conn_defaults = {
	.to = 1,
	.count = 1,
	.from_hosts = 1,
	.to_hosts = 1,
	.ordered = 1,
	.transactions = 1000,
	.size_max = 1024,
	.mtu = 4096,
	.flow_control = 1,
	.late_by = 20 * SIM_US,
	.rnr_code = 8,
	.rnr_patience = 100 * SIM_MS,
	.delay_select = 1,
	.fcwnd = 128,
	.ncwnd = 128,
	.rto = SIM_MS,
	.max_retx = 100,
	.txn_timeout = 30 * SIM_S,
	.ack_timeout = 64 * SIM_US,
	.ack_count = 16,
	.ar_fcwnd = 8,
	.ar_percent = 10,
	.ooo_threshold = 2,
	.early_retx = FCORE_EARLY_RACK,
	.flows = 1,
	.prr_threshold = 2,
};

const struct key *key_at(uint32_t i)
{
	return i < NKEYS ? &keys[i] : NULL;
}

const struct key *key_find(enum key_section section, const char *name)
{
	/* A trunk is a link. */
	if (section == S_TRUNK)
		section = S_LINK;
	for (uint32_t i = 0; i < NKEYS; i++)
		if (keys[i].section == section && !strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

/* Units by type; the first that divides a value without rest prints it. */
static const struct unit {
	enum key_type type;
	const char *name;
	uint64_t factor;
} units[] = {
	{ T_TIME, "s", SIM_S },
	{ T_TIME, "ms", SIM_MS },
	{ T_TIME, "us", SIM_US },
	{ T_TIME, "ns", 1 },
	{ T_RATE, "gbit", 1000000000ULL },
	{ T_RATE, "mbit", 1000000ULL },
	{ T_RATE, "kbit", 1000ULL },
	{ T_RATE, "bit", 1 },
	{ T_CHANCE, "%", 10000ULL },
	{ T_CHANCE, "ppm", 1 },
};

enum {
	NUNITS = sizeof(units) / sizeof(units[0]),
};

/* Decimals after the point of |*s| in units of |factor|; moves |*s| behind them. */
static uint64_t fraction(const char **s, uint64_t factor)
{
	uint64_t v = 0;

	for ((*s)++; isdigit((unsigned char)**s); (*s)++) {
		factor /= 10;
		v += (uint64_t)(**s - '0') * factor;
	}
	return v;
}

static bool parse_name(const struct key *k, const char *s, uint64_t *v)
{
	for (*v = 0; k->names[*v]; ++*v)
		if (!strcmp(k->names[*v], s))
			return true;
	return false;
}

/* The rest of a number, from |end| on: its fraction and its unit. */
static bool parse_unit(const struct key *k, const char *end, uint64_t *v)
{
	for (int i = 0; i < NUNITS; i++) {
		const struct unit *u = &units[i];
		const char *p = end;
		uint64_t frac = *p == '.' ? fraction(&p, u->factor) : 0;

		if (u->type != k->type || strcmp(p, u->name))
			continue;
		if (*v > UINT64_MAX / u->factor - 1)
			return false;
		*v = *v * u->factor + frac;
		return true;
	}
	/* Without a unit only what has none, and zero. */
	return *end == 0 && (k->type == T_COUNT || *v == 0);
}

static bool parse_ratio(const char *s, uint64_t *v)
{
	char *end;
	double ratio = strtod(s, &end);

	if (!isdigit((unsigned char)*s) || *end || !(ratio >= 0 && ratio <= 1))
		return false;
	*v = (uint64_t)(ratio * (double)SIM_BER_ONE + 0.5);
	return true;
}

bool key_parse(const struct key *k, const char *s, uint64_t *v)
{
	char *end;

	if (k->type == T_RATIO)
		return parse_ratio(s, v);

	if (k->type == T_NAME)
		return parse_name(k, s, v);
	if (k->type == T_BOOL) {
		*v = !strcmp(s, "yes");
		return *v || !strcmp(s, "no");
	}
	errno = 0;
	*v = strtoull(s, &end, 0);
	if (errno || !isdigit((unsigned char)*s))
		return false;
	return parse_unit(k, end, v);
}

void key_print(const struct key *k, uint64_t v, FILE *out)
{
	if (k->type == T_BOOL || k->type == T_NAME) {
		fprintf(out, "%s = %s\n", k->name,
			k->type == T_NAME ? k->names[v] : v ? "yes" : "no");
		return;
	}
	if (k->type == T_RATIO) {
		fprintf(out, "%s = %.15g\n", k->name, (double)v / (double)SIM_BER_ONE);
		return;
	}
	for (int i = 0; i < NUNITS; i++) {
		if (units[i].type == k->type && v && v % units[i].factor == 0) {
			fprintf(out, "%s = %llu%s\n", k->name,
				(unsigned long long)(v / units[i].factor), units[i].name);
			return;
		}
	}
	fprintf(out, "%s = %llu\n", k->name, (unsigned long long)v);
}
