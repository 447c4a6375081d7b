/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames on the wire around Falcon packets: Ethernet, IP, UDP and PSP or ESP to send, and the receive
 * path for frames that XDP only steered here.
 */
#ifndef FALCON_IO_FRAME_H
#define FALCON_IO_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "core/core.h"
#include "crypto/sa.h"
#include "falcon/abi/maps.h"
#include "falcon/receive/parse.h"

enum frame_const {
	/* All headers before Falcon's, with VLAN tags and a cookie, and in a tunnel. */
	FRAME_MAX_HDR = FALCON_MAX_FALCON_OFF,
	/* What may stand behind a packet: ESP's padding and trailer, the ICV. */
	FRAME_MAX_TRAILER = FALCON_ESP_PAD_MAX + FALCON_ESP_TRAILER_LEN + FALCON_ICV_LEN,
};

/*
 * The headers before Falcon's of a connection's packets, ready but for flow, lengths, IV and
 * checksums.
 */
struct frame_template {
	uint8_t hdr[FRAME_MAX_HDR];
	uint16_t len;		/* bytes of hdr in use */
	uint16_t l3_off;
	uint16_t udp_off;
	uint16_t sec_off;	/* PSP or ESP header */
	uint16_t inner_off;	/* tunnel mode: of the inner IP header; 0: transport mode */
	bool ipv6;
	bool inner_ipv6;
	uint8_t encap;		/* enum falcon_encap */
	uint8_t next_header;	/* what follows the PSP or ESP header */
	uint32_t pseudo_sum;	/* of the addresses and protocol, for the UDP checksum */
	uint32_t ip_sum;	/* IPv4: of the header with length 0 */
	uint32_t inner_sum;	/* the same of the inner header */
	uint64_t last_iv;	/* of clear packets: IVs only grow, modulo 2^64; 0: none yet */
};

/* Where a connection's packets go. */
struct frame_route {
	bool ipv6;
	uint8_t src_mac[6];
	uint8_t dst_mac[6];
	uint8_t tags[FALCON_MAX_VLANS * FALCON_VLAN_TAG_LEN];	/* VLAN tags as they stand in a frame */
	uint32_t tags_len;	/* bytes of them */
	struct falcon_addr src_addr;
	struct falcon_addr dst_addr;
	uint8_t encap;		/* enum falcon_encap */
	uint32_t spi;		/* the peer's; of clear packets, others have their association's */
	bool vc;		/* with |cookie|; PSP only */
	uint64_t cookie;
	bool tunnel;		/* with an inner IP header (Falcon 7.1.2); never of clear packets */
	bool inner_ipv6;
	struct falcon_addr inner_src;
	struct falcon_addr inner_dst;
};

/*
 * Prepare |t| for packets along |r|. Keeps the IV of clear packets going; associations have their own.
 */
void frame_template_init(struct frame_template *t, const struct frame_route *r);

/*
 * Write packet |p| to |out| on its flow and path, with IV for the clock |now_ps|,
 * picoseconds, sealed with |sa| unless it is to be clear. |out| has room for t->len + header + payload
 * + FRAME_MAX_TRAILER. Returns the frame's length in bytes, or an enum sa_error, and then |out| must not
 * be sent: SA_ERR_DIRECTION if |sa| is NULL and the packet is not to be clear, SA_ERR_VERSION if |sa| is
 * of another encapsulation than |t|, SA_ERR_EXHAUSTED if the key is used up, and others of sa_seal().
 */
int frame_build(struct frame_template *t, struct sa *sa, const struct fcore_packet *p,
		uint64_t now_ps, uint8_t *out);

/*
 * Payload bytes that an MTU of |mtu| leaves for a push after the Falcon header; 0 if none. |around| is
 * what frame_around() says.
 */
uint32_t frame_max_payload(uint32_t mtu, bool ipv6, uint32_t around);

/* Bytes that |encap| puts around a Falcon packet at most: header, cookie, inner IP header, trailer. */
uint32_t frame_around(uint8_t encap, bool vc, uint32_t inner_len);

/* True if the UDP checksum of the parsed frame at |data| is right (zero is not). */
bool frame_checksum_ok(const uint8_t *data, const struct falcon_frame *f);

#endif /* FALCON_IO_FRAME_H */
