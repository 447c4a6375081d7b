// SPDX-License-Identifier: BSD-2-Clause
/* Virtual controllers (NVMe 6.4): devices of one controller are its namespaces. */
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

const char *nvme_dev_controller(const struct nvme_dev *dev)
{
	return dev->attr.controller[0] ? dev->attr.controller : dev->attr.name;
}

bool nvme_ctrl_same(const struct nvme_dev *a, const struct nvme_dev *b)
{
	return !strcmp(nvme_dev_controller(a), nvme_dev_controller(b));
}

bool nvme_initiator_has_controller(struct nvme_initiator *in, const struct nvme_dev_attr *attr)
{
	const struct nvme_dev like = { .attr = *attr };
	const struct nvme_dev *d;

	TAILQ_FOREACH(d, &in->devs, link)
		if (nvme_dev_visible(d) && nvme_ctrl_same(d, &like))
			return true;
	return false;
}

struct nvme_dev *nvme_ctrl_ns(struct nvme_dev *dev, uint32_t nsid)
{
	struct nvme_dev *d;

	if (dev->attr.nsid == nsid)
		return dev;
	TAILQ_FOREACH(d, &dev->in->devs, link)
		if (nvme_dev_visible(d) && d->attr.nsid == nsid && nvme_ctrl_same(d, dev))
			return d;
	return NULL;
}

uint32_t nvme_ctrl_next(const struct nvme_dev *dev, uint32_t above)
{
	const struct nvme_dev *d;
	uint32_t next = 0;

	TAILQ_FOREACH(d, &dev->in->devs, link)
		if (nvme_dev_visible(d) && nvme_ctrl_same(d, dev) && d->attr.nsid > above &&
		    (!next || d->attr.nsid < next))
			next = d->attr.nsid;
	return next;
}

/*
 * Pieces that have been sent end when their connection is down: nothing of them is sent thereafter,
 * and the target begins nothing of the next connection before what they have in its stores has ended.
 */
static void abort_all(struct nvme_dev *dev, struct nvme_icmds *list)
{
	struct nvme_icmd *icmd, *next;

	for (icmd = TAILQ_FIRST(list); icmd; icmd = next) {
		bool open = false;

		next = TAILQ_NEXT(icmd, link);
		icmd->expired = true;
		icmd->status = NVME_SCT_PATH << 8 | ABORTED_BY_HOST;
		for (unsigned int i = 0; i < 2; i++) {
			struct nvme_piece *p = &icmd->pieces[i];

			if (p->open && !p->next) {
				nvme_piece_unlink(p);
				icmd->open--;
			}
			open |= p->open;
		}
		if (!open)
			nvme_icmd_end(icmd, icmd->status, 0);
	}
	dev->in->ready++;
}

static void reset_ns(struct nvme_dev *dev)
{
	abort_all(dev, &dev->waiting);
	abort_all(dev, &dev->running);
	abort_all(dev, &dev->events);
	for (uint32_t i = 0; i < dev->attr.ntargets; i++)
		nvme_iconn_reset(&dev->conns[i], "the controller was reset");
}

void nvme_ctrl_reset(struct nvme_dev *dev)
{
	struct nvme_dev *d;

	TAILQ_FOREACH(d, &dev->in->devs, link)
		if (nvme_dev_visible(d) && nvme_ctrl_same(d, dev))
			reset_ns(d);
}
