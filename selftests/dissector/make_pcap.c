// SPDX-License-Identifier: BSD-2-Clause
/*
 * Write captures with one packet of every kind, and what a dissector must say of them.
 *
 *	make_pcap good FILE.pcap	well-formed packets; on stdout "FRAME FIELD VALUE" lines
 *	make_pcap bad FILE.pcap		broken ones; on stdout "FRAME EXPERT-FIELD why"
 *
 * The packets come from the packers of include/falcon; the values from the structs before packing.
 */
#include <arpa/inet.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/nvme.h>
#include <falcon/parse.h>
#include <falcon/raw.h>
#include <falcon/rdma.h>

enum limits { SNAPLEN = 4096, PAYLOAD = 37 };

/* How a packet is wrapped. */
struct wrap {
	unsigned int version;	/* enum falcon_encap */
	bool vc, ipv6, vlan, no_csum;
	unsigned int next_header;	/* 0: Falcon */
};

static pcap_dumper_t *dumper;
static unsigned int frame;
static unsigned char packet[SNAPLEN];

static void expect(const char *field, uint64_t v)
{
	printf("%u %s 0x%llx\n", frame, field, (unsigned long long)v);
}

static void expect_bytes(const char *field, const void *data, size_t len)
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

/* Write one frame around the |len| Falcon bytes at |falcon|. */
static void emit(const struct wrap *w, const void *falcon, size_t len)
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

static const struct wrap clear = { .version = FALCON_PSP_CLEAR };

/* Expectations for a reliable packet. */
static void expect_hdr(const struct falcon_hdr *h)
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

static void expect_ack(const struct falcon_ack *a, const struct falcon_eack_hdr *w)
{
	expect("falcon.version", 1);
	expect("falcon.cid", a->cid);
	expect("falcon.type", a->type);
	expect("falcon.rdbpsn", a->rdbpsn);
	expect("falcon.rrbpsn", a->rrbpsn);
	expect("falcon.t1", a->t1);
	expect("falcon.t2", a->t2);
	expect("falcon.hops", a->hops);
	expect("falcon.rx_buffer", a->buffer_level);
	expect("falcon.ecn", a->ecn);
	if (a->type == FALCON_NACK) {
		expect("falcon.nack.rue_info", a->rue_info);
		expect("falcon.nack.psn", a->nack_psn);
		expect("falcon.nack.code", a->nack_code);
		expect("falcon.nack.rnr_timeout", a->rnr);
		expect("falcon.nack.window", a->nack_req_window);
		expect("falcon.nack.ulp_code", a->ulp_code);
		return;
	}
	expect("falcon.rue_info", a->rue_info);
	expect("falcon.own.request", a->own & FALCON_OWN_REQ);
	expect("falcon.own.data", a->own >> 1);
	if (a->type == FALCON_EACK) {
		expect_bytes("falcon.eack.data_ack", w->data_ack, 16);
		expect_bytes("falcon.eack.data_rx", w->data_rx, 16);
		expect_bytes("falcon.eack.request", w->req, 8);
	}
}

/* One reliable packet; |raw| is its raw header, if it has one, before |data| bytes of data. */
static void put_hdr(const struct wrap *w, struct falcon_hdr h, const struct falcon_raw_hdr *raw,
		    size_t data)
{
	unsigned char out[SNAPLEN];
	size_t ulp = (raw ? sizeof(*raw) : 0) + data, len;

	frame++;
	if (h.type == FALCON_PUSH_DATA)
		h.request_len = (__u16)ulp;
	len = falcon_hdr_pack(&h, out);
	if (raw)
		memcpy(out + len, raw, sizeof(*raw));
	memset(out + len + ulp - data, 0x5a, data);
	if (w->version >= FALCON_PSP_GMAC_128)
		expect_hdr(&h);
	else
		expect("falcon.cid", h.cid);
	if (w->version >= FALCON_PSP_GMAC_128 && raw) {
		expect("falcon_raw.op", raw->op);
		expect("falcon_raw.flags", raw->flags);
		expect("falcon_raw.dst_service", ntohs(raw->dst_service));
		expect("falcon_raw.src_service", ntohs(raw->src_service));
		expect("falcon_raw.offset", falcon_ntoh64(raw->offset));
	}
	if (w->version >= FALCON_PSP_GMAC_128 && data && h.proto == FALCON_PROTO_RAW)
		expect_bytes("falcon_raw.data", out + len + ulp - data, data);
	emit(w, out, len + ulp);
}

