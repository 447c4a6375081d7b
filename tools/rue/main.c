// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rue: the rate update engine as a tool. This file: the command line. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "rue.h"
#include "rue/params.h"

static const char usage_text[] =
"falcon-rue --vectors FILE.csv   replay events, compare results; - is the standard input\n"
"falcon-rue --bench              measure events per second\n"
"falcon-rue --params             list the parameters: values, ranges, units\n"
"falcon-rue --serve SOCKET       compute for agents with rue_mode = process\n"
"\n"
"  --config FILE      read configurations, besides those built in\n"
"  --use NAME         the configuration for --bench (plb) and --params (default)\n"
"  --set NAME=VALUE   change a parameter of it; may be repeated\n"
"  --show N           print at most N mismatches (20)\n"
"  --connections N[,N...]  connections, accessed at random, up to 2097152 (131072)\n"
"  --state N[,N...]   bytes of state of each, a power of two from 8 to 4096 (64)\n"
"  --curve            of 1K to 1M connections with 64 and with 512 bytes of state\n"
"  --plot FILE.png    have gnuplot draw what --bench measured\n"
"  --ahead N          prefetch the state of the Nth event to come, up to 256 (16)\n"
"  --seconds S        of each measurement (0.6)\n"
"  -j, --json         print JSON\n"
"  -V, --version      print the version\n"
"  -h, --help         print this\n";

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

static const struct option options[] = {
	{ "vectors", required_argument, NULL, OPT_VECTORS },
	{ "bench", no_argument, NULL, OPT_BENCH },
	{ "params", no_argument, NULL, OPT_PARAMS },
	{ "serve", required_argument, NULL, OPT_SERVE },
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "use", required_argument, NULL, OPT_USE },
	{ "set", required_argument, NULL, OPT_SET },
	{ "show", required_argument, NULL, OPT_SHOW },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "ahead", required_argument, NULL, OPT_AHEAD },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "curve", no_argument, NULL, OPT_CURVE },
	{ "plot", required_argument, NULL, OPT_PLOT },
	{ "json", no_argument, NULL, 'j' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
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

static void __attribute__((noreturn)) bad_usage(const char *why, const char *what)
{
	fprintf(stderr, "falcon-rue: %s%s%s; see --help\n", why, *what ? ": " : "", what);
	exit(2);
}

/* A decimal number from |min| to |max| that ends at |*end|, or if |end| is NULL with the text. */
static uint64_t number(const char *text, uint64_t min, uint64_t max, char **end)
{
	unsigned long long n;
	char *stop;

	errno = 0;
	n = strtoull(text, &stop, 10);
	if (*text < '0' || *text > '9' || errno || (!end && *stop) || n < min || n > max)
		bad_usage("not a number in range", text);
	if (end)
		*end = stop;
	return n;
}

static size_t numbers(const char *text, uint64_t min, uint64_t max, uint64_t list[BENCH_LIST])
{
	const char *at = text;
	size_t n = 0;
	char *end;

	for (;; at = end + 1) {
		if (n == BENCH_LIST)
			bad_usage("too many numbers", text);
		list[n++] = number(at, min, max, &end);
		if (!*end)
			return n;
		if (*end != ',')
			bad_usage("not a list of numbers", text);
	}
}

static double seconds(const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s > 0 && s <= 3600))
		bad_usage("seconds are more than 0, at most 3600, not", text);
	return s;
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

static void set_mode(struct command *c, int what)
{
	if (c->what && c->what != what)
		bad_usage("one of --vectors, --bench, --params and --serve at a time", "");
	c->what = what;
}

/* The points of the SIGCOMM '25 paper's figures 22a and 23. */
static void set_curve(struct bench_options *b)
{
	b->n_connections = numbers("1024,4096,16384,65536,131072,262144,524288,1048576", 1,
				   1 << SWIFT_INDEX_BITS, b->connections);
	b->n_state = numbers("64,512", SWIFT_STATE_BYTES, 4096, b->state);
}

