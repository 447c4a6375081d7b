// SPDX-License-Identifier: BSD-2-Clause
/* Identify: what targets say of their namespaces, and what a device of these says of itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

/*
 * The device's tables, now that all targets are known: chunk k of the namespace is chunk k / N of
 * target k modulo N. What a smaller target has not, the others have for nothing.
 */
static const char *lay_out(struct nvme_dev *dev)
{
	struct nvme_nsid_row ns = { .chunk_shift = dev->attr.chunk_shift,
				    .stripe_shift = dev->attr.stripe_shift,
				    .block_shift = dev->conns[0].block_shift };
	uint64_t least = UINT64_MAX, stripe, rows;
	struct nvme_map_row *map;

	dev->info.read_only = dev->attr.read_only;
	for (uint32_t i = 0; i < dev->attr.ntargets; i++) {
		if (dev->conns[i].block_shift != ns.block_shift)
			return "its targets have blocks of different sizes";
		if (dev->conns[i].protect != dev->conns[0].protect)
			return "its targets differ in protection information";
		if (dev->conns[i].blocks < least)
			least = dev->conns[i].blocks;
		dev->info.read_only |= dev->conns[i].read_only;
	}
	if (dev->attr.protection && !dev->conns[0].protect)
		return "its targets have no protection information";
	while (1U << ns.group_shift < dev->attr.ntargets)
		ns.group_shift++;
	stripe = 1ULL << (ns.stripe_shift + NVME_STRIPE_UNIT_SHIFT - ns.block_shift);
	ns.blocks = dev->attr.ntargets == 1 ? least : least / stripe * stripe << ns.group_shift;
	if (!nvme_nsid_row_valid(&ns) || !ns.blocks)
		return "its targets are too small for a stripe";
	if (ns.blocks == dev->ns.blocks && ns.block_shift == dev->ns.block_shift)
		return NULL;
	rows = nvme_lba_rows(&ns);
	map = calloc(rows, sizeof(*map));
	if (!map)
		return "there is no memory for its map";
	for (uint64_t i = 0; i < rows; i++) {
		uint32_t target = (uint32_t)(i % dev->attr.ntargets);

		map[i] = (struct nvme_map_row){
			.valid = true, .conn = (uint16_t)target,
			.chunk = (uint32_t)(i / dev->attr.ntargets),
		};
	}
	free(dev->map);
	dev->map = map;
	dev->nmap = rows;
	dev->ns = ns;
	dev->info.resized += dev->info.ready;
	dev->info.blocks = ns.blocks;
	dev->info.block_shift = ns.block_shift;
	dev->info.protected = dev->conns[0].protect;
	if (dev->info.ready)
		nvme_dev_changed(dev);
	return NULL;
}

static void begin_waiting(struct nvme_dev *dev)
{
	struct nvme_icmd *icmd;

	while (dev->info.ready && (icmd = TAILQ_FIRST(&dev->waiting))) {
		TAILQ_REMOVE(&dev->waiting, icmd, link);
		nvme_icmd_begin(icmd);
	}
}

void nvme_iconn_ask(struct nvme_iconn *c, uint8_t cns, uint32_t nsid)
{
	c->identify = (struct nvme_piece){
		.conn = c, .bytes = IDENTIFY_BYTES, .data = c->buf, .nsid = nsid,
	};
	c->cns = cns;
	c->identify_by = c->dev->in->now + IDENTIFY_NS;
	nvme_piece_queue(&c->identify);
	TAILQ_REMOVE(&c->queue, &c->identify, link);
	TAILQ_INSERT_HEAD(&c->queue, &c->identify, link);
}

static void identify(struct nvme_iconn *c)
{
	c->stale = false;
	nvme_iconn_ask(c, NVME_IDENTIFY_CNS_NS, nvme_iconn_path(c)->nsid);
}

/* No metadata, or those of NVMe 6.7, with type 1 last, or without type: not looked at by the target. */
static bool format_known(const struct nvme_id_ns *id)
{
	uint16_t ms = le16toh(id->lbaf[id->flbas & 0xf].ms);

	if (id->dps != NVME_NS_DPS_PI_NONE && id->dps != NVME_NS_DPS_PI_TYPE1)
		return false;
	return ms ? ms == sizeof(struct nvme_md) && !(id->flbas & NVME_NS_FLBAS_META_EXT) :
		    !id->dps;
}

