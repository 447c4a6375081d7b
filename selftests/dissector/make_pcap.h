/* SPDX-License-Identifier: BSD-2-Clause */
/* What make_pcap's parts share: frames around Falcon packets, and what a dissector must say of them. */
#ifndef FALCON_SELFTESTS_MAKE_PCAP_H
#define FALCON_SELFTESTS_MAKE_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <falcon/receive/parse.h>

enum limits { SNAPLEN = 4096, PAYLOAD = 37 };

/* How a packet is wrapped. */
struct wrap {
	unsigned int version;	/* enum falcon_encap */
	bool vc, ipv6, vlan, no_csum;
	unsigned int next_header;	/* 0: Falcon */
};

/* A clear packet, nothing special about it. */
extern const struct wrap clear;
/* The number of the frame that is being made; who makes one counts it first. */
extern unsigned int frame;

/* Write to |path| from now on. 0, or -1 having said why. */
int frames_open(const char *path);
void frames_close(void);

/* What a dissector must show of this frame. */
void expect(const char *field, uint64_t v);
void expect_bytes(const char *field, const void *data, size_t len);
void expect_hdr(const struct falcon_hdr *h);

/* A header of |type| in which each field has a value. */
struct falcon_hdr hdr(__u8 type);

/* Write one frame around the |len| Falcon bytes at |falcon|. */
void emit(const struct wrap *w, const void *falcon, size_t len);

/* One broken Falcon packet and the expert item that must name what is wrong. */
void bad_bytes(const struct wrap *w, const void *data, size_t len, const char *expert);

/* Upper layers, each kind of packet. */
void good_nvme(void);
void bad_nvme(void);
void good_rdma(void);
void bad_rdma(void);

#endif /* FALCON_SELFTESTS_MAKE_PCAP_H */
