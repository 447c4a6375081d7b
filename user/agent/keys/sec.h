/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The security of a connection: the association that it seals with, under the peer's SPI and key,
 * and those that it opens with, under its own current and previous SPI (Falcon 6.5, 9.2.1). Clear
 * connections have none of them.
 */
#ifndef FALCON_AGENT_KEYS_SEC_H
#define FALCON_AGENT_KEYS_SEC_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/keys/sec_keys.h"
#include "base/addr.h"
#include "crypto/sa.h"
#include "falcon/receive/parse.h"
#include "io/maps.h"

/* ESP's keys derive from nothing: who is to export them has to keep them. In locked memory. */
struct sec_kept {
	uint8_t cur[SA_KEY_MAX];	/* of rx_cur */
	uint8_t prev[SA_KEY_MAX];	/* of rx_prev */
};

/* Zero but for the first three is a valid start. */
struct sec {
	struct maps *maps;		/* falcon_sadb gets ESP's SPIs */
	uint32_t cid;			/* ours, that they stand for */
	uint8_t encap;			/* enum falcon_encap of both directions */
	bool tunnel;			/* inner IP headers, of |inner_family| (Falcon 7.1.2) */
	bool inner_ipv6;
	struct falcon_addr inner_local;
	struct falcon_addr inner_peer;
	uint64_t pcid;			/* expected in what we receive; 0: no cookie is asked for */
	uint64_t peer_pcid;		/* sent in the cookie; 0: no cookie */
	struct sa *tx;		/* NULL until the peer's key is there */
	struct sa *rx_cur;		/* opens packets with the current SPI */
	struct sa *rx_prev;		/* with the previous one, while it is accepted */
	uint64_t rx_packets;		/* opened with rx_cur */
	uint64_t rx_bytes;		/* of PSP or ESP packets, opened with rx_cur */
	struct sec_kept *kept;		/* ESP, with key_export = on; else NULL */
	uint64_t rotations;		/* times the current SPI has become the previous one */
};

static inline bool sec_clear(const struct sec *s)
{
	return s->encap == FALCON_PSP_CLEAR;
}

/* What the keys of a connection have done (falcon/stats.h). */
#define CONN_KEY(V)                                                                                       \
	V(gauge, rx_packets, none, "packets opened with the current key")                                 \
	V(gauge, rx_bytes, bytes, "PSP or ESP packets opened with the current key")                       \
	V(gauge, tx_packets, none, "packets sealed with the current key")                                 \
	V(gauge, tx_blocks, none, "cipher blocks sealed with the current key")                            \
	V(counter, rotations, none, "times that the key was replaced")

struct conn_key {
	CONN_KEY(STAT_MEMBER)
};

/* Whether the key that packets are opened with has done its share, |packets| or |bytes|. */
static inline bool sec_worn(const struct sec *s, uint64_t packets, uint64_t bytes)
{
	return s->rx_packets >= packets || s->rx_bytes >= bytes;
}

/* What |s| has done. */
void sec_usage(const struct sec *s, struct conn_key *out);

/* The encapsulation as configuration has it, "psp-aes-gcm-128" for example. */
const char *sec_name(uint8_t encap);

/* Bytes of an inner IP header. */
static inline uint32_t sec_inner_len(const struct sec *s)
{
	if (!s->tunnel)
		return 0;
	return s->inner_ipv6 ? FALCON_INNER_IPV6_LEN : FALCON_INNER_IPV4_LEN;
}

/*
 * Receive under |spi| of |k|'s: it becomes the current SPI, what was current the previous one, and
 * what was previous is forgotten. |key| becomes the key, for the peer, of sa_key_len(s->encap) bytes,
 * which the caller wipes; with |keep| it can be exported. 0, or a negative errno: nothing has changed.
 */
int sec_rx_use(struct sec *s, const struct sec_keys *k, uint32_t spi, bool keep,
	       uint8_t key[SA_KEY_MAX]);
/* The previous SPI is accepted no longer. */
void sec_rx_retire(struct sec *s);

/*
 * Seal from now on with the peer's |spi| and |key| of sa_key_len(s->encap) bytes, which the
 * caller wipes; if |spi| is in use already, nothing changes. 0, or a negative errno: nothing has
 * changed.
 */
int sec_tx_use(struct sec *s, uint32_t spi, const uint8_t *key);

/*
 * Authenticate and decrypt in place the packet that parsed as |f| in |frame| and passed
 * falcon_rx_check(). FALCON_V_rx_data, with all of |f| to be believed from now on; or drop_spi,
 * drop_auth, drop_esp, drop_inner, drop_truncated, drop_version, drop_cid, and then nothing of the packet
 * is to be used.
 */
enum falcon_verdict sec_open(struct sec *s, uint8_t *frame, struct falcon_frame *f);

/*
 * The key of |spi|, one that packets are received under, into |key|. 0, or -ENOKEY: not kept.
 */
int sec_export(const struct sec *s, const struct sec_keys *k, uint32_t spi, uint8_t key[SA_KEY_MAX]);

/* Wipe and forget the peer's key. What we have offered to receive under stays. */
void sec_tx_retire(struct sec *s);
/* Wipe and forget all keys. */
void sec_close(struct sec *s);

#endif /* FALCON_AGENT_KEYS_SEC_H */
