/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Metrics: counters of many objects, collected and then written as OpenMetrics 1.0 or in the text format of
 * Prometheus. Names, units and sentences are those of the tables (tables.h); each object has labels.
 */
#ifndef FALCON_AGENT_METRICS_METRICS_H
#define FALCON_AGENT_METRICS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/metrics/tables.h"
#include "core/core.h"

enum metrics_format {
	METRICS_OPENMETRICS,
	METRICS_PROMETHEUS,
};

enum {
	METRICS_LABELS_MAX = 640,	/* bytes of an object's labels, with the final 0 */
};

struct metrics;

/* Nothing yet; NULL: no memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/* Append a label to |labels|, which is empty or has others. What is not printable is written as \xHH. */
void metrics_label(char labels[METRICS_LABELS_MAX], const char *name, const char *value);
void metrics_label_number(char labels[METRICS_LABELS_MAX], const char *name, uint64_t value);

/*
 * What |base|, a structure of table |id|, has now. metrics_add_one(): of one connection, whose metrics have
 * other names than those of the host. Labels of the objects of a table are different from one another.
 */
void metrics_add(struct metrics *m, enum stat_table_id id, const char *labels, const void *base);
void metrics_add_one(struct metrics *m, enum stat_table_id id, const char *labels, const void *base);
void metrics_add_rtt(struct metrics *m, const char *labels, const struct fcore_rtt *rtt);

/* All of it, to be freed by the caller, and in |*len| its bytes; NULL: memory was short, now or before. */
char *metrics_text(const struct metrics *m, enum metrics_format format, size_t *len);
/* The value of the header Content-Type for it. */
const char *metrics_content_type(enum metrics_format format);
/* The format that the header Accept asks for; NULL: there is none. */
enum metrics_format metrics_negotiate(const char *accept);

#endif /* FALCON_AGENT_METRICS_METRICS_H */
