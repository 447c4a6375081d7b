/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The security of a connection: the association that it seals with, under the peer's SPI and key,
 * and those that it opens with, under its own current and previous SPI (Falcon 6.5, 9.2.1). Clear
 * connections have none of them.
 */
#ifndef FALCON_AGENT_SEC_H
#define FALCON_AGENT_SEC_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/sec_keys.h"
#include "crypto/psp.h"
#include "falcon/parse.h"

/* Zero but for |version| is a valid start. */
struct sec {
	uint8_t version;		/* enum falcon_psp_version of both directions */
	bool tunnel;			/* inner IP headers, of |inner_family| (Falcon 7.1.2) */
	bool inner_ipv6;
	uint8_t inner_local[16];	/* IPv4 in the first 4 bytes, network order */
	uint8_t inner_peer[16];
	uint64_t pcid;			/* expected in what we receive; 0: no cookie is asked for */
	uint64_t peer_pcid;		/* sent in the cookie; 0: no cookie */
	struct psp_sa *tx;		/* NULL until the peer's key is there */
	struct psp_sa *rx_cur;		/* opens packets with the current SPI */
	struct psp_sa *rx_prev;		/* with the previous one, while it is accepted */
	uint64_t rx_packets;		/* opened with rx_cur */
	uint64_t rx_bytes;		/* of PSP packets, opened with rx_cur */
	uint64_t rotations;		/* times the current SPI has become the previous one */
};

static inline bool sec_clear(const struct sec *s)
{
	return s->version == FALCON_PSP_CLEAR;
}

/* The version as configuration has it, "psp-aes-gcm-128" for example. */
const char *sec_version_name(uint8_t version);

/* Bytes of an inner IP header. */
static inline uint32_t sec_inner_len(const struct sec *s)
{
	if (!s->tunnel)
		return 0;
	return s->inner_ipv6 ? FALCON_PSP_INNER_IPV6_LEN : FALCON_PSP_INNER_IPV4_LEN;
}

/*
 * Receive under |spi| of |k|'s: it becomes the current SPI, what was current the previous one, and
 * what was previous is forgotten. 0, or a negative errno: nothing has changed.
 */
int sec_rx_use(struct sec *s, const struct sec_keys *k, uint32_t spi);
/* The previous SPI is accepted no longer. */
void sec_rx_retire(struct sec *s);

/*
 * Seal from now on with the peer's |spi| and |key| of psp_key_len(s->version) bytes, which the
 * caller wipes; if |spi| is in use already, nothing changes. 0, or a negative errno: nothing has
 * changed.
 */
int sec_tx_use(struct sec *s, uint32_t spi, const uint8_t *key);

/*
 * Authenticate and decrypt in place the packet that parsed as |f| in |frame| and passed
 * falcon_rx_check(). FALCON_V_rx_data, with f->type to be believed from now on; or drop_spi,
 * drop_auth, drop_inner, and then nothing of the packet is to be believed.
 */
enum falcon_verdict sec_open(struct sec *s, uint8_t *frame, struct falcon_frame *f);

/* Wipe and forget all keys. */
void sec_close(struct sec *s);

#endif /* FALCON_AGENT_SEC_H */
