// SPDX-License-Identifier: BSD-2-Clause
/* Ports as devices of verbs applications: names, addresses, and what a transaction has room for. */
#include "agent/rdma/priv.h"

#include <errno.h>
#include <ifaddrs.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/net/port.h"
#include "falcon/abi/rdmacm.h"
#include "falcon/wire/psp.h"
#include "falcon/wire/rdma.h"
#include "io/frame.h"
#include "io/netdev.h"
#include "io/xsk.h"

enum { INNER_IP = 40 };		/* bytes of an IPv6 header: what PSP in tunnel mode adds */

/* The interface's MTU, bytes; 0: not known. */
static uint32_t mtu_of(const char *ifname)
{
	struct ifreq ifr = {};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t mtu = 0;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &ifr) == 0)
		mtu = (uint32_t)ifr.ifr_mtu;
	if (fd >= 0)
		close(fd);
	return mtu;
}

/* Megabits a second; 0: not known. */
static uint64_t speed_of(const char *ifname)
{
	char path[64 + IFNAMSIZ], text[32] = "";
	long speed;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", ifname);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	speed = strtol(text, NULL, 10);
	return speed > 0 ? (uint64_t)speed : 0;
}

/* The largest of InfiniBand's MTUs that every transaction has room for, however its packets go. */
static uint8_t payload_mtu(uint32_t mtu)
{
	uint32_t room, around = frame_around(FALCON_PSP_AES_GCM_256, true, INNER_IP);
	uint8_t best = IBV_MTU_256;

	if (mtu > XSK_MAX_FRAME - ETH_HLEN)
		mtu = XSK_MAX_FRAME - ETH_HLEN;
	room = frame_max_payload(mtu, true, around);
	while (best < IBV_MTU_4096 && room >= (512U << (best - IBV_MTU_256)) + FALCON_RDMA_MAX_HDR)
		best++;
	return best;
}

static void add_gid(struct fverbs_device *d, const struct ifaddrs *i)
{
	struct fverbs_gid *gid = &d->gids[d->ngids];

	if (d->ngids == FVERBS_GIDS_MAX)
		return;
	*gid = (struct fverbs_gid){ .ifindex = d->ifindex };
	if (i->ifa_addr->sa_family == AF_INET6) {
		memcpy(gid->raw, &((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr, 16);
	} else {
		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, &((const struct sockaddr_in *)i->ifa_addr)->sin_addr, 4);
	}
	d->ngids++;
}

static bool link_local(const struct ifaddrs *i)
{
	return i->ifa_addr->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr);
}

/* Addresses of |family| of |d|'s interface, or with it |local|, those of the link alone. */
static void add_gids(struct fverbs_device *d, const struct ifaddrs *all, int family, bool local)
{
	for (const struct ifaddrs *i = all; i; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == family && link_local(i) == local &&
		    strcmp(i->ifa_name, d->netdev) == 0)
			add_gid(d, i);
}

static void fill_link(struct fverbs_device *d, const struct ifaddrs *all)
{
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_PACKET || strcmp(i->ifa_name, d->netdev))
			continue;
		memcpy(d->mac, ((const struct sockaddr_ll *)i->ifa_addr)->sll_addr, 6);
		if (i->ifa_flags & IFF_RUNNING)
			d->port_state = IBV_PORT_ACTIVE;
	}
}

static void fill(const struct port *p, unsigned int index, const struct ifaddrs *all,
		 struct fverbs_device *d)
{
	*d = (struct fverbs_device){ .ifindex = p->ifindex, .port_state = IBV_PORT_DOWN };
	snprintf(d->name, sizeof(d->name), "falcon%u", index);
	snprintf(d->netdev, sizeof(d->netdev), "%s", p->ifname);
	d->active_mtu = payload_mtu(mtu_of(p->ifname));
	d->max_msg = 128U << d->active_mtu;
	d->speed_mbps = speed_of(p->ifname);
	fill_link(d, all);
	/* In the order in which they are numbered: what most applications use first. */
	add_gids(d, all, AF_INET, false);
	add_gids(d, all, AF_INET6, false);
	add_gids(d, all, AF_INET6, true);
}

unsigned int agent_rdma_look(const struct agent *a, struct fverbs_device *out)
{
	struct ifaddrs *all = NULL;
	unsigned int n = 0;

	if (getifaddrs(&all) < 0)
		all = NULL;
	for (; n < a->plane.nports && n < FVERBS_DEVICES_MAX; n++)
		fill(&a->plane.ports[n], n, all, &out[n]);
	freeifaddrs(all);
	return n;
}

int agent_rdma_source(void *arg, const struct fverbs_cm_addr *dst, struct fverbs_cm_addr *src)
{
	struct falcon_addr to, from;
	int rc;

	(void)arg;
	memcpy(to.b, dst->addr, sizeof(to.b));
	rc = netdev_source(dst->family, &to, dst->scope, &from);
	if (rc < 0)
		return rc;
	src->scope = dst->scope;
	memcpy(src->addr, from.b, sizeof(src->addr));
	return 0;
}
