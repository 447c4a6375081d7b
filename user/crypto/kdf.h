/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys of PSP (PSP Architecture Specification; Falcon 6.5): derived from a master key, the SPI
 * and the version by AES-256-CMAC in counter mode (NIST SP 800-108). The receiver needs no table of
 * associations for it.
 */
#ifndef FALCON_CRYPTO_KDF_H
#define FALCON_CRYPTO_KDF_H

#include <stdint.h>

enum psp_key_const {
	PSP_MASTER_KEY_LEN = 32,
	PSP_KEY_MAX = 32,	/* of a derived key; versions 0 and 2 have 16 bytes */
};

/* Bit 31 of an SPI is the index of the master key that made its key. */
struct psp_master_keys {
	uint8_t key[2][PSP_MASTER_KEY_LEN];
};

/* The index of the master key that |spi| selects: 0 or 1. */
static inline unsigned int psp_master_index(uint32_t spi)
{
	return spi >> 31;
}

/* Bytes of a key of |version|, an enum falcon_encap: 16 or 32; 0 if it has no keys. */
unsigned int psp_key_len(uint8_t version);

/*
 * The bare function: the key of |version| for |spi| from |master|, any SPI. |key| has room for
 * psp_key_len() bytes. Returns 0, SA_ERR_VERSION or SA_ERR_CRYPTO; then |key| holds no key.
 */
int psp_kdf(const uint8_t master[PSP_MASTER_KEY_LEN], uint32_t spi, uint8_t version, uint8_t *key);

/*
 * The key of an association: psp_kdf() with the master key that |spi| selects. SPI 0 stands for "not
 * configured" (Falcon 9.2.2.3) and is refused: SA_ERR_SPI.
 */
int psp_derive(const struct psp_master_keys *masters, uint32_t spi, uint8_t version, uint8_t *key);

#endif /* FALCON_CRYPTO_KDF_H */
