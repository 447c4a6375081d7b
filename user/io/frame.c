// SPDX-License-Identifier: BSD-2-Clause
#include "io/frame.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

/* Two numbers that one instruction works on, whatever the processor: the compiler sees to it. */
typedef uint64_t pair __attribute__((vector_size(16)));

/* Ones' complement sum of |len| bytes in memory order, not folded; |sum| carries on. */
static uint64_t sum_bytes(const void *data, size_t len, uint64_t sum)
{
	const pair low = { 0xffffffff, 0xffffffff };
	const uint8_t *p = data;
	pair u, v, a = {}, b = {};
	uint32_t w;

	for (; len >= 32; len -= 32, p += 32) {
		memcpy(&u, p, 16);
		memcpy(&v, p + 16, 16);
		a += (u & low) + (u >> 32);
		b += (v & low) + (v >> 32);
	}
	a += b;
	for (; len >= 4; len -= 4, p += 4) {
		memcpy(&w, p, 4);
		sum += w;
	}
	if (len) {
		w = 0;
		memcpy(&w, p, len);
		sum += w;
	}
	return sum + a[0] + a[1];
}

static void set_ipv4(struct iphdr *ip, uint8_t proto, const struct falcon_addr *src,
		     const struct falcon_addr *dst)
{
	ip->version = 4;
	ip->ihl = 5;
	ip->tos = FALCON_ECN_ECT0;
	ip->frag_off = htons(0x4000);
	ip->ttl = FALCON_DEFAULT_TTL;
	ip->protocol = proto;
	memcpy(&ip->saddr, src->b, 4);
	memcpy(&ip->daddr, dst->b, 4);
}

static void set_ipv6(struct ipv6hdr *ip, uint8_t proto, const struct falcon_addr *src,
		     const struct falcon_addr *dst)
{
	uint32_t word0 = htonl(6U << 28 | (uint32_t)FALCON_ECN_ECT0 << 20);

	memcpy(ip, &word0, sizeof(word0));
	ip->nexthdr = proto;
	ip->hop_limit = FALCON_DEFAULT_TTL;
	memcpy(&ip->saddr, src->b, 16);
	memcpy(&ip->daddr, dst->b, 16);
}

static uint16_t add_outer(struct frame_template *t, const struct frame_route *r)
{
	void *ip = t->hdr + t->l3_off;

	if (r->ipv6) {
		set_ipv6(ip, IPPROTO_UDP, &r->src_addr, &r->dst_addr);
		return t->l3_off + sizeof(struct ipv6hdr);
	}
	set_ipv4(ip, IPPROTO_UDP, &r->src_addr, &r->dst_addr);
	t->ip_sum = (uint32_t)sum_bytes(ip, sizeof(struct iphdr), 0);
	return t->l3_off + sizeof(struct iphdr);
}

/* The inner IP header (Falcon 7.1.2) goes where the template has ended so far. */
static void add_inner(struct frame_template *t, const struct frame_route *r)
{
	void *ip = t->hdr + t->len;

	t->inner_off = t->len;
	t->inner_ipv6 = r->inner_ipv6;
	if (r->inner_ipv6) {
		set_ipv6(ip, FALCON_NEXT_HEADER, &r->inner_src, &r->inner_dst);
		t->len += FALCON_INNER_IPV6_LEN;
		return;
	}
	set_ipv4(ip, FALCON_NEXT_HEADER, &r->inner_src, &r->inner_dst);
	t->inner_sum = (uint32_t)sum_bytes(ip, sizeof(struct iphdr), 0);
	t->len += FALCON_INNER_IPV4_LEN;
}

/*
 * The encapsulation's header at t->sec_off, before |inner_len| bytes of inner IP header. Returns its
 * length.
 */
static uint32_t add_sec(struct frame_template *t, const struct frame_route *r, uint32_t inner_len)
{
	struct falcon_psp_hdr *psp = (void *)(t->hdr + t->sec_off);
	uint64_t cookie = falcon_hton64(r->cookie);

	/* Of ESP's header nothing is known before the packet is. */
	if (falcon_encap_is_esp(r->encap))
		return FALCON_ESP_HDR_LEN;
	falcon_psp_fill(psp, r->encap, r->vc, r->spi, 0);
	psp->crypt_offset = falcon_psp_crypt_offset(r->vc, inner_len);
	if (r->vc)
		memcpy(psp + 1, &cookie, sizeof(cookie));
	return falcon_psp_len(r->vc);
}

static void add_contents(struct frame_template *t, const struct frame_route *r)
{
	uint32_t inner_len = r->inner_ipv6 ? FALCON_INNER_IPV6_LEN : FALCON_INNER_IPV4_LEN;

	t->encap = r->encap;
	t->next_header = FALCON_NEXT_HEADER;
	t->len = (uint16_t)(t->sec_off + add_sec(t, r, r->tunnel ? inner_len : 0));
	t->inner_off = 0;
	if (!r->tunnel)
		return;
	t->next_header = r->inner_ipv6 ? FALCON_NEXT_IPV6 : FALCON_NEXT_IPV4;
	add_inner(t, r);
}

