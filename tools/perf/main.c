// SPDX-License-Identifier: BSD-2-Clause
/* falcon-perf: rate and latency of raw transactions. This file: the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "perf.h"

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

static const struct argp_option options[] = {
	{ .name = "serve", .key = OPT_SERVE, .doc = "Be the far end" },
	{ .name = "op", .key = OPT_OP, .arg = "push|pull|send", .doc = "What an operation is (push)" },
	{ .name = "size", .key = OPT_SIZE, .arg = "BYTES",
	  .doc = "Bytes of an operation; K, M, G are powers of 1024 (64)" },
	{ .name = "depth", .key = OPT_DEPTH, .arg = "N", .doc = "Operations at a time (16)" },
	{ .name = "count", .key = OPT_COUNT, .arg = "N", .doc = "Stop after N operations" },
	{ .name = "seconds", .key = OPT_SECONDS, .arg = "S",
	  .doc = "Stop after S seconds (5, unless --count is given; server: for ever)" },
	{ .name = "verify", .key = OPT_VERIFY, .doc = "Check the data of every operation" },
	{ .name = "timeout", .key = OPT_TIMEOUT, .arg = "S",
	  .doc = "Give up after S seconds without an answer (10)" },
	{ .name = "service", .key = OPT_SERVICE, .arg = "N",
	  .doc = "Service number at the far end, or to serve under (1)" },
	{ .name = "arena", .key = OPT_ARENA, .arg = "BYTES",
	  .doc = "Server: memory to lend to clients (256M)" },
	{ .name = "json", .key = 'j', .doc = "Print a JSON object" },
	{},
};

static enum perf_op parse_op(const struct argp_state *state, const char *text)
{
	static const char *const names[] = {
		[PERF_PUSH] = "push", [PERF_PULL] = "pull", [PERF_SEND] = "send",
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i] && !strcmp(text, names[i]))
			return (enum perf_op)i;
	argp_error(state, "--op: \"%s\" is none of push, pull and send", text);
	return PERF_PUSH;
}

/* What the line as a whole must be. */
static void finish(const struct argp_state *state, struct perf_config *cfg)
{
	if (!cfg->serve && !cfg->conn)
		argp_error(state, "name a connection");
	if (cfg->serve && cfg->conn)
		argp_error(state, "--serve takes no connection");
	if (!cfg->serve && !cfg->seconds && !cfg->count)
		cfg->seconds = 5;
	if (cfg->size * cfg->depth > FALCON_ARENA_MAX / 4)
		argp_error(state, "--size times --depth is too much memory");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct perf_config *cfg = state->input;

	switch (key) {
	case OPT_SERVE: cfg->serve = true; break;
	case OPT_OP: cfg->op = parse_op(state, arg); break;
	case OPT_SIZE: cfg->size = cli_size(state, "--size", arg, 1, 1ULL << 30); break;
	case OPT_DEPTH: cfg->depth = cli_number(state, "--depth", arg, 1, PERF_MAX_DEPTH); break;
	case OPT_COUNT: cfg->count = cli_number(state, "--count", arg, 1, UINT64_MAX); break;
	case OPT_SECONDS: cfg->seconds = cli_number(state, "--seconds", arg, 1, 1000000000); break;
	case OPT_VERIFY: cfg->verify = true; break;
	case OPT_TIMEOUT: cfg->timeout = cli_number(state, "--timeout", arg, 1, 1000000000); break;
	case OPT_SERVICE: cfg->service = (uint16_t)cli_number(state, "--service", arg, 1, 65535); break;
	case OPT_ARENA: cfg->arena = cli_size(state, "--arena", arg, 1, FALCON_ARENA_MAX / 2); break;
	case 'j': cfg->json = true; break;
	case ARGP_KEY_ARG:
		if (cfg->conn)
			argp_error(state, "one connection, not also \"%s\"", arg);
		cfg->conn = arg;
		break;
	case ARGP_KEY_END: finish(state, cfg); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options, .parser = parse_option, .args_doc = "CONN\n--serve",
	.doc = "Measure the rate and latency of raw transactions over connection CONN (its name, or the "
	       "peer's address), at whose far end another falcon-perf serves.",
};

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

	cli_parse(&argp, 0, argc, argv, &cfg);
	app_catch_signals();
	if (cfg.serve)
		return perf_serve(&cfg) ? 1 : 0;
	rc = perf_client(&cfg, &res);
	if (!rc || res.done)
		perf_report(&cfg, &res);
	return rc || res.mismatches ? 1 : 0;
}
