/* SPDX-License-Identifier: BSD-2-Clause */
/* What sysfs and ethtool say of an interface. */
#ifndef FALCON_IO_NETDEV_H
#define FALCON_IO_NETDEV_H

#include <stdbool.h>

/* Receive queues of interface |ifname|; 0 if sysfs does not say. */
unsigned int netdev_rx_queues(const char *ifname);

/* Its driver is |driver|, as ethtool(8) has it; false, too, if that cannot be found out. */
bool netdev_driver_is(const char *ifname, const char *driver);

#endif /* FALCON_IO_NETDEV_H */
