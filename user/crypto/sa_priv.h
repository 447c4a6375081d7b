/* SPDX-License-Identifier: BSD-2-Clause */
/* What an association consists of, and what psp.c and esp.c share: GCM, IVs and limits. */
#ifndef FALCON_CRYPTO_SA_PRIV_H
#define FALCON_CRYPTO_SA_PRIV_H

#include <stdbool.h>

#include <falcon/wire/esp.h>

#include "crypto/gcm.h"
#include "crypto/sa.h"

enum {
	SA_LEN_MAX = 65535,	/* what UDP can carry, and more */
};

/* How an encapsulation does what sa.h promises. */
struct sa_ops {
	void (*stamp)(const struct sa *sa, void *packet, uint64_t iv);
	int (*seal)(struct sa *sa, void *packet, uint32_t len, uint32_t room, uint8_t next_header);
	int (*open)(struct sa *sa, void *packet, uint32_t len, uint8_t *next_header);
};

extern const struct sa_ops psp_ops, esp_ops;

struct sa {
	const struct sa_ops *ops;
	const struct gcm_ops *gcm;
	struct gcm_key *key;
	uint32_t spi;
	uint8_t encap;		/* enum falcon_encap */
	bool seals;
	bool started;		/* |first_iv| is set */
	uint8_t salt[FALCON_ESP_SALT_LEN];	/* ESP: the nonce's first bytes */
	uint64_t first_iv;
	uint64_t span;		/* from |first_iv| to the last IV given */
	uint64_t next_span;	/* the least distance that may be sealed */
	struct sa_usage used;
};

/*
 * Sealing |len| bytes with |iv| is within the key's limits, and the nonce is new; counts it. 0,
 * SA_ERR_IV or SA_ERR_EXHAUSTED.
 */
int sa_account(struct sa *sa, uint32_t len, uint64_t iv);

/* Encrypt, and write the ICV. 0 or SA_ERR_CRYPTO. */
int sa_gcm_seal(struct sa *sa, const struct gcm_packet *p);
/* Decrypt, and compare the ICV. 0; SA_ERR_ICV or SA_ERR_CRYPTO, and |data| is zeroed. */
int sa_gcm_open(struct sa *sa, const struct gcm_packet *p);

#endif /* FALCON_CRYPTO_SA_PRIV_H */
