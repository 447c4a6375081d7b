// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include <netinet/in.h>	/* before the kernel's headers, which then leave its names alone */

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <falcon/wire/psp.h>

#include "crypto/encap.h"

enum {
	IP_LEN_MAX = 65535,
	UDP_LEN = sizeof(struct udphdr),
	PORTS_LEN = 4,
	V4_LEN = sizeof(struct iphdr),
	V6_LEN = sizeof(struct ipv6hdr),
};

/* An IP packet in an Ethernet frame. */
struct ip_packet {
	const uint8_t *l3;
	bool ipv6;
	uint8_t proto;
	uint32_t hdr_len;	/* IPv4 with options, IPv6 without extensions */
	uint32_t len;		/* header and all that follows, no padding */
};

/* Frames lie at any address: fields are read and written bytewise. */
static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static uint16_t ip_checksum(const uint8_t *hdr, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i += 2)
		sum += get16(hdr + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~(sum + (sum >> 16));
}

static int parse_ipv4(struct ip_packet *ip, uint32_t room)
{
	if (room < V4_LEN)
		return SA_ERR_TRUNCATED;
	ip->ipv6 = false;
	ip->proto = ip->l3[offsetof(struct iphdr, protocol)];
	ip->hdr_len = (ip->l3[0] & 15) * 4u;
	ip->len = get16(ip->l3 + offsetof(struct iphdr, tot_len));
	if (ip->l3[0] >> 4 != 4 || ip->hdr_len < V4_LEN || ip->len < ip->hdr_len)
		return SA_ERR_LENGTH;
	return ip->len > room ? SA_ERR_TRUNCATED : 0;
}

static int parse_ipv6(struct ip_packet *ip, uint32_t room)
{
	if (room < V6_LEN)
		return SA_ERR_TRUNCATED;
	ip->ipv6 = true;
	ip->proto = ip->l3[offsetof(struct ipv6hdr, nexthdr)];
	ip->hdr_len = V6_LEN;
	ip->len = V6_LEN + get16(ip->l3 + offsetof(struct ipv6hdr, payload_len));
	if (ip->l3[0] >> 4 != 6)
		return SA_ERR_LENGTH;
	return ip->len > room ? SA_ERR_TRUNCATED : 0;
}

static int parse_frame(const uint8_t *frame, uint32_t len, struct ip_packet *ip)
{
	if (len < ETH_HLEN)
		return SA_ERR_TRUNCATED;
	ip->l3 = frame + ETH_HLEN;
	switch (get16(frame + offsetof(struct ethhdr, h_proto))) {
	case ETH_P_IP: return parse_ipv4(ip, len - ETH_HLEN);
	case ETH_P_IPV6: return parse_ipv6(ip, len - ETH_HLEN);
	default: return SA_ERR_NOT_IP;
	}
}

static bool has_ports(const struct ip_packet *ip)
{
	return (ip->proto == IPPROTO_UDP || ip->proto == IPPROTO_TCP) &&
	       ip->len - ip->hdr_len >= PORTS_LEN;
}

/* Protocols that come back as they were from transport mode. */
static bool transportable(const struct ip_packet *ip)
{
	if (ip->ipv6)
		return ip->proto == IPPROTO_UDP || ip->proto == IPPROTO_TCP;
	return ip->proto != IPPROTO_IPIP && ip->proto != IPPROTO_IPV6;
}

/* Make |l3| the header of a packet of |len| bytes that carries |proto|. */
static void set_ip(uint8_t *l3, bool ipv6, uint32_t hdr_len, uint32_t len, uint8_t proto)
{
	uint8_t *check = l3 + offsetof(struct iphdr, check);

	if (ipv6) {
		l3[offsetof(struct ipv6hdr, nexthdr)] = proto;
		put16(l3 + offsetof(struct ipv6hdr, payload_len), len - V6_LEN);
		return;
	}
	l3[offsetof(struct iphdr, protocol)] = proto;
	put16(l3 + offsetof(struct iphdr, tot_len), len);
	put16(check, 0);
	put16(check, ip_checksum(l3, hdr_len));
}

static void put_udp(uint8_t *udp, const struct ip_packet *inner, uint32_t len)
{
	const uint8_t *ports = inner->l3 + inner->hdr_len;
	uint16_t source = FALCON_PSP_UDP_PORT;

	if (has_ports(inner))
		source = get16(ports) ^ get16(ports + 2);
	put16(udp + offsetof(struct udphdr, source), source);
	put16(udp + offsetof(struct udphdr, dest), FALCON_PSP_UDP_PORT);
	put16(udp + offsetof(struct udphdr, len), len);
	put16(udp + offsetof(struct udphdr, check), 0);
}

static void put_psp(uint8_t *psp, const struct sa *sa, const struct psp_encap *e,
		    uint8_t next_header, uint8_t offset, uint64_t iv)
{
	uint64_t cookie = falcon_hton64(e->cookie);
	struct falcon_psp_hdr h;

	falcon_psp_fill(&h, sa_encap(sa), e->vc, sa_spi(sa), iv);
	h.next_header = next_header;
	h.crypt_offset = offset;
	memcpy(psp, &h, sizeof(h));
	if (e->vc)
		memcpy(psp + sizeof(h), &cookie, sizeof(cookie));
}

/* What of the clear packet goes where. */
struct plan {
	const uint8_t *data;	/* what is sealed */
	uint32_t data_len;
	uint32_t outer_len;	/* of the outer IP header */
	uint32_t psp_len;	/* header, cookie and data, without ICV */
	uint8_t next_header;
	uint8_t offset;
};

