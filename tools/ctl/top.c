// SPDX-License-Identifier: BSD-2-Clause
/*
 * falconctl top: connections with their rates, and the windows and delays of congestion control,
 * again and again. On a terminal it redraws the screen and takes keys; otherwise, or with --batch,
 * it prints one table after the other, with -j a line of JSON for each.
 */
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

enum { CELL = 32 };

/* How a column's value comes about from the counters of two looks. */
enum source {
	VALUE,		/* the latest value of |key| of |object| */
	RATE,		/* how fast the sum of |key| and |more| grew, a second */
};

static const struct column {
	const char *title;
	const char *member;	/* its name in JSON */
	int width;		/* negative: stands left */
	bool conn;		/* a member of "conn", else of "rue" */
	enum source source;
	const char *key;
	const char *more[2];
} columns[] = {
	{"NAME", "name", -14, true, VALUE, "name", {NULL}},
	{"STATE", "state", -9, true, VALUE, "state", {NULL}},
	{"CC", "algorithm", -8, false, VALUE, "algorithm", {NULL}},
	{"TX/S", "tx_per_s", 9, true, RATE, "tx_packets", {NULL}},
	{"RX/S", "rx_per_s", 9, true, RATE, "rx_packets", {NULL}},
	{"RETX/S", "retx_per_s", 7, true, RATE, "tx_retx_rto", {"tx_retx_early", "tx_retx_own"}},
	{"OPS/S", "ops_per_s", 9, true, RATE, "completed", {NULL}},
	{"EVENTS/S", "events_per_s", 9, false, RATE, "events", {NULL}},
	{"FCWND", "fcwnd", 7, false, VALUE, "fcwnd", {NULL}},
	{"NCWND", "ncwnd", 6, false, VALUE, "ncwnd", {NULL}},
	{"DELAY_US", "delay_us", 9, false, VALUE, "delay_us", {NULL}},
	{"RTT_US", "rtt_us", 8, false, VALUE, "rtt_us", {NULL}},
	{"GAP_US", "gap_us", 8, false, VALUE, "gap_us", {NULL}},
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

struct top {
	const struct options *o;
	double delay;		/* seconds between tables */
	long count;		/* tables to print; 0: for ever */
	bool batch;
	int sort;		/* column */
	json_t *before, *now;	/* what "conn" and "rue" told: {"conn": rows, "rue": rows} */
	double elapsed;		/* seconds between the two */
};

struct line {
	double order;		/* by which it is sorted, largest first */
	char cell[COLUMNS][CELL];
};

/* Text columns sort by name, upwards; numbers downwards. */
static int compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? 1 : -1;
	return strcmp(x->cell[0], y->cell[0]);
}

/* The row of |table| that is about connection |name|, first flow; NULL if there is none. */
static const json_t *row_of(const json_t *look, const char *table, const char *name)
{
	const json_t *rows = json_object_get(look, table);
	json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "name")), name))
			return row;
	return NULL;
}

static double sum(const json_t *row, const struct column *c)
{
	double n = json_number_value(json_object_get(row, c->key));

	for (int i = 0; i < 2 && c->more[i]; i++)
		n += json_number_value(json_object_get(row, c->more[i]));
	return n;
}

static const json_t *value_of(const struct top *t, const struct column *c, const char *name)
{
	return json_object_get(row_of(t->now, c->conn ? "conn" : "rue", name), c->key);
}

static double rate_of(const struct top *t, const struct column *c, const char *name)
{
	const json_t *row = row_of(t->now, c->conn ? "conn" : "rue", name);
	const json_t *old = row_of(t->before, c->conn ? "conn" : "rue", name);
	double d = row && old ? sum(row, c) - sum(old, c) : 0;

	/* A connection set up anew counts from 0. */
	return d > 0 ? d / t->elapsed : 0;
}

static void fill_cell(const struct top *t, const struct column *c, const char *name, char *text,
		      double *value)
{
	if (c->source == VALUE) {
		const json_t *v = value_of(t, c, name);

		ctl_cell(v, text, CELL);
		*value = json_number_value(v);
		return;
	}
	*value = rate_of(t, c, name);
	snprintf(text, CELL, "%.0f", *value);
}

static int screen_rows(const struct top *t)
{
	struct winsize w;

	if (t->batch || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || w.ws_row < 4)
		return 1 << 20;
	return w.ws_row;
}

static void print_line(const char (*cell)[CELL])
{
	for (int c = 0; c < COLUMNS; c++)
		printf("%s%*.*s", c ? " " : "", columns[c].width, abs(columns[c].width), cell[c]);
	putchar('\n');
}

static void print_head(const struct top *t)
{
	char title[COLUMNS][CELL], clock[32];
	const time_t now = time(NULL);
	struct tm tm;

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	printf("falconctl top  %s  sorted by %s%s\n", clock, columns[t->sort].title,
	       t->batch ? "" : "  (s: next column, q: quit)");
	for (int c = 0; c < COLUMNS; c++)
		snprintf(title[c], CELL, "%s", columns[c].title);
	print_line((const char (*)[CELL])title);
}

