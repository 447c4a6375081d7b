// SPDX-License-Identifier: BSD-2-Clause
/*
 * Protection information at the initiator (NVMe 6.7): inner and outer are made here, or the host's inner
 * is checked, before data leave; both are checked when data have come. A block may come in several nCMDs,
 * in any order: its CRC is put together from theirs.
 */
#include <stdlib.h>
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

enum {
	ISLOTS = 128,				/* pieces of a connection that read at a time */
	SLOT_BLOCKS = FALCON_NVME_MDTS / 512,	/* of a piece, at most */
};

/* A block that is read. */
struct nvme_iblock {
	struct nvme_md md;	/* as it travelled */
	struct nvme_pi inner;	/* decrypted */
	uint16_t raw;		/* CRC of the data as they travelled; the parts that have come */
	uint16_t plain;		/* CRC of the data decrypted */
};

/* A part of an nCMD's data, within one block. */
struct segment {
	uint32_t block;		/* of the piece */
	uint32_t off, len;	/* bytes in the block */
	bool ends;		/* the block ends with it: metadata follow */
};

static uint8_t shift_of(const struct nvme_piece *p)
{
	return p->conn->block_shift;
}

static struct segment segment(const struct nvme_piece *p, uint32_t pos, uint32_t end)
{
	uint32_t size = 1U << shift_of(p);
	struct segment s = { .block = pos >> shift_of(p), .off = pos & (size - 1) };

	s.len = size - s.off < end - pos ? size - s.off : end - pos;
	s.ends = s.off + s.len == size;
	return s;
}

static struct nvme_pi_tags outer_tags(const struct nvme_piece *p)
{
	return (struct nvme_pi_tags){ .type = 1, .prinfo = NVME_PRINFO_CHECK,
				      .reftag = (uint32_t)p->lba, .apptag = (uint16_t)p->lba,
				      .apptag_mask = UINT16_MAX, .apptag_counts = true };
}

/* What the host says of the whole command. */
static struct nvme_pi_tags host_tags(const struct nvme_dev *dev, const struct falcon_nvme_sqe *sqe)
{
	uint32_t cdw15 = le32toh(sqe->cdw15);

	return (struct nvme_pi_tags){ .type = dev->attr.protection,
				      .prinfo = le32toh(sqe->cdw12) >> 26 & 0xf,
				      .reftag = le32toh(sqe->cdw14), .apptag = (uint16_t)cdw15,
				      .apptag_mask = (uint16_t)(cdw15 >> 16) };
}

/* Hosts that know no protection information have one that counts the device's blocks. */
static struct nvme_pi_tags inner_tags(const struct nvme_piece *p)
{
	const struct nvme_dev *dev = p->conn->dev;
	struct nvme_pi_tags t = host_tags(dev, &p->icmd->sqe);

	if (!t.type)
		return (struct nvme_pi_tags){ .type = 1, .reftag = (uint32_t)p->dev_lba,
					      .prinfo = NVME_PRINFO_GUARD | NVME_PRINFO_REFTAG };
	if (t.type != 3)
		t.reftag += (uint32_t)(p->dev_lba - nvme_icmd_slba(p->icmd));
	return t;
}

static bool reads_or_writes(uint8_t opcode)
{
	return opcode == nvme_cmd_read || opcode == nvme_cmd_write || opcode == nvme_cmd_compare;
}

uint64_t nvme_sqe_md_bytes(const struct nvme_dev *dev, const struct falcon_nvme_sqe *sqe)
{
	const struct nvme_pi_tags t = host_tags(dev, sqe);

	if (!t.type || !le32toh(sqe->qid) || !reads_or_writes(sqe->opcode) ||
	    t.prinfo & NVME_PRINFO_ACT)
		return 0;
	return ((le32toh(sqe->cdw12) & 0xffff) + 1ULL) * sizeof(struct nvme_pi);
}

uint16_t nvme_ipi_check(const struct nvme_icmd *icmd)
{
	const struct nvme_pi_tags t = host_tags(icmd->dev, &icmd->sqe);
	bool makes = t.prinfo & NVME_PRINFO_ACT && (icmd->sqe.opcode == nvme_cmd_write ||
						    icmd->sqe.opcode == nvme_cmd_compare);

	if (!t.type)
		return t.prinfo ? NVME_SC_INVALID_FIELD | NVME_SC_DNR : 0;
	if (nvme_sqe_md_bytes(icmd->dev, &icmd->sqe) && !icmd->md)
		return NVME_SC_INVALID_FIELD | NVME_SC_DNR;
	return nvme_pi_suits(&t, nvme_icmd_slba(icmd), makes || t.prinfo & NVME_PRINFO_REFTAG);
}

