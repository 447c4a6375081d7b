// SPDX-License-Identifier: BSD-2-Clause
/* Two ends of a bonded link in virtual time. Each end has slots of its own clock. */
#include "link.h"

#include <errno.h>
#include <string.h>

/* What an end has to do within a slot for what has arrived: a round trip is so much longer. */
enum { SLOTS_AT_THE_ENDS = 2 };

static uint32_t rtt_frames(const struct link_cfg *cfg)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < cfg->lanes; i++)
		if (cfg->skew[i] > longest)
			longest = cfg->skew[i];
	return (uint32_t)((2 * (cfg->delay + longest) + LINE_SLOT - 1) / LINE_SLOT) + SLOTS_AT_THE_ENDS;
}

static int open_end(struct link *l, uint32_t at, const struct rifl_cfg *cfg)
{
	const struct link_cfg *c = &l->cfg;
	struct link_end *e = &l->end[at];
	int rc = rifl_bond_open(&e->bond, c->lanes, cfg);

	e->period = (uint64_t)(LINE_SLOT - (int64_t)c->ppm[at] * LINE_SLOT / 1000000);
	e->offers = e->reads = true;
	for (uint32_t i = 0; i < c->lanes && !rc; i++)
		if (!line_open(&e->line[i], c->frame_bits, c->delay + c->skew[i], c->seed, 2 * i + at))
			rc = -ENOMEM;
	return rc;
}

int link_open(struct link *l, const struct link_cfg *cfg)
{
	struct rifl_cfg lane;
	int rc = rifl_cfg_derive(&lane, cfg->frame_bits, rtt_frames(cfg));

	memset(l, 0, sizeof(*l));
	l->cfg = *cfg;
	for (uint32_t at = 0; at < 2 && !rc; at++)
		rc = open_end(l, at, &lane);
	if (rc)
		link_close(l);
	else
		link_set_faults(l, &cfg->faults);
	return rc;
}

void link_close(struct link *l)
{
	for (uint32_t at = 0; at < 2; at++) {
		rifl_bond_close(&l->end[at].bond);
		for (uint32_t i = 0; i < l->cfg.lanes; i++)
			line_close(&l->end[at].line[i]);
	}
}

void link_set_faults(struct link *l, const struct faults *faults)
{
	for (uint32_t at = 0; at < 2; at++)
		for (uint32_t i = 0; i < l->cfg.lanes; i++)
			line_set_faults(&l->end[at].line[i], faults);
}

void link_reset(struct link *l)
{
	l->epoch++;
	for (uint32_t at = 0; at < 2; at++) {
		struct link_end *e = &l->end[at];

		rifl_bond_reset(&e->bond);
		for (uint32_t i = 0; i < l->cfg.lanes; i++)
			line_clear(&e->line[i]);
		e->clock = (struct rifl_clock){ 0 };
		e->slots = e->received = 0;
		e->nwaiting = 0;
		e->made = e->sent = e->got = 0;
	}
}

/* The |n|-th segment of this epoch from the end |from|. One in four ends a packet, some of them full. */
static void make_segment(const struct link *l, uint32_t from, uint64_t n, struct rifl_segment *s)
{
	uint32_t full = rifl_payload_bytes(l->cfg.frame_bits);
	uint64_t words[(RIFL_PAYLOAD_MAX + 7) / 8], what;
	struct rng r;

	rng_seed(&r, l->cfg.seed ^ l->epoch << 1 ^ from, n);
	what = rng_next(&r);
	s->end = what % 4 == 0;
	s->len = s->end ? (uint32_t)(what >> 8) % (full + 1) : full;
	for (uint32_t i = 0; i < (s->len + 7) / 8; i++)
		words[i] = rng_next(&r);
	memcpy(s->data, words, s->len);
}

static void got_wrong(struct link *l, const char *what, uint64_t segment)
{
	if (l->violation)
		return;
	l->violation = what;
	l->violation_segment = segment;
}

static bool same(const struct rifl_segment *a, const struct rifl_segment *b)
{
	return a->len == b->len && a->end == b->end && !memcmp(a->data, b->data, a->len);
}

