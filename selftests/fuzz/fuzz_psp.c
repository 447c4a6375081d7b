// SPDX-License-Identifier: BSD-2-Clause
/*
 * libFuzzer on PSP and ESP: what arrives from a network, what a clear frame may hold, and the files that
 * falcon-psp reads. The first byte of the input says which (targets[]), the second holds choices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/wire/psp.h>

#include "../../tools/psp/psp.h"
#include "crypto/encap.h"
#include "crypto/esp.h"
#include "crypto/sa_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SPI = 0x00c0ffee, VERSIONS = 4, ETH = 14 };

#define promise(cond)                                                                              \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond);         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

struct input {
	const uint8_t *data;
	uint32_t len;
	uint8_t choice;
	struct sa *seal, *open;	/* of the version that |choice| says */
	struct sa *esp_seal, *esp_open;
};

/* A copy of just that size, so that the sanitizer sees a touch beyond; or zeros. */
static uint8_t *exact(const uint8_t *data, size_t len)
{
	uint8_t *p = calloc(1, len + !len);

	promise(p);
	if (data && len)
		memcpy(p, data, len);
	return p;
}

/* A header at |psp| that passes, with the next IV; what else it says stays. */
static void repair(const struct input *in, uint8_t *psp)
{
	struct falcon_psp_hdr h;
	uint64_t iv;

	memcpy(&h, psp, sizeof(h));
	promise(!sa_next_iv(in->seal, 0, &iv));
	h.flags = (h.flags & FALCON_PSP_F_VC) | FALCON_PSP_F_ONE |
		  (uint8_t)(sa_encap(in->seal) << FALCON_PSP_VERSION_SHIFT);
	h.hdr_ext_len = falcon_psp_has_vc(&h) ? FALCON_PSP_EXT_LEN_VC : FALCON_PSP_EXT_LEN_NO_VC;
	h.crypt_offset &= FALCON_PSP_CRYPT_MASK;
	h.spi = falcon_hton32(SPI);
	h.iv = falcon_hton64(iv);
	memcpy(psp, &h, sizeof(h));
}

/* Nobody without the key makes a packet that opens. */
static void forged(const struct input *in)
{
	uint8_t *psp = exact(in->data, in->len);

	promise(psp_open(in->open, psp, in->len) < 0);
	free(psp);
}

/* What is sealed opens to the same; with a byte changed, it does not. */
static void genuine(const struct input *in)
{
	uint32_t room = in->len + FALCON_ICV_LEN;
	uint8_t *psp = exact(NULL, room), *before;
	int n;

	memcpy(psp, in->data, in->len);
	if (in->len >= FALCON_PSP_HDR_LEN)
		repair(in, psp);
	before = exact(psp, in->len);
	n = psp_seal(in->seal, psp, in->len, room);
	if (n >= 0) {
		uint8_t *bad = exact(psp, room);

		promise(n == (int)room);
		bad[in->choice * 7919u % room] ^= in->choice | 1;
		promise(psp_open(in->open, bad, room) < 0);
		free(bad);
		promise(psp_open(in->open, psp, room) == (int)in->len);
	}
	promise(!memcmp(psp, before, in->len));
	free(before);
	free(psp);
}

/* A frame from the network; once as it is, once with a PSP packet that is genuine. */
static void frame(const struct input *in)
{
	uint8_t *copy = exact(in->data, in->len), *out = exact(NULL, FRAME_MAX);
	struct psp_frame f;

	if (!psp_frame_find(copy, in->len, &f)) {
		promise(f.psp_off + f.psp_len <= in->len);
		promise(psp_decap(in->open, copy, &f, out, FRAME_MAX) < 0);
		memcpy(copy, in->data, in->len);
		repair(in, copy + f.psp_off);
		if (psp_seal(in->seal, copy + f.psp_off, f.psp_len - FALCON_ICV_LEN,
			     f.psp_len) >= 0) {
			int n = psp_decap(in->open, copy, &f, out, FRAME_MAX);

			promise(n >= 0 && (uint32_t)n < in->len);
		}
	}
	free(out);
	free(copy);
}

/* A clear frame there and back. A wrong IPv4 checksum comes back right from transport mode. */
static void round_trip(const struct input *in)
{
	const struct psp_encap e = {
		.tunnel = in->choice & 4, .vc = in->choice & 8,
		.transport_offset = in->choice >> 4, .tunnel4_offset = in->choice >> 3,
		.tunnel6_offset = in->choice >> 2,
	};
	uint8_t *clear = exact(in->data, in->len), *out = exact(NULL, FRAME_MAX);
	uint8_t *sealed = exact(NULL, FRAME_MAX);
	int n = psp_encap(in->seal, &e, 0, clear, in->len, sealed, FRAME_MAX);
	struct psp_frame f;

	if (n >= 0) {
		promise(!psp_frame_find(sealed, (uint32_t)n, &f));
		n = psp_decap(in->open, sealed, &f, out, FRAME_MAX);
		promise(n > ETH && (uint32_t)n <= in->len);
		if (!e.tunnel && clear[12] == 8)
			memcpy(out + ETH + 10, clear + ETH + 10, 2);
		promise(!memcmp(out, clear, (uint32_t)n));
	}
	free(sealed);
	free(out);
	free(clear);
}

