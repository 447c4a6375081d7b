// SPDX-License-Identifier: BSD-2-Clause
/*
 * AES-GCM by either library (user/crypto/gcm.h): published packets, the same bytes from both at every length,
 * and nothing that was changed is accepted.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "crypto/gcm.h"

enum { MAX = 65535 };

static const struct gcm_ops *const libraries[] = { &gcm_openssl, &gcm_ipsec_mb };

#define FOR_EACH_LIBRARY(ops) \
	for (unsigned int i_ = 0; i_ < ARRAY_SIZE(libraries); i_++) \
		for (const struct gcm_ops *ops = libraries[i_]; ops && ops->usable(); ops = NULL)

/* What a packet is made of. */
struct parts {
	uint8_t nonce[GCM_NONCE_LEN], tag[GCM_TAG_LEN];
	uint8_t *aad, *data;
};

static struct parts parts_new(uint32_t aad_len, uint32_t len, uint32_t seed)
{
	/* Of exactly these sizes, so that the sanitizer sees what is read or written beyond. */
	struct parts p = { .aad = malloc(aad_len + !aad_len), .data = malloc(len + !len) };

	assert_non_null(p.aad);
	assert_non_null(p.data);
	for (unsigned int i = 0; i < sizeof(p.nonce); i++)
		p.nonce[i] = (uint8_t)(seed * 7 + i);
	for (uint32_t i = 0; i < aad_len; i++)
		p.aad[i] = (uint8_t)(seed + i * 3);
	for (uint32_t i = 0; i < len; i++)
		p.data[i] = (uint8_t)(seed * 5 + i + (i >> 8));
	return p;
}

static void parts_free(struct parts *p)
{
	free(p->aad);
	free(p->data);
}

static struct gcm_packet packet_of(struct parts *p, uint32_t aad_len, uint32_t len)
{
	return (struct gcm_packet){ p->nonce, p->aad, aad_len, p->data, len, p->tag };
}

/* Test cases 4 and 16 of McGrew and Viega's "The Galois/Counter Mode of Operation". */
static void published(void **state)
{
	static const uint8_t key[32] = {
		0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c, 0x6d, 0x6a, 0x8f, 0x94,
		0x67, 0x30, 0x83, 0x08, 0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c,
		0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08,
	};
	static const uint8_t nonce[GCM_NONCE_LEN] = {
		0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce, 0xdb, 0xad, 0xde, 0xca, 0xf8, 0x88,
	};
	static const uint8_t aad[20] = {
		0xfe, 0xed, 0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xfe, 0xed, 0xfa, 0xce,
		0xde, 0xad, 0xbe, 0xef, 0xab, 0xad, 0xda, 0xd2,
	};
	static const uint8_t plain[60] = {
		0xd9, 0x31, 0x32, 0x25, 0xf8, 0x84, 0x06, 0xe5, 0xa5, 0x59, 0x09, 0xc5,
		0xaf, 0xf5, 0x26, 0x9a, 0x86, 0xa7, 0xa9, 0x53, 0x15, 0x34, 0xf7, 0xda,
		0x2e, 0x4c, 0x30, 0x3d, 0x8a, 0x31, 0x8a, 0x72, 0x1c, 0x3c, 0x0c, 0x95,
		0x95, 0x68, 0x09, 0x53, 0x2f, 0xcf, 0x0e, 0x24, 0x49, 0xa6, 0xb5, 0x25,
		0xb1, 0x6a, 0xed, 0xf5, 0xaa, 0x0d, 0xe6, 0x57, 0xba, 0x63, 0x7b, 0x39,
	};
	static const struct {
		unsigned int key_len;
		uint8_t first[8], tag[GCM_TAG_LEN];
	} cases[] = {
		{ 16, { 0x42, 0x83, 0x1e, 0xc2, 0x21, 0x77, 0x74, 0x24 },
		  { 0x5b, 0xc9, 0x4f, 0xbc, 0x32, 0x21, 0xa5, 0xdb, 0x94, 0xfa, 0xe9, 0x5a, 0xe7, 0x12, 0x1a,
		    0x47 } },
		{ 32, { 0x52, 0x2d, 0xc1, 0xf0, 0x99, 0x56, 0x7d, 0x07 },
		  { 0x76, 0xfc, 0x6e, 0xce, 0x0f, 0x4e, 0x17, 0x68, 0xcd, 0xdf, 0x88, 0x53, 0xbb, 0x2d, 0x55,
		    0x1b } },
	};

	(void)state;
	FOR_EACH_LIBRARY(ops) {
		for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
			struct gcm_key *k = ops->key_new(key, cases[i].key_len, true);
			uint8_t data[sizeof(plain)], tag[GCM_TAG_LEN];
			struct gcm_packet p = { nonce, aad, sizeof(aad), data, sizeof(data), tag };

			memcpy(data, plain, sizeof(data));
			assert_int_equal(ops->seal(k, &p), GCM_OK);
			assert_memory_equal(data, cases[i].first, sizeof(cases[i].first));
			assert_memory_equal(tag, cases[i].tag, sizeof(tag));
			ops->key_free(k);
		}
	}
}

