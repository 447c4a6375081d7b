// SPDX-License-Identifier: BSD-2-Clause
/*
 * Forge Falcon packets, to see them refused:
 *
 *	inject INTERFACE KEY=VALUE...
 *
 * The packet is Push Data in clear PSP over IPv4 or IPv6, right in every field that is not named:
 *	dmac saddr daddr ttl	outer addresses (dmac and both IP addresses have to be given)
 *	psp spi iv		PSP version, SPI, IV
 *	version cid type psn rdbpsn rrbpsn code	Falcon header; code is that of a NACK or Resync
 *	function		of the Falcon header (0)
 *	payload			bytes after the Falcon header
 *	request_len		what a push says about them (payload)
 *	cut			bytes missing at the end of the frame, IP and UDP lengths notwithstanding
 *	udp_short		bytes by which the UDP length falls short of the IP length
 *	sum			added to the UDP checksum
 *	count			how many to send, all equal (1)
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <falcon/receive/parse.h>
#include <falcon/wire/wire.h>

enum key {
	TTL, PSP, SPI, IV, VERSION, CID, TYPE, PSN, RDBPSN, RRBPSN, CODE, PAYLOAD, REQUEST_LEN, CUT,
	UDP_SHORT, SUM, IP_SUM, COUNT, FUNCTION, KEYS
};

static const char *const key_name[KEYS] = {
	"ttl", "psp", "spi", "iv", "version", "cid", "type", "psn", "rdbpsn", "rrbpsn", "code",
	"payload", "request_len", "cut", "udp_short", "sum", "ip_sum", "count",
	"function",
};

struct forgery {
	uint8_t dmac[ETH_ALEN], smac[ETH_ALEN];
	char saddr[64], daddr[64];
	uint64_t value[KEYS];
	uint8_t frame[4096];
	size_t len;
};

static void die(const char *what)
{
	fprintf(stderr, "inject: %s\n", what);
	exit(2);
}

static void parse_pair(struct forgery *f, char *pair)
{
	char *value = strchr(pair, '=');

	if (!value)
		die(pair);
	*value++ = '\0';
	for (int k = 0; k < KEYS; k++) {
		if (!strcmp(pair, key_name[k])) {
			f->value[k] = strtoull(value, NULL, 0);
			return;
		}
	}
	if (!strcmp(pair, "dmac") && ether_aton(value))
		memcpy(f->dmac, ether_aton(value), ETH_ALEN);
	else if (!strcmp(pair, "saddr"))
		snprintf(f->saddr, sizeof(f->saddr), "%s", value);
	else if (!strcmp(pair, "daddr"))
		snprintf(f->daddr, sizeof(f->daddr), "%s", value);
	else
		die(pair);
}

static uint32_t sum_bytes(uint32_t sum, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Write the Falcon header to |out|; returns its length. */
static size_t put_falcon(const struct forgery *f, uint8_t *out)
{
	const uint64_t *v = f->value;
	struct falcon_hdr h = { .cid = (uint32_t)v[CID], .proto = FALCON_PROTO_RAW,
				.function = (uint32_t)v[FUNCTION],
				.type = (uint8_t)v[TYPE], .psn = (uint32_t)v[PSN],
				.rdbpsn = (uint32_t)v[RDBPSN], .rrbpsn = (uint32_t)v[RRBPSN],
				.request_len = (uint16_t)v[REQUEST_LEN],
				.resync_code = (uint8_t)v[CODE], .resync_type = FALCON_PUSH_DATA };
	struct falcon_ack a = { .cid = h.cid, .type = h.type, .rdbpsn = h.rdbpsn, .rrbpsn = h.rrbpsn,
				.nack_psn = h.psn, .nack_code = (uint8_t)v[CODE] };
	size_t len = falcon_type_is_ack(h.type) ? falcon_ack_pack(&a, out) : falcon_hdr_pack(&h, out);

	/* A reserved type has no header of its own: send the common one. */
	if (!len)
		len = sizeof(struct falcon_base_hdr);
	out[0] = (uint8_t)(v[VERSION] << 4);
	return len;
}

