// SPDX-License-Identifier: BSD-2-Clause
/* What a device, its port and its tables are. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/version.h"
#include "verbs/fv.h"

enum {
	PHYS_DISABLED = 3,
	PHYS_LINK_UP = 5,
	PORT = 1,
	CLOCK_KHZ = 1000000,	/* completion timestamps are in ns */
	VENDOR = 0x02464c,	/* a locally administered identifier: nobody's */
	ACK_DELAY = 15,		/* 4.096 us * 2^15: an agent that others keep from the CPU */
};

/* Of private symbols of libibverbs, which ibv_devinfo uses; enum ibv_gid_type_sysfs there. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
		       unsigned int *type);
enum { GID_TYPE_ROCE_V2 = 1 };

int fv_device_now(struct fv_ctx *ctx, struct fverbs_device *attr)
{
	const struct fverbs_handle req = { .handle = ctx->device->index };
	int rc = fv_call(&ctx->agent, FVERBS_QUERY_DEVICE, &req, sizeof(req), -1, attr,
			 sizeof(*attr));

	if (!rc && attr->ngids > FVERBS_GIDS_MAX)
		attr->ngids = FVERBS_GIDS_MAX;
	return rc;
}

static int to_int(uint32_t n)
{
	return n > INT32_MAX ? INT32_MAX : (int)n;
}

static int capped(uint64_t n)
{
	return n > INT32_MAX ? INT32_MAX : (int)n;
}

static void fill_device(struct ibv_device_attr *out, const struct fverbs_device *d)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->fw_ver, sizeof(out->fw_ver), "%s", FALCON_VERSION_STRING);
	out->node_guid = d->guid;
	out->sys_image_guid = d->guid;
	out->max_mr_size = UINT64_MAX;
	out->page_size_cap = 0xfffff000;
	out->vendor_id = VENDOR;
	out->max_qp = to_int(d->max_qp);
	out->max_qp_wr = to_int(d->max_qp_wr);
	out->device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
				IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
				IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
				IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS |
				IBV_DEVICE_XRC;
	out->max_sge = to_int(d->max_sge);
	out->max_sge_rd = to_int(d->max_sge);
	out->max_cq = to_int(d->max_cq);
	out->max_cqe = to_int(d->max_cqe);
	out->max_mr = to_int(d->max_mr);
	out->max_pd = to_int(d->max_pd);
	out->max_qp_rd_atom = to_int(d->max_rd_atomic);
	out->max_qp_init_rd_atom = to_int(d->max_rd_atomic);
	out->max_res_rd_atom = capped((uint64_t)d->max_rd_atomic * d->max_qp);
	out->atomic_cap = IBV_ATOMIC_HCA;
	out->max_mw = to_int(d->max_mw);
	out->max_ah = to_int(d->max_ah);
	out->max_srq = to_int(d->max_srq);
	out->max_srq_wr = to_int(d->max_srq_wr);
	out->max_srq_sge = to_int(d->max_sge);
	out->max_pkeys = 1;
	out->local_ca_ack_delay = ACK_DELAY;
	out->phys_port_cnt = 1;
}

/* Limits stay as they were when the device was listed; a child of fork() may ask for them, too. */
static int limits(struct fv_ctx *ctx, struct ibv_device_attr *out)
{
	if (falcon_load(&ctx->agent.state) == FV_DEAD)
		return fv_agent_usable(&ctx->agent);
	fill_device(out, &ctx->device->attr);
	return 0;
}

FV_EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct fv_ctx *ctx = fv_ctx_of(context);

	if (!ctx)
		FV_FORWARD(ibv_query_device, ENOSYS, context, attr);
	return limits(ctx, attr);
}

int fv_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		       struct ibv_device_attr_ex *attr, size_t size)
{
	const uint32_t rc_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
				 IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
				 IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
	struct ibv_device_attr_ex full = { 0 };
	int rc;

	if (input && input->comp_mask)
		return EINVAL;
	if (size < sizeof(full.orig_attr))
		return EINVAL;
	rc = limits(fv_ctx_of(context), &full.orig_attr);
	if (rc)
		return rc;
	full.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	full.odp_caps.per_transport_caps.rc_odp_caps = rc_caps;
	full.odp_caps.per_transport_caps.ud_odp_caps = IBV_ODP_SUPPORT_SEND |
						       IBV_ODP_SUPPORT_RECV |
						       IBV_ODP_SUPPORT_SRQ_RECV;
	full.xrc_odp_caps = rc_caps;
	full.completion_timestamp_mask = UINT64_MAX;
	full.hca_core_clock = CLOCK_KHZ;
	full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
	full.max_dm_size = FV_DM_MAX;
	full.phys_port_cnt_ex = 1;
	memset(attr, 0, size);
	memcpy(attr, &full, size < sizeof(full) ? size : sizeof(full));
	return 0;
}

int fv_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	(void)context;
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK)
		clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);
	return 0;
}

/* Width and speed in InfiniBand's terms whose product comes nearest from below. */
static void link_rate(uint64_t mbps, uint8_t *width, uint8_t *speed)
{
	static const struct {
		uint32_t mbps;
		uint8_t width, speed;
	} rates[] = {
		{ 2500, 1, 1 }, { 5000, 1, 2 }, { 10000, 1, 4 }, { 14000, 1, 16 },
		{ 20000, 2, 2 }, { 25000, 1, 32 }, { 40000, 2, 4 }, { 50000, 1, 64 },
		{ 56000, 2, 16 }, { 100000, 2, 32 }, { 200000, 2, 64 }, { 400000, 4, 64 },
	};

	*width = rates[0].width;
	*speed = rates[0].speed;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]) && rates[i].mbps <= mbps; i++) {
		*width = rates[i].width;
		*speed = rates[i].speed;
	}
}

