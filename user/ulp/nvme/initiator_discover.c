// SPDX-License-Identifier: BSD-2-Clause
/* Discovery: the target's list of active namespaces, then each of them (Identify, CNS 2 and 0). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

enum { LIST_MAX = IDENTIFY_BYTES / 4 };	/* NSIDs of a list; it is not asked for more than one */

struct nvme_discovery {
	bool listed, done;
	uint16_t status;		/* |done|: the target's */
	unsigned int n;			/* namespaces of the list */
	unsigned int at;		/* the one that is asked for */
	struct nvme_found found[LIST_MAX];
};

struct nvme_discovery *nvme_discovery_new(void)
{
	return calloc(1, sizeof(struct nvme_discovery));
}

void nvme_discovery_free(struct nvme_discovery *d)
{
	free(d);
}

void nvme_discovery_begin(struct nvme_iconn *c)
{
	struct nvme_discovery *d = c->dev->discovery;

	if (d->done)
		return;
	d->listed = false;
	d->n = d->at = 0;
	nvme_iconn_ask(c, NVME_IDENTIFY_CNS_NS_ACTIVE_LIST, 0);
}

static void take_list(struct nvme_discovery *d, const uint8_t *buf)
{
	uint32_t nsid;

	for (d->n = 0; d->n < LIST_MAX; d->n++) {
		memcpy(&nsid, buf + d->n * sizeof(nsid), sizeof(nsid));
		if (!nsid)
			break;
		d->found[d->n].nsid = le32toh(nsid);
	}
	d->listed = true;
}

/* False: it cannot be used from here. */
static bool take_namespace(struct nvme_found *f, const struct nvme_id_ns *id)
{
	f->blocks = le64toh(id->nsze);
	f->block_shift = id->lbaf[id->flbas & 0xf].ds;
	f->protected = id->lbaf[id->flbas & 0xf].ms;
	f->read_only = id->nsattr & 1;
	return nvme_blocks_usable(f->block_shift, f->blocks);
}

void nvme_discovery_answered(struct nvme_iconn *c, uint16_t status)
{
	struct nvme_discovery *d = c->dev->discovery;

	if (!d->listed && status) {
		d->status = status;
		d->done = true;
		return;
	}
	if (!d->listed)
		take_list(d, c->buf);
	else if (!status && take_namespace(&d->found[d->at], (const struct nvme_id_ns *)c->buf))
		d->at++;
	else	/* it has gone since, or is no use */
		memmove(&d->found[d->at], &d->found[d->at + 1], (--d->n - d->at) * sizeof(d->found[0]));
	d->done = d->at == d->n;
	if (!d->done)
		nvme_iconn_ask(c, NVME_IDENTIFY_CNS_NS, d->found[d->at].nsid);
}

int nvme_dev_discovered(const struct nvme_dev *dev, const struct nvme_found **found, unsigned int *n)
{
	const struct nvme_discovery *d = dev->discovery;

	if (!d->done)
		return -EAGAIN;
	*found = d->found;
	*n = d->n;
	return d->status ? -EIO : 0;
}