bool nvme_ipi_open(struct nvme_iconn *c)
{
	if (!c->bounce)
		c->bounce = malloc((size_t)INCMDS * BOUNCE_BYTES);
	if (!c->slots) {
		c->slots = calloc((size_t)ISLOTS * SLOT_BLOCKS, sizeof(*c->slots));
		c->free_slots = malloc(ISLOTS);
		for (c->nfree_slots = 0; c->free_slots && c->nfree_slots < ISLOTS; c->nfree_slots++)
			c->free_slots[c->nfree_slots] = (uint8_t)c->nfree_slots;
	}
	return c->bounce && c->slots && c->free_slots;
}

void nvme_ipi_close(struct nvme_iconn *c)
{
	free(c->slots);
	free(c->free_slots);
	free(c->bounce);
}

bool nvme_ipi_begin(struct nvme_piece *p)
{
	struct nvme_iconn *c = p->conn;

	if (!nvme_piece_protected(p) || !nvme_piece_reads(p))
		return true;
	if (!p->got) {
		if (!c->nfree_slots)
			return false;
		p->got = &c->slots[c->free_slots[--c->nfree_slots] * SLOT_BLOCKS];
	}
	memset(p->got, 0, p->blocks * sizeof(*p->got));
	return true;
}

void nvme_ipi_end(struct nvme_piece *p)
{
	struct nvme_iconn *c = p->conn;

	if (p->got)
		c->free_slots[c->nfree_slots++] = (uint8_t)((p->got - c->slots) / SLOT_BLOCKS);
	p->got = NULL;
}

bool nvme_piece_protected(const struct nvme_piece *p)
{
	return p->icmd && p->icmd->sqe.qid && p->conn->protect && p->bytes &&
	       reads_or_writes(p->icmd->sqe.opcode);
}

uint32_t nvme_ipi_bytes(const struct nvme_piece *p, uint32_t at, uint32_t len)
{
	if (!nvme_piece_protected(p))
		return 0;
	return nvme_md_count(at, len, shift_of(p)) * (uint32_t)sizeof(struct nvme_md);
}

void nvme_ipi_request(const struct nvme_piece *p, struct falcon_nvme_cmd *cmd)
{
	const struct nvme_pi_tags t = outer_tags(p);

	if (!p->conn->protect || p->conn->unchecked ||
	    (!reads_or_writes(p->icmd->sqe.opcode) && p->icmd->sqe.opcode != nvme_cmd_verify))
		return;
	cmd->prinfo = t.prinfo;
	cmd->reftag = t.reftag;
	cmd->apptag = t.apptag;
	cmd->apptag_mask = t.apptag_mask;
}

/* Units of the cipher: 512 bytes of the device, the last one of a block with its inner information. */
static bool crypt(const struct nvme_piece *p, bool encrypt, const struct segment *s, const void *in,
		  void *out, struct nvme_pi *inner)
{
	const struct nvme_cipher *cipher = p->conn->dev->attr.cipher;
	uint64_t unit = (((p->dev_lba + s->block) << shift_of(p)) + s->off) / 512;

	return cipher->crypt(cipher, encrypt, unit, in, out, s->len, inner);
}

/* The inner protection information of block |i|: the host's, if it is right, or ours. The status. */
static uint16_t make_inner(const struct nvme_piece *p, uint32_t i, uint16_t crc, struct nvme_pi *pi)
{
	const struct nvme_pi_tags t = inner_tags(p);

	if (!p->md) {
		*pi = nvme_pi_make(&t, i, crc);
		return 0;
	}
	*pi = p->md[i];
	return nvme_pi_check(&t, i, crc, pi);
}

/*
 * |s| of |p|'s data as they travel to |out|; |md|: the metadata to make, if the block ends. The CRC of
 * what of the block has gone before with another nCMD is taken anew: nCMDs are pulled in any order.
 */