/* Write the IP header for |udp_len| bytes; returns the sum of its pseudo header. */
static uint32_t put_ip(struct forgery *f, uint8_t *l3, bool ipv6, size_t udp_len)
{
	uint32_t sum = IPPROTO_UDP + (uint32_t)udp_len - (uint32_t)f->value[UDP_SHORT];

	if (ipv6) {
		struct ipv6hdr ip6 = { .version = 6, .payload_len = htons((uint16_t)udp_len),
				       .nexthdr = IPPROTO_UDP, .hop_limit = (uint8_t)f->value[TTL] };

		if (inet_pton(AF_INET6, f->saddr, &ip6.saddr) != 1 ||
		    inet_pton(AF_INET6, f->daddr, &ip6.daddr) != 1)
			die("addresses");
		memcpy(l3, &ip6, sizeof(ip6));
		return sum_bytes(sum, &ip6.saddr, 32);
	}
	struct iphdr ip = { .version = 4, .ihl = 5, .ttl = (uint8_t)f->value[TTL],
			    .tot_len = htons((uint16_t)(sizeof(ip) + udp_len)),
			    .protocol = IPPROTO_UDP };

	if (inet_pton(AF_INET, f->saddr, &ip.saddr) != 1 ||
	    inet_pton(AF_INET, f->daddr, &ip.daddr) != 1)
		die("addresses");
	ip.check = htons((uint16_t)(~fold(sum_bytes(0, &ip, sizeof(ip))) + f->value[IP_SUM]));
	memcpy(l3, &ip, sizeof(ip));
	return sum_bytes(sum, &ip.saddr, 8);
}

static void build(struct forgery *f)
{
	bool ipv6 = strchr(f->daddr, ':');
	size_t l3_len = ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr), udp_len;
	uint8_t *l3 = f->frame + ETH_HLEN, *udp = l3 + l3_len, *psp = udp + sizeof(struct udphdr);
	struct ethhdr eth = { .h_proto = htons(ipv6 ? ETH_P_IPV6 : ETH_P_IP) };
	struct udphdr u = { .source = htons(50000), .dest = htons(FALCON_PSP_UDP_PORT) };
	struct falcon_psp_hdr p;
	uint32_t sum;

	memcpy(eth.h_dest, f->dmac, ETH_ALEN);
	memcpy(eth.h_source, f->smac, ETH_ALEN);
	memcpy(f->frame, &eth, sizeof(eth));
	falcon_psp_fill(&p, (uint8_t)f->value[PSP], false, (uint32_t)f->value[SPI], f->value[IV]);
	memcpy(psp, &p, sizeof(p));
	udp_len = sizeof(u) + sizeof(p) + put_falcon(f, psp + sizeof(p)) + f->value[PAYLOAD];
	u.len = htons((uint16_t)(udp_len - f->value[UDP_SHORT]));
	memcpy(udp, &u, sizeof(u));
	sum = put_ip(f, l3, ipv6, udp_len);
	u.check = htons((uint16_t)~fold(sum_bytes(sum, udp, udp_len)));
	if (!u.check)
		u.check = 0xffff;
	u.check = (uint16_t)(u.check + f->value[SUM]);
	memcpy(udp, &u, sizeof(u));
	f->len = ETH_HLEN + l3_len + udp_len - f->value[CUT];
}

static void defaults(struct forgery *f)
{
	f->value[TTL] = FALCON_DEFAULT_TTL;
	f->value[PSP] = FALCON_PSP_CLEAR;
	f->value[VERSION] = FALCON_VERSION;
	f->value[TYPE] = FALCON_PUSH_DATA;
	f->value[PAYLOAD] = 16;
	f->value[REQUEST_LEN] = UINT64_MAX;
	f->value[COUNT] = 1;
}

int main(int argc, char **argv)
{
	static struct forgery f;
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_halen = ETH_ALEN };
	int fd;

	if (argc < 2)
		die("want INTERFACE KEY=VALUE...");
	defaults(&f);
	for (int i = 2; i < argc; i++)
		parse_pair(&f, argv[i]);
	if (f.value[REQUEST_LEN] == UINT64_MAX)
		f.value[REQUEST_LEN] = f.value[PAYLOAD];
	if (f.value[PAYLOAD] > 3000 || f.value[CUT] > 100 || f.value[UDP_SHORT] > 100)
		die("too much");
	build(&f);
	to.sll_ifindex = (int)if_nametoindex(argv[1]);
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0 || !to.sll_ifindex)
		die(argv[1]);
	for (uint64_t i = 0; i < f.value[COUNT]; i++)
		if (sendto(fd, f.frame, f.len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
			die("cannot send");
	close(fd);
	return 0;
}
