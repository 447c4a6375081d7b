// SPDX-License-Identifier: BSD-2-Clause
/*
 * RDMA over Falcon's packets against table 8.1.3 and the figures of its section 8: which headers each
 * opcode has, where each field's bits are, that it touches no other bit, that a value too wide does
 * not leak, that pack and unpack are inverse, and what is refused. wire_rdma_golden.c has packets by hand.
 */
#include "unit.h"

#include <string.h>

#include <falcon/wire/rdma.h>

/* A field: where it is in the host form, and in the figure (word of the header, first bit, width). */
struct field {
	const char *name;
	size_t offset, size;
	unsigned int word, bit, width;
};

#define F(f, word, bit, width)                                                                     \
	{ #f, offsetof(struct falcon_rdma_hdr, f), sizeof(((struct falcon_rdma_hdr *)0)->f), word, \
	  bit, width }

struct header {
	const char *name;
	unsigned int words;
	struct field fields[8];
};

static const struct header rbth = { "RBTH", 3, {
	F(reason, 0, 15, 4), F(ce, 0, 19, 1), F(pad, 0, 20, 2), F(se, 0, 23, 1), F(dest_qp, 1, 0, 24),
	F(sn, 2, 0, 32) } };
static const struct header xrceth = { "XRCETH", 1, { F(xrc_srq, 0, 0, 24) } };
static const struct header deth = { "DETH", 2, { F(qkey, 0, 0, 32), F(src_qp, 1, 0, 24) } };
static const struct header reth = { "RETH", 4, {
	F(va, 0, 0, 64), F(rkey, 2, 0, 32), F(length, 3, 0, 32) } };
static const struct header seth = { "SETH", 1, { F(rmsn, 0, 0, 32) } };
static const struct header oeth = { "OETH", 1, { F(offset, 0, 0, 32) } };
static const struct header steth = { "STETH", 3, { F(sink_va, 0, 0, 64), F(sink_lkey, 2, 0, 32) } };
static const struct header atomiceth = { "AtomicETH", 7, {
	F(va, 0, 0, 64), F(rkey, 2, 0, 32), F(swap_add, 3, 0, 64), F(compare, 5, 0, 64) } };
static const struct header atomicacketh = { "AtomicAckETH", 2, { F(original, 0, 0, 64) } };
static const struct header ieth = { "IETH", 1, { F(inv_rkey, 0, 0, 32) } };
static const struct header immdt = { "ImmDt", 1, { { 0 } } };

/* Table 8.1.3; XRC and who carries what as README.md of the header says. */
struct row {
	__u8 opcode;
	const struct header *headers[6];
};

#define SEND &rbth, &seth, &oeth
#define WRITE &rbth, &reth
#define RESPONSE &rbth, &steth
static const struct row rows[] = {
	{ 0x00, { SEND } }, { 0x01, { SEND } }, { 0x02, { SEND } }, { 0x03, { SEND, &immdt } },
	{ 0x04, { SEND } }, { 0x05, { SEND, &immdt } }, { 0x06, { WRITE } }, { 0x07, { WRITE } },
	{ 0x08, { WRITE } }, { 0x09, { WRITE, &seth, &immdt } }, { 0x0a, { WRITE } },
	{ 0x0b, { WRITE, &seth, &immdt } }, { 0x0c, { &rbth, &reth, &seth, &steth } },
	{ 0x0d, { RESPONSE } }, { 0x0e, { RESPONSE } }, { 0x0f, { RESPONSE } }, { 0x10, { RESPONSE } },
	{ 0x12, { &rbth, &atomicacketh, &steth } }, { 0x13, { &rbth, &atomiceth, &seth, &steth } },
	{ 0x14, { &rbth, &atomiceth, &seth, &steth } }, { 0x16, { SEND, &ieth } },
	{ 0x17, { SEND, &ieth } }, { 0x64, { &rbth, &deth } }, { 0x65, { &rbth, &deth, &immdt } },
	{ 0xa4, { &rbth, &xrceth, &seth, &oeth } }, { 0xaa, { &rbth, &xrceth, &reth } },
	{ 0xac, { &rbth, &xrceth, &reth, &seth, &steth } },
	{ 0xb3, { &rbth, &xrceth, &atomiceth, &seth, &steth } }, { 0xb0, { RESPONSE } },
	{ 0xb2, { &rbth, &atomicacketh, &steth } },
};

static unsigned int row_words(const struct row *r)
{
	unsigned int n = 0;

	for (int i = 0; i < 6 && r->headers[i]; i++)
		n += r->headers[i]->words;
	return n;
}

static void set(struct falcon_rdma_hdr *h, const struct field *f, uint64_t v)
{
	memcpy((char *)h + f->offset, &v, f->size);
}

static uint64_t get(const struct falcon_rdma_hdr *h, const struct field *f)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)h + f->offset, f->size);
	return v;
}

