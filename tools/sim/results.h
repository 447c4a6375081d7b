/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of a family of runs: as CSV, as JSON, as a table, and as a picture. */
#ifndef FALCON_SIM_RESULTS_H
#define FALCON_SIM_RESULTS_H

#include "scenario.h"
#include "summary.h"

struct result {
	uint32_t n;		/* which schedule of the family */
	char group[SIM_MAX_NAME];	/* its section */
	struct summary sum;
};

struct results {
	const struct scenario *sc;
	struct result *row;
	uint32_t rows, size;
};

void results_open(struct results *r, const struct scenario *sc);
void results_close(struct results *r);
/* Add schedule |n|, whose run is over and not closed yet: a row for each section. */
void results_add(struct results *r, uint32_t n, const struct sim *s);
/* One line a row under the names of columns, separated by commas. */
void results_csv(const struct results *r, FILE *out);
/* The same as an array of objects. False: it could not be written. */
bool results_json(const struct results *r, FILE *out);
/* The columns that matter most, aligned. */
void results_table(const struct results *r, FILE *out);

/* plot.c: have gnuplot draw [plot] of the scenario into the PNG |path|. Complains if it cannot. */
bool results_plot(const struct results *r, const char *path);

#endif /* FALCON_SIM_RESULTS_H */
