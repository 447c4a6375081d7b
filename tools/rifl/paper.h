/* SPDX-License-Identifier: BSD-2-Clause */
/* The paper's tables and figures, from its formulas and from the model. */
#ifndef FALCON_RIFL_PAPER_H
#define FALCON_RIFL_PAPER_H

#include <stdint.h>
#include <stdio.h>

/* The link of section 6.C: RIFL256, four lanes of 28 Gb/s, 107 ns one way. */
enum {
	PAPER_BITS = 256,
	PAPER_LANES = 4,
};

#define PAPER_LANE_RATE 28e9		/* bit/s */
#define PAPER_DELAY_NS 107.0
#define PAPER_SLOT_NS (PAPER_BITS / PAPER_LANE_RATE * 1e9)

/* Equation 9. */
double paper_fer(double ber, uint32_t frame_bits);

/*
 * Equation 8 without its first factor, for the link of section 6.C: an error on any lane, in either
 * direction, stops all lanes in both.
 */
double paper_ratio(double ber);

/* Print table 2, 3 or 5 as CSV. An exit status. */
int paper_table(FILE *out, uint64_t n);

/* Print figure 8 or 9 as CSV; for 9 the model runs |slots| slots at each BER. An exit status. */
int paper_figure(FILE *out, uint64_t n, uint64_t slots, uint64_t seed);

/* Draw the table or figure |n|, of which |csv| is what the above print, into |path| (PNG). An exit status. */
int paper_plot(uint64_t n, const char *csv, const char *path);

#endif /* FALCON_RIFL_PAPER_H */
