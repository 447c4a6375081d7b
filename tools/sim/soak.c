// SPDX-License-Identifier: BSD-2-Clause
/* Many random schedules; of one that shows a violation, a smaller one that still does. */
#include "soak.h"
#include "report.h"
#include "sim.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SHRINK_RUNS = 300,	/* tries to make a failing schedule smaller */
	SHRINK_FIRST = 3,	/* violations that are worth it */
	TWICE_IN = 16,		/* one of so many schedules runs again and must repeat itself */
};

/* What is running, for whoever kills us. */
static char crash_note[64];

static void on_crash(int sig)
{
	ssize_t n = write(STDERR_FILENO, crash_note, strlen(crash_note));

	(void)n;
	signal(sig, SIG_DFL);
	raise(sig);
}

#ifdef __SANITIZE_ADDRESS__
void __sanitizer_set_death_callback(void (*callback)(void));

static void on_death(void)
{
	ssize_t n = write(STDERR_FILENO, crash_note, strlen(crash_note));

	(void)n;
}
#endif

static void watch_for_crashes(void)
{
	static const int signals[] = { SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGTERM, SIGALRM };

#ifdef __SANITIZE_ADDRESS__
	__sanitizer_set_death_callback(on_death);
#endif
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], on_crash);
}

/* Run |cfg|; true if all was well. What went wrong is kept in |s|, which is closed. */
static bool run(struct sim *s, const struct sim_cfg *cfg)
{
	sim_open(s, cfg, NULL, false);
	sim_run(s);
	sim_close(s);
	return !s->failed;
}

static bool still_fails(const struct sim_cfg *cfg, uint32_t *runs)
{
	static struct sim s;

	++*runs;
	return !run(&s, cfg);
}

/* Leave out connection |n|, or half of its transactions. False if there is no such. */
static bool smaller(struct sim_cfg *cfg, uint64_t n, bool whole)
{
	struct sim_conn_cfg *c = &cfg->conn[n];

	if (!whole) {
		if (c->transactions + c->back < 2)
			return false;
		c->transactions /= 2;
		c->back /= 2;
		return true;
	}
	/* It stays in its place, so that the others keep their random streams. */
	if (c->transactions + c->back == 0)
		return false;
	c->transactions = c->back = 0;
	return true;
}

/* Keep each simplification after which the schedule still fails, until none is left. */
static void shrink(struct sim_cfg *cfg)
{
	static struct sim_cfg try;
	uint32_t runs = 0;
	bool better = true, changed;

	while (better && runs < SHRINK_RUNS) {
		better = false;
		for (uint32_t step = 0; step < 2; step++) {
			for (uint64_t i = 0; i < cfg->nconns && runs < SHRINK_RUNS; i++) {
				try = *cfg;
				if (!smaller(&try, i, step == 0) || !still_fails(&try, &runs))
					continue;
				*cfg = try;
				better = true;
			}
		}
		for (uint32_t i = 0; runs < SHRINK_RUNS; i++) {
			try = *cfg;
			if (!sim_cfg_remove_fault(&try, i, &changed))
				break;
			if (!changed || !still_fails(&try, &runs))
				continue;
			*cfg = try;
			better = true;
		}
	}
	/* Connections at the end that do nothing can go for good. */
	while (cfg->nconns > 1 && !cfg->conn[cfg->nconns - 1].transactions &&
	       !cfg->conn[cfg->nconns - 1].back) {
		try = *cfg;
		try.nconns--;
		if (!still_fails(&try, &runs))
			break;
		*cfg = try;
	}
}

static void show_violation(const struct sim *s, struct sim_cfg *cfg, bool small)
{
	static struct sim again;

	printf("violation: seed %" PRIu64 ", ", cfg->seed);
	report_violation(s, stdout);
	if (!small)
		return;
	shrink(cfg);
	run(&again, cfg);
	printf("# the same, smaller: falcon-sim FILE says: ");
	report_violation(&again, stdout);
	sim_cfg_print(cfg, stdout);
	printf("\n");
	fflush(stdout);
}

/* All of struct sim_totals is numbers of one type. */
static void add(struct sim_totals *sum, const struct sim_totals *t)
{
	uint64_t *a = (uint64_t *)sum;
	const uint64_t *b = (const uint64_t *)t;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*a); i++)
		a[i] += b[i];
}

int soak(uint64_t n, uint64_t seed, bool first)
{
	static struct sim_cfg cfg;
	static struct sim s, again;
	struct sim_totals sum = { 0 };
	uint64_t violations = 0;

	watch_for_crashes();
	for (uint64_t i = 0; i < n && !(first && violations); i++) {
		snprintf(crash_note, sizeof(crash_note), "falcon-sim: died in seed %" PRIu64 "\n",
			 seed + i);
		sim_cfg_random(&cfg, seed + i);
		run(&s, &cfg);
		add(&sum, &s.totals);
		if (!s.failed && i % TWICE_IN == 0) {
			run(&again, &cfg);
			if (again.hash != s.hash)
				sim_fail(&s, NULL, "the same seed gave another trace");
		}
		if (s.failed && violations++ < 10 * SHRINK_FIRST)
			show_violation(&s, &cfg, !first && violations <= SHRINK_FIRST);
	}
	report_totals(&sum, stdout);
	printf("%" PRIu64 " schedules, %" PRIu64 " violations\n", n, violations);
	return violations ? EXIT_FAILURE : EXIT_SUCCESS;
}
