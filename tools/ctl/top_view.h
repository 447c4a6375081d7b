/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What falconctl top shows: views, each with columns of one or two of the agent's tables, and the values and
 * rates that two looks at these tables give.
 */
#ifndef FALCON_TOOLS_TOP_VIEW_H
#define FALCON_TOOLS_TOP_VIEW_H

#include <stdbool.h>

#include <jansson.h>

#include "ctl.h"

enum {
	TOP_CELL = 32,		/* bytes of a cell's text, with the final 0 */
	TOP_TABLES = 2,		/* that a view may join */
	TOP_COLUMNS = 13,	/* that a view may have */
};

enum top_view_id { TOP_CONN, TOP_QP, TOP_NVME, TOP_SHARD, TOP_VIEWS };

/* How a column's value comes about from two looks. */
enum top_source {
	TOP_VALUE,		/* the latest value of |key| */
	TOP_RATE,		/* how fast the sum of |key| and |more| grew, a second */
};

struct top_column {
	const char *title;	/* NULL: there are no more columns */
	const char *member;	/* its name in JSON */
	int width;		/* negative: stands left */
	int table;		/* of the view's, by number */
	enum top_source source;
	const char *key;
	const char *more[2];
};

struct top_view {
	const char *name;
	const char *tables[TOP_TABLES];	/* falconctl's objects; the first has the lines */
	const char *id[2];	/* members that tell rows apart, in all tables; the first of equals counts */
	int sort;		/* column, unless another is wanted */
	struct top_column columns[TOP_COLUMNS + 1];
};

extern const struct top_view top_views[TOP_VIEWS];

/* One look at a view's tables. All NULL: none. */
struct top_look {
	json_t *rows;			/* of the first table */
	json_t *by_id[TOP_TABLES];	/* objects of rows */
	double at;			/* when, seconds of any clock that goes on */
};

/* The last two looks. */
struct top_sample {
	const struct top_view *view;
	struct top_look before, now;
};

/* A value for people and for sorting. */
struct top_cell {
	char text[TOP_CELL];
	double order;
};

/* One line of a view's table. */
struct top_line {
	struct top_cell cell[TOP_COLUMNS];
};

int top_columns(const struct top_view *view);

/*
 * Look again, by |agent|, which is connected to the agent at |path| unless it is, at the time |at|: the last
 * look is the one before. False with a sentence in |agent->err|; the looks stay as they are, and |agent| is
 * closed.
 */
bool top_look(struct top_sample *s, struct ipc_client *agent, const char *path, double at);
/* No looks, of |view|. */
void top_start(struct top_sample *s, const struct top_view *view);

/* The cell of column |c| in the line of |row|, one of |s->now.rows|. */
struct top_cell top_cell_of(const struct top_sample *s, const struct top_column *c, const json_t *row);
/* The same as JSON; NULL if there is none. To be released. */
json_t *top_json_of(const struct top_sample *s, const struct top_column *c, const json_t *row);

/*
 * The |*n| lines of the last look, to be freed, sorted by |column|: the largest number first, then, where
 * there are no numbers or equal ones, by text; with |reverse| the other way round. NULL: no memory.
 */
struct top_line *top_lines(const struct top_sample *s, int column, bool reverse, size_t *n);

#endif /* FALCON_TOOLS_TOP_VIEW_H */
