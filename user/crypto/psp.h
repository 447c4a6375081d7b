/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PSP versions 0 to 3: sealing and opening packets in place (PSP Architecture Specification; Falcon
 * 6.5, 7.1, 9.2.2.1).
 *
 *   PSP header (16) | [cookie (8)] | data | ICV (16)
 *   \_ authenticated _ _ _ _ _ _ _|_ _ _ /
 *                      crypt offset \___/ encrypted
 *
 * The nonce is SPI and IV as they stand in the header. Versions 0 and 1 encrypt what lies behind the
 * crypt offset; 2 and 3 encrypt nothing and authenticate all.
 *
 * An association belongs to one direction and is used by one thread at a time. After psp_sa_new()
 * nothing here allocates memory.
 */
#ifndef FALCON_CRYPTO_PSP_H
#define FALCON_CRYPTO_PSP_H

#include <stddef.h>
#include <stdint.h>

enum psp_error {
	PSP_ERR_TRUNCATED = -1,	/* shorter than its headers and trailer */
	PSP_ERR_HEADER = -2,	/* extension length, constant bit, or reserved bits when sealing */
	PSP_ERR_VERSION = -3,	/* not a version that can be sealed, or not the association's */
	PSP_ERR_SPI = -4,	/* not the association's, or 0 where a key is derived */
	PSP_ERR_OFFSET = -5,	/* crypt offset beyond the data */
	PSP_ERR_ICV = -6,	/* not what the holder of the key sent */
	PSP_ERR_LENGTH = -7,	/* too long, or lengths that disagree */
	PSP_ERR_ROOM = -8,	/* the caller's buffer is too small */
	PSP_ERR_IV = -9,	/* not from psp_sa_next_iv(), or not after the last one sealed */
	PSP_ERR_EXHAUSTED = -10,/* the key has done enough; rotate */
	PSP_ERR_NOT_IP = -11,	/* not IPv4 or IPv6 */
	PSP_ERR_NOT_PSP = -12,	/* not UDP to port 1000 */
	PSP_ERR_PROTOCOL = -13,	/* a protocol that transport mode does not carry */
	PSP_ERR_CHECKSUM = -14,	/* of the IPv4 header */
	PSP_ERR_DIRECTION = -15,/* sealing with an association for opening, or the reverse */
	PSP_ERR_CRYPTO = -16,	/* the library failed */
};

/* A few words about an enum psp_error, or "ok" for 0 and more. */
const char *psp_strerror(int err);

/*
 * What one key may seal. GCM's proofs lose about (blocks^2)/2^129: at 2^38 blocks (4 TiB) 2^-53, and
 * NIST SP 800-38D caps the packets at 2^32 where a nonce might repeat; ours cannot, yet the cap costs
 * nothing, as rotation comes long before. Sealing stops at either: PSP_ERR_EXHAUSTED.
 */
#define PSP_MAX_PACKETS (1ULL << 32)
#define PSP_MAX_BLOCKS (1ULL << 38)

enum psp_direction { PSP_SEAL, PSP_OPEN };

struct psp_sa;

/*
 * An association of |version| (0 to 3) and |spi| for one direction, with |key| of psp_key_len()
 * bytes, which the caller still owns and should wipe. Returns NULL if the version has no keys or
 * memory is short.
 */
struct psp_sa *psp_sa_new(enum psp_direction direction, uint8_t version, uint32_t spi,
			  const uint8_t *key);

/* Wipe the key and free |sa|, which may be NULL. */
void psp_sa_free(struct psp_sa *sa);

uint8_t psp_sa_version(const struct psp_sa *sa);
uint32_t psp_sa_spi(const struct psp_sa *sa);

/* How much an association has sealed, to rotate keys long before the limits. */
struct psp_usage {
	uint64_t packets;
	uint64_t blocks;	/* of 16 bytes, header and data */
};

struct psp_usage psp_sa_usage(const struct psp_sa *sa);

/*
 * The next IV for |sa|: the clock |now_ps|, in picoseconds modulo 2^64, if that is later than the
 * last IV, else the last plus one. The clock may stand, jump, go back or wrap: no IV is given twice,
 * since the distance from the first one only grows and never reaches 2^64 (213 days). Returns 0, or
 * PSP_ERR_EXHAUSTED when it would. A key that outlives its association must not be used again: the
 * IVs start anew.
 */
int psp_sa_next_iv(struct psp_sa *sa, uint64_t now_ps, uint64_t *iv);

/*
 * Seal the packet of |len| bytes at |psp|, header filled in (falcon_psp_fill()), with an IV from
 * psp_sa_next_iv(). Packets are sealed in the order of their IVs; IVs may be left out. The ICV goes
 * to |psp| + |len|: there must be |room| for it, counted from |psp|. Returns the length with the ICV,
 * or PSP_ERR_DIRECTION, _TRUNCATED, _HEADER, _VERSION, _SPI, _OFFSET, _LENGTH, _ROOM, _IV, _EXHAUSTED
 * (the packet is as it was) or _CRYPTO (the packet is of no use any more).
 */
int psp_seal(struct psp_sa *sa, void *psp, uint32_t len, uint32_t room);

/*
 * Authenticate and decrypt the packet of |len| bytes, ICV included, at |psp|. The header is taken as
 * it came, reserved bits included. Returns the length without the ICV, or PSP_ERR_DIRECTION,
 * _TRUNCATED, _HEADER, _VERSION, _SPI, _OFFSET, _LENGTH (the packet is as it was), _ICV or _CRYPTO
 * (what was encrypted is zeroed: nothing unauthenticated is handed on).
 */
int psp_open(struct psp_sa *sa, void *psp, uint32_t len);

/* One packet of a batch; associations may differ from packet to packet. */
struct psp_job {
	struct psp_sa *sa;
	uint8_t *psp;
	uint32_t len;		/* as for psp_seal() or psp_open() */
	uint32_t room;		/* psp_seal_batch() only */
	int result;		/* what they return */
};

/*
 * psp_seal() and psp_open() for |n| packets, in order; the next packet is fetched into the cache
 * while one is worked on. Return how many succeeded.
 */
size_t psp_seal_batch(struct psp_job *jobs, size_t n);
size_t psp_open_batch(struct psp_job *jobs, size_t n);

#endif /* FALCON_CRYPTO_PSP_H */
