/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From an Ethernet frame to a Falcon header: Ethernet, up to two VLAN tags, IPv4 or IPv6, and PSP with
 * next header 252 in UDP to port 1000, or ESP in UDP to port 4500. Of ESP, all from the Falcon header on
 * is encrypted: what the receiver does not find here it finds by the SPI, and by decryption.
 * Compiled for BPF and for the host, where it is fuzzed.
 */
#ifndef FALCON_PARSE_H
#define FALCON_PARSE_H

#ifdef __bpf__
#include <linux/in.h>
#else
#include <netinet/in.h>	/* before the kernel's headers, which then leave its names alone */
#endif
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "../abi/maps.h"
#include "../types.h"
#include "../wire/esp.h"
#include "../wire/psp.h"

enum falcon_parse_const {
	FALCON_MAX_VLANS = 2,
	FALCON_VLAN_TAG_LEN = 4,
	FALCON_MAX_L3_OFF = ETH_HLEN + FALCON_MAX_VLANS * FALCON_VLAN_TAG_LEN,
	FALCON_MAX_FALCON_OFF = FALCON_MAX_L3_OFF + 40 + 8 + FALCON_PSP_HDR_LEN +
				FALCON_PSP_VC_LEN + FALCON_INNER_IPV6_LEN,
	FALCON_ECN_MASK = 3,
	FALCON_ECN_CE = 3,
	FALCON_ECN_ECT0 = 2,
};

struct falcon_vlan_hdr {
	__be16 tci;
	__be16 proto;
};

/* Where things are in a frame, and the outer fields that the receiver needs. */
struct falcon_frame {
	__u16 l3_off;		/* IP header, bytes from the start of the frame */
	__u16 udp_off;
	__u16 sec_off;		/* PSP or ESP header */
	__u16 falcon_off;	/* of ESP, while encrypted: what follows its IV */
	__u16 falcon_len;	/* Falcon header and payload, bytes; of ESP, while encrypted: and padding */
	__u16 udp_len;		/* UDP header to the end, bytes */
	__u8 ipv6;
	__u8 ttl;		/* TTL or hop limit as received */
	__u8 ecn;		/* 2 bits */
	__u8 encap;		/* enum falcon_encap, as falcon_encap_seen() */
	__u8 vc;		/* virtualization cookie present */
	__u8 inner_len;		/* tunnel mode: bytes of the inner IP header; 0: transport mode, or ESP
				 * while encrypted */
	__be16 udp_check;
	__u32 spi;
	__u64 iv;
	__u64 cookie;		/* PCID in the cookie; 0 without one */
	__u32 cid;		/* destination CID; of ESP, while encrypted, what the SPI is known for */
	__u8 type;		/* packet type, not yet validated; of no meaning while encrypted */
	__u8 flow;		/* index of the sender's flow, 0..FALCON_MAX_FLOWS - 1 */
	__u16 path;		/* of that flow, as falcon_flow_label() and falcon_flow_port() write it */
};

/*
 * Multipath: a packet names its flow in the low bits of what switches hash for the path, the IPv6
 * flow label, or for IPv4 the UDP source port. The bits above them choose the path.
 */
enum falcon_path_const {
	FALCON_FLOW_MASK = FALCON_MAX_FLOWS - 1,
	FALCON_FLOW_BITS = 4,
	FALCON_LABEL_PATH_MASK = 0xffff,	/* path bits of a flow label */
	FALCON_PORT_PATH_MASK = 0x3ff,		/* path bits of a source port */
	FALCON_PORT_FIRST = 0xc000,		/* source ports are dynamic ones (RFC 6335) */
};

/*
 * The flow label, 20 bits, of |flow| on |path|. Path 0 is written as the last one: label 0 says
 * "not labelled", and switches may then look for entropy elsewhere (RFC 6437).
 */
