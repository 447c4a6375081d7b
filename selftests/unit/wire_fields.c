// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every field of every packet, one at a time and all at random: where its bits are, that it touches
 * no other bit, that a value too wide does not leak, and that pack and unpack are inverse.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <falcon/wire/wire.h>

/* A field: where it is in the host struct, and in the figure (word, first bit, width). */
struct field {
	const char *name;
	size_t offset, size;
	unsigned int word, bit, width;
};
#define MAX_FIELDS 24

struct packet {
	const char *name;
	unsigned char type;
	unsigned int len;	/* header, bytes */
	struct field fields[MAX_FIELDS];
};

#define H(f, word, bit, width)                                                                     \
	{ #f, offsetof(struct falcon_hdr, f), sizeof(((struct falcon_hdr *)0)->f), word, bit,      \
	  width }
#define A(f, word, bit, width)                                                                     \
	{ #f, offsetof(struct falcon_ack, f), sizeof(((struct falcon_ack *)0)->f), word, bit,      \
	  width }

/* Falcon 7.2 */
#define BASE_FIELDS                                                                                \
	H(cid, 0, 8, 24), H(function, 1, 0, 24), H(proto, 1, 24, 3), H(ar, 1, 31, 1),              \
	H(rdbpsn, 2, 0, 32), H(rrbpsn, 3, 0, 32), H(psn, 4, 0, 32), H(rsn, 5, 0, 32)

/* Falcon 7.7.1, without the words that depend on the type */
#define ACK_FIELDS                                                                                 \
	A(cid, 0, 8, 24), A(rdbpsn, 2, 0, 32), A(rrbpsn, 3, 0, 32), A(t1, 4, 0, 32),               \
	A(t2, 5, 0, 32), A(hops, 6, 0, 4), A(buffer_level, 6, 4, 5), A(ecn, 6, 9, 14)

static const struct packet reliable[] = {
	{ "Pull Request", FALCON_PULL_REQUEST, 32, { BASE_FIELDS, H(request_len, 6, 16, 16) } },
	{ "Pull Data", FALCON_PULL_DATA, 24, { BASE_FIELDS } },
	{ "Push Data", FALCON_PUSH_DATA, 28, { BASE_FIELDS, H(request_len, 6, 16, 16) } },
	{ "Resync", FALCON_RESYNC, 32,
	  { BASE_FIELDS, H(resync_code, 6, 0, 8), H(resync_type, 6, 8, 4), H(vendor, 7, 0, 32) } },
};

static const struct packet acks[] = {
	{ "BACK", FALCON_BACK, 32, { ACK_FIELDS, A(rue_info, 7, 8, 22), A(own, 7, 30, 2) } },
	{ "EACK", FALCON_EACK, 72,
	  { ACK_FIELDS, A(rue_info, 7, 8, 22), A(own, 7, 30, 2), A(data_ack[3], 8, 0, 32),
	    A(data_ack[2], 9, 0, 32), A(data_ack[1], 10, 0, 32), A(data_ack[0], 11, 0, 32),
	    A(data_rx[3], 12, 0, 32), A(data_rx[2], 13, 0, 32), A(data_rx[1], 14, 0, 32),
	    A(data_rx[0], 15, 0, 32), A(req[1], 16, 0, 32), A(req[0], 17, 0, 32) } },
	{ "NACK", FALCON_NACK, 40,
	  { ACK_FIELDS, A(rue_info, 7, 8, 24), A(nack_psn, 8, 0, 32), A(nack_code, 9, 0, 8),
	    A(rnr, 9, 11, 5), A(nack_req_window, 9, 16, 1), A(ulp_code, 9, 24, 8) } },
};

union host {
	struct falcon_hdr h;
	struct falcon_ack a;
};

static void set(union host *p, const struct field *f, uint32_t v)
{
	char *at = (char *)p + f->offset;

	if (f->size == 1)
		*(uint8_t *)at = (uint8_t)v;
	else if (f->size == 2)
		*(uint16_t *)at = (uint16_t)v;
	else
		*(uint32_t *)at = v;
}

static uint32_t get(const union host *p, const struct field *f)
{
	const char *at = (const char *)p + f->offset;

	if (f->size == 1)
		return *(const uint8_t *)at;
	if (f->size == 2)
		return *(const uint16_t *)at;
	return *(const uint32_t *)at;
}

static uint32_t mask(const struct field *f)
{
	return f->width == 32 ? 0xffffffff : (1U << f->width) - 1;
}

static void init(union host *p, const struct packet *pk)
{
	memset(p, 0, sizeof(*p));
	if (falcon_type_is_ack(pk->type))
		p->a.type = pk->type;
	else
		p->h.type = pk->type;
}

static void pack(const union host *p, const struct packet *pk, uint32_t *out)
{
	uint32_t len;

	memset(out, 0xff, FALCON_MAX_HDR_LEN);
	len = falcon_type_is_ack(pk->type) ? falcon_ack_pack(&p->a, out)
					   : falcon_hdr_pack(&p->h, out);
	assert_int_equal(len, pk->len);
	assert_int_equal(len, falcon_hdr_len(pk->type));
}

/* Whether the codes are valid is not the question here. */
static void unpack(union host *p, const struct packet *pk, const uint32_t *in)
{
	const char *end = (const char *)in + pk->len;

	memset(p, 0xff, sizeof(*p));
	if (falcon_type_is_ack(pk->type))
		falcon_ack_unpack(in, end, &p->a);
	else
		falcon_hdr_unpack(in, end, &p->h);
}

