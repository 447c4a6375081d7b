/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection information of a device that shows it: what commands say of it, and, if the plugin makes it
 * itself, its making and checking. Reference tags are the blocks' LBAs, for type 3 0; application tags 0.
 */
#ifndef FALCON_NBDKIT_PROTECT_H
#define FALCON_NBDKIT_PROTECT_H

#include <stdbool.h>
#include <stdint.h>

#include "falcon/nvme_api.h"
#include "base/pi.h"

struct protect {
	uint8_t type;		/* 0: the device shows none */
	bool own;		/* made here; else by the agent */
	unsigned int shift;	/* log2 of a block, bytes */
};

/* Put PRINFO and tags into |sqe|, which has its opcode and its blocks. */
void protect_command(const struct protect *p, struct falcon_nvme_sqe *sqe);
/* Whether |sqe| needs metadata beside its data. */
bool protect_has_metadata(const struct protect *p, const struct falcon_nvme_sqe *sqe);
/* Make |md| for |len| bytes of data from block |lba| on. */
void protect_make(const struct protect *p, uint64_t lba, const uint8_t *data, uint64_t len,
		  struct nvme_pi *md);
/* Whether the data are what |md| says, which came with them. */
bool protect_check(const struct protect *p, uint64_t lba, const uint8_t *data, uint64_t len,
		   const struct nvme_pi *md);

#endif /* FALCON_NBDKIT_PROTECT_H */
