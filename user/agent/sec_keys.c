// SPDX-License-Identifier: BSD-2-Clause
#include "agent/sec_keys.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <string.h>

#include "crypto/kdf.h"
#include "crypto/locked.h"
#include "crypto/sa.h"
#include "falcon/esp.h"

enum { SPI_LAST = 0x7fffffff };	/* below the bit that selects the master key */

struct sec_keys {
	struct psp_master_keys masters;
	uint32_t generation;	/* its lowest bit is the index of its master key */
	uint32_t last;		/* SPI given last, without its top bit */
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

uint32_t sec_keys_spi(struct sec_keys *k)
{
	if (k->last == SPI_LAST)
		return 0;
	return (k->generation & 1) << 31 | ++k->last;
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
