// SPDX-License-Identifier: BSD-2-Clause
#include "agent/keys/sec_keys.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <string.h>

#include "crypto/kdf.h"
#include "crypto/locked.h"
#include "crypto/sa.h"
#include "falcon/wire/esp.h"

enum {
	SPI_LAST = 0x7fffffff,	/* below the bit that selects the master key */
	SPI_KEY = 16,		/* bytes */
	SPI_ROUNDS = 6,
};

struct sec_keys {
	struct psp_master_keys masters;
	uint32_t generation;	/* its lowest bit is the index of its master key */
	uint32_t last;		/* of the numbers behind SPIs, the one used last */
	uint8_t spi_key[SPI_KEY];
};

static int draw(struct sec_keys *k, uint32_t generation)
{
	uint8_t fresh[PSP_MASTER_KEY_LEN];

	if (RAND_priv_bytes(fresh, sizeof(fresh)) != 1)
		return -EIO;
	memcpy(k->masters.key[generation & 1], fresh, sizeof(fresh));
	OPENSSL_cleanse(fresh, sizeof(fresh));
	k->generation = generation;
	return 0;
}

int sec_keys_open(struct sec_keys **out)
{
	struct sec_keys *k = locked_new(sizeof(*k));
	int rc;

	*out = NULL;
	if (!k)
		return -errno;
	k->last = FALCON_ESP_SPI_MIN - 1;
	if (RAND_priv_bytes(k->spi_key, sizeof(k->spi_key)) != 1) {
		sec_keys_close(k);
		return -EIO;
	}
	/* The generation before the first one has no SPIs, but no guessable key either. */
	rc = draw(k, 0);
	if (rc == 0)
		rc = draw(k, 1);
	if (rc < 0)
		sec_keys_close(k);
	else
		*out = k;
	return rc;
}

void sec_keys_close(struct sec_keys *k)
{
	locked_free(k, sizeof(*k));
}

uint32_t sec_keys_generation(const struct sec_keys *k)
{
	return k->generation;
}

/*
 * Connections that are being set up may have SPIs of any generation, under which XDP knows them: the counting
 * goes on, and starts over so late that none of those is left.
 */
int sec_keys_rotate(struct sec_keys *k)
{
	int rc = draw(k, k->generation + 1);

	if (rc == 0 && k->last > SPI_LAST / 2)
		k->last = FALCON_ESP_SPI_MIN - 1;
	return rc;
}

/* A permutation of all 32-bit numbers that nobody can tell without the key: a Feistel network of AES. */
static bool permute(EVP_CIPHER_CTX *aes, uint32_t *n)
{
	uint16_t left = (uint16_t)(*n >> 16), right = (uint16_t)*n, next;
	uint8_t in[16] = {}, out[16];
	int len;

	for (uint8_t round = 0; round < SPI_ROUNDS; round++) {
		in[0] = round;
		memcpy(in + 1, &right, sizeof(right));
		if (EVP_EncryptUpdate(aes, out, &len, in, sizeof(in)) != 1)
			return false;
		memcpy(&next, out, sizeof(next));
		next ^= left;
		left = right;
		right = next;
	}
	*n = (uint32_t)left << 16 | right;
	return true;
}

/*
 * SPIs are in no order that a stranger could go on with. The permutation of them all becomes one of those
 * that may be given if it is applied until it comes to one.
 */
uint32_t sec_keys_spi(struct sec_keys *k)
{
	EVP_CIPHER_CTX *aes = EVP_CIPHER_CTX_new();
	bool done = k->last < SPI_LAST && aes &&
		    EVP_EncryptInit_ex(aes, EVP_aes_128_ecb(), NULL, k->spi_key, NULL) == 1;
	uint32_t spi = done ? ++k->last : 0;

	do
		done = done && permute(aes, &spi);
	while (done && (spi > SPI_LAST || spi < FALCON_ESP_SPI_MIN));
	EVP_CIPHER_CTX_free(aes);
	return done ? (k->generation & 1) << 31 | spi : 0;
}

int sec_keys_derive(const struct sec_keys *k, uint32_t spi, uint8_t version, uint8_t *key)
{
	return psp_derive(&k->masters, spi, version, key);
}

int sec_keys_make(const struct sec_keys *k, uint32_t spi, uint8_t encap, uint8_t *key)
{
	if (!falcon_encap_is_esp(encap))
		return sec_keys_derive(k, spi, encap, key) < 0 ? -ENOKEY : 0;
	return RAND_priv_bytes(key, (int)sa_key_len(encap)) == 1 ? 0 : -ENOKEY;
}
