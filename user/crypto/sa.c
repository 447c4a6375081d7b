// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>

#include "crypto/kdf.h"
#include "crypto/sa_priv.h"

enum { BLOCK_LEN = 16 };

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
	"bad ESP padding",
	"failure of the crypto library",
};

const char *sa_strerror(int err)
{
	if (err >= 0)
		return error_texts[0];
	return err < SA_ERR_CRYPTO ? "unknown error" : error_texts[-err];
}

unsigned int sa_key_len(uint8_t encap)
{
	switch (encap) {
	case FALCON_ESP_AES_GCM_128: return 16 + FALCON_ESP_SALT_LEN;
	case FALCON_ESP_AES_GCM_256: return 32 + FALCON_ESP_SALT_LEN;
	default: return psp_key_len(encap);
	}
}

struct sa *sa_new(enum sa_direction direction, uint8_t encap, uint32_t spi, const uint8_t *key)
{
	bool esp = falcon_encap_is_esp(encap);
	unsigned int len = sa_key_len(encap) - (esp ? FALCON_ESP_SALT_LEN : 0);
	const EVP_CIPHER *cipher = len == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
	struct sa *sa;

	if (!sa_key_len(encap))
		return NULL;
	sa = calloc(1, sizeof(*sa));
	if (!sa)
		return NULL;
	sa->ops = esp ? &esp_ops : &psp_ops;
	sa->encap = encap;
	sa->spi = spi;
	sa->seals = direction == SA_SEAL;
	if (esp)
		memcpy(sa->salt, key + len, sizeof(sa->salt));
	sa->ctx = EVP_CIPHER_CTX_new();
	if (!sa->ctx || EVP_CipherInit_ex2(sa->ctx, cipher, key, NULL, sa->seals, NULL) != 1) {
		sa_free(sa);
		return NULL;
	}
	return sa;
}

void sa_free(struct sa *sa)
{
	if (!sa)
		return;
	EVP_CIPHER_CTX_free(sa->ctx);	/* wipes the key schedule */
	OPENSSL_cleanse(sa, sizeof(*sa));
	free(sa);
}

uint8_t sa_encap(const struct sa *sa)
{
	return sa->encap;
}

uint32_t sa_spi(const struct sa *sa)
{
	return sa->spi;
}

struct sa_usage sa_usage(const struct sa *sa)
{
	return sa->used;
}

int sa_next_iv(struct sa *sa, uint64_t now_ps, uint64_t *iv)
{
	uint64_t step;

	if (!sa->started) {
		sa->started = true;
		sa->first_iv = now_ps;
		*iv = now_ps;
		return 0;
	}
	step = now_ps - (sa->first_iv + sa->span);
	if ((int64_t)step <= 0)
		step = 1;
	if (step > UINT64_MAX - 1 - sa->span)
		return SA_ERR_EXHAUSTED;
	sa->span += step;
	*iv = sa->first_iv + sa->span;
	return 0;
}

/* The IV was given for this association, and none from it on has been sealed. */
static bool iv_fresh(const struct sa *sa, uint64_t iv)
{
	uint64_t distance = iv - sa->first_iv;

	return sa->started && distance >= sa->next_span && distance <= sa->span;
}

int sa_account(struct sa *sa, uint32_t len, uint64_t iv)
{
	uint64_t blocks = (len + BLOCK_LEN - 1) / BLOCK_LEN + 1;

	if (!iv_fresh(sa, iv))
		return SA_ERR_IV;
	if (sa->used.packets >= SA_MAX_PACKETS || sa->used.blocks + blocks > SA_MAX_BLOCKS)
		return SA_ERR_EXHAUSTED;
	sa->used.packets++;
	sa->used.blocks += blocks;
	sa->next_span = iv - sa->first_iv + 1;
	return 0;
}

/* Nonce, what is authenticated, and data through the cipher, in either direction, all but the tag. */
static bool transform(struct sa *sa, const struct sa_gcm *g)
{
	int n;

	if (EVP_CipherInit_ex2(sa->ctx, NULL, NULL, g->nonce, -1, NULL) != 1 ||
	    EVP_CipherUpdate(sa->ctx, NULL, &n, g->aad, (int)g->aad_len) != 1)
		return false;
	return !g->len || EVP_CipherUpdate(sa->ctx, g->data, &n, g->data, (int)g->len) == 1;
}

static bool tag_get(struct sa *sa, uint8_t *icv)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, icv, FALCON_ICV_LEN),
		OSSL_PARAM_construct_end(),
	};

	return EVP_CIPHER_CTX_get_params(sa->ctx, params) == 1;
}

static bool tag_set(struct sa *sa, uint8_t *icv)
{
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, icv, FALCON_ICV_LEN),
		OSSL_PARAM_construct_end(),
	};

	return EVP_CIPHER_CTX_set_params(sa->ctx, params) == 1;
}

int sa_gcm_seal(struct sa *sa, const struct sa_gcm *g)
{
	int n;

	if (!transform(sa, g) || EVP_CipherFinal_ex(sa->ctx, g->icv, &n) != 1 ||
	    !tag_get(sa, g->icv))
		return SA_ERR_CRYPTO;
	return 0;
}

int sa_gcm_open(struct sa *sa, const struct sa_gcm *g)
{
	int err = 0, n;

	if (!transform(sa, g) || !tag_set(sa, g->icv))
		err = SA_ERR_CRYPTO;
	else if (EVP_CipherFinal_ex(sa->ctx, g->icv, &n) != 1)
		err = SA_ERR_ICV;
	if (err) {
		memset(g->data, 0, g->len);
		ERR_clear_error();
	}
	return err;
}

int sa_stamp(struct sa *sa, void *packet, uint64_t now_ps)
{
	uint64_t iv;
	int rc = sa_next_iv(sa, now_ps, &iv);

	if (rc == 0)
		sa->ops->stamp(sa, packet, iv);
	return rc;
}

int sa_seal(struct sa *sa, void *packet, uint32_t len, uint32_t room, uint8_t next_header)
{
	return sa->ops->seal(sa, packet, len, room, next_header);
}

int sa_open(struct sa *sa, void *packet, uint32_t len, uint8_t *next_header)
{
	return sa->ops->open(sa, packet, len, next_header);
}
