/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames for tests: build any Falcon packet in any encapsulation, and take an answer apart.
 * Checksums are computed here by the book, two bytes at a time, not by the code under test.
 */
#ifndef FALCON_SELFTESTS_PACKET_H
#define FALCON_SELFTESTS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "falcon/receive/parse.h"
#include "falcon/wire/wire.h"

enum packet_const {
	PACKET_MAX = 3520,	/* longest frame that BPF_PROG_TEST_RUN takes */
	PACKET_SRC_PORT = 49152,
};

/* Everything around the Falcon packet. */
struct packet_shape {
	bool ipv6, vc;
	unsigned int vlans;	/* 0..2; the tags are 100 and 101 */
	uint8_t ttl, ecn;
	uint8_t encap;		/* enum falcon_encap */
	uint8_t inner_len;		/* of an inner IP header (Falcon 7.1.2): 0, 20 or 40 */
	uint8_t flow;		/* index, in the flow label or the source port */
	uint16_t path;		/* the bits above it */
	uint8_t saddr[16], daddr[16];	/* IPv4 in the first 4 bytes */
	uint32_t spi;
	uint32_t seq;		/* ESP only */
	uint64_t iv, cookie;
};

/* The encapsulation that connection |id| accepts: TTL 60, no ECN, no tags, |iv| as given. */
void packet_shape_of(const struct falcon_conn_id *id, uint64_t iv, struct packet_shape *s);

/* UDP source port of a frame of |shape|: over IPv6 it says nothing of the flow. */
uint16_t packet_src_port(const struct packet_shape *shape);

/*
 * Write the frame that carries the |len| bytes of Falcon packet |falcon| in |shape| to |out|
 * (PACKET_MAX bytes), with right lengths and checksums. Nothing is encrypted: an ICV is a pattern; ESP
 * has its padding and trailer, and no cookie. Returns its length.
 */
size_t packet_build(const struct packet_shape *shape, const void *falcon, size_t len, uint8_t *out);

/* Falcon packet of |h| with |payload_len| bytes of payload; |out| has room. Returns its length. */
size_t packet_reliable(const struct falcon_hdr *h, size_t payload_len, uint8_t *out);

/* Where the parts of a frame of |shape| are, bytes from its start. */
size_t packet_l3_off(const struct packet_shape *shape);
size_t packet_udp_off(const struct packet_shape *shape);
size_t packet_sec_off(const struct packet_shape *shape);
size_t packet_falcon_off(const struct packet_shape *shape);

/*
 * Give a frame, mutated perhaps, right IP and UDP checksums where it looks like UDP over IP and its
 * lengths lie within the frame; else leave it alone.
 */
void packet_fix_csum(uint8_t *frame, size_t len);

/* An answer, taken apart. */
struct packet_reply {
	struct falcon_frame frame;
	uint8_t src_mac[6], dst_mac[6];
	uint8_t saddr[16], daddr[16];
	uint16_t src_port;
	uint32_t label;		/* IPv6 flow label; 0 over IPv4 */
	bool ip_csum_ok, udp_csum_ok;
	int wire_error;		/* of falcon_ack_unpack() */
	struct falcon_ack ack;
};

/* Take the answer |frame| apart. 0, or -1 if it is no Falcon packet. */
int packet_parse_reply(const uint8_t *frame, size_t len, struct packet_reply *r);

/* The MAC addresses of built frames. */
extern const uint8_t packet_src_mac[6], packet_dst_mac[6];

#endif /* FALCON_SELFTESTS_PACKET_H */
