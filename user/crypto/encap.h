/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From plain IP frames to PSP frames and back (PSP Architecture Specification; Falcon 7.1.1, 7.1.2):
 *
 *   transport   Ethernet | IP, protocol UDP | UDP | PSP | [cookie] | what followed IP | ICV
 *   tunnel      Ethernet | outer IP         | UDP | PSP | [cookie] | IP packet        | ICV
 *
 * The outer IP header of a tunnel is the inner one's copy, without options. UDP goes to port 1000,
 * checksum 0, from the exclusive or of the inner ports (UDP and TCP; 1000 for all else), so that the
 * network spreads flows as it would have.
 */
#ifndef FALCON_CRYPTO_ENCAP_H
#define FALCON_CRYPTO_ENCAP_H

#include <stdbool.h>
#include <stdint.h>

#include "crypto/psp.h"

/* How to encapsulate; crypt offsets in units of 4 bytes, 0 to 63. */
struct psp_encap {
	bool tunnel;
	bool vc;
	uint8_t transport_offset;
	uint8_t tunnel4_offset;	/* of an IPv4 packet in a tunnel */
	uint8_t tunnel6_offset;
	uint64_t cookie;	/* sent if |vc| */
};

/*
 * Encapsulate and seal the Ethernet frame |clear| of |len| bytes into |out|. The clock |now_ps| is
 * for sa_next_iv(), which is called only if nothing else is in the way. Padding behind the IP
 * packet is left out. Returns the frame's length, or
 *
 * SA_ERR_NOT_IP: neither IPv4 nor IPv6, or a VLAN tag;
 * SA_ERR_PROTOCOL: in transport mode, an IP packet in IP, which would come out as a tunnel's, or
 *	IPv6 with anything but UDP or TCP (extension headers are not split);
 * SA_ERR_OFFSET: the crypt offset is beyond the data; as in the reference, the cookie is not counted;
 * SA_ERR_TRUNCATED, SA_ERR_LENGTH: the frame is malformed, or would become too long;
 * SA_ERR_ROOM: |out| has too little |room|; and what sa_next_iv() and psp_seal() return.
 */
int psp_encap(struct sa *sa, const struct psp_encap *e, uint64_t now_ps, const uint8_t *clear,
	      uint32_t len, uint8_t *out, uint32_t room);

/* Where the PSP packet lies in a frame. */
struct psp_frame {
	bool ipv6;		/* of the outer header */
	uint32_t udp_off;
	uint32_t psp_off;
	uint32_t psp_len;	/* header to ICV */
};

/*
 * Find the PSP packet in the Ethernet frame |frame| of |len| bytes, of which nothing may be believed
 * yet. Returns 0, SA_ERR_NOT_IP, _NOT_PSP, _TRUNCATED, _LENGTH (IP and UDP lengths disagree), or
 * _CHECKSUM. PSP headers of the packets found are complete.
 */
int psp_frame_find(const uint8_t *frame, uint32_t len, struct psp_frame *f);

/*
 * Open the packet at |f| in |frame| in place, and put the clear frame into |out|. Returns its length,
 * SA_ERR_ROOM, or what psp_open() returns.
 */
int psp_decap(struct sa *sa, uint8_t *frame, const struct psp_frame *f, uint8_t *out,
	      uint32_t room);

#endif /* FALCON_CRYPTO_ENCAP_H */
