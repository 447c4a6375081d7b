// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <falcon/psp.h>

#include "crypto/kdf.h"
#include "crypto/psp.h"

enum {
	NONCE_OFF = offsetof(struct falcon_psp_hdr, spi),
	NONCE_LEN = 12,
	BLOCK_LEN = 16,
	LEN_MAX = 65535,	/* what UDP can carry, and more */
	CACHE_AHEAD = 4,	/* lines of the next packet fetched early */
};

struct psp_sa {
	EVP_CIPHER_CTX *ctx;	/* holds the key, ready for the next nonce */
	uint32_t spi;
	uint8_t version;
	uint8_t encrypts;
	uint8_t seals;
	uint8_t started;	/* |first_iv| is set */
	uint64_t first_iv;
	uint64_t span;		/* from |first_iv| to the last IV given */
	uint64_t next_span;	/* the least distance that may be sealed */
	struct psp_usage used;
};

static const char *const error_texts[] = {
	"ok",
	"truncated",
	"bad PSP header",
	"wrong PSP version",
	"wrong SPI",
	"crypt offset beyond the packet",
	"ICV mismatch",
	"bad length",
	"no room",
	"IV out of order",
	"key used up",
	"not an IP packet",
	"not a PSP packet",
	"protocol not carried in transport mode",
	"bad IPv4 header checksum",
	"association of the other direction",
	"failure of the crypto library",
};

const char *psp_strerror(int err)
{
	if (err >= 0)
		return error_texts[0];
	return err < PSP_ERR_CRYPTO ? "unknown error" : error_texts[-err];
}

static const EVP_CIPHER *cipher_of(uint8_t version)
{
	return psp_key_len(version) == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
}

struct psp_sa *psp_sa_new(enum psp_direction direction, uint8_t version, uint32_t spi,
			  const uint8_t *key)
{
	bool seals = direction == PSP_SEAL;
	struct psp_sa *sa;

	if (!psp_key_len(version))
		return NULL;
	sa = calloc(1, sizeof(*sa));
	if (!sa)
		return NULL;
	sa->version = version;
	sa->spi = spi;
	sa->seals = seals;
	sa->encrypts = version == FALCON_PSP_AES_GCM_128 || version == FALCON_PSP_AES_GCM_256;
	sa->ctx = EVP_CIPHER_CTX_new();
	if (!sa->ctx || EVP_CipherInit_ex2(sa->ctx, cipher_of(version), key, NULL, seals, NULL) != 1) {
		psp_sa_free(sa);
		return NULL;
	}
	return sa;
}

void psp_sa_free(struct psp_sa *sa)
{
	if (!sa)
		return;
	EVP_CIPHER_CTX_free(sa->ctx);	/* wipes the key schedule */
	OPENSSL_cleanse(sa, sizeof(*sa));
	free(sa);
}

uint8_t psp_sa_version(const struct psp_sa *sa)
{
	return sa->version;
}

uint32_t psp_sa_spi(const struct psp_sa *sa)
{
	return sa->spi;
}

struct psp_usage psp_sa_usage(const struct psp_sa *sa)
{
	return sa->used;
}

int psp_sa_next_iv(struct psp_sa *sa, uint64_t now_ps, uint64_t *iv)
{
	uint64_t step;

	if (!sa->started) {
		sa->started = 1;
		sa->first_iv = now_ps;
		*iv = now_ps;
		return 0;
	}
	step = now_ps - (sa->first_iv + sa->span);
	if ((int64_t)step <= 0)
		step = 1;
	if (step > UINT64_MAX - 1 - sa->span)
		return PSP_ERR_EXHAUSTED;
	sa->span += step;
	*iv = sa->first_iv + sa->span;
	return 0;
}

/*
 * The header is sound and the association's. |len| is without ICV; |*clear| becomes the bytes from
 * the header on that are not encrypted.
 */
static int check(const struct psp_sa *sa, const struct falcon_psp_hdr *h, uint32_t len,
		 uint32_t *clear)
{
	bool vc;

	if (len < FALCON_PSP_HDR_LEN)
		return PSP_ERR_TRUNCATED;
	if (len > LEN_MAX)
		return PSP_ERR_LENGTH;
	if (falcon_psp_version(h) != sa->version)
		return PSP_ERR_VERSION;
	vc = falcon_psp_has_vc(h);
	if (!(h->flags & FALCON_PSP_F_ONE) ||
	    h->hdr_ext_len != (vc ? FALCON_PSP_EXT_LEN_VC : FALCON_PSP_EXT_LEN_NO_VC))
		return PSP_ERR_HEADER;
	if (len < falcon_psp_len(vc))
		return PSP_ERR_TRUNCATED;
	if (falcon_ntoh32(h->spi) != sa->spi)
		return PSP_ERR_SPI;
	*clear = FALCON_PSP_HDR_LEN +
		 (h->crypt_offset & FALCON_PSP_CRYPT_MASK) * FALCON_PSP_CRYPT_UNIT;
	if (*clear > len)
		return PSP_ERR_OFFSET;
	if (!sa->encrypts)
		*clear = len;
	return 0;
}

