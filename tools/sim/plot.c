// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pictures by gnuplot: the first list of the sweep is the x axis, each value of the second one a
 * curve; or, if there is none, each expression of "y".
 */
#include "results.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The x value of a row: the number that the text begins with. */
static double x_of(const struct results *r, const struct result *row)
{
	return r->sc->nlists ? strtod(scenario_value(r->sc, 0, row->n), NULL) : 0;
}

static bool is_shown(const struct results *r, const struct result *row)
{
	const char *group = r->sc->plot.group;

	return !strcmp(*group ? group : r->row[0].group, row->group);
}

/* Rows with value |v| of the second list, as one of gnuplot's data blocks. */
static void write_block(const struct results *r, uint32_t v, FILE *out)
{
	const struct summary_column *c;

	fprintf(out, "$data%u << EOD\nx", v);
	for (uint32_t i = 0; (c = summary_column(i)); i++)
		fprintf(out, " %s", c->name);
	fprintf(out, "\n");
	for (uint32_t k = 0; k < r->rows; k++) {
		const struct result *row = &r->row[k];

		if (!is_shown(r, row) ||
		    (r->sc->nlists > 1 && strcmp(scenario_value(r->sc, 1, row->n), r->sc->list[1].value[v])))
			continue;
		fprintf(out, "%g", x_of(r, row));
		for (uint32_t i = 0; (c = summary_column(i)); i++)
			fprintf(out, " %.9g", summary_get(&row->sum, c));
		fprintf(out, "\n");
	}
	fprintf(out, "EOD\n");
}

static bool is_column(const char *name, size_t len)
{
	const struct summary_column *c;

	for (uint32_t i = 0; (c = summary_column(i)); i++)
		if (strlen(c->name) == len && !strncmp(c->name, name, len))
			return true;
	return false;
}

/* |y|, of |len| characters, with the names of columns as gnuplot wants them. */
static void write_expression(const char *y, size_t len, FILE *out)
{
	for (size_t i = 0; i < len;) {
		size_t n = 0;

		while (i + n < len && (isalnum((unsigned char)y[i + n]) || y[i + n] == '_'))
			n++;
		if (is_column(y + i, n))
			fprintf(out, "column(\"%.*s\")", (int)n, y + i);
		else
			fprintf(out, "%.*s", n ? (int)n : 1, y + i);
		i += n ? n : 1;
	}
}

/* One plot command: a curve for each block and expression. */
static void write_curves(const struct results *r, uint32_t blocks, FILE *out)
{
	const char *y = r->sc->plot.y, *lead = "plot ";

	for (; *y; y += strspn(y, ", ")) {
		size_t len = strcspn(y, ",");

		for (uint32_t v = 0; v < blocks; v++) {
			fprintf(out, "%s$data%u using 1:(", lead, v);
			write_expression(y, len, out);
			if (r->sc->nlists > 1)
				fprintf(out, ") with linespoints title \"%s\"",
					r->sc->list[1].value[v]);
			else
				fprintf(out, ") with linespoints title \"%.*s\"", (int)len, y);
			lead = ", ";
		}
		y += len;
	}
	fprintf(out, "\n");
}

static void write_script(const struct results *r, const char *path, FILE *out)
{
	const struct scenario_plot *p = &r->sc->plot;
	uint32_t blocks = r->sc->nlists > 1 ? r->sc->list[1].n : 1;

	fprintf(out, "set terminal pngcairo size 640,420 noenhanced\nset output \"%s\"\n", path);
	fprintf(out, "set title \"%s\"\nset xlabel \"%s\"\nset ylabel \"%s\"\n", p->title,
		*p->xlabel ? p->xlabel : r->sc->nlists ? r->sc->list[0].name : "",
		*p->ylabel ? p->ylabel : p->y);
	fprintf(out, "set datafile columnheaders\nset grid\nset key outside bottom horizontal\n");
	/* For "y": of each curve, the values relative to the first. */
	fprintf(out, "relative(v) = (first = int(column(0)) == 0 ? v : first, v / first)\n");
	fprintf(out, "set offsets graph 0.02, graph 0.02, graph 0, graph 0\n");
	for (const char *axis = p->log; *axis; axis++)
		fprintf(out, "set logscale %c\n", *axis);
	if (*p->yrange)
		fprintf(out, "set yrange [%s]\n", p->yrange);
	for (uint32_t v = 0; v < blocks; v++)
		write_block(r, v, out);
	write_curves(r, blocks, out);
}

bool results_plot(const struct results *r, const char *path)
{
	FILE *gnuplot;

	if (!*r->sc->plot.y) {
		fprintf(stderr, "%s: [plot] says not what to draw\n", r->sc->path);
		return false;
	}
	gnuplot = popen("gnuplot", "w");
	if (!gnuplot) {
		perror("gnuplot");
		return false;
	}
	write_script(r, path, gnuplot);
	if (!pclose(gnuplot))
		return true;
	fprintf(stderr, "%s: gnuplot (package gnuplot-nox) has failed\n", path);
	return false;
}
