// SPDX-License-Identifier: BSD-2-Clause
/* The initiator's life: devices, connections to their targets, timeouts, the round of the loop. */
#include "ulp/nvme/initiator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

struct nvme_initiator *nvme_initiator_create(const uint8_t *id)
{
	struct nvme_initiator *in = calloc(1, sizeof(*in));

	if (in)
		memcpy(in->id, id, sizeof(in->id));
	return in;
}

/* Connections are lost, so nothing of the commands is on its way. */
static void end_all(struct nvme_dev *dev)
{
	struct nvme_icmd *icmd;

	while ((icmd = TAILQ_FIRST(&dev->waiting)) || (icmd = TAILQ_FIRST(&dev->running))) {
		for (unsigned int i = 0; i < 2; i++)
			if (icmd->pieces[i].open)
				nvme_piece_unlink(&icmd->pieces[i]);
		nvme_icmd_end(icmd, NVME_SC_ABORT_QUEUE | NVME_SC_DNR, 0);
	}
}

static void free_dev(struct nvme_dev *dev)
{
	end_all(dev);
	for (uint32_t i = 0; i < dev->attr.ntargets; i++)
		nvme_ipi_close(&dev->conns[i]);
	free(dev->map);
	free(dev->conns);
	free(dev);
}

void nvme_initiator_destroy(struct nvme_initiator *in)
{
	if (!in)
		return;
	for (unsigned int i = 0; i < in->ndevs; i++)
		free_dev(in->devs[i]);
	free(in);
}

void nvme_initiator_set_host(struct nvme_initiator *in, const struct ulp_host *host, void *agent)
{
	in->host = host;
	in->agent = agent;
}

/* False: there is no memory. */
static bool init_conn(struct nvme_dev *dev, struct nvme_iconn *c,
		      const struct nvme_target_attr *attr)
{
	if (dev->attr.cipher) {
		c->bounce = malloc((size_t)INCMDS * BOUNCE_BYTES);
		if (!c->bounce)
			return false;
	}
	c->dev = dev;
	c->attr = attr;
	c->cid = -1;
	c->identify_by = UINT64_MAX;
	snprintf(c->reason, sizeof(c->reason), "not dialled yet");
	TAILQ_INIT(&c->queue);
	TAILQ_INIT(&c->active);
	for (int i = INCMDS - 1; i >= 0; i--) {
		c->ncmds[i].conn = c;
		c->ncmds[i].next = c->free;
		c->free = &c->ncmds[i];
	}
	return true;
}

/* Whether its controller has its NSID already. */
static bool taken(struct nvme_initiator *in, const struct nvme_dev_attr *a)
{
	const struct nvme_dev dev = { .in = in, .attr = *a };

	for (unsigned int i = 0; i < in->ndevs; i++)
		if (!in->devs[i]->removed && in->devs[i]->attr.nsid == a->nsid &&
		    nvme_ctrl_same(in->devs[i], &dev))
			return true;
	return false;
}

static int check_attr(struct nvme_initiator *in, const struct nvme_dev_attr *a, char *err,
		      size_t errlen)
{
	const char *why = NULL;

	if (in->ndevs == MAX_DEVS)
		why = "there are too many devices";
	else if (nvme_dev_find(in, a->name))
		why = "there is one of that name";
	else if (taken(in, a))
		why = "its controller has a namespace of that nsid";
	else if (!a->ntargets || a->ntargets > NVME_MAX_TARGETS || a->ntargets & (a->ntargets - 1))
		why = "the number of targets must be 1, 2, 4, 8 or 16";
	else if (a->stripe_shift + NVME_STRIPE_UNIT_SHIFT > a->chunk_shift + NVME_CHUNK_UNIT_SHIFT)
		why = "a stripe may not be larger than a chunk";
	if (why)
		snprintf(err, errlen, "NVMe device %s: %s", a->name, why);
	return !why ? 0 : nvme_dev_find(in, a->name) ? -EEXIST : -EINVAL;
}

