// SPDX-License-Identifier: BSD-2-Clause
/*
 * falcon.conf and its JSON twin: sections, defaults, and the checks that involve several keys.
 *
 * libinih splits lines into key and value. Sections are recognized here, in the line reader,
 * because libinih tells of a section only when it meets a key in it, cuts names at 49 characters,
 * and takes an indented line for the continuation of the one before.
 */
#include "agent/config/config.h"

#include <errno.h>
#include <ini.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/endpoint.h"
#include "agent/config/keys.h"
#include "agent/config/nvme.h"
#include "agent/config/policy.h"
#include "agent/config/ranges.h"

#define SECTIONS                                                                                   \
	"[agent], [port IFNAME], [peer NAME], [user NAME], [group NAME], [connection NAME], "      \
	"[namespace NAME], [nvme NAME], [swift PROFILE] or [rue ALGORITHM]"

struct parser {
	FILE *file;
	const char *path;
	struct agent_config *cfg;
	const struct config_section *section;	/* that lines are read into; NULL: none yet */
	void *base;				/* its struct; NULL for [swift] and [rue] */
	int number;				/* of this profile or engine in cfg->rue */
	struct config_set *set;			/* the struct's |set| */
	char title[CONFIG_NAME_MAX + 20];	/* as written, for messages: a kind and a name */
	unsigned int line;
	char *err;
	size_t errlen;
	int ret;				/* the first failure, 0: none */
};

__attribute__((format(printf, 2, 3))) static void fail(struct parser *p, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (p->ret)
		return;
	p->ret = -EINVAL;
	n = snprintf(p->err, p->errlen, "%s:%u: ", p->path, p->line);
	if (n < 0 || (size_t)n >= p->errlen)
		return;
	va_start(ap, fmt);
	vsnprintf(p->err + n, p->errlen - (size_t)n, fmt, ap);
	va_end(ap);
}

/* One more zeroed element at the end of a growing array; NULL if memory is short. */
static void *append(void **array, unsigned int *n, size_t size)
{
	/* Grow when n is a power of two (or 0). */
	if ((*n & (*n - 1)) == 0) {
		void *bigger = realloc(*array, (*n ? *n * 2UL : 1) * size);

		if (!bigger)
			return NULL;
		*array = bigger;
	}
	memset((char *)*array + *n * size, 0, size);
	return (char *)*array + (*n)++ * size;
}

static void agent_init(struct agent_options *a)
{
	*a = (struct agent_options){0};
	fcore_params_default(&a->params);
	config_section_defaults(&config_sections[CONFIG_AGENT], a);
}

static void begin_agent(struct parser *p, const char *name)
{
	struct agent_options *a = &p->cfg->agent;

	if (name[0])
		fail(p, "[agent] takes no name");
	else if (a->line)
		fail(p, "second [agent] section; the first is in line %u", a->line);
	a->line = p->line;
	p->base = a;
	p->set = &a->set;
}

static void begin_port(struct parser *p, const char *name)
{
	struct agent_config *cfg = p->cfg;
	struct port_config *port;

	if (!config_name_valid(name) || strlen(name) >= IFNAMSIZ)
		return fail(p, "[port] needs an interface name: [port eth0]");
	for (unsigned int i = 0; i < cfg->nports; i++) {
		if (strcmp(cfg->ports[i].ifname, name) == 0)
			return fail(p, "second section for port %s; the first is in line %u", name,
				    cfg->ports[i].line);
	}
	if (cfg->nports == FALCON_MAX_PORTS)
		return fail(p, "more than %d ports", FALCON_MAX_PORTS);
	port = append((void **)&cfg->ports, &cfg->nports, sizeof(*port));
	if (!port)
		return fail(p, "out of memory");
	snprintf(port->ifname, sizeof(port->ifname), "%s", name);
	config_section_defaults(p->section, port);
	port->line = p->line;
	p->base = port;
	p->set = &port->set;
}

