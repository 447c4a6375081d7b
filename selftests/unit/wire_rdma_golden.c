// SPDX-License-Identifier: BSD-2-Clause
/*
 * A packet of each opcode of table RDMA 8.1.3, written down by hand from the figures of RDMA 8.2 and 8.3 and
 * of Falcon 7.2 to 7.5, against pack and unpack. Each byte of each field is another one, so that no two can
 * be mistaken for each other. rdma_golden.c has the operations that these are the packets of.
 */
#include "unit.h"

#include <string.h>

#include <falcon/wire/rdma.h>
#include <falcon/wire/wire.h>

enum { MAX_PACKET = 256 };

/* Falcon 7.2: version, CID; function, 010 (RDMA), type, AR; both window bases; PSN; RSN. */
#define BASE(type) "10e4e5e6 e7e8e9" type " e0010203 e0040506 e0070809 e00a0b0c "
/* 7.5: type 0101; reserved, Request Length: this packet's payload. */
#define PUSH(len) BASE("4a") "0000" len "  "
/* 7.3: type 0000; reserved, Request Length: the payload of the Pull Data; a reserved word. */
#define PULL(len) BASE("40") "0000" len " 00000000  "
/* 7.4: type 0011 */
#define DATA BASE("46") " "

/* RDMA 8.2: the first word is spelled out; destination QP, reserved; sequence number. */
#define RBTH(word0) word0 " f1f2f300 0a0b0c0d  "
#define RETH "21222324 25262728 31323334 41424344  "		/* 8.3.1: VA, R-Key, length */
#define SETH "01020304  "					/* 8.3.2: RMSN */
#define OETH "11121314  "					/* 8.3.3: offset */
#define STETH "51525354 55565758 61626364  "			/* 8.3.4: VA, L-Key */
#define IMMDT "71727374  "					/* 8.3.5 */
/* 8.3.6: VA, R-Key, swap or add, compare */
#define ATOMICETH "21222324 25262728 31323334 81828384 85868788 91929394 95969798  "
#define ATOMICACKETH "a1a2a3a4 a5a6a7a8  "			/* 8.3.7: original data */
#define IETH "b1b2b3b4  "					/* 8.3.8: R-Key */
#define XRCETH "c1c2c300  "					/* 8.3.9: XRC SRQ, reserved */
#define DETH "d1d2d3d4 e1e2e300  "				/* 8.3.10: queue key, source QP, reserved */

/* The same as values; immediate data stay in network order. */
#define NET32(v) (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32(v) : (v))
#define V_RBTH(op) .opcode = (op), .dest_qp = 0xf1f2f3, .sn = 0x0a0b0c0d
#define V_VA .va = 0x2122232425262728, .rkey = 0x31323334
#define V_RETH V_VA, .length = 0x41424344
#define V_SETH .rmsn = 0x01020304
#define V_OETH .offset = 0x11121314
#define V_STETH .sink_va = 0x5152535455565758, .sink_lkey = 0x61626364
#define V_IMMDT .imm = NET32(0x71727374)
#define V_ATOMICETH V_VA, .swap_add = 0x8182838485868788, .compare = 0x9192939495969798
#define V_ATOMICACKETH .original = 0xa1a2a3a4a5a6a7a8
#define V_IETH .inv_rkey = 0xb1b2b3b4
#define V_XRCETH .xrc_srq = 0xc1c2c3
#define V_DETH .qkey = 0xd1d2d3d4, .src_qp = 0xe1e2e3

struct golden {
	const char *name;
	const char *packet;		/* from the Falcon header to the padding */
	struct falcon_rdma_hdr h;
	uint32_t data;			/* bytes of payload, without padding */
};

