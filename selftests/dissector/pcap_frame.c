// SPDX-License-Identifier: BSD-2-Clause
#include "make_pcap.h"

#include <arpa/inet.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

static pcap_t *pcap;
static pcap_dumper_t *dumper;
unsigned int frame;
static unsigned char packet[SNAPLEN];

void expect(const char *field, uint64_t v)
{
	printf("%u %s 0x%llx\n", frame, field, (unsigned long long)v);
}

void expect_bytes(const char *field, const void *data, size_t len)
{
	printf("%u %s ", frame, field);
	for (size_t i = 0; i < len; i++)
		printf("%02x", ((const unsigned char *)data)[i]);
	putchar('\n');
}

/* One's complement sum over |len| bytes, added to |sum|. */
static uint32_t sum16(const void *data, size_t len, uint32_t sum)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* The IP header for |len| bytes of UDP. Returns its length; *|pseudo| gets the addresses' sum. */
static size_t put_ip(unsigned char *at, const struct wrap *w, size_t len, uint32_t *pseudo)
{
	if (w->ipv6) {
		struct ipv6hdr ip = { .version = 6, .payload_len = htons((uint16_t)len),
				      .nexthdr = IPPROTO_UDP, .hop_limit = 61 };

		inet_pton(AF_INET6, "fd00::1", &ip.saddr);
		inet_pton(AF_INET6, "fd00::2", &ip.daddr);
		*pseudo = sum16(&ip.saddr, 32, 0);
		memcpy(at, &ip, sizeof(ip));
		return sizeof(ip);
	}
	struct iphdr ip = { .version = 4, .ihl = 5, .tot_len = htons((uint16_t)(len + 20)),
			    .ttl = 61, .protocol = IPPROTO_UDP };

	inet_pton(AF_INET, "10.0.0.1", &ip.saddr);
	inet_pton(AF_INET, "10.0.0.2", &ip.daddr);
	ip.check = htons(fold(sum16(&ip, sizeof(ip), 0)));
	*pseudo = sum16(&ip.saddr, 8, 0);
	memcpy(at, &ip, sizeof(ip));
	return sizeof(ip);
}

static size_t put_eth(unsigned char *at, const struct wrap *w)
{
	struct ethhdr eth = { .h_dest = { 2, 0, 0, 0, 0, 2 }, .h_source = { 2, 0, 0, 0, 0, 1 } };
	struct falcon_vlan_hdr vlan = { .tci = htons(100) };
	__be16 proto = htons(w->ipv6 ? ETH_P_IPV6 : ETH_P_IP);

	eth.h_proto = w->vlan ? htons(ETH_P_8021Q) : proto;
	memcpy(at, &eth, sizeof(eth));
	if (!w->vlan)
		return sizeof(eth);
	vlan.proto = proto;
	memcpy(at + sizeof(eth), &vlan, sizeof(vlan));
	return sizeof(eth) + sizeof(vlan);
}

/* PSP header and cookie; says what a dissector must show of it. Returns the length. */
static size_t put_psp(unsigned char *at, const struct wrap *w)
{
	const __u64 iv = (0x9abcdef0ULL << FALCON_TIME_SHIFT) + 12345 + frame;
	const __be64 cookie = falcon_hton64(0x1122334455667788);
	struct falcon_psp_hdr psp;

	falcon_psp_fill(&psp, (__u8)w->version, w->vc, 0x80001234, iv);
	if (w->next_header)
		psp.next_header = (__u8)w->next_header;
	memcpy(at, &psp, sizeof(psp));
	expect("falcon_psp.next_header", psp.next_header);
	expect("falcon_psp.hdr_ext_len", w->vc ? 2 : 1);
	expect("falcon_psp.crypt_offset", w->vc ? 3 : 1);
	expect("falcon_psp.version", w->version);
	expect("falcon_psp.vc_present", w->vc);
	expect("falcon_psp.one", 1);
	expect("falcon_psp.spi", 0x80001234);
	expect("falcon_psp.iv", iv);
	expect("falcon_psp.t1", 0x9abcdef0);
	if (!w->vc)
		return sizeof(psp);
	memcpy(at + sizeof(psp), &cookie, sizeof(cookie));
	expect("falcon_psp.vc", 0x1122334455667788);
	return sizeof(psp) + sizeof(cookie);
}

void emit(const struct wrap *w, const void *falcon, size_t len)
{
	struct pcap_pkthdr h = { .ts.tv_sec = frame };
	struct udphdr udp = { .source = htons(0xc000), .dest = htons(FALCON_PSP_UDP_PORT) };
	unsigned char body[SNAPLEN];
	uint32_t pseudo;
	size_t n, off;

	n = put_psp(body, w);
	memcpy(body + n, falcon, len);
	n += len;
	if (w->version != FALCON_PSP_CLEAR) {
		memset(body + n, 0xcc, FALCON_ICV_LEN);
		expect_bytes("falcon_psp.icv", body + n, FALCON_ICV_LEN);
		n += FALCON_ICV_LEN;
	}
	udp.len = htons((uint16_t)(n + sizeof(udp)));
	off = put_eth(packet, w);
	off += put_ip(packet + off, w, n + sizeof(udp), &pseudo);
	pseudo += IPPROTO_UDP + (uint32_t)(n + sizeof(udp));
	if (!w->no_csum)
		udp.check = htons(fold(sum16(body, n, sum16(&udp, sizeof(udp), pseudo))));
	memcpy(packet + off, &udp, sizeof(udp));
	memcpy(packet + off + sizeof(udp), body, n);
	h.caplen = h.len = (bpf_u_int32)(off + sizeof(udp) + n);
	pcap_dump((unsigned char *)dumper, &h, packet);
}

const struct wrap clear = { .version = FALCON_PSP_CLEAR };

void expect_hdr(const struct falcon_hdr *h)
{
	expect("falcon.version", 1);
	expect("falcon.cid", h->cid);
	expect("falcon.function", h->function);
	expect("falcon.proto", h->proto);
	expect("falcon.type", h->type);
	expect("falcon.ar", h->ar);
	expect("falcon.rdbpsn", h->rdbpsn);
	expect("falcon.rrbpsn", h->rrbpsn);
	expect("falcon.psn", h->psn);
	expect("falcon.rsn", h->rsn);
	if (h->type == FALCON_PULL_REQUEST || h->type == FALCON_PUSH_DATA)
		expect("falcon.request_len", h->request_len);
	if (h->type == FALCON_RESYNC) {
		expect("falcon.resync.code", h->resync_code);
		expect("falcon.resync.type", h->resync_type);
		expect("falcon.resync.vendor", h->vendor);
	}
}

struct falcon_hdr hdr(__u8 type)
{
	return (struct falcon_hdr){
		.cid = 0xabcde0 + type, .function = 0x123456, .proto = FALCON_PROTO_RAW,
		.type = type, .ar = type & 1, .rdbpsn = 0xfffffff0 + type, .rrbpsn = 17,
		.psn = 0x01020304, .rsn = 0x05060708, .request_len = 1000,
	};
}

void bad_bytes(const struct wrap *w, const void *data, size_t len, const char *expert)
{
	frame++;
	printf("%u %s expert\n", frame, expert);
	emit(w, data, len);
}

int frames_open(const char *path)
{
	pcap = pcap_open_dead(DLT_EN10MB, SNAPLEN);
	dumper = pcap_dump_open(pcap, path);
	if (dumper)
		return 0;
	pcap_perror(pcap, path);
	return -1;
}

void frames_close(void)
{
	pcap_dump_close(dumper);
	pcap_close(pcap);
}