/* All bits of a packet that field |f| of the header at word |at| occupies. */
static void mask_of(const struct field *f, unsigned int at, uint8_t *mask)
{
	for (unsigned int i = 0; i < f->width; i++) {
		unsigned int bit = (at + f->word) * 32 + f->bit + i;

		mask[bit / 8] |= (uint8_t)(0x80 >> (bit % 8));
	}
}

static void check_field(const struct row *r, const struct field *f, unsigned int at)
{
	uint8_t zero[FALCON_RDMA_MAX_HDR], all[FALCON_RDMA_MAX_HDR], mask[FALCON_RDMA_MAX_HDR + 4] = { 0 };
	struct falcon_rdma_hdr h = { .opcode = r->opcode }, back;
	uint32_t len = falcon_rdma_pack(&h, zero);
	uint64_t ones = f->width == 64 ? ~0ULL : (1ULL << f->width) - 1;

	set(&h, f, ~0ULL);
	assert_int_equal(falcon_rdma_pack(&h, all), len);
	mask_of(f, at, mask);
	for (uint32_t i = 0; i < len; i++)
		if ((zero[i] ^ all[i]) != mask[i])
			fail_msg("opcode %#x %s: byte %u", r->opcode, f->name, i);
	/* Padding must be there to be accepted. */
	assert_int_equal(falcon_rdma_unpack(all, len + (f->word ? 0 : h.pad), &back), len);
	assert_true(get(&back, f) == ones);
}

static void s8_1_3_headers_and_bits(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		unsigned int at = 0;

		assert_int_equal(falcon_rdma_hdr_len(falcon_rdma_headers(r->opcode)),
				 row_words(r) * 4);
		for (int n = 0; n < 6 && r->headers[n]; n++) {
			for (const struct field *f = r->headers[n]->fields; f->name; f++)
				check_field(r, f, at);
			at += r->headers[n]->words;
		}
	}
}

/* Immediate data travel as the application gave them: network order is its business. */
static void s8_3_5_immediate_last(void **state)
{
	static const uint8_t imm[4] = { 0xde, 0xad, 0xbe, 0xef };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct falcon_rdma_hdr h = { .opcode = rows[i].opcode }, back;
		uint8_t out[FALCON_RDMA_MAX_HDR];
		uint32_t len;

		if (!(falcon_rdma_headers(h.opcode) & FALCON_RDMA_HAS_IMMDT))
			continue;
		memcpy(&h.imm, imm, 4);
		len = falcon_rdma_pack(&h, out);
		assert_memory_equal(out + len - 4, imm, 4);
		assert_int_equal(falcon_rdma_unpack(out, len, &back), len);
		assert_memory_equal(&back.imm, imm, 4);
	}
}

static bool in_table(unsigned int opcode)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].opcode == opcode)
			return true;
	/* XRC has the rows of RC. */
	return opcode >> 5 == 5 && in_table(opcode & 0x1f);
}

static void s8_1_3_reserved_refused(void **state)
{
	uint8_t packet[FALCON_RDMA_MAX_HDR] = { 0x10 };
	unsigned int known = 0;

	(void)state;
	for (unsigned int op = 0; op < 256; op++) {
		struct falcon_rdma_hdr h = { .opcode = (uint8_t)op };

		packet[3] = (uint8_t)op;
		known += in_table(op);
		assert_int_equal(falcon_rdma_unpack(packet, sizeof(packet), &h) != 0, in_table(op));
		h.opcode = (uint8_t)op;
		assert_int_equal(falcon_rdma_pack(&h, packet) != 0, in_table(op));
		packet[0] = 0x10;
	}
	assert_int_equal(known, 22 + 2 + 22);
}

static void s8_2_version_and_length_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct falcon_rdma_hdr h = { .opcode = rows[i].opcode, .pad = 3 };
		uint8_t packet[FALCON_RDMA_MAX_HDR + 3] = { 0 };
		uint32_t len = falcon_rdma_pack(&h, packet);

		for (uint32_t n = 0; n < len + 3; n++)
			assert_int_equal(falcon_rdma_unpack(packet, n, &h), 0);
		assert_int_equal(falcon_rdma_unpack(packet, len + 3, &h), len);
		packet[0] ^= 0x30;
		assert_int_equal(falcon_rdma_unpack(packet, len + 3, &h), 0);
	}
}

/* What the core copies must have room for. */
static void longest_headers(void **state)
{
	(void)state;
	assert_int_equal(falcon_rdma_hdr_len(falcon_rdma_headers(0xb3)), FALCON_RDMA_MAX_HDR);
	assert_int_equal(falcon_rdma_hdr_len(falcon_rdma_headers(0x12)), FALCON_RDMA_MAX_RESPONSE_HDR);
	assert_int_equal(falcon_rdma_hdr_len(falcon_rdma_headers(0x10)), FALCON_RDMA_READ_HDR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s8_1_3_headers_and_bits),
		cmocka_unit_test(s8_3_5_immediate_last),
		cmocka_unit_test(s8_1_3_reserved_refused),
		cmocka_unit_test(s8_2_version_and_length_refused),
		cmocka_unit_test(longest_headers),
	};

	return unit_run(tests);
}
