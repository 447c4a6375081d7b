// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rue: the rate update engine as a tool. This file: the command line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "rue.h"
#include "rue/params.h"

enum option_id {
	OPT_VECTORS = 256,
	OPT_BENCH,
	OPT_PARAMS,
	OPT_SERVE,
	OPT_CONFIG,
	OPT_USE,
	OPT_SET,
	OPT_SHOW,
	OPT_CONNECTIONS,
	OPT_STATE,
	OPT_AHEAD,
	OPT_SECONDS,
	OPT_CURVE,
	OPT_PLOT,
};

static const struct argp_option options[] = {
	{ .name = "vectors", .key = OPT_VECTORS, .arg = "FILE.csv",
	  .doc = "Replay events, compare results; - is the standard input" },
	{ .name = "bench", .key = OPT_BENCH, .doc = "Measure events per second" },
	{ .name = "params", .key = OPT_PARAMS, .doc = "List the parameters: values, ranges, units" },
	{ .name = "serve", .key = OPT_SERVE, .arg = "SOCKET",
	  .doc = "Compute for agents with rue_mode = process" },
	{ .name = "config", .key = OPT_CONFIG, .arg = "FILE",
	  .doc = "Read configurations, besides those built in" },
	{ .name = "use", .key = OPT_USE, .arg = "NAME",
	  .doc = "The configuration for --bench (plb) and --params (default)" },
	{ .name = "set", .key = OPT_SET, .arg = "NAME=VALUE",
	  .doc = "Change a parameter of it; may be repeated" },
	{ .name = "show", .key = OPT_SHOW, .arg = "N", .doc = "Print at most N mismatches (20)" },
	{ .name = "connections", .key = OPT_CONNECTIONS, .arg = "N[,N...]",
	  .doc = "Connections, accessed at random, up to 2097152 (131072)" },
	{ .name = "state", .key = OPT_STATE, .arg = "N[,N...]",
	  .doc = "Bytes of state of each, a power of two from 8 to 4096 (64)" },
	{ .name = "curve", .key = OPT_CURVE,
	  .doc = "Bench of 1K to 1M connections with 64 and with 512 bytes of state" },
	{ .name = "plot", .key = OPT_PLOT, .arg = "FILE.png",
	  .doc = "Have gnuplot draw what --bench measured" },
	{ .name = "ahead", .key = OPT_AHEAD, .arg = "N",
	  .doc = "Prefetch the state of the Nth event to come, up to 256 (16)" },
	{ .name = "seconds", .key = OPT_SECONDS, .arg = "S", .doc = "Length of each measurement (0.6)" },
	{ .name = "json", .key = 'j', .doc = "Print JSON" },
	{},
};

enum { SETTINGS_MAX = 64 };

struct command {
	int what;			/* OPT_VECTORS, OPT_BENCH, OPT_PARAMS or OPT_SERVE */
	const char *socket;		/* of OPT_SERVE */
	const char *use;
	const char *settings[SETTINGS_MAX];
	size_t n_settings;
	struct replay_options replay;
	struct bench_options bench;
	bool json;
};

static struct rue_configs configs;

static size_t numbers(const struct argp_state *state, const char *name, const char *text, uint64_t min,
		      uint64_t max, uint64_t list[BENCH_LIST])
{
	char *copy = strdup(text), *rest = copy, *word;
	size_t n = 0;

	while (copy && (word = strsep(&rest, ","))) {
		if (n == BENCH_LIST)
			argp_error(state, "%s: more than %d numbers", name, BENCH_LIST);
		list[n++] = cli_number(state, name, word, min, max);
	}
	free(copy);
	return n;
}

