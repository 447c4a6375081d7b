// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include <falcon/wire/esp.h>

#include "crypto/esp.h"
#include "crypto/sa_priv.h"

enum {
	AAD_LEN = FALCON_ESP_IV_OFF,	/* SPI and sequence number; the IV is in the nonce */
	MIN_LEN = FALCON_ESP_HDR_LEN + FALCON_ESP_TRAILER_LEN + FALCON_ICV_LEN,
};

static void nonce_of(const struct sa *sa, const uint8_t *esp, uint8_t nonce[GCM_NONCE_LEN])
{
	memcpy(nonce, sa->salt, FALCON_ESP_SALT_LEN);
	memcpy(nonce + FALCON_ESP_SALT_LEN, esp + FALCON_ESP_IV_OFF, FALCON_ESP_IV_LEN);
}

/* The packet at |esp| with |len| bytes between header and ICV. */
static struct gcm_packet gcm_of(uint8_t *esp, uint32_t len, const uint8_t *nonce)
{
	return (struct gcm_packet){
		.nonce = nonce,
		.aad = esp,
		.aad_len = AAD_LEN,
		.data = esp + FALCON_ESP_HDR_LEN,
		.len = len,
		.icv = esp + FALCON_ESP_HDR_LEN + len,
	};
}

int esp_seal(struct sa *sa, void *esp, uint32_t len, uint32_t room, uint8_t next_header)
{
	uint32_t pad = falcon_esp_pad(len), sealed = len + pad + FALCON_ESP_TRAILER_LEN;
	struct falcon_esp_hdr *h = esp;
	uint8_t nonce[GCM_NONCE_LEN], *trailer = (uint8_t *)esp + len;
	struct gcm_packet g;
	int err;

	if (!sa->seals)
		return SA_ERR_DIRECTION;
	if (len < FALCON_ESP_HDR_LEN)
		return SA_ERR_TRUNCATED;
	if (len > SA_LEN_MAX)
		return SA_ERR_LENGTH;
	if (falcon_ntoh32(h->spi) != sa->spi)
		return SA_ERR_SPI;
	if (room < sealed + FALCON_ICV_LEN)
		return SA_ERR_ROOM;
	err = sa_account(sa, sealed, falcon_ntoh64(h->iv));
	if (err)
		return err;
	h->seq = falcon_hton32((uint32_t)sa->used.packets);
	for (uint32_t i = 0; i < pad; i++)
		*trailer++ = (uint8_t)(i + 1);
	*trailer++ = (uint8_t)pad;
	*trailer = next_header;
	nonce_of(sa, esp, nonce);
	g = gcm_of(esp, sealed - FALCON_ESP_HDR_LEN, nonce);
	err = sa_gcm_seal(sa, &g);
	return err ? err : (int)(sealed + FALCON_ICV_LEN);
}

/* Of |len| bytes of plaintext at |data|, how many are padding and trailer; 0 if that is not well-formed. */
static uint32_t trailer_len(const uint8_t *data, uint32_t len)
{
	uint32_t pad = data[len - FALCON_ESP_TRAILER_LEN];

	if (pad + FALCON_ESP_TRAILER_LEN > len)
		return 0;
	data += len - FALCON_ESP_TRAILER_LEN - pad;
	for (uint32_t i = 0; i < pad; i++)
		if (data[i] != i + 1)
			return 0;
	return pad + FALCON_ESP_TRAILER_LEN;
}

int esp_open(struct sa *sa, void *esp, uint32_t len, uint8_t *next_header)
{
	const struct falcon_esp_hdr *h = esp;
	uint8_t nonce[GCM_NONCE_LEN];
	uint32_t trailer;
	struct gcm_packet g;
	int err;

	if (sa->seals)
		return SA_ERR_DIRECTION;
	if (len < MIN_LEN)
		return SA_ERR_TRUNCATED;
	if (len > SA_LEN_MAX || len % FALCON_ESP_ALIGN)
		return SA_ERR_LENGTH;
	if (falcon_ntoh32(h->spi) != sa->spi)
		return SA_ERR_SPI;
	nonce_of(sa, esp, nonce);
	g = gcm_of(esp, len - FALCON_ESP_HDR_LEN - FALCON_ICV_LEN, nonce);
	err = sa_gcm_open(sa, &g);
	if (err)
		return err;
	trailer = trailer_len(g.data, g.len);
	if (!trailer)
		return SA_ERR_PADDING;
	*next_header = g.data[g.len - 1];
	return (int)(FALCON_ESP_HDR_LEN + g.len - trailer);
}

static void stamp(const struct sa *sa, void *packet, uint64_t iv)
{
	struct falcon_esp_hdr *h = packet;

	h->spi = falcon_hton32(sa->spi);
	h->iv = falcon_hton64(iv);
}

const struct sa_ops esp_ops = { .stamp = stamp, .seal = esp_seal, .open = esp_open };
