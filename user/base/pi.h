/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection information of NVMe: what a block carries so that its damage is found, and how it travels
 * with the data (NVMe 6.7, 8.4, 8.7). Pure arithmetic.
 */
#ifndef FALCON_BASE_PI_H
#define FALCON_BASE_PI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "falcon/types.h"

/* PRINFO: PRACT, and PRCHK's three bits. */
enum nvme_prinfo {
	NVME_PRINFO_REFTAG = 1,
	NVME_PRINFO_APPTAG = 2,
	NVME_PRINFO_GUARD = 4,
	NVME_PRINFO_CHECK = 7,
	NVME_PRINFO_ACT = 8,
};

/* Of one block, big-endian as NVMe has it. */
struct nvme_pi {
	__be16 guard;		/* CRC-16 of T10-DIF over what is protected */
	__be16 apptag;		/* 0xffff: the block is not checked (type 3: if |reftag| is all ones) */
	__be32 reftag;		/* types 1 and 2: one more than the block's before */
};
_Static_assert(sizeof(struct nvme_pi) == 8, "NVMe 6.7: 8 bytes");

/*
 * A block's metadata on the wire and at the target. All ones: the block was not written since it was made
 * or deallocated, and is zeros.
 */
struct nvme_md {
	struct nvme_pi inner;	/* the host's, over the data; encrypted if they are */
	struct nvme_pi outer;	/* over the data and |inner| as they travel */
};
_Static_assert(sizeof(struct nvme_md) == 16, "NVMe 6.7: 16 bytes");

/* What a command says of its blocks' protection information. */
struct nvme_pi_tags {
	uint8_t type;		/* 1, 2 or 3 */
	uint8_t prinfo;		/* enum nvme_prinfo */
	uint32_t reftag;	/* the first block's; types 1 and 2: each next one's is one more */
	uint16_t apptag;
	uint16_t apptag_mask;	/* bits of |apptag| that are compared */
	/*
	 * Outer: the application tag, too, is one more with each block. A block whose tag is 0xffff by
	 * that is checked like the others.
	 */
	bool apptag_counts;
};

/* The CRC of |len| bytes that follow what |crc| is of; 0 at the beginning. */
uint16_t nvme_pi_crc(uint16_t crc, const void *data, size_t len);
/*
 * |crc| as if |len| bytes of zeros followed. The CRC of bytes is the XOR of those of its parts, each
 * moved to its place by this.
 */
uint16_t nvme_pi_move(uint16_t crc, size_t len);

/* Protection information of block |i|, of which |crc| is the CRC. */
struct nvme_pi nvme_pi_make(const struct nvme_pi_tags *t, uint32_t i, uint16_t crc);
/* 0, or the CQE status of the first thing in which |pi| of block |i| is not what it should be. */
uint16_t nvme_pi_check(const struct nvme_pi_tags *t, uint32_t i, uint16_t crc,
		       const struct nvme_pi *pi);
/*
 * 0, or the status of a command whose tags do not suit the type: of one for blocks from |lba| on, whose
 * reference tags are to be stored or checked if |tagged|.
 */
uint16_t nvme_pi_suits(const struct nvme_pi_tags *t, uint64_t lba, bool tagged);

/* Whether |status| is a check error: Guard, Application Tag, Reference Tag. */
bool nvme_pi_damaged(uint16_t status);

bool nvme_md_unwritten(const struct nvme_md *md);
/* Put the outer protection information into |md|; |crc| is that of block |i|'s data. */
void nvme_md_protect(const struct nvme_pi_tags *t, uint32_t i, uint16_t crc, struct nvme_md *md);
/* As nvme_pi_check() for the outer one. What is unwritten has to be zeros. */
uint16_t nvme_md_check(const struct nvme_pi_tags *t, uint32_t i, uint16_t crc,
		       const struct nvme_md *md);

/*
 * What an nCMD with |len| bytes of a command's data, from |at| on, has of its metadata: those of the
 * blocks of 1 << |shift| bytes that end in it.
 */
static inline uint32_t nvme_md_first(uint32_t at, unsigned int shift)
{
	return at >> shift;
}

static inline uint32_t nvme_md_count(uint32_t at, uint32_t len, unsigned int shift)
{
	return ((at + len) >> shift) - (at >> shift);
}

/* The DIF layout of |blocks| blocks, in place: |data| has room for |md| behind each of them. */
void nvme_md_interleave(uint8_t *data, uint32_t blocks, unsigned int shift,
			const struct nvme_md *md);

#endif /* FALCON_BASE_PI_H */
