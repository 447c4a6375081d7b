// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rifl --plot: the paper's tables and figures as pictures, by gnuplot, from the CSV. */
#include "paper.h"

#include <stdlib.h>
#include <string.h>

enum { PANELS = 2, PANEL_WIDTH = 640, PANEL_HEIGHT = 480 };

/* One diagram: gnuplot's commands before it, and what it plots, $d being the data. */
struct panel {
	const char *set;
	const char *plot;
};

struct picture {
	uint64_t n;		/* of the table or figure */
	const char *title;
	struct panel panel[PANELS];
};

#define BY_SIZE "set logscale x 2; set xlabel 'S_{DFrame} (bits)'; set xrange [100:2600]; "
#define BY_BER "set logscale x; set format x '10^{%L}'; set xlabel 'BER'; "
#define LINES(column) "$d using 1:'" column "' with linespoints title '" column "' noenhanced"
#define PAPER(column) "$d using 1:'" column "' with points pt 6 ps 2 lw 2 title '" column "' noenhanced"

static const struct picture pictures[] = {
	{ 2, "Table 2: bits of frame ID and checksum, 100 Gb/s, 500 ns, BER 10^{-7}", { {
		BY_SIZE "set ylabel 'bits'; set yrange [0:14]",
		LINES("S_FrameID") ", " LINES("S_checksum") ", " LINES("S_FrameID_safe"),
	} } },
	{ 3, "Table 3: verification code and efficiency", { {
		BY_SIZE "set ylabel 'bits'; set yrange [0:14]",
		LINES("S_verification") ", " PAPER("paper_S_verification"),
	}, {
		BY_SIZE "set ylabel 'bandwidth efficiency'; set yrange [0.85:1]; set key bottom right",
		LINES("Eff_bandwidth") ", 0.9 with lines dt 2 title 'least that the paper accepts'",
	} } },
	{ 5, "Table 5: time to failure, four lanes of 28 Gb/s, RIFL256", { {
		BY_BER "set logscale y; set format y '10^{%L}'; set ylabel 'years'",
		LINES("MTBF_years") ", " LINES("mean_years") ", " PAPER("paper_years")
		", 100 with lines dt 2 title 'asked for'",
	} } },
	{ 8, "Figure 8: bandwidth efficiency by payload", { {
		"set xlabel 'payload (bytes)'; set ylabel 'bandwidth efficiency'; set title 'RIFL256'; "
		"set yrange [0:1]; set key bottom right",
		"$d using 1:'RIFL256_frames' with lines title 'whole frames', "
		"$d using 1:'RIFL256_flits' with lines title 'whole flits, as in the paper', "
		"0.9375 dt 2 title 'table 3'",
	}, {
		"set title 'RIFL512'",
		"$d using 1:'RIFL512_frames' with lines title 'whole frames', "
		"$d using 1:'RIFL512_flits' with lines title 'whole flits, as in the paper', "
		"0.96875 dt 2 title 'table 3'",
	} } },
	{ 9, "Figure 9: four lanes of 28 Gb/s, 107 ns one way, RIFL256", { {
		BY_BER "set ylabel 'bandwidth ratio'; set yrange [0:1.05]; set key bottom left",
		LINES("ratio_formula") ", " LINES("ratio_model") ", " PAPER("paper_ratio"),
	}, {
		"set ylabel 'latency (ns), from offered or taken on'; set yrange [0:2000]; "
		"set key top left",
		LINES("latency_mean_ns") ", " LINES("latency_p99_ns") ", " LINES("latency_p999_ns") ", "
		LINES("taken_mean_ns") ", " LINES("taken_p99_ns") ", " LINES("taken_p999_ns") ", "
		PAPER("paper_latency_at_most_ns"),
	} } },
};

static void write_script(FILE *to, const struct picture *p, const char *csv, const char *path)
{
	uint32_t panels = p->panel[1].plot ? 2 : 1;

	fprintf(to, "set terminal pngcairo size %u,%d\nset output '%s'\n", panels * PANEL_WIDTH, PANEL_HEIGHT,
		path);
	fprintf(to, "set datafile separator ','\nset datafile columnheaders\nset grid\n");
	fprintf(to, "$d << EOD\n%sEOD\n", csv);
	fprintf(to, "set multiplot layout 1,%u title \"%s\"\n", panels, p->title);
	for (uint32_t i = 0; i < panels; i++)
		fprintf(to, "%s\nplot %s\n", p->panel[i].set, p->panel[i].plot);
	fputs("unset multiplot\n", to);
}

int paper_plot(uint64_t n, const char *csv, const char *path)
{
	const struct picture *p = pictures;
	FILE *gnuplot;

	while (p->n != n)
		p++;
	/* The path stands in quotes, and gnuplot has no way to quote a quote in them. */
	if (strpbrk(path, "'\n")) {
		fprintf(stderr, "falcon-rifl: %s: no name for a picture\n", path);
		return 2;
	}
	gnuplot = popen("gnuplot", "w");
	if (gnuplot) {
		write_script(gnuplot, p, csv, path);
		if (!pclose(gnuplot))
			return EXIT_SUCCESS;
	}
	fprintf(stderr, "falcon-rifl: %s: gnuplot (package gnuplot-nox) has failed\n", path);
	return 2;
}