static void begin_peer(struct parser *p, const char *name)
{
	struct agent_config *cfg = p->cfg;
	struct peer_config *peer;

	if (!config_name_valid(name))
		return fail(p, "[peer] needs a name, as in the peer's certificate, or \"any\": "
			       "[peer b.example]");
	for (unsigned int i = 0; i < cfg->npeers; i++) {
		if (strcasecmp(cfg->peers[i].name, name) == 0)
			return fail(p, "second section for peer %s; the first is in line %u", name,
				    cfg->peers[i].line);
	}
	if (cfg->npeers == CONFIG_PEERS_MAX)
		return fail(p, "more than %d peers", CONFIG_PEERS_MAX);
	peer = append((void **)&cfg->peers, &cfg->npeers, sizeof(*peer));
	if (!peer)
		return fail(p, "out of memory");
	snprintf(peer->name, sizeof(peer->name), "%s", name);
	config_section_defaults(p->section, peer);
	peer->line = p->line;
	p->base = peer;
	p->set = &peer->set;
}

/* The names are looked up by quota_open(). */
static void begin_user(struct parser *p, const char *name)
{
	bool group = p->section == &config_sections[CONFIG_GROUP];
	const char *kind = group ? "group" : "user";
	struct agent_config *cfg = p->cfg;
	struct quota_section *user;

	if (!config_name_valid(name))
		return fail(p, "[%s] needs a name, or a number: [%s alice]", kind, kind);
	for (unsigned int i = 0; i < cfg->nusers; i++) {
		if (cfg->users[i].group == group && strcmp(cfg->users[i].name, name) == 0)
			return fail(p, "second section for %s %s; the first is in line %u", kind,
				    name, cfg->users[i].line);
	}
	if (cfg->nusers == QUOTA_SECTIONS_MAX)
		return fail(p, "more than %d users and groups", QUOTA_SECTIONS_MAX);
	user = append((void **)&cfg->users, &cfg->nusers, sizeof(*user));
	if (!user)
		return fail(p, "out of memory");
	snprintf(user->name, sizeof(user->name), "%s", name);
	user->group = group;
	config_section_defaults(p->section, user);
	user->line = p->line;
	p->base = user;
	p->set = &user->set;
}

static void begin_conn(struct parser *p, const char *name)
{
	struct conn_config *c;
	char err[256];

	if (config_conn_name_check(name, err, sizeof(err)))
		return fail(p, "%s: [connection b]", err);
	c = append((void **)&p->cfg->conns, &p->cfg->nconns, sizeof(*c));
	if (!c)
		return fail(p, "out of memory");
	config_conn_init(c, name);
	c->line = p->line;
	p->base = c;
	p->set = &c->set;
}

/*
 * One more section |name| of a kind whose structs begin with the name: at the end of |*array|, with
 * the keys' defaults. NULL after fail().
 */
static void *begin_named(struct parser *p, const char *name, void **array, unsigned int *n,
			 size_t size)
{
	const char *kind = p->section->name;
	char *s;

	if (!config_name_valid(name)) {
		fail(p, "[%s] needs a name: [%s disk0]", kind, kind);
		return NULL;
	}
	for (unsigned int i = 0; i < *n; i++) {
		if (strcmp((const char *)*array + i * size, name) == 0) {
			fail(p, "second section [%s %s]", kind, name);
			return NULL;
		}
	}
	s = append(array, n, size);
	if (!s) {
		fail(p, "out of memory");
		return NULL;
	}
	snprintf(s, CONFIG_NAME_MAX, "%s", name);
	config_section_defaults(p->section, s);
	p->base = s;
	return s;
}

static void begin_namespace(struct parser *p, const char *name)
{
	struct agent_config *cfg = p->cfg;
	struct namespace_config *ns = begin_named(p, name, (void **)&cfg->namespaces,
						  &cfg->nnamespaces, sizeof(*ns));

	if (!ns)
		return;
	ns->line = p->line;
	p->set = &ns->set;
}

static void begin_nvme(struct parser *p, const char *name)
{
	struct agent_config *cfg = p->cfg;
	struct nvme_config *dev = begin_named(p, name, (void **)&cfg->nvmes, &cfg->nnvmes,
					      sizeof(*dev));

	if (!dev)
		return;
	dev->line = p->line;
	p->set = &dev->set;
}

