/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channel bonding (section 4.F): user data is dealt out to the lanes, one segment each in turn, and
 * collected in the same order. Lanes know nothing of each other; their flow control buffers take up the
 * skew.
 */
#ifndef FALCON_RIFL_BOND_H
#define FALCON_RIFL_BOND_H

#include "lane.h"

enum { RIFL_LANES_MAX = 16 };

struct rifl_bond {
	uint32_t lanes;			/* 1 to RIFL_LANES_MAX */
	uint32_t tx_next, rx_next;	/* the lane that the next segment goes to, or comes from */
	struct rifl_lane lane[RIFL_LANES_MAX];
};

/* Open |lanes| lanes. Returns 0, -EINVAL for a number out of range, or what rifl_lane_open() returns. */
int rifl_bond_open(struct rifl_bond *b, uint32_t lanes, const struct rifl_cfg *cfg);
void rifl_bond_reset(struct rifl_bond *b);
void rifl_bond_close(struct rifl_bond *b);

/*
 * The frames of the next slot into |f|, one of each lane. |s| is the user data that waits, oldest first, |n|
 * segments. Returns how many were taken, as many as there are lanes at most, or -EINVAL if the one whose turn
 * it was is no segment; frames are made in any case.
 */
int rifl_bond_tx(struct rifl_bond *b, const struct rifl_segment *s, uint32_t n, struct rifl_frame *f);

/* Take the next user data in order into |s|. Returns false if it is not there yet. */
bool rifl_bond_read(struct rifl_bond *b, struct rifl_segment *s);

#endif /* FALCON_RIFL_BOND_H */
