// SPDX-License-Identifier: BSD-2-Clause
/*
 * Write captures with one packet of every kind, and what a dissector must say of them.
 *
 *	make_pcap good FILE.pcap	well-formed packets; on stdout "FRAME FIELD VALUE" lines
 *	make_pcap bad FILE.pcap		broken ones; on stdout "FRAME EXPERT-FIELD why"
 *
 * The packets come from the packers of include/falcon; the values from the structs before packing.
 */
#include "make_pcap.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <falcon/raw.h>

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
	if (argc != 3 || (strcmp(argv[1], "good") && strcmp(argv[1], "bad"))) {
		fputs("usage: make_pcap good|bad FILE.pcap\n", stderr);
		return 2;
	}
	if (frames_open(argv[2]))
		return 1;
	if (!strcmp(argv[1], "good"))
		good();
	else
		bad();
	frames_close();
	return 0;
}
