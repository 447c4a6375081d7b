// SPDX-License-Identifier: BSD-2-Clause
/* Sealing and opening PSP packets: known answers, every shape, no memory taken a packet. */
#include "psp_seal.h"

#include <stdio.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

static void bytes(const char *hex, uint8_t *out)
{
	for (size_t i = 0; hex[2 * i]; i++)
		assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &out[i]), 1);
}

/* Packets of the reference tool, from the PSP header on. */
static void known_answers(void **state)
{
	static const struct {
		const char *key, *clear, *sealed;
		uint32_t spi, iv;
	} cases[] = {
		{	/* IPv4 and TCP in a tunnel, 24 bytes clear */
			"feedef24f803d7d9324c8eabab3c8825c0c7baf225dfcff030e2ba0c15a19fd9",
			"0401060592b04ac10000000000000003"
			"4502002beea04000110603c00a79eefb0aec730acc2c5e77"
			"d737685638c398bd5010100060430000797013",
			"0401060592b04ac10000000000000003"
			"4502002beea04000110603c00a79eefb0aec730acc2c5e77"
			"c2fe272118bcee628e5e22544593de4c66239c"
			"2e2373d62b4fde235929b8581dd42373",
			0x92b04ac1, 3,
		},
		{	/* an empty UDP packet, all of it clear */
			"6e22e3edcbd706d57728c789734983e2a2c2cca9b68e9b5527bbe23324bfb9d5",
			"110102050635f91f00000000000000012b6756ce000869a6",
			"110102050635f91f00000000000000012b6756ce000869a6"
			"bf58fda50e68494be93ff935fbbf6e4a",
			0x0635f91f, 1,
		},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t clear = (uint32_t)strlen(cases[i].clear) / 2, sealed = clear + 16;
		uint8_t key[32], before[128], after[128], psp[128];
		struct sa *sa[2];
		uint64_t iv;

		bytes(cases[i].key, key);
		bytes(cases[i].clear, before);
		bytes(cases[i].sealed, after);
		sa[0] = sa_new(SA_SEAL, 1, cases[i].spi, key);
		sa[1] = sa_new(SA_OPEN, 1, cases[i].spi, key);
		assert_int_equal(sa_next_iv(sa[0], cases[i].iv, &iv), 0);
		memcpy(psp, before, clear);
		assert_int_equal(psp_seal(sa[0], psp, clear, sizeof(psp)), sealed);
		assert_memory_equal(psp, after, sealed);
		assert_int_equal(psp_open(sa[1], psp, sealed), clear);
		assert_memory_equal(psp, before, clear);
		sa_free(sa[0]);
		sa_free(sa[1]);
	}
}

/* One shape: sealed, what may be seen is as it was and what may not is not; opened, all is. */
static void one_shape(struct psp_pair *p, bool vc, uint8_t offset, uint32_t data)
{
	uint32_t room = falcon_psp_len(vc) + data + FALCON_ICV_LEN, clear;
	uint8_t *psp = packet_room(room), *before = packet_room(room);
	uint32_t len = packet_make(p->seal, psp, vc, offset, data);
	bool encrypts = sa_encap(p->seal) < FALCON_PSP_GMAC_128;

	memcpy(before, psp, len);
	clear = FALCON_PSP_HDR_LEN + offset * 4u;
	if (clear > len) {
		assert_int_equal(psp_seal(p->seal, psp, len, room), SA_ERR_OFFSET);
		assert_memory_equal(psp, before, len);
	} else {
		assert_int_equal(psp_seal(p->seal, psp, len, room), room);
		assert_memory_equal(psp, before, encrypts ? clear : len);
		if (encrypts && len >= clear + 8)
			assert_memory_not_equal(psp + clear, before + clear, len - clear);
		assert_int_equal(psp_open(p->open, psp, room), len);
		assert_memory_equal(psp, before, len);
	}
	free(psp);
	free(before);
}

static void shapes(void **state)
{
	(void)state;
	for (uint8_t v = 0; v < VERSIONS; v++) {
		struct psp_pair p = pair_new(v);

		for (unsigned int vc = 0; vc < 2; vc++) {
			for (uint8_t offset = 0; offset < 64; offset++) {
				for (uint32_t data = 0; data < 70; data++)
					one_shape(&p, vc, offset, data);
				for (uint32_t data = 240; data < 260; data++)
					one_shape(&p, vc, offset, data);
				one_shape(&p, vc, offset, 8801);
			}
		}
		one_shape(&p, true, 3, 65535 - 24);
		pair_free(&p);
	}
}

