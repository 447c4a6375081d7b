/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where packets to an address go: the kernel's own answer, over rtnetlink.
 *
 * The kernel owns routes and neighbours; this asks it, has it resolve neighbours that it does not
 * know yet, and tells of changes, so that the owner asks again.
 */
#ifndef FALCON_AGENT_NET_NEIGH_H
#define FALCON_AGENT_NET_NEIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "falcon/receive/parse.h"

struct neigh;
struct neigh_hop;

struct neigh_entry {
	struct neigh_hop *hop;	/* that is watched as long as this answer is held; NULL: none */
	int ifindex;		/* device the packets leave by: of a VLAN, that below it */
	uint8_t tags[FALCON_MAX_VLANS * FALCON_VLAN_TAG_LEN];	/* VLAN tags as they stand in a frame */
	uint32_t tags_len;	/* bytes of them */
	uint8_t dst_mac[6];	/* of the next hop; valid if |reachable| */
	uint8_t src_mac[6];	/* of the device */
	struct falcon_addr src_addr;	/* the kernel's choice */
	uint32_t mtu;		/* the route's if it has one, else the device's; bytes */
	bool local;		/* the address is this host's own */
	bool reachable;		/* the next hop's address is known and the device is up */
};

/*
 * Listen to the network namespace of the calling thread. |changed| is called from neigh_process()
 * when routes, neighbours, addresses or links changed, once however many did. 0 and *|out| to be
 * freed by neigh_close(), or a negative errno with a sentence in |err|.
 */
int neigh_open(struct neigh **out, void (*changed)(void *arg), void *arg, char *err,
	       size_t errlen);

/* NULL is allowed. */
void neigh_close(struct neigh *n);

/* Readable when neigh_process() has something to do. */
int neigh_fd(const struct neigh *n);
void neigh_process(struct neigh *n);

/*
 * Look up |dst|. 0 with |out| filled; if the next hop's link-layer address is not known, |out->reachable| is
 * false, the kernel has been asked to resolve it, and |changed| follows when it has. Negative errno: no
 * route, more VLANs on top of each other than FALCON_MAX_VLANS (-EOPNOTSUPP), or netlink failed. Takes a few
 * netlink round trips and never waits for the network. |out| holds its next hop until neigh_release().
 */
int neigh_resolve(struct neigh *n, int family, const struct falcon_addr *dst, struct neigh_entry *out);
/* |e| is needed no more. Copies of it become invalid, but for what they say of link and addresses. */
void neigh_release(struct neigh_entry *e);

#endif /* FALCON_AGENT_NET_NEIGH_H */