FALCON_INLINE __u32 falcon_flow_label(__u32 flow, __u32 path)
{
	path &= FALCON_LABEL_PATH_MASK;
	return (path ? path : FALCON_LABEL_PATH_MASK) << FALCON_FLOW_BITS |
	       (flow & FALCON_FLOW_MASK);
}

/* The UDP source port, host order, of |flow| on |path|. */
FALCON_INLINE __u16 falcon_flow_port(__u32 flow, __u32 path)
{
	return (__u16)(FALCON_PORT_FIRST | (path & FALCON_PORT_PATH_MASK) << FALCON_FLOW_BITS |
		       (flow & FALCON_FLOW_MASK));
}

/* Bytes from the start of the PSP or ESP header to what follows it. */
FALCON_INLINE __u32 falcon_sec_len(const struct falcon_frame *f)
{
	return falcon_encap_is_esp(f->encap) ? (__u32)FALCON_ESP_HDR_LEN : falcon_psp_len(f->vc);
}

FALCON_INLINE bool falcon_is_vlan(__be16 proto)
{
	return proto == falcon_hton16(ETH_P_8021Q) || proto == falcon_hton16(ETH_P_8021AD);
}

/*
 * The IP header at f->l3_off. Fills addressing fields and *|l4_len|, the bytes after the IP header
 * that the IP header announces. FALCON_V_pass_not_falcon if it is not UDP, a drop verdict, or
 * FALCON_V_rx_data for "go on".
 */
FALCON_INLINE enum falcon_verdict falcon_parse_ipv4(const void *l3, const void *end,
						    struct falcon_frame *f, __u32 *l4_len)
{
	const struct iphdr *ip = l3;
	__u32 total;

	if ((const void *)(ip + 1) > end || ip->version != 4)
		return FALCON_V_pass_not_falcon;
	/* Falcon packets carry no IP options; one that does is nobody's we know. */
	if (ip->protocol != IPPROTO_UDP || ip->ihl != 5)
		return FALCON_V_pass_not_falcon;
	/* A later fragment has no ports to look at and is left to the kernel. */
	if (ip->frag_off & falcon_hton16(0x1fff))
		return FALCON_V_pass_not_falcon;
	total = falcon_ntoh16(ip->tot_len);
	f->ipv6 = 0;
	f->ttl = ip->ttl;
	f->ecn = ip->tos & FALCON_ECN_MASK;
	f->udp_off = f->l3_off + sizeof(*ip);
	*l4_len = total >= sizeof(*ip) ? total - (__u32)sizeof(*ip) : 0;
	return FALCON_V_rx_data;
}

FALCON_INLINE enum falcon_verdict falcon_parse_ipv6(const void *l3, const void *end,
						    struct falcon_frame *f, __u32 *l4_len)
{
	const struct ipv6hdr *ip = l3;

	if ((const void *)(ip + 1) > end || ip->version != 6 || ip->nexthdr != IPPROTO_UDP)
		return FALCON_V_pass_not_falcon;
	f->ipv6 = 1;
	f->ttl = ip->hop_limit;
	f->ecn = (ip->flow_lbl[0] >> 4) & FALCON_ECN_MASK;
	f->flow = ip->flow_lbl[2] & FALCON_FLOW_MASK;
	f->path = (__u16)(ip->flow_lbl[0] << 12 | ip->flow_lbl[1] << 4 |
			  ip->flow_lbl[2] >> FALCON_FLOW_BITS);
	f->udp_off = f->l3_off + sizeof(*ip);
	*l4_len = falcon_ntoh16(ip->payload_len);
	return FALCON_V_rx_data;
}

/*
 * What follows the PSP header and its cookie, at |p|: the Falcon header itself, or an inner IP
 * header first (Falcon 7.1.2), in the clear, to be believed only once authenticated. Sets
 * f->inner_len. False if it is no Falcon packet.
 */
FALCON_INLINE bool falcon_parse_inner(__u8 next_header, const void *p, const void *end,
				      struct falcon_frame *f)
{
	const struct iphdr *ip4 = p;
	const struct ipv6hdr *ip6 = p;