static void add_ethernet(struct frame_template *t, const struct frame_route *r)
{
	uint16_t type = htons(r->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	struct ethhdr *eth = (void *)t->hdr;
	uint8_t *tags = t->hdr + offsetof(struct ethhdr, h_proto);

	memcpy(eth->h_dest, r->dst_mac, 6);
	memcpy(eth->h_source, r->src_mac, 6);
	memcpy(tags, r->tags, r->tags_len);
	memcpy(tags + r->tags_len, &type, sizeof(type));
	t->l3_off = (uint16_t)(ETH_HLEN + r->tags_len);
}

void frame_template_init(struct frame_template *t, const struct frame_route *r)
{
	size_t alen = r->ipv6 ? 16 : 4;
	struct udphdr *udp;

	memset(t->hdr, 0, sizeof(t->hdr));
	add_ethernet(t, r);
	t->ipv6 = r->ipv6;
	t->udp_off = add_outer(t, r);
	udp = (void *)(t->hdr + t->udp_off);
	udp->dest = htons(falcon_encap_is_esp(r->encap) ? FALCON_ESP_UDP_PORT : FALCON_PSP_UDP_PORT);
	t->sec_off = (uint16_t)(t->udp_off + sizeof(*udp));
	add_contents(t, r);
	t->pseudo_sum = falcon_csum_fold(sum_bytes(r->src_addr.b, alen, 0) +
					 sum_bytes(r->dst_addr.b, alen, 0) + htons(IPPROTO_UDP));
}

/* A clock of ps starts over after 213 days; receivers compare IVs modulo 2^64, too (Falcon 9.2.2.2). */
static uint64_t next_iv(struct frame_template *t, uint64_t iv)
{
	if (t->last_iv && (int64_t)(iv - t->last_iv) <= 0)
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

	udp->source = htons(falcon_flow_port(flow, path));
	if (t->ipv6) {
		uint32_t word0 = htonl(6U << 28 | (uint32_t)FALCON_ECN_ECT0 << 20 |
				       falcon_flow_label(flow, path));

		memcpy(out + t->l3_off, &word0, sizeof(word0));
	}
}

/* SPI and IV, which make the nonce: the association's; of a clear packet, the template's. */
static int set_nonce(struct frame_template *t, struct sa *sa, uint64_t now_ps, uint8_t *sec)
{
	struct falcon_psp_hdr *psp = (void *)sec;

	if (t->encap == FALCON_PSP_CLEAR) {
		psp->iv = falcon_hton64(next_iv(t, now_ps));
		return 0;
	}
	if (!sa)
		return SA_ERR_DIRECTION;
	return sa_encap(sa) == t->encap ? sa_stamp(sa, sec, now_ps) : SA_ERR_VERSION;
}

/* Of the IP header at |ip|, which |len| bytes follow; |sum| is an IPv4 header's without length. */
static void set_ip_length(void *ip, bool ipv6, uint32_t sum, uint32_t len)
{
	struct ipv6hdr *ip6 = ip;
	struct iphdr *ip4 = ip;

	if (ipv6) {
		ip6->payload_len = htons((uint16_t)len);
		return;
	}
	ip4->tot_len = htons((uint16_t)(sizeof(*ip4) + len));
	ip4->check = (uint16_t)~falcon_csum_fold((uint64_t)sum + ip4->tot_len);
}

static uint8_t *put_packet(const struct fcore_packet *p, uint8_t *body)
{
	memcpy(body, p->hdr, p->hdr_len);
	body += p->hdr_len;
	if (p->ulp_hdr_len)
		memcpy(body, p->ulp_hdr, p->ulp_hdr_len);
	body += p->ulp_hdr_len;
	if (p->payload_len)
		memcpy(body, p->payload, p->payload_len);
	return body + p->payload_len;
}

static void set_udp_checksum(const struct frame_template *t, struct udphdr *udp, uint32_t udp_len)
{
	/* The copy has just brought the bytes into the cache, so the sum over it is cheap. */
	uint64_t sum = sum_bytes(udp, udp_len, t->pseudo_sum + (uint64_t)udp->len);

	udp->check = (uint16_t)~falcon_csum_fold(sum);
	if (udp->check == 0)
		udp->check = 0xffff;
}

int frame_build(struct frame_template *t, struct sa *sa, const struct fcore_packet *p,
		uint64_t now_ps, uint8_t *out)
{
	struct udphdr *udp = (void *)(out + t->udp_off);
	uint8_t *sec = out + t->sec_off;
	uint32_t len, udp_len;
	int rc;

	memcpy(out, t->hdr, t->len);
	rc = set_nonce(t, sa, now_ps, sec);
	if (rc < 0)
		return rc;
	len = (uint32_t)(put_packet(p, out + t->len) - sec);
	if (t->inner_off)
		set_ip_length(out + t->inner_off, t->inner_ipv6, t->inner_sum,
			      len + t->sec_off - t->len);
	rc = (int)len;
	if (t->encap != FALCON_PSP_CLEAR)
		rc = sa_seal(sa, sec, len, len + FRAME_MAX_TRAILER, t->next_header);
	if (rc < 0)
		return rc;
	udp_len = (uint32_t)sizeof(*udp) + (uint32_t)rc;
	udp->len = htons((uint16_t)udp_len);
	set_flow(t, out, p->flow, p->path);
	set_ip_length(out + t->l3_off, t->ipv6, t->ip_sum, udp_len);
	/* The ICV does what the UDP checksum would, which else stays 0. */
	if (t->encap == FALCON_PSP_CLEAR)
		set_udp_checksum(t, udp, udp_len);
	return (int)(t->udp_off + udp_len);
}

uint32_t frame_around(uint8_t encap, bool vc, uint32_t inner_len)
{
	if (falcon_encap_is_esp(encap))
		return FALCON_ESP_HDR_LEN + inner_len + FRAME_MAX_TRAILER;
	return falcon_psp_len(vc) + inner_len + falcon_icv_len(encap);
}

uint32_t frame_max_payload(uint32_t mtu, bool ipv6, uint32_t around)
{
	uint32_t overhead = (ipv6 ? 40 : 20) + (uint32_t)sizeof(struct udphdr) + around +
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
	return falcon_csum_fold(sum_bytes(data + f->udp_off, f->udp_len, sum)) == 0xffff;
}
