// SPDX-License-Identifier: BSD-2-Clause
/*
 * falcon-rue --bench --plot: the curves of the SIGCOMM '25 paper's figures 22a and 23, events a second
 * over connections, by gnuplot: a panel for each size of state, a line for each way to access it. What
 * the memory alone allows is left out: it would press the others down.
 */
#include <stdio.h>
#include <string.h>

#include "rue.h"

enum { PANEL_WIDTH = 560, PANEL_HEIGHT = 440 };

/* The points with |state| bytes, as one of gnuplot's data blocks. */
static void put_block(FILE *to, size_t block, uint64_t state, const struct bench_point *p, size_t n)
{
	fprintf(to, "$block%zu << EOD\n", block);
	for (size_t i = 0; i < n; i++) {
		if (p[i].state != state)
			continue;
		fprintf(to, "%llu", (unsigned long long)p[i].connections);
		for (int v = 0; v < ACCESS; v++)
			fprintf(to, " %.4f", p[i].rate[v] / 1e6);
		fputc('\n', to);
	}
	fputs("EOD\n", to);
}

static void put_panel(FILE *to, size_t block, uint64_t state)
{
	fprintf(to, "set title '%llu bytes of state'\nplot", (unsigned long long)state);
	for (int v = 0; v < ACCESS; v++)
		fprintf(to, "%s $block%zu using 1:%d with linespoints title '%s'", v ? "," : "",
			block, v + 2, bench_variant_name[v]);
	fputc('\n', to);
}

static void write_script(FILE *to, const struct bench_options *o, const struct bench_point *p,
			 size_t n)
{
	size_t panels = o->n_state;

	for (size_t s = 0; s < panels; s++)
		put_block(to, s, o->state[s], p, n);
	fprintf(to, "set terminal png size %zu,%d\nset output '%s'\n", panels * PANEL_WIDTH,
		PANEL_HEIGHT, o->plot);
	fprintf(to, "set multiplot layout 1,%zu title 'Swift, one thread, parameters \"%s\"'\n",
		panels, o->config->name);
	fputs("set logscale x 2\nset format x '%.0s%c'\nset yrange [0:*]\nset grid\nset key bottom\n"
	      "set xlabel 'connections'\nset ylabel 'million events/s'\n", to);
	for (size_t s = 0; s < panels; s++)
		put_panel(to, s, o->state[s]);
	fputs("unset multiplot\n", to);
}

int bench_plot(const struct bench_options *o, const struct bench_point *p, size_t n)
{
	FILE *gnuplot;

	/* The path stands in quotes, and gnuplot has no way to quote a quote in them. */
	if (strpbrk(o->plot, "'\n")) {
		fprintf(stderr, "falcon-rue: %s: no name for a picture\n", o->plot);
		return -1;
	}
	gnuplot = popen("gnuplot", "w");
	if (gnuplot) {
		write_script(gnuplot, o, p, n);
		if (!pclose(gnuplot))
			return 0;
	}
	fprintf(stderr, "falcon-rue: %s: gnuplot (package gnuplot-nox) has failed\n", o->plot);
	return -1;
}
