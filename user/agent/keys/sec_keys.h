/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys of what the agent receives, and the SPIs that name them (Falcon 6.5): PSP's derive from the
 * agent's master keys, ESP's are random.
 *
 * There are two master keys, told apart by an SPI's top bit: that of the current generation, and that of the
 * generation before, which stays until the next rotation takes its place. Both are random; none
 * outlives the process. Under one master key no SPI is given twice, so no two associations ever have
 * the same key. ESP's SPIs are the same ones.
 */
#ifndef FALCON_AGENT_KEYS_SEC_KEYS_H
#define FALCON_AGENT_KEYS_SEC_KEYS_H

#include <stdint.h>

struct sec_keys;

/* 0 and *|out|; or a negative errno: no memory that can be locked, or no randomness (-EIO). */
int sec_keys_open(struct sec_keys **out);
/* Wipe and free. NULL is allowed. */
void sec_keys_close(struct sec_keys *k);

/* Falcon 9.2.1 Current SPI Generation, global; 1 at first. */
uint32_t sec_keys_generation(const struct sec_keys *k);

/*
 * Step 1 of a rotation (Falcon 9.2.2.3): the next generation's master key takes the place of the
 * previous one's, whose SPIs must not be in use any more. 0, or -EIO: nothing has changed.
 */
int sec_keys_rotate(struct sec_keys *k);

/*
 * A new SPI of the current generation, not below FALCON_ESP_SPI_MIN, which nobody can guess from others; or 0
 * if all up to 2^31 - 1 have been given: rotate. None comes again before 2^30 others have been given.
 */
uint32_t sec_keys_spi(struct sec_keys *k);

/* psp_derive() with the agent's master keys: |key| has room for psp_key_len(version) bytes. */
int sec_keys_derive(const struct sec_keys *k, uint32_t spi, uint8_t version, uint8_t *key);

/*
 * The key of a new association of |encap|, of sa_key_len(encap) bytes: derived for PSP, fresh random
 * bytes for ESP. 0, or -ENOKEY.
 */
int sec_keys_make(const struct sec_keys *k, uint32_t spi, uint8_t encap, uint8_t *key);

#endif /* FALCON_AGENT_KEYS_SEC_KEYS_H */
