// SPDX-License-Identifier: BSD-2-Clause
/* Interfaces: which of their queues get sockets, and how XDP finds them. */
#include "agent/net/port.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "base/log.h"
#include "falcon/abi/maps.h"
#include "io/maps.h"
#include "io/netdev.h"
#include "io/xsk.h"

/* Receive queues of |ifname| that can have an AF_XDP socket: 1 if the kernel does not say. */
static uint32_t count_queues(const char *ifname)
{
	uint32_t n = netdev_rx_queues(ifname);

	if (n == 0)
		return 1;
	return n > FALCON_MAX_QUEUES ? FALCON_MAX_QUEUES : n;
}

/* Is an XDP program attached, and in the driver? What it does shows in the maps it pinned. */
static int check_program(struct port *p)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, q);
	int rc = bpf_xdp_query((int)p->ifindex, 0, &q);

	if (rc < 0) {
		log_err("cannot ask what XDP program is attached: %s dev=%s", strerror(-rc), p->ifname);
		return rc;
	}
	if (q.attach_mode == XDP_ATTACHED_NONE) {
		log_err("no XDP program attached dev=%s; run: ip link set dev %s xdp obj "
			"falcon.bpf.o sec %s",
			p->ifname, p->ifname, netdev_xdp_section(p->ifname));
		return -ENOENT;
	}
	p->native = q.attach_mode != XDP_ATTACHED_SKB;
	/* Both have frames as they were sent; drivers of hardware receive into buffers of one size. */
	p->tight = !p->native || netdev_driver_is(p->ifname, "veth");
	return 0;
}

/* The interface's MAC address; zeros if it has none, as loopback. */
static int read_mac(const struct port *p, __u8 mac[ETH_ALEN])
{
	struct ifreq ifr = {};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0)
		return -errno;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", p->ifname);
	if (ioctl(fd, SIOCGIFHWADDR, &ifr) < 0)
		rc = -errno;
	close(fd);
	memcpy(mac, ifr.ifr_hwaddr.sa_data, ETH_ALEN);
	return rc;
}

static int publish(const struct port *p, const struct maps *maps)
{
	struct falcon_port value = { .index = p->index, .max_frame = XSK_MAX_FRAME };
	int rc = read_mac(p, value.mac);

	if (rc < 0) {
		log_err("cannot read the MAC address of dev=%s: %s", p->ifname, strerror(-rc));
		return rc;
	}
	if (bpf_map_update_elem(maps->ports_fd, &p->ifindex, &value, BPF_ANY) < 0) {
		log_err("cannot enter dev=%s into falcon_ports: %s", p->ifname, strerror(errno));
		return -errno;
	}
	return 0;
}

static enum xsk_mode socket_mode(enum config_xsk_mode mode)
{
	switch (mode) {
	case CONFIG_XSK_COPY: return XSK_MODE_COPY;
	case CONFIG_XSK_ZEROCOPY: return XSK_MODE_ZEROCOPY;
	default: return XSK_MODE_AUTO;
	}
}

static int open_queues(struct port *p, enum xsk_mode mode, const struct maps *maps, unsigned int nthreads)
{
	uint32_t n = p->nqueues;
	char err[256];

	p->xsks = calloc(n, sizeof(*p->xsks));
	p->waiting = calloc(n, sizeof(*p->waiting));
	if (!p->xsks || !p->waiting)
		n = 0;
	for (p->nqueues = 0; p->nqueues < n; p->nqueues++) {
		uint32_t q = p->nqueues, index = p->index * FALCON_MAX_QUEUES + q;
		int rc = xsk_open(&p->xsks[q], p->ifname, q, mode, maps->xsks_fd, index,
				  &maps->credits[index], err, sizeof(err));

		if (rc < 0) {
			log_err("%s", err);
			return rc;
		}
		p->xsks[q].thread = q % nthreads;
	}
	return n ? 0 : -ENOMEM;
}

/* What the interface is, and what it can. */
static int look_at(struct port *p, const struct port_config *cfg, unsigned int nthreads)
{
	int rc;

	p->ifindex = if_nametoindex(p->ifname);
	if (!p->ifindex) {
		log_err("no such interface dev=%s", p->ifname);
		return -ENODEV;
	}
	rc = check_program(p);
	if (rc < 0)
		return rc;
	p->nqueues = count_queues(p->ifname);
	if (cfg->queues && cfg->queues < p->nqueues)
		p->nqueues = cfg->queues;
	if (p->nqueues < nthreads) {
		log_err("threads = %u, but %s has only %u receive queues to serve: give it more (ethtool -L) "
			"or set fewer threads", nthreads, p->ifname, p->nqueues);
		return -EINVAL;
	}
	return 0;
}

int port_open(struct port *p, uint32_t index, const struct port_config *cfg, const struct maps *maps,
	      unsigned int nthreads)
{
	int rc;

	*p = (struct port){ .index = index, .trusted_csum = cfg->rx_csum == CONFIG_CSUM_TRUSTED };
	snprintf(p->ifname, sizeof(p->ifname), "%s", cfg->ifname);
	rc = look_at(p, cfg, nthreads);
	if (rc < 0)
		return rc;
	rc = open_queues(p, socket_mode(cfg->mode), maps, nthreads);
	if (rc == 0)
		rc = publish(p, maps);
	if (rc < 0) {
		port_close(p, maps);
		return rc;
	}
	log_info("port open dev=%s queues=%u xdp=%s af_xdp=%s", p->ifname, p->nqueues,
		 p->native ? "native" : "generic", p->xsks[0].zerocopy ? "zerocopy" : "copy");
	return 0;
}

void port_close(struct port *p, const struct maps *maps)
{
	bpf_map_delete_elem(maps->ports_fd, &p->ifindex);
	for (uint32_t q = 0; q < p->nqueues; q++) {
		bpf_map_delete_elem(maps->xsks_fd, &p->xsks[q].index);
		xsk_shut(&p->xsks[q]);
	}
	free(p->xsks);
	free(p->waiting);
}

struct port *port_by_ifindex(struct port *ports, unsigned int nports, uint32_t ifindex)
{
	for (unsigned int i = 0; i < nports; i++)
		if (ports[i].ifindex == ifindex)
			return &ports[i];
	return NULL;
}
