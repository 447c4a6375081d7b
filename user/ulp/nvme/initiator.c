// SPDX-License-Identifier: BSD-2-Clause
/* The initiator's life: devices, connections to their targets, timeouts, the round of the loop. */
#include "ulp/nvme/initiator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

struct nvme_initiator *nvme_initiator_create(const uint8_t *id, uint32_t shard, uint32_t nshards)
{
	struct nvme_initiator *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	memcpy(in->id, id, sizeof(in->id));
	in->next_number = shard;
	in->nshards = nshards;
	TAILQ_INIT(&in->devs);
	return in;
}

/* Connections are lost, so nothing of the commands is on its way. */
static void end_all(struct nvme_dev *dev)
{
	struct nvme_icmd *icmd;

	while ((icmd = TAILQ_FIRST(&dev->waiting)) || (icmd = TAILQ_FIRST(&dev->running)) ||
	       (icmd = TAILQ_FIRST(&dev->events))) {
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
	nvme_discovery_free(dev->discovery);
	if (dev->attr.cipher && dev->attr.cipher->release)
		dev->attr.cipher->release(dev->attr.cipher);
	free(dev->map);
	free(dev->conns);
	free(dev);
}

/* Take |dev| off the list, and free it. */
static void drop_dev(struct nvme_dev *dev)
{
	TAILQ_REMOVE(&dev->in->devs, dev, link);
	dev->in->ndevs--;
	free_dev(dev);
}

void nvme_initiator_destroy(struct nvme_initiator *in)
{
	struct nvme_dev *dev;

	if (!in)
		return;
	while ((dev = TAILQ_FIRST(&in->devs)))
		drop_dev(dev);
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
	c->target = attr;
	c->cid = -1;
	c->up_by = UINT64_MAX;
	c->identify_by = UINT64_MAX;
	snprintf(c->reason, sizeof(c->reason), "being dialled");
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
	const struct nvme_dev fresh = { .in = in, .attr = *a };
	const struct nvme_dev *dev;

	TAILQ_FOREACH(dev, &in->devs, link)
		if (nvme_dev_visible(dev) && dev->attr.nsid == a->nsid && nvme_ctrl_same(dev, &fresh))
			return true;
	return false;
}

static bool paths_valid(const struct nvme_dev_attr *a)
{
	for (uint32_t i = 0; i < a->ntargets; i++)
		if (!a->targets[i].npaths || a->targets[i].npaths > NVME_MAX_PATHS)
			return false;
	return true;
}

static int check_attr(struct nvme_initiator *in, const struct nvme_dev_attr *a, char *err,
		      size_t errlen)
{
	const char *why = NULL;

	if (in->ndevs == MAX_DEVS)
		why = "there are too many devices";
	else if (!a->discovers && nvme_dev_find(in, a->name))
		why = "there is one of that name";
	else if (!a->discovers && taken(in, a))
		why = "its controller has a namespace of that nsid";
	else if (!a->ntargets || a->ntargets > NVME_MAX_TARGETS || a->ntargets & (a->ntargets - 1))
		why = "the number of targets must be 1, 2, 4, 8 or 16";
	else if (!paths_valid(a))
		why = "a target has one to four paths";
	else if (a->stripe_shift + NVME_STRIPE_UNIT_SHIFT > a->chunk_shift + NVME_CHUNK_UNIT_SHIFT)
		why = "a stripe may not be larger than a chunk";
	if (why)
		snprintf(err, errlen, "NVMe device %s: %s", a->name, why);
	return !why ? 0 : nvme_dev_find(in, a->name) ? -EEXIST : -EINVAL;
}

static int add(struct nvme_initiator *in, const struct nvme_dev_attr *attr, struct nvme_dev **out,
	       char *err, size_t errlen)
{
	int rc = check_attr(in, attr, err, errlen);
	struct nvme_dev *dev = rc ? NULL : calloc(1, sizeof(*dev));

	if (rc)
		return rc;
	if (dev)
		dev->conns = calloc(attr->ntargets, sizeof(*dev->conns));
	if (dev && attr->discovers)
		dev->discovery = nvme_discovery_new();
	if (!dev || !dev->conns || !dev->discovery != !attr->discovers) {
		free(dev ? dev->conns : NULL);
		free(dev);
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	dev->in = in;
	dev->attr = *attr;
	dev->number = in->next_number & FALCON_NVME_TAG_MASK;
	in->next_number += in->nshards;
	TAILQ_INIT(&dev->waiting);
	TAILQ_INIT(&dev->running);
	TAILQ_INIT(&dev->events);
	for (uint32_t i = 0; i < attr->ntargets; i++) {
		if (init_conn(dev, &dev->conns[i], &dev->attr.targets[i]))
			continue;
		dev->attr.cipher = NULL;
		free_dev(dev);
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	TAILQ_INSERT_TAIL(&in->devs, dev, link);
	in->ndevs++;
	in->ready++;
	*out = dev;
	return 0;
}

int nvme_initiator_add(struct nvme_initiator *in, const struct nvme_dev_attr *attr, char *err,
		       size_t errlen)
{
	struct nvme_dev *dev;

	return add(in, attr, &dev, err, errlen);
}

int nvme_initiator_discover(struct nvme_initiator *in, const struct nvme_dev_attr *attr,
			    struct nvme_dev **out, char *err, size_t errlen)
{
	struct nvme_dev_attr discovers = *attr;

	discovers.discovers = true;
	return add(in, &discovers, out, err, errlen);
}

void nvme_initiator_remove(struct nvme_dev *dev)
{
	dev->removed = true;
	for (uint32_t i = 0; i < dev->attr.ntargets; i++)
		nvme_iconn_reset(&dev->conns[i], "the device was removed");
	dev->in->ready++;
}

void nvme_dev_hold(struct nvme_dev *dev)
{
	dev->refs++;
}

void nvme_dev_release(struct nvme_dev *dev)
{
	dev->refs--;
	dev->in->ready++;
}

struct nvme_dev *nvme_dev_find(struct nvme_initiator *in, const char *name)
{
	struct nvme_dev *dev;

	TAILQ_FOREACH(dev, &in->devs, link)
		if (nvme_dev_visible(dev) && !strcmp(dev->attr.name, name))
			return dev;
	return NULL;
}

unsigned int nvme_initiator_devices(const struct nvme_initiator *in)
{
	return in->ndevs;
}

struct nvme_dev *nvme_dev_at(struct nvme_initiator *in, unsigned int i)
{
	struct nvme_dev *dev;

	TAILQ_FOREACH(dev, &in->devs, link)
		if (nvme_dev_visible(dev) && !i--)
			return dev;
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

const struct nvme_path_attr *nvme_dev_path(const struct nvme_dev *dev, uint32_t i)
{
	return nvme_iconn_path(&dev->conns[i]);
}

void nvme_dev_info(const struct nvme_dev *dev, struct nvme_dev_info *out)
{
	*out = dev->info;
	out->up = 0;
	out->refused = false;
	out->reason[0] = '\0';
	for (uint32_t i = 0; i < dev->attr.ntargets; i++) {
		const struct nvme_iconn *c = &dev->conns[i];

		out->up += c->core != NULL;
		if (!out->reason[0] || (c->refused && !out->refused))
			snprintf(out->reason, sizeof(out->reason), "%s", c->reason);
		out->refused |= c->refused;
	}
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
	c->up_by = UINT64_MAX;
	c->blocked = false;
	/* Whatever the blocks are: each 512 bytes may be one, with metadata. */
	c->unit = conn->max_len > hdr ? (conn->max_len - hdr) / step * 512 : 0;
	if (c->unit > FALCON_NVME_NCMD_DATA)
		c->unit = FALCON_NVME_NCMD_DATA;
	c->credit = falcon_ntoh16(offer.tcmds);
	c->command = offer.flags & FALCON_NVME_KNOWS_COMMAND;
	/* A request is larger than the header of a response. */
	c->combined = offer.flags & FALCON_NVME_KNOWS_COMBINED && !c->dev->attr.standard &&
		      c->unit / 512 * step + sizeof(struct falcon_nvme_request) <= conn->max_len;
	if (conn->data.len < FALCON_NVME_OFFER_MIN || offer.magic != falcon_hton32(FALCON_NVME_MAGIC) ||
	    offer.version != FALCON_NVME_VERSION || !c->credit || !c->command)
		nvme_iconn_refused(c, "the peer is no target that says what its namespaces are");
	else if (c->unit < INCMD_MIN)
		nvme_iconn_reset(c, "the path's MTU is too small: 1 KiB of data must fit a packet");
	if (c->resetting)
		return 0;
	if (c->dev->discovery)
		nvme_discovery_begin(c);
	else
		nvme_iconn_identify(c);
	return 0;
}

/* The path is of no use: the next one's turn, if there is one. */
static void leave_path(struct nvme_iconn *c)
{
	c->up_by = UINT64_MAX;
	if (c->target->npaths == 1)
		return;
	c->path = (c->path + 1) % c->target->npaths;
	c->dev->info.failovers++;
}

void nvme_initiator_conn_down(struct nvme_initiator *in, uint32_t cid, const char *why)
{
	struct nvme_iconn *c = in->by_cid[cid];

	if (!c)
		return;
	c->core = NULL;
	c->identify_by = UINT64_MAX;
	c->leaving = c->confirmed = false;
	if (c->resetting) {
		in->by_cid[cid] = NULL;
		c->cid = -1;
		c->resetting = false;
		c->redial = in->now + REDIAL_NS;
		leave_path(c);
	} else {
		nvme_iconn_failed(c, why);
		/* The agent dials the same path again, unless the next round ends that. */
		if (c->target->npaths > 1)
			c->up_by = in->now;
	}
	in->ready++;
	nvme_iconn_lost(c);
}

static uint32_t dial(struct nvme_iconn *c)
{
	struct nvme_initiator *in = c->dev->in;
	const struct falcon_nvme_offer *offer;
	const struct nvme_path_attr *path = nvme_iconn_path(c);
	struct ulp_dial d = { .proto = FALCON_PROTO_NVME, .ends = path->ends,
			      .peer = path->peer, .data.len = sizeof(*offer) };
	struct falcon_nvme_offer o = {
		.magic = falcon_hton32(FALCON_NVME_MAGIC), .version = FALCON_NVME_VERSION,
		.device = falcon_hton32(c->dev->number << 8 |
					(uint32_t)(c - c->dev->conns)),
		.nsid = falcon_hton32(c->dev->discovery ? 0 : path->nsid),
	};
	char err[sizeof(c->reason)];
	int cid;

	if (c->cid >= 0 || in->now < c->redial || !in->host || c->dev->removed)
		return 0;
	memcpy(o.host, in->id, sizeof(o.host));
	memcpy(d.data.bytes, &o, sizeof(o));
	cid = in->host->dial(in->agent, &d, err, sizeof(err));
	c->redial = in->now + REDIAL_NS;
	if (cid < 0) {
		nvme_iconn_failed(c, err);
		leave_path(c);
		return 0;
	}
	c->cid = cid;
	if (c->target->npaths > 1)
		c->up_by = in->now + PATH_NS;
	in->by_cid[cid] = c;
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

static void check_conn_time(struct nvme_iconn *c, uint64_t now)
{
	char why[sizeof(c->reason)];

	if (c->identify_by <= now)
		nvme_iconn_reset(c, "the target does not answer");
	if (c->up_by > now)
		return;
	memcpy(why, c->reason, sizeof(why));
	nvme_iconn_reset(c, why);
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
		check_conn_time(&dev->conns[i], now);
}

static bool connected(const struct nvme_dev *dev)
{
	for (uint32_t i = 0; i < dev->attr.ntargets; i++)
		if (dev->conns[i].cid >= 0)
			return true;
	return false;
}

/* A device that was removed goes when nothing of it is left, nor of its transactions in the core. */
static void reap(struct nvme_dev *dev)
{
	bool used = dev->refs;

	if (!dev->removed || connected(dev))
		return;
	end_all(dev);
	for (uint32_t i = 0; i < dev->attr.ntargets; i++)
		used |= dev->conns[i].used;
	if (!used)
		drop_dev(dev);
}

uint32_t nvme_initiator_pump(struct nvme_initiator *in, uint64_t now)
{
	struct nvme_dev *dev, *next;
	uint32_t n = 0;

	in->now = now;
	in->ready = 0;
	for (dev = TAILQ_FIRST(&in->devs); dev; dev = next) {
		next = TAILQ_NEXT(dev, link);
		for (uint32_t k = 0; k < dev->attr.ntargets; k++) {
			n += dial(&dev->conns[k]);
			n += nvme_iconn_send(&dev->conns[k]);
			nvme_iconn_leave(&dev->conns[k]);
		}
		check_time(dev);
		reap(dev);
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
	const struct nvme_dev *dev;

	TAILQ_FOREACH(dev, &in->devs, link) {
		const struct nvme_icmd *heads[2] = { TAILQ_FIRST(&dev->waiting),
						     TAILQ_FIRST(&dev->running) };

		for (int k = 0; k < 2; k++)
			if (heads[k] && !heads[k]->expired && heads[k]->deadline < next)
				next = heads[k]->deadline;
		for (uint32_t k = 0; k < dev->attr.ntargets; k++) {
			const struct nvme_iconn *c = &dev->conns[k];
			uint64_t at = c->cid < 0 && !dev->removed ? c->redial : c->identify_by;

			at = c->up_by < at ? c->up_by : at;
			next = at < next ? at : next;
		}
	}
	return next;
}

static void postpone(uint64_t *at, uint64_t ns)
{
	if (*at != UINT64_MAX)
		*at += ns;
}

void nvme_initiator_was_away(struct nvme_initiator *in, uint64_t ns)
{
	struct nvme_icmd *icmd;
	struct nvme_dev *dev;

	TAILQ_FOREACH(dev, &in->devs, link) {
		TAILQ_FOREACH(icmd, &dev->waiting, link)
			icmd->deadline += ns;
		TAILQ_FOREACH(icmd, &dev->running, link)
			icmd->deadline += ns;
		for (uint32_t k = 0; k < dev->attr.ntargets; k++) {
			postpone(&dev->conns[k].identify_by, ns);
			postpone(&dev->conns[k].up_by, ns);
		}
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
	icmd->running = icmd->expired = icmd->cancelled = icmd->event = false;
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
	nvme_dev_admin(icmd);
}
