// SPDX-License-Identifier: BSD-2-Clause
/* falcon-sim: the deterministic simulator. falcon-sim.8 says what it does. */
#include "report.h"
#include "results.h"
#include "scenario.h"
#include "soak.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
	const char *trace, *csv, *plot;
	uint64_t soak, seed, show, only;
	bool has_soak, has_seed, has_show, has_only, json, speed, check, first;
};

static const char usage_text[] =
	"usage: falcon-sim [-j] [--trace FILE] [--csv FILE] [--plot FILE] [--seed S]\n"
	"                  [--only N] [--speed] SCENARIO\n"
	"       falcon-sim --check SCENARIO...\n"
	"       falcon-sim --soak N [--seed S] [--first]\n"
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
		{ "csv", required_argument, NULL, 'c' },
		{ "plot", required_argument, NULL, 'g' },
		{ "only", required_argument, NULL, 'o' },
		{ "speed", no_argument, NULL, 'v' },
		{ "check", no_argument, NULL, 'k' },
		{ "first", no_argument, NULL, 'f' },
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
		case 'o': good &= o->has_only = parse_number(optarg, &o->only); break;
		case 'v': o->speed = true; break;
		case 'k': o->check = true; break;
		case 'f': o->first = true; break;
		case 't': o->trace = optarg; break;
		case 'c': o->csv = optarg; break;
		case 'g': o->plot = optarg; break;
		case 'j': o->json = true; break;
		case 'h': fputs(usage_text, stdout); return EXIT_SUCCESS + 1;
		default: good = false; break;
		}
	}
	if (good && o->check && argc > optind)
		return 0;
	if (good && argc - optind == !(o->has_soak || o->has_show))
		return 0;
	fputs(usage_text, stderr);
	return 2 + 1;
}

/* Open |path| for writing, "-" for standard output; complains if it cannot. NULL stays NULL. */
static bool open_output(const char *path, FILE **out)
{
	*out = NULL;
	if (!path)
		return true;
	*out = strcmp(path, "-") ? fopen(path, "w") : stdout;
	if (!*out)
		perror(path);
	return *out != NULL;
}

static bool close_output(const char *path, FILE *out)
{
	if (!out || !(out == stdout ? fflush(out) : fclose(out)))
		return true;
	perror(path);
	return false;
}

/* How fast the run was, of |seconds| of the processor. */
static void print_speed(const struct sim *s, double seconds)
{
	double packets = (double)s->totals.packet_events, all = (double)s->totals.events;

	fprintf(stderr, "%.0f events in %.2f s: %.2f M/s, of packets %.2f M/s\n", all, seconds,
		all / seconds / 1e6, packets / seconds / 1e6);
}

/* Run schedule |n| of the family; an exit status. */
static int run_one(const struct options *o, struct results *r, uint32_t n, FILE *trace)
{
	static struct sim_cfg cfg;
	static struct sim s;
	bool single = scenario_count(r->sc) == 1;
	struct timespec from, to;

	if (!scenario_load(r->sc, n, &cfg))
		return 2;
	if (o->has_seed)
		cfg.seed = o->seed;
	sim_open(&s, &cfg, trace, true);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	sim_run(&s);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	if (o->speed)
		print_speed(&s, (double)(to.tv_sec - from.tv_sec) +
				(double)(to.tv_nsec - from.tv_nsec) / 1e9);
	results_add(r, n, &s);
	if (single && o->json)
		report_json(&s, stdout);
	else if (single)
		report_table(&s, stdout);
	sim_close(&s);
	if (!s.failed)
		return EXIT_SUCCESS;
	fprintf(stderr, "violation: seed %" PRIu64 ", ", cfg.seed);
	if (!single)
		fprintf(stderr, "schedule %" PRIu32 " of the sweep, ", n);
	report_violation(&s, stderr);
	return EXIT_FAILURE;
}

static int run_scenario(const struct options *o, const char *path)
{
	static struct scenario sc;
	FILE *trace = NULL, *csv = NULL;
	struct results r;
	int rc = EXIT_SUCCESS;

	if (!scenario_open(&sc, path) || !open_output(o->trace, &trace) || !open_output(o->csv, &csv))
		return 2;
	results_open(&r, &sc);
	for (uint32_t n = 0; n < scenario_count(&sc) && rc != 2; n++) {
		int one = o->has_only && o->only != n ? EXIT_SUCCESS : run_one(o, &r, n, trace);

		rc = one > rc ? one : rc;
	}
	if (csv)
		results_csv(&r, csv);
	if (rc != 2 && o->json && scenario_count(&sc) > 1 && !results_json(&r, stdout))
		rc = 2;
	if (rc != 2 && csv != stdout && !o->json)
		results_table(&r, stdout);
	if (!close_output(o->trace, trace) || !close_output(o->csv, csv) ||
	    (rc != 2 && o->plot && !results_plot(&r, o->plot)))
		rc = 2;
	results_close(&r);
	return rc;
}

/* Read all schedules of the scenarios |path|... */
static int check_scenarios(char **path)
{
	static struct scenario sc;
	static struct sim_cfg cfg;

	for (; *path; path++) {
		if (!scenario_open(&sc, *path))
			return 2;
		for (uint32_t n = 0; n < scenario_count(&sc); n++)
			if (!scenario_load(&sc, n, &cfg))
				return 2;
		printf("%s: %" PRIu32 " schedules\n", *path, scenario_count(&sc));
	}
	return EXIT_SUCCESS;
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
	if (o.check)
		return check_scenarios(argv + optind);
	if (o.has_show)
		return show(o.show);
	if (o.has_soak)
		return soak(o.soak, o.seed, o.first);
	return run_scenario(&o, argv[optind]);
}