int nvme_initiator_add(struct nvme_initiator *in, const struct nvme_dev_attr *attr, char *err,
		       size_t errlen)
{
	int rc = check_attr(in, attr, err, errlen);
	struct nvme_dev *dev = rc ? NULL : calloc(1, sizeof(*dev));

	if (rc)
		return rc;
	if (dev)
		dev->conns = calloc(attr->ntargets, sizeof(*dev->conns));
	if (!dev || !dev->conns) {
		free(dev);
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	dev->in = in;
	dev->attr = *attr;
	dev->number = in->ndevs;
	TAILQ_INIT(&dev->waiting);
	TAILQ_INIT(&dev->running);
	for (uint32_t i = 0; i < attr->ntargets; i++) {
		if (init_conn(dev, &dev->conns[i], &dev->attr.targets[i]))
			continue;
		free_dev(dev);
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	in->devs[in->ndevs++] = dev;
	in->ready++;
	return 0;
}

void nvme_initiator_remove(struct nvme_dev *dev)
{
	dev->removed = true;
	for (uint32_t i = 0; i < dev->attr.ntargets; i++)
		nvme_iconn_reset(&dev->conns[i], "the device was removed");
	dev->in->ready++;
}

struct nvme_dev *nvme_dev_find(struct nvme_initiator *in, const char *name)
{
	for (unsigned int i = 0; i < in->ndevs; i++)
		if (!in->devs[i]->removed && !strcmp(in->devs[i]->attr.name, name))
			return in->devs[i];
	return NULL;
}

struct nvme_dev *nvme_dev_at(struct nvme_initiator *in, unsigned int i)
{
	for (unsigned int k = 0; k < in->ndevs; k++)
		if (!in->devs[k]->removed && !i--)
			return in->devs[k];
	return NULL;
}

const struct nvme_dev_attr *nvme_dev_attr(const struct nvme_dev *dev)
{
	return &dev->attr;
}

bool nvme_dev_ready(const struct nvme_dev *dev)
{
	return dev->info.ready;
}

void nvme_dev_info(const struct nvme_dev *dev, struct nvme_dev_info *out)
{
	*out = dev->info;
	out->up = 0;
	out->reason[0] = '\0';
	for (uint32_t i = 0; i < dev->attr.ntargets; i++) {
		out->up += dev->conns[i].core != NULL;
		if (!dev->conns[i].core && !out->reason[0])
			snprintf(out->reason, sizeof(out->reason), "%s", dev->conns[i].reason);
	}
}

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
			.nsid = dev->attr.targets[target].nsid,
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

static void identify(struct nvme_iconn *c)
{
	c->identify = (struct nvme_piece){
		.conn = c, .bytes = IDENTIFY_BYTES, .data = c->buf, .nsid = c->attr->nsid,
	};
	c->stale = false;
	c->identify_by = c->dev->in->now + IDENTIFY_NS;
	nvme_piece_queue(&c->identify);
	/* Before everything else. */
	TAILQ_REMOVE(&c->queue, &c->identify, link);
	TAILQ_INSERT_HEAD(&c->queue, &c->identify, link);
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
	if (c->stale && !status)
		return identify(c);
	if (status) {
		char text[80];

		snprintf(text, sizeof(text), "the target refuses namespace %u: status 0x%x",
			 c->attr->nsid, status & 0x7ff);
		return nvme_iconn_reset(c, text);
	}
	c->blocks = le64toh(id->nsze);
	c->read_only = id->nsattr & 1;
	c->known = format_known(id) && take_format(c, id) && c->block_shift >= 9 &&
		   c->block_shift <= 12 && c->blocks &&
		   c->blocks <= UINT64_MAX >> c->block_shift >> 8;
	if (!c->known)
		return nvme_iconn_reset(c, "the target's namespace is of a format not known "
					   "here, or not as it was");
	if (c->protect && !nvme_ipi_open(c))
		return nvme_iconn_reset(c, "there is no memory for protection information");
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
	c->event = (struct nvme_piece){ .conn = c, .nsid = c->attr->nsid };
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

bool nvme_initiator_owns(const struct nvme_initiator *in, uint32_t cid)
{
	return cid < FALCON_MAX_CONNS && in->by_cid[cid];
}

int nvme_initiator_conn_up(struct nvme_initiator *in, const struct ulp_conn *conn)
{
	struct nvme_iconn *c = in->by_cid[conn->cid];
	uint32_t hdr = sizeof(struct falcon_nvme_response);
	uint32_t step = 512 + sizeof(struct nvme_md);
	struct falcon_nvme_offer offer;

	memcpy(&offer, conn->data.bytes, sizeof(offer));
	c->core = conn->core;
	c->blocked = false;
	/* Whatever the blocks are: each 512 bytes may be one, with metadata. */
	c->unit = conn->max_len > hdr ? (conn->max_len - hdr) / step * 512 : 0;
	if (c->unit > FALCON_NVME_NCMD_DATA)
		c->unit = FALCON_NVME_NCMD_DATA;
	c->credit = falcon_ntoh16(offer.tcmds);
	c->command = offer.flags & FALCON_NVME_KNOWS_COMMAND;
	c->reason[0] = '\0';
	if (conn->data.len < sizeof(offer) || offer.magic != falcon_hton32(FALCON_NVME_MAGIC) ||
	    offer.version != FALCON_NVME_VERSION || !c->credit || !c->command)
		nvme_iconn_reset(c, "the peer is no target that says what its namespaces are");
	else if (c->unit < INCMD_MIN)
		nvme_iconn_reset(c, "the path's MTU is too small: 1 KiB of data must fit a packet");
	if (c->resetting)
		return 0;
	identify(c);
	ask_for_events(c);
	return 0;
}

void nvme_initiator_conn_down(struct nvme_initiator *in, uint32_t cid, const char *why)
{
	struct nvme_iconn *c = in->by_cid[cid];

	if (!c)
		return;
	c->core = NULL;
	c->identify_by = UINT64_MAX;
	if (!c->resetting || !c->reason[0])
		snprintf(c->reason, sizeof(c->reason), "%s", why);
	if (c->resetting) {
		in->by_cid[cid] = NULL;
		c->cid = -1;
		c->resetting = false;
		c->redial = in->now + REDIAL_NS;
	}
	in->ready++;
	nvme_iconn_lost(c);
}

static uint32_t dial(struct nvme_iconn *c)
{
	struct nvme_initiator *in = c->dev->in;
	const struct falcon_nvme_offer *offer;
	struct ulp_dial d = { .proto = FALCON_PROTO_NVME, .ends = c->attr->ends,
			      .peer = c->attr->peer, .data.len = sizeof(*offer) };
	struct falcon_nvme_offer o = {
		.magic = falcon_hton32(FALCON_NVME_MAGIC), .version = FALCON_NVME_VERSION,
		.device = falcon_hton32(c->dev->number << 8 |
					(uint32_t)(c - c->dev->conns)),
	};
	int cid;

	if (c->cid >= 0 || in->now < c->redial || !in->host || c->dev->removed)
		return 0;
	memcpy(o.host, in->id, sizeof(o.host));
	memcpy(d.data.bytes, &o, sizeof(o));
	cid = in->host->dial(in->agent, &d, c->reason, sizeof(c->reason));
	c->redial = in->now + REDIAL_NS;
	if (cid < 0)
		return 0;
	c->cid = cid;
	in->by_cid[cid] = c;
	snprintf(c->reason, sizeof(c->reason), "being dialled");
	return 1;
}

/*
 * What of |icmd| is on its way ends when its connection is lost, which is done to it here; what is not
 * ends at once.
 */
static void expire(struct nvme_icmd *icmd)
{
	struct nvme_iconn *reset[2] = {};

	icmd->expired = true;
	if (!icmd->status)
		icmd->status = NVME_SCT_PATH << 8 | NVME_SC_HOST_PATH_ERROR;
	for (unsigned int i = 0; i < 2; i++) {
		struct nvme_piece *p = &icmd->pieces[i];

		if (p->open && !p->next) {
			nvme_piece_unlink(p);
			icmd->open--;
		} else if (p->open) {
			reset[i] = p->conn;
		}
	}
	if (!icmd->open)
		return nvme_icmd_end(icmd, icmd->status, 0);
	/* From here on |icmd| may be gone. */
	for (unsigned int i = 0; i < 2; i++)
		if (reset[i])
			nvme_iconn_reset(reset[i], "a command has taken longer than the timeout");
}

static void check_time(struct nvme_dev *dev)
{
	uint64_t now = dev->in->now;
	struct nvme_icmd *icmd;

	while ((icmd = TAILQ_FIRST(&dev->waiting)) && icmd->deadline <= now)
		expire(icmd);
	while ((icmd = TAILQ_FIRST(&dev->running)) && icmd->deadline <= now) {
		if (icmd->expired)
			break;
		expire(icmd);
	}
	for (uint32_t i = 0; i < dev->attr.ntargets; i++)
		if (dev->conns[i].identify_by <= now)
			nvme_iconn_reset(&dev->conns[i], "the target does not answer");
}

static bool connected(const struct nvme_dev *dev)
{
	for (uint32_t i = 0; i < dev->attr.ntargets; i++)
		if (dev->conns[i].cid >= 0)
			return true;
	return false;
}

uint32_t nvme_initiator_pump(struct nvme_initiator *in, uint64_t now)
{
	uint32_t n = 0;

	in->now = now;
	in->ready = 0;
	for (unsigned int i = 0; i < in->ndevs; i++) {
		struct nvme_dev *dev = in->devs[i];

		for (uint32_t k = 0; k < dev->attr.ntargets; k++) {
			n += dial(&dev->conns[k]);
			n += nvme_iconn_send(&dev->conns[k]);
		}
		check_time(dev);
		if (dev->removed && !connected(dev))
			end_all(dev);
	}
	return n;
}

void nvme_initiator_on_xon(struct nvme_initiator *in, uint32_t cid)
{
	if (in->by_cid[cid])
		in->by_cid[cid]->blocked = false;
	in->ready++;
}

bool nvme_initiator_busy(const struct nvme_initiator *in)
{
	return in->ready;
}

uint64_t nvme_initiator_deadline(const struct nvme_initiator *in)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < in->ndevs; i++) {
		const struct nvme_dev *dev = in->devs[i];
		const struct nvme_icmd *heads[2] = { TAILQ_FIRST(&dev->waiting),
						     TAILQ_FIRST(&dev->running) };

		for (int k = 0; k < 2; k++)
			if (heads[k] && !heads[k]->expired && heads[k]->deadline < next)
				next = heads[k]->deadline;
		for (uint32_t k = 0; k < dev->attr.ntargets; k++) {
			const struct nvme_iconn *c = &dev->conns[k];
			uint64_t at = c->cid < 0 && !dev->removed ? c->redial : c->identify_by;

			next = at < next ? at : next;
		}
	}
	return next;
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

/* Identify of the virtual controller and its namespace. The status. */
static uint16_t answer_identify(struct nvme_icmd *icmd)
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

void nvme_dev_submit(struct nvme_dev *dev, struct nvme_icmd *icmd, uint64_t now)
{
	icmd->dev = dev;
	icmd->deadline = now + dev->attr.timeout_ns;
	icmd->left = 0;
	icmd->step = 0;
	icmd->open = 0;
	icmd->status = 0;
	icmd->running = icmd->expired = false;
	memset(icmd->pieces, 0, sizeof(icmd->pieces));
	dev->in->now = now;
	bool remote = icmd->sqe.qid || icmd->sqe.opcode == nvme_admin_get_lba_status;

	if (remote && dev->info.ready && !dev->removed)
		return nvme_icmd_begin(icmd);
	TAILQ_INSERT_TAIL(&dev->waiting, icmd, link);
	if (dev->removed)
		return nvme_icmd_end(icmd, NVME_SC_ABORT_QUEUE | NVME_SC_DNR, 0);
	if (remote)
		return;
	nvme_icmd_end(icmd, icmd->sqe.opcode == nvme_admin_identify && dev->info.ready ?
				    answer_identify(icmd) :
			    icmd->sqe.opcode == nvme_admin_identify ?
				    NVME_SC_NS_NOT_READY :
				    NVME_SC_INVALID_OPCODE | NVME_SC_DNR, 0);
}
