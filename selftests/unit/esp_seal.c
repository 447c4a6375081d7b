// SPDX-License-Identifier: BSD-2-Clause
/*
 * ESP with AES-GCM (user/crypto/esp.c): published packets and OpenSSL's one-shot functions give the
 * same bytes; whatever is damaged is refused.
 */
#include "unit.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/esp.h"
#include "crypto/sa_priv.h"

enum { SPI = 0x80000123, MAX = 2048, BEHIND = 5 + 16 };

static const uint8_t encaps[] = { FALCON_ESP_AES_GCM_128, FALCON_ESP_AES_GCM_256 };

struct esp_pair {
	struct sa *seal, *open;
	uint8_t key[SA_KEY_MAX];
};

static struct esp_pair pair_new(uint8_t encap)
{
	struct esp_pair p;

	for (unsigned int i = 0; i < sizeof(p.key); i++)
		p.key[i] = (uint8_t)(i * 11 + encap);
	p.seal = sa_new(SA_SEAL, encap, SPI, p.key);
	p.open = sa_new(SA_OPEN, encap, SPI, p.key);
	assert_non_null(p.seal);
	assert_non_null(p.open);
	return p;
}

static void pair_free(struct esp_pair *p)
{
	sa_free(p->seal);
	sa_free(p->open);
}

static uint32_t from_hex(const char *hex, uint8_t *out)
{
	uint32_t n = (uint32_t)strlen(hex) / 2;

	for (uint32_t i = 0; i < n; i++) {
		const char digits[3] = { hex[2 * i], hex[2 * i + 1] };

		out[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return n;
}

/* A sealed packet of |data| bytes of data. Returns its length. */
static uint32_t sealed(struct sa *sa, uint8_t *esp, uint32_t data)
{
	uint32_t len = FALCON_ESP_HDR_LEN + data;
	int rc;

	memset(esp, 0, MAX);
	for (uint32_t i = FALCON_ESP_HDR_LEN; i < len; i++)
		esp[i] = (uint8_t)(i * 31 + 1);
	assert_int_equal(sa_stamp(sa, esp, 5000), 0);
	rc = sa_seal(sa, esp, len, len + BEHIND, FALCON_NEXT_HEADER);
	assert_true(rc > 0);
	return (uint32_t)rc;
}

/* draft-mcgrew-gcm-test-01, section 4: those of 32-bit sequence numbers and well-formed padding. */
static const struct published {
	uint8_t encap;
	uint32_t spi, seq;
	uint64_t iv;
	const char *key, *plain, *cipher;
	uint32_t trailer;	/* bytes of padding and trailer in |plain| */
} published[] = {
	{ FALCON_ESP_AES_GCM_128, 0xa5f8, 10, 0xfacedbaddecaf888,
	  "feffe9928665731c6d6a8f9467308308cafebabe",
	  "4500003e698f000080114dccc0a80102c0a801010a980035002a2343b2d001000001000000000000"
	  "037369700963796265726369747902646b00000100010001",
	  "deb22cd9b07c72c16e3a65beeb8df304a5a5897d33ae530f1ba76d5d114d2a5c3de81827c10e9a4f"
	  "51330d0eec416642cfbb85a5b47e48a4ec3b9ba95d918bd183b70d3aa8bc6ee4c309e9d85a41ad4a",
	  2 },
	{ FALCON_ESP_AES_GCM_256, 0x4a2cbfe3, 2, 0x0102030405060708,
	  "abbccddef00112233445566778899aababbccddef00112233445566778899aab11223344",
	  "4500003069a6400080062690c0a801029389155e0a9e008b2dc57ee0000000007002400020bf0000"
	  "020405b40101040201020201",
	  "ff425c9b724599df7a3bcd510194e00d6a78107f1b0b1cbf06efae9d65a5d763748a637985771d34"
	  "7f0545659f14e99def842d8eb335f4eecfdbf831824b4c4915956c96",
	  4 },
};

static void as_published(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(published); i++) {
		const struct published *p = &published[i];
		uint8_t key[SA_KEY_MAX], packet[MAX] = {}, want[MAX], plain[MAX], next = 0;
		uint32_t n = from_hex(p->plain, plain) - p->trailer;
		uint32_t len = FALCON_ESP_HDR_LEN + from_hex(p->cipher, want + FALCON_ESP_HDR_LEN);
		struct sa *seal, *open;

		assert_int_equal(from_hex(p->key, key), sa_key_len(p->encap));
		seal = sa_new(SA_SEAL, p->encap, p->spi, key);
		open = sa_new(SA_OPEN, p->encap, p->spi, key);
		seal->used.packets = p->seq - 1;
		assert_int_equal(sa_stamp(seal, packet, p->iv), 0);
		memcpy(packet + FALCON_ESP_HDR_LEN, plain, n);
		assert_int_equal(sa_seal(seal, packet, FALCON_ESP_HDR_LEN + n, sizeof(packet),
					 plain[n + p->trailer - 1]), len);
		assert_memory_equal(packet + FALCON_ESP_HDR_LEN, want + FALCON_ESP_HDR_LEN,
				    len - FALCON_ESP_HDR_LEN);
		assert_int_equal(sa_open(open, packet, len, &next), FALCON_ESP_HDR_LEN + n);
		assert_int_equal(next, plain[n + p->trailer - 1]);
		assert_memory_equal(packet + FALCON_ESP_HDR_LEN, plain, n);
		sa_free(seal);
		sa_free(open);
	}
}

/* The layout by the book, and GCM by OpenSSL's plain interface. Returns the length. */
static uint32_t by_the_book(const uint8_t *key, uint8_t encap, uint32_t seq, uint64_t iv,
			    const uint8_t *data, uint32_t n, uint8_t *out)
{
	const EVP_CIPHER *cipher = encap == FALCON_ESP_AES_GCM_128 ? EVP_aes_128_gcm()
								   : EVP_aes_256_gcm();
	int key_len = EVP_CIPHER_get_key_length(cipher), len;
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	uint8_t nonce[12], plain[MAX], pad = 0;

	for (int i = 0; i < 8; i++) {
		out[i] = (uint8_t)((i < 4 ? SPI : seq) >> (24 - i % 4 * 8));
		out[8 + i] = (uint8_t)(iv >> (56 - i * 8));
	}
	memcpy(nonce, key + key_len, 4);
	memcpy(nonce + 4, out + 8, 8);
	memcpy(plain, data, n);
	while ((n + pad + 2u) % 4) {
		plain[n + pad] = (uint8_t)(pad + 1);
		pad++;
	}
	plain[n + pad] = pad;
	plain[n + pad + 1] = 252;
	n += pad + 2u;
	assert_int_equal(EVP_EncryptInit_ex(ctx, cipher, NULL, key, nonce), 1);
	assert_int_equal(EVP_EncryptUpdate(ctx, NULL, &len, out, 8), 1);
	assert_int_equal(EVP_EncryptUpdate(ctx, out + 16, &len, plain, (int)n), 1);
	assert_int_equal(EVP_EncryptFinal_ex(ctx, out + 16 + n, &len), 1);
	assert_int_equal(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, out + 16 + n), 1);
	EVP_CIPHER_CTX_free(ctx);
	return 16 + n + 16;
}

