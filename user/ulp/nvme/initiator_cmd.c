// SPDX-License-Identifier: BSD-2-Clause
/* The initiator's commands: checked, cut into pieces (NVMe 6.6.3), and put together again. */
#include <stdio.h>
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

enum { DSM_AD = 4, PIECE_BLOCKS = 65536 };	/* attribute Deallocate; NLB has 16 bits */

uint64_t nvme_icmd_slba(const struct nvme_icmd *icmd)
{
	return (uint64_t)le32toh(icmd->sqe.cdw11) << 32 | le32toh(icmd->sqe.cdw10);
}

static uint64_t blocks(const struct falcon_nvme_sqe *sqe)
{
	return (le32toh(sqe->cdw12) & 0xffff) + 1ULL;
}

static bool transfers(const struct nvme_icmd *icmd)
{
	return icmd->sqe.qid &&
	       (icmd->sqe.opcode == nvme_cmd_read || icmd->sqe.opcode == nvme_cmd_write ||
		icmd->sqe.opcode == nvme_cmd_compare);
}

uint64_t nvme_sqe_bytes(const struct nvme_dev *dev, const struct falcon_nvme_sqe *sqe)
{
	if (!le32toh(sqe->qid))
		return nvme_admin_bytes(sqe);
	switch (sqe->opcode) {
	case nvme_cmd_read:
	case nvme_cmd_write:
	case nvme_cmd_compare: return blocks(sqe) << dev->ns.block_shift;
	case nvme_cmd_dsm:
		return ((le32toh(sqe->cdw10) & 0xff) + 1) * sizeof(struct nvme_dsm_range);
	default: return 0;
	}
}

static bool in_range(const struct nvme_dev *dev, uint64_t lba, uint64_t n)
{
	return lba <= dev->ns.blocks && n <= dev->ns.blocks - lba;
}

/* 0, or the status that |icmd| ends with at once. */
static uint16_t check(struct nvme_icmd *icmd)
{
	const struct nvme_dev *dev = icmd->dev;
	bool writes = false;
	uint16_t status;

	if (icmd->sqe.flags)
		return NVME_SC_INVALID_FIELD | NVME_SC_DNR;
	if (le32toh(icmd->sqe.nsid) != dev->attr.nsid &&
	    !(icmd->sqe.opcode == nvme_cmd_flush && le32toh(icmd->sqe.nsid) == UINT32_MAX))
		return NVME_SC_INVALID_NS | NVME_SC_DNR;
	if (!icmd->sqe.qid)
		return nvme_istatus_check(icmd);
	switch (icmd->sqe.opcode) {
	case nvme_cmd_flush:
		return 0;
	case nvme_cmd_dsm:
	case nvme_cmd_write:
	case nvme_cmd_write_zeroes:
		writes = true;
		break;
	case nvme_cmd_read:
	case nvme_cmd_compare:
	case nvme_cmd_verify:
		break;
	default:
		return NVME_SC_INVALID_OPCODE | NVME_SC_DNR;
	}
	/* Zeros on the medium are no zeros for who decrypts them. */
	if (icmd->sqe.opcode == nvme_cmd_write_zeroes && dev->attr.cipher)
		return NVME_SC_INVALID_OPCODE | NVME_SC_DNR;
	if (writes && dev->info.read_only)
		return NVME_SC_NS_WRITE_PROTECTED | NVME_SC_DNR;
	if (icmd->sqe.opcode == nvme_cmd_dsm)
		return 0;
	if (nvme_sqe_bytes(dev, &icmd->sqe) > FALCON_NVME_MDTS)
		return NVME_SC_INVALID_FIELD | NVME_SC_DNR;
	status = nvme_ipi_check(icmd);
	if (status)
		return status;
	icmd->lba = nvme_icmd_slba(icmd);
	icmd->left = blocks(&icmd->sqe);
	return in_range(dev, icmd->lba, icmd->left) ? 0 : NVME_SC_LBA_RANGE | NVME_SC_DNR;
}