static uint16_t put_plain(const struct nvme_piece *p, const struct segment *s, uint8_t *out,
			  struct nvme_md *md)
{
	const uint8_t *block = p->data + ((size_t)s->block << shift_of(p));
	const struct nvme_pi_tags outer = outer_tags(p);
	uint16_t crc, status;

	memcpy(out, block + s->off, s->len);
	if (!md)
		return 0;
	crc = nvme_pi_crc(nvme_pi_crc(0, block, s->off), out, s->len);
	status = make_inner(p, s->block, crc, &md->inner);
	nvme_md_protect(&outer, s->block, crc, md);
	return status;
}

static uint16_t put_encrypted(const struct nvme_piece *p, const struct segment *s, uint8_t *out,
			      struct nvme_md *md)
{
	const uint8_t *block = p->data + ((size_t)s->block << shift_of(p));
	const struct segment before = { .block = s->block, .len = s->off };
	const struct nvme_pi_tags outer = outer_tags(p);
	uint8_t scratch[FALCON_NVME_NCMD_DATA];
	uint16_t crc, status;

	if (!md)
		return crypt(p, true, s, block + s->off, out, NULL) ? 0 : NVME_SC_INTERNAL;
	crc = nvme_pi_crc(0, block, s->off + s->len);
	status = make_inner(p, s->block, crc, &md->inner);
	if (!crypt(p, true, s, block + s->off, out, &md->inner) ||
	    (s->off && !crypt(p, true, &before, block, scratch, NULL)))
		return NVME_SC_INTERNAL;
	crc = nvme_pi_crc(nvme_pi_crc(0, scratch, s->off), out, s->len);
	nvme_md_protect(&outer, s->block, crc, md);
	return status;
}

uint16_t nvme_ipi_put(const struct nvme_piece *p, uint32_t at, uint32_t len, uint8_t *out)
{
	struct nvme_md *md = (struct nvme_md *)(out + len);
	uint16_t status = 0, one;
	struct segment s;

	for (uint32_t pos = at; pos < at + len; pos += s.len, out += s.len) {
		s = segment(p, pos, at + len);
		one = (p->conn->dev->attr.cipher ? put_encrypted : put_plain)
			      (p, &s, out, s.ends ? md++ : NULL);
		status = status ? status : one;
	}
	return status;
}

void nvme_ipi_take(struct nvme_piece *p, uint32_t at, uint32_t len, const uint8_t *in)
{
	const struct nvme_cipher *cipher = p->conn->dev->attr.cipher;
	struct segment s;

	for (uint32_t pos = at; pos < at + len; pos += s.len, in += s.len) {
		struct nvme_iblock *b;
		uint32_t behind;
		bool ok = true;

		s = segment(p, pos, at + len);
		b = &p->got[s.block];
		behind = (1U << shift_of(p)) - s.off - s.len;
		b->raw ^= nvme_pi_move(nvme_pi_crc(0, in, s.len), behind);
		if (s.ends)
			memcpy(&b->md, in + s.len, sizeof(b->md));
		b->inner = s.ends ? b->md.inner : b->inner;
		if (cipher)
			ok = crypt(p, false, &s, in, p->data + pos, s.ends ? &b->inner : NULL);
		else
			memcpy(p->data + pos, in, s.len);
		if (cipher)
			b->plain ^= nvme_pi_move(nvme_pi_crc(0, p->data + pos, s.len), behind);
		if (!ok)
			p->status = NVME_SC_INTERNAL;
		in += s.ends ? sizeof(b->md) : 0;
	}
}

uint16_t nvme_ipi_verify(struct nvme_piece *p)
{
	const struct nvme_pi_tags outer = outer_tags(p), inner = inner_tags(p);
	bool cipher = p->conn->dev->attr.cipher;

	for (uint32_t i = 0; i < p->blocks; i++) {
		struct nvme_iblock *b = &p->got[i];
		uint16_t status = nvme_md_check(&outer, i, b->raw, &b->md);

		if (nvme_md_unwritten(&b->md)) {
			/* Zeros are not encrypted. */
			memset(p->data + ((size_t)i << shift_of(p)), 0, 1U << shift_of(p));
			b->inner = b->md.inner;
		} else if (!status) {
			status = nvme_pi_check(&inner, i, cipher ? b->plain : b->raw, &b->inner);
		}
		if (status)
			return status;
		if (p->md)
			p->md[i] = b->inner;
	}
	return 0;
}
