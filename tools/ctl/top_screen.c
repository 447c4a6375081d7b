// SPDX-License-Identifier: BSD-2-Clause
/*
 * falconctl top on a terminal, by ncurses: title, views, headings, lines, and at the bottom keys or a
 * sentence.
 */
#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top.h"

enum {
	TITLE_ROW, VIEWS_ROW, HEADINGS_ROW, LINES_ROW,	/* the first of many */
	FOOT_ROWS = 1,
	CTRL_C = 3, CTRL_L = 12, CTRL_Z = 26,
};

struct screen {
	struct top *top;
	struct top_line *lines;		/* of the last look, sorted; NULL: none could be made */
	size_t n;
	size_t first;			/* of |lines| that is shown */
	double looked;			/* when it looked last, or tried: top_clock() */
	uint64_t looks;			/* after the first */
	bool paused, help, quit;
	bool silent;			/* the agent has not answered: |top->agent.err| */
};

static const char *const help_text[] = {
	"1 2 3 4, v, Tab     another view",
	"s, S, left, right   sort by the next or the previous column",
	"r                   smallest first, or largest",
	"up, down, PgUp, PgDn, Home, End   other lines",
	"+, -                look more often, or less",
	"p, space            pause, and go on",
	"h, ?                this help, and back",
	"q                   quit",
	NULL,
};

/* How many lines there is room for. */
static size_t room(void)
{
	return LINES > LINES_ROW + FOOT_ROWS ? (size_t)(LINES - LINES_ROW - FOOT_ROWS) : 0;
}

/* Write |text| at |x|; what has no room is cut off. The column after it. */
static int put(int y, int x, const char *text)
{
	if (y < LINES && x < COLS)
		mvaddnstr(y, x, text, COLS - x);
	return x + (int)strlen(text);
}

static void put_title(const struct screen *s)
{
	const struct top *t = s->top;
	char clock[TOP_CELL], text[160], shown[64] = "";
	size_t last = s->first + room();

	if (s->n > room())
		snprintf(shown, sizeof(shown), "  lines %zu to %zu of %zu", s->first + 1,
			 last < s->n ? last : s->n, s->n);
	snprintf(text, sizeof(text), "falconctl top  %s  %s sorted by %s, %s first, every %g s%s",
		 top_time(clock), t->sample.view->name, t->sample.view->columns[top_sort(t)].title,
		 t->reverse ? "smallest" : "largest", t->delay, shown);
	put(TITLE_ROW, 0, text);
}

static void put_views(const struct screen *s)
{
	int x = 0;

	for (int v = 0; v < TOP_VIEWS; v++) {
		char text[TOP_CELL];

		snprintf(text, sizeof(text), " %d %s ", v + 1, top_views[v].name);
		attrset(&top_views[v] == s->top->sample.view ? A_REVERSE : A_NORMAL);
		x = put(VIEWS_ROW, x, text) + 1;
		attrset(A_NORMAL);
	}
}

/* One row of the table: |line|, or, if that is NULL, the headings. */
static void put_row(const struct screen *s, int y, const struct top_line *line)
{
	const struct top_view *v = s->top->sample.view;
	int x = 0;

	for (int c = 0; v->columns[c].title; c++) {
		const struct top_column *column = &v->columns[c];
		char text[TOP_CELL];

		snprintf(text, sizeof(text), "%*.*s", column->width, abs(column->width),
			 line ? line->cell[c].text : column->title);
		attrset((line ? A_NORMAL : A_REVERSE) | (c == top_sort(s->top) ? A_BOLD : A_NORMAL));
		x = put(y, x, text);
		x = put(y, x, " ");
	}
	attrset(A_NORMAL);
}

static void put_foot(const struct screen *s)
{
	char text[sizeof(s->top->agent.err) + 32];

	if (s->silent) {
		snprintf(text, sizeof(text), "%s; asked again", s->top->agent.err);
		attrset(A_BOLD);
	} else if (s->paused) {
		snprintf(text, sizeof(text), "paused: p goes on");
		attrset(A_BOLD);
	} else {
		snprintf(text, sizeof(text),
			 "1-%d view  s sort  r reverse  + - delay  p pause  h help  q quit", TOP_VIEWS);
	}
	put(LINES - FOOT_ROWS, 0, text);
	attrset(A_NORMAL);
}

/* The lines that are shown stay among those that there are. */
static void scroll_to(struct screen *s, size_t first)
{
	size_t most = s->n > room() ? s->n - room() : 0;

	s->first = first < most ? first : most;
}