/* Every remainder of lengths, hence every padding; the sequence number counts. */
static void as_computed(void **state)
{
	(void)state;
	for (unsigned int e = 0; e < ARRAY_SIZE(encaps); e++) {
		struct esp_pair p = pair_new(encaps[e]);

		for (uint32_t n = 0; n < 70; n++) {
			uint8_t got[MAX], want[MAX], data[128], next = 0;
			uint32_t len = sealed(p.seal, got, n);

			for (uint32_t i = 0; i < n; i++)
				data[i] = (uint8_t)((i + 16) * 31 + 1);
			assert_int_equal(by_the_book(p.key, encaps[e], n + 1, 5000 + n, data, n, want),
					 len);
			assert_memory_equal(got, want, len);
			assert_int_equal(sa_open(p.open, got, len, &next), 16 + n);
			assert_int_equal(next, 252);
			assert_memory_equal(got + 16, data, n);
		}
		assert_int_equal(sa_usage(p.seal).packets, 70);
		pair_free(&p);
	}
}

static void flipped(void **state)
{
	(void)state;
	for (unsigned int e = 0; e < ARRAY_SIZE(encaps); e++) {
		struct esp_pair p = pair_new(encaps[e]);
		uint8_t good[MAX], bad[MAX], next = 0;
		uint32_t len = sealed(p.seal, good, 41);

		for (uint32_t bit = 0; bit < len * 8; bit++) {
			memcpy(bad, good, len);
			bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_equal(sa_open(p.open, bad, len, &next),
					 bit < 32 ? SA_ERR_SPI : SA_ERR_ICV);
			/* Nothing unauthenticated is handed on. */
			if (bit >= 32)
				assert_true(bad[16] == 0 && !memcmp(bad + 16, bad + 17, len - 33));
		}
		assert_int_equal(next, 0);
		assert_int_equal(sa_open(p.open, good, len, &next), 16 + 41);
		pair_free(&p);
	}
}

static void truncated(void **state)
{
	struct esp_pair p = pair_new(FALCON_ESP_AES_GCM_128);
	uint8_t good[MAX], next;
	uint32_t len = sealed(p.seal, good, 30);

	(void)state;
	for (uint32_t n = 0; n < len; n++) {
		/* Memory of just that length, so that the sanitizer sees a touch beyond. */
		uint8_t *bad = malloc(n + !n);

		assert_non_null(bad);
		memcpy(bad, good, n);
		assert_int_equal(sa_open(p.open, bad, n, &next), n < 34 ? SA_ERR_TRUNCATED
							   : n % 4 ? SA_ERR_LENGTH : SA_ERR_ICV);
		free(bad);
	}
	assert_int_equal(sa_open(p.open, good, 65536, &next), SA_ERR_LENGTH);
	pair_free(&p);
}

