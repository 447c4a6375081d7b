// SPDX-License-Identifier: BSD-2-Clause
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

enum type {
	T_COUNT,	/* a number */
	T_BOOL,		/* yes, no */
	T_TIME,		/* 10ns, 5us, 1.5ms, 2s */
	T_RATE,		/* 10gbit, 100mbit, 5kbit */
	T_CHANCE,	/* 0.5% */
};

enum section {
	S_RUN,
	S_LINK,
	S_HOST,
	S_CONNECTION,
	S_SECTIONS,
};

struct key {
	enum section section;
	const char *name;
	enum type type;
	size_t offset;
	uint64_t min, max;
	bool fault;	/* the shrinker may take it away */
};

#define KEY(sec, st, field, type, min, max) \
	{ sec, #field, type, offsetof(st, field), min, max, false }
#define FAULT(sec, st, field, type, max) \
	{ sec, #field, type, offsetof(st, field), 0, max, true }
#define RUN(field, ...) KEY(S_RUN, struct sim_cfg, field, __VA_ARGS__)
#define LINK(field, ...) KEY(S_LINK, struct sim_link_cfg, field, __VA_ARGS__)
#define LINK_FAULT(field, ...) FAULT(S_LINK, struct sim_link_cfg, field, __VA_ARGS__)
#define HOST(field, ...) KEY(S_HOST, struct sim_host_cfg, field, __VA_ARGS__)
#define HOST_FAULT(field, ...) FAULT(S_HOST, struct sim_host_cfg, field, __VA_ARGS__)
#define CONN(field, ...) KEY(S_CONNECTION, struct sim_conn_cfg, field, __VA_ARGS__)
#define CONN_FAULT(field, ...) FAULT(S_CONNECTION, struct sim_conn_cfg, field, __VA_ARGS__)

enum {
	MAX_TIME_S = 1000,
};
#define TIMES 0, MAX_TIME_S * SIM_S
#define RATES 0, 1000000000000ULL
#define BYTES 0, 1ULL << 40
#define PPM SIM_PPM_MAX
#define SIM_PPM_MAX 1000000ULL

static const struct key keys[] = {
	RUN(seed, T_COUNT, 0, UINT64_MAX),
	RUN(hosts, T_COUNT, 2, SIM_MAX_HOSTS),
	RUN(heal, T_TIME, TIMES),
	RUN(relief, T_BOOL, 0, 1),
	RUN(limit, T_TIME, TIMES),

	LINK(rate, T_RATE, RATES),
	LINK(delay, T_TIME, TIMES),
	LINK_FAULT(jitter, T_TIME, SIM_S),
	LINK(queue, T_COUNT, BYTES),
	LINK(ecn, T_COUNT, BYTES),
	LINK_FAULT(loss, T_CHANCE, PPM),
	LINK_FAULT(reorder, T_CHANCE, PPM),
	LINK(reorder_by, T_TIME, TIMES),
	LINK_FAULT(duplicate, T_CHANCE, PPM),
	LINK_FAULT(corrupt, T_CHANCE, PPM),
	LINK(blackout_at, T_TIME, TIMES),
	LINK_FAULT(blackout_for, T_TIME, 100 * SIM_S),

	HOST(nic_rate, T_RATE, RATES),
	HOST(nic_queue, T_COUNT, BYTES),
	HOST(offload, T_BOOL, 0, 1),
	HOST(latency, T_TIME, TIMES),
	HOST(budget, T_COUNT, 1, 100000),
	HOST(credits, T_COUNT, 1, 1000000),
	HOST_FAULT(no_credit, T_CHANCE, PPM),
	HOST_FAULT(swallow, T_CHANCE, PPM),
	HOST_FAULT(own, T_CHANCE, PPM),
	HOST_FAULT(refuse, T_CHANCE, 990000),
	HOST(pause_every, T_TIME, TIMES),
	HOST_FAULT(pause_for, T_TIME, SIM_S),

	CONN(from, T_COUNT, 0, SIM_MAX_HOSTS - 1),
	CONN(to, T_COUNT, 0, SIM_MAX_HOSTS - 1),
	CONN(ordered, T_BOOL, 0, 1),
	CONN(ipv6, T_BOOL, 0, 1),
	CONN(transactions, T_COUNT, 0, SIM_MAX_TXNS),
	CONN(back, T_COUNT, 0, SIM_MAX_TXNS),
	CONN(pull, T_CHANCE, 0, PPM),
	CONN(size_min, T_COUNT, 0, SIM_MAX_SIZE),
	CONN(size_max, T_COUNT, 0, SIM_MAX_SIZE),
	CONN(depth, T_COUNT, 0, 1 << 20),
	CONN(gap, T_TIME, TIMES),
	CONN(start, T_TIME, TIMES),
	CONN_FAULT(close_at, T_TIME, 100 * SIM_S),
	CONN(psn, T_COUNT, 0, UINT32_MAX),
	CONN(rsn, T_COUNT, 0, UINT32_MAX),
	CONN_FAULT(late, T_CHANCE, PPM),
	CONN(late_by, T_TIME, TIMES),
	CONN_FAULT(rnr, T_CHANCE, 990000),
	CONN(rnr_code, T_COUNT, 1, 31),
	CONN_FAULT(cie, T_CHANCE, PPM),
	CONN_FAULT(nre, T_CHANCE, PPM),
	CONN_FAULT(invalid_cid, T_CHANCE, PPM),
	CONN_FAULT(overlong, T_CHANCE, PPM),
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
	CONN_FAULT(rue_every, T_TIME, SIM_S),
};

enum {
	NKEYS = sizeof(keys) / sizeof(keys[0]),
};

static const struct sim_link_cfg link_defaults = {
	.rate = 10000000000ULL,
	.delay = 5 * SIM_US,
	.reorder_by = 50 * SIM_US,
};

static const struct sim_host_cfg host_defaults = {
	.nic_rate = 10000000000ULL,
	.nic_queue = 1 << 16,
	.offload = 1,
	.latency = SIM_US,
	.budget = 256,
	.credits = 2048,
	.pause_every = SIM_MS,
};

/* As fcore_params_default(), but for an RTO that suits a data centre. */
static const struct sim_conn_cfg conn_defaults = {
	.to = 1,
	.ordered = 1,
	.transactions = 1000,
	.size_max = 1024,
	.late_by = 20 * SIM_US,
	.rnr_code = 8,
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
};

void sim_cfg_init(struct sim_cfg *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->seed = 1;
	cfg->hosts = 2;
	cfg->heal = 0;
	for (int i = 0; i < SIM_MAX_HOSTS; i++) {
		cfg->link[i] = link_defaults;
		cfg->host[i] = host_defaults;
	}
}

struct sim_conn_cfg *sim_cfg_add_conn(struct sim_cfg *cfg)
{
	if (cfg->nconns == SIM_MAX_CONNS)
		return NULL;
	cfg->conn[cfg->nconns] = conn_defaults;
	return &cfg->conn[cfg->nconns++];
}

/* Units by type; the first that divides a value without rest prints it. */
static const struct unit {
	enum type type;
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

static bool parse_value(const struct key *k, const char *s, uint64_t *v)
{
	const char *end;
	char *number_end;

	if (k->type == T_BOOL) {
		*v = !strcmp(s, "yes");
		return *v || !strcmp(s, "no");
	}
	errno = 0;
	*v = strtoull(s, &number_end, 0);
	if (errno || !isdigit((unsigned char)*s))
		return false;
	end = number_end;
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

static void print_value(const struct key *k, uint64_t v, FILE *out)
{
	if (k->type == T_BOOL) {
		fprintf(out, "%s = %s\n", k->name, v ? "yes" : "no");
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

static const char *const section_names[S_SECTIONS] = { "run", "link", "host", "connection" };

/* What is being read. */
struct reader {
	struct sim_cfg *cfg;
	const char *path;
	char section[64];
	enum section kind;
	int64_t index;		/* -1: all */
	struct sim_conn_cfg template;
};

/* A new section "KIND" or "KIND N"; connections are made by being named, with any name. */
static bool open_section(struct reader *r, const char *section)
{
	size_t len = strcspn(section, " ");
	const char *which = section + len + strspn(section + len, " ");

	snprintf(r->section, sizeof(r->section), "%s", section);
	for (r->kind = S_RUN; r->kind < S_SECTIONS; r->kind++)
		if (strlen(section_names[r->kind]) == len &&
		    !strncmp(section, section_names[r->kind], len))
			break;
	r->index = -1;
	if (r->kind == S_SECTIONS)
		return false;
	if (!*which)
		return true;
	if (r->kind == S_CONNECTION) {
		struct sim_conn_cfg *c = sim_cfg_add_conn(r->cfg);

		if (!c)
			return false;
		*c = r->template;
		r->index = (int64_t)r->cfg->nconns - 1;
		return true;
	}
	r->index = isdigit((unsigned char)*which) ? atoi(which) : SIM_MAX_HOSTS;
	return r->kind != S_RUN && r->index < SIM_MAX_HOSTS;
}

static void store(struct reader *r, const struct key *k, uint64_t v)
{
	struct sim_cfg *cfg = r->cfg;

	if (k->section == S_RUN) {
		*(uint64_t *)((char *)cfg + k->offset) = v;
		return;
	}
	if (k->section == S_CONNECTION) {
		void *base = r->index < 0 ? &r->template : &cfg->conn[r->index];

		*(uint64_t *)((char *)base + k->offset) = v;
		return;
	}
	for (int64_t i = 0; i < SIM_MAX_HOSTS; i++) {
		void *base = k->section == S_LINK ? (void *)&cfg->link[i] : (void *)&cfg->host[i];

		if (r->index < 0 || r->index == i)
			*(uint64_t *)((char *)base + k->offset) = v;
	}
}

static int complain(const struct reader *r, const char *what, const char *name, const char *value)
{
	fprintf(stderr, "%s: [%s] %s%s%s: %s\n", r->path, r->section, name,
		*value ? " = " : "", value, what);
	return 0;
}

/* inih calls this for each line "name = value"; 0 marks the line as an error. */
static int on_value(void *user, const char *section, const char *name, const char *value)
{
	struct reader *r = user;
	uint64_t v;

	if (strcmp(section, r->section) && !open_section(r, section))
		return complain(r, "no such section", "", "");
	if (r->kind == S_SECTIONS)
		return 0;
	for (int i = 0; i < NKEYS; i++) {
		if (keys[i].section != r->kind || strcmp(keys[i].name, name))
			continue;
		if (!parse_value(&keys[i], value, &v))
			return complain(r, "not a value of this kind", name, value);
		if (v < keys[i].min || v > keys[i].max)
			return complain(r, "out of range", name, value);
		store(r, &keys[i], v);
		return 1;
	}
	return complain(r, "unknown key", name, value);
}

static bool check(const struct sim_cfg *cfg, const char *path)
{
	for (uint64_t i = 0; i < cfg->nconns; i++) {
		const struct sim_conn_cfg *c = &cfg->conn[i];

		if (c->from >= cfg->hosts || c->to >= cfg->hosts || c->from == c->to ||
		    c->size_min > c->size_max) {
			fprintf(stderr, "%s: connection %llu: bad hosts or sizes\n", path,
				(unsigned long long)i);
			return false;
		}
	}
	if (!cfg->nconns)
		fprintf(stderr, "%s: no connection\n", path);
	return cfg->nconns != 0;
}

bool sim_cfg_read(struct sim_cfg *cfg, const char *path)
{
	struct reader r = { .cfg = cfg, .path = path, .index = -1, .template = conn_defaults };
	int line;

	sim_cfg_init(cfg);
	line = ini_parse(path, on_value, &r);
	if (line == -1)
		perror(path);
	else if (line)
		fprintf(stderr, "%s: error in line %d\n", path, line);
	return line == 0 && check(cfg, path);
}

/* Print the values of |base| that differ from |defaults|. */
static void print_section(enum section s, const void *base, const void *defaults, FILE *out)
{
	for (int i = 0; i < NKEYS; i++) {
		uint64_t v, d;

		if (keys[i].section != s)
			continue;
		v = *(const uint64_t *)((const char *)base + keys[i].offset);
		d = *(const uint64_t *)((const char *)defaults + keys[i].offset);
		if (v != d)
			print_value(&keys[i], v, out);
	}
}

void sim_cfg_print(const struct sim_cfg *cfg, FILE *out)
{
	static const struct sim_cfg none;

	fprintf(out, "[run]\n");
	print_section(S_RUN, cfg, &none, out);
	for (uint64_t i = 0; i < cfg->hosts; i++) {
		fprintf(out, "\n[link %llu]\n", (unsigned long long)i);
		print_section(S_LINK, &cfg->link[i], &link_defaults, out);
		fprintf(out, "\n[host %llu]\n", (unsigned long long)i);
		print_section(S_HOST, &cfg->host[i], &host_defaults, out);
	}
	for (uint64_t i = 0; i < cfg->nconns; i++) {
		const struct sim_conn_cfg *c = &cfg->conn[i];

		/* A section without a line is none. */
		fprintf(out, "\n[connection %llu]\n%s", (unsigned long long)i,
			c->from ? "" : "from = 0\n");
		print_section(S_CONNECTION, c, &conn_defaults, out);
	}
}

/* Set one value to its default; true if it was another. */
static bool reset(void *base, const void *defaults, size_t offset)
{
	uint64_t *v = (uint64_t *)((char *)base + offset);
	uint64_t d = *(const uint64_t *)((const char *)defaults + offset);
	bool other = *v != d;

	*v = d;
	return other;
}

bool sim_cfg_remove_fault(struct sim_cfg *cfg, uint32_t n, bool *changed)
{
	const struct key *k;
	uint32_t i = 0;

	for (; i < NKEYS && (!keys[i].fault || n--); i++)
		;
	if (i == NKEYS)
		return false;
	k = &keys[i];
	*changed = false;
	for (uint64_t h = 0; h < cfg->hosts && k->section == S_LINK; h++)
		*changed |= reset(&cfg->link[h], &link_defaults, k->offset);
	for (uint64_t h = 0; h < cfg->hosts && k->section == S_HOST; h++)
		*changed |= reset(&cfg->host[h], &host_defaults, k->offset);
	for (uint64_t c = 0; c < cfg->nconns && k->section == S_CONNECTION; c++)
		*changed |= reset(&cfg->conn[c], &conn_defaults, k->offset);
	return true;
}
