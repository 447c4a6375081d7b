/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ESP (RFC 4303) with AES-GCM (RFC 4106) in UDP (RFC 3948) as Falcon uses it (Falcon 6.5, 7.1).
 *
 *   UDP, destination port 4500 | SPI, sequence, IV | [inner IP] Falcon ULP padding trailer | ICV
 *                               \_ authenticated _/ \___________ encrypted ______________/
 *
 * Nothing behind the IV is in the clear, the connection ID included: the SPI tells the connection.
 */
#ifndef FALCON_ESP_H
#define FALCON_ESP_H

#include "encap.h"

enum falcon_esp_const {
	FALCON_ESP_UDP_PORT = 4500,
	FALCON_ESP_HDR_LEN = 16,	/* SPI, sequence number, IV */
	FALCON_ESP_IV_OFF = 8,
	FALCON_ESP_IV_LEN = 8,
	FALCON_ESP_SALT_LEN = 4,	/* of the nonce, behind the key where keys are exchanged */
	FALCON_ESP_ALIGN = 4,		/* what is encrypted is a multiple of it (RFC 4303 2.4) */
	FALCON_ESP_TRAILER_LEN = 2,	/* pad length, next header; padding before it: 1, 2, 3 */
	FALCON_ESP_PAD_MAX = 3,		/* bytes of padding that we send */
	FALCON_ESP_SPI_MIN = 256,	/* below, and not 0: reserved (RFC 4303 2.1) */
	FALCON_ESP_NEXT_NONE = 59,	/* a dummy packet (RFC 4303 2.6) */
};

struct falcon_esp_hdr {
	__be32 spi;		/* chosen by the receiver; 0 is no ESP but IKE (RFC 3948 2.2) */
	__be32 seq;		/* packets sealed with the key; from 1, never wraps */
	__be64 iv;		/* transmitter's clock in picoseconds; T1 = iv >> 17 */
} FALCON_PACKED;
_Static_assert(sizeof(struct falcon_esp_hdr) == FALCON_ESP_HDR_LEN, "ESP header");

/* Bytes of padding behind |len| bytes of packet. */
FALCON_INLINE __u32 falcon_esp_pad(__u32 len)
{
	return -(len + FALCON_ESP_TRAILER_LEN) & (FALCON_ESP_ALIGN - 1);
}

#endif /* FALCON_ESP_H */