/* Versions 2 and 3 are GMAC over header and data, as the library computes it by itself. */
static void gmac(void **state)
{
	(void)state;
	for (uint8_t v = FALCON_PSP_GMAC_128; v <= FALCON_PSP_GMAC_256; v++) {
		const char *cipher = v == FALCON_PSP_GMAC_128 ? "AES-128-GCM" : "AES-256-GCM";
		uint8_t key[PSP_KEY_MAX] = { 42 }, nonce[12], want[16], psp[256];
		struct sa *sa = sa_new(SA_SEAL, v, PAIR_SPI, key);
		const OSSL_PARAM params[] = {
			OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, nonce, sizeof(nonce)),
			OSSL_PARAM_construct_end(),
		};
		uint32_t len = packet_make(sa, psp, true, 3, 77);
		size_t n;

		memcpy(nonce, psp + 4, sizeof(nonce));
		assert_non_null(EVP_Q_mac(NULL, "GMAC", NULL, cipher, params, key, psp_key_len(v),
					  psp, len, want, sizeof(want), &n));
		assert_int_equal(psp_seal(sa, psp, len, sizeof(psp)), len + 16);
		assert_memory_equal(psp + len, want, 16);
		sa_free(sa);
	}
}

static void batch(void **state)
{
	enum { N = 24 };
	struct psp_pair pairs[VERSIONS];
	struct psp_job jobs[N];
	uint8_t memory[N][512];

	(void)state;
	for (uint8_t v = 0; v < VERSIONS; v++)
		pairs[v] = pair_new(v);
	for (unsigned int i = 0; i < N; i++) {
		struct sa *sa = pairs[i % VERSIONS].seal;

		jobs[i] = (struct psp_job){ .sa = sa, .psp = memory[i], .room = sizeof(*memory),
					    .len = packet_make(sa, memory[i], false, 1, i * 9 + 4) };
	}
	jobs[5].room = jobs[5].len;
	assert_int_equal(psp_seal_batch(jobs, N), N - 1);
	for (unsigned int i = 0; i < N; i++) {
		assert_int_equal(jobs[i].result, i == 5 ? SA_ERR_ROOM : (int)jobs[i].len + 16);
		jobs[i].sa = pairs[i % VERSIONS].open;
		jobs[i].len += 16;
	}
	memory[9][20] ^= 1;
	assert_int_equal(psp_open_batch(jobs, N), N - 2);
	for (unsigned int i = 0; i < N; i++)
		assert_int_equal(jobs[i].result,
				 i == 5 || i == 9 ? SA_ERR_ICV : (int)jobs[i].len - 16);
	assert_int_equal(psp_open_batch(jobs, 0), 0);
	for (uint8_t v = 0; v < VERSIONS; v++)
		pair_free(&pairs[v]);
}

static unsigned long allocations;

static void *counted_malloc(size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	allocations++;
	return malloc(n);
}

static void *counted_realloc(void *p, size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	allocations++;
	return realloc(p, n);
}

static void counted_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	free(p);
}

/* Sealing, opening and rejecting take no memory. */
static void no_allocation(void **state)
{
	(void)state;
	for (uint8_t v = 0; v < VERSIONS; v++) {
		struct psp_pair p = pair_new(v);
		unsigned long before = 0;
		uint8_t psp[512];

		for (unsigned int i = 0; i < 100; i++) {
			uint32_t len = packet_make(p.seal, psp, i & 1, 3, 200);

			assert_true(psp_seal(p.seal, psp, len, sizeof(psp)) > 0);
			psp[30] ^= i % 3 == 2;
			assert_int_equal(psp_open(p.open, psp, len + 16) > 0, i % 3 != 2);
			if (i == 10)	/* the library has set up this thread by now */
				before = allocations;
		}
		assert_int_equal(allocations, before);
		assert_true(allocations > 0);
		pair_free(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(shapes),
		cmocka_unit_test(gmac),
		cmocka_unit_test(batch),
		cmocka_unit_test(no_allocation),
	};

	/* Before the library's first use, or it refuses. */
	if (CRYPTO_set_mem_functions(counted_malloc, counted_realloc, counted_free) != 1)
		return 1;
	return unit_run(tests);
}
