// SPDX-License-Identifier: BSD-2-Clause
#include <falcon/wire/psp.h>

#include "crypto/psp.h"
#include "crypto/sa_priv.h"

enum {
	NONCE_OFF = offsetof(struct falcon_psp_hdr, spi),	/* SPI and IV */
	CACHE_AHEAD = 4,	/* lines of the next packet fetched early */
};

/*
 * The header is sound and the association's. |len| is without ICV; |*clear| becomes the bytes from
 * the header on that are not encrypted.
 */
static int check(const struct sa *sa, const struct falcon_psp_hdr *h, uint32_t len, uint32_t *clear)
{
	bool vc;

	if (len < FALCON_PSP_HDR_LEN)
		return SA_ERR_TRUNCATED;
	if (len > SA_LEN_MAX)
		return SA_ERR_LENGTH;
	if (falcon_psp_version(h) != sa->encap)
		return SA_ERR_VERSION;
	vc = falcon_psp_has_vc(h);
	if (!(h->flags & FALCON_PSP_F_ONE) ||
	    h->hdr_ext_len != (vc ? FALCON_PSP_EXT_LEN_VC : FALCON_PSP_EXT_LEN_NO_VC))
		return SA_ERR_HEADER;
	if (len < falcon_psp_len(vc))
		return SA_ERR_TRUNCATED;
	if (falcon_ntoh32(h->spi) != sa->spi)
		return SA_ERR_SPI;
	*clear = FALCON_PSP_HDR_LEN +
		 (h->crypt_offset & FALCON_PSP_CRYPT_MASK) * FALCON_PSP_CRYPT_UNIT;
	if (*clear > len)
		return SA_ERR_OFFSET;
	if (!falcon_encrypts(sa->encap))
		*clear = len;
	return 0;
}

/* The packet at |psp| of |len| bytes without ICV. */
static struct gcm_packet gcm_of(uint8_t *psp, uint32_t len, uint32_t clear)
{
	return (struct gcm_packet){
		.nonce = psp + NONCE_OFF,
		.aad = psp,
		.aad_len = clear,
		.data = psp + clear,
		.len = len - clear,
		.icv = psp + len,
	};
}

int psp_seal(struct sa *sa, void *psp, uint32_t len, uint32_t room)
{
	const struct falcon_psp_hdr *h = psp;
	struct gcm_packet g;
	uint32_t clear;
	int err;

	if (!sa->seals)
		return SA_ERR_DIRECTION;
	err = check(sa, h, len, &clear);
	if (err)
		return err;
	if (h->crypt_offset & ~FALCON_PSP_CRYPT_MASK)
		return SA_ERR_HEADER;
	if (room < len + FALCON_ICV_LEN)
		return SA_ERR_ROOM;
	err = sa_account(sa, len, falcon_ntoh64(h->iv));
	if (err)
		return err;
	g = gcm_of(psp, len, clear);
	err = sa_gcm_seal(sa, &g);
	return err ? err : (int)(len + FALCON_ICV_LEN);
}

int psp_open(struct sa *sa, void *psp, uint32_t len)
{
	struct gcm_packet g;
	uint32_t clear;
	int err;

	if (sa->seals)
		return SA_ERR_DIRECTION;
	if (len < FALCON_PSP_HDR_LEN + FALCON_ICV_LEN)
		return SA_ERR_TRUNCATED;
	len -= FALCON_ICV_LEN;
	err = check(sa, psp, len, &clear);
	if (err)
		return err;
	g = gcm_of(psp, len, clear);
	err = sa_gcm_open(sa, &g);
	return err ? err : (int)len;
}

static void fetch(const struct psp_job *job)
{
	for (unsigned int i = 0; i < CACHE_AHEAD; i++)
		__builtin_prefetch(job->psp + i * FALCON_CACHE_LINE, 1);
}

size_t psp_seal_batch(struct psp_job *jobs, size_t n)
{
	size_t good = 0;

	for (size_t i = 0; i < n; i++) {
		struct psp_job *j = &jobs[i];

		if (i + 1 < n)
			fetch(j + 1);
		j->result = psp_seal(j->sa, j->psp, j->len, j->room);
		good += j->result >= 0;
	}
	return good;
}

size_t psp_open_batch(struct psp_job *jobs, size_t n)
{
	size_t good = 0;

	for (size_t i = 0; i < n; i++) {
		struct psp_job *j = &jobs[i];

		if (i + 1 < n)
			fetch(j + 1);
		j->result = psp_open(j->sa, j->psp, j->len);
		good += j->result >= 0;
	}
	return good;
}

static void stamp(const struct sa *sa, void *packet, uint64_t iv)
{
	struct falcon_psp_hdr *h = packet;

	h->spi = falcon_hton32(sa->spi);
	h->iv = falcon_hton64(iv);
}

static int seal(struct sa *sa, void *packet, uint32_t len, uint32_t room, uint8_t next_header)
{
	struct falcon_psp_hdr *h = packet;

	h->next_header = next_header;
	return psp_seal(sa, packet, len, room);
}

static int open_packet(struct sa *sa, void *packet, uint32_t len, uint8_t *next_header)
{
	const struct falcon_psp_hdr *h = packet;
	int rc = psp_open(sa, packet, len);

	if (rc >= 0)
		*next_header = h->next_header;
	return rc;
}

const struct sa_ops psp_ops = { .stamp = stamp, .seal = seal, .open = open_packet };
