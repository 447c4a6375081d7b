// SPDX-License-Identifier: BSD-2-Clause
/*
 * Get LBA Status of a virtual device: target after target is asked about its run of blocks, and their
 * lists become one. A piece's list comes in behind those that are there already.
 */
#include <string.h>

#include "ulp/nvme/initiator_priv.h"
#include "ulp/nvme/status.h"

enum { DESC = sizeof(struct nvme_lba_status_desc), HEADER = sizeof(struct nvme_lba_status) };

uint16_t nvme_istatus_check(struct nvme_icmd *icmd)
{
	const struct nvme_dev *dev = icmd->dev;
	uint32_t cdw13 = le32toh(icmd->sqe.cdw13);
	uint64_t bytes = nvme_sqe_bytes(dev, &icmd->sqe);

	/* What is deallocated is no zeros for who decrypts it. */
	if (dev->attr.cipher)
		return NVME_SC_INVALID_OPCODE | NVME_SC_DNR;
	if (cdw13 >> 24 != NVME_STATUS_ALLOCATED || bytes < HEADER || bytes > FALCON_NVME_MDTS)
		return NVME_SC_INVALID_FIELD | NVME_SC_DNR;
	icmd->lba = (uint64_t)le32toh(icmd->sqe.cdw11) << 32 | le32toh(icmd->sqe.cdw10);
	if (icmd->lba >= dev->ns.blocks)
		return NVME_SC_LBA_RANGE | NVME_SC_DNR;
	icmd->left = cdw13 & 0xffff ? cdw13 & 0xffff : dev->ns.blocks - icmd->lba;
	return icmd->left <= dev->ns.blocks - icmd->lba ? 0 : NVME_SC_LBA_RANGE | NVME_SC_DNR;
}

static struct nvme_lba_status_desc *desc(const struct nvme_icmd *icmd, uint32_t i)
{
	return (struct nvme_lba_status_desc *)((uint8_t *)icmd->data + HEADER + i * DESC);
}

/* |n| blocks at |lba| are allocated. */
static void append(struct nvme_icmd *icmd, uint64_t lba, uint32_t n)
{
	struct nvme_lba_status_desc d = {};

	if (icmd->step) {
		memcpy(&d, desc(icmd, icmd->step - 1), DESC);
		if (le64toh(d.dslba) + le32toh(d.nlb) == lba && n <= UINT32_MAX - le32toh(d.nlb)) {
			d.nlb = htole32(le32toh(d.nlb) + n);
			memcpy(desc(icmd, icmd->step - 1), &d, DESC);
			return;
		}
	}
	d = (struct nvme_lba_status_desc){ .dslba = htole64(lba), .nlb = htole32(n),
					   .status = NVME_STATUS_IS_ALLOCATED };
	memcpy(desc(icmd, icmd->step++), &d, DESC);
}

/*
 * The list of |p|, which is in the application's memory and may be anything, as may what the target
 * says.
 */
static void collect(struct nvme_icmd *icmd, const struct nvme_piece *p)
{
	uint64_t start = p->dev_lba, end = start;
	struct nvme_lba_status list;
	uint32_t n = (p->bytes - HEADER) / DESC;

	memcpy(&list, p->data, sizeof(list));
	if (le32toh(list.nlsd) < n)
		n = le32toh(list.nlsd);
	for (uint32_t i = 0; i < n; i++) {
		struct nvme_lba_status_desc d;
		uint64_t at;

		memcpy(&d, p->data + HEADER + i * DESC, DESC);
		at = le64toh(d.dslba) - p->lba;
		if (at >= p->blocks || le32toh(d.nlb) > p->blocks - at || start + at < end)
			break;
		append(icmd, start + at, le32toh(d.nlb));
		end = start + at + le32toh(d.nlb);
	}
	/* What it did not get to is asked for next. */
	if (list.cmpc == NVME_STATUS_COMPLETE || end == start)
		end = start + p->blocks;
	icmd->left -= end - icmd->lba;
	icmd->lba = end;
}

static void finish(const struct nvme_icmd *icmd)
{
	struct nvme_lba_status list = {
		.nlsd = htole32(icmd->step),
		.cmpc = icmd->left ? NVME_STATUS_INCOMPLETE : NVME_STATUS_COMPLETE,
	};

	memcpy(icmd->data, &list, sizeof(list));
}

bool nvme_istatus_next(struct nvme_icmd *icmd)
{
	struct nvme_dev *dev = icmd->dev;
	struct nvme_piece *p = &icmd->pieces[0];
	uint64_t n = icmd->left < UINT16_MAX ? icmd->left : UINT16_MAX, run;
	uint64_t bytes = nvme_sqe_bytes(dev, &icmd->sqe), at;
	struct nvme_place place;

	if (p->icmd) {
		collect(icmd, p);
		n = icmd->left < UINT16_MAX ? icmd->left : UINT16_MAX;
	}
	at = HEADER + (uint64_t)icmd->step * DESC;
	if (!icmd->left || bytes - at < HEADER + DESC) {
		finish(icmd);
		return true;
	}
	run = nvme_lba_run(&dev->ns, icmd->lba);
	if (dev->attr.ntargets > 1 && run < n)
		n = run;
	if (!nvme_lba_translate(&dev->ns, dev->map, dev->nmap, icmd->lba, &place))
		return false;
	nvme_piece_open(icmd, 0, &dev->conns[place.row->conn]);
	p->lba = place.lba;
	p->dev_lba = icmd->lba;
	p->sqid = place.row->sqid;
	p->blocks = (uint32_t)n;
	bytes -= at;
	p->bytes = (uint32_t)(bytes < NVME_STATUS_BYTES ? bytes & ~3ULL : NVME_STATUS_BYTES);
	p->data = (uint8_t *)icmd->data + at;
	return true;
}
