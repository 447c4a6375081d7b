// SPDX-License-Identifier: BSD-2-Clause
/*
 * Write a capture of Falcon packets in ESP, one for each algorithm, mode and outer header, and what a
 * dissector must say of them.
 *
 *	make_esp FILE.pcap	on stdout "FRAME FIELD VALUE" lines, and "FRAME key HEX SPI"
 */
#include <arpa/inet.h>
#include <pcap/pcap.h>
#include <stdio.h>

#include <falcon/raw.h>

#include "io/frame.h"

enum { ROOM = 512, CID = 0x12345, PSN = 4000, DATA = 37 };

/* Write packet |n|: its bits choose algorithm, mode, outer and inner header. */
static int put(pcap_dumper_t *dumper, unsigned int n)
{
	const struct frame_route r = {
		.ipv6 = n & 4,
		.src_addr = { { 0x0a, 0xfa, 0, 1 } },
		.dst_addr = { { 0x0a, 0xfa, 0, 2 } },
		.encap = n & 1 ? FALCON_ESP_AES_GCM_256 : FALCON_ESP_AES_GCM_128,
		.tunnel = n & 2,
		.inner_ipv6 = n & 8,
		.inner_src = { { 192, 168, 1, 1 } },
		.inner_dst = { { 192, 168, 2, 2 } },
	};
	const struct falcon_hdr h = {
		.cid = CID, .type = FALCON_PUSH_DATA, .proto = FALCON_PROTO_RAW, .psn = PSN + n,
		.request_len = sizeof(struct falcon_raw_hdr) + DATA + n % 4,
	};
	const struct falcon_raw_hdr raw = { .op = FALCON_RAW_PUT, .dst_service = htons(7) };
	struct fcore_packet p = { .ulp_hdr_len = sizeof(raw), .payload_len = DATA + n % 4 };
	struct pcap_pkthdr pkt = { .ts.tv_sec = n };
	struct frame_template t = {};
	uint8_t out[ROOM], data[DATA + 4] = {}, key[SA_KEY_MAX];
	uint32_t spi = 0x80000100 + n;
	struct sa *sa;
	int len;

	for (unsigned int i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(i * 3 + n);
	sa = sa_new(SA_SEAL, r.encap, spi, key);
	if (!sa)
		return -1;
	p.hdr_len = falcon_hdr_pack(&h, p.hdr);
	p.ulp_hdr = &raw;
	p.payload = data;
	frame_template_init(&t, &r);
	len = frame_build(&t, sa, &p, (0x9abcdefULL << FALCON_TIME_SHIFT) + n, out);
	sa_free(sa);
	if (len < 0)
		return -1;
	pkt.caplen = pkt.len = (bpf_u_int32)len;
	pcap_dump((unsigned char *)dumper, &pkt, out);
	printf("%u falcon_esp.spi 0x%x\n%u falcon_esp.seq 1\n%u falcon_esp.t1 0x9abcdef\n", n + 1, spi,
	       n + 1, n + 1);
	printf("%u falcon.cid 0x%x\n%u falcon.psn %u\n%u falcon.type %u\n%u falcon_raw.dst_service 7\n",
	       n + 1, CID, n + 1, PSN + n, n + 1, FALCON_PUSH_DATA, n + 1);
	printf("%u key ", n + 1);
	for (unsigned int i = 0; i < sa_key_len(r.encap); i++)
		printf("%02x", key[i]);
	printf(" 0x%x IPv%d\n", spi, r.ipv6 ? 6 : 4);
	return 0;
}

int main(int argc, char **argv)
{
	pcap_t *p = pcap_open_dead(DLT_EN10MB, ROOM);
	pcap_dumper_t *dumper = argc == 2 && p ? pcap_dump_open(p, argv[1]) : NULL;
	int rc = dumper ? 0 : -1;

	for (unsigned int n = 0; rc == 0 && n < 16; n++)
		rc = put(dumper, n);
	if (dumper)
		pcap_dump_close(dumper);
	if (p)
		pcap_close(p);
	return rc ? 1 : 0;
}
