/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PSP versions 0 to 3: sealing and opening packets in place (PSP Architecture Specification; Falcon
 * 6.5, 7.1, 9.2.2.1).
 *
 *   PSP header (16) | [cookie (8)] | data | ICV (16)
 *   \_ authenticated _ _ _ _ _ _ _|_ _ _ /
 *                      crypt offset \___/ encrypted
 *
 * The nonce is SPI and IV as they stand in the header. Versions 0 and 1 encrypt what lies behind the
 * crypt offset; 2 and 3 encrypt nothing and authenticate all.
 */
#ifndef FALCON_CRYPTO_PSP_H
#define FALCON_CRYPTO_PSP_H

#include "crypto/sa.h"

/*
 * Seal the packet of |len| bytes at |psp|, header filled in (falcon_psp_fill()), with an IV from
 * sa_next_iv(). Packets are sealed in the order of their IVs; IVs may be left out. The ICV goes
 * to |psp| + |len|: there must be |room| for it, counted from |psp|. Returns the length with the ICV,
 * or SA_ERR_DIRECTION, _TRUNCATED, _HEADER, _VERSION, _SPI, _OFFSET, _LENGTH, _ROOM, _IV, _EXHAUSTED
 * (the packet is as it was) or _CRYPTO (the packet is of no use any more).
 */
int psp_seal(struct sa *sa, void *psp, uint32_t len, uint32_t room);

/*
 * Authenticate and decrypt the packet of |len| bytes, ICV included, at |psp|. The header is taken as
 * it came, reserved bits included. Returns the length without the ICV, or SA_ERR_DIRECTION,
 * _TRUNCATED, _HEADER, _VERSION, _SPI, _OFFSET, _LENGTH (the packet is as it was), _ICV or _CRYPTO
 * (what was encrypted is zeroed: nothing unauthenticated is handed on).
 */
int psp_open(struct sa *sa, void *psp, uint32_t len);

/* One packet of a batch; associations may differ from packet to packet. */
struct psp_job {
	struct sa *sa;
	uint8_t *psp;
	uint32_t len;		/* as for psp_seal() or psp_open() */
	uint32_t room;		/* psp_seal_batch() only */
	int result;		/* what they return */
};

/*
 * psp_seal() and psp_open() for |n| packets, in order; the next packet is fetched into the cache
 * while one is worked on. Return how many succeeded.
 */
size_t psp_seal_batch(struct psp_job *jobs, size_t n);
size_t psp_open_batch(struct psp_job *jobs, size_t n);

#endif /* FALCON_CRYPTO_PSP_H */
