// SPDX-License-Identifier: BSD-2-Clause
/* falcon-sim: the deterministic simulator. falcon-sim.8 says what it does. */
#include "report.h"
#include "results.h"
#include "scenario.h"
#include "base/cli.h"
#include "soak.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
	const char *trace, *csv, *plot;
	uint64_t soak, seed, show, only;
	bool has_soak, has_seed, has_show, has_only, json, speed, check, first;
	char **scenarios;	/* ends with NULL */
	unsigned int n_scenarios;
};

enum option_id {
	OPT_SOAK = 256,
	OPT_SEED,
	OPT_SHOW,
	OPT_TRACE,
	OPT_CSV,
	OPT_PLOT,
	OPT_ONLY,
	OPT_SPEED,
	OPT_CHECK,
	OPT_FIRST,
};

static const struct argp_option options[] = {
	{ .name = "soak", .key = OPT_SOAK, .arg = "N", .doc = "Run the random schedules of N seeds" },
	{ .name = "seed", .key = OPT_SEED, .arg = "S", .doc = "The seed, or the first of a soak (1)" },
	{ .name = "show", .key = OPT_SHOW, .arg = "S", .doc = "Print the schedule of seed S as a scenario" },
	{ .name = "first", .key = OPT_FIRST, .doc = "End the soak with the first violation, as it is" },
	{ .name = "trace", .key = OPT_TRACE, .arg = "FILE", .doc = "Write a line an event" },
	{ .name = "csv", .key = OPT_CSV, .arg = "FILE", .doc = "Write the results as CSV" },
	{ .name = "plot", .key = OPT_PLOT, .arg = "FILE", .doc = "Have gnuplot draw the scenario's picture" },
	{ .name = "only", .key = OPT_ONLY, .arg = "N", .doc = "Of a sweep, run schedule N alone" },
	{ .name = "speed", .key = OPT_SPEED, .doc = "Say how many events a second were processed" },
	{ .name = "check", .key = OPT_CHECK, .doc = "Read the scenarios, and run none" },
	{ .name = "json", .key = 'j', .doc = "Print results as JSON" },
	{},
};

/* A number, and that it was given. */
static uint64_t given(const struct argp_state *state, const char *name, const char *text, bool *has)
{
	*has = true;
	return cli_number(state, name, text, 0, UINT64_MAX);
}

static void finish(const struct argp_state *state, const struct options *o)
{
	if (o->has_soak && o->has_show)
		argp_error(state, "--soak and --show at a time");
	if ((o->has_soak || o->has_show) && o->n_scenarios)
		argp_error(state, "--soak and --show take no scenario");
	if (!o->has_soak && !o->has_show && !o->n_scenarios)
		argp_error(state, "name a scenario");
	if (o->n_scenarios > 1 && !o->check)
		argp_error(state, "one scenario at a time, unless with --check");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_SOAK: o->soak = given(state, "--soak", arg, &o->has_soak); break;
	case OPT_SEED: o->seed = given(state, "--seed", arg, &o->has_seed); break;
	case OPT_SHOW: o->show = given(state, "--show", arg, &o->has_show); break;
	case OPT_ONLY: o->only = given(state, "--only", arg, &o->has_only); break;
	case OPT_SPEED: o->speed = true; break;
	case OPT_CHECK: o->check = true; break;
	case OPT_FIRST: o->first = true; break;
	case OPT_TRACE: o->trace = arg; break;
	case OPT_CSV: o->csv = arg; break;
	case OPT_PLOT: o->plot = arg; break;
	case 'j': o->json = true; break;
	case ARGP_KEY_ARGS:
		o->scenarios = state->argv + state->next;
		o->n_scenarios = (unsigned int)(state->argc - state->next);
		break;
	case ARGP_KEY_END: finish(state, o); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options, .parser = parse_option,
	.args_doc = "SCENARIO\n--check SCENARIO...\n--soak N\n--show S",
	.doc = "Run Falcon hosts and networks in virtual time, and hold what they do against what the "
	       "protocol promises.",
};

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

	cli_parse(&argp, 0, argc, argv, &o);
	if (o.check)
		return check_scenarios(o.scenarios);
	if (o.has_show)
		return show(o.show);
	if (o.has_soak)
		return soak(o.soak, o.seed, o.first);
	return run_scenario(&o, o.scenarios[0]);
}
