/* SPDX-License-Identifier: BSD-2-Clause */
/* What sysfs says of an interface. */
#ifndef FALCON_IO_NETDEV_H
#define FALCON_IO_NETDEV_H

/* Receive queues of interface |ifname|; 0 if sysfs does not say. */
unsigned int netdev_rx_queues(const char *ifname);

#endif /* FALCON_IO_NETDEV_H */