	f->inner_len = 0;
	if (next_header == FALCON_NEXT_HEADER)
		return true;
	/* Clear packets are not tunneled. */
	if (!falcon_icv_len(f->encap))
		return false;
	if (next_header == FALCON_NEXT_IPV4) {
		f->inner_len = FALCON_INNER_IPV4_LEN;
		return (const void *)(ip4 + 1) <= end && ip4->version == 4 && ip4->ihl == 5 &&
		       ip4->protocol == FALCON_NEXT_HEADER;
	}
	if (next_header == FALCON_NEXT_IPV6) {
		f->inner_len = FALCON_INNER_IPV6_LEN;
		return (const void *)(ip6 + 1) <= end && ip6->version == 6 &&
		       ip6->nexthdr == FALCON_NEXT_HEADER;
	}
	return false;
}

/* The PSP header's constant bits and lengths; the CID, and no more, is left in the clear. */
FALCON_INLINE bool falcon_psp_sound(const struct falcon_psp_hdr *psp, const struct falcon_frame *f)
{
	return (psp->flags & FALCON_PSP_F_ONE) && !(psp->crypt_offset & ~FALCON_PSP_CRYPT_MASK) &&
	       psp->hdr_ext_len == (f->vc ? FALCON_PSP_EXT_LEN_VC : FALCON_PSP_EXT_LEN_NO_VC) &&
	       (!falcon_encrypts(f->encap) ||
		psp->crypt_offset == falcon_psp_crypt_offset(f->vc, f->inner_len));
}

/* The first two words of the Falcon header, of which encryption leaves only the first readable. */
FALCON_INLINE enum falcon_verdict falcon_parse_falcon(const __be32 *falcon, const void *end,
						      struct falcon_frame *f)
{
	if ((const void *)(falcon + 2) > end)
		return FALCON_V_drop_truncated;
	if (falcon_wire_version(falcon[0]) != FALCON_VERSION)
		return FALCON_V_drop_version;
	f->cid = falcon_wire_cid(falcon[0]);
	f->type = falcon_wire_type(falcon[1]);
	return FALCON_V_rx_data;
}

/*
 * What PSP and ESP have in common: the lengths of UDP, which |l4_len| must agree with, and of what
 * follows. |head| bytes go before the Falcon packet and |tail| behind it, counted from UDP's header.
 */
FALCON_INLINE enum falcon_verdict falcon_parse_lengths(const struct udphdr *udp, const void *end,
						       struct falcon_frame *f, __u32 l4_len,
						       __u32 head, __u32 tail)
{
	if (l4_len < sizeof(*udp) || l4_len > (__u64)((const char *)end - (const char *)udp))
		return FALCON_V_drop_ip_length;
	f->udp_len = falcon_ntoh16(udp->len);
	if (f->udp_len != l4_len)
		return FALCON_V_drop_udp_length;
	if (f->udp_len < head + 8 + tail)
		return FALCON_V_drop_truncated;
	f->udp_check = udp->check;
	if (!f->ipv6) {
		f->flow = falcon_ntoh16(udp->source) & FALCON_FLOW_MASK;
		f->path = falcon_ntoh16(udp->source) >> FALCON_FLOW_BITS & FALCON_PORT_PATH_MASK;
	}
	f->sec_off = f->udp_off + sizeof(*udp);
	f->falcon_off = (__u16)(f->udp_off + head);
	f->falcon_len = (__u16)(f->udp_len - head - tail);
	return FALCON_V_rx_data;
}

/* Behind the PSP header: the cookie, if there is one. Returns what follows, or NULL. */
FALCON_INLINE const void *falcon_parse_cookie(const struct falcon_psp_hdr *psp, const void *end,
					      struct falcon_frame *f)
{
	const __be64 *vc = (const void *)(psp + 1);

