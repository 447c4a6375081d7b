// SPDX-License-Identifier: BSD-2-Clause
#include "io/frame.h"

#include <arpa/inet.h>
#include <string.h>

/* Ones' complement sum of |len| bytes in memory order, not folded; |sum| carries on. */
static uint64_t sum_bytes(const void *data, size_t len, uint64_t sum)
{
	const uint8_t *p = data;
	uint64_t v, a = 0, b = 0;
	uint32_t w;

	for (; len >= 16; len -= 16, p += 16) {
		memcpy(&v, p, 8);
		a += (v & 0xffffffff) + (v >> 32);
		memcpy(&v, p + 8, 8);
		b += (v & 0xffffffff) + (v >> 32);
	}
	for (; len >= 4; len -= 4, p += 4) {
		memcpy(&w, p, 4);
		a += w;
	}
	if (len) {
		w = 0;
		memcpy(&w, p, len);
		b += w;
	}
	return sum + a + b;
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void fill_ipv4(struct frame_template *t, const struct frame_route *r)
{
	struct iphdr *ip = (void *)(t->hdr + t->l3_off);

	ip->version = 4;
	ip->ihl = 5;
	ip->tos = FALCON_ECN_ECT0;
	ip->frag_off = htons(0x4000);
	ip->ttl = FALCON_DEFAULT_TTL;
	ip->protocol = IPPROTO_UDP;
	memcpy(&ip->saddr, r->src_addr, 4);
	memcpy(&ip->daddr, r->dst_addr, 4);
	t->ip_sum = (uint32_t)sum_bytes(ip, sizeof(*ip), 0);
	t->udp_off = t->l3_off + sizeof(*ip);
}

static void fill_ipv6(struct frame_template *t, const struct frame_route *r)
{
	struct ipv6hdr *ip = (void *)(t->hdr + t->l3_off);

	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = FALCON_DEFAULT_TTL;
	memcpy(&ip->saddr, r->src_addr, 16);
	memcpy(&ip->daddr, r->dst_addr, 16);
	t->udp_off = t->l3_off + sizeof(*ip);
}

void frame_template_init(struct frame_template *t, const struct frame_route *r)
{
	struct ethhdr *eth = (void *)t->hdr;
	size_t alen = r->ipv6 ? 16 : 4;
	struct udphdr *udp;

	memset(t->hdr, 0, sizeof(t->hdr));
	memcpy(eth->h_dest, r->dst_mac, 6);
	memcpy(eth->h_source, r->src_mac, 6);
	eth->h_proto = htons(r->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	t->ipv6 = r->ipv6;
	t->path = r->path;
	t->l3_off = ETH_HLEN;
	if (r->ipv6)
		fill_ipv6(t, r);
	else
		fill_ipv4(t, r);
	udp = (void *)(t->hdr + t->udp_off);
	udp->dest = htons(FALCON_PSP_UDP_PORT);
	falcon_psp_fill((void *)(udp + 1), FALCON_PSP_CLEAR, false, r->spi, 0);
	t->len = (uint16_t)(t->udp_off + sizeof(*udp) + FALCON_PSP_HDR_LEN);
	t->pseudo_sum = (uint32_t)fold(sum_bytes(r->src_addr, alen, 0) +
				       sum_bytes(r->dst_addr, alen, 0) + htons(IPPROTO_UDP));
}

static uint64_t next_iv(struct frame_template *t, uint64_t now_ns)
{
	uint64_t iv = now_ns * FALCON_PS_PER_NS;

	if (iv <= t->last_iv)
		iv = t->last_iv + 1;
	t->last_iv = iv;
	return iv;
}

/*
 * Flow and path, where switches and the receiver look for them. Over IPv6 that is the label; the
 * port says the same to switches that hash nothing else.
 */
static void set_flow(const struct frame_template *t, uint8_t *out, uint32_t flow, uint32_t path)
{
	struct udphdr *udp = (void *)(out + t->udp_off);

	path ^= t->path;
	udp->source = htons(falcon_flow_port(flow, path));
	if (t->ipv6) {
		uint32_t word0 = htonl(6U << 28 | (uint32_t)FALCON_ECN_ECT0 << 20 |
				       falcon_flow_label(flow, path));

		memcpy(out + t->l3_off, &word0, sizeof(word0));
	}
}

static void set_ip_length(const struct frame_template *t, uint8_t *out, uint32_t udp_len)
{
	if (t->ipv6) {
		struct ipv6hdr *ip = (void *)(out + t->l3_off);

		ip->payload_len = htons((uint16_t)udp_len);
	} else {
		struct iphdr *ip = (void *)(out + t->l3_off);

		ip->tot_len = htons((uint16_t)(sizeof(*ip) + udp_len));
		ip->check = (uint16_t)~fold((uint64_t)t->ip_sum + ip->tot_len);
	}
}

uint32_t frame_build(struct frame_template *t, const struct fcore_packet *p, uint64_t now_ns,
		     uint8_t *out)
{
	uint8_t *body = out + t->len;
	uint32_t len = t->len + p->hdr_len + p->ulp_hdr_len + p->payload_len;
	uint32_t udp_len = len - t->udp_off;
	struct udphdr *udp = (void *)(out + t->udp_off);
	struct falcon_psp_hdr *psp = (void *)(udp + 1);
	uint64_t sum;

	memcpy(out, t->hdr, t->len);
	psp->iv = falcon_hton64(next_iv(t, now_ns));
	udp->len = htons((uint16_t)udp_len);
	set_flow(t, out, p->flow, p->path);
	set_ip_length(t, out, udp_len);
	memcpy(body, p->hdr, p->hdr_len);
	body += p->hdr_len;
	if (p->ulp_hdr_len)
		memcpy(body, p->ulp_hdr, p->ulp_hdr_len);
	body += p->ulp_hdr_len;
	if (p->payload_len)
		memcpy(body, p->payload, p->payload_len);
	/* The copy has just brought the bytes into the cache, so the sum over it is cheap. */
	sum = t->pseudo_sum + (uint64_t)udp->len;
	sum = sum_bytes(udp, udp_len, sum);
	udp->check = (uint16_t)~fold(sum);
	if (udp->check == 0)
		udp->check = 0xffff;
	return len;
}

uint32_t frame_max_payload(uint32_t mtu, bool ipv6)
{
	uint32_t overhead = (ipv6 ? 40 : 20) + 8 + FALCON_PSP_HDR_LEN +
			    (uint32_t)sizeof(struct falcon_push_hdr);

	return mtu > overhead ? mtu - overhead : 0;
}

bool frame_checksum_ok(const uint8_t *data, const struct falcon_frame *f)
{
	size_t alen = f->ipv6 ? 32 : 8;
	size_t addr_off = f->udp_off - alen;
	uint64_t sum;

	if (f->udp_check == 0)
		return false;
	sum = sum_bytes(data + addr_off, alen,
			(uint64_t)htons(IPPROTO_UDP) + htons(f->udp_len));
	return fold(sum_bytes(data + f->udp_off, f->udp_len, sum)) == 0xffff;
}
