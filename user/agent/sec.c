// SPDX-License-Identifier: BSD-2-Clause
#include "agent/sec.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "crypto/kdf.h"

const char *sec_version_name(uint8_t version)
{
	switch (version) {
	case FALCON_PSP_AES_GCM_128: return "psp-aes-gcm-128";
	case FALCON_PSP_AES_GCM_256: return "psp-aes-gcm-256";
	case FALCON_PSP_GMAC_128: return "psp-gmac-128";
	case FALCON_PSP_GMAC_256: return "psp-gmac-256";
	case FALCON_PSP_CLEAR: return "clear";
	default: return "unknown";
	}
}

int sec_rx_use(struct sec *s, const struct sec_keys *k, uint32_t spi)
{
	uint8_t key[PSP_KEY_MAX];
	struct psp_sa *sa = NULL;

	if (sec_keys_derive(k, spi, s->version, key) == 0)
		sa = psp_sa_new(PSP_OPEN, s->version, spi, key);
	OPENSSL_cleanse(key, sizeof(key));
	if (!sa)
		return -ENOKEY;
	sec_rx_retire(s);
	s->rotations += s->rx_cur != NULL;
	s->rx_prev = s->rx_cur;
	s->rx_cur = sa;
	s->rx_packets = 0;
	s->rx_bytes = 0;
	return 0;
}

void sec_rx_retire(struct sec *s)
{
	psp_sa_free(s->rx_prev);
	s->rx_prev = NULL;
}

int sec_tx_use(struct sec *s, uint32_t spi, const uint8_t *key)
{
	struct psp_sa *sa;

	/* The same once more, after a session was lost: the IVs go on. */
	if (s->tx && psp_sa_spi(s->tx) == spi)
		return 0;
	sa = psp_sa_new(PSP_SEAL, s->version, spi, key);
	if (!sa)
		return -ENOKEY;
	psp_sa_free(s->tx);
	s->tx = sa;
	return 0;
}

static bool is_spi(const struct psp_sa *sa, uint32_t spi)
{
	return sa && psp_sa_spi(sa) == spi;
}

/* The inner IP header is the tunnel's, and announces just the Falcon packet. */
static bool inner_good(const struct sec *s, const uint8_t *inner, const struct falcon_frame *f)
{
	const struct iphdr *ip4 = (const void *)inner;
	const struct ipv6hdr *ip6 = (const void *)inner;

	if (f->inner_len != sec_inner_len(s))
		return false;
	if (s->inner_ipv6)
		return falcon_ntoh16(ip6->payload_len) == f->falcon_len &&
		       !memcmp(&ip6->saddr, s->inner_peer, 16) &&
		       !memcmp(&ip6->daddr, s->inner_local, 16);
	return falcon_ntoh16(ip4->tot_len) == f->inner_len + f->falcon_len &&
	       !(ip4->frag_off & falcon_hton16(0x3fff)) && !memcmp(&ip4->saddr, s->inner_peer, 4) &&
	       !memcmp(&ip4->daddr, s->inner_local, 4);
}

enum falcon_verdict sec_open(struct sec *s, uint8_t *frame, struct falcon_frame *f)
{
	bool current = is_spi(s->rx_cur, f->spi);
	uint32_t len = f->udp_len - (uint32_t)sizeof(struct udphdr);
	const __be32 *falcon = (const void *)(frame + f->falcon_off);

	if (!current && !is_spi(s->rx_prev, f->spi))
		return FALCON_V_drop_spi;
	if (psp_open(current ? s->rx_cur : s->rx_prev, frame + f->psp_off, len) < 0)
		return FALCON_V_drop_auth;
	if (s->tunnel && !inner_good(s, frame + f->falcon_off - f->inner_len, f))
		return FALCON_V_drop_inner;
	f->type = falcon_wire_type(falcon[1]);
	if (current) {
		s->rx_packets++;
		s->rx_bytes += len;
	}
	return FALCON_V_rx_data;
}

void sec_close(struct sec *s)
{
	sec_rx_retire(s);
	psp_sa_free(s->rx_cur);
	psp_sa_free(s->tx);
	s->rx_cur = NULL;
	s->tx = NULL;
}
