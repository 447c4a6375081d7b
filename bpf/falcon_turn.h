/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BPF ONLY. Turning a received frame into its answer: the same frame with the ends exchanged and
 * an ACK or NACK in place of its Falcon packet. VLAN tags, flow label and UDP source port
 * (flow and path) and a virtualization cookie stay as they came.
 */
#ifndef FALCON_BPF_TURN_H
#define FALCON_BPF_TURN_H

#include "falcon_csum.h"
#include "falcon_work.h"

FALCON_INLINE void falcon_turn_eth(struct ethhdr *eth)
{
	__u8 mac[ETH_ALEN];

	__builtin_memcpy(mac, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, mac, ETH_ALEN);
}

FALCON_INLINE void falcon_turn_ipv4(struct iphdr *ip, __u32 l4_len)
{
	__be32 addr = ip->saddr;

	ip->saddr = ip->daddr;
	ip->daddr = addr;
	ip->tos &= ~FALCON_ECN_MASK;
	ip->tot_len = falcon_hton16((__u16)(sizeof(*ip) + l4_len));
	ip->id = 0;
	ip->frag_off = falcon_hton16(0x4000);
	ip->ttl = FALCON_DEFAULT_TTL;
	ip->check = 0;
	ip->check = ~falcon_csum_fold(falcon_csum_add(0, ip, sizeof(*ip)));
}

FALCON_INLINE void falcon_turn_ipv6(struct ipv6hdr *ip, __u32 l4_len)
{
	struct in6_addr addr = ip->saddr;

	ip->saddr = ip->daddr;
	ip->daddr = addr;
	ip->flow_lbl[0] &= (__u8)~(FALCON_ECN_MASK << 4);
	ip->payload_len = falcon_hton16((__u16)l4_len);
	ip->hop_limit = FALCON_DEFAULT_TTL;
}

/* Rewrite the headers for an answer of |udp_len| bytes. The UDP checksum is left 0. */
static __noinline bool falcon_turn_headers(struct xdp_md *ctx, const struct falcon_work *w,
					   __u32 udp_len)
{
	void *data = falcon_data(ctx), *l3 = data + (w->rx.frame.l3_off & 0x1f);
	void *end = falcon_data_end(ctx);
	struct udphdr *udp;
	__u64 iv = bpf_ktime_get_ns() * FALCON_PS_PER_NS;

	if (data + sizeof(struct ethhdr) > end ||
	    l3 + sizeof(struct ipv6hdr) + sizeof(*udp) + FALCON_PSP_HDR_LEN > end)
		return false;
	falcon_turn_eth(data);
	if (w->rx.frame.ipv6) {
		falcon_turn_ipv6(l3, udp_len);
		udp = l3 + sizeof(struct ipv6hdr);
	} else {
		falcon_turn_ipv4(l3, udp_len);
		udp = l3 + sizeof(struct iphdr);
	}
	udp->len = falcon_hton16((__u16)udp_len);
	udp->check = 0;
	falcon_psp_fill((void *)(udp + 1), FALCON_PSP_CLEAR, w->rx.frame.vc, w->rx.conn->id.peer_spi, iv);
	return true;
}

/* Compute the UDP checksum of the answer; the field holds 0. */
FALCON_INLINE void falcon_turn_csum(struct xdp_md *ctx, const struct falcon_work *w, __u32 udp_len)
{
	__u16 sum = ~falcon_csum_udp(ctx, &w->rx.frame, udp_len);
	struct udphdr *udp = falcon_data(ctx) + (w->rx.frame.udp_off & 0xff);

	if ((void *)(udp + 1) > falcon_data_end(ctx))
		return;
	/* 0 would say "no checksum" */
	udp->check = sum ? sum : 0xffff;
}

/* Make the frame, whose Falcon packet is replaced, one to the peer, of |udp_len| bytes from UDP on. */
FALCON_INLINE bool falcon_turn_around(struct xdp_md *ctx, const struct falcon_work *w, __u32 udp_len)
{
	if (!falcon_turn_headers(ctx, w, udp_len))
		return false;
	falcon_turn_csum(ctx, w, udp_len);
	return true;
}

/* A function of its own for the verifier: all ways of composing an answer meet at its end. */
static __noinline __u32 falcon_turn_compose(const struct falcon_work *w, enum falcon_verdict v,
					    struct falcon_ack *a)
{
	return falcon_rx_answer(w->rx.conn, w->rx.config, v, w->rx.frame.flow, &w->rx.hdr, a);
}

/* Put |a| in place of the Falcon packet and let the frame end there. Returns its length, or 0. */
static __noinline __u32 falcon_turn_payload(struct xdp_md *ctx, const struct falcon_work *w,
					    const struct falcon_ack *a)
{
	__u8 out[FALCON_MAX_HDR_LEN] = {};
	__u32 len = falcon_ack_pack(a, out), off = w->rx.frame.falcon_off;

	if (len == 0 || len > sizeof(out))
		return 0;
	if (bpf_xdp_adjust_tail(ctx, (int)(off + len) - (int)falcon_frame_len(ctx)))
		return 0;
	return bpf_xdp_store_bytes(ctx, off, out, len) ? 0 : len;
}

/*
 * Answer the packet as verdict |v| asks. False if the answer does not fit; what an EACK would have
 * told is then still to be told.
 */
static __noinline bool falcon_turn(struct xdp_md *ctx, struct falcon_work *w, enum falcon_verdict v)
{
	__u32 udp_len, len, acked;
	struct falcon_ack a = {};

	acked = falcon_turn_compose(w, v, &a);
	len = falcon_turn_payload(ctx, w, &a);
	udp_len = w->rx.frame.falcon_off - w->rx.frame.udp_off + len;
	if (len && falcon_turn_around(ctx, w, udp_len)) {
		falcon_ack_told(w->rx.conn, w->rx.frame.flow, acked);
		return true;
	}
	if (a.own)
		falcon_fetch_or(&w->rx.conn->rx.own, (__u32)a.own);
	return false;
}

#endif /* FALCON_BPF_TURN_H */
