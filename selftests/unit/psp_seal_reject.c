// SPDX-License-Identifier: BSD-2-Clause
/* What must not be opened, or sealed: every bit, every length, each reason by its name. */
#include "psp_seal.h"

/* The packet is rejected, and nothing that was encrypted can be read. */
static void rejected(struct sa *sa, const uint8_t *sealed, uint32_t len, uint32_t hidden_from)
{
	uint8_t *copy = packet_room(len + !len);
	int err;

	memcpy(copy, sealed, len);
	err = psp_open(sa, copy, len);
	assert_true(err < 0);
	if (err == SA_ERR_ICV && sa_encap(sa) < FALCON_PSP_GMAC_128)
		for (uint32_t i = hidden_from; i < len - 16; i++)
			assert_int_equal(copy[i], 0);
	if (err != SA_ERR_ICV)
		assert_memory_equal(copy, sealed, len);
	free(copy);
}

static void every_bit(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 4, 15, 16, 17, 33 };

	(void)state;
	for (unsigned int i = 0; i < VERSIONS * 2 * ARRAY_SIZE(sizes); i++) {
		struct psp_pair p = pair_new(i % VERSIONS);
		uint32_t data = sizes[i / VERSIONS / 2], len;
		bool vc = i / VERSIONS % 2;
		uint8_t offset = data >= 4 ? 1 : 0;
		uint8_t *psp = packet_sealed(p.seal, vc, offset, data, &len);

		for (uint32_t bit = 0; bit < len * 8; bit++) {
			uint8_t in_offset = bit / 8 == 2 ? (uint8_t)(1 << bit % 8) & 63 : 0;

			psp[bit / 8] ^= (uint8_t)(1 << bit % 8);
			rejected(p.open, psp, len, 16 + (offset ^ in_offset) * 4u);
			psp[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		assert_int_equal(psp_open(p.open, psp, len), len - 16);
		free(psp);
		pair_free(&p);
	}
}

/* The reserved bits of the crypt offset's byte are authenticated, too, as the tag alone protects them. */
static void reserved_bits(void **state)
{
	struct psp_pair p = pair_new(1);
	uint32_t len;
	uint8_t *psp;

	(void)state;
	for (unsigned int bit = 6; bit < 8; bit++) {
		psp = packet_sealed(p.seal, false, 2, 20, &len);
		psp[2] ^= (uint8_t)(1 << bit);
		assert_int_equal(psp_open(p.open, psp, len), SA_ERR_ICV);
		free(psp);
	}
	pair_free(&p);
}

/* Cut anywhere, or with bytes behind. */
static void every_length(void **state)
{
	(void)state;
	for (uint8_t v = 0; v < VERSIONS; v++) {
		for (uint32_t data = 0; data < 40; data += 13) {
			struct psp_pair p = pair_new(v);
			uint32_t len;
			uint8_t *psp = packet_sealed(p.seal, data & 1, 0, data, &len);
			uint8_t *more = packet_room(len + 20);

			memset(more, 0, len + 20);
			memcpy(more, psp, len);
			for (uint32_t n = 0; n < len; n++)
				rejected(p.open, psp, n, 16);
			for (uint32_t n = len + 1; n <= len + 20; n++)
				rejected(p.open, more, n, 16);
			free(more);
			free(psp);
			pair_free(&p);
		}
	}
}

/* A packet of one association is not another's: key, SPI, version. */
static void other_association(void **state)
{
	static const uint8_t key[PSP_KEY_MAX] = { 1 }, other[PSP_KEY_MAX] = { 2 };
	struct sa *seal = sa_new(SA_SEAL, 0, 7, key);
	const struct {
		uint8_t version;
		uint32_t spi;
		const uint8_t *key;
		int err;
	} cases[] = {
		{ 0, 7, other, SA_ERR_ICV },
		{ 0, 8, key, SA_ERR_SPI },
		{ 1, 7, key, SA_ERR_VERSION },
		{ 2, 7, key, SA_ERR_VERSION },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sa *open = sa_new(SA_OPEN, cases[i].version, cases[i].spi,
						 cases[i].key);
		uint32_t len;
		uint8_t *psp = packet_sealed(seal, false, 1, 30, &len);

		assert_int_equal(psp_open(open, psp, len), cases[i].err);
		free(psp);
		sa_free(open);
	}
	sa_free(seal);
}

/* Version 15, and all others without keys, are nothing here. */
static void no_such_version(void **state)
{
	static const uint8_t key[SA_KEY_MAX];
	struct psp_pair p = pair_new(0);
	uint32_t len;
	uint8_t *psp = packet_sealed(p.seal, false, 0, 8, &len);

	(void)state;
	for (unsigned int v = 1; v < 16; v++) {
		psp[3] = (uint8_t)(v << 2 | 1);
		assert_int_equal(psp_open(p.open, psp, len), SA_ERR_VERSION);
		assert_int_equal(psp_seal(p.seal, psp, len - 16, len), SA_ERR_VERSION);
	}
	for (unsigned int v = 4; v < 256; v++) {
		if (!falcon_encap_is_esp((uint8_t)v))
			assert_null(sa_new(SA_SEAL, (uint8_t)v, 1, key));
	}
	free(psp);
	pair_free(&p);
}

static void reasons(void **state)
{
	struct psp_pair p = pair_new(0);
	uint32_t len;
	uint8_t *psp = packet_sealed(p.seal, false, 0, 8, &len);

	(void)state;
	assert_int_equal(psp_open(p.seal, psp, len), SA_ERR_DIRECTION);
	assert_int_equal(psp_seal(p.open, psp, len - 16, len), SA_ERR_DIRECTION);
	assert_int_equal(psp_open(p.open, psp, 31), SA_ERR_TRUNCATED);
	assert_int_equal(psp_seal(p.seal, psp, 15, len), SA_ERR_TRUNCATED);
	assert_int_equal(psp_seal(p.seal, psp, 24, 39), SA_ERR_ROOM);
	assert_int_equal(psp_seal(p.seal, psp, 65536, 70000), SA_ERR_LENGTH);
	assert_int_equal(psp_open(p.open, psp, 65536 + 16), SA_ERR_LENGTH);
	psp[2] = 3;
	assert_int_equal(psp_open(p.open, psp, len), SA_ERR_OFFSET);
	psp[2] = 0x41;
	assert_int_equal(psp_seal(p.seal, psp, len - 16, len), SA_ERR_HEADER);
	psp[2] = 0;
	psp[1] = 2;
	assert_int_equal(psp_open(p.open, psp, len), SA_ERR_HEADER);
	psp[3] |= FALCON_PSP_F_VC;	/* with cookie: 24 bytes of header, none of data */
	assert_int_equal(psp_open(p.open, psp, 31 + 8), SA_ERR_TRUNCATED);
	psp[3] = 0;
	psp[1] = 1;
	assert_int_equal(psp_open(p.open, psp, len), SA_ERR_HEADER);
	free(psp);
	pair_free(&p);
}

static void texts(void **state)
{
	(void)state;
	assert_string_equal(sa_strerror(0), "ok");
	assert_string_equal(sa_strerror(100), "ok");
	assert_string_equal(sa_strerror(SA_ERR_ICV), "ICV mismatch");
	assert_string_equal(sa_strerror(SA_ERR_CRYPTO), "failure of the crypto library");
	assert_string_equal(sa_strerror(SA_ERR_CRYPTO - 1), "unknown error");
	for (int a = 0; a >= SA_ERR_CRYPTO; a--)
		for (int b = a - 1; b >= SA_ERR_CRYPTO; b--)
			assert_string_not_equal(sa_strerror(a), sa_strerror(b));
	sa_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bit),
		cmocka_unit_test(reserved_bits),
		cmocka_unit_test(every_length),
		cmocka_unit_test(other_association),
		cmocka_unit_test(no_such_version),
		cmocka_unit_test(reasons),
		cmocka_unit_test(texts),
	};

	return unit_run(tests);
}
