/* SPDX-License-Identifier: BSD-2-Clause */
/* The interfaces that the agent serves, with their AF_XDP sockets. */
#ifndef FALCON_AGENT_NET_PORT_H
#define FALCON_AGENT_NET_PORT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct agent;
struct fcore_occupancy;
struct xsk;

/* An interface the agent serves. */
struct port {
	char ifname[IF_NAMESIZE];
	uint32_t ifindex;
	uint32_t index;			/* in falcon_ports; sockets are index * FALCON_MAX_QUEUES + q */
	uint32_t nqueues;
	struct xsk *xsks;		/* nqueues of them */
	struct fcore_occupancy *waiting;	/* of their receive rings (Falcon 10.2) */
	bool native;			/* XDP attached in the driver, not in generic mode */
	bool tight;			/* XDP has no room behind received frames */
	bool trusted_csum;		/* rx_csum = trusted: connections skip the UDP checksum */
};

/* Open every configured port. 0, or a negative errno, reason logged. */
int agent_ports_open(struct agent *a);
void agent_ports_close(struct agent *a);
/* NULL: there is none. */
struct port *agent_port_by_ifindex(struct agent *a, uint32_t ifindex);

#endif /* FALCON_AGENT_NET_PORT_H */
