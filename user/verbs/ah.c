// SPDX-License-Identifier: BSD-2-Clause
/* Address handles, and what Ethernet and Falcon have nothing for. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/fv.h"

struct fverbs_ah_attr fv_ah_to_wire(const struct ibv_ah_attr *attr)
{
	struct fverbs_ah_attr out = {
		.flow_label = attr->grh.flow_label, .sgid_index = attr->grh.sgid_index,
		.hop_limit = attr->grh.hop_limit, .traffic_class = attr->grh.traffic_class,
		.sl = attr->sl, .src_path_bits = attr->src_path_bits,
		.static_rate = attr->static_rate, .is_global = attr->is_global,
		.port_num = attr->port_num, .dlid = attr->dlid,
	};

	memcpy(out.dgid, attr->grh.dgid.raw, sizeof(out.dgid));
	return out;
}

struct ibv_ah_attr fv_ah_from_wire(const struct fverbs_ah_attr *attr)
{
	struct ibv_ah_attr out = {
		.grh = {
			.flow_label = attr->flow_label, .sgid_index = attr->sgid_index,
			.hop_limit = attr->hop_limit, .traffic_class = attr->traffic_class,
		},
		.sl = attr->sl, .src_path_bits = attr->src_path_bits,
		.static_rate = attr->static_rate, .is_global = attr->is_global,
		.port_num = attr->port_num, .dlid = attr->dlid,
	};

	memcpy(out.grh.dgid.raw, attr->dgid, sizeof(attr->dgid));
	return out;
}

FV_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct fv_ctx *ctx = fv_ctx_of(pd->context);
	struct fverbs_create_ah req = { .pd = pd->handle };
	struct fverbs_handle answer;
	struct fv_ah *ah;

	if (!ctx)
		FV_FORWARD(ibv_create_ah, NULL, pd, attr);
	/* There are no LIDs on Ethernet: who does not say a GID says nothing. */
	if (!attr->is_global || attr->port_num != 1) {
		fv_fail(EINVAL, "an address handle needs a GID, and port 1");
		return NULL;
	}
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	req.attr = fv_ah_to_wire(attr);
	if (fv_call(&ctx->agent, FVERBS_CREATE_AH, &req, sizeof(req), -1, &answer, sizeof(answer))) {
		free(ah);
		return NULL;
	}
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->ah.handle = answer.handle;
	return &ah->ah;
}

FV_EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct fv_ctx *ctx = fv_ctx_of(ah->context);
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_destroy_ah, ENOSYS, ah);
	rc = fv_call_destroy(&ctx->agent, FVERBS_DESTROY_AH, ah->handle);
	if (!rc)
		free(FV_CAST(struct fv_ah, ah, ah));
	return rc;
}

/* Who a datagram is from and to: with IPv4 its header is in the last 20 of the 40 bytes. */
static void ends_of(const struct ibv_grh *grh, union ibv_gid *from, union ibv_gid *to)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *ip = (const uint8_t *)grh + 20;

	*from = grh->sgid;
	*to = grh->dgid;
	if (ntohl(grh->version_tclass_flow) >> 28 == 6 || ip[0] >> 4 != 4)
		return;
	memcpy(from->raw, mapped, sizeof(mapped));
	memcpy(to->raw, mapped, sizeof(mapped));
	memcpy(from->raw + sizeof(mapped), ip + 12, 4);
	memcpy(to->raw + sizeof(mapped), ip + 16, 4);
}

FV_EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
				  struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	struct fverbs_device d;
	union ibv_gid from, to;
	uint32_t flow, i = 0;
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_init_ah_from_wc, -1, context, port, wc, grh, attr);
	memset(attr, 0, sizeof(*attr));
	attr->sl = wc->sl;
	attr->port_num = port;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return fv_fail(EINVAL, "the completion says that there is no global route header");
	rc = fv_device_now(ctx, &d);
	if (rc)
		return rc;
	ends_of(grh, &from, &to);
	while (i < d.ngids && memcmp(d.gids[i].raw, to.raw, sizeof(to.raw)))
		i++;
	if (i == d.ngids)
		return fv_fail(ENOENT, "the message came to an address that the port has not");
	flow = ntohl(grh->version_tclass_flow);
	attr->is_global = 1;
	attr->grh.dgid = from;
	attr->grh.sgid_index = (uint8_t)i;
	attr->grh.flow_label = flow & IB_GRH_FLOWLABEL_MASK;
	attr->grh.traffic_class = flow >> 20 & 0xff;
	attr->grh.hop_limit = 255;
	return 0;
}

FV_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					       struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	if (!fv_ctx_of(pd->context))
		FV_FORWARD(ibv_create_ah_from_wc, NULL, pd, wc, grh, port);
	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}

FV_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
					  uint8_t mac[ETHERNET_LL_SIZE],
					  uint16_t *vid)
{
	if (!fv_ctx_of(context))
		FV_FORWARD(ibv_resolve_eth_l2_from_gid, ENOSYS, context, attr, mac, vid);
	/* The agent knows its neighbours; nobody else needs them. */
	return fv_fail(EOPNOTSUPP, "the agent resolves addresses");
}

FV_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (!fv_ctx_of(qp->context))
		FV_FORWARD(ibv_attach_mcast, ENOSYS, qp, gid, lid);
	return fv_fail(EOPNOTSUPP, "Falcon has no multicast");
}

FV_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (!fv_ctx_of(qp->context))
		FV_FORWARD(ibv_detach_mcast, ENOSYS, qp, gid, lid);
	return fv_fail(EOPNOTSUPP, "Falcon has no multicast");
}

FV_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!fv_ctx_of(qp->context))
		FV_FORWARD(ibv_set_ece, ENOSYS, qp, ece);
	return fv_fail(EOPNOTSUPP, "Falcon has no enhanced connection establishment");
}

FV_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!fv_ctx_of(qp->context))
		FV_FORWARD(ibv_query_ece, ENOSYS, qp, ece);
	memset(ece, 0, sizeof(*ece));
	return fv_fail(EOPNOTSUPP, "Falcon has no enhanced connection establishment");
}
