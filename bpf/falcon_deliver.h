/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* BPF ONLY. The way to the agent: its socket, the credit, the metadata and the redirect. */
#ifndef FALCON_BPF_DELIVER_H
#define FALCON_BPF_DELIVER_H

#include "falcon_maps.h"
#include "falcon_work.h"

/* Find the agent's socket for this queue. FALCON_V_rx_data if the frame can go there. */
static __noinline enum falcon_verdict falcon_find_socket(struct xdp_md *ctx, struct falcon_work *w)
{
	__u32 ifindex = ctx->ingress_ifindex, queue = ctx->rx_queue_index;
	const struct falcon_port *port = bpf_map_lookup_elem(&falcon_ports, &ifindex);
	__u32 xsk;

	if (!port || queue >= FALCON_MAX_QUEUES)
		return FALCON_V_drop_no_agent;
	xsk = port->index * FALCON_MAX_QUEUES + queue;
	if (!bpf_map_lookup_elem(&falcon_xsks, &xsk))
		return FALCON_V_drop_no_agent;
	if (falcon_frame_len(ctx) > port->max_frame)
		return FALCON_V_drop_too_big;
	w->xsk = xsk;
	return FALCON_V_rx_data;
}

FALCON_INLINE void falcon_credit_return(const struct falcon_work *w)
{
	struct falcon_credit *c = bpf_map_lookup_elem(&falcon_credits, &w->xsk);

	if (c)
		falcon_fetch_add(&c->credits, 1);
}

/*
 * Take the credit without which nothing is claimed. The counter may dip below zero while several
 * CPUs find out that none is left; each puts back what it took.
 */
FALCON_INLINE bool falcon_credit_take(const struct falcon_work *w)
{
	struct falcon_credit *c = bpf_map_lookup_elem(&falcon_credits, &w->xsk);

	if (!c)
		return false;
	if (falcon_load(&c->credits) > 0) {
		if (falcon_fetch_add(&c->credits, -1) > 0)
			return true;
		falcon_fetch_add(&c->credits, 1);
	}
	falcon_fetch_add(&c->refused, 1);
	return false;
}

/* Make room for struct falcon_meta in place of whatever metadata there is; false if it fails. */
FALCON_INLINE bool falcon_meta_reserve(struct xdp_md *ctx)
{
	int have = (int)(falcon_data(ctx) - falcon_data_meta(ctx));

	return bpf_xdp_adjust_meta(ctx, have - (int)sizeof(struct falcon_meta)) == 0;
}

/* A frame that is turned round travels without metadata. */
FALCON_INLINE void falcon_meta_drop(struct xdp_md *ctx)
{
	bpf_xdp_adjust_meta(ctx, (int)(falcon_data(ctx) - falcon_data_meta(ctx)));
}

/*
 * Credit and metadata for a frame whose socket is found. FALCON_V_rx_data if it may be claimed,
 * FALCON_V_drop_no_credit if only the credit is missing.
 */
FALCON_INLINE enum falcon_verdict falcon_reserve_room(struct xdp_md *ctx, struct falcon_work *w)
{
	if (!falcon_credit_take(w))
		return FALCON_V_drop_no_credit;
	if (falcon_meta_reserve(ctx))
		return FALCON_V_rx_data;
	falcon_credit_return(w);
	return FALCON_V_drop_metadata;
}

/* Everything that delivery needs and can fail for. */
FALCON_INLINE enum falcon_verdict falcon_reserve(struct xdp_md *ctx, struct falcon_work *w)
{
	enum falcon_verdict v = falcon_find_socket(ctx, w);

	return v == FALCON_V_rx_data ? falcon_reserve_room(ctx, w) : v;
}

/* Hand the frame to the agent with |v| in its metadata. Returns the XDP action. */
FALCON_INLINE int falcon_deliver(struct xdp_md *ctx, const struct falcon_work *w,
				 enum falcon_verdict v)
{
	struct falcon_meta *m = falcon_data_meta(ctx);

	if ((void *)(m + 1) > falcon_data(ctx))
		return XDP_DROP;
	m->magic = FALCON_META_MAGIC;
	m->verdict = (__u8)v;
	m->flow = w->rx.frame.flow;
	m->falcon_off = w->rx.frame.falcon_off;
	m->falcon_len = w->rx.frame.falcon_len;
	m->path = w->rx.frame.path;
	m->cid = w->rx.frame.cid;
	m->rx_ns = w->rx.now;
	return (int)bpf_redirect_map(&falcon_xsks, w->xsk, XDP_DROP);
}

#endif /* FALCON_BPF_DELIVER_H */
