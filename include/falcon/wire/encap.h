/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a Falcon packet travels in (Falcon 6.5, 7.1): PSP or ESP, and by which algorithm it is
 * protected. psp.h and esp.h have the bytes.
 *
 *   Ethernet | IPv4/IPv6 | UDP | PSP or ESP header | [inner IP] | Falcon | ULP | [trailer]
 */
#ifndef FALCON_ENCAP_H
#define FALCON_ENCAP_H

#include "../types.h"

/* 0 to 15 are the versions of PSP as its header has them. */
enum falcon_encap {
	FALCON_PSP_AES_GCM_128 = 0,
	FALCON_PSP_AES_GCM_256 = 1,
	FALCON_PSP_GMAC_128 = 2,
	FALCON_PSP_GMAC_256 = 3,
	/* No transform, no trailer; the UDP checksum protects the packet instead. See README.md. */
	FALCON_PSP_CLEAR = 15,
	FALCON_ESP_AES_GCM_128 = 16,
	FALCON_ESP_AES_GCM_256 = 17,
};

enum falcon_encap_const {
	FALCON_ICV_LEN = 16,		/* of all that have one */
	FALCON_NEXT_HEADER = 252,	/* Falcon 7.1 */
	FALCON_NEXT_IPV4 = 4,		/* tunnel mode: an IPv4 header, then Falcon (Falcon 7.1.2) */
	FALCON_NEXT_IPV6 = 41,
	FALCON_INNER_IPV4_LEN = 20,	/* no options */
	FALCON_INNER_IPV6_LEN = 40,
};

/* Falcon's time unit is 131.072 ns = 2^17 ps (Falcon 7.7.1). IVs are clocks in ps. */
#define FALCON_TIME_SHIFT 17
#define FALCON_PS_PER_NS 1000ULL

FALCON_INLINE __u32 falcon_time_of_iv(__u64 iv_ps)
{
	return (__u32)(iv_ps >> FALCON_TIME_SHIFT);
}

FALCON_INLINE __u32 falcon_time_of_ns(__u64 ns)
{
	return (__u32)((ns * FALCON_PS_PER_NS) >> FALCON_TIME_SHIFT);
}

FALCON_INLINE bool falcon_encap_is_esp(__u8 encap)
{
	return encap == FALCON_ESP_AES_GCM_128 || encap == FALCON_ESP_AES_GCM_256;
}

/* What a packet of |encap| shows: ESP does not tell the algorithm, which stands for both here. */
FALCON_INLINE __u8 falcon_encap_seen(__u8 encap)
{
	return falcon_encap_is_esp(encap) ? (__u8)FALCON_ESP_AES_GCM_128 : encap;
}

/* True for those that encrypt: PSP versions 2 and 3 only authenticate. */
FALCON_INLINE bool falcon_encrypts(__u8 encap)
{
	return encap <= FALCON_PSP_AES_GCM_256 || falcon_encap_is_esp(encap);
}

/* Bytes of ICV behind a packet. */
FALCON_INLINE __u32 falcon_icv_len(__u8 encap)
{
	return encap <= FALCON_PSP_GMAC_256 || falcon_encap_is_esp(encap) ? FALCON_ICV_LEN : 0;
}

#endif /* FALCON_ENCAP_H */