/* What the key's holder has sealed with |plain| of |n| bytes, trailer included, whatever it says. */
static int opened(const struct esp_pair *p, const uint8_t *plain, uint32_t n, uint8_t *next)
{
	uint8_t packet[MAX] = { SPI >> 24, SPI >> 16 & 0xff, SPI >> 8 & 0xff, SPI & 0xff };
	uint8_t nonce[12] = {};
	struct gcm_packet g = { nonce, packet, 8, packet + 16, n, packet + 16 + n };

	memcpy(nonce, p->seal->salt, 4);
	memcpy(packet + 16, plain, n);
	assert_int_equal(sa_gcm_seal(p->seal, &g), 0);
	return sa_open(p->open, packet, 16 + n + 16, next);
}

static void padding(void **state)
{
	struct esp_pair p = pair_new(FALCON_ESP_AES_GCM_256);
	uint8_t plain[300] = {}, next = 0;

	(void)state;
	assert_int_equal(opened(&p, (const uint8_t[]){ 9, 9, 0, 252 }, 4, &next), 16 + 2);
	assert_int_equal(opened(&p, (const uint8_t[]){ 1, 2, 2, 252 }, 4, &next), 16);
	/* Not 1, 2, ..; longer than the packet. */
	assert_int_equal(opened(&p, (const uint8_t[]){ 0, 0, 2, 252 }, 4, &next), SA_ERR_PADDING);
	assert_int_equal(opened(&p, (const uint8_t[]){ 1, 1, 2, 252 }, 4, &next), SA_ERR_PADDING);
	assert_int_equal(opened(&p, (const uint8_t[]){ 1, 2, 3, 252 }, 4, &next), SA_ERR_PADDING);
	assert_int_equal(opened(&p, (const uint8_t[]){ 1, 2, 255, 252 }, 4, &next), SA_ERR_PADDING);
	/* The longest that there is, more than we send. */
	for (unsigned int i = 0; i < 255; i++)
		plain[7 + i] = (uint8_t)(i + 1);
	plain[262] = 255;
	plain[263] = 59;
	assert_int_equal(opened(&p, plain, 264, &next), 16 + 7);
	assert_int_equal(next, 59);
	pair_free(&p);
}

static void reasons(void **state)
{
	struct esp_pair p = pair_new(FALCON_ESP_AES_GCM_128);
	uint8_t packet[MAX], next;
	uint32_t len = sealed(p.seal, packet, 8);
	uint64_t iv;

	(void)state;
	assert_int_equal(esp_open(p.seal, packet, len, &next), SA_ERR_DIRECTION);
	assert_int_equal(esp_seal(p.open, packet, 24, MAX, 252), SA_ERR_DIRECTION);
	assert_int_equal(esp_seal(p.seal, packet, 15, MAX, 252), SA_ERR_TRUNCATED);
	assert_int_equal(esp_seal(p.seal, packet, 65536, 70000, 252), SA_ERR_LENGTH);
	assert_int_equal(esp_seal(p.seal, packet, 24, 24 + 4 + 16 - 1, 252), SA_ERR_ROOM);
	/* The IV that was sealed with, and one that was never given. */
	assert_int_equal(esp_seal(p.seal, packet, 24, MAX, 252), SA_ERR_IV);
	packet[8] ^= 1;
	assert_int_equal(esp_seal(p.seal, packet, 24, MAX, 252), SA_ERR_IV);
	packet[0] ^= 1;
	assert_int_equal(esp_seal(p.seal, packet, 24, MAX, 252), SA_ERR_SPI);
	assert_int_equal(sa_next_iv(p.seal, 5000, &iv), 0);
	assert_int_equal(iv, 5001);
	assert_int_equal(sa_key_len(FALCON_ESP_AES_GCM_128), 20);
	assert_int_equal(sa_key_len(FALCON_ESP_AES_GCM_256), 36);
	pair_free(&p);
}

/* The sequence number never wraps, and the salt matters. */
static void limits(void **state)
{
	struct esp_pair p = pair_new(FALCON_ESP_AES_GCM_128);
	uint8_t packet[MAX], next;
	uint32_t len;

	(void)state;
	p.seal->used.packets = SA_MAX_PACKETS - 1;
	len = sealed(p.seal, packet, 8);
	assert_memory_equal(packet + 4, "\xff\xff\xff\xff", 4);
	assert_int_equal(sa_stamp(p.seal, packet, 1), 0);
	assert_int_equal(sa_seal(p.seal, packet, 24, MAX, 252), SA_ERR_EXHAUSTED);
	p.open->salt[3] ^= 1;
	assert_int_equal(sa_open(p.open, packet, len, &next), SA_ERR_ICV);
	pair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_published),
		cmocka_unit_test(as_computed),
		cmocka_unit_test(flipped),
		cmocka_unit_test(truncated),
		cmocka_unit_test(padding),
		cmocka_unit_test(reasons),
		cmocka_unit_test(limits),
	};

	return unit_run(tests);
}