void nvme_icmd_end(struct nvme_icmd *icmd, uint16_t status, uint32_t result)
{
	struct nvme_dev_info *info = &icmd->dev->info;
	uint64_t bytes = transfers(icmd) ? nvme_sqe_bytes(icmd->dev, &icmd->sqe) : 0;

	TAILQ_REMOVE(icmd->event ? &icmd->dev->events :
		     icmd->running ? &icmd->dev->running : &icmd->dev->waiting, icmd, link);
	icmd->dev->in->ready++;
	if (status) {
		info->errors++;
		info->damaged += nvme_pi_damaged(status);
	} else if (icmd->sqe.qid && icmd->sqe.opcode == nvme_cmd_read) {
		info->reads++;
		info->read_bytes += bytes;
	} else if (icmd->sqe.qid && icmd->sqe.opcode == nvme_cmd_write) {
		info->writes++;
		info->written_bytes += bytes;
	} else {
		info->others++;
	}
	icmd->done(icmd, status, result);
}

void nvme_piece_open(struct nvme_icmd *icmd, unsigned int i, struct nvme_iconn *c)
{
	struct nvme_piece *p = &icmd->pieces[i];

	p->icmd = icmd;
	p->conn = c;
	p->status = 0;
	p->group = i;
	p->split = false;
	icmd->open++;
}

/* Make piece |i| of the next run of blocks. False: there is no such place. */
static bool cut(struct nvme_icmd *icmd, unsigned int i)
{
	struct nvme_dev *dev = icmd->dev;
	struct nvme_piece *p = &icmd->pieces[i];
	uint64_t n = nvme_lba_run(&dev->ns, icmd->lba), max = PIECE_BLOCKS;
	struct nvme_place place;

	if (icmd->sqe.opcode == nvme_cmd_verify)
		max = FALCON_NVME_MDTS >> dev->ns.block_shift;
	n = n < icmd->left ? n : icmd->left;
	n = n < max ? n : max;
	if (!nvme_lba_translate(&dev->ns, dev->map, dev->nmap, icmd->lba, &place))
		return false;
	nvme_piece_open(icmd, i, &dev->conns[place.row->conn]);
	p->lba = place.lba;
	p->dev_lba = icmd->lba;
	p->sqid = place.row->sqid;
	p->blocks = (uint32_t)n;
	p->bytes = transfers(icmd) ? (uint32_t)n << dev->ns.block_shift : 0;
	p->data = icmd->data;
	p->md = nvme_sqe_md_bytes(dev, &icmd->sqe) ? icmd->md : NULL;
	if (i)
		p->data += icmd->pieces[0].bytes;
	if (i && p->md)
		p->md += icmd->pieces[0].blocks;
	icmd->lba += n;
	icmd->left -= n;
	return true;
}

/* Go to the next range of a Dataset Management command. False: there is none, or it is wrong. */
static bool next_range(struct nvme_icmd *icmd)
{
	uint32_t nr = (le32toh(icmd->sqe.cdw10) & 0xff) + 1;
	struct nvme_dsm_range range;

	if (!(le32toh(icmd->sqe.cdw11) & DSM_AD))
		return false;
	while (!icmd->left && icmd->step < nr) {
		/* The application may change it meanwhile: looked at once. */
		memcpy(&range, (uint8_t *)icmd->data + icmd->step++ * sizeof(range), sizeof(range));
		icmd->lba = le64toh(range.slba);
		icmd->left = le32toh(range.nlb);
		if (!in_range(icmd->dev, icmd->lba, icmd->left)) {
			icmd->status = NVME_SC_LBA_RANGE | NVME_SC_DNR;
			return false;
		}
	}
	return icmd->left > 0;
}