static void draw(struct screen *s)
{
	erase();
	scroll_to(s, s->first);
	put_title(s);
	put_views(s);
	if (s->help) {
		for (int i = 0; help_text[i]; i++)
			put(HEADINGS_ROW + 1 + i, 1, help_text[i]);
	} else {
		put_row(s, HEADINGS_ROW, NULL);
		for (size_t i = 0; i < room() && s->first + i < s->n; i++)
			put_row(s, LINES_ROW + (int)i, &s->lines[s->first + i]);
	}
	put_foot(s);
	refresh();
}

static void sort_lines(struct screen *s)
{
	free(s->lines);
	s->lines = top_lines(&s->top->sample, top_sort(s->top), s->top->reverse, &s->n);
	if (!s->lines)
		s->n = 0;
}

static void look(struct screen *s)
{
	s->looked = top_clock();
	s->silent = !top_again(s->top);
	sort_lines(s);
}

/* Another view begins anew: rates after the next look. */
static void show_view(struct screen *s, int view)
{
	top_start(&s->top->sample, &top_views[view]);
	s->top->sort = -1;
	s->first = 0;
	look(s);
}

static void sort_by(struct screen *s, int step)
{
	int n = top_columns(s->top->sample.view);

	s->top->sort = (top_sort(s->top) + n + step) % n;
	sort_lines(s);
}

static void set_delay(struct screen *s, double delay)
{
	if (delay >= TOP_DELAY_MIN && delay <= TOP_DELAY_MAX)
		s->top->delay = delay;
}

/* Keys that move the lines. False: |key| is none. */
static bool serve_scrolling(struct screen *s, int key)
{
	size_t first = s->first, page = room();

	switch (key) {
	case KEY_UP: first -= first > 0; break;
	case KEY_DOWN: first++; break;
	case KEY_PPAGE: first -= first < page ? first : page; break;
	case KEY_NPAGE: first += page; break;
	case KEY_HOME: first = 0; break;
	case KEY_END: first = s->n; break;
	default: return false;
	}
	scroll_to(s, first);
	return true;
}

static void serve(struct screen *s, int key)
{
	int view = (int)(s->top->sample.view - top_views);

	if (serve_scrolling(s, key))
		return;
	if (key >= '1' && key < '1' + TOP_VIEWS)
		return show_view(s, key - '1');
	switch (key) {
	case 'v': case '\t': show_view(s, (view + 1) % TOP_VIEWS); break;
	case KEY_BTAB: show_view(s, (view + TOP_VIEWS - 1) % TOP_VIEWS); break;
	case 's': case KEY_RIGHT: sort_by(s, 1); break;
	case 'S': case KEY_LEFT: sort_by(s, -1); break;
	case 'r': s->top->reverse = !s->top->reverse; sort_lines(s); break;
	case '+': set_delay(s, s->top->delay / 2); break;
	case '-': set_delay(s, s->top->delay * 2); break;
	case 'p': case ' ': s->paused = !s->paused; break;
	case 'h': case '?': s->help = !s->help; break;
	case 'q': case CTRL_C: s->quit = true; break;
	case CTRL_Z: raise(SIGTSTP); break;
	case CTRL_L: clear(); break;
	}
}

/* Milliseconds until the next look; -1: there is none while it is paused. */
static int wait_ms(const struct screen *s)
{
	double left = s->looked + s->top->delay - top_clock();

	if (s->paused)
		return -1;
	return left > 0 ? (int)(left * 1000) + 1 : 0;
}

/* The terminal has gone: no key will come, and nobody sees what is drawn. */
static bool hung_up(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&fd, 1, 0) > 0 && fd.revents & (POLLHUP | POLLERR | POLLNVAL);
}

static void run(struct screen *s)
{
	while (!s->quit) {
		int key;

		draw(s);
		timeout(wait_ms(s));
		key = getch();
		if (key != ERR) {
			serve(s, key);
		} else if (hung_up()) {
			s->quit = true;
		} else if (wait_ms(s) == 0) {
			look(s);
			s->looks++;
			s->quit = s->top->count && s->looks >= s->top->count;
		}
	}
}

int top_screen(struct top *t)
{
	struct screen s = { .top = t, .looked = t->sample.now.at };
	SCREEN *terminal = newterm(NULL, stdout, stdin);

	if (!terminal)
		return -1;
	/* Not cbreak(): Ctrl-C ends it as q does, and the terminal is as it was before. */
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	sort_lines(&s);
	run(&s);
	endwin();
	delscreen(terminal);
	free(s.lines);
	return CTL_OK;
}
