/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of PSP share: associations in pairs, packets to seal. */
#ifndef FALCON_SELFTESTS_PSP_SEAL_H
#define FALCON_SELFTESTS_PSP_SEAL_H

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <falcon/wire/psp.h>

#include "crypto/kdf.h"
#include "crypto/psp.h"

enum { PAIR_SPI = 0x12345678, VERSIONS = 4 };

/* Both ends of one direction. */
struct psp_pair {
	struct sa *seal, *open;
};

static inline struct psp_pair pair_new(uint8_t version)
{
	uint8_t key[SA_KEY_MAX];
	struct psp_pair p;

	for (unsigned int i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(i * 7 + version);
	p.seal = sa_new(SA_SEAL, version, PAIR_SPI, key);
	p.open = sa_new(SA_OPEN, version, PAIR_SPI, key);
	assert_non_null(p.seal);
	assert_non_null(p.open);
	return p;
}

static inline void pair_free(struct psp_pair *p)
{
	sa_free(p->seal);
	sa_free(p->open);
}

/* Memory of just |len| bytes, so that the sanitizer sees a touch beyond. */
static inline uint8_t *packet_room(uint32_t len)
{
	uint8_t *p = malloc(len);

	assert_non_null(p);
	return p;
}

/*
 * Write a packet with |data| bytes of data, ready to be sealed with the next IV, to |psp|. Returns
 * its length.
 */
static inline uint32_t packet_make(struct sa *sa, uint8_t *psp, bool vc, uint8_t offset,
				   uint32_t data)
{
	uint32_t len = falcon_psp_len(vc) + data;
	uint64_t iv;

	assert_int_equal(sa_next_iv(sa, 1000, &iv), 0);
	falcon_psp_fill((struct falcon_psp_hdr *)psp, sa_encap(sa), vc, sa_spi(sa), iv);
	((struct falcon_psp_hdr *)psp)->crypt_offset = offset;
	for (uint32_t i = FALCON_PSP_HDR_LEN; i < len; i++)
		psp[i] = (uint8_t)(i * 31 + 1);
	return len;
}

/* The same, sealed, in fresh memory of just its length |*len|. */
static inline uint8_t *packet_sealed(struct sa *sa, bool vc, uint8_t offset, uint32_t data,
				     uint32_t *len)
{
	uint8_t *psp = packet_room(falcon_psp_len(vc) + data + FALCON_ICV_LEN);

	*len = packet_make(sa, psp, vc, offset, data);
	assert_int_equal(psp_seal(sa, psp, *len, *len + FALCON_ICV_LEN),
			 *len + FALCON_ICV_LEN);
	*len += FALCON_ICV_LEN;
	return psp;
}

#endif /* FALCON_SELFTESTS_PSP_SEAL_H */