	f->cookie = 0;
	if (!f->vc)
		return vc;
	if ((const void *)(vc + 1) > end)
		return NULL;
	__builtin_memcpy(&f->cookie, vc, sizeof(f->cookie));
	f->cookie = falcon_ntoh64(f->cookie);
	return vc + 1;
}

/* The first fragment of an IPv4 packet; later ones have no ports. */
FALCON_INLINE bool falcon_fragmented(const void *l3, const struct falcon_frame *f)
{
	const struct iphdr *ip = l3;

	return !f->ipv6 && (ip->frag_off & falcon_hton16(0x2000));
}

/* PSP and the first two words of the Falcon header, behind |udp|. */
FALCON_INLINE enum falcon_verdict falcon_parse_psp(const void *l3, const struct udphdr *udp,
						   const void *end, struct falcon_frame *f,
						   __u32 l4_len)
{
	const struct falcon_psp_hdr *psp = (const void *)(udp + 1);
	enum falcon_verdict v;
	const void *inner;

	if ((const void *)(psp + 1) > end)
		return FALCON_V_pass_not_falcon;
	f->vc = falcon_psp_has_vc(psp);
	f->encap = falcon_psp_version(psp);
	f->spi = falcon_ntoh32(psp->spi);
	f->iv = falcon_ntoh64(psp->iv);
	inner = falcon_parse_cookie(psp, end, f);
	if (!inner)
		return psp->next_header == FALCON_NEXT_HEADER ? FALCON_V_drop_truncated
							      : FALCON_V_pass_not_falcon;
	if (!falcon_parse_inner(psp->next_header, inner, end, f))
		return FALCON_V_pass_not_falcon;
	if (falcon_fragmented(l3, f))
		return FALCON_V_drop_ip_fragment;
	v = falcon_parse_lengths(udp, end, f, l4_len,
				 (__u32)sizeof(*udp) + falcon_psp_len(f->vc) + f->inner_len,
				 falcon_icv_len(f->encap));
	if (v != FALCON_V_rx_data)
		return v;
	if (!falcon_psp_sound(psp, f))
		return FALCON_V_drop_psp;
	if (f->inner_len == FALCON_INNER_IPV4_LEN)
		return falcon_parse_falcon(inner + FALCON_INNER_IPV4_LEN, end, f);
	if (f->inner_len == FALCON_INNER_IPV6_LEN)
		return falcon_parse_falcon(inner + FALCON_INNER_IPV6_LEN, end, f);
	return falcon_parse_falcon(inner, end, f);
}

/*
 * ESP, behind |udp|. Other IPsec uses the port, too: as soon as f->encap says ESP, the caller has to
 * look up f->spi, and leave the packet to the kernel if it is not ours, whatever the verdict.
 */
FALCON_INLINE enum falcon_verdict falcon_parse_esp(const void *l3, const struct udphdr *udp,
						   const void *end, struct falcon_frame *f,
						   __u32 l4_len)
{
	const struct falcon_esp_hdr *esp = (const void *)(udp + 1);
	enum falcon_verdict v;

	/* IKE begins with zeros, a keep-alive is shorter (RFC 3948 2.2, 2.3). */
	if ((const void *)(esp + 1) > end || l4_len < sizeof(*udp) + sizeof(*esp) || esp->spi == 0)
		return FALCON_V_pass_not_falcon;
	f->encap = falcon_encap_seen(FALCON_ESP_AES_GCM_128);
	f->vc = 0;
	f->cookie = 0;
	f->inner_len = 0;
	f->cid = 0;
	f->type = 0;
	f->spi = falcon_ntoh32(esp->spi);
	f->iv = falcon_ntoh64(esp->iv);
	if (falcon_fragmented(l3, f))
		return FALCON_V_drop_ip_fragment;
	v = falcon_parse_lengths(udp, end, f, l4_len, (__u32)sizeof(*udp) + FALCON_ESP_HDR_LEN,
				 FALCON_ESP_TRAILER_LEN + FALCON_ICV_LEN);
	if (v != FALCON_V_rx_data)
		return v;
	/* Padding and trailer, of which only the least is known, fill up to whole words. */
	return (f->falcon_len + FALCON_ESP_TRAILER_LEN) % FALCON_ESP_ALIGN ? FALCON_V_drop_esp
									   : FALCON_V_rx_data;
}

