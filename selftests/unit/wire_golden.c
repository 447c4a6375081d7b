// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packets written down by hand from the figures of Falcon section 7, against pack and unpack.
 * The bits of the words with small fields are spelled out in the figure's order, bit 0 first.
 */
#include "unit.h"

#include <string.h>

#include <falcon/wire/wire.h>

/* Offsets, by the word numbers at the left of the figures. */
#define AT(type, field, word) _Static_assert(offsetof(type, field) == (word) * 4, #field)
AT(struct falcon_base_hdr, ver_cid, 0);
AT(struct falcon_base_hdr, func_type, 1);
AT(struct falcon_base_hdr, rdbpsn, 2);
AT(struct falcon_base_hdr, rrbpsn, 3);
AT(struct falcon_base_hdr, psn, 4);
AT(struct falcon_base_hdr, rsn, 5);
_Static_assert(offsetof(struct falcon_pull_req_hdr, request_len) == 26, "7.3, word 6, bit 16");
_Static_assert(offsetof(struct falcon_push_hdr, request_len) == 26, "7.5, word 6, bit 16");
AT(struct falcon_resync_hdr, code, 6);
_Static_assert(offsetof(struct falcon_resync_hdr, type) == 25, "7.6, word 6, bit 8");
AT(struct falcon_resync_hdr, vendor, 7);
AT(struct falcon_back_hdr, t1, 4);
AT(struct falcon_back_hdr, t2, 5);
AT(struct falcon_back_hdr, cc_hi, 6);
AT(struct falcon_back_hdr, cc_lo, 7);
AT(struct falcon_eack_hdr, data_ack, 8);
AT(struct falcon_eack_hdr, data_rx, 12);
AT(struct falcon_eack_hdr, req, 16);
AT(struct falcon_nack_hdr, psn, 8);
AT(struct falcon_nack_hdr, code, 9);
_Static_assert(offsetof(struct falcon_nack_hdr, rnr) == 37, "7.8, word 9, bit 8");
_Static_assert(offsetof(struct falcon_nack_hdr, window) == 38, "7.8, word 9, bit 16");
_Static_assert(offsetof(struct falcon_nack_hdr, ulp_code) == 39, "7.8, word 9, bit 24");

/* Pack |h|, compare with the |len| bytes at |want|, unpack and compare with |h|. */
static void check_hdr(const struct falcon_hdr *h, const void *want, size_t len, size_t payload)
{
	unsigned char out[FALCON_MAX_HDR_LEN + 64];
	struct falcon_hdr back;

	memset(out, 0xff, sizeof(out));
	assert_int_equal(falcon_hdr_pack(h, out), len);
	assert_memory_equal(out, want, len);
	memset(&back, 0xff, sizeof(back));
	assert_int_equal(falcon_hdr_unpack(out, out + len + payload, &back), FALCON_WIRE_OK);
	assert_int_equal(back.cid, h->cid);
	assert_int_equal(back.function, h->function);
	assert_int_equal(back.proto, h->proto);
	assert_int_equal(back.type, h->type);
	assert_int_equal(back.ar, h->ar);
	assert_int_equal(back.rdbpsn, h->rdbpsn);
	assert_int_equal(back.rrbpsn, h->rrbpsn);
	assert_int_equal(back.psn, h->psn);
	assert_int_equal(back.rsn, h->rsn);
	assert_int_equal(back.request_len, h->request_len);
	assert_int_equal(back.resync_code, h->resync_code);
	assert_int_equal(back.resync_type, h->resync_type);
	assert_int_equal(back.vendor, h->vendor);
}

static void check_ack(const struct falcon_ack *a, const void *want, size_t len)
{
	unsigned char out[FALCON_MAX_HDR_LEN];
	struct falcon_ack back;

	memset(out, 0xff, sizeof(out));
	assert_int_equal(falcon_ack_pack(a, out), len);
	assert_memory_equal(out, want, len);
	memset(&back, 0xff, sizeof(back));
	assert_int_equal(falcon_ack_unpack(out, out + len, &back), FALCON_WIRE_OK);
	assert_memory_equal(&back, a, sizeof(back));
}