/* Sealed by |a| and |b| are the same bytes, and |b| opens what |a| has sealed. */
static void compare(const struct gcm_ops *a, const struct gcm_ops *b, struct gcm_key *const k[3],
		    uint32_t aad_len, uint32_t len)
{
	struct parts mine = parts_new(aad_len, len, len), theirs = parts_new(aad_len, len, len),
		     plain = parts_new(aad_len, len, len);
	struct gcm_packet p = packet_of(&mine, aad_len, len), q = packet_of(&theirs, aad_len, len);

	assert_int_equal(a->seal(k[0], &p), GCM_OK);
	assert_int_equal(b->seal(k[1], &q), GCM_OK);
	assert_memory_equal(mine.data, theirs.data, len);
	assert_memory_equal(mine.tag, theirs.tag, GCM_TAG_LEN);
	assert_int_equal(b->open(k[2], &p), GCM_OK);
	assert_memory_equal(mine.data, plain.data, len);
	parts_free(&mine);
	parts_free(&theirs);
	parts_free(&plain);
}

static void compare_all(const struct gcm_ops *a, const struct gcm_ops *b, unsigned int key_len)
{
	static const uint32_t aads[] = { 0, 1, 8, 12, 16, 24, 31, 32, 33, 48, 1400, MAX };
	static const uint32_t lens[] = { 511, 512, 513, 1024, 1399, 1500, 3498, 4096, 9000, MAX };
	uint8_t key[32];
	struct gcm_key *k[3];

	for (unsigned int i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(i * 29 + key_len);
	k[0] = a->key_new(key, key_len, true);
	k[1] = b->key_new(key, key_len, true);
	k[2] = b->key_new(key, key_len, false);
	for (unsigned int i = 0; i < ARRAY_SIZE(aads); i++) {
		for (uint32_t len = 0; len <= 300; len++)
			compare(a, b, k, aads[i] == MAX ? 16 : aads[i], len);
		for (unsigned int n = 0; n < ARRAY_SIZE(lens); n++)
			compare(a, b, k, aads[i], lens[n]);
		compare(a, b, k, aads[i], 0);
	}
	a->key_free(k[0]);
	b->key_free(k[1]);
	b->key_free(k[2]);
}

static void same_bytes(void **state)
{
	(void)state;
	FOR_EACH_LIBRARY(a) {
		compare_all(a, &gcm_openssl, 16);
		compare_all(a, &gcm_openssl, 32);
		compare_all(&gcm_openssl, a, 16);
		compare_all(&gcm_openssl, a, 32);
	}
}

/* One bit of |field| changed. */
static void refuse(const struct gcm_ops *ops, uint8_t *field, uint32_t bytes, struct parts *m,
		   const struct gcm_packet *p, struct gcm_key *open)
{
	for (uint32_t bit = 0; bit < bytes * 8; bit++) {
		struct parts copy = parts_new(p->aad_len, p->len, 0);
		struct gcm_packet q = packet_of(&copy, p->aad_len, p->len);

		field[bit / 8] ^= (uint8_t)(1 << bit % 8);
		memcpy(copy.nonce, m->nonce, sizeof(copy.nonce));
		memcpy(copy.tag, m->tag, sizeof(copy.tag));
		memcpy(copy.aad, m->aad, p->aad_len);
		memcpy(copy.data, m->data, p->len);
		assert_int_equal(ops->open(open, &q), GCM_FORGED);
		field[bit / 8] ^= (uint8_t)(1 << bit % 8);
		parts_free(&copy);
	}
}

static void forged(void **state)
{
	static const uint8_t key[32] = { 1, 2, 3 };

	(void)state;
	FOR_EACH_LIBRARY(ops) {
		struct gcm_key *seal = ops->key_new(key, 32, true), *open = ops->key_new(key, 32, false);
		struct parts m = parts_new(20, 75, 9);
		struct gcm_packet p = packet_of(&m, 20, 75);

		assert_int_equal(ops->seal(seal, &p), GCM_OK);
		refuse(ops, m.nonce, sizeof(m.nonce), &m, &p, open);
		refuse(ops, m.tag, sizeof(m.tag), &m, &p, open);
		refuse(ops, m.aad, 20, &m, &p, open);
		refuse(ops, m.data, 75, &m, &p, open);
		assert_int_equal(ops->open(open, &p), GCM_OK);
		parts_free(&m);
		ops->key_free(seal);
		ops->key_free(open);
		ops->key_free(NULL);
	}
}

static void chosen(void **state)
{
	(void)state;
	assert_true(gcm_best()->usable());
	assert_ptr_equal(gcm_best(), gcm_best());
	if (gcm_ipsec_mb.usable())
		assert_ptr_equal(gcm_best(), &gcm_ipsec_mb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published),
		cmocka_unit_test(same_bytes),
		cmocka_unit_test(forged),
		cmocka_unit_test(chosen),
	};

	return unit_run(tests);
}
