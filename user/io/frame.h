/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames on the wire around Falcon packets: Ethernet, IP, UDP and PSP to send, and the receive path
 * for frames that XDP only steered here.
 */
#ifndef FALCON_IO_FRAME_H
#define FALCON_IO_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/core.h"
#include "falcon/maps.h"
#include "falcon/parse.h"

enum frame_const {
	FRAME_MAX_HDR = ETH_HLEN + 40 + 8 + FALCON_PSP_HDR_LEN,	/* outer headers, IPv6 */
};

/* The outer headers of a connection's packets, ready but for flow, lengths, IV and checksums. */
struct frame_template {
	uint8_t hdr[FRAME_MAX_HDR];
	uint16_t len;		/* bytes of hdr in use */
	uint16_t l3_off;
	uint16_t udp_off;
	bool ipv6;
	uint16_t path;		/* the connection's share of what switches hash */
	uint32_t pseudo_sum;	/* of the addresses and protocol, for the UDP checksum */
	uint32_t ip_sum;	/* IPv4: of the header with length 0 */
	uint64_t last_iv;	/* IVs only grow */
};

/* Where a connection's packets go. Addresses are network order, IPv4 in the first 4 bytes. */
struct frame_route {
	bool ipv6;
	uint8_t src_mac[6];
	uint8_t dst_mac[6];
	uint8_t src_addr[16];
	uint8_t dst_addr[16];
	uint16_t path;		/* entropy for switches: what tells connections apart (parse.h) */
	uint32_t spi;		/* the peer's */
};

/* Prepare |t| for clear PSP packets (version 15) along |r|. Keeps the IV going. */
void frame_template_init(struct frame_template *t, const struct frame_route *r);

/*
 * Write packet |p| to |out| on its flow, its path added to the route's, with IV for |now_ns|. |out|
 * has room for t->len + header + payload. Returns the frame's length in bytes.
 */
uint32_t frame_build(struct frame_template *t, const struct fcore_packet *p, uint64_t now_ns,
		     uint8_t *out);

/* Payload bytes that an MTU of |mtu| leaves for a push after the Falcon header; 0 if none. */
uint32_t frame_max_payload(uint32_t mtu, bool ipv6);

/* True if the UDP checksum of the parsed frame at |data| is right (zero is not). */
bool frame_checksum_ok(const uint8_t *data, const struct falcon_frame *f);

#endif /* FALCON_IO_FRAME_H */