static void begin_swift(struct parser *p, const char *name)
{
	char why[256];

	if (name[0] && !config_name_valid(name))
		return fail(p, "a profile has a name of letters, digits, '.', '_' and '-'");
	p->number = config_rue_swift(&p->cfg->rue, name, p->line, why, sizeof(why));
	if (p->number < 0)
		fail(p, "%s", why);
}

static void begin_rue(struct parser *p, const char *name)
{
	char why[256];

	p->number = config_rue_engine(&p->cfg->rue, name, why, sizeof(why));
	if (p->number < 0)
		fail(p, "%s", why);
}

/* |line| is "[kind name]" and perhaps a comment. */
static void begin_section(struct parser *p, const char *line)
{
	static void (*const begin[CONFIG_SECTION_COUNT])(struct parser *, const char *) = {
		[CONFIG_AGENT] = begin_agent,
		[CONFIG_PORT] = begin_port,
		[CONFIG_PEER] = begin_peer,
		[CONFIG_USER] = begin_user,
		[CONFIG_GROUP] = begin_user,
		[CONFIG_CONNECTION] = begin_conn,
		[CONFIG_NAMESPACE] = begin_namespace,
		[CONFIG_NVME] = begin_nvme,
		[CONFIG_SWIFT] = begin_swift,
		[CONFIG_RUE] = begin_rue,
	};
	char kind[16] = "", name[CONFIG_NAME_MAX + 1] = "", end[2] = "";

	p->section = NULL;
	p->base = NULL;
	if (sscanf(line, "[ %15[a-z] %64[^] ] %1[]]", kind, name, end) != 3 &&
	    sscanf(line, "[ %15[a-z] %1[]]", kind, end) != 2)
		return fail(p, "malformed section header: " SECTIONS);
	for (unsigned int i = 0; i < CONFIG_SECTION_COUNT; i++) {
		if (strcmp(config_sections[i].name, kind) != 0)
			continue;
		p->section = &config_sections[i];
		snprintf(p->title, sizeof(p->title), "[%s%s%s]", kind, name[0] ? " " : "", name);
		return begin[i](p, name);
	}
	fail(p, "unknown section [%s]: it is " SECTIONS, kind);
}

/* libinih's reader: a line without its indentation, or NULL at the end of the file. */
static char *read_line(char *buf, int size, void *arg)
{
	struct parser *p = arg;
	size_t skip;

	if (p->ret || !fgets(buf, size, p->file))
		return NULL;
	p->line++;
	if (!strchr(buf, '\n') && !feof(p->file)) {
		fail(p, "line is longer than %d bytes", size - 2);
		return NULL;
	}
	skip = strspn(buf, " \t\r");
	memmove(buf, buf + skip, strlen(buf + skip) + 1);
	if (buf[0] == '[') {
		begin_section(p, buf);
		if (p->ret)
			return NULL;
	}
	return buf;
}

/* A key of [swift] or [rue]. */
static void on_rue_key(struct parser *p, const char *name, const char *value)
{
	bool swift = p->section == &config_sections[CONFIG_SWIFT];
	char why[256];

	if ((swift ? config_rue_swift_key : config_rue_engine_key)(&p->cfg->rue, p->number, name,
								   value, why, sizeof(why)))
		fail(p, "%s: %s", p->title, why);
}

static int on_key(void *arg, const char *section, const char *name, const char *value)
{
	struct parser *p = arg;
	char why[256];
	int i;

	(void)section;
	if (p->ret)
		return 0;
	if (!p->section) {
		fail(p, "key %s before any section", name);
		return 0;
	}
	if (!p->base) {
		on_rue_key(p, name, value);
		return !p->ret;
	}
	i = config_key_find(p->section, name);
	if (i < 0)
		fail(p, "unknown key %s in %s", name, p->title);
	else if (config_set_has(p->set, (unsigned int)i))
		fail(p, "key %s is given twice in %s", name, p->title);
	else if (config_key_set(p->section, (unsigned int)i, p->base, value, why, sizeof(why)))
		fail(p, "%s: %s", p->title, why);
	if (p->ret)
		return 0;
	config_set_add(p->set, (unsigned int)i);
	return 1;
}

static void check_profile(struct parser *p, const char *name, unsigned int line)
{
	char why[256];

	p->line = line;
	if (!config_rue_has_profile(&p->cfg->rue, name, why, sizeof(why)))
		fail(p, "%s", why);
}