static void read_configs(const char *path)
{
	FILE *in = fopen(path, "r");
	char err[256];

	if (!in) {
		fprintf(stderr, "falcon-rue: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	if (rue_configs_read(&configs, in, err, sizeof(err))) {
		fprintf(stderr, "falcon-rue: %s: %s\n", path, err);
		exit(2);
	}
	fclose(in);
}

static void set_mode(const struct argp_state *state, struct command *c, int what)
{
	if (c->what && c->what != what)
		argp_error(state, "one of --vectors, --bench, --params and --serve at a time");
	c->what = what;
}

/* The points of the SIGCOMM '25 paper's figures 22a and 23. */
static void set_curve(const struct argp_state *state, struct bench_options *b)
{
	b->n_connections = numbers(state, "--curve", "1024,4096,16384,65536,131072,262144,524288,1048576", 1,
				   1 << SWIFT_INDEX_BITS, b->connections);
	b->n_state = numbers(state, "--curve", "64,512", SWIFT_STATE_BYTES, 4096, b->state);
}

static void finish(const struct argp_state *state, const struct command *c)
{
	if (!c->what)
		argp_error(state, "one of --vectors, --bench, --params and --serve is needed");
	if (c->what == OPT_SERVE && (c->use || c->n_settings))
		argp_error(state, "--serve: agents bring their parameters");
	if (c->what == OPT_VECTORS && (c->use || c->n_settings))
		argp_error(state, "--vectors: the file names its configurations");
	for (size_t i = 0; i < c->bench.n_state; i++)
		if (c->bench.state[i] & (c->bench.state[i] - 1))
			argp_error(state, "--state: bytes of state are a power of two");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct command *c = state->input;
	struct bench_options *b = &c->bench;

	switch (key) {
	case OPT_VECTORS: c->replay.path = arg; set_mode(state, c, key); break;
	case OPT_BENCH:
	case OPT_PARAMS: set_mode(state, c, key); break;
	case OPT_SERVE: c->socket = arg; set_mode(state, c, key); break;
	case OPT_CONFIG: read_configs(arg); break;
	case OPT_USE: c->use = arg; break;
	case OPT_SET:
		if (c->n_settings == SETTINGS_MAX)
			argp_error(state, "--set: more than %d settings", SETTINGS_MAX);
		c->settings[c->n_settings++] = arg;
		break;
	case OPT_SHOW: c->replay.show = cli_number(state, "--show", arg, 0, 1000000000); break;
	case OPT_CONNECTIONS:
		b->n_connections = numbers(state, "--connections", arg, 1, 1 << SWIFT_INDEX_BITS,
					   b->connections);
		break;
	case OPT_STATE:
		b->n_state = numbers(state, "--state", arg, SWIFT_STATE_BYTES, 4096, b->state);
		break;
	case OPT_AHEAD: b->ahead = (uint32_t)cli_number(state, "--ahead", arg, 1, 256); break;
	case OPT_SECONDS: b->seconds = cli_real(state, "--seconds", arg, 0.001, 3600); break;
	case OPT_CURVE: set_curve(state, b); break;
	case OPT_PLOT: b->plot = arg; break;
	case 'j': c->json = true; break;
	case ARGP_KEY_ARG: argp_error(state, "unexpected argument \"%s\"", arg); break;
	case ARGP_KEY_END: finish(state, c); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options, .parser = parse_option,
	.args_doc = "--vectors FILE.csv\n--bench\n--params\n--serve SOCKET",
	.doc = "The rate update engine, Swift, by itself.",
};

static void __attribute__((noreturn)) refuse(const char *why, const char *what)
{
	fprintf(stderr, "falcon-rue: %s%s%s\n", why, *what ? ": " : "", what);
	exit(2);
}

/* The configuration that --use and --set describe. */
static struct rue_config chosen(const struct command *c)
{
	const char *name = c->use ? c->use : c->what == OPT_BENCH ? "plb" : "default";
	const struct rue_config *found = rue_configs_find(&configs, name);
	struct rue_config config;
	char err[256];

	if (!found)
		refuse("--use: no configuration is called", name);
	config = *found;
	for (size_t i = 0; i < c->n_settings; i++)
		if (swift_params_set_pair(&config.params, c->settings[i], err, sizeof(err)))
			refuse(err, "");
	if (swift_params_check(&config.params, err, sizeof(err)))
		refuse(err, "");
	return config;
}

int main(int argc, char **argv)
{
	struct command c = {
		.replay = { .configs = &configs, .show = 20 },
		.bench = { .connections = { 131072 }, .n_connections = 1, .state = { 64 },
			   .n_state = 1, .seconds = 0.6, .ahead = 16 },
	};
	struct rue_config config;

	rue_configs_builtin(&configs);
	cli_parse(&argp, 0, argc, argv, &c);
	if (c.what == OPT_SERVE)
		return serve(c.socket);
	if (c.what == OPT_VECTORS) {
		c.replay.json = c.json;
		return replay(&c.replay);
	}
	config = chosen(&c);
	if (c.what == OPT_PARAMS) {
		print_params(&config, c.json);
		return 0;
	}
	c.bench.config = &config;
	c.bench.json = c.json;
	return bench(&c.bench);
}