static const struct golden rows[] = {
	/* version 0001, reserved, CE 0, pad 00, R 0, SE 0, opcode */
	{ "SEND First", PUSH("001c") RBTH("10000000") SETH OETH "00112233 44556677",
	  { V_RBTH(0x00), V_SETH, V_OETH }, 8 },
	{ "SEND Middle", PUSH("0018") RBTH("10000001") SETH OETH "00112233",
	  { V_RBTH(0x01), V_SETH, V_OETH }, 4 },
	/* pad 01 */
	{ "SEND Last", PUSH("0018") RBTH("10000402") SETH OETH "001122 00",
	  { V_RBTH(0x02), V_SETH, V_OETH, .pad = 1 }, 3 },
	/* SE 1 */
	{ "SEND Last with Immediate", PUSH("0018") RBTH("10000103") SETH OETH IMMDT,
	  { V_RBTH(0x03), V_SETH, V_OETH, V_IMMDT, .se = 1 }, 0 },
	/* pad 11 */
	{ "SEND Only", PUSH("0018") RBTH("10000c04") SETH OETH "00 000000",
	  { V_RBTH(0x04), V_SETH, V_OETH, .pad = 3 }, 1 },
	/* pad 10, SE 1 */
	{ "SEND Only with Immediate", PUSH("001c") RBTH("10000905") SETH OETH IMMDT "0011 0000",
	  { V_RBTH(0x05), V_SETH, V_OETH, V_IMMDT, .pad = 2, .se = 1 }, 2 },
	{ "WRITE First", PUSH("0024") RBTH("10000006") RETH "00112233 44556677",
	  { V_RBTH(0x06), V_RETH }, 8 },
	{ "WRITE Middle", PUSH("0020") RBTH("10000007") RETH "00112233", { V_RBTH(0x07), V_RETH }, 4 },
	{ "WRITE Last", PUSH("0024") RBTH("10000c08") RETH "00112233 44 000000",
	  { V_RBTH(0x08), V_RETH, .pad = 3 }, 5 },
	{ "WRITE Last with Immediate", PUSH("0024") RBTH("10000109") RETH SETH IMMDT,
	  { V_RBTH(0x09), V_RETH, V_SETH, V_IMMDT, .se = 1 }, 0 },
	{ "WRITE Only", PUSH("001c") RBTH("1000000a") RETH, { V_RBTH(0x0a), V_RETH }, 0 },
	{ "WRITE Only with Immediate", PUSH("0028") RBTH("1000050b") RETH SETH IMMDT "001122 00",
	  { V_RBTH(0x0b), V_RETH, V_SETH, V_IMMDT, .pad = 1, .se = 1 }, 3 },
	{ "READ Request", PULL("beef") RBTH("1000000c") RETH SETH STETH,
	  { V_RBTH(0x0c), V_RETH, V_SETH, V_STETH }, 0 },
	{ "READ Response First", DATA RBTH("1000000d") STETH "00112233", { V_RBTH(0x0d), V_STETH }, 4 },
	{ "READ Response Middle", DATA RBTH("1000000e") STETH "00112233", { V_RBTH(0x0e), V_STETH }, 4 },
	{ "READ Response Last", DATA RBTH("1000080f") STETH "0011 0000",
	  { V_RBTH(0x0f), V_STETH, .pad = 2 }, 2 },
	{ "READ Response Only", DATA RBTH("10000410") STETH "001122 00",
	  { V_RBTH(0x10), V_STETH, .pad = 1 }, 3 },
	{ "ATOMIC Response", DATA RBTH("10000012") ATOMICACKETH STETH,
	  { V_RBTH(0x12), V_ATOMICACKETH, V_STETH }, 0 },
	{ "ATOMIC CmpSwap", PULL("0020") RBTH("10000013") ATOMICETH SETH STETH,
	  { V_RBTH(0x13), V_ATOMICETH, V_SETH, V_STETH }, 0 },
	{ "ATOMIC FetchAdd", PULL("0020") RBTH("10000014") ATOMICETH SETH STETH,
	  { V_RBTH(0x14), V_ATOMICETH, V_SETH, V_STETH }, 0 },
	{ "SEND Last with Invalidate", PUSH("001c") RBTH("10000c16") SETH OETH IETH "00 000000",
	  { V_RBTH(0x16), V_SETH, V_OETH, V_IETH, .pad = 3 }, 1 },
	{ "SEND Only with Invalidate", PUSH("0018") RBTH("10000117") SETH OETH IETH,
	  { V_RBTH(0x17), V_SETH, V_OETH, V_IETH, .se = 1 }, 0 },

	/* 011: UD */
	{ "UD SEND Only", PUSH("001c") RBTH("10000564") DETH "00112233 445566 00",
	  { V_RBTH(0x64), V_DETH, .pad = 1, .se = 1 }, 7 },
	{ "UD SEND Only with Immediate", PUSH("0018") RBTH("10000065") DETH IMMDT,
	  { V_RBTH(0x65), V_DETH, V_IMMDT }, 0 },

	/* 101: XRC, as the header's README.md says; its requests have the XRCETH */
	{ "XRC SEND First", PUSH("001c") RBTH("100000a0") XRCETH SETH OETH "00112233",
	  { V_RBTH(0xa0), V_XRCETH, V_SETH, V_OETH }, 4 },
	{ "XRC SEND Middle", PUSH("001c") RBTH("100000a1") XRCETH SETH OETH "00112233",
	  { V_RBTH(0xa1), V_XRCETH, V_SETH, V_OETH }, 4 },
	{ "XRC SEND Last", PUSH("001c") RBTH("100009a2") XRCETH SETH OETH "0011 0000",
	  { V_RBTH(0xa2), V_XRCETH, V_SETH, V_OETH, .pad = 2, .se = 1 }, 2 },
	{ "XRC SEND Last with Immediate", PUSH("001c") RBTH("100000a3") XRCETH SETH OETH IMMDT,
	  { V_RBTH(0xa3), V_XRCETH, V_SETH, V_OETH, V_IMMDT }, 0 },
	{ "XRC SEND Only", PUSH("0018") RBTH("100000a4") XRCETH SETH OETH,
	  { V_RBTH(0xa4), V_XRCETH, V_SETH, V_OETH }, 0 },
	{ "XRC SEND Only with Immediate", PUSH("001c") RBTH("100001a5") XRCETH SETH OETH IMMDT,
	  { V_RBTH(0xa5), V_XRCETH, V_SETH, V_OETH, V_IMMDT, .se = 1 }, 0 },
	{ "XRC WRITE First", PUSH("0024") RBTH("100000a6") XRCETH RETH "00112233",
	  { V_RBTH(0xa6), V_XRCETH, V_RETH }, 4 },
	{ "XRC WRITE Middle", PUSH("0024") RBTH("100000a7") XRCETH RETH "00112233",
	  { V_RBTH(0xa7), V_XRCETH, V_RETH }, 4 },
	{ "XRC WRITE Last", PUSH("0024") RBTH("100004a8") XRCETH RETH "001122 00",
	  { V_RBTH(0xa8), V_XRCETH, V_RETH, .pad = 1 }, 3 },
	{ "XRC WRITE Last with Immediate", PUSH("0028") RBTH("100000a9") XRCETH RETH SETH IMMDT,
	  { V_RBTH(0xa9), V_XRCETH, V_RETH, V_SETH, V_IMMDT }, 0 },
	{ "XRC WRITE Only", PUSH("0020") RBTH("100000aa") XRCETH RETH,
	  { V_RBTH(0xaa), V_XRCETH, V_RETH }, 0 },
	{ "XRC WRITE Only with Immediate", PUSH("0028") RBTH("100000ab") XRCETH RETH SETH IMMDT,
	  { V_RBTH(0xab), V_XRCETH, V_RETH, V_SETH, V_IMMDT }, 0 },
	{ "XRC READ Request", PULL("beef") RBTH("100000ac") XRCETH RETH SETH STETH,
	  { V_RBTH(0xac), V_XRCETH, V_RETH, V_SETH, V_STETH }, 0 },
	{ "XRC READ Response First", DATA RBTH("100000ad") STETH "00112233", { V_RBTH(0xad), V_STETH }, 4 },
	{ "XRC READ Response Middle", DATA RBTH("100000ae") STETH "00112233", { V_RBTH(0xae), V_STETH }, 4 },
	{ "XRC READ Response Last", DATA RBTH("10000caf") STETH "00 000000",
	  { V_RBTH(0xaf), V_STETH, .pad = 3 }, 1 },
	{ "XRC READ Response Only", DATA RBTH("100000b0") STETH, { V_RBTH(0xb0), V_STETH }, 0 },
	{ "XRC ATOMIC Response", DATA RBTH("100000b2") ATOMICACKETH STETH,
	  { V_RBTH(0xb2), V_ATOMICACKETH, V_STETH }, 0 },
	{ "XRC ATOMIC CmpSwap", PULL("0020") RBTH("100000b3") XRCETH ATOMICETH SETH STETH,
	  { V_RBTH(0xb3), V_XRCETH, V_ATOMICETH, V_SETH, V_STETH }, 0 },
	{ "XRC ATOMIC FetchAdd", PULL("0020") RBTH("100000b4") XRCETH ATOMICETH SETH STETH,
	  { V_RBTH(0xb4), V_XRCETH, V_ATOMICETH, V_SETH, V_STETH }, 0 },
	{ "XRC SEND Last with Invalidate", PUSH("001c") RBTH("100000b6") XRCETH SETH OETH IETH,
	  { V_RBTH(0xb6), V_XRCETH, V_SETH, V_OETH, V_IETH }, 0 },
	{ "XRC SEND Only with Invalidate", PUSH("001c") RBTH("100000b7") XRCETH SETH OETH IETH,
	  { V_RBTH(0xb7), V_XRCETH, V_SETH, V_OETH, V_IETH }, 0 },

	/* 8.2: CE 1, in the last or only packet of a message, which then has no data */
	{ "SEND Last in error", PUSH("0014") RBTH("10001002") SETH OETH,
	  { V_RBTH(0x02), V_SETH, V_OETH, .ce = 1 }, 0 },
	{ "WRITE Last with Immediate in error", PUSH("0024") RBTH("10001109") RETH SETH IMMDT,
	  { V_RBTH(0x09), V_RETH, V_SETH, V_IMMDT, .ce = 1, .se = 1 }, 0 },
	{ "READ Response Only in error", DATA RBTH("10001010") STETH, { V_RBTH(0x10), V_STETH, .ce = 1 }, 0 },
	/* README.md of the header: the reason in bits 15 to 18, here 0010 and 1111 */
	{ "READ Response Only, access error", DATA RBTH("10005010") STETH,
	  { V_RBTH(0x10), V_STETH, .ce = 1, .reason = 2 }, 0 },
	{ "ATOMIC Response, any reason", DATA RBTH("1001f012") ATOMICACKETH STETH,
	  { V_RBTH(0x12), V_ATOMICACKETH, V_STETH, .ce = 1, .reason = 15 }, 0 },
};

