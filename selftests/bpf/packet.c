// SPDX-License-Identifier: BSD-2-Clause
#include "packet.h"

#include <netinet/in.h>

const uint8_t packet_src_mac[6] = { 0x02, 0, 0, 0, 0, 0x0a };
const uint8_t packet_dst_mac[6] = { 0x02, 0, 0, 0, 0, 0x0b };

/* RFC 1071 over big-endian words, as it is written there. */
static uint32_t sum_bytes(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static uint32_t sum_udp(const uint8_t *l3, bool ipv6, const uint8_t *udp, size_t udp_len)
{
	uint32_t sum = (uint32_t)udp_len + IPPROTO_UDP;

	sum = ipv6 ? sum_bytes(l3 + 8, 32, sum) : sum_bytes(l3 + 12, 8, sum);
	return sum_bytes(udp, udp_len, sum);
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

size_t packet_l3_off(const struct packet_shape *s)
{
	return ETH_HLEN + 4 * s->vlans;
}

size_t packet_udp_off(const struct packet_shape *s)
{
	return packet_l3_off(s) + (s->ipv6 ? 40 : 20);
}

size_t packet_sec_off(const struct packet_shape *s)
{
	return packet_udp_off(s) + 8;
}

/* Bytes of the PSP or ESP header. */
static size_t sec_len(const struct packet_shape *s)
{
	return falcon_encap_is_esp(s->encap) ? FALCON_ESP_HDR_LEN : falcon_psp_len(s->vc);
}

size_t packet_falcon_off(const struct packet_shape *s)
{
	return packet_sec_off(s) + sec_len(s) + s->inner_len;
}

void packet_shape_of(const struct falcon_conn_id *id, uint64_t iv, struct packet_shape *s)
{
	memset(s, 0, sizeof(*s));
	s->ipv6 = id->flags & FALCON_CONN_IPV6;
	s->ttl = 60;
	s->encap = FALCON_PSP_CLEAR;
	memcpy(s->saddr, id->peer_addr, 16);
	memcpy(s->daddr, id->local_addr, 16);
	s->spi = id->cur_spi;
	s->iv = iv;
	s->cookie = id->pcid;
}

uint16_t packet_src_port(const struct packet_shape *s)
{
	return s->ipv6 ? PACKET_SRC_PORT : falcon_flow_port(s->flow, s->path);
}

static uint8_t *put_eth(const struct packet_shape *s, uint8_t *p)
{
	memcpy(p, packet_dst_mac, 6);
	memcpy(p + 6, packet_src_mac, 6);
	p += 12;
	for (unsigned int i = 0; i < s->vlans; i++, p += 4) {
		put16(p, i + 1 < s->vlans ? ETH_P_8021AD : ETH_P_8021Q);
		put16(p + 2, 100 + i);
	}
	put16(p, s->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	return p + 2;
}

static void put_ip(const struct packet_shape *s, uint8_t *p, size_t udp_len)
{
	memset(p, 0, s->ipv6 ? 40 : 20);
	if (s->ipv6) {
		put16(p, 0x6000U | (uint32_t)s->ecn << 4 | falcon_flow_label(s->flow, s->path) >> 16);
		put16(p + 2, falcon_flow_label(s->flow, s->path));
		put16(p + 4, (uint32_t)udp_len);
		p[6] = IPPROTO_UDP;
		p[7] = s->ttl;
		memcpy(p + 8, s->saddr, 16);
		memcpy(p + 24, s->daddr, 16);
		return;
	}
	p[0] = 0x45;
	p[1] = s->ecn;
	put16(p + 2, (uint32_t)udp_len + 20);
	put16(p + 4, 0x1234);
	put16(p + 6, 0x4000);
	p[8] = s->ttl;
	p[9] = IPPROTO_UDP;
	memcpy(p + 12, s->saddr, 4);
	memcpy(p + 16, s->daddr, 4);
}

/* An inner IP header of s->inner_len bytes before |len| bytes of Falcon packet. */
static void put_inner(const struct packet_shape *s, uint8_t *p, size_t len)
{
	memset(p, 0, s->inner_len);
	if (s->inner_len == FALCON_INNER_IPV6_LEN) {
		p[0] = 0x60;
		put16(p + 4, (uint32_t)len);
		p[6] = FALCON_NEXT_HEADER;
	} else if (s->inner_len) {
		p[0] = 0x45;
		put16(p + 2, (uint32_t)len + s->inner_len);
		p[9] = FALCON_NEXT_HEADER;
	}
}

static uint8_t next_header(const struct packet_shape *s)
{
	if (!s->inner_len)
		return FALCON_NEXT_HEADER;
	return s->inner_len == FALCON_INNER_IPV6_LEN ? FALCON_NEXT_IPV6 : FALCON_NEXT_IPV4;
}

static void put_psp(const struct packet_shape *s, uint8_t *p)
{
	struct falcon_psp_hdr *h = (void *)p;
	uint64_t vc = htobe64(s->cookie);

	falcon_psp_fill(h, s->encap, s->vc, s->spi, s->iv);
	h->crypt_offset = falcon_psp_crypt_offset(s->vc, s->inner_len);
	h->next_header = next_header(s);
	if (s->vc)
		memcpy(p + FALCON_PSP_HDR_LEN, &vc, sizeof(vc));
}

static void put_esp(const struct packet_shape *s, uint8_t *p)
{
	uint64_t iv = htobe64(s->iv);

	put16(p, s->spi >> 16);
	put16(p + 2, s->spi);
	put16(p + 4, s->seq >> 16);
	put16(p + 6, s->seq);
	memcpy(p + 8, &iv, sizeof(iv));
}

/* Padding and trailer of ESP behind |len| bytes, to |p|. Returns how many bytes. */
static size_t put_esp_trailer(const struct packet_shape *s, size_t len, uint8_t *p)
{
	size_t pad = 0;

	for (; (len + pad + 2) % 4; pad++)
		p[pad] = (uint8_t)(pad + 1);
	p[pad] = (uint8_t)pad;
	p[pad + 1] = next_header(s);
	return pad + 2;
}

size_t packet_build(const struct packet_shape *s, const void *falcon, size_t len, uint8_t *out)
{
	size_t icv = falcon_icv_len(s->encap), before = sec_len(s), udp_len;
	bool esp = falcon_encap_is_esp(s->encap);
	uint8_t *udp = out + packet_udp_off(s), *p = udp + 8 + before;

	put_inner(s, p, len);
	p += s->inner_len;
	memcpy(p, falcon, len);
	p += len;
	if (esp)
		p += put_esp_trailer(s, s->inner_len + len, p);
	memset(p, 0xc5, icv);
	udp_len = (size_t)(p - udp) + icv;
	put_ip(s, put_eth(s, out), udp_len);
	put16(udp, packet_src_port(s));
	put16(udp + 2, esp ? FALCON_ESP_UDP_PORT : FALCON_PSP_UDP_PORT);
	put16(udp + 4, (uint32_t)udp_len);
	put16(udp + 6, 0);
	if (esp)
		put_esp(s, udp + 8);
	else
		put_psp(s, udp + 8);
	packet_fix_csum(out, (size_t)(udp - out) + udp_len);
	return (size_t)(udp - out) + udp_len;
}

size_t packet_reliable(const struct falcon_hdr *h, size_t payload_len, uint8_t *out)
{
	size_t n = falcon_hdr_pack(h, out);

	for (size_t i = 0; i < payload_len; i++)
		out[n + i] = (uint8_t)(i * 7 + h->psn);
	return n + payload_len;
}

/* Skip the tags; returns the offset of the IP header and says which, 0 if it is neither. */
static size_t find_l3(const uint8_t *frame, size_t len, bool *ipv6)
{
	size_t off = 12;

	while (off + 4 <= len &&
	       (get16(frame + off) == ETH_P_8021Q || get16(frame + off) == ETH_P_8021AD))
		off += 4;
	if (off + 2 + 40 > len)
		return 0;
	*ipv6 = get16(frame + off) == ETH_P_IPV6;
	return *ipv6 || get16(frame + off) == ETH_P_IP ? off + 2 : 0;
}

void packet_fix_csum(uint8_t *frame, size_t len)
{
	bool ipv6;
	size_t l3 = find_l3(frame, len, &ipv6), udp = l3 + (ipv6 ? 40 : 20), udp_len;
	uint32_t sum;

	if (!l3 || udp + 8 > len)
		return;
	udp_len = get16(frame + udp + 4);
	if (udp_len < 8 || udp + udp_len > len)
		return;
	if (!ipv6) {
		put16(frame + l3 + 10, 0);
		put16(frame + l3 + 10, ~sum_bytes(frame + l3, 20, 0));
	}
	put16(frame + udp + 6, 0);
	sum = ~sum_udp(frame + l3, ipv6, frame + udp, udp_len) & 0xffff;
	put16(frame + udp + 6, sum ? sum : 0xffff);
}

int packet_parse_reply(const uint8_t *frame, size_t len, struct packet_reply *r)
{
	const uint8_t *l3, *udp, *falcon;

	memset(r, 0, sizeof(*r));
	if (falcon_parse_frame(frame, frame + len, &r->frame) != FALCON_V_rx_data)
		return -1;
	l3 = frame + r->frame.l3_off;
	udp = frame + r->frame.udp_off;
	falcon = frame + r->frame.falcon_off;
	memcpy(r->dst_mac, frame, 6);
	memcpy(r->src_mac, frame + 6, 6);
	memcpy(r->saddr, l3 + (r->frame.ipv6 ? 8 : 12), r->frame.ipv6 ? 16 : 4);
	memcpy(r->daddr, l3 + (r->frame.ipv6 ? 24 : 16), r->frame.ipv6 ? 16 : 4);
	r->src_port = get16(udp);
	if (r->frame.ipv6)
		r->label = (uint32_t)(l3[1] & 0xf) << 16 | get16(l3 + 2);
	r->ip_csum_ok = r->frame.ipv6 || sum_bytes(l3, 20, 0) == 0xffff;
	r->udp_csum_ok = r->frame.udp_check &&
			 sum_udp(l3, r->frame.ipv6, udp, r->frame.udp_len) == 0xffff;
	r->wire_error = falcon_ack_unpack(falcon, falcon + r->frame.falcon_len, &r->ack);
	return 0;
}