/* What was got in place of the segment |n| from the end |from|. */
static const char *name_violation(const struct link *l, uint32_t from, uint64_t n,
				  const struct rifl_segment *s)
{
	uint64_t made = l->end[from].made, back = n < 4096 ? n : 4096;
	struct rifl_segment other;

	for (uint64_t k = n - back; k < made; k++) {
		make_segment(l, from, k, &other);
		if (same(s, &other))
			return k < n ? "a segment came again" : "a segment was left out";
	}
	return "a segment was altered";
}

static void record_latency(struct link *l, uint32_t at, uint64_t n)
{
	struct link_end *e = &l->end[at];

	for (uint32_t i = 0; i < LINK_SINCE; i++) {
		uint64_t took = (e->now - l->end[!at].stamp[i][n % LINK_STAMPS]) / LINE_SLOT;

		e->latency[i][took < LINK_LATENCIES ? took : LINK_LATENCIES - 1]++;
	}
}

/* The user takes what has come, as fast as it can come. */
static void user_reads(struct link *l, uint32_t at)
{
	struct link_end *e = &l->end[at];
	struct rifl_segment s, want;

	for (uint32_t i = 0; i < l->cfg.lanes && rifl_bond_read(&e->bond, &s); i++) {
		if (e->got >= l->end[!at].sent) {
			got_wrong(l, "more came than was sent", e->got);
			return;
		}
		make_segment(l, !at, e->got, &want);
		if (!same(&s, &want)) {
			got_wrong(l, name_violation(l, !at, e->got, &s), e->got);
			return;
		}
		if (l->measures)
			record_latency(l, at, e->got);
		e->got++;
	}
}

static void end_receives(struct link *l, uint32_t at)
{
	struct link_end *e = &l->end[at];
	const struct rifl_cfg *c = &e->bond.lane[0].cfg;
	struct rifl_frame f;

	for (uint32_t i = 0; i < l->cfg.lanes; i++) {
		while (line_receive(&l->end[!at].line[i], e->now, &f)) {
			if (l->capture)
				capture_frame(l->capture, e->now, !at, i, c->id_bits, &f, c->frame_bits);
			rifl_lane_rx(&e->bond.lane[i], &f);
			e->received += i == 0;
		}
	}
}

static void end_sends(struct link *l, uint32_t at)
{
	struct link_end *e = &l->end[at];
	struct rifl_frame f[LINK_LANES_MAX];
	uint32_t pause = rifl_clock_compare(&e->clock, e->slots, e->received);
	uint32_t taken;

	for (uint32_t i = 0; i < l->cfg.lanes && pause; i++)
		rifl_lane_compensate(&e->bond.lane[i], pause);
	while (e->offers && e->nwaiting < l->cfg.lanes) {
		e->stamp[LINK_OFFERED][e->made % LINK_STAMPS] = e->now;
		make_segment(l, at, e->made++, &e->waiting[e->nwaiting++]);
	}
	taken = (uint32_t)rifl_bond_tx(&e->bond, e->waiting, e->nwaiting, f);
	e->nwaiting -= taken;
	for (uint32_t i = 0; i < taken; i++)
		e->stamp[LINK_TAKEN][e->sent++ % LINK_STAMPS] = e->now;
	memmove(e->waiting, e->waiting + taken, e->nwaiting * sizeof(e->waiting[0]));
	for (uint32_t i = 0; i < l->cfg.lanes; i++)
		line_send(&e->line[i], e->now, &f[i]);
}

static void check_buffers(struct link *l, uint32_t at)
{
	const struct rifl_bond *b = &l->end[at].bond;

	for (uint32_t i = 0; i < b->lanes; i++)
		if (b->lane[i].stats.fc_overflows)
			got_wrong(l, "the flow control buffer was full", l->end[at].got);
}

bool link_step(struct link *l)
{
	uint32_t at = l->end[1].now < l->end[0].now;
	struct link_end *e = &l->end[at];

	end_receives(l, at);
	if (e->reads)
		user_reads(l, at);
	end_sends(l, at);
	check_buffers(l, at);
	/* Both clocks are compared since the first frame came. */
	e->slots += e->received > 0;
	e->now += e->period;
	return !l->violation;
}

uint64_t link_frames(const struct link *l)
{
	uint64_t n = 0;

	for (uint32_t at = 0; at < 2; at++)
		for (uint32_t i = 0; i < l->cfg.lanes; i++)
			for (uint32_t k = 0; k < RIFL_STATES; k++)
				n += l->end[at].bond.lane[i].stats.sent[k];
	return n;
}
