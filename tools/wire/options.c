// SPDX-License-Identifier: BSD-2-Clause
/* The command line: options of its own, and every setting of a path. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/app.h"
#include "emulator.h"

enum {
	DEFAULT_FRAMES = 16384,
	MIN_FRAMES = 256,
	MAX_FRAMES = 1 << 20,
	MAX_OPTIONS = 40,
	MAX_PATH_ARGS = 256,
	FIRST_KEY = 0x1000,	/* option values from here on are settings */
};

enum option_id { OPT_PATHS = 1, OPT_SPREAD, OPT_PATH, OPT_SEED, OPT_CONTROL, OPT_IO, OPT_FRAMES,
		 OPT_NICE, OPT_ALL, OPT_CHECK, OPT_HELP };

static const struct option own[] = {
	{ "paths", 1, NULL, OPT_PATHS },     { "spread", 1, NULL, OPT_SPREAD },
	{ "path", 1, NULL, OPT_PATH },	     { "seed", 1, NULL, OPT_SEED },
	{ "control", 1, NULL, OPT_CONTROL }, { "io", 1, NULL, OPT_IO },
	{ "frames", 1, NULL, OPT_FRAMES },   { "nice", 1, NULL, OPT_NICE },
	{ "impair-all", 0, NULL, OPT_ALL },
	{ "json", 0, NULL, 'j' },	     { "check", 0, NULL, OPT_CHECK },
	{ "help", 0, NULL, OPT_HELP },
};

enum { OWN = sizeof(own) / sizeof(own[0]) };

static void usage(FILE *out)
{
	const char *value, *help, *key;

	fprintf(out, "usage: falcon-wire [OPTION]... INTERFACE INTERFACE...\n"
		     "       falcon-wire set --control SOCKET [path=N|all] [to=INTERFACE] KEY=VALUE...\n"
		     "       falcon-wire show --control SOCKET [-j]\n"
		     "       falcon-wire reset --control SOCKET\n\n"
		     "  --paths N            parallel paths, 1 to 16 (1)\n"
		     "  --spread hash|index  choose a path by a hash over the flow, or by its index (hash)\n"
		     "  --path N:KEY=VALUE[/KEY=VALUE]...  settings of one path\n"
		     "  --seed N             of all random choices (1)\n"
		     "  --control SOCKET     for set, show, reset\n"
		     "  --io auto|native|generic|packet  AF_XDP if it can be had, or how (auto)\n"
		     "  --frames N           how many can be under way (16384)\n"
		     "  --nice N             priority, -20 to 19 (0); -20 is the highest\n"
		     "  --impair-all         also what is not unicast IP\n"
		     "  -j, --json           reports as JSON\n"
		     "  --check              only look whether the command line is right\n"
		     "Of all paths, each way, and as KEY=VALUE of --path and set:\n");
	for (unsigned int i = 0; (key = settings_key(i, &value, &help)); i++)
		fprintf(out, "  --%s %s%*s %s\n", key, value,
			(int)(17 - strlen(key) - strlen(value)), "", help);
}

static _Noreturn __attribute__((format(printf, 1, 2))) void wrong(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "falcon-wire: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (falcon-wire --help)\n");
	exit(2);
}

static uint64_t number(const char *name, const char *text, uint64_t min, uint64_t max)
{
	uint64_t n;

	if (app_parse_number(text, min, max, &n))
		wrong("--%s: \"%s\" is not a number from %llu to %llu", name, text,
		      (unsigned long long)min, (unsigned long long)max);
	return n;
}

static int parse_nice(const char *text)
{
	uint64_t n = number("nice", text + (*text == '-'), 0, 20);

	if (n == 20 && *text != '-')
		wrong("--nice: \"%s\" is not a number from -20 to 19", text);
	return *text == '-' ? -(int)n : (int)n;
}

static enum port_io parse_io(const char *text)
{
	for (enum port_io io = PORT_AUTO; io <= PORT_PACKET; io++)
		if (!strcmp(text, port_io_name(io)))
			return io;
	wrong("--io: \"%s\" is none of: auto, native, generic, packet", text);
}

static bool parse_spread(const char *text)
{
	if (strcmp(text, "index") && strcmp(text, "hash"))
		wrong("--spread: \"%s\" is neither \"hash\" nor \"index\"", text);
	return !strcmp(text, "index");
}

/* A comma before KEY= may stand for a slash; others belong to a value. */
static void split_at_commas(char *text)
{
	for (char *comma = text; (comma = strchr(comma, ',')); comma++)
		if (comma[1 + strspn(comma + 1, "abcdefghijklmnopqrstuvwxyz-")] == '=')
			*comma = '/';
}

