// SPDX-License-Identifier: BSD-2-Clause
/* NVMe over Falcon for make_pcap. */
#include "make_pcap.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <falcon/wire/nvme.h>

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
	expect("falcon_nvme.dtype", falcon_nvme_reads(h->type) ? 0 : c->dtype);
	expect("falcon_nvme.prinfo", c->prinfo);
	expect("falcon_nvme.prinfo.act", c->prinfo >> 3 & 1);
	expect("falcon_nvme.prinfo.guard", c->prinfo >> 2 & 1);
	expect("falcon_nvme.prinfo.apptag", c->prinfo >> 1 & 1);
	expect("falcon_nvme.prinfo.reftag", c->prinfo & 1);
	expect("falcon_nvme.fua", c->fua);
	expect("falcon_nvme.lr", c->lr);
	expect("falcon_nvme.dsm", c->dsm);
	expect("falcon_nvme.unit", c->unit);
	expect("falcon_nvme.dspec", falcon_nvme_reads(h->type) ? 0 : c->dspec);
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
	if (type == FALCON_NVME_WRITE_COMPLETION || type == FALCON_NVME_READ_RESPONSE ||
	    type == FALCON_NVME_COMMAND_COMPLETION) {
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

/* Data with a block's metadata after |at| of |units| times 512 bytes. */
static void put_protected(__u8 falcon_type, struct falcon_nvme_hdr h, __u32 units, __u32 at)
{
	static const unsigned char md[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	struct falcon_hdr f = hdr(falcon_type);
	unsigned char out[SNAPLEN] = {};
	__u32 len = sizeof(struct falcon_nvme_response), n;

	frame++;
	f.proto = FALCON_PROTO_NVME;
	f.request_len = (__u16)(len + units * 512 + sizeof(md));
	n = falcon_hdr_pack(&f, out);
	falcon_nvme_response_pack(&h, 0, (void *)(out + n));
	memcpy(out + n + len + at, md, sizeof(md));
	expect_bytes("falcon_nvme.metadata", md, sizeof(md));
	expect("falcon_nvme.inner.guard", 0x0102);
	expect("falcon_nvme.inner.apptag", 0x0304);
	expect("falcon_nvme.inner.reftag", 0x05060708);
	expect("falcon_nvme.outer.guard", 0x090a);
	expect("falcon_nvme.outer.apptag", 0x0b0c);
	expect("falcon_nvme.outer.reftag", 0x0d0e0f10);
	emit(&clear, out, n + f.request_len);
}

void good_nvme(void)
{
	const struct falcon_nvme_hdr write = { .type = FALCON_NVME_WRITE_DATA, .total = 3 },
				     read = { .type = FALCON_NVME_READ_RESPONSE, .offset = 1,
					      .total = 3 };

	/* A block; a part of one, with its end and another's beginning; the end of one. */
	put_protected(FALCON_PUSH_DATA, read, 1, 512);
	put_protected(FALCON_PUSH_DATA, read, 6, 1024);
	put_protected(FALCON_PULL_DATA, write, 2, 1024);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_WRITE_REQUEST);
	put_nvme(FALCON_PULL_REQUEST, FALCON_NVME_WRITE_DATA_REQUEST);
	put_nvme(FALCON_PULL_DATA, FALCON_NVME_WRITE_DATA);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_WRITE_COMPLETION);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_READ_REQUEST);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_READ_RESPONSE);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_COMMAND);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_WRITE_WITH_DATA);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_COMMAND_COMPLETION);
	put_nvme(FALCON_PUSH_DATA, FALCON_NVME_READ_COMMAND);
}

/* Cut short, of another version, of a reserved type, in the wrong Falcon packet, miscounted. */
void bad_nvme(void)
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
