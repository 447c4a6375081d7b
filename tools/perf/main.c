// SPDX-License-Identifier: BSD-2-Clause
/* falcon-perf: rate and latency of raw transactions. This file: the command line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

static const char usage_text[] =
"falcon-perf CONN [options]        measure connection CONN (its name, or the peer's address)\n"
"falcon-perf --serve [options]     be the far end\n"
"\n"
"  --op push|pull|send  what an operation is (push)\n"
"  --size BYTES         bytes of an operation; K, M, G are powers of 1024 (64)\n"
"  --depth N            operations at a time (16)\n"
"  --count N            stop after N operations\n"
"  --seconds S          stop after S seconds (5, unless --count is given; server: for ever)\n"
"  --verify             check the data of every operation\n"
"  --timeout S          give up after S seconds without an answer (10)\n"
"  --service N          service number at the far end, or to serve under (1)\n"
"  --arena BYTES        server: memory to lend to clients (256M)\n"
"  -j, --json           print a JSON object\n"
"  -h, --help           print this\n";

enum option_id {
	OPT_SERVE = 256,
	OPT_OP,
	OPT_SIZE,
	OPT_DEPTH,
	OPT_COUNT,
	OPT_SECONDS,
	OPT_VERIFY,
	OPT_TIMEOUT,
	OPT_SERVICE,
	OPT_ARENA,
};

static const struct option options[] = {
	{ "serve", no_argument, NULL, OPT_SERVE },
	{ "op", required_argument, NULL, OPT_OP },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "depth", required_argument, NULL, OPT_DEPTH },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "service", required_argument, NULL, OPT_SERVICE },
	{ "arena", required_argument, NULL, OPT_ARENA },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void __attribute__((noreturn)) bad_usage(const char *why, const char *what)
{
	app_warn("%s%s%s; see --help", why, what ? ": " : "", what ? what : "");
	exit(2);
}

static enum perf_op parse_op(const char *text)
{
	if (!strcmp(text, "push"))
		return PERF_PUSH;
	if (!strcmp(text, "pull"))
		return PERF_PULL;
	if (!strcmp(text, "send"))
		return PERF_SEND;
	bad_usage("--op is push, pull or send, not", text);
}

static uint64_t number(const char *text, uint64_t min, uint64_t max)
{
	uint64_t n;

	if (app_parse_number(text, min, max, &n))
		bad_usage("not a number in range", text);
	return n;
}

static uint64_t size(const char *text, uint64_t max)
{
	uint64_t n;

	if (app_parse_size(text, &n) || n < 1 || n > max)
		bad_usage("not a size in range", text);
	return n;
}

static void set_option(struct perf_config *cfg, int opt, const char *arg)
{
	switch (opt) {
	case OPT_SERVE: cfg->serve = true; break;
	case OPT_OP: cfg->op = parse_op(arg); break;
	case OPT_SIZE: cfg->size = size(arg, 1ULL << 30); break;
	case OPT_DEPTH: cfg->depth = number(arg, 1, PERF_MAX_DEPTH); break;
	case OPT_COUNT: cfg->count = number(arg, 1, UINT64_MAX); break;
	case OPT_SECONDS: cfg->seconds = number(arg, 1, 1000000000); break;
	case OPT_VERIFY: cfg->verify = true; break;
	case OPT_TIMEOUT: cfg->timeout = number(arg, 1, 1000000000); break;
	case OPT_SERVICE: cfg->service = (uint16_t)number(arg, 1, 65535); break;
	case OPT_ARENA: cfg->arena = size(arg, FALCON_ARENA_MAX / 2); break;
	case 'j': cfg->json = true; break;
	case 'h': fputs(usage_text, stdout); exit(0);
	default: exit(2);
	}
}

static void parse(struct perf_config *cfg, int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "jh", options, NULL)) != -1)
		set_option(cfg, opt, optarg);
	if (argc - optind != (cfg->serve ? 0 : 1))
		bad_usage(cfg->serve ? "--serve takes no connection" : "name one connection", NULL);
	cfg->conn = argv[optind];
	if (!cfg->serve && !cfg->seconds && !cfg->count)
		cfg->seconds = 5;
	if (cfg->size * cfg->depth > FALCON_ARENA_MAX / 4)
		bad_usage("size times depth is too much memory", NULL);
}

int main(int argc, char **argv)
{
	static struct perf_result res;
	struct perf_config cfg = {
		.service = APP_PERF_SERVICE,
		.op = PERF_PUSH,
		.size = 64,
		.depth = 16,
		.timeout = 10,
		.arena = 256 << 20,
	};
	int rc;

	parse(&cfg, argc, argv);
	app_catch_signals();
	if (cfg.serve)
		return perf_serve(&cfg) ? 1 : 0;
	rc = perf_client(&cfg, &res);
	if (!rc || res.done)
		perf_report(&cfg, &res);
	return rc || res.mismatches ? 1 : 0;
}