static void put_ack(const struct wrap *w, const struct falcon_ack *a)
{
	struct falcon_eack_hdr out;
	size_t len = falcon_ack_pack(a, &out);

	frame++;
	expect_ack(a, &out);
	emit(w, &out, len);
}

static struct falcon_hdr hdr(__u8 type)
{
	return (struct falcon_hdr){
		.cid = 0xabcde0 + type, .function = 0x123456, .proto = FALCON_PROTO_RAW,
		.type = type, .ar = type & 1, .rdbpsn = 0xfffffff0 + type, .rrbpsn = 17,
		.psn = 0x01020304, .rsn = 0x05060708, .request_len = 1000,
	};
}

static struct falcon_ack ack(__u8 type)
{
	return (struct falcon_ack){
		.cid = 0x123450 + type, .type = type, .hops = 3, .buffer_level = 21, .own = 2,
		.rdbpsn = 0xfffffffe, .rrbpsn = 5, .t1 = 0x80000001, .t2 = 0x80000102,
		.ecn = 0x2aaa, .rue_info = 0x2abcde, .data_ack = { 0xe, 0, 0, 0x80000000 },
		.data_rx = { 0xff00ff0e, 1, 2, 0xc0000000 }, .req = { 6, 0x40000000 },
		.nack_psn = 0xcafebabe, .nack_code = FALCON_NACK_RESOURCE,
	};
}

static const struct falcon_raw_hdr raw_put = {
	.op = FALCON_RAW_PUT, .dst_service = 0x0700, .src_service = 0x0180,
	.offset = 0x0807060504030201,
};
static const struct falcon_raw_hdr raw_get = { .op = FALCON_RAW_GET, .dst_service = 0x0700 };
static const struct falcon_raw_hdr raw_send = { .op = FALCON_RAW_SEND, .dst_service = 0x0700 };

static void good_reliable(const struct wrap *w)
{
	struct falcon_hdr h = hdr(FALCON_PUSH_DATA);

	put_hdr(w, hdr(FALCON_PULL_REQUEST), &raw_get, 0);
	put_hdr(w, hdr(FALCON_PULL_DATA), NULL, PAYLOAD);
	put_hdr(w, hdr(FALCON_PULL_DATA), NULL, 0);
	put_hdr(w, h, &raw_put, PAYLOAD);
	put_hdr(w, h, &raw_send, 0);
	put_hdr(w, h, &raw_send, PAYLOAD);
}