static unsigned int digit(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static uint32_t bytes_of(const char *hex, uint8_t *out)
{
	uint32_t n = 0;

	for (; *hex; hex++) {
		if (*hex == ' ')
			continue;
		assert_true(n < MAX_PACKET);
		out[n++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
		hex++;
	}
	return n;
}

/* What is in each packet's Falcon header, by the kind that the table of 8.1.3 gives to the opcode. */
static struct falcon_hdr base_of(const struct golden *g, const uint8_t *packet)
{
	struct falcon_hdr f = {
		.cid = 0xe4e5e6, .function = 0xe7e8e9, .proto = FALCON_PROTO_RDMA, .rdbpsn = 0xe0010203,
		.rrbpsn = 0xe0040506, .psn = 0xe0070809, .rsn = 0xe00a0b0c, .type = FALCON_PUSH_DATA,
	};

	if (falcon_rdma_is_pull(g->h.opcode))
		f.type = FALCON_PULL_REQUEST;
	else if (falcon_rdma_is_response(g->h.opcode))
		f.type = FALCON_PULL_DATA;
	if (f.type != FALCON_PULL_DATA)
		f.request_len = (uint16_t)(packet[26] << 8 | packet[27]);
	return f;
}

static void s8_made(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t want[MAX_PACKET], out[MAX_PACKET];
		uint32_t len = bytes_of(rows[i].packet, want), n;
		struct falcon_hdr f = base_of(&rows[i], want);

		memset(out, 0xff, sizeof(out));
		n = (uint32_t)falcon_hdr_pack(&f, out);
		n += falcon_rdma_pack(&rows[i].h, out + n);
		if (n != len - rows[i].data - rows[i].h.pad || memcmp(out, want, n))
			fail_msg("%s", rows[i].name);
		assert_int_equal(falcon_rdma_pad(rows[i].data), rows[i].h.pad);
		assert_int_equal(len % FALCON_RDMA_PAD_UNIT, 0);
	}
}

static void s8_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct falcon_rdma_hdr h;
		uint8_t packet[MAX_PACKET];
		uint32_t len = bytes_of(rows[i].packet, packet), n, payload;
		struct falcon_hdr f, want = base_of(&rows[i], packet);

		assert_int_equal(falcon_hdr_unpack(packet, packet + len, &f), FALCON_WIRE_OK);
		assert_int_equal(f.type, want.type);
		assert_int_equal(f.proto, want.proto);
		assert_int_equal(f.request_len, want.request_len);
		payload = len - (uint32_t)falcon_hdr_len(f.type);
		if (f.type == FALCON_PUSH_DATA)
			assert_int_equal(f.request_len, payload);
		memset(&h, 0, sizeof(h));
		n = falcon_rdma_unpack(packet + len - payload, payload, &h);
		if (n + rows[i].data + rows[i].h.pad != payload || memcmp(&h, &rows[i].h, sizeof(h)))
			fail_msg("%s", rows[i].name);
	}
}

static void s8_1_3_every_opcode(void **state)
{
	bool there[256] = { 0 };
	unsigned int known = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		there[rows[i].h.opcode] = true;
	for (unsigned int op = 0; op < 256; op++) {
		assert_int_equal(there[op], falcon_rdma_headers((uint8_t)op) != 0);
		known += there[op];
	}
	assert_int_equal(known, 22 + 2 + 22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s8_made),
		cmocka_unit_test(s8_read),
		cmocka_unit_test(s8_1_3_every_opcode),
	};

	return unit_run(tests);
}
