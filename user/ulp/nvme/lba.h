/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From an LBA of a virtual namespace to an LBA of a target's: the NSID table, the LBA translation
 * table, and where a command must be split (NVMe 6.6). Pure arithmetic.
 */
#ifndef FALCON_NVME_LBA_H
#define FALCON_NVME_LBA_H

#include <stdbool.h>
#include <stdint.h>

enum nvme_lba_const {
	NVME_CHUNK_UNIT_SHIFT = 30,	/* chunks are 2^C * 1 GiB (NVMe 6.6.2) */
	NVME_STRIPE_UNIT_SHIFT = 18,	/* stripes are 2^S * 256 KiB */
};

/* A row of the NSID table: a virtual namespace. */
struct nvme_nsid_row {
	uint32_t start;		/* first of its rows in the translation table */
	uint8_t chunk_shift;	/* C */
	uint8_t stripe_shift;	/* S */
	uint8_t group_shift;	/* N: 2^N chunks are striped together; 0: no striping */
	uint8_t block_shift;	/* log2 of the logical block, bytes: 9 or 12 */
	uint64_t blocks;	/* capacity */
};

/* A row of the LBA translation table: a chunk. */
struct nvme_map_row {
	bool valid;
	uint8_t sqid;		/* target's submission queue */
	uint16_t conn;		/* index into the connection table */
	uint32_t chunk;		/* target's chunk number */
};

/* Where a run of blocks is at its target. */
struct nvme_place {
	const struct nvme_map_row *row;
	uint64_t lba;		/* the target's */
};

/* Whether the shifts go together: a stripe is no larger than a chunk, and no sum exceeds 63 bits. */
bool nvme_nsid_row_valid(const struct nvme_nsid_row *ns);

/* Rows that |ns| needs in the translation table for its capacity. */
uint64_t nvme_lba_rows(const struct nvme_nsid_row *ns);

/* Index into the translation table for |lba|: ComputeLBATableIndex() of NVMe 6.6.2. */
uint64_t nvme_lba_index(const struct nvme_nsid_row *ns, uint64_t lba);

/*
 * Blocks from |lba| to the end of its stripe, at least 1: a command may not reach further without
 * being split (NVMe 6.6.3).
 */
uint64_t nvme_lba_run(const struct nvme_nsid_row *ns, uint64_t lba);

/*
 * ComputeTargetLBA() of NVMe 6.6.2 with a table of |nrows| rows. False if the row that |lba| needs
 * is not there or not valid.
 */
bool nvme_lba_translate(const struct nvme_nsid_row *ns, const struct nvme_map_row *rows,
			uint64_t nrows, uint64_t lba, struct nvme_place *out);

#endif /* FALCON_NVME_LBA_H */
