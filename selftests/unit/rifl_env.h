/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ends of a lane and the wires between them, slot by slot, for the tests of RIFL. */
#ifndef FALCON_SELFTESTS_RIFL_ENV_H
#define FALCON_SELFTESTS_RIFL_ENV_H

#include "unit.h"
#include "rifl/crc.h"
#include "rifl/lane.h"

#include <string.h>

enum {
	ENV_BITS = 128,		/* size of the frames */
	ENV_DELAY = 5,		/* slots one way, unless a test says otherwise */
	ENV_DELAY_MAX = 24,
	ENV_HITS = 64,		/* frames that are changed on their way */
};

/* A frame that is changed on its way: those bits of its words are turned over. */
struct env_hit {
	uint64_t slot;		/* in which it is sent */
	uint32_t from;		/* end that sends it */
	uint64_t turn[2];
};

struct env {
	struct rifl_lane end[2];
	uint32_t delay;			/* slots one way */
	struct rifl_frame wire[2][ENV_DELAY_MAX];	/* from each end; frame of slot n at n % delay */
	uint64_t slot;
	struct env_hit hit[ENV_HITS];
	uint32_t hits;
	uint64_t sent[2], got[2];	/* segments taken from, and read in order at each end */
	uint64_t limit;			/* segments that each end has to send */
	bool reader_stops[2];		/* nothing is read at this end */
};

static inline void env_open_far(struct env *e, uint32_t delay)
{
	struct rifl_cfg cfg;

	memset(e, 0, sizeof(*e));
	e->limit = UINT64_MAX;
	e->delay = delay;
	assert_int_equal(rifl_cfg_derive(&cfg, ENV_BITS, 2 * delay), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rifl_lane_open(&e->end[i], &cfg), 0);
}

static inline void env_open(struct env *e)
{
	env_open_far(e, ENV_DELAY);
}

static inline void env_close(struct env *e)
{
	rifl_lane_close(&e->end[0]);
	rifl_lane_close(&e->end[1]);
}

/* Turn over the bit |bit| of what end |from| sends in slot |slot|. */
static inline void env_hit_bit(struct env *e, uint64_t slot, uint32_t from, uint32_t bit)
{
	struct env_hit *h = &e->hit[e->hits++];

	assert_true(e->hits <= ENV_HITS);
	*h = (struct env_hit){ .slot = slot, .from = from };
	h->turn[bit / 64] = 1ULL << (63 - bit % 64);
}

/* The |n|-th segment from |from|. */
static inline void env_segment(struct rifl_segment *s, uint32_t from, uint64_t n)
{
	uint64_t v[2] = { n * 2 + from, ~n };

	s->len = n % 3 == 2 ? 9 : 14;
	s->end = n % 3 == 2 || n % 7 == 0;
	memcpy(s->data, v, s->len);
}

static inline void env_read(struct env *e, uint32_t at)
{
	struct rifl_segment s, want;

	while (!e->reader_stops[at] && rifl_lane_read(&e->end[at], &s)) {
		env_segment(&want, !at, e->got[at]++);
		assert_int_equal(s.len, want.len);
		assert_int_equal(s.end, want.end);
		assert_memory_equal(s.data, want.data, s.len);
	}
}

/* One slot: what was sent a delay before arrives, then both ends send. */
static inline void env_slot(struct env *e)
{
	uint32_t place = e->slot % e->delay;
	struct rifl_segment s;

	for (uint32_t i = 0; i < 2; i++) {
		if (e->slot >= e->delay)
			rifl_lane_rx(&e->end[i], &e->wire[!i][place]);
		env_read(e, i);
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct rifl_frame *f = &e->wire[i][place];

		env_segment(&s, i, e->sent[i]);
		e->sent[i] += (uint64_t)rifl_lane_tx(&e->end[i], e->sent[i] < e->limit ? &s : NULL, f);
		for (uint32_t k = 0; k < e->hits; k++) {
			if (e->hit[k].slot == e->slot && e->hit[k].from == i) {
				f->word[0] ^= e->hit[k].turn[0];
				f->word[1] ^= e->hit[k].turn[1];
			}
		}
	}
	e->slot++;
}

static inline void env_run(struct env *e, uint64_t slots)
{
	while (slots--)
		env_slot(e);
}

/* Both ends are in normal and carry user data. */
static inline void env_up(struct env *e)
{
	for (int i = 0; i < 1000 && !(e->got[0] > 20 && e->got[1] > 20); i++)
		env_slot(e);
	assert_true(e->got[0] > 20 && e->got[1] > 20);
}

#endif /* FALCON_SELFTESTS_RIFL_ENV_H */
