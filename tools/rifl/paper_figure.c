// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rifl --figure: bandwidth efficiency by payload, bandwidth and latency by BER. */
#include "link.h"
#include "paper.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIGURE8_MAX = 1500,		/* bytes */
	FIGURE8_FLIT_FRAMES = 2,	/* of a flit of the user interface (section 5.A) */
	STEPS_A_DECADE = 4,
	WARM_UP = 1000,			/* slots of each end before anything is measured */
};

/* ---- figure 8 ---- */

/* Bits of user data in a bit on the line, if packets of |bytes| bytes fill whole units of |unit| frames. */
static double efficiency(uint32_t bytes, uint32_t frame_bits, uint32_t unit)
{
	uint32_t room = unit * rifl_payload_bytes(frame_bits);
	uint32_t units = bytes / room + (bytes % room != 0);

	return bytes * 8.0 / (units * unit * frame_bits);
}

static void figure8(FILE *out)
{
	static const uint32_t sizes[] = { 256, 512 };

	fprintf(out, "payload_bytes,RIFL256_flits,RIFL256_frames,RIFL512_flits,RIFL512_frames\n");
	for (uint32_t bytes = 1; bytes <= FIGURE8_MAX; bytes++) {
		fprintf(out, "%u", bytes);
		for (int i = 0; i < 2; i++)
			fprintf(out, ",%.4f,%.4f", efficiency(bytes, sizes[i], FIGURE8_FLIT_FRAMES),
			       efficiency(bytes, sizes[i], 1));
		fprintf(out, "\n");
	}
}

/* ---- figure 9 ---- */

/* The model of the link of section 6.C. */
static void paper_link(struct link_cfg *c, double ber, uint64_t seed)
{
	memset(c, 0, sizeof(*c));
	c->frame_bits = PAPER_BITS;
	c->lanes = PAPER_LANES;
	c->delay = (uint64_t)(PAPER_DELAY_NS / PAPER_SLOT_NS * LINE_SLOT);
	c->faults.ber = (uint64_t)(ber * (double)LINE_BER_ONE + 0.5);
	c->faults.noise_frames = 1;
	c->seed = seed;
}

static struct rifl_cfg paper_lane(void)
{
	uint32_t rtt = (uint32_t)ceil(2 * PAPER_DELAY_NS / PAPER_SLOT_NS) + 2;
	struct rifl_cfg cfg = { 0 };

	rifl_cfg_derive(&cfg, PAPER_BITS, rtt);
	return cfg;
}

double paper_ratio(double ber)
{
	struct rifl_cfg cfg = paper_lane();
	double stall = cfg.rtt_frames + RIFL_REQUESTS + 2.5 * rifl_ids(&cfg);
	double error = paper_fer(ber, PAPER_BITS) * PAPER_LANES * 2;

	/* Errors during a stall do not begin another: so not 1 - error * stall, which is below 0 at last. */
	return 1 / (1 + error * stall);
}

struct latency {
	double mean, p99, p999;	/* ns */
};

struct measured {
	double ratio;		/* of the slots of all lanes, those with user data */
	struct latency latency[LINK_SINCE];
};

/* Segments whose latency since |since| was |n| slots. */
static uint64_t segments(const struct link *l, uint32_t since, uint64_t n)
{
	return l->end[0].latency[since][n] + l->end[1].latency[since][n];
}

/* The latency, in ns, of which the part |part| of all is no longer. */
static double quantile(const struct link *l, uint32_t since, uint64_t total, double part)
{
	uint64_t sum = 0, slots = 0;

	for (; slots < LINK_LATENCIES - 1; slots++) {
		sum += segments(l, since, slots);
		if ((double)sum >= part * (double)total)
			break;
	}
	return (double)slots * PAPER_SLOT_NS;
}

static void evaluate_latency(const struct link *l, uint32_t since, struct latency *m)
{
	uint64_t total = 0, sum = 0;

	for (uint64_t n = 0; n < LINK_LATENCIES; n++) {
		total += segments(l, since, n);
		sum += segments(l, since, n) * n;
	}
	m->mean = total ? (double)sum / (double)total * PAPER_SLOT_NS : 0;
	m->p99 = quantile(l, since, total, 0.99);
	m->p999 = quantile(l, since, total, 0.999);
}

static void evaluate(const struct link *l, uint64_t slots, uint64_t before, struct measured *m)
{
	m->ratio = (double)(l->end[0].got + l->end[1].got - before) / ((double)slots * 2 * PAPER_LANES);
	for (uint32_t i = 0; i < LINK_SINCE; i++)
		evaluate_latency(l, i, &m->latency[i]);
}

/* Returns 0, or an exit status. */
static int run_model(double ber, uint64_t slots, uint64_t seed, struct measured *m)
{
	static struct link l;
	struct link_cfg c;
	uint64_t before;
	int rc;

	paper_link(&c, ber, seed);
	rc = link_open(&l, &c);
	if (rc) {
		fprintf(stderr, "falcon-rifl: %s\n", strerror(-rc));
		return 2;
	}
	for (uint64_t n = 0; n < 2 * WARM_UP; n++)
		link_step(&l);
	l.measures = true;
	before = l.end[0].got + l.end[1].got;
	for (uint64_t n = 0; n < 2 * slots && link_step(&l); n++)
		;
	evaluate(&l, slots, before, m);
	if (l.violation)
		fprintf(stderr, "falcon-rifl: at a BER of %.2e: %s\n", ber, l.violation);
	rc = l.violation ? EXIT_FAILURE : 0;
	link_close(&l);
	return rc;
}

/* What the paper's text says of the ratio and of the latency. */
static const char *paper_says(int step)
{
	/* 10^-9.25 is 5.6e-10, 10^-7 is where it gives numbers. */
	if (step < -37)
		return "1,107";
	if (step == -28)
		return "0.963,107";
	return step < -28 ? ",107" : ",";
}

static int figure9(FILE *out, uint64_t slots, uint64_t seed)
{
	int rc = 0;

	fprintf(out, "BER,ratio_formula,ratio_model,latency_mean_ns,latency_p99_ns,latency_p999_ns,"
		     "taken_mean_ns,taken_p99_ns,taken_p999_ns,paper_ratio,paper_latency_at_most_ns\n");
	for (int step = -12 * STEPS_A_DECADE; step <= -5 * STEPS_A_DECADE && !rc; step++) {
		double ber = pow(10, (double)step / STEPS_A_DECADE);
		struct measured m = { 0 };

		rc = run_model(ber, slots, seed, &m);
		fprintf(out, "%.2e,%.5f,%.5f", ber, paper_ratio(ber), m.ratio);
		for (uint32_t i = 0; i < LINK_SINCE; i++) {
			const struct latency *l = &m.latency[i];

			fprintf(out, ",%.1f,%.1f,%.1f", l->mean, l->p99, l->p999);
		}
		fprintf(out, ",%s\n", paper_says(step));
	}
	return rc;
}

int paper_figure(FILE *out, uint64_t n, uint64_t slots, uint64_t seed)
{
	switch (n) {
	case 8: figure8(out); return EXIT_SUCCESS;
	case 9: return figure9(out, slots, seed);
	default:
		fprintf(stderr, "falcon-rifl: there are figures 8 and 9\n");
		return 2;
	}
}
