// SPDX-License-Identifier: BSD-2-Clause
#include "verbs/idle.h"

#include "base/spin.h"

enum {
	IDLE_YIELD = 8,		/* empty polls in a row before each gives the CPU away */
	IDLE_WINDOW = 64,	/* polls whose absences count */
	LINGER_MIN_NS = 4000,
	LINGER_MAX_NS = 32000,
	CLOCK_READS = 8,	/* as many are nothing; also how often the clock is read to find out */
	NOTHING_MIN_NS = 100,
};

uint32_t fv_idle_nothing(void)
{
	static uint32_t known;
	uint32_t nothing = __atomic_load_n(&known, __ATOMIC_RELAXED);
	uint64_t least = UINT64_MAX;

	if (nothing)
		return nothing;
	for (int i = 0; i < CLOCK_READS; i++) {
		uint64_t before = spin_clock(), took = spin_clock() - before;

		if (took < least)
			least = took;
	}
	nothing = (uint32_t)(least * CLOCK_READS);
	if (nothing < NOTHING_MIN_NS)
		nothing = NOTHING_MIN_NS;
	__atomic_store_n(&known, nothing, __ATOMIC_RELAXED);
	return nothing;
}

enum fv_idle_act fv_idle_enter(struct fv_idle *s, uint64_t now, uint32_t nothing, uint32_t linger)
{
	if (!s->polls) {
		s->since = now;
		s->between = 0;
	} else {
		s->between += now - s->left;
	}
	if (++s->polls == IDLE_WINDOW) {
		s->polls /= 2;
		s->between /= 2;
	}
	if (s->polls < IDLE_YIELD)
		return FV_IDLE_GO;
	if (s->between > (uint64_t)s->polls * nothing)
		return FV_IDLE_YIELD;
	return now - s->since < (linger ? linger : s->linger) ? FV_IDLE_YIELD : FV_IDLE_NAP;
}

void fv_idle_leave(struct fv_idle *s, uint64_t now, bool learn)
{
	s->left = now;
	if (!learn)
		return;
	/* A nap that lingering a little longer would have saved, or one that it would not have. */
	if (now - s->since > LINGER_MAX_NS)
		s->linger = s->linger > LINGER_MIN_NS ? s->linger / 2 : 0;
	else if (s->linger < LINGER_MIN_NS)
		s->linger = LINGER_MIN_NS;
	else if (s->linger < LINGER_MAX_NS)
		s->linger *= 2;
}
