// SPDX-License-Identifier: BSD-2-Clause
/*
 * NVMe over Falcon's packets against the figures of its section 8: where each field's bits are, that
 * it touches no other bit, that a value too wide does not leak, that pack and unpack are inverse,
 * which bits are reserved, and what is refused.
 */
#include "unit.h"

#include <string.h>

#include <falcon/wire/nvme.h>

/* A packet's host form. */
struct host {
	struct falcon_nvme_hdr h;
	struct falcon_nvme_cmd c;
	__u16 status;
};

/* A field: where it is in the host form, and in the figure (word, first bit, width). */
struct field {
	const char *name;
	size_t offset, size;
	unsigned int word, bit, width;
};
#define MAX_FIELDS 32
#define MAX_WORDS 16

struct packet {
	const char *name;
	__u8 type;
	unsigned int words;
	struct field fields[MAX_FIELDS];
};

#define H(f, word, bit, width)                                                                     \
	{ #f, offsetof(struct host, h.f), sizeof(((struct host *)0)->h.f), word, bit, width }
#define C(f, word, bit, width)                                                                     \
	{ #f, offsetof(struct host, c.f), sizeof(((struct host *)0)->c.f), word, bit, width }
#define STATUS { "status", offsetof(struct host, status), 2, 8, 17, 15 }

/* NVMe 8.2 */
#define NBTH                                                                                       \
	H(function, 0, 8, 24), H(inv, 1, 2, 1), H(split, 1, 3, 1), H(group, 1, 4, 1),              \
	H(ttag, 1, 8, 24), H(total, 2, 0, 8), H(itag, 2, 8, 24), H(offset, 3, 0, 8),               \
	H(icmd, 3, 8, 24)
/* NVMe 8.3; bits 31:0 of the SLBA are set() through its low half. */
#define READ                                                                                       \
	C(initiator_nsid, 8, 0, 16), C(target_nsid, 8, 16, 16),                                    \
	{ "slba", offsetof(struct host, c.slba), 4, 9, 0, 32 },                                    \
	{ "slba", offsetof(struct host, c.slba) + 4, 4, 10, 0, 32 }, C(nlb, 11, 0, 16),            \
	C(prinfo, 11, 26, 4), C(fua, 11, 30, 1), C(lr, 11, 31, 1), C(dsm, 12, 0, 8),             \
	C(unit, 12, 8, 8), C(reftag, 13, 0, 32), C(apptag_mask, 14, 0, 16),                        \
	C(apptag, 14, 16, 16), C(sqid, 15, 24, 8)
/* NVMe 8.5 */
#define WRITE READ, C(dtype, 11, 20, 4), C(dspec, 12, 16, 16)

static const struct packet packets[] = {
	{ "Write Request", FALCON_NVME_WRITE_REQUEST, 16, { NBTH, WRITE } },
	{ "Write Data Request", FALCON_NVME_WRITE_DATA_REQUEST, 8, { NBTH } },
	{ "Write Data Response", FALCON_NVME_WRITE_DATA, 9, { NBTH } },
	{ "Write Completion", FALCON_NVME_WRITE_COMPLETION, 9, { NBTH, STATUS } },
	{ "Read Request", FALCON_NVME_READ_REQUEST, 16, { NBTH, READ } },
	{ "Read Response", FALCON_NVME_READ_RESPONSE, 9, { NBTH, STATUS } },
	{ "Command", FALCON_NVME_COMMAND, 16,
	  { NBTH, WRITE, C(opcode, 15, 0, 8), C(admin, 15, 15, 1) } },
	{ "Write with Data", FALCON_NVME_WRITE_WITH_DATA, 16, { NBTH, WRITE } },
	{ "Command Completion", FALCON_NVME_COMMAND_COMPLETION, 9, { NBTH, STATUS } },
	{ "Read Command", FALCON_NVME_READ_COMMAND, 16, { NBTH, READ } },
};

static uint32_t mask(const struct field *f)
{
	return f->width == 32 ? 0xffffffff : (1U << f->width) - 1;
}

static void set(struct host *p, const struct field *f, uint32_t v)
{
	memcpy((char *)p + f->offset, &v, f->size);
}

static uint32_t get(const struct host *p, const struct field *f)
{
	uint32_t v = 0;

	memcpy(&v, (const char *)p + f->offset, f->size);
	return v;
}

static void pack(struct host *p, const struct packet *pk, uint32_t *out)
{
	memset(out, 0xff, MAX_WORDS * 4);
	p->h.type = pk->type;
	if (pk->words == 16)
		falcon_nvme_request_pack(&p->h, &p->c, (struct falcon_nvme_request *)out);
	else if (pk->words == 9)
		falcon_nvme_response_pack(&p->h, p->status, (struct falcon_nvme_response *)out);
	else
		falcon_nvme_nbth_pack(&p->h, (struct falcon_nvme_nbth *)out);
}

/* The total counts, so that a lone offset is no reason to refuse the packet. */
static void unpack(struct host *p, const struct packet *pk, const uint32_t *in)
{
	uint32_t w[MAX_WORDS];

	memset(p, 0xff, sizeof(*p));
	memcpy(w, in, sizeof(w));
	w[2] |= falcon_hton32(0xff000000);
	assert_true(falcon_nvme_nbth_unpack(w, pk->words * 4, &p->h));
	assert_int_equal(p->h.type, pk->type);
	p->h.total = (__u8)(falcon_ntoh32(in[2]) >> 24);
	if (pk->words == 16)
		falcon_nvme_request_unpack((const void *)in, pk->type, &p->c);
	else if (pk->words == 9)
		p->status = falcon_nvme_status((const void *)in);
}

/* One bit of one field set in a packet of zeros changes one bit on the wire: the figure's. */
static void check_bits(const struct packet *pk, const struct field *f)
{
	uint32_t zero[MAX_WORDS], one[MAX_WORDS];

	for (unsigned int k = 0; k < f->width; k++) {
		struct host p = {}, q;

		pack(&p, pk, zero);
		set(&p, f, 1U << k);
		pack(&p, pk, one);
		for (unsigned int w = 0; w < pk->words; w++) {
			uint32_t want = w == f->word ? 1U << (31 - f->bit - (f->width - 1 - k)) : 0;

			if (falcon_ntoh32(zero[w] ^ one[w]) != want)
				fail_msg("%s.%s bit %u: word %u", pk->name, f->name, k, w);
		}
		unpack(&q, pk, one);
		assert_int_equal(get(&q, f), 1U << k);
	}
}

static void check_overflow(const struct packet *pk, const struct field *f)
{
	uint32_t out[MAX_WORDS], want[MAX_WORDS];
	struct host p = {};

	set(&p, f, mask(f));
	pack(&p, pk, want);
	set(&p, f, 0xffffffff);
	pack(&p, pk, out);
	assert_memory_equal(out, want, pk->words * 4);
}

static void each_field(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
		assert_int_equal(falcon_nvme_hdr_len(packets[i].type), packets[i].words * 4);
		for (const struct field *f = packets[i].fields; f->name; f++) {
			check_bits(&packets[i], f);
			check_overflow(&packets[i], f);
		}
	}
}

static void round_trip(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;

	(void)state;
	for (int n = 0; n < 10000; n++) {
		const struct packet *pk = &packets[(size_t)n % ARRAY_SIZE(packets)];
		uint32_t out[MAX_WORDS];
		struct host p = {}, q;

		for (const struct field *f = pk->fields; f->name; f++)
			set(&p, f, (uint32_t)unit_random(&seed) & mask(f));
		pack(&p, pk, out);
		unpack(&q, pk, out);
		for (const struct field *f = pk->fields; f->name; f++)
			if (get(&p, f) != get(&q, f))
				fail_msg("%s.%s: 0x%x became 0x%x", pk->name, f->name, get(&p, f),
					 get(&q, f));
	}
}

/* With every field all ones, the bits that stay zero are those that the figures reserve. */
static void reserved_are_zero(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
		uint32_t out[MAX_WORDS], used[MAX_WORDS] = {};
		struct host p;

		memset(&p, 0xff, sizeof(p));
		pack(&p, &packets[i], out);
		used[0] = 0xff000000;	/* version and type */
		for (const struct field *f = packets[i].fields; f->name; f++)
			used[f->word] |= mask(f) << (32 - f->bit - f->width);
		for (unsigned int w = 0; w < packets[i].words; w++)
			assert_int_equal(falcon_ntoh32(out[w]) & ~used[w], 0);
	}
}

