/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The PSP header (PSP Architecture Specification) as Falcon uses it (Falcon 6.5, 7.1).
 *
 *   Ethernet | IPv4/IPv6 | UDP, destination port 1000 | PSP | [VC] | Falcon | ULP | [ICV]
 */
#ifndef FALCON_PSP_H
#define FALCON_PSP_H

#include "encap.h"

enum falcon_psp_const {
	FALCON_PSP_UDP_PORT = 1000,
	FALCON_PSP_HDR_LEN = 16,	/* base header, without virtualization cookie */
	FALCON_PSP_VC_LEN = 8,		/* virtualization cookie, carries the PCID */
	FALCON_PSP_EXT_LEN_NO_VC = 1,	/* in units of 8 bytes after the first 8 */
	FALCON_PSP_EXT_LEN_VC = 2,
	FALCON_PSP_CRYPT_UNIT = 4,	/* bytes a crypt offset unit */
	FALCON_PSP_CRYPT_MASK = 0x3f,
};

/* Byte 3 of the header: S D version(4) V 1. */
enum falcon_psp_flag {
	FALCON_PSP_F_ONE = 0x01,	/* always set */
	FALCON_PSP_F_VC = 0x02,		/* virtualization cookie present */
	FALCON_PSP_VERSION_SHIFT = 2,
	FALCON_PSP_VERSION_MASK = 0x3c,
	FALCON_PSP_F_DROP = 0x40,
	FALCON_PSP_F_SAMPLE = 0x80,
};

struct falcon_psp_hdr {
	__u8 next_header;	/* 252 for Falcon */
	__u8 hdr_ext_len;	/* 8-byte units, not counting the first: 1, or 2 with VC */
	__u8 crypt_offset;	/* low 6 bits, 4-byte units from the end of the base header */
	__u8 flags;		/* enum falcon_psp_flag */
	__be32 spi;		/* chosen by the receiver; bit 31 selects its master key */
	__be64 iv;		/* transmitter's clock in picoseconds; T1 = iv >> 17 */
} FALCON_PACKED;
_Static_assert(sizeof(struct falcon_psp_hdr) == FALCON_PSP_HDR_LEN, "PSP header");

FALCON_INLINE __u8 falcon_psp_version(const struct falcon_psp_hdr *h)
{
	return (h->flags & FALCON_PSP_VERSION_MASK) >> FALCON_PSP_VERSION_SHIFT;
}

FALCON_INLINE bool falcon_psp_has_vc(const struct falcon_psp_hdr *h)
{
	return h->flags & FALCON_PSP_F_VC;
}

/* Bytes from the start of the PSP header to the Falcon header, or to the inner IP header. */
FALCON_INLINE __u32 falcon_psp_len(bool vc)
{
	return FALCON_PSP_HDR_LEN + (vc ? FALCON_PSP_VC_LEN : 0);
}

/*
 * The crypt offset that leaves the Falcon header's first four bytes, the connection ID, in the
 * clear (Falcon 7.1). The cookie lies inside the counted area, as do the |inner_len| bytes of a
 * tunnel's inner IP header (Falcon 7.1.2).
 */
FALCON_INLINE __u8 falcon_psp_crypt_offset(bool vc, __u32 inner_len)
{
	return (__u8)((vc ? 3 : 1) + inner_len / FALCON_PSP_CRYPT_UNIT);
}

/*
 * Fill a PSP header for a Falcon packet. |version| is an enum falcon_encap of PSP, |spi| the
 * receiver's SPI in host order, |iv_ps| the transmit time in picoseconds. The caller appends the
 * cookie itself when |vc| is set.
 */
FALCON_INLINE void falcon_psp_fill(struct falcon_psp_hdr *h, __u8 version, bool vc, __u32 spi,
				   __u64 iv_ps)
{
	h->next_header = FALCON_NEXT_HEADER;
	h->hdr_ext_len = vc ? FALCON_PSP_EXT_LEN_VC : FALCON_PSP_EXT_LEN_NO_VC;
	h->crypt_offset = falcon_psp_crypt_offset(vc, 0);
	h->flags = FALCON_PSP_F_ONE | (vc ? FALCON_PSP_F_VC : 0) |
		   (__u8)(version << FALCON_PSP_VERSION_SHIFT);
	h->spi = falcon_hton32(spi);
	h->iv = falcon_hton64(iv_ps);
}

#endif /* FALCON_PSP_H */