/* As the agent lists them: who reads it sorts as he likes. */
static int print_json(const struct top *t)
{
	json_t *rows = json_array(), *in = json_object_get(t->now, "conn"), *row;
	size_t i;
	int rc;

	json_array_foreach(in, i, row) {
		const char *name = json_string_value(json_object_get(row, "name"));
		json_t *line = json_object();

		for (const struct column *c = columns; c < columns + COLUMNS; c++) {
			const json_t *v = c->source == VALUE ? value_of(t, c, name) : NULL;

			if (c->source == RATE)
				json_object_set_new(line, c->member, json_real(rate_of(t, c, name)));
			else if (v)
				json_object_set(line, c->member, (json_t *)v);
		}
		json_array_append_new(rows, line);
	}
	rc = json_dumpf(rows, stdout, JSON_REAL_PRECISION(9) |
			(size_t)(t->o->pretty ? JSON_INDENT(2) : JSON_COMPACT));
	json_decref(rows);
	putchar('\n');
	return rc == 0 && fflush(stdout) == 0 ? CTL_OK : CTL_FAILED;
}

static int draw(const struct top *t)
{
	const json_t *rows = json_object_get(t->now, "conn");
	size_t n = json_array_size(rows), room = (size_t)screen_rows(t) - 3;
	struct line *lines = calloc(n ? n : 1, sizeof(*lines));

	if (!lines) {
		fputs("falconctl: out of memory\n", stderr);
		return CTL_FAILED;
	}
	for (size_t i = 0; i < n; i++) {
		const char *name =
			json_string_value(json_object_get(json_array_get(rows, i), "name"));

		for (int c = 0; c < COLUMNS; c++) {
			double value;

			fill_cell(t, &columns[c], name, lines[i].cell[c], &value);
			if (c == t->sort)
				lines[i].order = value;
		}
	}
	qsort(lines, n, sizeof(*lines), compare);
	if (!t->batch)
		fputs("\033[H\033[2J", stdout);
	print_head(t);
	for (size_t i = 0; i < n && i < room; i++)
		print_line((const char (*)[CELL])lines[i].cell);
	free(lines);
	return fflush(stdout) == 0 ? CTL_OK : CTL_FAILED;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Ask the agent. False after a message. */
static bool look(struct top *t)
{
	json_t *conn = ctl_rows(t->o, "conn", NULL);
	json_t *rue = conn ? ctl_rows(t->o, "rue", NULL) : NULL;

	if (!rue) {
		json_decref(conn);
		return false;
	}
	json_decref(t->before);
	t->before = t->now;
	t->now = json_pack("{s:o, s:o}", "conn", conn, "rue", rue);
	return true;
}

/* Wait for the next look; keys act at once. False: quit. */
static bool wait_and_serve(struct top *t, double until)
{
	struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
	double left;

	while ((left = until - seconds()) > 0) {
		char key;

		if (poll(&fd, t->batch ? 0 : 1, (int)(left * 1000) + 1) <= 0)
			continue;
		if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 3)
			return false;
		if (key == 's') {
			t->sort = (t->sort + 1) % COLUMNS;
			draw(t);
		}
	}
	return true;
}

static int watch(struct top *t)
{
	double last = seconds();

	if (!look(t))
		return CTL_FAILED;
	if (!t->batch)
		draw(t);
	for (long n = 0; !t->count || n < t->count; n++) {
		if (!wait_and_serve(t, last + t->delay))
			return CTL_OK;
		t->elapsed = seconds() - last;
		last += t->elapsed;
		if (!look(t))
			return CTL_FAILED;
		if (t->batch && n && !t->o->json)
			putchar('\n');
		if ((t->o->json ? print_json(t) : draw(t)) != CTL_OK)
			return CTL_FAILED;
	}
	return CTL_OK;
}

/* Keys come at once and unseen, until restored. */
static int watch_on_terminal(struct top *t)
{
	struct termios was, raw;
	int rc;

	if (tcgetattr(STDIN_FILENO, &was) < 0) {
		t->batch = true;
		return watch(t);
	}
	raw = was;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	rc = watch(t);
	tcsetattr(STDIN_FILENO, TCSANOW, &was);
	return rc;
}

static int find_column(const char *name)
{
	for (int c = 0; c < COLUMNS; c++)
		if (!strcasecmp(columns[c].title, name))
			return c;
	return -1;
}

/* CTL_OK, or CTL_USAGE after a sentence. */
static int parse(struct top *t, int argc, char **argv)
{
	static const struct option longs[] = {
		{"delay", required_argument, NULL, 'd'}, {"count", required_argument, NULL, 'n'},
		{"batch", no_argument, NULL, 'b'},       {"sort", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	char *end = "";
	int opt;

	/* getopt() skips the first word, which here is the object's or the action's. */
	optind = 0;
	while ((opt = getopt_long(argc + 1, argv - 1, "d:n:bs:", longs, NULL)) != -1) {
		switch (opt) {
		case 'd': t->delay = strtod(optarg, &end); break;
		case 'n': t->count = strtol(optarg, &end, 10); break;
		case 'b': t->batch = true; break;
		case 's':
			t->sort = find_column(optarg);
			if (t->sort < 0)
				return ctl_usage_error("top: no column \"%s\"", optarg);
			break;
		default: return CTL_USAGE;
		}
		if (*end || !(t->delay >= 0.01 && t->delay <= 3600) || t->count < 0)
			return ctl_usage_error("top: %s is not a number in range", optarg);
	}
	return optind == argc + 1 ? CTL_OK
				  : ctl_usage_error("unexpected argument \"%s\"", argv[optind - 1]);
}

int ctl_top(const struct options *o, const struct object *obj, int argc, char **argv)
{
	struct top t = {.o = o, .delay = 2, .sort = 3};
	int rc = parse(&t, argc, argv);

	(void)obj;
	if (rc != CTL_OK)
		return rc;
	if (!isatty(STDOUT_FILENO) || o->json)
		t.batch = true;
	rc = t.batch ? watch(&t) : watch_on_terminal(&t);
	json_decref(t.before);
	json_decref(t.now);
	return rc;
}
