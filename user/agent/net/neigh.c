// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where packets go. One socket asks, another listens to changes.
 *
 * Falcon's packets do not pass through the kernel's stack, so nothing there would ever confirm that
 * a neighbour still answers, or resolve one that is missing. Each next hop that packets take is
 * watched: when the kernel calls its entry stale it is probed, and of all the neighbours that come and
 * go on a network only these count as changes.
 */
#include "agent/net/neigh.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "agent/net/neigh_msg.h"

enum {
	EVENT_BYTES = 32768,
	ANSWER_SECONDS = 1,	/* the kernel answers at once; this only bounds the unforeseen */
	NUD_USABLE = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP,
};

/* A next hop that answers are held of. */
struct neigh_hop {
	LIST_ENTRY(neigh_hop) link;
	uint32_t held;			/* answers; it is forgotten with the last */
	int ifindex;
	int family;
	struct falcon_addr addr;
	uint8_t mac[6];
	bool usable;
};

struct neigh {
	struct neigh_nl asks;
	struct mnl_socket *events;
	void (*changed)(void *arg);
	void *arg;
	LIST_HEAD(, neigh_hop) hops;
};

static struct neigh_hop *find_hop(struct neigh *n, int ifindex, int family, const struct falcon_addr *addr)
{
	struct neigh_hop *h;

	LIST_FOREACH(h, &n->hops, link)
		if (h->ifindex == ifindex && h->family == family && falcon_addr_equal(&h->addr, addr))
			return h;
	return NULL;
}

/* The next hop, watched from now on if it was not; held. NULL if memory is short. */
static struct neigh_hop *hold(struct neigh *n, int ifindex, int family, const struct falcon_addr *addr)
{
	struct neigh_hop *h = find_hop(n, ifindex, family, addr);

	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return NULL;
		h->ifindex = ifindex;
		h->family = family;
		h->addr = *addr;
		LIST_INSERT_HEAD(&n->hops, h, link);
	}
	h->held++;
	return h;
}

void neigh_release(struct neigh_entry *e)
{
	struct neigh_hop *h = e->hop;

	e->hop = NULL;
	if (!h || --h->held)
		return;
	LIST_REMOVE(h, link);
	free(h);
}

/* Take over what the kernel says of |h|. True if that changes where packets go. */
static bool update_hop(struct neigh *n, struct neigh_hop *h, const struct neigh_state *s)
{
	bool usable = s->nud & NUD_USABLE;
	bool news = usable != h->usable || (usable && memcmp(h->mac, s->mac, 6) != 0);

	h->usable = usable;
	memcpy(h->mac, s->mac, 6);
	if (!usable || s->nud == NUD_STALE)
		neigh_ask_probe(&n->asks, h->ifindex, h->family, &h->addr);
	return news;
}

static int resolve_hop(struct neigh *n, const struct neigh_route *r, struct neigh_entry *out)
{
	struct neigh_hop *h = hold(n, r->ifindex, r->family, &r->hop);
	struct neigh_state s;
	int ret;

	if (!h)
		return -ENOMEM;
	out->hop = h;
	ret = neigh_ask_state(&n->asks, r->ifindex, r->family, &r->hop, &s);
	if (ret == -ENOENT) {
		s = (struct neigh_state){.nud = NUD_NONE};
	} else if (ret) {
		neigh_release(out);
		return ret;
	}
	update_hop(n, h, &s);
	out->reachable = h->usable;
	memcpy(out->dst_mac, h->mac, 6);
	return 0;
}

/* From a VLAN, |link|, down to the device whose frames have its tags: the lower a VLAN, the further out. */
static int resolve_vlans(struct neigh *n, const struct neigh_link *vlan, struct neigh_entry *out)
{
	struct neigh_link link = *vlan;
	int ret;

	while (link.lower) {
		if (out->tags_len == sizeof(out->tags))
			return -EOPNOTSUPP;
		memmove(out->tags + sizeof(link.tag), out->tags, out->tags_len);
		memcpy(out->tags, link.tag, sizeof(link.tag));
		out->tags_len += sizeof(link.tag);
		out->ifindex = link.lower;
		ret = neigh_ask_link(&n->asks, out->ifindex, &link);
		if (ret)
			return ret;
		out->reachable &= link.running;
	}
	return 0;
}

