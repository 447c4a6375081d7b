// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

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
	sa->gcm = gcm_best();
	sa->key = sa->gcm->key_new(key, len, sa->seals);
	if (!sa->key) {
		sa_free(sa);
		return NULL;
	}
	return sa;
}

void sa_free(struct sa *sa)
{
	if (!sa)
		return;
	sa->gcm->key_free(sa->key);
	OPENSSL_cleanse(sa, sizeof(*sa));
	free(sa);
}

const char *sa_library(void)
{
	return gcm_best()->name;
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

int sa_gcm_seal(struct sa *sa, const struct gcm_packet *p)
{
	return sa->gcm->seal(sa->key, p) == GCM_OK ? 0 : SA_ERR_CRYPTO;
}

int sa_gcm_open(struct sa *sa, const struct gcm_packet *p)
{
	enum gcm_result result = sa->gcm->open(sa->key, p);

	if (result == GCM_OK)
		return 0;
	memset(p->data, 0, p->len);
	return result == GCM_FORGED ? SA_ERR_ICV : SA_ERR_CRYPTO;
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