static FILE *stream(const struct input *in)
{
	FILE *f = in->len ? fmemopen((void *)(uintptr_t)in->data, in->len, "r") : tmpfile();

	promise(f);
	return f;
}

static void config(const struct input *in)
{
	FILE *f = stream(in);
	char err[ERROR_LEN] = "";
	struct psp_config c;

	if (config_read(f, in->choice & 1, &c, err))
		promise(*err);
	else
		promise(c.encap.transport_offset < 64 && c.encap.tunnel4_offset < 64 &&
			c.encap.tunnel6_offset < 64 && c.version < VERSIONS);
	fclose(f);
}

static void json(const struct input *in)
{
	FILE *f = stream(in);
	char err[ERROR_LEN] = "";
	struct psp_case c;

	if (case_read(f, &c, err))
		promise(*err);
	else
		promise(c.derived_key_len <= PSP_KEY_MAX);
	fclose(f);
}

static void capture(const struct input *in)
{
	char err[ERROR_LEN] = "";
	struct capture c;

	if (capture_read(stream(in), &c, err))
		promise(*err && !c.packets);
	capture_free(&c);
}

static void csv(const struct input *in)
{
	unsigned long keys, bad;
	FILE *f = stream(in);

	if (kdf_check(f, "input", 0, &keys, &bad))
		promise(bad);
	else
		promise(bad <= keys);
	fclose(f);
}

static void esp_forged(const struct input *in)
{
	uint8_t *esp = exact(in->data, in->len), next;

	promise(esp_open(in->esp_open, esp, in->len, &next) < 0);
	free(esp);
}

/* What is sealed opens to the same; with a byte changed, it does not. */
static void esp_genuine(const struct input *in)
{
	uint32_t len = in->len + FALCON_ESP_HDR_LEN;
	uint32_t room = len + falcon_esp_pad(len) + FALCON_ESP_TRAILER_LEN + FALCON_ICV_LEN;
	uint8_t *esp = exact(NULL, room), *bad, next = 0;
	int n;

	memcpy(esp + FALCON_ESP_HDR_LEN, in->data, in->len);
	promise(!sa_stamp(in->esp_seal, esp, 0));
	n = sa_seal(in->esp_seal, esp, len, room, in->choice);
	if (n >= 0) {
		promise(n == (int)room);
		bad = exact(esp, room);
		bad[in->choice * 7919u % room] ^= in->choice | 1;
		promise(sa_open(in->esp_open, bad, room, &next) < 0);
		free(bad);
		promise(sa_open(in->esp_open, esp, room, &next) == (int)len && next == in->choice);
		promise(!memcmp(esp + FALCON_ESP_HDR_LEN, in->data, in->len));
	}
	free(esp);
}

/* Padding and trailer as a peer that has the key may write them. */
static void esp_contents(const struct input *in)
{
	uint32_t len = in->len & ~3u;
	uint8_t *esp = exact(NULL, FALCON_ESP_HDR_LEN + len + FALCON_ICV_LEN), next;
	uint8_t nonce[GCM_NONCE_LEN] = {};
	struct gcm_packet g = { nonce, esp, FALCON_ESP_IV_OFF, esp + FALCON_ESP_HDR_LEN, len,
			    esp + FALCON_ESP_HDR_LEN + len };
	__be32 spi = falcon_hton32(SPI);
	int n;

	memcpy(esp, &spi, sizeof(spi));
	memcpy(nonce, in->esp_seal->salt, FALCON_ESP_SALT_LEN);
	memcpy(g.data, in->data, len);
	promise(!sa_gcm_seal(in->esp_seal, &g));
	n = sa_open(in->esp_open, esp, FALCON_ESP_HDR_LEN + len + FALCON_ICV_LEN, &next);
	promise(n < (int)(FALCON_ESP_HDR_LEN + len));
	promise(n < 0 ? n == SA_ERR_PADDING || n == SA_ERR_TRUNCATED || n == SA_ERR_LENGTH
		      : n >= FALCON_ESP_HDR_LEN && next == in->data[len - 1]);
	free(esp);
}

static void (*const targets[])(const struct input *in) = {
	forged, genuine, frame, round_trip, config, json, capture, csv,
	esp_forged, esp_genuine, esp_contents,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[SA_KEY_MAX] = { 1, 2, 3 };
	struct input in;

	if (size < 2 || size > FRAME_MAX)
		return 0;
	in = (struct input){ .data = data + 2, .len = (uint32_t)size - 2, .choice = data[1] };
	in.seal = sa_new(SA_SEAL, in.choice % VERSIONS, SPI, key);
	in.open = sa_new(SA_OPEN, in.choice % VERSIONS, SPI, key);
	in.esp_seal = sa_new(SA_SEAL, FALCON_ESP_AES_GCM_128 + (in.choice & 1), SPI, key);
	in.esp_open = sa_new(SA_OPEN, FALCON_ESP_AES_GCM_128 + (in.choice & 1), SPI, key);
	promise(in.seal && in.open && in.esp_seal && in.esp_open);
	targets[data[0] % (sizeof(targets) / sizeof(*targets))](&in);
	sa_free(in.seal);
	sa_free(in.open);
	sa_free(in.esp_seal);
	sa_free(in.esp_open);
	return 0;
}