/* What a dissector must show of an NVMe packet. */
static void expect_nvme(const struct falcon_nvme_hdr *h, const struct falcon_nvme_cmd *c)
{
	expect("falcon_nvme.version", 1);
	expect("falcon_nvme.type", h->type);
	expect("falcon_nvme.function", h->function);
	expect("falcon_nvme.inv", h->inv);
	expect("falcon_nvme.split", h->split);
	expect("falcon_nvme.group", h->group);
	expect("falcon_nvme.ttag", h->ttag);
	expect("falcon_nvme.ncnt_total", h->total);
	expect("falcon_nvme.itag", h->itag);
	expect("falcon_nvme.ncnt_offset", h->offset);
	expect("falcon_nvme.icmd", h->icmd);
	if (!c)
		return;
	expect("falcon_nvme.initiator_nsid", c->initiator_nsid);
	expect("falcon_nvme.target_nsid", c->target_nsid);
	expect("falcon_nvme.slba_lo", (__u32)c->slba);
	expect("falcon_nvme.slba_hi", c->slba >> 32);
	expect("falcon_nvme.nlb", c->nlb);
	expect("falcon_nvme.dtype", h->type == FALCON_NVME_READ_REQUEST ? 0 : c->dtype);
	expect("falcon_nvme.prinfo", c->prinfo);
	expect("falcon_nvme.fua", c->fua);
	expect("falcon_nvme.lr", c->lr);
	expect("falcon_nvme.dsm", c->dsm);
	expect("falcon_nvme.unit", c->unit);
	expect("falcon_nvme.dspec", h->type == FALCON_NVME_READ_REQUEST ? 0 : c->dspec);
	expect("falcon_nvme.reftag", c->reftag);
	expect("falcon_nvme.apptag_mask", c->apptag_mask);
	expect("falcon_nvme.apptag", c->apptag);
	if (h->type == FALCON_NVME_COMMAND) {
		expect("falcon_nvme.opcode", c->opcode);
		expect("falcon_nvme.admin", c->admin);
	}
	expect("falcon_nvme.sqid", c->sqid);
}

/* One NVMe packet, with PAYLOAD bytes of data if its type has data. */
static void put_nvme(__u8 falcon_type, __u8 type)
{
	const struct falcon_nvme_hdr h = {
		.type = type, .inv = type == FALCON_NVME_WRITE_DATA, .split = 1, .group = type & 1,
		.total = 200, .offset = 100 + type, .function = 0x0a0b0c, .ttag = 0x123456,
		.itag = 0x654321, .icmd = 0xfedcba,
	};
	const struct falcon_nvme_cmd c = {
		.initiator_nsid = 7, .target_nsid = 0x8001, .slba = 0x1122334455667788, .nlb = 255,
		.dtype = 5, .prinfo = 9, .fua = 1, .lr = type & 1, .dsm = 0xa5, .unit = 6, .dspec = 0x4321,
		.reftag = 0xdeadbeef, .apptag_mask = 0xff00, .apptag = 0x1234, .opcode = 0x09,
		.admin = 1, .sqid = 99,
	};
	__u32 len = falcon_nvme_hdr_len(type), n;
	struct falcon_hdr f = hdr(falcon_type);
	unsigned char out[SNAPLEN] = {};

	frame++;
	f.proto = FALCON_PROTO_NVME;
	f.request_len = (__u16)(len + (falcon_nvme_has_data(type) ? PAYLOAD : 0));
	n = falcon_hdr_pack(&f, out);
	if (len == sizeof(struct falcon_nvme_request))
		falcon_nvme_request_pack(&h, &c, (void *)(out + n));
	else if (len == sizeof(struct falcon_nvme_response))
		falcon_nvme_response_pack(&h, 0x4281, (void *)(out + n));
	else
		falcon_nvme_nbth_pack(&h, (void *)(out + n));
	expect_nvme(&h, len == sizeof(struct falcon_nvme_request) ? &c : NULL);
	if (type == FALCON_NVME_WRITE_COMPLETION || type == FALCON_NVME_READ_RESPONSE) {
		expect("falcon_nvme.status.dnr", 1);
		expect("falcon_nvme.status.sct", 2);
		expect("falcon_nvme.status.sc", 0x81);
	}
	if (falcon_nvme_has_data(type)) {
		memset(out + n + len, 0x5a, PAYLOAD);
		expect_bytes("falcon_nvme.data", out + n + len, PAYLOAD);
		len += PAYLOAD;
	}
	emit(&clear, out, n + len);
}

static void good_nvme(void)
{
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_WRITE_REQUEST);
	put_nvme(FALCON_PULL_REQUEST, FALCON_NVME_WRITE_DATA_REQUEST);
	put_nvme(FALCON_PULL_DATA, FALCON_NVME_WRITE_DATA);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_WRITE_COMPLETION);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_READ_REQUEST);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_READ_RESPONSE);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_COMMAND);
}

