// SPDX-License-Identifier: BSD-2-Clause
/* falcon-sim: the deterministic simulator. falcon-sim.8 says what it does. */
#include "report.h"
#include "scenario.h"
#include "soak.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>

struct options {
	const char *trace;
	uint64_t soak, seed, show;
	bool has_soak, has_seed, has_show, json;
};

static const char usage_text[] =
	"usage: falcon-sim [-j] [--trace FILE] [--seed S] SCENARIO\n"
	"       falcon-sim --soak N [--seed S]\n"
	"       falcon-sim --show S\n";

static bool parse_number(const char *text, uint64_t *v)
{
	char *end;

	*v = strtoull(text, &end, 0);
	return *text && !*end;
}

/* 0, or the exit status plus one. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "soak", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "show", required_argument, NULL, 'p' },
		{ "trace", required_argument, NULL, 't' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	bool good = true;
	int c;

	while ((c = getopt_long(argc, argv, "hj", longs, NULL)) != -1) {
		switch (c) {
		case 'n': good &= o->has_soak = parse_number(optarg, &o->soak); break;
		case 's': good &= o->has_seed = parse_number(optarg, &o->seed); break;
		case 'p': good &= o->has_show = parse_number(optarg, &o->show); break;
		case 't': o->trace = optarg; break;
		case 'j': o->json = true; break;
		case 'h': fputs(usage_text, stdout); return EXIT_SUCCESS + 1;
		default: good = false; break;
		}
	}
	if (good && argc - optind == !(o->has_soak || o->has_show))
		return 0;
	fputs(usage_text, stderr);
	return 2 + 1;
}

static int run_scenario(const struct options *o, const char *path)
{
	static struct scenario sc;
	static struct sim_cfg cfg;
	static struct sim s;
	FILE *trace = NULL;

	if (!scenario_open(&sc, path) || !scenario_load(&sc, 0, &cfg))
		return 2;
	if (o->has_seed)
		cfg.seed = o->seed;
	if (o->trace) {
		trace = fopen(o->trace, "w");
		if (!trace) {
			perror(o->trace);
			return 2;
		}
	}
	sim_open(&s, &cfg, trace, true);
	sim_run(&s);
	if (o->json)
		report_json(&s, stdout);
	else
		report_table(&s, stdout);
	sim_close(&s);
	if (s.failed) {
		fprintf(stderr, "violation: seed %" PRIu64 ", ", cfg.seed);
		report_violation(&s, stderr);
	}
	if (trace && fclose(trace)) {
		perror(o->trace);
		return 2;
	}
	return s.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int show(uint64_t seed)
{
	static struct sim_cfg cfg;

	sim_cfg_random(&cfg, seed);
	sim_cfg_print(&cfg, stdout);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct options o = { .seed = 1 };
	int rc = parse_options(argc, argv, &o);

	if (rc)
		return rc - 1;
	if (o.has_show)
		return show(o.show);
	if (o.has_soak)
		return soak(o.soak, o.seed);
	return run_scenario(&o, argv[optind]);
}
