/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layers of one agent, one for each thread that carries packets. An application, and all that it makes,
 * is one layer's; what peers and other applications know it by says which: numbers of queue pairs and rdma_cm
 * ids carry the layer's number in the group.
 */
#ifndef FALCON_ULP_RDMA_GROUP_H
#define FALCON_ULP_RDMA_GROUP_H

#include <stdint.h>

struct rdma;

enum rdma_group_const {
	RDMA_GROUP_BITS = 3,
	RDMA_GROUP_MAX = 1 << RDMA_GROUP_BITS,
	/* A queue pair's number: 16 bits of index, then its layer's number; the other 5 are its variant. */
	RDMA_QPN_INDEX_BITS = 16,
	/* An id's: 16 bits of place, 13 of generation, its layer's number. */
	RDMA_CM_ID_BITS = 32 - RDMA_GROUP_BITS,
};

/*
 * Filled by rdma_create(), layer after layer: if that fails, the group is of no use any more. |all| is read
 * by others while none of the threads runs.
 */
struct rdma_group {
	struct rdma *all[RDMA_GROUP_MAX];
	uint32_t n;
};

/* Which layer of its agent a queue pair with this number is of. */
static inline uint32_t rdma_qpn_member(uint32_t qpn)
{
	return qpn >> RDMA_QPN_INDEX_BITS & (RDMA_GROUP_MAX - 1);
}

#endif /* FALCON_ULP_RDMA_GROUP_H */
