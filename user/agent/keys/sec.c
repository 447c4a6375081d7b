// SPDX-License-Identifier: BSD-2-Clause
#include "agent/keys/sec.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "crypto/locked.h"

void sec_usage(const struct sec *s, struct conn_key *out)
{
	struct sa_usage used = s->tx ? sa_usage(s->tx) : (struct sa_usage){ 0 };

	*out = (struct conn_key){
		.rx_packets = s->rx_packets,
		.rx_bytes = s->rx_bytes,
		.tx_packets = used.packets,
		.tx_blocks = used.blocks,
		.rotations = s->rotations,
	};
}

const char *sec_name(uint8_t encap)
{
	switch (encap) {
	case FALCON_PSP_AES_GCM_128: return "psp-aes-gcm-128";
	case FALCON_PSP_AES_GCM_256: return "psp-aes-gcm-256";
	case FALCON_PSP_GMAC_128: return "psp-gmac-128";
	case FALCON_PSP_GMAC_256: return "psp-gmac-256";
	case FALCON_PSP_CLEAR: return "clear";
	case FALCON_ESP_AES_GCM_128: return "esp-aes-gcm-128";
	case FALCON_ESP_AES_GCM_256: return "esp-aes-gcm-256";
	default: return "unknown";
	}
}

/* Packets of |*sa| are received no longer. */
static void drop_rx(struct sec *s, struct sa **sa)
{
	if (*sa && falcon_encap_is_esp(s->encap))
		maps_sadb_del(s->maps, sa_spi(*sa));
	sa_free(*sa);
	*sa = NULL;
}

/* ESP only. */
static int keep_key(struct sec *s, const uint8_t *key)
{
	if (!s->kept)
		s->kept = locked_new(sizeof(*s->kept));
	if (!s->kept)
		return -ENOMEM;
	memcpy(s->kept->prev, s->kept->cur, sizeof(s->kept->prev));
	memcpy(s->kept->cur, key, sa_key_len(s->encap));
	return 0;
}

int sec_rx_use(struct sec *s, const struct sec_keys *k, uint32_t spi, bool keep,
	       uint8_t key[SA_KEY_MAX])
{
	struct sa *sa = NULL;
	bool esp = falcon_encap_is_esp(s->encap);
	int rc = sec_keys_make(k, spi, s->encap, key);

	if (rc == 0)
		sa = sa_new(SA_OPEN, s->encap, spi, key);
	if (!sa)
		return -ENOKEY;
	sec_rx_retire(s);
	if (esp)
		rc = maps_sadb_add(s->maps, spi, s->cid);
	if (rc == 0 && esp && keep)
		rc = keep_key(s, key);
	if (rc < 0) {
		drop_rx(s, &sa);
		return rc;
	}
	s->rotations += s->rx_cur != NULL;
	s->rx_prev = s->rx_cur;
	s->rx_cur = sa;
	s->rx_packets = 0;
	s->rx_bytes = 0;
	return 0;
}

void sec_rx_retire(struct sec *s)
{
	drop_rx(s, &s->rx_prev);
}

int sec_tx_use(struct sec *s, uint32_t spi, const uint8_t *key)
{
	struct sa *sa;

	/* The same once more, after a session was lost: the IVs go on. */
	if (s->tx && sa_spi(s->tx) == spi)
		return 0;
	sa = sa_new(SA_SEAL, s->encap, spi, key);
	if (!sa)
		return -ENOKEY;
	sa_free(s->tx);
	s->tx = sa;
	return 0;
}

static bool is_spi(const struct sa *sa, uint32_t spi)
{
	return sa && sa_spi(sa) == spi;
}

/* The inner IP header is the tunnel's, and announces just the Falcon packet. */
static bool inner_good(const struct sec *s, const uint8_t *inner, const struct falcon_frame *f)
{
	const struct iphdr *ip4 = (const void *)inner;
	const struct ipv6hdr *ip6 = (const void *)inner;

	if (f->inner_len != sec_inner_len(s))
		return false;
	if (!s->tunnel)
		return true;
	if (s->inner_ipv6)
		return falcon_ntoh16(ip6->payload_len) == f->falcon_len &&
		       !memcmp(&ip6->saddr, s->inner_peer.b, 16) &&
		       !memcmp(&ip6->daddr, s->inner_local.b, 16);
	return falcon_ntoh16(ip4->tot_len) == f->inner_len + f->falcon_len &&
	       !(ip4->frag_off & falcon_hton16(0x3fff)) && !memcmp(&ip4->saddr, s->inner_peer.b, 4) &&
	       !memcmp(&ip4->daddr, s->inner_local.b, 4);
}

/*
 * What the opened packet contains: |len| bytes from |off| in |frame|, of the kind |next_header|. Of PSP
 * all but the packet type has been readable before, of ESP nothing.
 */
static enum falcon_verdict read_contents(const struct sec *s, const uint8_t *frame, uint32_t off,
					 uint32_t len, uint8_t next_header, struct falcon_frame *f)
{
	const uint8_t *p = frame + off, *end = p + len;
	uint32_t cid = f->cid;
	enum falcon_verdict v;

	if (!falcon_parse_inner(next_header, p, end, f))
		return falcon_encap_is_esp(f->encap) ? FALCON_V_drop_esp : FALCON_V_drop_inner;
	v = falcon_parse_falcon((const void *)(p + f->inner_len), end, f);
	if (v != FALCON_V_rx_data)
		return v;
	f->falcon_off = (uint16_t)(off + f->inner_len);
	f->falcon_len = (uint16_t)(len - f->inner_len);
	if (!inner_good(s, p, f))
		return FALCON_V_drop_inner;
	return f->cid == cid ? FALCON_V_rx_data : FALCON_V_drop_cid;
}

enum falcon_verdict sec_open(struct sec *s, uint8_t *frame, struct falcon_frame *f)
{
	bool current = is_spi(s->rx_cur, f->spi);
	uint32_t len = f->udp_len - (uint32_t)sizeof(struct udphdr), header = falcon_sec_len(f);
	enum falcon_verdict v;
	uint8_t next_header;
	int rc;

	if (!current && !is_spi(s->rx_prev, f->spi))
		return FALCON_V_drop_spi;
	rc = sa_open(current ? s->rx_cur : s->rx_prev, frame + f->sec_off, len, &next_header);
	if (rc < 0)
		return rc == SA_ERR_PADDING ? FALCON_V_drop_esp : FALCON_V_drop_auth;
	v = read_contents(s, frame, f->sec_off + header, (uint32_t)rc - header, next_header, f);
	if (v == FALCON_V_rx_data && current) {
		s->rx_packets++;
		s->rx_bytes += len;
	}
	return v;
}

int sec_export(const struct sec *s, const struct sec_keys *k, uint32_t spi, uint8_t key[SA_KEY_MAX])
{
	if (!falcon_encap_is_esp(s->encap))
		return sec_keys_derive(k, spi, s->encap, key) < 0 ? -ENOKEY : 0;
	if (!s->kept || (!is_spi(s->rx_cur, spi) && !is_spi(s->rx_prev, spi)))
		return -ENOKEY;
	memcpy(key, is_spi(s->rx_cur, spi) ? s->kept->cur : s->kept->prev, sa_key_len(s->encap));
	return 0;
}

void sec_tx_retire(struct sec *s)
{
	sa_free(s->tx);
	s->tx = NULL;
}

void sec_close(struct sec *s)
{
	sec_rx_retire(s);
	drop_rx(s, &s->rx_cur);
	sec_tx_retire(s);
	locked_free(s->kept, sizeof(*s->kept));
	s->kept = NULL;
}