/* What a dissector must show of an RDMA packet. */
static void expect_rdma(const struct falcon_rdma_hdr *h)
{
	__u32 has = falcon_rdma_headers(h->opcode);
	const struct {
		__u32 with;
		const char *field;
		__u64 value;
	} fields[] = {
		{ FALCON_RDMA_KNOWN, "version", 1 }, { FALCON_RDMA_KNOWN, "ce", h->ce },
		{ FALCON_RDMA_KNOWN, "pad", h->pad }, { FALCON_RDMA_KNOWN, "se", h->se },
		{ FALCON_RDMA_KNOWN, "opcode", h->opcode },
		{ FALCON_RDMA_KNOWN, "dest_qp", h->dest_qp }, { FALCON_RDMA_KNOWN, "sn", h->sn },
		{ FALCON_RDMA_HAS_XRCETH, "xrc_srq", h->xrc_srq },
		{ FALCON_RDMA_HAS_DETH, "qkey", h->qkey }, { FALCON_RDMA_HAS_DETH, "src_qp", h->src_qp },
		{ FALCON_RDMA_HAS_RETH | FALCON_RDMA_HAS_ATOMICETH, "va", h->va },
		{ FALCON_RDMA_HAS_RETH | FALCON_RDMA_HAS_ATOMICETH, "rkey", h->rkey },
		{ FALCON_RDMA_HAS_RETH, "length", h->length },
		{ FALCON_RDMA_HAS_ATOMICETH, "swap_add", h->swap_add },
		{ FALCON_RDMA_HAS_ATOMICETH, "compare", h->compare },
		{ FALCON_RDMA_HAS_ATOMICACKETH, "original", h->original },
		{ FALCON_RDMA_HAS_SETH, "rmsn", h->rmsn }, { FALCON_RDMA_HAS_OETH, "offset", h->offset },
		{ FALCON_RDMA_HAS_STETH, "sink_va", h->sink_va },
		{ FALCON_RDMA_HAS_STETH, "sink_lkey", h->sink_lkey },
		{ FALCON_RDMA_HAS_IMMDT, "imm", falcon_ntoh32(h->imm) },
		{ FALCON_RDMA_HAS_IETH, "inv_rkey", h->inv_rkey },
	};
	char name[64];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!(has & fields[i].with))
			continue;
		snprintf(name, sizeof(name), "falcon_rdma.%s", fields[i].field);
		expect(name, fields[i].value);
	}
}

/* One RDMA packet, with PAYLOAD bytes of data and |pad| of padding. */
static void put_rdma(__u8 opcode, __u8 pad)
{
	const struct falcon_rdma_hdr h = {
		.opcode = opcode, .pad = pad, .se = opcode & 1, .dest_qp = 0xabcdef, .sn = 0x80000001,
		.xrc_srq = 0x123456, .qkey = 0x11111111, .src_qp = 0xfedcba, .rkey = 0xcafe0001,
		.va = 0x1122334455667788, .length = 99999, .swap_add = 0x0102030405060708,
		.compare = 0xa1a2a3a4a5a6a7a8, .original = 0xf1f2f3f4f5f6f7f8, .rmsn = 77,
		.offset = 4096, .sink_va = 0x8877665544332211, .sink_lkey = 0xbeef0002,
		.imm = falcon_hton32(0xdeadbeef), .inv_rkey = 0x0badcafe,
	};
	bool pull = falcon_rdma_is_pull(opcode);
	struct falcon_hdr f = hdr(falcon_rdma_is_response(opcode) ? FALCON_PULL_DATA :
				  pull ? FALCON_PULL_REQUEST : FALCON_PUSH_DATA);
	__u32 data = pull ? 0 : PAYLOAD, len = falcon_rdma_hdr_len(falcon_rdma_headers(opcode)), n;
	unsigned char out[SNAPLEN] = {};

	frame++;
	f.proto = FALCON_PROTO_RDMA;
	f.request_len = (__u16)(len + data + pad);
	n = falcon_hdr_pack(&f, out);
	falcon_rdma_pack(&h, out + n);
	expect_rdma(&h);
	memset(out + n + len, 0x5a, data);
	if (data)
		expect_bytes("falcon_rdma.data", out + n + len, data);
	emit(&clear, out, n + len + data + pad);
}

