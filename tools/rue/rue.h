/* SPDX-License-Identifier: BSD-2-Clause */
/* falcon-rue: the rate update engine as a tool. What its files share. */
#ifndef FALCON_RUE_TOOL_H
#define FALCON_RUE_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rue/configs.h"

/* One row of a vector file: an event, when it was processed, and what came of it. */
struct rue_vector {
	struct falcon_rue_event event;
	struct falcon_rue_result result;
	struct swift_state before, after;
	uint32_t now;
	char config[RUE_CONFIG_NAME];
};

/* Where a column of the CSV lies in a struct rue_vector. */
struct vector_column {
	const char *name;
	uint64_t max;
	bool output;		/* to be compared */
	uint64_t (*get)(const struct rue_vector *v, const struct vector_column *c);
	void (*put)(struct rue_vector *v, const struct vector_column *c, uint64_t value);
	uint32_t lo, width;	/* bits, for get and put */
};

/* All columns that mean something, in the file's usual order; |*n| becomes their number. */
const struct vector_column *vector_columns(size_t *n);

struct vector_file;

/*
 * Open |path|, "-" for the standard input, and read its header. Lines before it that start with '#'
 * are, without that, sets of parameters (configs.h) for |configs|. Returns NULL with the reason in
 * |err|: not readable, or not the header of a vector file.
 */
struct vector_file *vector_open(const char *path, struct rue_configs *configs, char *err,
				size_t size);

/*
 * Read the next row. Returns 1, 0 at the end, or -EINVAL, -EIO with the reason in |err|, the line's
 * number first.
 */
int vector_read(struct vector_file *f, struct rue_vector *v, char *err, size_t size);

/* The number of the line last read. */
unsigned long vector_line(const struct vector_file *f);

void vector_close(struct vector_file *f);

struct replay_options {
	const char *path;
	struct rue_configs *configs;	/* the file may bring more */
	unsigned long show;	/* print so many mismatches */
	bool json;
};

/*
 * Replay a vector file and print what differs. Returns the exit status: 0, 1 if anything differs, 2
 * if the file is no good.
 */
int replay(const struct replay_options *o);

enum { BENCH_LIST = 16, BENCH_ROUNDS = 5 };

struct bench_options {
	uint64_t connections[BENCH_LIST], state[BENCH_LIST];
	size_t n_connections, n_state;
	double seconds;		/* each point */
	uint32_t ahead;		/* events from prefetch to use */
	const struct rue_config *config;
	const char *plot;	/* PNG to draw; NULL: none */
	bool json;
};

/* How an engine gets at the state of connections; ACCESS: as PREFETCH, but nothing is computed. */
enum bench_variant { STATELESS, STATEFUL, PREFETCH, ACCESS, BENCH_VARIANTS };
extern const char *const bench_variant_name[BENCH_VARIANTS];

struct bench_point {
	uint64_t connections, state;
	double rate[BENCH_VARIANTS];	/* events a second, the best of BENCH_ROUNDS */
	double median[BENCH_VARIANTS];
};

/* Measure events per second. Returns the exit status. */
int bench(const struct bench_options *o);

/* plot.c: draw |n| points into o->plot. 0, or -1 after a message. */
int bench_plot(const struct bench_options *o, const struct bench_point *p, size_t n);

/* Print the table of parameters with the values of |config|. */
void print_params(const struct rue_config *config, bool json);

/* serve.c: compute for agents that connect to |path|, until a signal. Returns the exit status. */
int serve(const char *path);

#endif /* FALCON_RUE_TOOL_H */
