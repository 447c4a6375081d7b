/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BPF ONLY. Falcon between other hosts, which this one only bridges or forwards: a packet that is none of
 * its connections' is left to the kernel if the kernel would send it on.
 */
#ifndef FALCON_BPF_OTHERS_H
#define FALCON_BPF_OTHERS_H

#include "falcon_maps.h"
#include "falcon_work.h"

enum falcon_others_const {
	FALCON_AF_INET = 2,
	FALCON_AF_INET6 = 10,
};

/* Is the frame for another station, as a bridge or a promiscuous interface sees them? */
FALCON_INLINE bool falcon_other_station(const struct xdp_md *ctx)
{
	const struct ethhdr *eth = falcon_data(ctx);
	__u32 ifindex = ctx->ingress_ifindex;
	const struct falcon_port *port = bpf_map_lookup_elem(&falcon_ports, &ifindex);

	if (!port || (const void *)(eth + 1) > falcon_data_end(ctx))
		return false;
	for (int i = 0; i < ETH_ALEN; i++)
		if (eth->h_dest[i] != port->mac[i])
			return true;
	return false;
}

/* Addresses and class of the packet, for the kernel's routing. False if there is no whole IP header. */
FALCON_INLINE bool falcon_route_key(const struct xdp_md *ctx, const struct falcon_frame *f,
				    struct bpf_fib_lookup *fib)
{
	const void *l3 = falcon_data(ctx) + (f->l3_off & 0x1f);

	fib->l4_protocol = IPPROTO_UDP;
	fib->ifindex = ctx->ingress_ifindex;
	if (f->ipv6) {
		const struct ipv6hdr *ip = l3;

		if ((const void *)(ip + 1) > falcon_data_end(ctx))
			return false;
		fib->family = FALCON_AF_INET6;
		__builtin_memcpy(fib->ipv6_src, &ip->saddr, sizeof(fib->ipv6_src));
		__builtin_memcpy(fib->ipv6_dst, &ip->daddr, sizeof(fib->ipv6_dst));
	} else {
		const struct iphdr *ip = l3;

		if ((const void *)(ip + 1) > falcon_data_end(ctx))
			return false;
		fib->family = FALCON_AF_INET;
		fib->tos = ip->tos & 0x1c;
		fib->ipv4_src = ip->saddr;
		fib->ipv4_dst = ip->daddr;
	}
	return true;
}

/* Would the kernel send the packet on, or tell its sender why it cannot? */
static __noinline bool falcon_of_others(struct xdp_md *ctx, const struct falcon_frame *f)
{
	struct bpf_fib_lookup fib = {};
	long rc;

	if (falcon_other_station(ctx))
		return true;
	if (!falcon_route_key(ctx, f, &fib))
		return false;
	rc = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	return rc == BPF_FIB_LKUP_RET_SUCCESS || rc == BPF_FIB_LKUP_RET_NO_NEIGH ||
	       rc == BPF_FIB_LKUP_RET_FRAG_NEEDED;
}

#endif /* FALCON_BPF_OTHERS_H */
