// SPDX-License-Identifier: BSD-2-Clause
/* The devices that applications see, and how they learn that one has changed. */
#include <infiniband/verbs.h>
#include <string.h>

#include "ulp/rdma/objects.h"

static const uint8_t no_gid[16];

const struct fverbs_device *rdma_device(const struct rdma *r, uint32_t index)
{
	return index < r->ndevices ? &r->devices[index] : NULL;
}

/* The interface's address as EUI-64, with the bit for universal ones as in IPv6 (RFC 4291). */
static uint64_t guid_of(const uint8_t mac[6])
{
	const uint8_t eui[8] = { mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5] };
	uint64_t guid;

	memcpy(&guid, eui, sizeof(guid));
	return guid;
}

static void fill_limits(struct fverbs_device *d)
{
	d->guid = guid_of(d->mac);
	d->max_qp = RDMA_MAX_QPS;
	d->max_cq = RDMA_MAX_CQS;
	d->max_mr = RDMA_MAX_MRS;
	d->max_mw = RDMA_MAX_MWS;
	d->max_pd = RDMA_MAX_PDS;
	d->max_srq = RDMA_MAX_SRQS;
	d->max_ah = RDMA_MAX_AHS;
	d->max_xrcd = RDMA_MAX_XRCDS;
	d->max_qp_wr = FVERBS_WR_MAX;
	d->max_srq_wr = FVERBS_WR_MAX;
	d->max_cqe = FVERBS_CQE_MAX;
	d->max_sge = FVERBS_SGE_MAX;
	d->max_inline = FVERBS_INLINE_MAX;
	d->max_rd_atomic = RDMA_MAX_RD_ATOMIC;
}

/* Where |gid| stands among |d|'s, or FVERBS_GIDS_MAX. */
static uint32_t gid_index(const struct fverbs_device *d, const uint8_t gid[16])
{
	uint32_t i = 0;

	while (i < FVERBS_GIDS_MAX && memcmp(d->gids[i].raw, gid, 16) != 0)
		i++;
	return i;
}

/*
 * Those that stay keep their index, which applications may have told peers; those that are gone leave
 * an empty one; new ones take the first empty. True if anything changed.
 */
static bool merge_gids(struct fverbs_device *d, const struct fverbs_device *now)
{
	bool changed = false;

	for (uint32_t i = 0; i < d->ngids; i++) {
		if (!memcmp(d->gids[i].raw, no_gid, 16) || gid_index(now, d->gids[i].raw) < now->ngids)
			continue;
		memset(&d->gids[i], 0, sizeof(d->gids[i]));
		changed = true;
	}
	for (uint32_t i = 0; i < now->ngids && i < FVERBS_GIDS_MAX; i++) {
		uint32_t empty;

		if (gid_index(d, now->gids[i].raw) < FVERBS_GIDS_MAX)
			continue;
		empty = gid_index(d, no_gid);
		if (empty == FVERBS_GIDS_MAX)
			break;
		d->gids[empty] = now->gids[i];
		changed = true;
	}
	d->ngids = FVERBS_GIDS_MAX;
	while (d->ngids && !memcmp(d->gids[d->ngids - 1].raw, no_gid, 16))
		d->ngids--;
	return changed;
}

static void tell_all(struct rdma *r, uint32_t device, uint32_t type)
{
	for (struct rdma_ctx *ctx = r->ctxs; ctx; ctx = ctx->next)
		rdma_async_device(ctx, device, type);
}

static void update(struct rdma *r, uint32_t index, const struct fverbs_device *now)
{
	struct fverbs_device *d = &r->devices[index], old = *d;
	bool gids;

	*d = *now;
	memcpy(d->gids, old.gids, sizeof(d->gids));
	d->ngids = old.ngids;
	fill_limits(d);
	gids = merge_gids(d, now);
	if (gids)
		tell_all(r, index, IBV_EVENT_GID_CHANGE);
	if (d->port_state != old.port_state)
		tell_all(r, index,
			 d->port_state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

void rdma_devices_refresh(struct rdma *r)
{
	struct fverbs_device now[FVERBS_DEVICES_MAX];
	unsigned int n = r->host.devices(r->host.arg, now);

	for (unsigned int i = 0; i < n && i < FVERBS_DEVICES_MAX; i++)
		update(r, i, &now[i]);
	if (n > r->ndevices)
		r->ndevices = n;
}
