// SPDX-License-Identifier: BSD-2-Clause
/*
 * falconctl top: connections, queue pairs, disks, or threads with their rates (top_view.h), again and
 * again. On a terminal it has the screen and takes keys (top_screen.c); otherwise, or with --batch, it prints
 * one table after the other, with -j a line of JSON for each.
 */
#include "top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COUNT_MAX = 1 << 30 };

double top_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

const char *top_time(char text[TOP_CELL])
{
	const time_t now = time(NULL);
	struct tm tm;

	strftime(text, TOP_CELL, "%H:%M:%S", localtime_r(&now, &tm));
	return text;
}

int top_sort(const struct top *t)
{
	return t->sort < 0 ? t->sample.view->sort : t->sort;
}

bool top_again(struct top *t)
{
	return top_look(&t->sample, &t->agent, t->o->socket, top_clock());
}

/* As the agent lists them: a reader sorts as it likes. */
static int print_json(const struct top *t)
{
	json_t *rows = json_array(), *row;
	size_t i;
	int rc;

	json_array_foreach (t->sample.now.rows, i, row) {
		json_t *line = json_object();

		for (const struct top_column *c = t->sample.view->columns; c->title; c++) {
			json_t *v = top_json_of(&t->sample, c, row);

			if (v)
				json_object_set_new(line, c->member, v);
		}
		json_array_append_new(rows, line);
	}
	rc = json_dumpf(rows, stdout, JSON_REAL_PRECISION(9) |
			(size_t)(t->o->pretty ? JSON_INDENT(2) : JSON_COMPACT));
	json_decref(rows);
	putchar('\n');
	return rc == 0 && fflush(stdout) == 0 ? CTL_OK : CTL_FAILED;
}

static void print_cell(const struct top_column *c, bool first, const char *text)
{
	printf("%s%*.*s", first ? "" : " ", c->width, abs(c->width), text);
}

static int print_table(const struct top *t)
{
	const struct top_view *v = t->sample.view;
	struct top_line *lines;
	char clock[TOP_CELL];
	size_t n;

	lines = top_lines(&t->sample, top_sort(t), t->reverse, &n);
	if (!lines) {
		fputs("falconctl: out of memory\n", stderr);
		return CTL_FAILED;
	}
	printf("falconctl top  %s  %s sorted by %s\n", top_time(clock), v->name,
	       v->columns[top_sort(t)].title);
	for (const struct top_column *c = v->columns; c->title; c++)
		print_cell(c, c == v->columns, c->title);
	putchar('\n');
	for (size_t i = 0; i < n; i++) {
		for (int c = 0; v->columns[c].title; c++)
			print_cell(&v->columns[c], c == 0, lines[i].cell[c].text);
		putchar('\n');
	}
	free(lines);
	return fflush(stdout) == 0 ? CTL_OK : CTL_FAILED;
}

static int failed(const struct top *t)
{
	fprintf(stderr, "falconctl: %s\n", t->agent.err);
	return CTL_FAILED;
}

static void sleep_until(double when)
{
	const struct timespec ts = { (time_t)when, (long)((when - (double)(time_t)when) * 1e9) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static int print_tables(struct top *t)
{
	for (uint64_t n = 0; !t->count || n < t->count; n++) {
		sleep_until(t->sample.now.at + t->delay);
		if (!top_again(t))
			return failed(t);
		if (n && !t->o->json)
			putchar('\n');
		if ((t->o->json ? print_json(t) : print_table(t)) != CTL_OK)
			return CTL_FAILED;
	}
	return CTL_OK;
}

static int find_column(const struct top_view *v, const char *name)
{
	for (int c = 0; v->columns[c].title; c++)
		if (!strcasecmp(v->columns[c].title, name))
			return c;
	return -1;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct top *t = state->input;

	switch (key) {
	case 'd': t->delay = cli_real(state, "--delay", arg, TOP_DELAY_MIN, TOP_DELAY_MAX); return 0;
	case 'n': t->count = cli_number(state, "--count", arg, 1, COUNT_MAX); return 0;
	case 'b': t->batch = true; return 0;
	case 'r': t->reverse = true; return 0;
	case 's':
		t->sort = find_column(t->sample.view, arg);
		if (t->sort < 0)
			argp_error(state, "no column \"%s\" of %s", arg, t->sample.view->name);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "delay", 'd', "SECONDS", 0, "Look again after SECONDS (2)", 0 },
	{ "count", 'n', "N", 0, "End after N tables", 0 },
	{ "batch", 'b', NULL, 0, "Tables one after the other, on a terminal too", 0 },
	{ "sort", 's', "COLUMN", 0, "Sort by COLUMN, its heading", 0 },
	{ "reverse", 'r', NULL, 0, "Smallest first", 0 },
	{},
};

static const char view_doc[] =
	"Watch connections, queue pairs, disks or threads. On a terminal, h lists the keys.";

static int top(enum top_view_id view, const struct options *o, int argc, char **argv)
{
	const struct argp argp = { .options = options, .parser = parse, .doc = view_doc };
	struct top t = { .o = o, .delay = 2, .sort = -1, .sample = { .view = &top_views[view] },
			 .agent = IPC_CLIENT_CLOSED };
	int rc = -1;

	ctl_parse("top", &argp, argc, argv, &t);
	if (!top_again(&t))
		return failed(&t);
	if (!t.batch && !o->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		rc = top_screen(&t);
	if (rc < 0)
		rc = print_tables(&t);
	top_start(&t.sample, NULL);
	ipc_client_close(&t.agent);
	return rc;
}

int ctl_top(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	return top(TOP_CONN, o, argc, argv);
}

int ctl_top_qp(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	return top(TOP_QP, o, argc, argv);
}

int ctl_top_nvme(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	return top(TOP_NVME, o, argc, argv);
}

int ctl_top_shard(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	return top(TOP_SHARD, o, argc, argv);
}
