/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections as the tests set them up. */
#ifndef FALCON_SELFTESTS_CONN_H
#define FALCON_SELFTESTS_CONN_H

#include <stdint.h>

#include "falcon/abi/maps.h"

enum conn_const {
	CONN_SPI = 0x1234,	/* plus the CID: ours */
	CONN_PEER_SPI = 0x5678,	/* plus the CID: the peer's */
	CONN_FUNCTION = 0x77,	/* of packets to CIDs 2 and 3; the others take any */
	CONN_SPI_GEN = 7,
	CONN_SHARD_STEP = 3,	/* connections' shards: 1 and so many more with each CID, none of them 0 */
};

/*
 * Set |c| up as connection |cid|, alive and clear, over IPv6 if |cid| is odd, with addresses of its
 * own. All windows start at |psn|, and 16 packets of each transmit window are out.
 */
void conn_fresh(struct falcon_conn *c, uint32_t cid, uint32_t psn);

/* Let all windows of |c| start at |psn|, as after conn_fresh(). */
void conn_windows(struct falcon_conn *c, uint32_t psn);

#endif /* FALCON_SELFTESTS_CONN_H */