int neigh_resolve(struct neigh *n, int family, const struct falcon_addr *dst, struct neigh_entry *out)
{
	struct neigh_route route;
	struct neigh_link link;
	int ret;

	memset(out, 0, sizeof(*out));
	ret = neigh_ask_route(&n->asks, family, dst, &route);
	if (ret == 0)
		ret = neigh_ask_link(&n->asks, route.ifindex, &link);
	if (ret)
		return ret;
	out->ifindex = route.ifindex;
	out->local = route.local;
	out->mtu = route.mtu && route.mtu < link.mtu ? route.mtu : link.mtu;
	memcpy(out->src_mac, link.mac, sizeof(out->src_mac));
	out->src_addr = route.src;
	out->reachable = link.running;
	ret = resolve_vlans(n, &link, out);
	if (ret || !out->reachable || link.no_arp)
		return ret;
	return resolve_hop(n, &route, out);
}

/* True if the message changes where packets go. */
static bool is_news(struct neigh *n, const struct nlmsghdr *nlh)
{
	struct neigh_state s;
	struct neigh_hop *h;

	if (nlh->nlmsg_type != RTM_NEWNEIGH && nlh->nlmsg_type != RTM_DELNEIGH)
		return true;
	if (!neigh_parse_state(nlh, &s))
		return false;
	h = find_hop(n, s.ifindex, s.family, &s.addr);
	if (!h)
		return false;
	if (nlh->nlmsg_type == RTM_DELNEIGH)
		s.nud = NUD_NONE;
	return update_hop(n, h, &s);
}

void neigh_process(struct neigh *n)
{
	char buf[EVENT_BYTES] __attribute__((aligned(8)));
	bool news = false;

	for (;;) {
		ssize_t len = recv(neigh_fd(n), buf, sizeof(buf), MSG_DONTWAIT);
		struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
		int left = (int)len;

		/* Messages were lost: anything may have changed. */
		if (len < 0 && errno == ENOBUFS) {
			news = true;
			continue;
		}
		if (len < 0)
			break;
		for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			news |= is_news(n, nlh);
	}
	if (news)
		n->changed(n->arg);
}

int neigh_fd(const struct neigh *n)
{
	return mnl_socket_get_fd(n->events);
}

static int open_sockets(struct neigh *n)
{
	static const int groups[] = {RTNLGRP_LINK,	  RTNLGRP_NEIGH,       RTNLGRP_IPV4_IFADDR,
				     RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV6_ROUTE};
	struct timeval tv = {.tv_sec = ANSWER_SECONDS};

	n->asks.sock = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	n->events = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!n->asks.sock || !n->events ||
	    mnl_socket_bind(n->asks.sock, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_bind(n->events, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	setsockopt(mnl_socket_get_fd(n->asks.sock), SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	for (unsigned int i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		int group = groups[i];

		if (mnl_socket_setsockopt(n->events, NETLINK_ADD_MEMBERSHIP, &group,
					  sizeof(group)) < 0)
			return -errno;
	}
	return 0;
}

int neigh_open(struct neigh **out, void (*changed)(void *arg), void *arg, char *err,
	       size_t errlen)
{
	struct neigh *n = calloc(1, sizeof(*n));
	int ret = -ENOMEM;

	*out = NULL;
	if (n) {
		n->changed = changed;
		n->arg = arg;
		ret = open_sockets(n);
		if (ret == 0) {
			*out = n;
			return 0;
		}
		neigh_close(n);
	}
	snprintf(err, errlen, "cannot listen to the kernel's routes: %s", strerror(-ret));
	return ret;
}

void neigh_close(struct neigh *n)
{
	if (!n)
		return;
	if (n->asks.sock)
		mnl_socket_close(n->asks.sock);
	if (n->events)
		mnl_socket_close(n->events);
	while (!LIST_EMPTY(&n->hops)) {
		struct neigh_hop *h = LIST_FIRST(&n->hops);

		LIST_REMOVE(h, link);
		free(h);
	}
	free(n);
}
