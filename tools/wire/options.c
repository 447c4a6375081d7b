// SPDX-License-Identifier: BSD-2-Clause
/* The command line: options of its own, and every setting of a path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "emulator.h"

enum {
	DEFAULT_FRAMES = 16384,
	MIN_FRAMES = 256,
	MAX_FRAMES = 1 << 20,
	MAX_OPTIONS = 64,
	MAX_PATH_ARGS = 256,
	FIRST_KEY = 0x1000,	/* option values from here on are settings */
};

enum option_id {
	OPT_PATHS = 256,
	OPT_SPREAD,
	OPT_PATH,
	OPT_SEED,
	OPT_CONTROL,
	OPT_IO,
	OPT_FRAMES,
	OPT_NICE,
	OPT_ALL,
	OPT_CHECK,
};

static const struct argp_option own[] = {
	{ .name = "paths", .key = OPT_PATHS, .arg = "N", .doc = "Parallel paths, 1 to 16 (1)" },
	{ .name = "spread", .key = OPT_SPREAD, .arg = "hash|index",
	  .doc = "Choose a path by a hash over the flow, or by its index (hash)" },
	{ .name = "path", .key = OPT_PATH, .arg = "N:KEY=VALUE[/KEY=VALUE]...",
	  .doc = "Settings of one path" },
	{ .name = "seed", .key = OPT_SEED, .arg = "N", .doc = "Of all random choices (1)" },
	{ .name = "control", .key = OPT_CONTROL, .arg = "SOCKET", .doc = "For set, show, reset" },
	{ .name = "io", .key = OPT_IO, .arg = "auto|native|generic|packet",
	  .doc = "AF_XDP if it can be had, or how (auto)" },
	{ .name = "frames", .key = OPT_FRAMES, .arg = "N", .doc = "How many can be under way (16384)" },
	{ .name = "nice", .key = OPT_NICE, .arg = "N", .doc = "Priority, -20 to 19 (0); -20 is the highest" },
	{ .name = "impair-all", .key = OPT_ALL, .doc = "Also what is not unicast IP" },
	{ .name = "json", .key = 'j', .doc = "Reports as JSON" },
	{ .name = "check", .key = OPT_CHECK, .doc = "Only look whether the command line is right" },
	{ .doc = "Of all paths, each way, and as KEY=VALUE of --path and set:", .group = 1 },
};

enum { OWN = sizeof(own) / sizeof(own[0]) };

/* The line as far as it has been read. */
struct command_line {
	struct options *o;
	struct wire_settings all;	/* of all paths */
	const char *path[MAX_PATH_ARGS];
	unsigned int paths;
};

static int parse_nice(const struct argp_state *state, const char *text)
{
	uint64_t n = 0;

	if (cli_read_number(text + (*text == '-'), 0, 20, &n) || (n == 20 && *text != '-'))
		argp_error(state, "--nice: \"%s\" is not a number from -20 to 19", text);
	return *text == '-' ? -(int)n : (int)n;
}

static enum port_io parse_io(const struct argp_state *state, const char *text)
{
	for (enum port_io io = PORT_AUTO; io <= PORT_PACKET; io++)
		if (!strcmp(text, port_io_name(io)))
			return io;
	argp_error(state, "--io: \"%s\" is none of: auto, native, generic, packet", text);
	return PORT_AUTO;
}

static bool parse_spread(const struct argp_state *state, const char *text)
{
	if (strcmp(text, "index") && strcmp(text, "hash"))
		argp_error(state, "--spread: \"%s\" is neither \"hash\" nor \"index\"", text);
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
static void parse_path(const struct argp_state *state, struct wire_conf *conf, const char *text)
{
	char *copy = strdup(text), *rest = copy, *word = strsep(&rest, ":");
	char err[WIRE_ERR_LEN];
	uint64_t path;

	if (!copy)
		argp_error(state, "out of memory");
	if (!rest || cli_read_number(word, 0, conf->paths - 1, &path))
		argp_error(state, "--path: \"%s\": want N:KEY=VALUE with N from 0 to %u", text,
			   conf->paths - 1);
	split_at_commas(rest);
	while ((word = strsep(&rest, "/")))
		if (settings_assign(&conf->path[path], word, err))
			argp_error(state, "--path %s: %s", text, err);
	free(copy);
}

/* |name|[0] and so on are the interfaces. */
static void parse_ports(const struct argp_state *state, struct options *o, char **name, int n)
{
	if (n < 2 || n > WIRE_MAX_PORTS)
		argp_error(state, "want 2 to %d interfaces", WIRE_MAX_PORTS);
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < i; k++)
			if (!strcmp(name[i], name[k]))
				argp_error(state, "interface \"%s\" twice", name[i]);
		o->name[i] = name[i];
	}
	o->conf.ports = (unsigned int)n;
}

