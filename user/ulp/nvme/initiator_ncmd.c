// SPDX-License-Identifier: BSD-2-Clause
/* An nCMD of the initiator's: its numbers, the request that stands for it, and the data that it sends. */
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

enum { TAG_SHIFT = 9 };		/* a tag is a generation above an index of this many bits */
_Static_assert(INCMDS == 1 << TAG_SHIFT, "indexes fill their bits");

/* NVMe's opcode of |p|; the connection's own commands are admin commands. */
static uint8_t opcode(const struct nvme_piece *p)
{
	if (p->icmd)
		return p->icmd->sqe.opcode;
	return p == &p->conn->event ? nvme_admin_async_event : nvme_admin_identify;
}

/* Its opcode is one of the admin set. */
static bool admin(const struct nvme_piece *p)
{
	return !p->icmd || !p->icmd->sqe.qid;
}

bool nvme_piece_pulls(const struct nvme_piece *p)
{
	return !admin(p) && (opcode(p) == nvme_cmd_write || opcode(p) == nvme_cmd_compare);
}

bool nvme_piece_reads(const struct nvme_piece *p)
{
	return admin(p) ? opcode(p) != nvme_admin_async_event : opcode(p) == nvme_cmd_read;
}

uint32_t nvme_incmd_tag(const struct nvme_incmd *n)
{
	return ((uint32_t)n->gen << TAG_SHIFT | (uint32_t)(n - n->conn->ncmds)) &
	       FALCON_NVME_TAG_MASK;
}

uint32_t nvme_piece_part(const struct nvme_piece *p, uint16_t i, uint32_t *len)
{
	uint32_t at = i * p->conn->unit;

	*len = p->bytes - at < p->conn->unit ? p->bytes - at : p->conn->unit;
	return at;
}

/* How many nCMDs |bytes| make on |c|. */
static uint32_t count(const struct nvme_iconn *c, uint32_t bytes)
{
	return bytes ? (bytes + c->unit - 1) / c->unit : 1;
}

void nvme_piece_number(struct nvme_piece *p)
{
	struct nvme_initiator *in = p->conn->dev->in;
	uint32_t n = count(p->conn, p->bytes), other = 0;

	if (p->icmd)
		p->nsid = nvme_iconn_path(p->conn)->nsid;
	p->id = in->next_id++ & FALCON_NVME_TAG_MASK;
	p->first = 0;
	if (p->split) {
		const struct nvme_piece *q = &p->icmd->pieces[!p->group];

		other = count(q->conn->core ? q->conn : p->conn, q->bytes);
		p->first = p->group ? (uint16_t)other : 0;
		/* Both groups have the iCMD's identifier, unless one of them is sent again. */
		if (p->group && !p->icmd->expired && q->next && !q->done)
			p->id = q->id;
	}
	p->combined = p->conn->combined && !admin(p) &&
		      (opcode(p) == nvme_cmd_read || opcode(p) == nvme_cmd_write);
	p->n = (uint16_t)n;
	p->total = (uint16_t)(n + other - 1);
}

/* The packet that asks for |p|. */
static uint8_t request_type(const struct nvme_piece *p)
{
	if (!admin(p) && opcode(p) == nvme_cmd_read)
		return p->combined ? FALCON_NVME_READ_COMMAND : FALCON_NVME_READ_REQUEST;
	if (!admin(p) && opcode(p) == nvme_cmd_write)
		return p->combined ? FALCON_NVME_WRITE_WITH_DATA : FALCON_NVME_WRITE_REQUEST;
	return FALCON_NVME_COMMAND;
}

void nvme_incmd_request(const struct nvme_incmd *n, uint8_t inv, struct falcon_nvme_request *out)
{
	const struct nvme_piece *p = n->piece;
	const struct nvme_iconn *c = n->conn;
	const struct falcon_nvme_hdr h = {
		.type = request_type(p), .inv = inv, .split = p->split, .group = p->group,
		.total = (uint8_t)p->total, .offset = (uint8_t)(p->first + n->index),
		.itag = nvme_incmd_tag(n), .icmd = p->id,
		.function = nvme_iconn_path(c)->ends.function,
	};
	struct falcon_nvme_cmd cmd = {
		.initiator_nsid = (uint16_t)c->dev->attr.nsid, .target_nsid = (uint16_t)p->nsid,
		.slba = p->lba, .nlb = (uint16_t)(p->blocks ? p->blocks - 1 : 0),
		.unit = c->unit == FALCON_NVME_NCMD_DATA ? 0 : (uint8_t)(c->unit / 512),
		.reftag = UINT32_MAX, .apptag_mask = UINT16_MAX, .apptag = UINT16_MAX,
		.opcode = opcode(p), .admin = admin(p), .sqid = p->sqid,
	};

	if (p->icmd && admin(p)) {
		cmd.nlb = (uint16_t)p->blocks;
		cmd.dsm = (uint8_t)(le32toh(p->icmd->sqe.cdw13) >> 24);
		cmd.reftag = p->bytes / 4 - 1;
	} else if (p->icmd) {
		uint32_t cdw12 = le32toh(p->icmd->sqe.cdw12), cdw13 = le32toh(p->icmd->sqe.cdw13);
		bool data = opcode(p) == nvme_cmd_read || opcode(p) == nvme_cmd_write;

		cmd.fua = cdw12 >> 30 & 1;
		cmd.lr = cdw12 >> 31;
		cmd.dtype = opcode(p) == nvme_cmd_write ? cdw12 >> 20 & 0xf : 0;
		cmd.dspec = opcode(p) == nvme_cmd_write ? (uint16_t)(cdw13 >> 16) : 0;
		cmd.dsm = data ? (uint8_t)cdw13 :
			  opcode(p) == nvme_cmd_write_zeroes ? cdw12 >> 25 & FALCON_NVME_DEALLOCATE :
							       0;
		nvme_ipi_request(p, &cmd);
	} else {
		cmd.reftag = p == &c->event ? 0 : c->cns;
	}
	falcon_nvme_request_pack(&h, &cmd, out);
}

uint64_t nvme_piece_unit(const struct nvme_piece *p, uint32_t at)
{
	return ((p->dev_lba << p->conn->block_shift) + at) / 512;
}

const uint8_t *nvme_incmd_data(struct nvme_incmd *n, uint32_t at, uint32_t len,
			       uint8_t *inv)
{
	const struct nvme_cipher *cipher = n->conn->dev->attr.cipher;
	struct nvme_piece *p = n->piece;
	uint16_t status = 0;
	uint8_t *out;

	if (!cipher && !nvme_piece_protected(p))
		return p->data + at;
	out = n->conn->bounce + (n - n->conn->ncmds) * BOUNCE_BYTES;
	if (nvme_piece_protected(p))
		status = nvme_ipi_put(p, at, len, out);
	else if (!cipher->crypt(cipher, true, nvme_piece_unit(p, at), p->data + at, out, len, NULL))
		status = NVME_SC_INTERNAL;
	if (!status)
		return out;
	memset(out, 0, len + nvme_ipi_bytes(p, at, len));
	*inv = 1;
	/* Better known here than at the target, which has only the bit. */
	if (!p->status)
		p->status = status;
	return out;
}
