// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rifl --table: what equations 5 to 19 and 26 give. */
#include "paper.h"
#include "rifl/lane.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_RATE 100e9		/* bit/s, of table 2 */
#define RTT_NS 500.0		/* of table 2 */
#define YEAR (365.25 * 86400)

enum {
	ERRORS_FOUND = 3,	/* in a frame, for certain: the Hamming distance is 4 */
	YEARS = 100,		/* what MTBF has to be at least */
};

double paper_fer(double ber, uint32_t frame_bits)
{
	return -expm1(frame_bits * log1p(-ber));
}

/* Equation 16. */
static double errors_exactly(uint32_t frame_bits, uint32_t i, double ber)
{
	double choose = lgamma(frame_bits + 1.0) - lgamma(i + 1.0) - lgamma(frame_bits - i + 1.0);

	return exp(choose + i * log(ber) + (frame_bits - i) * log1p(-ber));
}

/* Equation 15, summed over the errors that may stay unseen, since 1 minus the others is lost in rounding. */
static double ffr(uint32_t frame_bits, uint32_t crc_bits, double ber)
{
	double sum = 0, more = 1;

	for (uint32_t i = ERRORS_FOUND + 1; i <= frame_bits && more > sum * 1e-12; i++) {
		more = errors_exactly(frame_bits, i, ber);
		sum += more;
	}
	return ldexp(sum, -(int)crc_bits);
}

/* Years until a frame has failed with the probability |p| (equations 14 and 26). */
static double years(double frames_per_s, double failed, double p)
{
	return -log1p(-p) / failed / frames_per_s / YEAR;
}

/* Equation 13. */
static uint32_t id_bits(uint32_t frame_bits)
{
	return (uint32_t)ceil(log2(LINE_RATE * RTT_NS * 1e-9 / frame_bits));
}

/* The smallest CRC with a Hamming distance of 4 over all but the syncword: 2^(m-1) - 1 bits with it. */
static uint32_t crc_bits(uint32_t frame_bits)
{
	uint32_t m = 3;

	while ((1U << (m - 1)) - 1 < frame_bits - RIFL_SYN_BITS)
		m++;
	while (years(LINE_RATE / frame_bits, ffr(frame_bits, m, 1e-7), 0.01) < YEARS)
		m++;
	return m;
}

/* Equations 12 and 19. */
static uint32_t verification_bits(uint32_t frame_bits)
{
	uint32_t id = id_bits(frame_bits), crc = crc_bits(frame_bits), s = id > crc ? id : crc;

	while (s % 8 != 4)
		s++;
	return s;
}

static void table2(FILE *out)
{
	fprintf(out, "S_DFrame,S_FrameID,S_checksum,MTBF_years,S_FrameID_safe\n");
	for (uint32_t n = RIFL_FRAME_BITS_MIN; n <= RIFL_FRAME_BITS_MAX; n *= 2) {
		struct rifl_cfg cfg;
		uint32_t m = crc_bits(n);

		if (rifl_cfg_derive(&cfg, n, (uint32_t)ceil(LINE_RATE * RTT_NS * 1e-9 / n)))
			continue;
		fprintf(out, "%u,%u,%u,%.3g,%u\n", n, id_bits(n), m,
		       years(LINE_RATE / n, ffr(n, m, 1e-7), 0.01), cfg.id_bits);
	}
}

/* The paper's text has 12 bits for all sizes that it goes on with. */
static void table3(FILE *out)
{
	fprintf(out, "S_DFrame,S_verification,Eff_bandwidth,paper_S_verification\n");
	for (uint32_t n = RIFL_FRAME_BITS_MIN; n <= RIFL_FRAME_BITS_MAX; n *= 2) {
		uint32_t s = verification_bits(n);
		double eff = 1 - (s + 4.0) / n;

		fprintf(out, "%u,%u,%.6f,%s\n", n, s, eff, eff >= 0.9 ? "12" : "");
	}
}

/* The actual bandwidth of equation 26 is that of user data: so the paper's value comes out. */
static void table5(FILE *out)
{
	fprintf(out, "BER,MTBF_years,mean_years,paper_years\n");
	for (int e = -12; e <= -5; e++) {
		double ber = pow(10, e), failed = ffr(PAPER_BITS, RIFL_VERIFICATION_BITS, ber);
		double rate = PAPER_LANES * PAPER_LANE_RATE * paper_ratio(ber) *
			      rifl_payload_bytes(PAPER_BITS) * 8 / PAPER_BITS;

		fprintf(out, "%.0e,%.3g,%.3g,%s\n", ber, years(rate / PAPER_BITS, failed, 0.01),
		       1 / failed / (rate / PAPER_BITS) / YEAR, e == -7 ? "1.88e+07" : "");
	}
}

int paper_table(FILE *out, uint64_t n)
{
	switch (n) {
	case 2: table2(out); break;
	case 3: table3(out); break;
	case 5: table5(out); break;
	default:
		fprintf(stderr, "falcon-rifl: there are tables 2, 3 and 5\n");
		return 2;
	}
	return EXIT_SUCCESS;
}