static int make_plan(const struct psp_encap *e, const struct ip_packet *ip, struct plan *p)
{
	if (e->tunnel) {
		p->outer_len = ip->ipv6 ? V6_LEN : V4_LEN;
		p->data = ip->l3;
		p->data_len = ip->len;
		p->next_header = ip->ipv6 ? IPPROTO_IPV6 : IPPROTO_IPIP;
		p->offset = ip->ipv6 ? e->tunnel6_offset : e->tunnel4_offset;
	} else {
		if (!transportable(ip))
			return SA_ERR_PROTOCOL;
		p->outer_len = ip->hdr_len;
		p->data = ip->l3 + ip->hdr_len;
		p->data_len = ip->len - ip->hdr_len;
		p->next_header = ip->proto;
		p->offset = e->transport_offset;
	}
	if (p->offset * FALCON_PSP_CRYPT_UNIT > p->data_len)
		return SA_ERR_OFFSET;
	p->psp_len = falcon_psp_len(e->vc) + p->data_len;
	return 0;
}

int psp_encap(struct sa *sa, const struct psp_encap *e, uint64_t now_ps, const uint8_t *clear,
	      uint32_t len, uint8_t *out, uint32_t room)
{
	uint32_t udp_len, ip_len;
	struct ip_packet ip;
	uint8_t *l3, *psp;
	struct plan p;
	uint64_t iv;
	int err;

	err = parse_frame(clear, len, &ip);
	if (!err)
		err = make_plan(e, &ip, &p);
	if (err)
		return err;
	udp_len = UDP_LEN + p.psp_len + FALCON_ICV_LEN;
	ip_len = p.outer_len + udp_len;
	if (ip_len - (ip.ipv6 ? V6_LEN : 0) > IP_LEN_MAX)
		return SA_ERR_LENGTH;
	if (ETH_HLEN + ip_len > room)
		return SA_ERR_ROOM;
	err = sa_next_iv(sa, now_ps, &iv);
	if (err)
		return err;
	l3 = out + ETH_HLEN;
	psp = l3 + p.outer_len + UDP_LEN;
	memcpy(out, clear, ETH_HLEN + p.outer_len);
	if (!ip.ipv6)
		l3[0] = (uint8_t)(4 << 4 | p.outer_len / 4);
	set_ip(l3, ip.ipv6, p.outer_len, ip_len, IPPROTO_UDP);
	put_udp(l3 + p.outer_len, &ip, udp_len);
	put_psp(psp, sa, e, p.next_header, p.offset, iv);
	memcpy(psp + falcon_psp_len(e->vc), p.data, p.data_len);
	err = psp_seal(sa, psp, p.psp_len, p.psp_len + FALCON_ICV_LEN);
	return err < 0 ? err : (int)(ETH_HLEN + ip_len);
}

int psp_frame_find(const uint8_t *frame, uint32_t len, struct psp_frame *f)
{
	struct ip_packet ip;
	const uint8_t *udp;
	uint32_t l4_len;
	int err;

	err = parse_frame(frame, len, &ip);
	if (err)
		return err;
	if (!ip.ipv6 && ip_checksum(ip.l3, ip.hdr_len))
		return SA_ERR_CHECKSUM;
	udp = ip.l3 + ip.hdr_len;
	l4_len = ip.len - ip.hdr_len;
	if (ip.proto != IPPROTO_UDP)
		return SA_ERR_NOT_PSP;
	if (l4_len < UDP_LEN)
		return SA_ERR_TRUNCATED;
	if (get16(udp + offsetof(struct udphdr, dest)) != FALCON_PSP_UDP_PORT)
		return SA_ERR_NOT_PSP;
	if (get16(udp + offsetof(struct udphdr, len)) != l4_len)
		return SA_ERR_LENGTH;
	if (l4_len < UDP_LEN + FALCON_PSP_HDR_LEN + FALCON_ICV_LEN)
		return SA_ERR_TRUNCATED;
	f->ipv6 = ip.ipv6;
	f->udp_off = (uint32_t)(udp - frame);
	f->psp_off = f->udp_off + UDP_LEN;
	f->psp_len = l4_len - UDP_LEN;
	return 0;
}

/* The frame of a tunnel's inner packet: its protocol is the PSP header's, not the outer frame's. */
static void set_ethertype(uint8_t *frame, bool ipv6)
{
	put16(frame + offsetof(struct ethhdr, h_proto), ipv6 ? ETH_P_IPV6 : ETH_P_IP);
}

int psp_decap(struct sa *sa, uint8_t *frame, const struct psp_frame *f, uint8_t *out,
	      uint32_t room)
{
	uint8_t *psp = frame + f->psp_off;
	uint32_t skip, data_len, head;
	struct falcon_psp_hdr h;
	bool tunnel;
	int len;

	len = psp_open(sa, psp, f->psp_len);
	if (len < 0)
		return len;
	memcpy(&h, psp, sizeof(h));
	skip = falcon_psp_len(falcon_psp_has_vc(&h));
	data_len = (uint32_t)len - skip;
	tunnel = h.next_header == IPPROTO_IPIP || h.next_header == IPPROTO_IPV6;
	head = tunnel ? ETH_HLEN : f->udp_off;
	if (head + data_len > room)
		return SA_ERR_ROOM;
	memcpy(out, frame, head);
	memcpy(out + head, psp + skip, data_len);
	if (tunnel)
		set_ethertype(out, h.next_header == IPPROTO_IPV6);
	else
		set_ip(out + ETH_HLEN, f->ipv6, f->udp_off - ETH_HLEN,
		       f->udp_off - ETH_HLEN + data_len, h.next_header);
	return (int)(head + data_len);
}
