// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rifl --soak: one link after the other, each with its own size, lanes, clocks, faults and users. */
#include "soak.h"
#include "link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the users and the link behave besides the faults of the lines. */
struct schedule {
	struct link_cfg link;
	uint64_t steps;			/* slots of both ends together, before the faults end */
	uint32_t reset_ppm;		/* steps in a million with a reset */
	uint32_t turn_ppm[2];		/* steps in a million in which each user begins or ceases to read */
	uint32_t offer_ppm;		/* and to send */
};

/* Uniform in its logarithm, in [1, most]. */
static uint64_t log_uniform(struct rng *r, uint64_t most)
{
	uint64_t n = most >> rng_below(r, 64 - (uint64_t)__builtin_clzll(most));

	return rng_range(r, n / 2 + 1, n > 1 ? n : 1);
}

static bool one_in(struct rng *r, uint64_t n)
{
	return rng_below(r, n) == 0;
}

static void random_faults(struct rng *r, uint32_t bits, struct faults *f)
{
	static const uint64_t decades[] = { 1, 10, 100, 1000, 10000 };

	memset(f, 0, sizeof(*f));
	f->noise_frames = 1;
	if (!one_in(r, 5))
		f->ber = line_greatest_ber(bits) / decades[rng_below(r, 5)];
	if (one_in(r, 3))
		f->burst_ppm = (uint32_t)log_uniform(r, 5000);
	if (one_in(r, 3)) {
		f->noise_ppm = (uint32_t)log_uniform(r, 500);
		f->noise_frames = (uint32_t)log_uniform(r, 300);
	}
}

static void random_schedule(struct schedule *s, uint64_t seed, uint64_t n)
{
	struct link_cfg *c = &s->link;
	struct rng r;

	memset(s, 0, sizeof(*s));
	rng_seed(&r, seed, n);
	c->seed = rng_next(&r);
	c->frame_bits = RIFL_FRAME_BITS_MIN << rng_below(&r, 5);
	c->lanes = one_in(&r, 2) ? 1 : (uint32_t)rng_range(&r, 2, 4);
	c->delay = log_uniform(&r, 128) * LINE_SLOT + rng_below(&r, LINE_SLOT);
	for (uint32_t i = 1; i < c->lanes; i++)
		c->skew[i] = one_in(&r, 2) ? 0 : rng_below(&r, 8ULL * LINE_SLOT);
	for (uint32_t i = 0; i < 2; i++) {
		c->ppm[i] = one_in(&r, 2) ? 0 : (int32_t)rng_below(&r, 401) - 200;
		s->turn_ppm[i] = one_in(&r, 2) ? 0 : (uint32_t)log_uniform(&r, 20000);
	}
	random_faults(&r, c->frame_bits, &c->faults);
	s->steps = 2 * log_uniform(&r, 20000);
	s->reset_ppm = one_in(&r, 4) ? (uint32_t)log_uniform(&r, 1000) : 0;
	s->offer_ppm = one_in(&r, 3) ? (uint32_t)log_uniform(&r, 20000) : 0;
}

/* Both ends have got |more| segments than before, or all that was sent if it is 0. */
static bool arrived(const struct link *l, const uint64_t before[2], uint64_t more)
{
	for (uint32_t at = 0; at < 2; at++) {
		const struct link_end *e = &l->end[at];

		if (more ? e->got < before[at] + more : e->got < l->end[!at].sent)
			return false;
	}
	return true;
}

/* Until that is so; within a time in which every error is repaired several times over. */
static void run_until_arrived(struct link *l, uint64_t more)
{
	const struct rifl_cfg *c = &l->end[0].bond.lane[0].cfg;
	uint64_t limit = 2 * (1000 + 20ULL * rifl_ids(c) + 4 * c->rtt_frames + 2 * more);
	uint64_t before[2] = { l->end[0].got, l->end[1].got };

	while (!l->violation && !arrived(l, before, more)) {
		if (limit-- == 0) {
			l->violation = "no progress";
			return;
		}
		link_step(l);
	}
}

/* The faults end: what is missing is repaired, more goes through, and all of it arrives. */
static void settle(struct link *l)
{
	static const struct faults none = { .noise_frames = 1 };

	link_set_faults(l, &none);
	for (uint32_t at = 0; at < 2; at++)
		l->end[at].offers = l->end[at].reads = true;
	run_until_arrived(l, 100);
	for (uint32_t at = 0; at < 2; at++) {
		l->end[at].offers = false;
		l->end[at].nwaiting = 0;
	}
	run_until_arrived(l, 0);
}

static void run_schedule(struct link *l, const struct schedule *s)
{
	struct rng r;

	rng_seed(&r, s->link.seed, 1000);
	for (uint64_t n = 0; n < s->steps && link_step(l); n++) {
		struct link_end *e = &l->end[n % 2];

		if (rng_chance(&r, s->turn_ppm[n % 2]))
			e->reads = !e->reads;
		if (rng_chance(&r, s->offer_ppm))
			e->offers = !e->offers;
		if (rng_chance(&r, s->reset_ppm))
			link_reset(l);
	}
	if (!l->violation)
		settle(l);
}

static void print_violation(const struct schedule *s, const struct link *l, uint64_t n)
{
	const struct link_cfg *c = &s->link;

	printf("violation: schedule %" PRIu64 ", epoch %" PRIu64 ", segment %" PRIu64 ": %s (%" PRIu32
	       " bits, %" PRIu32 " lanes, delay %.1f, ber %.1e, bursts %" PRIu32 ", noise %" PRIu32
	       " x %" PRIu32 " ppm)\n", n, l->epoch, l->violation_segment, l->violation, c->frame_bits,
	       c->lanes, (double)c->delay / LINE_SLOT, (double)c->faults.ber / (double)LINE_BER_ONE,
	       c->faults.burst_ppm, c->faults.noise_ppm, c->faults.noise_frames);
}

int soak(const struct soak_options *o)
{
	static struct schedule s;
	static struct link l;
	struct capture capture;
	uint64_t frames = 0, violations = 0;

	if (o->pcap && !capture_open(&capture, o->pcap))
		return 2;
	for (uint64_t n = o->first; frames < o->frames; n++) {
		int rc;

		random_schedule(&s, o->seed, n);
		if (o->ber != UINT64_MAX)
			s.link.faults.ber = o->ber;
		rc = link_open(&l, &s.link);
		if (rc) {
			fprintf(stderr, "falcon-rifl: schedule %" PRIu64 ": %s\n", n, strerror(-rc));
			return 2;
		}
		l.capture = o->pcap && n == o->first ? &capture : NULL;
		run_schedule(&l, &s);
		frames += link_frames(&l);
		if (l.violation) {
			violations++;
			print_violation(&s, &l, n);
		}
		link_close(&l);
	}
	if (o->pcap && !capture_close(&capture))
		return 2;
	printf("%" PRIu64 " frames, %" PRIu64 " violations\n", frames, violations);
	return violations ? EXIT_FAILURE : EXIT_SUCCESS;
}