/* N:KEY=VALUE/KEY=VALUE... */
static void parse_path(struct wire_conf *conf, const char *text)
{
	char *copy = strdup(text), *rest = copy, *word = strsep(&rest, ":");
	char err[WIRE_ERR_LEN];
	uint64_t path;

	if (!copy)
		wrong("out of memory");
	if (!rest || app_parse_number(word, 0, conf->paths - 1, &path))
		wrong("--path: \"%s\": want N:KEY=VALUE with N from 0 to %u", text, conf->paths - 1);
	split_at_commas(rest);
	while ((word = strsep(&rest, "/")))
		if (settings_assign(&conf->path[path], word, err))
			wrong("--path %s: %s", text, err);
	free(copy);
}

/* Options of our own. |arg| is optarg. */
static void parse_own(struct options *o, int c, const char *arg)
{
	switch (c) {
	case OPT_PATHS: o->conf.paths = (unsigned int)number("paths", arg, 1, WIRE_MAX_PATHS); break;
	case OPT_SPREAD: o->conf.by_index = parse_spread(arg); break;
	case OPT_SEED: o->conf.seed = number("seed", arg, 0, UINT64_MAX); break;
	case OPT_CONTROL: o->control = arg; break;
	case OPT_IO: o->io = parse_io(arg); break;
	case OPT_FRAMES: o->frames = number("frames", arg, MIN_FRAMES, MAX_FRAMES); break;
	case OPT_NICE: o->nice = parse_nice(arg); break;
	case OPT_ALL: o->conf.all = true; break;
	case 'j': o->json = true; break;
	case OPT_CHECK: o->check = true; break;
	case OPT_HELP: usage(stdout); exit(0);
	default: usage(stderr); exit(2);
	}
}

static void build_table(struct option *table)
{
	const char *value, *help, *key;
	unsigned int n = OWN;

	memcpy(table, own, sizeof(own));
	for (unsigned int i = 0; (key = settings_key(i, &value, &help)); i++)
		table[n++] = (struct option){ key, 1, NULL, FIRST_KEY + (int)i };
	table[n] = (struct option){ 0 };
}

static void parse_ports(struct options *o, int argc, char **argv)
{
	if (argc < 2 || argc > WIRE_MAX_PORTS)
		wrong("want 2 to %d interfaces", WIRE_MAX_PORTS);
	for (int i = 0; i < argc; i++) {
		for (int k = 0; k < i; k++)
			if (!strcmp(argv[i], argv[k]))
				wrong("interface \"%s\" twice", argv[i]);
		o->name[i] = argv[i];
	}
	o->conf.ports = (unsigned int)argc;
}

void options_parse(struct options *o, int argc, char **argv)
{
	struct option table[MAX_OPTIONS];
	struct wire_settings all;
	const char *path[MAX_PATH_ARGS];
	unsigned int paths = 0;
	char err[WIRE_ERR_LEN];
	int c, which;

	*o = (struct options){ .frames = DEFAULT_FRAMES, .conf = { .paths = 1, .seed = 1 } };
	settings_init(&all);
	build_table(table);
	while ((c = getopt_long(argc, argv, "jh", table, &which)) != -1) {
		if (c >= FIRST_KEY && settings_set(&all, table[which].name, optarg, err))
			wrong("--%s", err);
		if (c == OPT_PATH && paths == MAX_PATH_ARGS)
			wrong("--path: more than %d", MAX_PATH_ARGS);
		if (c == OPT_PATH)
			path[paths++] = optarg;
		else if (c < FIRST_KEY)
			parse_own(o, c == 'h' ? OPT_HELP : c, optarg);
	}
	/* Those of single paths go on top of those of all, wherever they stand. */
	for (unsigned int i = 0; i < WIRE_MAX_PATHS; i++)
		o->conf.path[i] = all;
	for (unsigned int i = 0; i < paths; i++)
		parse_path(&o->conf, path[i]);
	for (unsigned int i = 0; i < o->conf.paths; i++)
		if (settings_check(&o->conf.path[i], err))
			wrong("path %u: %s", i, err);
	parse_ports(o, argc - optind, argv + optind);
	for (unsigned int i = 0; i < o->conf.paths; i++)
		if (o->conf.path[i].rifl && o->conf.ports != 2)
			wrong("path %u: rifl: a hop has two ends, there are %u interfaces", i, o->conf.ports);
}