/* UDP, from |l4| on: Falcon or not. */
FALCON_INLINE enum falcon_verdict falcon_parse_udp(const void *l3, const void *l4, const void *end,
						   struct falcon_frame *f, __u32 l4_len)
{
	const struct udphdr *udp = l4;

	if ((const void *)(udp + 1) > end)
		return FALCON_V_pass_not_falcon;
	if (udp->dest == falcon_hton16(FALCON_PSP_UDP_PORT))
		return falcon_parse_psp(l3, udp, end, f, l4_len);
	if (udp->dest == falcon_hton16(FALCON_ESP_UDP_PORT))
		return falcon_parse_esp(l3, udp, end, f, l4_len);
	return FALCON_V_pass_not_falcon;
}

/* The 16 bits that |sum| of words of any length up to 32 bits comes to (RFC 1071). */
FALCON_INLINE __u16 falcon_csum_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)sum;
}

/* RFC 791 3.1, of a header without options. Nothing below XDP has looked at it. */
FALCON_INLINE bool falcon_ipv4_csum_good(const void *l3)
{
	__u32 words[sizeof(struct iphdr) / sizeof(__u32)];

	__builtin_memcpy(words, l3, sizeof(words));
	return falcon_csum_fold((__u64)words[0] + words[1] + words[2] + words[3] + words[4]) == 0xffff;
}

/*
 * Parse the frame from |data| to |end|. Fills |f| and returns FALCON_V_rx_data if it is a Falcon
 * packet whose lengths agree; FALCON_V_pass_not_falcon if the kernel should have it; else the drop
 * verdict. If f->encap says ESP, that holds only once f->spi is known to be ours, and f->cid is then for
 * the caller to set. Reads nothing past |end|.
 */
FALCON_INLINE enum falcon_verdict falcon_parse_frame(const void *data, const void *end,
						     struct falcon_frame *f)
{
	const struct ethhdr *eth = data;
	const void *l3 = eth + 1;
	enum falcon_verdict v;
	__u32 l4_len = 0;
	__be16 proto;

	f->encap = FALCON_PSP_CLEAR;
	if (l3 > end)
		return FALCON_V_pass_not_falcon;
	proto = eth->h_proto;
	f->l3_off = ETH_HLEN;
	for (int i = 0; i < FALCON_MAX_VLANS; i++) {
		const struct falcon_vlan_hdr *vlan = l3;

		if (!falcon_is_vlan(proto))
			break;
		if ((const void *)(vlan + 1) > end)
			return FALCON_V_pass_not_falcon;
		proto = vlan->proto;
		l3 = vlan + 1;
		f->l3_off += sizeof(*vlan);
	}
	if (proto == falcon_hton16(ETH_P_IP)) {
		v = falcon_parse_ipv4(l3, end, f, &l4_len);
		if (v != FALCON_V_rx_data)
			return v;
		v = falcon_parse_udp(l3, (const struct iphdr *)l3 + 1, end, f, l4_len);
		return v == FALCON_V_rx_data && !falcon_ipv4_csum_good(l3) ? FALCON_V_drop_ip_csum : v;
	}
	if (proto == falcon_hton16(ETH_P_IPV6)) {
		v = falcon_parse_ipv6(l3, end, f, &l4_len);
		if (v != FALCON_V_rx_data)
			return v;
		return falcon_parse_udp(l3, (const struct ipv6hdr *)l3 + 1, end, f, l4_len);
	}
	return FALCON_V_pass_not_falcon;
}

#endif /* FALCON_PARSE_H */
