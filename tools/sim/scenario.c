// SPDX-License-Identifier: BSD-2-Clause
#include "scenario.h"
#include "hop.h"

#include <ctype.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

/* What is being read. */
struct reader {
	const struct scenario *sc;
	struct scenario *family;	/* first pass: what is to be filled in */
	struct sim_cfg *cfg;		/* second pass */
	uint32_t n;			/* which of the family */
	char section[64];
	enum key_section kind;
	bool skip;			/* the section's condition does not hold */
	int64_t index;			/* of a link, trunk, host or connection; -1: all */
	struct sim_conn_cfg template;
};

uint32_t scenario_count(const struct scenario *sc)
{
	uint32_t n = 1;

	for (uint32_t l = 0; l < sc->nlists; l++)
		n *= sc->list[l].n;
	return n;
}

const char *scenario_value(const struct scenario *sc, uint32_t l, uint32_t n)
{
	for (uint32_t i = 0; i < l; i++)
		n /= sc->list[i].n;
	return sc->list[l].value[n % sc->list[l].n];
}

static int complain(const struct reader *r, const char *what, const char *name, const char *value)
{
	fprintf(stderr, "%s: [%s] %s%s%s: %s\n", r->sc->path, r->section, name,
		*value ? " = " : "", value, what);
	return 0;
}

/* First pass. */

static int add_list(struct reader *r, const char *name, const char *value)
{
	struct scenario *sc = r->family;
	struct scenario_list *l = &sc->list[sc->nlists];
	int used;

	if (sc->nlists == SCENARIO_LISTS || strlen(name) >= sizeof(l->name))
		return complain(r, "too many lists, or too long a name", name, value);
	snprintf(l->name, sizeof(l->name), "%s", name);
	for (; l->n < SCENARIO_VALUES && sscanf(value, " %23s%n", l->value[l->n], &used) == 1;
	     value += used)
		l->n++;
	if (!l->n || value[strspn(value, " \t")])
		return complain(r, "not a list of 1 to 24 values", name, value);
	sc->nlists++;
	return 1;
}

static int set_plot(struct reader *r, const char *name, const char *value)
{
	struct scenario_plot *p = &r->family->plot;
	const struct {
		const char *name;
		char *text;
		size_t size;
	} texts[] = {
		{ "title", p->title, sizeof(p->title) },
		{ "xlabel", p->xlabel, sizeof(p->xlabel) },
		{ "ylabel", p->ylabel, sizeof(p->ylabel) },
		{ "y", p->y, sizeof(p->y) },
		{ "log", p->log, sizeof(p->log) },
		{ "yrange", p->yrange, sizeof(p->yrange) },
		{ "group", p->group, sizeof(p->group) },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(texts[i].name, name))
			continue;
		snprintf(texts[i].text, texts[i].size, "%s", value);
		return 1;
	}
	return complain(r, "unknown key", name, value);
}

static int on_family(void *user, const char *section, const char *name, const char *value)
{
	struct reader *r = user;

	snprintf(r->section, sizeof(r->section), "%s", section);
	if (!strcmp(section, "sweep"))
		return add_list(r, name, value);
	if (!strcmp(section, "plot"))
		return set_plot(r, name, value);
	return 1;
}

static bool parse(const char *path, ini_handler handler, struct reader *r)
{
	int line = ini_parse(path, handler, r);

	if (line == -1)
		perror(path);
	else if (line)
		fprintf(stderr, "%s: error in line %d\n", path, line);
	return line == 0;
}

bool scenario_open(struct scenario *sc, const char *path)
{
	struct reader r = { .sc = sc, .family = sc };

	memset(sc, 0, sizeof(*sc));
	sc->path = path;
	return parse(path, on_family, &r);
}

/* Second pass. */

static const struct scenario_list *find_list(const struct reader *r, const char *name, size_t len,
					     const char **value)
{
	for (uint32_t l = 0; l < r->sc->nlists; l++) {
		const struct scenario_list *list = &r->sc->list[l];

		if (strlen(list->name) != len || strncmp(list->name, name, len))
			continue;
		*value = scenario_value(r->sc, l, r->n);
		return list;
	}
	return NULL;
}

/* "name=one|two": false if there is no such list. */
static bool condition(struct reader *r, const char *text)
{
	size_t len = strcspn(text, "=");
	const char *value, *p = text + len;

	if (!*p || !find_list(r, text, len, &value))
		return false;
	r->skip = true;
	while (*p) {
		size_t n = strcspn(++p, "|");

		if (strlen(value) == n && !strncmp(p, value, n))
			r->skip = false;
		p += n;
	}
	return true;
}

static bool open_connection(struct reader *r, const char *name)
{
	struct sim_conn_cfg *c = sim_cfg_add_conn(r->cfg);

	if (!c)
		return false;
	*c = r->template;
	snprintf(c->name, sizeof(c->name), "%s", name);
	r->index = (int64_t)r->cfg->nconns - 1;
	return true;
}

/* Which trunk, link or host "N" or "LEAF-SPINE" is. */
static bool open_index(struct reader *r, const char *which)
{
	uint64_t spines = r->cfg->spines;
	char *end;

	if (!isdigit((unsigned char)*which))
		return false;
	r->index = strtol(which, &end, 10);
	if (r->kind == S_TRUNK && *end == '-' && isdigit((unsigned char)end[1])) {
		uint64_t spine = strtoul(end + 1, &end, 10);

		if (spine >= spines || r->index >= (int64_t)r->cfg->leaves)
			return false;
		r->index = r->index * (int64_t)spines + (int64_t)spine;
	} else if (r->kind == S_TRUNK) {
		return false;
	}
	return !*end && r->index >= 0 && r->index < SIM_MAX_HOSTS;
}

