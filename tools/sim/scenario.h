/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A scenario file: one schedule, or a family of them. [sweep] gives lists of values; "$name"
 * elsewhere stands for one of them, and a section "[link 1 if name=value]" counts only with it.
 * [plot] says how the results become a picture: the first list is the x axis, the second one makes
 * the curves.
 */
#ifndef FALCON_SIM_SCENARIO_H
#define FALCON_SIM_SCENARIO_H

#include "keys.h"

enum scenario_limits {
	SCENARIO_LISTS = 3,
	SCENARIO_VALUES = 24,
	SCENARIO_TEXT = 160,
};

struct scenario_list {
	char name[24];
	char value[SCENARIO_VALUES][24];
	uint32_t n;
};

struct scenario_plot {
	char title[SCENARIO_TEXT], xlabel[SCENARIO_TEXT], ylabel[SCENARIO_TEXT];
	char y[SCENARIO_TEXT];	/* columns of the results, or expressions of them, between commas */
	char log[4];		/* "x", "y" or "xy": logarithmic axes */
	char yrange[24];	/* "FROM:TO" */
	char group[SIM_MAX_NAME];	/* the section that it shows; empty: the first */
};

struct scenario {
	const char *path;
	struct scenario_list list[SCENARIO_LISTS];
	uint32_t nlists;
	struct scenario_plot plot;
};

/* Read what makes a family of it. Complains on stderr; false if there was something. */
bool scenario_open(struct scenario *sc, const char *path);
/* How many schedules there are: every combination, the first list varying fastest. */
uint32_t scenario_count(const struct scenario *sc);
/* The value of list |l| in schedule |n|. */
const char *scenario_value(const struct scenario *sc, uint32_t l, uint32_t n);
/* Read schedule |n| into |cfg|. Complains on stderr; false if there was something. */
bool scenario_load(const struct scenario *sc, uint32_t n, struct sim_cfg *cfg);

#endif /* FALCON_SIM_SCENARIO_H */
