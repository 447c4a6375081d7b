// SPDX-License-Identifier: BSD-2-Clause
/* AES-GCM by libipsec-mb (Intel's Multi-Buffer Crypto for IPsec), which is for x86-64 alone. */
#include "crypto/gcm.h"

#ifdef __x86_64__

#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>

#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

/* The library's functions for this processor. Its queues of jobs are not used, so threads may share it. */
static IMB_MGR *manager;

struct gcm_key {
	alignas(64) struct gcm_key_data expanded;	/* aligned as the library's own tests have it */
	/* The last packet's counters and hash: as secret as the key. */
	struct gcm_context_data packet;
	bool long_key;		/* of 32 bytes */
};

/* Without AES instructions the library only emulates them. */
static void set_up(void)
{
	manager = alloc_mb_mgr(0);
	if (!manager)
		return;
	init_mb_mgr_auto(manager, NULL);
	if (imb_get_errno(manager) == 0 && manager->features & IMB_FEATURE_AESNI)
		return;
	free_mb_mgr(manager);
	manager = NULL;
}

static bool usable(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, set_up);
	return manager;
}

static void key_free(struct gcm_key *k)
{
	if (!k)
		return;
	OPENSSL_cleanse(k, sizeof(*k));
	free(k);
}

static struct gcm_key *key_new(const uint8_t *key, unsigned int len, bool seals)
{
	struct gcm_key *k = aligned_alloc(alignof(struct gcm_key), sizeof(*k));

	(void)seals;	/* GCM has one key schedule for both directions */
	if (!k)
		return NULL;
	k->long_key = len == 32;
	if (k->long_key)
		IMB_AES256_GCM_PRE(manager, key, &k->expanded);
	else
		IMB_AES128_GCM_PRE(manager, key, &k->expanded);
	return k;
}

static enum gcm_result seal(struct gcm_key *k, const struct gcm_packet *p)
{
	if (k->long_key)
		IMB_AES256_GCM_ENC(manager, &k->expanded, &k->packet, p->data, p->data, p->len, p->nonce,
				   p->aad, p->aad_len, p->icv, GCM_TAG_LEN);
	else
		IMB_AES128_GCM_ENC(manager, &k->expanded, &k->packet, p->data, p->data, p->len, p->nonce,
				   p->aad, p->aad_len, p->icv, GCM_TAG_LEN);
	return GCM_OK;
}

static enum gcm_result open_packet(struct gcm_key *k, const struct gcm_packet *p)
{
	uint8_t tag[GCM_TAG_LEN];

	if (k->long_key)
		IMB_AES256_GCM_DEC(manager, &k->expanded, &k->packet, p->data, p->data, p->len, p->nonce,
				   p->aad, p->aad_len, tag, GCM_TAG_LEN);
	else
		IMB_AES128_GCM_DEC(manager, &k->expanded, &k->packet, p->data, p->data, p->len, p->nonce,
				   p->aad, p->aad_len, tag, GCM_TAG_LEN);
	return CRYPTO_memcmp(tag, p->icv, GCM_TAG_LEN) ? GCM_FORGED : GCM_OK;
}

const struct gcm_ops gcm_ipsec_mb = {
	.name = "libipsec-mb",
	.usable = usable,
	.key_new = key_new,
	.key_free = key_free,
	.seal = seal,
	.open = open_packet,
};

#else

static bool usable(void)
{
	return false;
}

const struct gcm_ops gcm_ipsec_mb = { .name = "libipsec-mb", .usable = usable };

#endif
