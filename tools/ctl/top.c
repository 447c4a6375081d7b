// SPDX-License-Identifier: BSD-2-Clause
/*
 * falconctl top: connections, queue pairs, disks, or threads with their rates (top_view.h), again and
 * again. On a terminal it redraws the screen and takes keys; otherwise, or with --batch, it prints one
 * table after the other, with -j a line of JSON for each.
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
#include "top_view.h"

struct top {
	const struct options *o;
	double delay;		/* seconds between tables */
	long count;		/* tables to print; 0: for ever */
	bool batch;
	int sort;		/* column; -1: the view's */
	struct top_sample sample;
};

struct line {
	struct top_cell cell[TOP_COLUMNS];
	int sort;		/* column, largest first */
};

/* Text columns sort by name, upwards; numbers downwards. */
static int compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	double left = x->cell[x->sort].order, right = y->cell[y->sort].order;

	if (left != right)
		return left < right ? 1 : -1;
	return strcmp(x->cell[0].text, y->cell[0].text);
}

static const struct top_view *view_of(const struct top *t)
{
	return t->sample.view;
}

static int sort_of(const struct top *t)
{
	return t->sort < 0 ? view_of(t)->sort : t->sort;
}

static int screen_rows(const struct top *t)
{
	struct winsize w;

	if (t->batch || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || w.ws_row < 4)
		return 1 << 20;
	return w.ws_row;
}

static void print_cell(const struct top_column *c, bool first, const char *text)
{
	printf("%s%*.*s", first ? "" : " ", c->width, abs(c->width), text);
}

static void print_head(const struct top *t)
{
	const struct top_view *v = view_of(t);
	const time_t now = time(NULL);
	char clock[32];
	struct tm tm;

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	printf("falconctl top  %s  %s sorted by %s%s\n", clock, v->name, v->columns[sort_of(t)].title,
	       t->batch ? "" : "  (v: next view, s: next column, q: quit)");
	for (const struct top_column *c = v->columns; c->title; c++)
		print_cell(c, c == v->columns, c->title);
	putchar('\n');
}

/* As the agent lists them: who reads it sorts as he likes. */
static int print_json(const struct top *t)
{
	json_t *rows = json_array(), *row;
	size_t i;
	int rc;

	json_array_foreach (t->sample.now.rows, i, row) {
		json_t *line = json_object();

		for (const struct top_column *c = view_of(t)->columns; c->title; c++) {
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

static void print_lines(const struct top *t, const struct line *lines, size_t n)
{
	const struct top_column *columns = view_of(t)->columns;

	for (size_t i = 0; i < n; i++) {
		for (int c = 0; columns[c].title; c++)
			print_cell(&columns[c], c == 0, lines[i].cell[c].text);
		putchar('\n');
	}
}

static int draw(const struct top *t)
{
	size_t n = json_array_size(t->sample.now.rows), room = (size_t)screen_rows(t) - 3;
	struct line *lines = calloc(n ? n : 1, sizeof(*lines));

	if (!lines) {
		fputs("falconctl: out of memory\n", stderr);
		return CTL_FAILED;
	}
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(t->sample.now.rows, i);

		lines[i].sort = sort_of(t);
		for (int c = 0; view_of(t)->columns[c].title; c++)
			lines[i].cell[c] = top_cell_of(&t->sample, &view_of(t)->columns[c], row);
	}
	qsort(lines, n, sizeof(*lines), compare);
	if (!t->batch)
		fputs("\033[H\033[2J", stdout);
	print_head(t);
	print_lines(t, lines, n < room ? n : room);
	free(lines);
	return fflush(stdout) == 0 ? CTL_OK : CTL_FAILED;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* What a key asks for. False after a sentence: the agent does not answer. */
static bool serve(struct top *t, char key)
{
	if (key == 'v') {
		top_start(&t->sample, &top_views[(view_of(t) - top_views + 1) % TOP_VIEWS]);
		t->sort = -1;
		if (!top_look(t->o, &t->sample))
			return false;
	} else if (key == 's') {
		t->sort = (sort_of(t) + 1) % top_columns(view_of(t));
	} else {
		return true;
	}
	return draw(t) == CTL_OK;
}

/* Wait for the next look; keys act at once. CTL_OK, or with *|quit| the exit status. */
static int wait_and_serve(struct top *t, double until, bool *quit)
{
	struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
	double left;

	*quit = false;
	while ((left = until - seconds()) > 0) {
		char key;

		if (poll(&fd, t->batch ? 0 : 1, (int)(left * 1000) + 1) <= 0)
			continue;
		*quit = true;
		if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 3)
			return CTL_OK;
		if (!serve(t, key))
			return CTL_FAILED;
		*quit = false;
	}
	return CTL_OK;
}

static int watch(struct top *t)
{
	double last = seconds();
	bool quit;

	if (!top_look(t->o, &t->sample))
		return CTL_FAILED;
	if (!t->batch)
		draw(t);
	for (long n = 0; !t->count || n < t->count; n++) {
		int rc = wait_and_serve(t, last + t->delay, &quit);

		if (quit)
			return rc;
		t->sample.elapsed = seconds() - last;
		last += t->sample.elapsed;
		if (!top_look(t->o, &t->sample))
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

static int find_column(const struct top_view *v, const char *name)
{
	for (int c = 0; v->columns[c].title; c++)
		if (!strcasecmp(v->columns[c].title, name))
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
			t->sort = find_column(view_of(t), optarg);
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

static int top(enum top_view_id view, const struct options *o, int argc, char **argv)
{
	struct top t = {.o = o, .delay = 2, .sort = -1, .sample = {.view = &top_views[view]}};
	int rc = parse(&t, argc, argv);

	if (rc != CTL_OK)
		return rc;
	if (!isatty(STDOUT_FILENO) || o->json)
		t.batch = true;
	rc = t.batch ? watch(&t) : watch_on_terminal(&t);
	top_start(&t.sample, NULL);
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
