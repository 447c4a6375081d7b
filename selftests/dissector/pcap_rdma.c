// SPDX-License-Identifier: BSD-2-Clause
/* RDMA over Falcon for make_pcap. */
#include "make_pcap.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <falcon/wire/rdma.h>

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

/* A READ that failed: headers alone, with the reason (include/falcon/README.md). */
static void put_failed_read(void)
{
	const struct falcon_rdma_hdr h = { .opcode = FALCON_RDMA_READ_RESPONSE_ONLY, .ce = 1,
					   .reason = FALCON_RDMA_NAK_ACCESS, .dest_qp = 7 };
	struct falcon_hdr f = hdr(FALCON_PULL_DATA);
	unsigned char out[SNAPLEN] = {};
	__u32 n;

	frame++;
	f.proto = FALCON_PROTO_RDMA;
	n = falcon_hdr_pack(&f, out);
	expect("falcon_rdma.ce", 1);
	expect("falcon_rdma.reason", FALCON_RDMA_NAK_ACCESS);
	emit(&clear, out, n + falcon_rdma_pack(&h, out + n));
}

void good_rdma(void)
{
	for (unsigned int opcode = 0; opcode < 256; opcode++)
		if (falcon_rdma_headers((__u8)opcode))
			put_rdma((__u8)opcode, falcon_rdma_is_pull((__u8)opcode) ? 0 : opcode & 3);
	put_failed_read();
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
void bad_rdma(void)
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