static void good_rdma(void)
{
	for (unsigned int opcode = 0; opcode < 256; opcode++)
		if (falcon_rdma_headers((__u8)opcode))
			put_rdma((__u8)opcode, falcon_rdma_is_pull((__u8)opcode) ? 0 : opcode & 3);
}

static void good_resync(void)
{
	static const __u8 types[] = { FALCON_PULL_REQUEST, FALCON_PULL_DATA, FALCON_PUSH_DATA };

	for (__u8 code = 1; code <= FALCON_RESYNC_MAX; code++) {
		struct falcon_hdr h = hdr(FALCON_RESYNC);

		h.resync_code = code;
		h.resync_type = types[code % 3];
		h.vendor = 0xdead0000 + code;
		put_hdr(&clear, h, NULL, 0);
	}
}

static void good_acks(const struct wrap *w)
{
	struct falcon_ack a = ack(FALCON_BACK);

	for (a.own = 0; a.own < 4; a.own++)
		put_ack(w, &a);
	a = ack(FALCON_EACK);
	put_ack(w, &a);
	memset(a.data_rx, 0, sizeof(a.data_rx));
	put_ack(w, &a);
}

static void good_nacks(void)
{
	struct falcon_ack a = ack(FALCON_NACK);

	for (unsigned int code = 0; code < 9; code++) {
		a.nack_code = (__u8)code;
		a.nack_req_window = code & 1;
		a.ulp_code = (__u8)(0xa0 + code);
		a.rue_info = 0xfedcba;
		if (falcon_nack_code_valid(a.nack_code))
			put_ack(&clear, &a);
	}
	a.nack_code = FALCON_NACK_RNR;
	for (a.rnr = 0; a.rnr < FALCON_RNR_TIMEOUTS; a.rnr++)
		put_ack(&clear, &a);
}

static void good(void)
{
	static const struct wrap wraps[] = {
		{ .version = FALCON_PSP_CLEAR },
		{ .version = FALCON_PSP_CLEAR, .vc = true },
		{ .version = FALCON_PSP_CLEAR, .ipv6 = true },
		{ .version = FALCON_PSP_CLEAR, .ipv6 = true, .vlan = true, .vc = true },
		{ .version = FALCON_PSP_GMAC_128 },
		{ .version = FALCON_PSP_GMAC_256, .vc = true },
		{ .version = FALCON_PSP_AES_GCM_128 },
		{ .version = FALCON_PSP_AES_GCM_256, .vc = true, .ipv6 = true },
	};

	for (size_t i = 0; i < sizeof(wraps) / sizeof(wraps[0]); i++) {
		good_reliable(&wraps[i]);
		if (wraps[i].version >= FALCON_PSP_GMAC_128)
			good_acks(&wraps[i]);
	}
	good_resync();
	good_nacks();
	good_nvme();
	good_rdma();
}

/* One broken Falcon packet and the expert item that must name what is wrong. */
static void bad_bytes(const struct wrap *w, const void *data, size_t len, const char *expert)
{
	frame++;
	printf("%u %s expert\n", frame, expert);
	emit(w, data, len);
}

