/* SPDX-License-Identifier: BSD-2-Clause */
/* rtnetlink questions and the parts of their answers that neigh.c needs. */
#ifndef FALCON_AGENT_NET_NEIGH_MSG_H
#define FALCON_AGENT_NET_NEIGH_MSG_H

#include "base/addr.h"
#include "falcon/receive/parse.h"

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>

/* A netlink socket for questions: one at a time, each with its answer. */
struct neigh_nl {
	struct mnl_socket *sock;
	unsigned int seq;
};

struct neigh_route {
	int ifindex;
	int family;		/* of |hop|, which an IPv4 route may have in IPv6 */
	struct falcon_addr hop;	/* gateway, or the destination itself if it is on the link */
	struct falcon_addr src;	/* preferred source address */
	uint32_t mtu;		/* bytes; 0: the route has none of its own */
	bool local;		/* an address of this host */
};

struct neigh_link {
	uint32_t mtu;		/* bytes */
	uint8_t mac[6];
	int lower;		/* a VLAN's: the device below it, by index; else 0 */
	uint8_t tag[FALCON_VLAN_TAG_LEN];	/* its frames have: TPID and TCI, as they stand there */
	bool running;		/* administratively up, and has a carrier */
	bool no_arp;		/* needs no link-layer addresses */
};

struct neigh_state {
	int ifindex;
	int family;
	struct falcon_addr addr;
	uint8_t mac[6];
	uint16_t nud;		/* NUD_*, linux/neighbour.h */
};

/* Each returns 0, or a negative errno: the kernel's answer, or that of the socket. */
int neigh_ask_route(struct neigh_nl *nl, int family, const struct falcon_addr *dst,
		    struct neigh_route *out);
int neigh_ask_link(struct neigh_nl *nl, int ifindex, struct neigh_link *out);
/* -ENOENT: the kernel has no entry. */
int neigh_ask_state(struct neigh_nl *nl, int ifindex, int family, const struct falcon_addr *addr,
		    struct neigh_state *out);
/* Have the kernel find out, or confirm, the neighbour's link-layer address. */
int neigh_ask_probe(struct neigh_nl *nl, int ifindex, int family, const struct falcon_addr *addr);

/* Read an RTM_NEWLINK. */
void neigh_parse_link(const struct nlmsghdr *nlh, struct neigh_link *out);
/* Read an RTM_NEWNEIGH or RTM_DELNEIGH; false if it is not about an IP neighbour. */
bool neigh_parse_state(const struct nlmsghdr *nlh, struct neigh_state *out);

#endif /* FALCON_AGENT_NET_NEIGH_MSG_H */
