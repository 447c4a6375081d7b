/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ESP with AES-GCM (RFC 4303, RFC 4106; Falcon 6.5): sealing and opening packets in place.
 *
 *   SPI, sequence number (8) | IV (8) | data | padding | pad length, next header (2) | ICV (16)
 *   \____ authenticated ____/         \_________ encrypted, authenticated __________/
 *
 * The nonce is the association's salt and the IV. The sequence number counts what the association has
 * sealed; as Falcon checks replay by the IV (Falcon 9.2.2.2), receivers only authenticate it.
 */
#ifndef FALCON_CRYPTO_ESP_H
#define FALCON_CRYPTO_ESP_H

#include "crypto/sa.h"

/*
 * Seal the packet of |len| bytes, ESP header and data, at |esp|, stamped by sa_stamp(); |next_header|
 * tells what the data is. The sequence number is filled in; padding, trailer and ICV, at most
 * FALCON_ESP_PAD_MAX + FALCON_ESP_TRAILER_LEN + FALCON_ICV_LEN bytes, go behind the data: there must
 * be |room| for them, counted from |esp|. Returns the length with all of it, or SA_ERR_DIRECTION,
 * _TRUNCATED, _LENGTH, _SPI, _ROOM, _IV, _EXHAUSTED (the packet is as it was) or _CRYPTO (the packet
 * is of no use any more).
 */
int esp_seal(struct sa *sa, void *esp, uint32_t len, uint32_t room, uint8_t next_header);

/*
 * Authenticate and decrypt the packet of |len| bytes, ICV included, at |esp|. Returns the length of
 * header and data, with *|next_header| set; or SA_ERR_DIRECTION, _TRUNCATED, _LENGTH, _SPI (the packet
 * is as it was), _ICV or _CRYPTO (what was encrypted is zeroed), or _PADDING: the key's holder has
 * sent what RFC 4303 2.4 does not allow.
 */
int esp_open(struct sa *sa, void *esp, uint32_t len, uint8_t *next_header);

#endif /* FALCON_CRYPTO_ESP_H */
