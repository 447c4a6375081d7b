// SPDX-License-Identifier: BSD-2-Clause
/* AES-GCM by OpenSSL: everywhere. */
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "crypto/gcm.h"

/* The context holds the key, ready for the next nonce. */
static EVP_CIPHER_CTX *context(struct gcm_key *k)
{
	return (EVP_CIPHER_CTX *)k;
}

static bool usable(void)
{
	return true;
}

/* EVP_CIPHER_CTX_free() wipes the key schedule. */
static void key_free(struct gcm_key *k)
{
	EVP_CIPHER_CTX_free(context(k));
}

static struct gcm_key *key_new(const uint8_t *key, unsigned int len, bool seals)
{
	const EVP_CIPHER *cipher = len == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

	if (ctx && EVP_CipherInit_ex2(ctx, cipher, key, NULL, seals, NULL) == 1)
		return (struct gcm_key *)ctx;
	EVP_CIPHER_CTX_free(ctx);
	return NULL;
}

/* Nonce, what is authenticated, and data through the cipher, in either direction, all but the tag. */
static bool transform(EVP_CIPHER_CTX *ctx, const struct gcm_packet *p)
{
	int n;

	if (EVP_CipherInit_ex2(ctx, NULL, NULL, p->nonce, -1, NULL) != 1 ||
	    EVP_CipherUpdate(ctx, NULL, &n, p->aad, (int)p->aad_len) != 1)
		return false;
	return !p->len || EVP_CipherUpdate(ctx, p->data, &n, p->data, (int)p->len) == 1;
}

static enum gcm_result seal(struct gcm_key *k, const struct gcm_packet *p)
{
	OSSL_PARAM tag[] = {
		OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, p->icv, GCM_TAG_LEN),
		OSSL_PARAM_construct_end(),
	};
	int n;

	if (!transform(context(k), p) || EVP_CipherFinal_ex(context(k), p->icv, &n) != 1 ||
	    EVP_CIPHER_CTX_get_params(context(k), tag) != 1)
		return GCM_BROKEN;
	return GCM_OK;
}

static enum gcm_result open_packet(struct gcm_key *k, const struct gcm_packet *p)
{
	const OSSL_PARAM tag[] = {
		OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, p->icv, GCM_TAG_LEN),
		OSSL_PARAM_construct_end(),
	};
	enum gcm_result result = GCM_OK;
	int n;

	if (!transform(context(k), p) || EVP_CIPHER_CTX_set_params(context(k), tag) != 1)
		result = GCM_BROKEN;
	else if (EVP_CipherFinal_ex(context(k), p->icv, &n) != 1)
		result = GCM_FORGED;
	if (result != GCM_OK)
		ERR_clear_error();
	return result;
}

const struct gcm_ops gcm_openssl = {
	.name = "OpenSSL",
	.usable = usable,
	.key_new = key_new,
	.key_free = key_free,
	.seal = seal,
	.open = open_packet,
};