/* Figures of 7.2 and 7.3 */
static void pull_request(void **state)
{
	static const unsigned char want[] = {
		0x10, 0xab, 0xcd, 0xef,	/* 0001 0000, CID */
		0x12, 0x34, 0x56, 0x41,	/* function, 010 0000 1: RDMA, Pull Request, AR */
		0x01, 0x02, 0x03, 0x04,	/* data window base */
		0x05, 0x06, 0x07, 0x08,	/* request window base */
		0x09, 0x0a, 0x0b, 0x0c,	/* PSN */
		0x0d, 0x0e, 0x0f, 0x10,	/* RSN */
		0x00, 0x00, 0xbe, 0xef,	/* reserved, Request Length */
		0x00, 0x00, 0x00, 0x00,	/* reserved */
	};
	const struct falcon_hdr h = {
		.cid = 0xabcdef, .function = 0x123456, .proto = FALCON_PROTO_RDMA,
		.type = FALCON_PULL_REQUEST, .ar = 1, .rdbpsn = 0x01020304, .rrbpsn = 0x05060708,
		.psn = 0x090a0b0c, .rsn = 0x0d0e0f10, .request_len = 0xbeef,
	};

	(void)state;
	check_hdr(&h, want, sizeof(want), 0);
}

/* Figures of 7.2 and 7.4; also the greatest values of the plain fields */
static void pull_data(void **state)
{
	static const unsigned char want[] = {
		0x10, 0x00, 0x00, 0x01,
		0xff, 0xff, 0xff, 0x66,	/* 011 0011 0: NVMe, Pull Data */
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
		0x80, 0x00, 0x00, 0x00, 0x7f, 0xff, 0xff, 0xff,
	};
	const struct falcon_hdr h = {
		.cid = 1, .function = 0xffffff, .proto = FALCON_PROTO_NVME,
		.type = FALCON_PULL_DATA, .rdbpsn = 0xffffffff, .rrbpsn = 0xfffffffe,
		.psn = 0x80000000, .rsn = 0x7fffffff,
	};

	(void)state;
	check_hdr(&h, want, sizeof(want), 0);
	check_hdr(&h, want, sizeof(want), 37);
}

/* Figures of 7.2 and 7.5 */
static void push_data(void **state)
{
	static const unsigned char want[] = {
		0x10, 0xff, 0xff, 0xff,
		0x00, 0x00, 0x00, 0xeb,	/* 111 0101 1: raw, Push Data, AR */
		0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02,
		0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x04,
		0x00, 0x00, 0x00, 0x25,	/* reserved, Request Length */
	};
	const struct falcon_hdr h = {
		.cid = 0xffffff, .proto = FALCON_PROTO_RAW, .type = FALCON_PUSH_DATA, .ar = 1,
		.rdbpsn = 1, .rrbpsn = 2, .psn = 3, .rsn = 4, .request_len = 0x25,
	};

	(void)state;
	check_hdr(&h, want, sizeof(want), 0x25);
}

/* Figures of 7.2 and 7.6 */
static void resync(void **state)
{
	static const unsigned char want[] = {
		0x10, 0x00, 0x10, 0x00,
		0x00, 0x00, 0x01, 0x4d,	/* 010 0110 1: RDMA, Resync, AR */
		0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02,
		0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x04,
		0x07, 0x50, 0x00, 0x00,	/* invalid CID, 0101: Push Data, reserved */
		0xde, 0xad, 0xbe, 0xef,	/* vendor defined */
	};
	const struct falcon_hdr h = {
		.cid = 0x1000, .function = 1, .proto = FALCON_PROTO_RDMA, .type = FALCON_RESYNC,
		.ar = 1, .rdbpsn = 1, .rrbpsn = 2, .psn = 3, .rsn = 4,
		.resync_code = FALCON_RESYNC_TARGET_CID, .resync_type = FALCON_PUSH_DATA,
		.vendor = 0xdeadbeef,
	};

	(void)state;
	check_hdr(&h, want, sizeof(want), 0);
}

/* Figure of 7.7.1 */
static void back(void **state)
{
	static const unsigned char want[] = {
		0x10, 0xab, 0xcd, 0xef,
		0x00, 0x00, 0x00, 0x12,	/* reserved(27) 1001 0 */
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0x11, 0x12, 0x13, 0x14,	/* t1 */
		0x21, 0x22, 0x23, 0x24,	/* t2 */
		0xaa, 0xd5, 0x54, 0x00,	/* 1010 10101 10101010101010 000000000 */
		0x00, 0xea, 0xf3, 0x79,	/* 00000000 1110101011110011011110 01 */
	};
	const struct falcon_ack a = {
		.cid = 0xabcdef, .type = FALCON_BACK, .rdbpsn = 0x01020304, .rrbpsn = 0x05060708,
		.t1 = 0x11121314, .t2 = 0x21222324, .hops = 0xa, .buffer_level = 0x15,
		.ecn = 0x2aaa, .rue_info = 0x3abcde, .own = FALCON_OWN_REQ,
	};

	(void)state;
	check_ack(&a, want, sizeof(want));
}