bool nvme_blocks_usable(uint8_t shift, uint64_t blocks)
{
	return shift >= 9 && shift <= 12 && blocks && blocks <= UINT64_MAX >> shift >> 8;
}

/*
 * Whether |id| is of the namespace that the other paths lead to, or this one did before: a namespace of the
 * same size is not the same data. Where there is but one path a target need not say which namespace it has.
 */
static bool take_nguid(struct nvme_iconn *c, const struct nvme_id_ns *id)
{
	static const uint8_t none[NVME_NGUID_BYTES];

	if (!memcmp(id->nguid, none, sizeof(none)))
		return c->target->npaths == 1;
	if (memcmp(c->nguid, none, sizeof(none)) && memcmp(c->nguid, id->nguid, sizeof(none)))
		return false;
	memcpy(c->nguid, id->nguid, sizeof(c->nguid));
	return true;
}

/* What |id| says of the blocks, before any of them travels. False: it is not what it was. */
static bool take_format(struct nvme_iconn *c, const struct nvme_id_ns *id)
{
	uint8_t shift = id->lbaf[id->flbas & 0xf].ds;
	bool protect = id->lbaf[id->flbas & 0xf].ms;

	if (c->dev->info.ready && (shift != c->block_shift || protect != c->protect))
		return false;
	c->block_shift = shift;
	c->protect = protect;
	c->unchecked = !id->dps;
	return true;
}

void nvme_iconn_identified(struct nvme_iconn *c, uint16_t status)
{
	const struct nvme_id_ns *id = (const struct nvme_id_ns *)c->buf;
	struct nvme_dev *dev = c->dev;
	const char *why = NULL;

	c->identify_by = UINT64_MAX;
	if (dev->discovery)
		return nvme_discovery_answered(c, status);
	if (c->stale && !status)
		return identify(c);
	if (nvme_iconn_leaves(c, status))
		return;
	if (status) {
		char text[80];

		snprintf(text, sizeof(text), "the target refuses namespace %u: status 0x%x",
			 nvme_iconn_path(c)->nsid, status & 0x7ff);
		return (status & NVME_SC_DNR ? nvme_iconn_refused : nvme_iconn_reset)(c, text);
	}
	if (!take_nguid(c, id))
		return nvme_iconn_refused(c, c->target->npaths > 1 ?
					     "the namespace has no nguid, or not that of the other paths" :
					     "the namespace has another nguid than before");
	c->blocks = le64toh(id->nsze);
	c->read_only = id->nsattr & 1;
	c->known = format_known(id) && take_format(c, id) && nvme_blocks_usable(c->block_shift, c->blocks);
	if (!c->known)
		return nvme_iconn_refused(c, "the target's namespace is of a format not known "
					     "here, or not as it was");
	if (c->protect && !nvme_ipi_open(c))
		return nvme_iconn_reset(c, "there is no memory for protection information");
	nvme_iconn_failed(c, "");
	c->confirmed = true;
	dev->in->ready++;
	for (uint32_t i = 0; i < dev->attr.ntargets; i++)
		if (!dev->conns[i].known)
			return;
	why = lay_out(dev);
	if (why)
		return nvme_iconn_reset(c, why);
	dev->info.ready = true;
	begin_waiting(dev);
}

/* It is answered when something has changed, which Identify has not shown yet. */
static void ask_for_events(struct nvme_iconn *c)
{
	/* It keeps one of the target's tCMDs for good. */
	if (c->credit < 2)
		return;
	c->event = (struct nvme_piece){ .conn = c, .nsid = nvme_iconn_path(c)->nsid };
	nvme_piece_queue(&c->event);
}

void nvme_iconn_event(struct nvme_iconn *c, uint16_t status)
{
	/* A target that has no events: the next connection will show what has changed. */
	if (status)
		return;
	/* The answer that is on its way may be older. */
	c->stale = c->identify_by != UINT64_MAX;
	if (!c->stale)
		identify(c);
	ask_for_events(c);
}

void nvme_iconn_identify(struct nvme_iconn *c)
{
	identify(c);
	ask_for_events(c);
}