static void set_option(struct command *c, int opt, const char *arg)
{
	struct bench_options *b = &c->bench;

	switch (opt) {
	case OPT_VECTORS: c->replay.path = arg; set_mode(c, opt); break;
	case OPT_BENCH:
	case OPT_PARAMS: set_mode(c, opt); break;
	case OPT_SERVE: c->socket = arg; set_mode(c, opt); break;
	case OPT_CONFIG: read_configs(arg); break;
	case OPT_USE: c->use = arg; break;
	case OPT_SET:
		if (c->n_settings == SETTINGS_MAX)
			bad_usage("too many settings", arg);
		c->settings[c->n_settings++] = arg;
		break;
	case OPT_SHOW: c->replay.show = number(arg, 0, 1000000000, NULL); break;
	case OPT_CONNECTIONS:
		b->n_connections = numbers(arg, 1, 1 << SWIFT_INDEX_BITS, b->connections);
		break;
	case OPT_STATE: b->n_state = numbers(arg, SWIFT_STATE_BYTES, 4096, b->state); break;
	case OPT_AHEAD: b->ahead = (uint32_t)number(arg, 1, 256, NULL); break;
	case OPT_SECONDS: b->seconds = seconds(arg); break;
	case OPT_CURVE: set_curve(b); break;
	case OPT_PLOT: b->plot = arg; break;
	case 'j': c->json = true; break;
	case 'V': printf("falcon-rue %s\n", FALCON_VERSION_STRING); exit(0);
	case 'h': fputs(usage_text, stdout); exit(0);
	default: exit(2);
	}
}

/* The configuration that --use and --set describe. */
static struct rue_config chosen(const struct command *c)
{
	const char *name = c->use ? c->use : c->what == OPT_BENCH ? "plb" : "default";
	const struct rue_config *found = rue_configs_find(&configs, name);
	struct rue_config config;
	char err[256];

	if (!found)
		bad_usage("no configuration is called", name);
	config = *found;
	for (size_t i = 0; i < c->n_settings; i++)
		if (swift_params_set_pair(&config.params, c->settings[i], err, sizeof(err)))
			bad_usage(err, "");
	if (swift_params_check(&config.params, err, sizeof(err)))
		bad_usage(err, "");
	return config;
}

static void check_states(const struct bench_options *b)
{
	for (size_t i = 0; i < b->n_state; i++)
		if (b->state[i] & (b->state[i] - 1))
			bad_usage("bytes of state are a power of two", "");
}

int main(int argc, char **argv)
{
	struct command c = {
		.replay = { .configs = &configs, .show = 20 },
		.bench = { .connections = { 131072 }, .n_connections = 1, .state = { 64 },
			   .n_state = 1, .seconds = 0.6, .ahead = 16 },
	};
	struct rue_config config;
	int opt;

	rue_configs_builtin(&configs);
	while ((opt = getopt_long(argc, argv, "jVh", options, NULL)) != -1)
		set_option(&c, opt, optarg);
	if (optind < argc)
		bad_usage("unexpected argument", argv[optind]);
	if (!c.what)
		bad_usage("one of --vectors, --bench, --params and --serve is needed", "");
	if (c.what == OPT_SERVE) {
		if (c.use || c.n_settings)
			bad_usage("agents bring their parameters", "");
		return serve(c.socket);
	}
	if (c.what == OPT_VECTORS) {
		if (c.use || c.n_settings)
			bad_usage("a vector file names its configurations", "");
		c.replay.json = c.json;
		return replay(&c.replay);
	}
	config = chosen(&c);
	check_states(&c.bench);
	if (c.what == OPT_PARAMS) {
		print_params(&config, c.json);
		return 0;
	}
	c.bench.config = &config;
	c.bench.json = c.json;
	return bench(&c.bench);
}