/* Figure of 7.7.2 */
static void eack(void **state)
{
	static const unsigned char want[] = {
		0x10, 0x00, 0x00, 0x2a,
		0x00, 0x00, 0x00, 0x14,	/* reserved(27) 1010 0 */
		0x00, 0x00, 0x01, 0x2c, 0x00, 0x00, 0x00, 0x07,
		0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02,
		0x10, 0x80, 0x02, 0x00,	/* 0001 00001 00000000000001 000000000 */
		0x00, 0x80, 0x00, 0x06,	/* 00000000 1000000000000000000001 10 */
		0x80, 0x00, 0x00, 0x00,	/* data ACK bitmap 127:96: PSN base + 127 */
		0x00, 0x00, 0x00, 0x01,	/* 95:64: base + 64 */
		0x00, 0x00, 0x00, 0x00,	/* 63:32 */
		0x00, 0x00, 0x00, 0x02,	/* 31:0: base + 1 */
		0xc0, 0x00, 0x00, 0x00,	/* data Rx bitmap 127:96 */
		0x00, 0x00, 0x00, 0x03,	/* 95:64 */
		0x12, 0x34, 0x56, 0x78,	/* 63:32 */
		0x00, 0x00, 0x00, 0x0e,	/* 31:0: base + 1, + 2, + 3 */
		0x80, 0x00, 0x00, 0x01,	/* request bitmap 63:32: base + 63, + 32 */
		0x00, 0x00, 0x00, 0x10,	/* 31:0: base + 4 */
	};
	const struct falcon_ack a = {
		.cid = 42, .type = FALCON_EACK, .rdbpsn = 300, .rrbpsn = 7, .t1 = 1, .t2 = 2,
		.hops = 1, .buffer_level = 1, .ecn = 1, .rue_info = 0x200001, .own = FALCON_OWN_DATA,
		.data_ack = { 0x2, 0, 0x1, 0x80000000 },
		.data_rx = { 0xe, 0x12345678, 0x3, 0xc0000000 },
		.req = { 0x10, 0x80000001 },
	};

	(void)state;
	check_ack(&a, want, sizeof(want));
}

/* Figure of 7.8 */
static void nack(void **state)
{
	static const unsigned char want[] = {
		0x10, 0xff, 0x00, 0xff,
		0x00, 0x00, 0x00, 0x10,	/* reserved(27) 1000 0 */
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24,
		0xff, 0xff, 0xfe, 0x00,	/* 1111 11111 11111111111111 000000000 */
		0x00, 0xfe, 0xdc, 0xba,	/* 00000000, RUE info(24) */
		0xca, 0xfe, 0xba, 0xbe,	/* NACK PSN */
		0x02, 0x1d, 0x80, 0x5a,	/* RNR, 000 11101, 1 0000000, ULP NACK code */
	};
	const struct falcon_ack a = {
		.cid = 0xff00ff, .type = FALCON_NACK, .rdbpsn = 0x01020304, .rrbpsn = 0x05060708,
		.t1 = 0x11121314, .t2 = 0x21222324, .hops = 0xf, .buffer_level = 0x1f,
		.ecn = 0x3fff, .rue_info = 0xfedcba, .nack_psn = 0xcafebabe,
		.nack_code = FALCON_NACK_RNR, .rnr = 0x1d, .nack_req_window = 1, .ulp_code = 0x5a,
	};

	(void)state;
	check_ack(&a, want, sizeof(want));
}

/* The flow of 6.6.6: PSN 300 lost, 301 to 303 received. */
static void eack_example(void **state)
{
	const struct falcon_ack a = { .type = FALCON_EACK, .rdbpsn = 300, .data_rx = { 0xe } };
	struct falcon_eack_hdr w;

	(void)state;
	falcon_ack_pack(&a, &w);
	assert_int_equal(((const unsigned char *)w.data_rx)[15], 0x0e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pull_request),
		cmocka_unit_test(pull_data),
		cmocka_unit_test(push_data),
		cmocka_unit_test(resync),
		cmocka_unit_test(back),
		cmocka_unit_test(eack),
		cmocka_unit_test(nack),
		cmocka_unit_test(eack_example),
	};

	return unit_run(tests);
}