static void put_text(char *out, size_t size, const char *s)
{
	memset(out, ' ', size);
	memcpy(out, s, strnlen(s, size));
}

/* Metadata that the host has with its blocks; those that only targets have are not its business. */
static void identify_protection(const struct nvme_dev *dev, struct nvme_id_ns *ns)
{
	if (!dev->attr.protection)
		return;
	ns->mc = NVME_NS_MC_SEPARATE;
	ns->dpc = NVME_NS_DPC_PI_TYPE1 | NVME_NS_DPC_PI_TYPE2 | NVME_NS_DPC_PI_TYPE3 |
		  NVME_NS_DPC_PI_LAST;
	ns->dps = dev->attr.protection;
	ns->lbaf[0].ms = htole16(sizeof(struct nvme_pi));
}

static bool several(const struct nvme_dev *dev)
{
	return nvme_ctrl_next(dev, nvme_ctrl_next(dev, 0));
}

uint16_t nvme_dev_identify(struct nvme_icmd *icmd)
{
	const struct nvme_dev *dev = icmd->dev;
	struct nvme_id_ctrl *ctrl = icmd->data;
	struct nvme_id_ns *ns = icmd->data;

	memset(icmd->data, 0, IDENTIFY_BYTES);
	switch (le32toh(icmd->sqe.cdw10) & 0xff) {
	case NVME_IDENTIFY_CNS_NS:
		if (le32toh(icmd->sqe.nsid) != dev->attr.nsid)
			return NVME_SC_INVALID_NS | NVME_SC_DNR;
		ns->nsze = ns->ncap = ns->nuse = htole64(dev->ns.blocks);
		ns->lbaf[0].ds = dev->ns.block_shift;
		identify_protection(dev, ns);
		if (dev->attr.ntargets == 1)
			memcpy(ns->nguid, dev->conns[0].nguid, sizeof(ns->nguid));
		ns->dlfeat = !dev->attr.cipher ? 1 | NVME_NS_DLFEAT_WRITE_ZEROES :
			     dev->info.protected;
		ns->nsattr = dev->info.read_only;
		return 0;
	case NVME_IDENTIFY_CNS_CTRL:
		put_text(ctrl->sn, sizeof(ctrl->sn), nvme_dev_controller(dev));
		put_text(ctrl->mn, sizeof(ctrl->mn), "NVMe over Falcon");
		put_text(ctrl->fr, sizeof(ctrl->fr), "1");
		ctrl->mdts = 5;		/* 128 KiB in pages of 4 KiB: FALCON_NVME_MDTS */
		ctrl->ver = htole32(0x10400);
		ctrl->cntrltype = 1;
		ctrl->sqes = 0x66;
		ctrl->cqes = 0x44;
		for (uint32_t n = 0; (n = nvme_ctrl_next(dev, n));)
			ctrl->nn = htole32(n);
		ctrl->oacs = htole16(dev->attr.cipher ? 0 : NVME_CTRL_OACS_LBA_STATUS);
		ctrl->oncs = htole16(NVME_CTRL_ONCS_COMPARE | NVME_CTRL_ONCS_DSM |
				     (dev->attr.cipher ? 0 : NVME_CTRL_ONCS_WRITE_ZEROES) |
				     NVME_CTRL_ONCS_VERIFY);
		/* Present; Flush of all namespaces at once only if there is but one. */
		ctrl->vwc = several(dev) ? 0x5 : 0x7;
		ctrl->lpa = 0x5;	/* SMART of each namespace; long and partial log pages */
		ctrl->frmw = 0x3;	/* one firmware slot, read only */
		ctrl->oaes = htole32(NVME_CTRL_OAES_NA);
		ctrl->aerl = UINT8_MAX;
		return 0;
	case NVME_IDENTIFY_CNS_NS_ACTIVE_LIST:
		for (uint32_t i = 0, n = le32toh(icmd->sqe.nsid);
		     i < IDENTIFY_BYTES / 4 && (n = nvme_ctrl_next(dev, n)); i++)
			((uint32_t *)icmd->data)[i] = htole32(n);
		return 0;
	default:
		return NVME_SC_INVALID_FIELD | NVME_SC_DNR;
	}
}
