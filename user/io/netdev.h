/* SPDX-License-Identifier: BSD-2-Clause */
/* What sysfs and ethtool say of an interface, and the kernel of routes. */
#ifndef FALCON_IO_NETDEV_H
#define FALCON_IO_NETDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

/* Receive queues of interface |ifname|; 0 if sysfs does not say. */
unsigned int netdev_rx_queues(const char *ifname);

/*
 * The section of the XDP object that is for it, by its MTU: "xdp", or "xdp.frags" where frames may be longer
 * than a buffer.
 */
const char *netdev_xdp_section(const char *ifname);

/* Its driver is |driver|, as ethtool(8) has it; false, too, if that cannot be found out. */
bool netdev_driver_is(const char *ifname, const char *driver);

/*
 * The address of this host from which packets to |dst| leave, into |src|; |scope| is the index of the
 * interface of an AF_INET6 one, or 0. 0, or a negative errno: -ENETUNREACH.
 */
int netdev_source(int family, const struct falcon_addr *dst, uint32_t scope, struct falcon_addr *src);

#endif /* FALCON_IO_NETDEV_H */