/* Nonce, header and data through the cipher, in either direction, all but the tag. */
static bool transform(struct psp_sa *sa, uint8_t *psp, uint32_t len, uint32_t clear)
{
	int n;

	if (EVP_CipherInit_ex2(sa->ctx, NULL, NULL, psp + NONCE_OFF, -1, NULL) != 1 ||
	    EVP_CipherUpdate(sa->ctx, NULL, &n, psp, (int)clear) != 1)
		return false;
	return clear == len ||
	       EVP_CipherUpdate(sa->ctx, psp + clear, &n, psp + clear, (int)(len - clear)) == 1;
}

static bool tag_get(struct psp_sa *sa, uint8_t *icv)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, icv,
						  FALCON_PSP_ICV_LEN),
		OSSL_PARAM_construct_end(),
	};

	return EVP_CIPHER_CTX_get_params(sa->ctx, params) == 1;
}

static bool tag_set(struct psp_sa *sa, uint8_t *icv)
{
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, icv,
						  FALCON_PSP_ICV_LEN),
		OSSL_PARAM_construct_end(),
	};

	return EVP_CIPHER_CTX_set_params(sa->ctx, params) == 1;
}

/* The IV was given for this association, and none from it on has been sealed. */
static bool iv_fresh(const struct psp_sa *sa, uint64_t iv)
{
	uint64_t distance = iv - sa->first_iv;

	return sa->started && distance >= sa->next_span && distance <= sa->span;
}

/* Sealing |len| bytes with |iv| is within the key's limits; counts it. */
static int account(struct psp_sa *sa, uint32_t len, uint64_t iv)
{
	uint64_t blocks = (len + BLOCK_LEN - 1) / BLOCK_LEN + 1;

	if (!iv_fresh(sa, iv))
		return PSP_ERR_IV;
	if (sa->used.packets >= PSP_MAX_PACKETS || sa->used.blocks + blocks > PSP_MAX_BLOCKS)
		return PSP_ERR_EXHAUSTED;
	sa->used.packets++;
	sa->used.blocks += blocks;
	sa->next_span = iv - sa->first_iv + 1;
	return 0;
}

int psp_seal(struct psp_sa *sa, void *psp, uint32_t len, uint32_t room)
{
	const struct falcon_psp_hdr *h = psp;
	uint32_t clear;
	uint8_t *icv;
	int err, n;

	if (!sa->seals)
		return PSP_ERR_DIRECTION;
	err = check(sa, h, len, &clear);
	if (err)
		return err;
	if (h->crypt_offset & ~FALCON_PSP_CRYPT_MASK)
		return PSP_ERR_HEADER;
	if (room < len + FALCON_PSP_ICV_LEN)
		return PSP_ERR_ROOM;
	err = account(sa, len, falcon_ntoh64(h->iv));
	if (err)
		return err;
	icv = (uint8_t *)psp + len;
	if (!transform(sa, psp, len, clear) || EVP_CipherFinal_ex(sa->ctx, icv, &n) != 1 ||
	    !tag_get(sa, icv))
		return PSP_ERR_CRYPTO;
	return (int)(len + FALCON_PSP_ICV_LEN);
}

int psp_open(struct psp_sa *sa, void *psp, uint32_t len)
{
	uint32_t clear;
	uint8_t *icv;
	int err, n;

	if (sa->seals)
		return PSP_ERR_DIRECTION;
	if (len < FALCON_PSP_HDR_LEN + FALCON_PSP_ICV_LEN)
		return PSP_ERR_TRUNCATED;
	len -= FALCON_PSP_ICV_LEN;
	err = check(sa, psp, len, &clear);
	if (err)
		return err;
	icv = (uint8_t *)psp + len;
	if (!transform(sa, psp, len, clear) || !tag_set(sa, icv))
		err = PSP_ERR_CRYPTO;
	else if (EVP_CipherFinal_ex(sa->ctx, icv, &n) != 1)
		err = PSP_ERR_ICV;
	if (err) {
		memset((uint8_t *)psp + clear, 0, len - clear);
		ERR_clear_error();
		return err;
	}
	return (int)len;
}

static void fetch(const struct psp_job *job)
{
	for (unsigned int i = 0; i < CACHE_AHEAD; i++)
		__builtin_prefetch(job->psp + i * FALCON_CACHE_LINE, 1);
}

size_t psp_seal_batch(struct psp_job *jobs, size_t n)
{
	size_t good = 0;

	for (size_t i = 0; i < n; i++) {
		struct psp_job *j = &jobs[i];

		if (i + 1 < n)
			fetch(j + 1);
		j->result = psp_seal(j->sa, j->psp, j->len, j->room);
		good += j->result >= 0;
	}
	return good;
}

size_t psp_open_batch(struct psp_job *jobs, size_t n)
{
	size_t good = 0;

	for (size_t i = 0; i < n; i++) {
		struct psp_job *j = &jobs[i];

		if (i + 1 < n)
			fetch(j + 1);
		j->result = psp_open(j->sa, j->psp, j->len);
		good += j->result >= 0;
	}
	return good;
}
