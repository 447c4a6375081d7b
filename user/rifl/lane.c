// SPDX-License-Identifier: BSD-2-Clause
/* Opening and closing a lane, and the numbers that it needs. README.md derives them. */
#include "lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	STOP_FRAMES = 20,	/* beyond a round trip: rollback, the frame itself, clocks that differ */
	FC_FRAMES = 8,		/* beyond a round trip, above Thr_ON: clock compensation */
	RTT_FRAMES_MAX = 1 << RIFL_ID_BITS_MAX,
};

/* The fewest frame IDs with which a lane works. */
static uint32_t ids_needed(uint32_t rtt_frames)
{
	uint32_t stop = rtt_frames + STOP_FRAMES, end = 2 * rtt_frames + 4;

	return stop > end ? stop : end;
}

int rifl_cfg_derive(struct rifl_cfg *cfg, uint32_t frame_bits, uint32_t rtt_frames)
{
	if (!rifl_frame_bits_valid(frame_bits))
		return -EINVAL;
	if (rtt_frames > RTT_FRAMES_MAX)
		return -ERANGE;
	cfg->frame_bits = frame_bits;
	cfg->rtt_frames = rtt_frames;
	cfg->fc_frames = 3 * (rtt_frames + FC_FRAMES);
	cfg->id_bits = RIFL_ID_BITS_MIN;
	while (rifl_ids(cfg) < ids_needed(rtt_frames))
		cfg->id_bits++;
	return cfg->id_bits <= RIFL_ID_BITS_MAX ? 0 : -ERANGE;
}

int rifl_cfg_check(const struct rifl_cfg *cfg)
{
	struct rifl_cfg least;
	int rc = rifl_cfg_derive(&least, cfg->frame_bits, cfg->rtt_frames);

	if (rc)
		return rc;
	if (cfg->id_bits < least.id_bits || cfg->id_bits > RIFL_ID_BITS_MAX)
		return -ERANGE;
	if (cfg->fc_frames < least.fc_frames || cfg->fc_frames % 3)
		return -ERANGE;
	return 0;
}

int rifl_lane_open(struct rifl_lane *l, const struct rifl_cfg *cfg)
{
	int rc = rifl_cfg_check(cfg);

	if (rc)
		return rc;
	memset(l, 0, sizeof(*l));
	l->cfg = *cfg;
	l->retrans = calloc(rifl_ids(cfg), cfg->frame_bits / 8);
	l->fc = calloc(cfg->fc_frames, cfg->frame_bits / 8);
	if (!l->retrans || !l->fc) {
		rifl_lane_close(l);
		return -ENOMEM;
	}
	rifl_lane_reset(l);
	return 0;
}

void rifl_lane_reset(struct rifl_lane *l)
{
	l->tx = (struct rifl_tx){ .state = RIFL_STATE_INIT };
	/* In error, so that the link begins with what init has stored: README.md says why. */
	l->rx = (struct rifl_rx){ .threshold = RIFL_ROLLBACK, .error = true };
	l->fc_head = l->fc_count = 0;
}

void rifl_lane_close(struct rifl_lane *l)
{
	free(l->retrans);
	free(l->fc);
	l->retrans = l->fc = NULL;
}