static void refused(void **state)
{
	struct falcon_nvme_hdr h = { .total = 3, .offset = 3 }, got;
	uint32_t w[MAX_WORDS + 1] = {};

	(void)state;
	for (unsigned int type = 0; type < 16; type++) {
		__u32 len = falcon_nvme_hdr_len((__u8)type);

		h.type = (__u8)type;
		falcon_nvme_nbth_pack(&h, (struct falcon_nvme_nbth *)w);
		assert_int_equal(len != 0, type <= FALCON_NVME_READ_COMMAND);
		assert_int_equal(falcon_nvme_nbth_unpack(w, sizeof(w), &got),
				 falcon_nvme_has_data((__u8)type));
		assert_int_equal(falcon_nvme_nbth_unpack(w, len, &got), len != 0);
		for (__u32 cut = 0; cut < len; cut++)
			assert_false(falcon_nvme_nbth_unpack(w, cut, &got));
	}
	h.type = FALCON_NVME_READ_RESPONSE;
	h.offset = 4;
	falcon_nvme_nbth_pack(&h, (struct falcon_nvme_nbth *)w);
	assert_false(falcon_nvme_nbth_unpack(w, 36, &got));
	h.offset = 3;
	falcon_nvme_nbth_pack(&h, (struct falcon_nvme_nbth *)w);
	for (__u32 version = 0; version < 16; version++) {
		w[0] = falcon_hton32(version << 28 | FALCON_NVME_READ_RESPONSE << 24);
		assert_int_equal(falcon_nvme_nbth_unpack(w, 36, &got), version == 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(reserved_are_zero),
		cmocka_unit_test(refused),
	};

	return unit_run(tests);
}