/* Those of single paths go on top of those of all, wherever they stand. */
static void finish(const struct argp_state *state, const struct command_line *line)
{
	struct options *o = line->o;
	char err[WIRE_ERR_LEN];

	for (unsigned int i = 0; i < WIRE_MAX_PATHS; i++)
		o->conf.path[i] = line->all;
	for (unsigned int i = 0; i < line->paths; i++)
		parse_path(state, &o->conf, line->path[i]);
	for (unsigned int i = 0; i < o->conf.paths; i++)
		if (settings_check(&o->conf.path[i], err))
			argp_error(state, "path %u: %s", i, err);
	for (unsigned int i = 0; i < o->conf.paths; i++)
		if (o->conf.path[i].rifl && o->conf.ports != 2)
			argp_error(state, "path %u: rifl: a hop has two ends, there are %u interfaces", i,
				   o->conf.ports);
}

/* Of a path. */
static error_t parse_setting(unsigned int i, const char *arg, const struct argp_state *state)
{
	struct command_line *line = state->input;
	const char *value, *help, *key = settings_key(i, &value, &help);
	char err[WIRE_ERR_LEN];

	if (!key)
		return ARGP_ERR_UNKNOWN;
	if (settings_set(&line->all, key, arg, err))
		argp_error(state, "--%s", err);
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct command_line *line = state->input;
	struct options *o = line->o;

	switch (key) {
	case OPT_PATHS:
		o->conf.paths = (unsigned int)cli_number(state, "--paths", arg, 1, WIRE_MAX_PATHS);
		break;
	case OPT_SPREAD: o->conf.by_index = parse_spread(state, arg); break;
	case OPT_PATH:
		if (line->paths == MAX_PATH_ARGS)
			argp_error(state, "--path: more than %d", MAX_PATH_ARGS);
		line->path[line->paths++] = arg;
		break;
	case OPT_SEED: o->conf.seed = cli_number(state, "--seed", arg, 0, UINT64_MAX); break;
	case OPT_CONTROL: o->control = arg; break;
	case OPT_IO: o->io = parse_io(state, arg); break;
	case OPT_FRAMES: o->frames = cli_number(state, "--frames", arg, MIN_FRAMES, MAX_FRAMES); break;
	case OPT_NICE: o->nice = parse_nice(state, arg); break;
	case OPT_ALL: o->conf.all = true; break;
	case 'j': o->json = true; break;
	case OPT_CHECK: o->check = true; break;
	case ARGP_KEY_ARGS:
		parse_ports(state, o, state->argv + state->next, state->argc - state->next);
		break;
	case ARGP_KEY_NO_ARGS: parse_ports(state, o, NULL, 0); break;
	case ARGP_KEY_END: finish(state, line); break;
	default: return key >= FIRST_KEY && arg ? parse_setting((unsigned int)key - FIRST_KEY, arg, state)
						: ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void options_parse(struct options *o, int argc, char **argv)
{
	struct argp_option table[MAX_OPTIONS] = {};
	const struct argp argp = {
		.options = table, .parser = parse_option,
		.args_doc = "INTERFACE INTERFACE...\n"
			    "set --control SOCKET [path=N|all] [to=INTERFACE] KEY=VALUE...\n"
			    "show --control SOCKET [-j]\nreset --control SOCKET",
		.doc = "Emulate the links between interfaces; set, show and reset ask one that runs.",
	};
	struct command_line line = { .o = o };
	const char *value, *help, *key;

	*o = (struct options){ .frames = DEFAULT_FRAMES, .conf = { .paths = 1, .seed = 1 } };
	settings_init(&line.all);
	memcpy(table, own, sizeof(own));
	for (unsigned int i = 0; OWN + i < MAX_OPTIONS - 1 && (key = settings_key(i, &value, &help)); i++)
		table[OWN + i] = (struct argp_option){ .name = key, .key = FIRST_KEY + (int)i, .arg = value,
						       .doc = help, .group = 1 };
	cli_parse(&argp, 0, argc, argv, &line);
}