static void bad_reserved(void)
{
	unsigned char out[FALCON_MAX_HDR_LEN + 4] = { 0 };
	const struct falcon_ack a = ack(FALCON_NACK);
	struct falcon_hdr h = hdr(FALCON_RESYNC);
	size_t len = falcon_ack_pack(&a, out);

	out[38] |= 1;
	bad_bytes(&clear, out, len, "falcon.reserved_set");
	out[38] &= 0x80;
	out[36] = 3;
	bad_bytes(&clear, out, len, "falcon.reserved_code");
	h.resync_code = 8;
	len = falcon_hdr_pack(&h, out);
	bad_bytes(&clear, out, len, "falcon.reserved_code");
	h = hdr(FALCON_PULL_DATA);
	h.proto = 1;
	len = falcon_hdr_pack(&h, out);
	bad_bytes(&clear, out, len, "falcon.reserved_code");
}

static void bad_raw(void)
{
	struct falcon_raw_hdr raw = raw_get;
	unsigned char out[FALCON_MAX_HDR_LEN + sizeof(raw)] = { 0 };
	struct falcon_hdr h = hdr(FALCON_PUSH_DATA);
	size_t len;

	h.request_len = 3;
	len = falcon_hdr_pack(&h, out);
	bad_bytes(&clear, out, len + 3, "falcon_raw.malformed");
	h.request_len = sizeof(raw);
	falcon_hdr_pack(&h, out);
	memcpy(out + len, &raw, sizeof(raw));
	bad_bytes(&clear, out, len + sizeof(raw), "falcon_raw.malformed");
}

/* Cut short, of another version, of a reserved type, in the wrong Falcon packet, miscounted. */
static void bad_nvme(void)
{
	struct falcon_nvme_hdr n = { .type = FALCON_NVME_READ_REQUEST };
	unsigned char out[FALCON_MAX_HDR_LEN + sizeof(struct falcon_nvme_request)] = {};
	struct falcon_nvme_nbth *nbth;
	struct falcon_hdr h = hdr(FALCON_PUSH_DATA);
	size_t len;

	h.proto = FALCON_PROTO_NVME;
	h.request_len = 63;
	len = falcon_hdr_pack(&h, out);
	nbth = (void *)(out + len);
	falcon_nvme_nbth_pack(&n, nbth);
	bad_bytes(&clear, out, len + 63, "falcon_nvme.malformed");
	h.request_len = 64;
	falcon_hdr_pack(&h, out);
	out[len] |= 0x20;
	bad_bytes(&clear, out, len + 64, "falcon_nvme.malformed");
	out[len] = 0x1f;
	bad_bytes(&clear, out, len + 64, "falcon_nvme.malformed");
	n.type = FALCON_NVME_WRITE_DATA;
	falcon_nvme_nbth_pack(&n, nbth);
	bad_bytes(&clear, out, len + 64, "falcon_nvme.malformed");
	n.type = FALCON_NVME_READ_REQUEST;
	n.offset = 1;
	falcon_nvme_nbth_pack(&n, nbth);
	bad_bytes(&clear, out, len + 64, "falcon_nvme.malformed");
	n.offset = 0;
	falcon_nvme_nbth_pack(&n, nbth);
	out[len + 31] = 1;
	bad_bytes(&clear, out, len + 64, "falcon_nvme.reserved_set");
}

/* One RDMA packet of |len| bytes in a Falcon packet of |type|. */
static void bad_rdma_packet(__u8 type, const void *packet, __u32 len, const char *expert)
{
	unsigned char out[FALCON_MAX_HDR_LEN + FALCON_RDMA_MAX_HDR];
	struct falcon_hdr h = hdr(type);
	__u32 n;

	h.proto = FALCON_PROTO_RDMA;
	h.request_len = (__u16)len;
	n = falcon_hdr_pack(&h, out);
	memcpy(out + n, packet, len);
	bad_bytes(&clear, out, n + len, expert);
}

