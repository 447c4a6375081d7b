/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Security associations (Falcon 6.5): one key, one direction, one encapsulation, PSP or ESP, both with
 * AES-GCM. Who sends and receives packets needs no more than this; psp.h and esp.h do the work.
 *
 * An association is used by one thread at a time. After sa_new() nothing here allocates memory.
 */
#ifndef FALCON_CRYPTO_SA_H
#define FALCON_CRYPTO_SA_H

#include <stddef.h>
#include <stdint.h>

enum sa_error {
	SA_ERR_TRUNCATED = -1,	/* shorter than its headers and trailer */
	SA_ERR_HEADER = -2,	/* PSP: extension length, constant bit, or reserved bits when sealing */
	SA_ERR_VERSION = -3,	/* not a PSP version that can be sealed, or not the association's */
	SA_ERR_SPI = -4,	/* not the association's, or 0 where a key is derived */
	SA_ERR_OFFSET = -5,	/* crypt offset beyond the data */
	SA_ERR_ICV = -6,	/* not what the holder of the key sent */
	SA_ERR_LENGTH = -7,	/* too long, or lengths that disagree */
	SA_ERR_ROOM = -8,	/* the caller's buffer is too small */
	SA_ERR_IV = -9,		/* not from sa_next_iv(), or not after the last one sealed */
	SA_ERR_EXHAUSTED = -10,	/* the key has done enough; rotate */
	SA_ERR_NOT_IP = -11,	/* not IPv4 or IPv6 */
	SA_ERR_NOT_PSP = -12,	/* not UDP to port 1000 */
	SA_ERR_PROTOCOL = -13,	/* a protocol that transport mode does not carry */
	SA_ERR_CHECKSUM = -14,	/* of the IPv4 header */
	SA_ERR_DIRECTION = -15,	/* sealing with an association for opening, or the reverse */
	SA_ERR_PADDING = -16,	/* ESP: authentic, but its padding is not what RFC 4303 2.4 says */
	SA_ERR_CRYPTO = -17,	/* the library failed */
};

/* A few words about an enum sa_error, or "ok" for 0 and more. */
const char *sa_strerror(int err);

/*
 * What one key may seal. GCM's proofs lose about (blocks^2)/2^129: at 2^38 blocks (4 TiB) 2^-53, and
 * NIST SP 800-38D caps the packets at 2^32 where a nonce might repeat; ours cannot, yet the cap costs
 * nothing, as rotation comes long before. ESP's sequence number, which must not wrap, makes it one
 * less. Sealing stops at either: SA_ERR_EXHAUSTED.
 */
#define SA_MAX_PACKETS ((1ULL << 32) - 1)
#define SA_MAX_BLOCKS (1ULL << 38)

enum {
	SA_KEY_MAX = 36,	/* bytes of the longest key, with its salt */
};

enum sa_direction { SA_SEAL, SA_OPEN };

struct sa;

/*
 * The library that encrypts: a name for logs. The first call in a process chooses it, here or by
 * sa_new(), and takes some milliseconds.
 */
const char *sa_library(void);

/*
 * Bytes of a key for |encap|, an enum falcon_encap: of PSP 16 or 32, of ESP those and 4 of salt behind
 * them; 0 if it has no keys.
 */
unsigned int sa_key_len(uint8_t encap);

/*
 * An association of |encap| and |spi| for one direction, with |key| of sa_key_len() bytes, which the
 * caller still owns and should wipe. Returns NULL if |encap| has no keys or memory is short.
 */
struct sa *sa_new(enum sa_direction direction, uint8_t encap, uint32_t spi, const uint8_t *key);

/* Wipe the key and free |sa|, which may be NULL. */
void sa_free(struct sa *sa);

uint8_t sa_encap(const struct sa *sa);
uint32_t sa_spi(const struct sa *sa);

/* How much an association has sealed, to rotate keys long before the limits. */
struct sa_usage {
	uint64_t packets;
	uint64_t blocks;	/* of 16 bytes, header and data */
};

struct sa_usage sa_usage(const struct sa *sa);

/*
 * The next IV for |sa|: the clock |now_ps|, in picoseconds modulo 2^64, if that is later than the
 * last IV, else the last plus one. The clock may stand, jump, go back or wrap: no IV is given twice,
 * since the distance from the first one only grows and never reaches 2^64 (213 days). Returns 0, or
 * SA_ERR_EXHAUSTED when it would. A key that outlives its association must not be used again: the
 * IVs start anew.
 */
int sa_next_iv(struct sa *sa, uint64_t now_ps, uint64_t *iv);

/*
 * Put SPI and the next IV for |now_ps| into the header at |packet|, whose other fields are filled in
 * (falcon_psp_fill(); ESP's has none). Returns 0, or SA_ERR_EXHAUSTED.
 */
int sa_stamp(struct sa *sa, void *packet, uint64_t now_ps);

/*
 * Seal the packet of |len| bytes, header and contents, at |packet|, that sa_stamp() was called for;
 * |next_header| says what the contents are, FALCON_NEXT_HEADER for example. Packets are sealed in the
 * order of their IVs. The trailer goes behind it: there must be |room| for it, counted from |packet|.
 * Returns the length with the trailer, or what psp_seal() and esp_seal() return.
 */
int sa_seal(struct sa *sa, void *packet, uint32_t len, uint32_t room, uint8_t next_header);

/*
 * Authenticate and decrypt the packet of |len| bytes, trailer included, at |packet|. Returns the
 * length of header and contents, with *|next_header| set, or what psp_open() and esp_open() return:
 * then nothing of the packet is to be believed.
 */
int sa_open(struct sa *sa, void *packet, uint32_t len, uint8_t *next_header);

#endif /* FALCON_CRYPTO_SA_H */
