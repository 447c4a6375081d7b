// SPDX-License-Identifier: BSD-2-Clause
/* Derivation of PSP keys. The expected keys of versions 0 and 1 are the reference tool's. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>

#include "crypto/kdf.h"
#include "crypto/psp.h"

static void bytes(const char *hex, uint8_t *out)
{
	for (size_t i = 0; hex[2 * i]; i++)
		assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &out[i]), 1);
}

static void known(void **state)
{
	static const struct {
		const char *master[2];
		uint32_t spi;
		uint8_t version;
		const char *key;
	} cases[] = {
		{ { "c05409905aa4bc162509dd04565f8b78977380cb5264f79fd230c4f33e31a833",
		    "2e78aa7604542acbb7f6a6f1ba74a15bc1c79049db95873be53b15e6a513ed5b" },
		  0x7fffffff, 1,
		  "945904a96d502759a6a36aabf7cb62e1ad8d3a4c75a40db0666930443ec32e8e" },
		{ { "349dd26ec75a6533faeee4cccc495f3458d2572279a6eaa526a78816d33449bb",
		    "a0725f7e5831b93308dd7ba36561d2f03d1269564525f325a8ea5030a97f7462" },
		  0xfffefdfc, 1,
		  "ccfc3ba2b99fa8bf44d70a87e44a54262183830e849f9695212b05bf2bdb18bb" },
		{ { "5f7930cf2e32d8a2db3812db6e12f8e019744fe352e4d7bfd3fc5415f89b9930",
		    "2d959586b4e307b8857652c3ee79420a6efa1b613222305c6be8e3db98e258bb" },
		  0x00000001, 0, "43553d916e18b31771e1657d47b5e4f0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t key[PSP_KEY_MAX], want[PSP_KEY_MAX];
		struct psp_master_keys masters;

		bytes(cases[i].master[0], masters.key[0]);
		bytes(cases[i].master[1], masters.key[1]);
		assert_int_equal(psp_derive(&masters, cases[i].spi, cases[i].version, key), 0);
		bytes(cases[i].key, want);
		assert_memory_equal(key, want, psp_key_len(cases[i].version));
	}
}

/* CMAC of a block written out by hand, for all versions. */
static void block(void **state)
{
	static const uint8_t master[PSP_MASTER_KEY_LEN] = { 1, 2, 3 };

	(void)state;
	for (uint8_t v = 0; v < 4; v++) {
		uint8_t in[16] = { 0, 0, 0, 1, 0x50, 0x76, 0x30, 0, 0xa1, 0xb2, 0xc3, 0xd4 };
		uint8_t key[PSP_KEY_MAX], want[16];
		size_t n;

		in[6] += v;
		in[14] = v & 1;
		in[15] = v & 1 ? 0 : 0x80;
		assert_int_equal(psp_kdf(master, 0xa1b2c3d4, v, key), 0);
		for (unsigned int i = 0; i < psp_key_len(v) / 16; i++) {
			in[3] = (uint8_t)(i + 1);
			assert_non_null(EVP_Q_mac(NULL, "CMAC", NULL, "AES-256-CBC", NULL, master,
						  sizeof(master), in, sizeof(in), want,
						  sizeof(want), &n));
			assert_memory_equal(key + 16 * i, want, 16);
		}
	}
}

/* Bit 31 selects the master key, and belongs to the SPI that is hashed. */
static void selection(void **state)
{
	const uint32_t top = 0x80000000;
	struct psp_master_keys masters = { .key = { { 1 }, { 2 } } }, same = { 0 };
	uint8_t a[PSP_KEY_MAX], b[PSP_KEY_MAX];

	(void)state;
	assert_int_equal(psp_master_index(top - 1), 0);
	assert_int_equal(psp_master_index(top), 1);
	assert_int_equal(psp_derive(&masters, 5 | top, 1, a), 0);
	assert_int_equal(psp_kdf(masters.key[1], 5 | top, 1, b), 0);
	assert_memory_equal(a, b, 32);
	assert_int_equal(psp_derive(&masters, 5, 1, a), 0);
	assert_int_equal(psp_kdf(masters.key[0], 5, 1, b), 0);
	assert_memory_equal(a, b, 32);
	assert_int_equal(psp_derive(&same, 5, 1, a), 0);
	assert_int_equal(psp_derive(&same, 5 | top, 1, b), 0);
	assert_memory_not_equal(a, b, 32);
}

/* Every bit of master key, SPI and version matters. */
static void separation(void **state)
{
	uint8_t master[PSP_MASTER_KEY_LEN] = { 0 }, base[PSP_KEY_MAX], key[PSP_KEY_MAX];

	(void)state;
	assert_int_equal(psp_kdf(master, 9, 1, base), 0);
	for (unsigned int bit = 0; bit < 256; bit++) {
		master[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(psp_kdf(master, 9, 1, key), 0);
		assert_memory_not_equal(key, base, 16);
		assert_memory_not_equal(key + 16, base + 16, 16);
		master[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (unsigned int bit = 0; bit < 32; bit++) {
		assert_int_equal(psp_kdf(master, 9 ^ 1u << bit, 1, key), 0);
		assert_memory_not_equal(key, base, 16);
	}
	assert_int_equal(psp_kdf(master, 9, 3, key), 0);
	assert_memory_not_equal(key, base, 16);
}

static void refused(void **state)
{
	const struct psp_master_keys masters = { 0 };
	uint8_t key[PSP_KEY_MAX];

	(void)state;
	assert_int_equal(psp_derive(&masters, 0, 0, key), SA_ERR_SPI);
	for (unsigned int v = 0; v < 256; v++) {
		unsigned int len = psp_key_len((uint8_t)v);

		assert_int_equal(len, v > 3 ? 0 : v & 1 ? 32 : 16);
		assert_int_equal(psp_derive(&masters, 1, (uint8_t)v, key),
				 len ? 0 : SA_ERR_VERSION);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known),
		cmocka_unit_test(block),
		cmocka_unit_test(selection),
		cmocka_unit_test(separation),
		cmocka_unit_test(refused),
	};

	return unit_run(tests);
}