/* Flush goes to all targets, as many at a time as there are pieces. */
static bool next_flush(struct nvme_icmd *icmd)
{
	struct nvme_dev *dev = icmd->dev;

	for (unsigned int i = 0; i < 2 && icmd->step < dev->attr.ntargets; i++) {
		struct nvme_piece *p = &icmd->pieces[i];

		nvme_piece_open(icmd, i, &dev->conns[icmd->step++]);
		p->lba = p->blocks = p->bytes = p->sqid = 0;
	}
	return true;
}

/* Make what pieces can be made now. False: no such place. */
static bool make_pieces(struct nvme_icmd *icmd)
{
	if (!icmd->sqe.qid)
		return nvme_istatus_next(icmd);
	if (icmd->sqe.opcode == nvme_cmd_flush)
		return next_flush(icmd);
	if (icmd->sqe.opcode == nvme_cmd_dsm && !icmd->left && !next_range(icmd))
		return true;
	if (icmd->left && !cut(icmd, 0))
		return false;
	if (!transfers(icmd) || !icmd->left)
		return true;
	if (!cut(icmd, 1))
		return false;
	icmd->pieces[0].split = icmd->pieces[1].split = true;
	return true;
}

/* Go on with |icmd|, of which nothing is under way. */
static void advance(struct nvme_icmd *icmd)
{
	unsigned int n;

	if (!icmd->status && !make_pieces(icmd))
		icmd->status = NVME_SC_INTERNAL | NVME_SC_DNR;
	n = icmd->status ? 0 : icmd->open;
	for (unsigned int i = 0; i < n; i++) {
		if (icmd->pieces[i].conn->command || icmd->sqe.opcode == nvme_cmd_read ||
		    icmd->sqe.opcode == nvme_cmd_write)
			continue;
		icmd->status = NVME_SC_INVALID_OPCODE | NVME_SC_DNR;
		n = 0;
	}
	if (!n) {
		icmd->open = 0;
		return nvme_icmd_end(icmd, icmd->status, 0);
	}
	for (unsigned int i = 0; i < n; i++)
		nvme_piece_queue(&icmd->pieces[i]);
}

void nvme_icmd_begin(struct nvme_icmd *icmd)
{
	TAILQ_INSERT_TAIL(&icmd->dev->running, icmd, link);
	icmd->running = true;
	icmd->status = check(icmd);
	advance(icmd);
}

void nvme_piece_end(struct nvme_piece *p)
{
	struct nvme_icmd *icmd = p->icmd;

	if (p->open)
		nvme_piece_unlink(p);
	if (p == &p->conn->event)
		return nvme_iconn_event(p->conn, p->status);
	if (!icmd)
		return nvme_iconn_identified(p->conn, p->status);
	if (!icmd->expired && !icmd->cancelled && nvme_iconn_leaves(p->conn, p->status)) {
		p->status = 0;
		icmd->dev->info.retried++;
		return nvme_piece_queue(p);
	}
	if (!icmd->status)
		icmd->status = p->status;
	if (--icmd->open)
		return;
	if (icmd->status || icmd->expired || transfers(icmd))
		nvme_icmd_end(icmd, icmd->status, 0);
	else
		advance(icmd);
}

bool nvme_dev_abort(struct nvme_icmd *icmd)
{
	for (unsigned int i = 0; icmd->running && i < 2; i++)
		if (icmd->pieces[i].icmd == icmd && icmd->pieces[i].open && icmd->pieces[i].next)
			return false;
	/* Of a command of several steps, some may have been carried out. */
	if (icmd->running && !transfers(icmd))
		return false;
	for (unsigned int i = 0; icmd->running && i < 2; i++)
		if (icmd->pieces[i].open)
			nvme_piece_unlink(&icmd->pieces[i]);
	icmd->open = 0;
	nvme_icmd_end(icmd, NVME_SC_ABORT_REQ, 0);
	return true;
}

void nvme_dev_cancel(struct nvme_icmd *icmd)
{
	if (!nvme_dev_abort(icmd))
		icmd->cancelled = true;
}
