/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-GCM of whole packets under one key (NIST SP 800-38D), by the library that is fastest here.
 *
 * A packet of a few kilobytes is short: what a library does before and after the bytes counts as much as the
 * bytes. OpenSSL looks its parameters up by name for each packet; libipsec-mb has one call for a packet, and
 * code for VAES and AVX-512 that Debian 12's OpenSSL has not. README.md has the figures.
 */
#ifndef FALCON_CRYPTO_GCM_H
#define FALCON_CRYPTO_GCM_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GCM_NONCE_LEN = 12,
	GCM_TAG_LEN = 16,
};

/* A packet: |aad| is authenticated, |data| encrypted as well, in place. */
struct gcm_packet {
	const uint8_t *nonce;	/* GCM_NONCE_LEN bytes */
	const uint8_t *aad;
	uint32_t aad_len;
	uint8_t *data;
	uint32_t len;		/* of |data|; may be 0 */
	uint8_t *icv;		/* the tag, GCM_TAG_LEN bytes */
};

/* A key for one direction. One thread at a time uses it. */
struct gcm_key;

enum gcm_result {
	GCM_OK,
	GCM_FORGED,		/* the tag is not what the holder of the key makes */
	GCM_BROKEN,		/* the library failed */
};

struct gcm_ops {
	const char *name;
	/* Whether this processor and this build have it. */
	bool (*usable)(void);
	/* |len| of 16 or 32 bytes. NULL if there is no memory. */
	struct gcm_key *(*key_new)(const uint8_t *key, unsigned int len, bool seals);
	/* Wiped; NULL is allowed. */
	void (*key_free)(struct gcm_key *k);
	/* Encrypt, and write the tag. GCM_OK or GCM_BROKEN. No memory is taken. */
	enum gcm_result (*seal)(struct gcm_key *k, const struct gcm_packet *p);
	/* Decrypt, and compare the tag. Where it differs the data are not to be used. */
	enum gcm_result (*open)(struct gcm_key *k, const struct gcm_packet *p);
};

extern const struct gcm_ops gcm_openssl;
extern const struct gcm_ops gcm_ipsec_mb;

/* The fastest that is usable; the same for the life of the process. */
const struct gcm_ops *gcm_best(void);

#endif /* FALCON_CRYPTO_GCM_H */
