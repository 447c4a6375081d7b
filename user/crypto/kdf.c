// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <falcon/wire/psp.h>

#include "crypto/kdf.h"
#include "crypto/psp.h"

enum { CMAC_LEN = 16 };

/* What CMAC runs over: one block for each 128 bits of key. All of it big-endian. */
struct kdf_block {
	__be32 counter;		/* from 1 */
	uint8_t label[4];	/* "Pv", the version's digit, 0 */
	__be32 spi;
	__be32 bits;		/* of the whole key */
};
_Static_assert(sizeof(struct kdf_block) == 16, "one AES block");

unsigned int psp_key_len(uint8_t version)
{
	switch (version) {
	case FALCON_PSP_AES_GCM_128:
	case FALCON_PSP_GMAC_128: return 16;
	case FALCON_PSP_AES_GCM_256:
	case FALCON_PSP_GMAC_256: return 32;
	default: return 0;
	}
}

static EVP_MAC_CTX *cmac_new(void)
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "CMAC", NULL);
	EVP_MAC_CTX *ctx = mac ? EVP_MAC_CTX_new(mac) : NULL;

	EVP_MAC_free(mac);
	return ctx;
}

static bool cmac(EVP_MAC_CTX *ctx, const uint8_t *master, const struct kdf_block *block,
		 uint8_t *out)
{
	static char cipher[] = "AES-256-CBC";
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
		OSSL_PARAM_construct_end(),
	};
	size_t len;

	return EVP_MAC_init(ctx, master, PSP_MASTER_KEY_LEN, params) == 1 &&
	       EVP_MAC_update(ctx, (const uint8_t *)block, sizeof(*block)) == 1 &&
	       EVP_MAC_final(ctx, out, &len, CMAC_LEN) == 1 && len == CMAC_LEN;
}

int psp_kdf(const uint8_t master[PSP_MASTER_KEY_LEN], uint32_t spi, uint8_t version, uint8_t *key)
{
	unsigned int len = psp_key_len(version);
	struct kdf_block block = {
		.label = { 'P', 'v', (uint8_t)('0' + version), 0 },
		.spi = falcon_hton32(spi),
		.bits = falcon_hton32(len * 8),
	};
	EVP_MAC_CTX *ctx;
	bool ok;

	if (!len)
		return SA_ERR_VERSION;
	ctx = cmac_new();
	ok = ctx != NULL;
	for (unsigned int i = 0; ok && i < len / CMAC_LEN; i++) {
		block.counter = falcon_hton32(i + 1);
		ok = cmac(ctx, master, &block, key + i * CMAC_LEN);
	}
	EVP_MAC_CTX_free(ctx);
	if (!ok)
		OPENSSL_cleanse(key, len);
	return ok ? 0 : SA_ERR_CRYPTO;
}

int psp_derive(const struct psp_master_keys *masters, uint32_t spi, uint8_t version, uint8_t *key)
{
	if (!spi)
		return SA_ERR_SPI;
	return psp_kdf(masters->key[psp_master_index(spi)], spi, version, key);
}
