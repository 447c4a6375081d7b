// SPDX-License-Identifier: BSD-2-Clause
#include "frame.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <string.h>

#include "../common/rng.h"

enum frame_const {
	ECN_MASK = 3,
	CE = 3,
	VLAN_LEN = 4,
	VLAN_TAGS = 2,
	FRAGMENT = 0x3fff,	/* more fragments, or an offset */
	ND_FIRST = 133,		/* ICMPv6 types of neighbour discovery */
	ND_LAST = 137,
	INDEX_MASK = 15,
};

static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	/* FNV-1a, with its offset and prime. */
	while (len--)
		hash = (hash ^ *p++) * 1099511628211ULL;
	return hash;
}

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* The EtherType behind any VLAN tags, and in |*l3| where what it tells about begins. */
static uint16_t ethertype(const uint8_t *frame, size_t len, uint32_t *l3)
{
	uint16_t type = be16(frame + 2 * ETH_ALEN);

	*l3 = ETH_HLEN;
	for (int i = 0; i < VLAN_TAGS && (type == ETH_P_8021Q || type == ETH_P_8021AD); i++) {
		if (len < *l3 + VLAN_LEN)
			return 0;
		type = be16(frame + *l3 + 2);
		*l3 += VLAN_LEN;
	}
	return type;
}

/* Hash the ports at |l4|, if there are any. */
static uint64_t ports(const uint8_t *frame, size_t len, size_t l4, uint8_t protocol, uint64_t hash)
{
	bool has_ports = protocol == IPPROTO_UDP || protocol == IPPROTO_TCP;

	return has_ports && len >= l4 + 4 ? mix(hash, frame + l4, 4) : hash;
}

static void look_ipv4(const uint8_t *frame, size_t len, struct frame_info *info, uint64_t hash)
{
	struct iphdr ip;
	size_t l4;

	if (len < info->l3 + sizeof(ip))
		return;
	memcpy(&ip, frame + info->l3, sizeof(ip));
	l4 = info->l3 + ip.ihl * 4u;
	hash = mix(mix(hash, &ip.saddr, 8), &ip.protocol, 1);
	/* Fragments have no ports but the first, and must not part. */
	if (!(ntohs(ip.frag_off) & FRAGMENT)) {
		hash = ports(frame, len, l4, ip.protocol, hash);
		if (len >= l4 + 2)
			info->index = frame[l4 + 1] & INDEX_MASK;
	}
	info->hash = rng_mix(hash);
	info->flow = true;
}

static void look_ipv6(const uint8_t *frame, size_t len, struct frame_info *info, uint64_t hash)
{
	struct ipv6hdr ip;
	size_t l4 = info->l3 + sizeof(ip);
	uint8_t label[3];

	if (len < l4)
		return;
	memcpy(&ip, frame + info->l3, sizeof(ip));
	if (ip.nexthdr == IPPROTO_ICMPV6 && len > l4 && frame[l4] >= ND_FIRST && frame[l4] <= ND_LAST)
		return;
	memcpy(label, ip.flow_lbl, sizeof(label));
	label[0] &= 0x0f;	/* above are the traffic class's bits, and ECN among them changes */
	hash = mix(mix(mix(hash, &ip.saddr, 32), label, sizeof(label)), &ip.nexthdr, 1);
	info->hash = rng_mix(ports(frame, len, l4, ip.nexthdr, hash));
	info->index = label[2] & INDEX_MASK;
	info->flow = true;
}

void frame_look(const uint8_t *frame, size_t len, struct frame_info *info)
{
	static const uint64_t fnv_offset = 14695981039346656037ULL;
	uint16_t type;

	*info = (struct frame_info){ .l3 = ETH_HLEN };
	if (len < ETH_HLEN)
		return;
	type = ethertype(frame, len, &info->l3);
	if (frame[0] & 1)
		return;
	if (type == ETH_P_IP)
		look_ipv4(frame, len, info, fnv_offset);
	else if (type == ETH_P_IPV6)
		look_ipv6(frame, len, info, fnv_offset);
}

static bool mark_ipv4(uint8_t *l3)
{
	struct iphdr ip;
	uint32_t sum;

	memcpy(&ip, l3, sizeof(ip));
	if (!(ip.tos & ECN_MASK) || (ip.tos & ECN_MASK) == CE)
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
	uint8_t ecn = l3[1] >> 4 & ECN_MASK;

	if (!ecn || ecn == CE)
		return false;
	l3[1] |= CE << 4;
	return true;
}

bool frame_mark_ce(uint8_t *frame, size_t len, uint32_t l3)
{
	uint32_t l3_seen;
	uint16_t type;

	if (len < l3 + sizeof(struct iphdr))
		return false;
	type = ethertype(frame, len, &l3_seen);
	if (type == ETH_P_IP)
		return mark_ipv4(frame + l3);
	return type == ETH_P_IPV6 && mark_ipv6(frame + l3);
}

static void flip(uint8_t *frame, uint64_t bit)
{
	frame[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
}

void frame_corrupt(uint8_t *frame, size_t len, uint32_t from, uint32_t bits, struct rng *rng)
{
	uint64_t room, first;

	if (len <= from)
		return;
	room = (len - from) * 8;
	if (bits > room)
		bits = (uint32_t)room;
	first = from * 8ULL + rng_below(rng, room - bits + 1);
	flip(frame, first);
	for (uint32_t i = 1; i + 1 < bits; i++)
		if (rng_next(rng) >> 63)
			flip(frame, first + i);
	if (bits > 1)
		flip(frame, first + bits - 1);
}