/* A new section "KIND", "KIND N", either perhaps with " if NAME=VALUE". */
static bool open_section(struct reader *r, const char *section)
{
	char text[64], *which, *cond;

	snprintf(r->section, sizeof(r->section), "%s", section);
	snprintf(text, sizeof(text), "%s", section);
	r->skip = false;
	cond = strstr(text, " if ");
	if (cond) {
		*cond = 0;
		if (!condition(r, cond + 4))
			return false;
	}
	which = text + strcspn(text, " ");
	if (*which)
		*which++ = 0;
	r->index = -1;
	r->skip |= !strcmp(text, "sweep") || !strcmp(text, "plot");
	if (r->skip)
		return true;
	for (r->kind = S_RUN; r->kind < S_SECTIONS; r->kind++)
		if (!strcmp(text, key_section_names[r->kind]))
			break;
	if (r->kind == S_SECTIONS)
		return false;
	if (!*which)
		return true;
	if (r->kind == S_CONNECTION)
		return open_connection(r, which);
	return r->kind != S_RUN && r->kind != S_SWIFT && open_index(r, which);
}

static void put(void *base, const struct key *k, uint64_t v)
{
	*(uint64_t *)((char *)base + k->offset) = v;
}

static void store(struct reader *r, const struct key *k, uint64_t v)
{
	struct sim_cfg *cfg = r->cfg;

	if (r->kind == S_RUN)
		put(cfg, k, v);
	else if (r->kind == S_CONNECTION)
		put(r->index < 0 ? &r->template : &cfg->conn[r->index], k, v);
	for (int64_t i = 0; i < SIM_MAX_HOSTS; i++) {
		if (r->index >= 0 && r->index != i)
			continue;
		if (r->kind == S_LINK)
			put(&cfg->link[i], k, v);
		else if (r->kind == S_TRUNK)
			put(&cfg->trunk[i], k, v);
		else if (r->kind == S_HOST)
			put(&cfg->host[i], k, v);
	}
}

/* Parameters of the rate update engine are its own to check. */
static int add_swift(struct reader *r, const char *name, const char *value)
{
	for (int i = 0; i < SIM_MAX_SWIFT; i++) {
		if (*r->cfg->swift[i])
			continue;
		if (snprintf(r->cfg->swift[i], SIM_MAX_NAME, "%s=%s", name, value) >= SIM_MAX_NAME)
			break;
		return 1;
	}
	return complain(r, "too many parameters, or too long", name, value);
}

/* inih calls this for each line "name = value"; 0 marks the line as an error. */
static int on_value(void *user, const char *section, const char *name, const char *value)
{
	struct reader *r = user;
	const struct key *k;
	uint64_t v;

	if (strcmp(section, r->section) && !open_section(r, section))
		return complain(r, "no such section", "", "");
	if (r->skip)
		return 1;
	if (r->kind == S_SECTIONS)
		return 0;
	if (*value == '$' && !find_list(r, value + 1, strlen(value + 1), &value))
		return complain(r, "no such list", name, value);
	if (r->kind == S_SWIFT)
		return add_swift(r, name, value);
	k = key_find(r->kind, name);
	if (!k)
		return complain(r, "unknown key", name, value);
	if (!key_parse(k, value, &v))
		return complain(r, "not a value of this kind", name, value);
	if (v < k->min || v > k->max)
		return complain(r, "out of range", name, value);
	store(r, k, v);
	return 1;
}

static bool check_conn(const struct sim_cfg *cfg, const struct sim_conn_cfg *c)
{
	for (uint64_t n = 0; n < c->count; n++) {
		if (c->from >= cfg->hosts || c->to >= cfg->hosts ||
		    sim_cfg_host(cfg, c, n, 0) == sim_cfg_host(cfg, c, n, 1))
			return false;
	}
	return c->size_min <= c->size_max && (!c->load || c->message);
}

static bool check_links(const struct sim_cfg *cfg)
{
	for (uint64_t i = 0; i < cfg->hosts; i++)
		if (cfg->link[i].rifl && hop_check(&cfg->link[i]))
			return false;
	for (uint64_t i = 0; i < cfg->leaves * cfg->spines; i++)
		if (cfg->trunk[i].rifl && hop_check(&cfg->trunk[i]))
			return false;
	return true;
}

static bool check(const struct sim_cfg *cfg, const char *path)
{
	if (!check_links(cfg)) {
		fprintf(stderr, "%s: rifl: no such frames, or a link too long for them\n", path);
		return false;
	}
	for (uint64_t i = 0; i < cfg->nconns; i++) {
		if (check_conn(cfg, &cfg->conn[i]))
			continue;
		fprintf(stderr, "%s: connection %llu: bad hosts or sizes\n", path,
			(unsigned long long)i);
		return false;
	}
	for (uint64_t i = 0; i < cfg->nconns && !cfg->data; i++) {
		if (!cfg->conn[i].encap)
			continue;
		fprintf(stderr, "%s: without data nothing can be encrypted\n", path);
		return false;
	}
	if (!cfg->nconns)
		fprintf(stderr, "%s: no connection\n", path);
	if (cfg->leaves && (!cfg->spines || cfg->hosts % cfg->leaves)) {
		fprintf(stderr, "%s: hosts must divide evenly among leaves, with spines above\n",
			path);
		return false;
	}
	return cfg->nconns != 0;
}

bool scenario_load(const struct scenario *sc, uint32_t n, struct sim_cfg *cfg)
{
	struct reader r = { .sc = sc, .cfg = cfg, .n = n, .index = -1, .template = conn_defaults };

	sim_cfg_init(cfg);
	return parse(sc->path, on_value, &r) && check(cfg, sc->path);
}