static void fill_port(struct ibv_port_attr *out, const struct fverbs_device *d)
{
	memset(out, 0, sizeof(*out));
	out->state = d->port_state;
	out->max_mtu = IBV_MTU_4096;
	out->active_mtu = d->active_mtu;
	out->gid_tbl_len = (int)d->ngids;
	out->port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
	out->max_msg_sz = 1u << 31;
	out->pkey_tbl_len = 1;
	out->max_vl_num = 1;
	link_rate(d->speed_mbps, &out->active_width, &out->active_speed);
	out->phys_state = out->state == IBV_PORT_ACTIVE ? PHYS_LINK_UP : PHYS_DISABLED;
	out->link_layer = IBV_LINK_LAYER_ETHERNET;
	out->flags = IBV_QPF_GRH_REQUIRED;
}

int fv_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t len)
{
	struct ibv_port_attr full;
	struct fverbs_device d;
	int rc;

	if (port != PORT)
		return fv_fail(EINVAL, "the device has no port %u", port);
	rc = fv_device_now(fv_ctx_of(context), &d);
	if (rc)
		return rc;
	fill_port(&full, &d);
	memset(attr, 0, len);
	memcpy(attr, &full, len < sizeof(full) ? len : sizeof(full));
	return 0;
}

/* For who was built when the structure ended with |flags|, before port_cap_flags2. */
FV_EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port,
			     struct _compat_ibv_port_attr *attr)
{
	if (!fv_ctx_of(context))
		FV_FORWARD(ibv_query_port, ENOSYS, context, port, attr);
	return fv_query_port(context, port, (struct ibv_port_attr *)attr,
			     offsetof(struct ibv_port_attr, port_cap_flags2));
}

FV_EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port, int index,
			    union ibv_gid *gid)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	struct fverbs_device d;

	if (!ctx)
		FV_FORWARD(ibv_query_gid, -1, context, port, index, gid);
	if (port != PORT || index < 0) {
		errno = EINVAL;
		return -1;
	}
	if (fv_device_now(ctx, &d))
		return -1;
	if ((uint32_t)index >= d.ngids) {
		errno = EINVAL;
		return -1;
	}
	memcpy(gid->raw, d.gids[index].raw, sizeof(gid->raw));
	return 0;
}

FV_EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index,
				 unsigned int *type)
{
	union ibv_gid gid;

	if (!fv_ctx_of(context))
		FV_FORWARD(ibv_query_gid_type, -1, context, port, index, type);
	if (ibv_query_gid(context, port, (int)index, &gid))
		return -1;
	*type = GID_TYPE_ROCE_V2;
	return 0;
}

/* An address that has gone leaves an empty entry, so that others keep their index. */
static bool empty(const struct fverbs_gid *gid)
{
	static const uint8_t none[16];

	return !memcmp(gid->raw, none, sizeof(none));
}

static void fill_gid(struct ibv_gid_entry *out, const struct fverbs_gid *gid, uint32_t index)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->gid.raw, gid->raw, sizeof(out->gid.raw));
	out->gid_index = index;
	out->port_num = PORT;
	out->gid_type = IBV_GID_TYPE_ROCE_V2;
	out->ndev_ifindex = gid->ifindex;
}

FV_EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
				struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	struct ibv_gid_entry full;
	struct fverbs_device d;
	int rc;

	if (!ctx)
		FV_FORWARD(_ibv_query_gid_ex, ENOSYS, context, port, index, entry, flags,
			   entry_size);
	if (flags || port != PORT || entry_size < sizeof(entry->gid))
		return fv_fail(EINVAL, "no such port, or flags that are not known");
	rc = fv_device_now(ctx, &d);
	if (rc)
		return rc;
	if (index >= d.ngids)
		return fv_fail(EINVAL, "GID index %u: the table has %u", index, d.ngids);
	if (empty(&d.gids[index]))
		return fv_fail(ENODATA, "GID index %u: that address has gone", index);
	fill_gid(&full, &d.gids[index], index);
	memset(entry, 0, entry_size);
	memcpy(entry, &full, entry_size < sizeof(full) ? entry_size : sizeof(full));
	return 0;
}

FV_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				       size_t max_entries, uint32_t flags, size_t entry_size)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	struct fverbs_device d;
	size_t n = 0;
	int rc;

	if (!ctx)
		FV_FORWARD(_ibv_query_gid_table, -ENOSYS, context, entries, max_entries, flags,
			   entry_size);
	if (flags || entry_size < sizeof(entries->gid))
		return -fv_fail(EINVAL, "flags that are not known");
	rc = fv_device_now(ctx, &d);
	if (rc)
		return -rc;
	for (uint32_t i = 0; i < d.ngids; i++) {
		char *at = (char *)entries + n * entry_size;
		struct ibv_gid_entry full;

		if (empty(&d.gids[i]))
			continue;
		if (n++ == max_entries)
			return -fv_fail(EINVAL, "the table has more than %zu GIDs", max_entries);
		fill_gid(&full, &d.gids[i], i);
		memset(at, 0, entry_size);
		memcpy(at, &full, entry_size < sizeof(full) ? entry_size : sizeof(full));
	}
	return (ssize_t)n;
}

FV_EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	if (!fv_ctx_of(context))
		FV_FORWARD(ibv_query_pkey, -1, context, port, index, pkey);
	if (port != PORT || index) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htons(FV_PKEY_DEFAULT);
	return 0;
}

FV_EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	if (!fv_ctx_of(context))
		FV_FORWARD(ibv_get_pkey_index, -1, context, port, pkey);
	if (port == PORT && pkey == htons(FV_PKEY_DEFAULT))
		return 0;
	errno = ENOENT;
	return -1;
}