static void check_cpus(struct parser *p)
{
	const char *cpus = p->cfg->agent.cpus;

	if (p->ret || !cpus[0])
		return;
	p->line = p->cfg->agent.line;
	if (!ranges_valid(cpus, CPU_SETSIZE - 1) || ranges_count(cpus) > CPU_SETSIZE)
		fail(p, "cpus must be numbers and ranges, such as 2,4-6, not \"%s\"", cpus);
	else if (ranges_count(cpus) < p->cfg->agent.threads)
		fail(p, "cpus = %s has fewer CPUs than there are threads, %u", cpus, p->cfg->agent.threads);
}

static void check_metrics(struct parser *p)
{
	const struct agent_options *opt = &p->cfg->agent;
	struct sockaddr_storage addr;
	socklen_t len;

	if (p->ret || !opt->metrics[0] || endpoint_parse(opt->metrics, &addr, &len))
		return;
	p->line = opt->line;
	fail(p, "[agent]: metrics must be ADDRESS:PORT, 192.0.2.1:9464 or [2001:db8::1]:9464, not \"%s\"",
	     opt->metrics);
}

/* The checks that have to wait for the end of the file; messages name the section's line. */
static void finish(struct parser *p)
{
	struct agent_config *cfg = p->cfg;
	char why[256];

	if (config_rue_finish(&cfg->rue, &p->line, why, sizeof(why)))
		return fail(p, "%s", why);
	check_profile(p, cfg->agent.cc.profile, cfg->agent.line);
	check_cpus(p);
	check_metrics(p);
	for (unsigned int i = 0; i < cfg->npeers && !p->ret; i++) {
		p->line = cfg->peers[i].line;
		if (!policy_functions_valid(cfg->peers[i].functions))
			fail(p, "[peer %s]: functions must be any, or numbers and ranges: 0,16-31",
			     cfg->peers[i].name);
	}
	if (config_nvme_finish(cfg, &p->line, why, sizeof(why)))
		return fail(p, "%s", why);
	for (unsigned int i = 0; i < cfg->nconns && !p->ret; i++) {
		struct conn_config *c = &cfg->conns[i];

		p->line = c->line;
		if (config_conn_finish(c, &cfg->agent, why, sizeof(why)))
			return fail(p, "%s", why);
		check_profile(p, c->cc.profile, c->line);
		for (unsigned int k = 0; k < i; k++) {
			if (config_conn_conflict(c, &cfg->conns[k], why, sizeof(why)))
				return fail(p, "%s", why);
		}
	}
}

static void parse(struct parser *p)
{
	int bad = ini_parse_stream(read_line, p, on_key, p);

	if (bad > 0 && !p->ret) {
		p->line = (unsigned int)bad;
		fail(p, "neither key = value nor a section");
	}
	if (ferror(p->file))
		fail(p, "%s", strerror(errno));
	if (!p->ret)
		finish(p);
}

int config_load(const char *path, struct agent_config *cfg, char *err, size_t errlen)
{
	struct parser p = {.path = path, .cfg = cfg, .err = err, .errlen = errlen};

	*cfg = (struct agent_config){0};
	agent_init(&cfg->agent);
	config_rue_init(&cfg->rue);
	if (!path)
		return 0;
	p.file = fopen(path, "re");
	if (!p.file) {
		int ret = -errno;

		snprintf(err, errlen, "%s: %s", path, strerror(-ret));
		return ret;
	}
	parse(&p);
	fclose(p.file);
	if (p.ret)
		config_free(cfg);
	return p.ret;
}

void config_free(struct agent_config *cfg)
{
	free(cfg->ports);
	free(cfg->conns);
	free(cfg->peers);
	free(cfg->users);
	free(cfg->namespaces);
	free(cfg->nvmes);
	cfg->namespaces = NULL;
	cfg->nnamespaces = 0;
	cfg->nvmes = NULL;
	cfg->nnvmes = 0;
	cfg->peers = NULL;
	cfg->npeers = 0;
	cfg->users = NULL;
	cfg->nusers = 0;
	cfg->ports = NULL;
	cfg->conns = NULL;
	cfg->nports = 0;
	cfg->nconns = 0;
}
