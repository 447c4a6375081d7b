// SPDX-License-Identifier: BSD-2-Clause
/* The flow control buffer: a ring of frames, and its two thresholds. */
#include "flow.h"

#include <string.h>

enum rifl_kind rifl_fc_due(const struct rifl_lane *l)
{
	if (!l->tx.fc_sent && l->fc_count > rifl_thr_on(&l->cfg))
		return RIFL_FC_PAUSE;
	if (l->tx.fc_sent && l->fc_count < rifl_thr_off(&l->cfg))
		return RIFL_FC_RESUME;
	return RIFL_INVALID;
}

static uint64_t *place(struct rifl_lane *l, uint32_t n)
{
	return l->fc + (uint64_t)n * rifl_words(l->cfg.frame_bits);
}

bool rifl_fc_put(struct rifl_lane *l, const struct rifl_frame *f)
{
	if (l->fc_count == l->cfg.fc_frames)
		return false;
	memcpy(place(l, (l->fc_head + l->fc_count) % l->cfg.fc_frames), f->word, l->cfg.frame_bits / 8);
	l->fc_count++;
	if (l->fc_count > l->stats.fc_peak)
		l->stats.fc_peak = l->fc_count;
	return true;
}

bool rifl_lane_read(struct rifl_lane *l, struct rifl_segment *s)
{
	struct rifl_frame f;

	if (l->fc_count == 0)
		return false;
	memcpy(f.word, place(l, l->fc_head), l->cfg.frame_bits / 8);
	rifl_get_segment(&f, l->cfg.frame_bits, s);
	l->fc_head = (l->fc_head + 1) % l->cfg.fc_frames;
	l->fc_count--;
	return true;
}
