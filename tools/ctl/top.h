/* SPDX-License-Identifier: BSD-2-Clause */
/* falconctl top: what its loop and its screen share. */
#ifndef FALCON_TOOLS_TOP_H
#define FALCON_TOOLS_TOP_H

#include "top_view.h"

/* Seconds between two looks. */
#define TOP_DELAY_MIN 0.01
#define TOP_DELAY_MAX 3600.0

struct top {
	const struct options *o;
	double delay;		/* seconds between looks */
	uint64_t count;		/* tables to show; 0: for ever */
	bool batch;
	int sort;		/* column; -1: the view's */
	bool reverse;		/* smallest first */
	struct top_sample sample;
	struct ipc_client agent;
};

/* The column that the lines are sorted by. */
int top_sort(const struct top *t);
/* Look again; false: the sentence is in |t->agent.err|. */
bool top_again(struct top *t);
/* CLOCK_MONOTONIC, in seconds; the time of day, as |text|. */
double top_clock(void);
const char *top_time(char text[TOP_CELL]);

/*
 * top_screen.c: show |t|, which has looked once, on the terminal until the user or |t->count| ends it. An
 * agent that does not answer any more is asked again at each look. CTL_OK; -1: ncurses does not know this
 * terminal.
 */
int top_screen(struct top *t);

#endif /* FALCON_TOOLS_TOP_H */
