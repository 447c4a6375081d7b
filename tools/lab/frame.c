// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <string.h>

#include "frame.h"

enum { ECN_MASK = 3, CE = 3 };

static uint32_t mix(uint32_t hash, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	/* FNV-1a, with its offset and prime. */
	while (len--)
		hash = (hash ^ *p++) * 16777619u;
	return hash;
}

static uint16_t ethertype(const uint8_t *frame)
{
	return (uint16_t)(frame[12] << 8 | frame[13]);
}

static int has_ports(uint8_t protocol)
{
	return protocol == IPPROTO_UDP || protocol == IPPROTO_TCP;
}

uint32_t frame_flow_hash(const uint8_t *frame, size_t len)
{
	const uint8_t *l3 = frame + ETH_HLEN;
	uint32_t hash = 2166136261u;
	uint8_t protocol;
	size_t l4;

	if (len >= ETH_HLEN + sizeof(struct iphdr) && ethertype(frame) == ETH_P_IP) {
		struct iphdr ip;

		memcpy(&ip, l3, sizeof(ip));
		hash = mix(hash, &ip.saddr, 8);
		protocol = ip.protocol;
		l4 = ETH_HLEN + ip.ihl * 4u;
	} else if (len >= ETH_HLEN + sizeof(struct ipv6hdr) && ethertype(frame) == ETH_P_IPV6) {
		struct ipv6hdr ip6;

		memcpy(&ip6, l3, sizeof(ip6));
		hash = mix(hash, &ip6.saddr, 32);
		hash = mix(hash, ip6.flow_lbl, sizeof(ip6.flow_lbl));
		protocol = ip6.nexthdr;
		l4 = ETH_HLEN + sizeof(ip6);
	} else {
		return 0;
	}
	if (has_ports(protocol) && len >= l4 + 4)
		hash = mix(hash, frame + l4, 4);
	/* The low bits of FNV alone are weak; paths are few, so fold the high ones in. */
	return hash ^ hash >> 16;
}

static bool mark_ipv4(uint8_t *l3)
{
	struct iphdr ip;
	uint32_t sum;

	memcpy(&ip, l3, sizeof(ip));
	if (!(ip.tos & ECN_MASK))
		return false;
	/* RFC 1624: the checksum goes down by what the header goes up; tos is a low byte. */
	sum = (uint16_t)~ntohs(ip.check) + (uint32_t)(CE - (ip.tos & ECN_MASK));
	sum = (sum & 0xffff) + (sum >> 16);
	ip.check = htons((uint16_t)~sum);
	ip.tos |= CE;
	memcpy(l3, &ip, sizeof(ip));
	return true;
}

static bool mark_ipv6(uint8_t *l3)
{
	if (!(l3[1] >> 4 & ECN_MASK))
		return false;
	l3[1] |= CE << 4;
	return true;
}

bool frame_mark_ce(uint8_t *frame, size_t len)
{
	uint8_t *l3 = frame + ETH_HLEN;

	if (len >= ETH_HLEN + sizeof(struct iphdr) && ethertype(frame) == ETH_P_IP)
		return mark_ipv4(l3);
	if (len >= ETH_HLEN + sizeof(struct ipv6hdr) && ethertype(frame) == ETH_P_IPV6)
		return mark_ipv6(l3);
	return false;
}