/* Cut short, of another version, reserved, in the wrong Falcon packet, overpadded, in error. */
static void bad_rdma(void)
{
	const struct falcon_rdma_hdr h = { .opcode = FALCON_RDMA_SEND_ONLY, .pad = 3, .ce = 1 };
	unsigned char p[FALCON_RDMA_MAX_HDR] = {};
	__u32 len = falcon_rdma_pack(&h, p);

	bad_rdma_packet(FALCON_PUSH_DATA, p, 11, "falcon_rdma.malformed");
	bad_rdma_packet(FALCON_PUSH_DATA, p, len - 1, "falcon_rdma.malformed");
	bad_rdma_packet(FALCON_PUSH_DATA, p, len, "falcon_rdma.malformed");
	bad_rdma_packet(FALCON_PULL_REQUEST, p, len + 3, "falcon_rdma.malformed");
	bad_rdma_packet(FALCON_PUSH_DATA, p, len + 3, "falcon_rdma.in_error");
	p[0] = 0x20;
	bad_rdma_packet(FALCON_PUSH_DATA, p, len + 3, "falcon_rdma.malformed");
	p[0] = 0x11;
	bad_rdma_packet(FALCON_PUSH_DATA, p, len + 3, "falcon_rdma.reserved_set");
	p[0] = 0x10;
	p[3] = 0x24;
	bad_rdma_packet(FALCON_PUSH_DATA, p, len + 3, "falcon_rdma.malformed");
}

static void bad(void)
{
	static const __u8 types[] = {
		FALCON_PULL_REQUEST, FALCON_PULL_DATA, FALCON_PUSH_DATA, FALCON_RESYNC,
		FALCON_BACK, FALCON_EACK, FALCON_NACK,
	};
	const struct wrap odd = { .version = 7 }, unsummed = { .version = 15, .no_csum = true };
	unsigned char out[FALCON_MAX_HDR_LEN + 4] = { 0x10 };
	struct falcon_hdr h = hdr(FALCON_PUSH_DATA);
	size_t len;

	/* Every type cut after each of its bytes; 0 bytes are the PSP header's error. */
	for (size_t i = 0; i < sizeof(types); i++) {
		out[7] = (__u8)(types[i] << 1);
		for (len = 1; len < falcon_hdr_len(types[i]); len++)
			bad_bytes(&clear, out, len, "falcon.malformed");
	}
	bad_bytes(&clear, out, 0, "falcon_psp.malformed");
	for (__u8 type = 0; type < 16; type++) {
		out[7] = (__u8)(type << 1);
		if (!falcon_hdr_len(type))
			bad_bytes(&clear, out, 32, "falcon.malformed");
	}
	out[0] = 0x20;
	out[7] = FALCON_BACK << 1;
	bad_bytes(&clear, out, 32, "falcon.malformed");
	out[0] = 0x10;
	bad_bytes(&clear, out, 33, "falcon.malformed");
	h.request_len = 5;
	len = falcon_hdr_pack(&h, out);
	bad_bytes(&clear, out, len + 4, "falcon.malformed");
	bad_bytes(&odd, out, len, "falcon_psp.malformed");
	bad_reserved();
	bad_raw();
	bad_nvme();
	bad_rdma();
	out[7] = FALCON_BACK << 1;
	bad_bytes(&unsummed, out, 32, "falcon_psp.no_checksum");
}

int main(int argc, char **argv)
{
	pcap_t *p = pcap_open_dead(DLT_EN10MB, SNAPLEN);

	if (argc != 3 || (strcmp(argv[1], "good") && strcmp(argv[1], "bad"))) {
		fputs("usage: make_pcap good|bad FILE.pcap\n", stderr);
		return 2;
	}
	dumper = pcap_dump_open(p, argv[2]);
	if (!dumper) {
		pcap_perror(p, argv[2]);
		return 1;
	}
	if (!strcmp(argv[1], "good"))
		good();
	else
		bad();
	pcap_dump_close(dumper);
	pcap_close(p);
	return 0;
}
