/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection information of NVMe, type 1: what a block carries so that its damage is found. */
#ifndef FALCON_NVME_PI_H
#define FALCON_NVME_PI_H

#include <stdint.h>

#include "falcon/types.h"

/* PRINFO: PRACT, and PRCHK's three bits. */
enum nvme_prinfo {
	NVME_PRINFO_REFTAG = 1,
	NVME_PRINFO_APPTAG = 2,
	NVME_PRINFO_GUARD = 4,
	NVME_PRINFO_ACT = 8,	/* inserted by the target, and taken off by it */
};

/*
 * Of one block, big-endian as NVMe has it. All 0: the block was not written since it was made or
 * deallocated, and is zeros.
 */
struct nvme_pi {
	__be16 guard;		/* CRC-16 of T10-DIF over the block's data */
	__be16 apptag;		/* 0xffff: the block is not checked */
	__be32 reftag;		/* the low bits of the block's LBA */
};
_Static_assert(sizeof(struct nvme_pi) == 8, "NVMe 6.7: 8 bytes");

/* Blocks of a command, and what it says of them. */
struct nvme_pi_range {
	const uint8_t *data;
	uint32_t blocks;
	uint8_t shift;		/* log2 of a block's bytes */
	uint8_t prinfo;		/* enum nvme_prinfo */
	uint32_t reftag;	/* the first block's; each next one's is one more */
	uint16_t apptag;
	uint16_t apptag_mask;	/* bits of |apptag| that are compared */
};

/* Fill |pi|, one for each block of |r|. */
void nvme_pi_insert(const struct nvme_pi_range *r, struct nvme_pi *pi);
/* 0, or the CQE status of the first thing that |pi| and |r| do not agree in. */
uint16_t nvme_pi_verify(const struct nvme_pi_range *r, const struct nvme_pi *pi);

#endif /* FALCON_NVME_PI_H */
