/* SPDX-License-Identifier: BSD-2-Clause */
/* Offload memory, and the regions in it, for tests of requests that XDP carries out. */
#ifndef FALCON_SELFTESTS_OFFLOAD_H
#define FALCON_SELFTESTS_OFFLOAD_H

#include <stdint.h>

#include "falcon/abi/maps.h"
#include "falcon/wire/rdma.h"

struct env;
struct falcon_conn;
struct verdict_packet;

/* Memory |index|, of |blocks| blocks, mapped; NULL with errno set. */
uint8_t *offload_memory(const struct env *e, uint32_t index, uint32_t blocks);
/* Region |r| has |key| from now on. 0, or -1 with errno set. */
int offload_region(const struct env *e, uint32_t key, const struct falcon_region *r);

/* A region that a test knows by its key. */
struct offload_known {
	uint32_t key;
	struct falcon_region r;
};

/* That of the |n| |regions| which has |key|; NULL: none has. */
const struct offload_known *offload_find(const struct offload_known *regions, uint32_t n, uint32_t key);

/* Put the headers |h| in front of the payload of |p|. */
void offload_headers(const struct falcon_rdma_hdr *h, struct verdict_packet *p);

#endif /* FALCON_SELFTESTS_OFFLOAD_H */
