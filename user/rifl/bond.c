// SPDX-License-Identifier: BSD-2-Clause
/* Channel bonding: lanes in turn. */
#include "bond.h"

#include <errno.h>
#include <stddef.h>

int rifl_bond_open(struct rifl_bond *b, uint32_t lanes, const struct rifl_cfg *cfg)
{
	if (lanes < 1 || lanes > RIFL_LANES_MAX)
		return -EINVAL;
	b->tx_next = b->rx_next = 0;
	for (b->lanes = 0; b->lanes < lanes; b->lanes++) {
		int rc = rifl_lane_open(&b->lane[b->lanes], cfg);

		if (rc) {
			rifl_bond_close(b);
			return rc;
		}
	}
	return 0;
}

void rifl_bond_reset(struct rifl_bond *b)
{
	b->tx_next = b->rx_next = 0;
	for (uint32_t i = 0; i < b->lanes; i++)
		rifl_lane_reset(&b->lane[i]);
}

void rifl_bond_close(struct rifl_bond *b)
{
	for (uint32_t i = 0; i < b->lanes; i++)
		rifl_lane_close(&b->lane[i]);
}

int rifl_bond_tx(struct rifl_bond *b, const struct rifl_segment *s, uint32_t n, struct rifl_frame *f)
{
	uint32_t first = b->tx_next, taken = 0;
	bool open = true;
	int rc = 0;

	for (uint32_t k = 0; k < b->lanes; k++) {
		uint32_t i = (first + k) % b->lanes;
		int one = rifl_lane_tx(&b->lane[i], open && taken < n ? &s[taken] : NULL, &f[i]);

		/* The others wait for a lane that does not take what is its turn. */
		open = open && one == 1;
		taken += one == 1;
		rc = one < 0 ? one : rc;
	}
	b->tx_next = (first + taken) % b->lanes;
	return rc ? rc : (int)taken;
}

bool rifl_bond_read(struct rifl_bond *b, struct rifl_segment *s)
{
	if (!rifl_lane_read(&b->lane[b->rx_next], s))
		return false;
	b->rx_next = (b->rx_next + 1) % b->lanes;
	return true;
}
