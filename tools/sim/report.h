/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FALCON_SIM_REPORT_H
#define FALCON_SIM_REPORT_H

#include "sim.h"

/* Results of a run that is over and not closed yet: a table, or JSON. */
void report_table(const struct sim *s, FILE *out);
void report_json(const struct sim *s, FILE *out);
/* What was gone through, for the end of a soak. */
void report_totals(const struct sim_totals *t, FILE *out);
/* Where and what, in a line. */
void report_violation(const struct sim *s, FILE *out);

#endif /* FALCON_SIM_REPORT_H */
