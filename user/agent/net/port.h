/* SPDX-License-Identifier: BSD-2-Clause */
/* The interfaces that the agent serves, with their AF_XDP sockets. */
#ifndef FALCON_AGENT_NET_PORT_H
#define FALCON_AGENT_NET_PORT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct fcore_occupancy;
struct maps;
struct port_config;
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

/*
 * Open |p|, whose number is |index|, as |cfg| has it, its queues shared out to |nthreads| threads. 0, or a
 * negative errno, reason logged. The caller starts |waiting|.
 */
int port_open(struct port *p, uint32_t index, const struct port_config *cfg, const struct maps *maps,
	      unsigned int nthreads);
void port_close(struct port *p, const struct maps *maps);
/* The one of |ports|, |nports| of them, that the kernel knows by |ifindex|; NULL: there is none. */
struct port *port_by_ifindex(struct port *ports, unsigned int nports, uint32_t ifindex);

#endif /* FALCON_AGENT_NET_PORT_H */