/* One bit of one field set in a packet of zeros changes one bit on the wire: the figure's. */
static void check_bits(const struct packet *pk, const struct field *f)
{
	uint32_t zero[FALCON_MAX_HDR_LEN / 4], one[FALCON_MAX_HDR_LEN / 4];
	union host p, q;

	init(&p, pk);
	pack(&p, pk, zero);
	for (unsigned int k = 0; k < f->width; k++) {
		set(&p, f, 1U << k);
		pack(&p, pk, one);
		for (unsigned int w = 0; w < pk->len / 4; w++) {
			uint32_t want = w == f->word ? 1U << (31 - f->bit - (f->width - 1 - k)) : 0;

			if (falcon_ntoh32(zero[w] ^ one[w]) != want)
				fail_msg("%s.%s bit %u: word %u", pk->name, f->name, k, w);
		}
		unpack(&q, pk, one);
		assert_int_equal(get(&q, f), 1U << k);
	}
}

/* A value with bits above the field's width is cut and does not spill into its neighbours. */
static void check_overflow(const struct packet *pk, const struct field *f)
{
	uint32_t out[FALCON_MAX_HDR_LEN / 4], want[FALCON_MAX_HDR_LEN / 4];
	union host p;

	/* What is not a number but a truth value: everything but 0 is true. */
	if (f->width == 1 && !strcmp(f->name, "nack_req_window"))
		return;
	init(&p, pk);
	set(&p, f, mask(f));
	pack(&p, pk, want);
	set(&p, f, 0xffffffff);
	pack(&p, pk, out);
	assert_memory_equal(out, want, pk->len);
}

static void for_fields(const struct packet *pk,
		       void (*check)(const struct packet *pk, const struct field *f))
{
	for (const struct field *f = pk->fields; f->name; f++)
		check(pk, f);
}

static void isolated(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reliable); i++)
		for_fields(&reliable[i], check_bits);
	for (size_t i = 0; i < ARRAY_SIZE(acks); i++)
		for_fields(&acks[i], check_bits);
}

static void overflow(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reliable); i++)
		for_fields(&reliable[i], check_overflow);
	for (size_t i = 0; i < ARRAY_SIZE(acks); i++)
		for_fields(&acks[i], check_overflow);
}

/* All fields at random at once; what unpack fills must be all there is. */
static void round_trip_one(const struct packet *pk, uint64_t *seed)
{
	uint32_t out[FALCON_MAX_HDR_LEN / 4];
	union host p, q;

	init(&p, pk);
	for (const struct field *f = pk->fields; f->name; f++)
		set(&p, f, (uint32_t)unit_random(seed) & mask(f));
	pack(&p, pk, out);
	unpack(&q, pk, out);
	for (const struct field *f = pk->fields; f->name; f++) {
		if (get(&p, f) != get(&q, f))
			fail_msg("%s.%s: 0x%x became 0x%x", pk->name, f->name, get(&p, f),
				 get(&q, f));
	}
}

static void round_trip(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;

	(void)state;
	for (int n = 0; n < 10000; n++) {
		for (size_t i = 0; i < ARRAY_SIZE(reliable); i++)
			round_trip_one(&reliable[i], &seed);
		for (size_t i = 0; i < ARRAY_SIZE(acks); i++)
			round_trip_one(&acks[i], &seed);
	}
}

/* With every field all ones, the bits that stay zero are those that the figures reserve. */
static void check_reserved(const struct packet *pk)
{
	uint32_t out[FALCON_MAX_HDR_LEN / 4], used[FALCON_MAX_HDR_LEN / 4] = { 0 };
	union host p;

	init(&p, pk);
	used[0] = 0xf0000000;	/* version */
	used[1] = 0xfU << 1;	/* packet type */
	for (const struct field *f = pk->fields; f->name; f++) {
		uint32_t bits = mask(f) << (32 - f->bit - f->width);

		assert_int_equal(used[f->word] & bits, 0);
		used[f->word] |= bits;
		set(&p, f, mask(f));
	}
	pack(&p, pk, out);
	for (unsigned int w = 0; w < pk->len / 4; w++)
		assert_int_equal(falcon_ntoh32(out[w]) & ~used[w], 0);
}

static void reserved_zero(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reliable); i++)
		check_reserved(&reliable[i]);
	for (size_t i = 0; i < ARRAY_SIZE(acks); i++)
		check_reserved(&acks[i]);
}

/* A receiver ignores reserved bits: it may not refuse what a later version puts there. */
static void reserved_ignored(void **state)
{
	uint32_t out[FALCON_MAX_HDR_LEN / 4];
	union host p, q;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(acks); i++) {
		init(&p, &acks[i]);
		pack(&p, &acks[i], out);
		out[0] |= falcon_hton32(0x0f000000);
		out[1] |= falcon_hton32(0xffffffe1);
		out[6] |= falcon_hton32(0x000001ff);
		out[7] |= falcon_hton32(0xff000000);
		unpack(&q, &acks[i], out);
		assert_memory_equal(&q.a, &p.a, sizeof(p.a));
	}
	for (size_t i = 0; i < ARRAY_SIZE(reliable); i++) {
		init(&p, &reliable[i]);
		pack(&p, &reliable[i], out);
		out[0] |= falcon_hton32(0x0f000000);
		unpack(&q, &reliable[i], out);
		assert_int_equal(q.h.cid, 0);
		assert_int_equal(q.h.type, reliable[i].type);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(isolated),
		cmocka_unit_test(overflow),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(reserved_zero),
		cmocka_unit_test(reserved_ignored),
	};

	return unit_run(tests);
}
