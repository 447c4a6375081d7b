// SPDX-License-Identifier: BSD-2-Clause
#include "port.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { VLAN_TAG = 4, WHY_LEN = 200 };

static int interface_ioctl(const char *name, unsigned long request, struct ifreq *req)
{
	int fd, rc;

	if (strlen(name) >= sizeof(req->ifr_name))
		return -ENODEV;
	strcpy(req->ifr_name, name);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	rc = ioctl(fd, request, req) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

int port_frame_len(const char *name)
{
	struct ifreq req = { 0 };
	int rc = interface_ioctl(name, SIOCGIFMTU, &req);

	return rc ? rc : req.ifr_mtu + ETH_HLEN + VLAN_TAG;
}

unsigned int port_queues(const char *name)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq req = { .ifr_data = (void *)&channels };
	unsigned int n;

	if (interface_ioctl(name, SIOCETHTOOL, &req))
		return 1;
	n = channels.rx_count + channels.combined_count;
	return n ? n : 1;
}

const char *port_io_name(enum port_io io)
{
	switch (io) {
	case PORT_NATIVE: return "native";
	case PORT_GENERIC: return "generic";
	case PORT_PACKET: return "packet";
	default: return "auto";
	}
}

static int try_open(struct port *p, enum port_io io, struct port_umem *umem, char *why)
{
	int rc = io == PORT_PACKET ? port_packet_open(p, why, WHY_LEN) :
				     port_xdp_open(p, io, umem, why, WHY_LEN);

	if (rc == 0)
		p->io = io;
	return rc;
}

int port_open(struct port *p, const char *name, enum port_io io, struct port_umem *umem)
{
	enum port_io first = io == PORT_AUTO ? PORT_NATIVE : io;
	enum port_io last = io == PORT_AUTO ? PORT_PACKET : io;
	char why[WHY_LEN];
	int rc = -ENODEV;

	*p = (struct port){ .pool = umem->pool, .fd = -1, .link = -1 };
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->ifindex = (int)if_nametoindex(name);
	if (!p->ifindex) {
		fprintf(stderr, "falcon-wire: there is no interface \"%s\"\n", name);
		return rc;
	}
	for (enum port_io way = first; way <= last; way++) {
		rc = try_open(p, way, umem, why);
		if (rc == 0)
			return 0;
		fprintf(stderr, "falcon-wire: %s: no %s: %s%s\n", name,
			way == PORT_PACKET ? "packet socket" :
			way == PORT_NATIVE ? "AF_XDP in the driver" : "generic AF_XDP",
			why, way < last ? "; trying another way, which is slower" : "");
	}
	return rc;
}

void port_close(struct port *p)
{
	if (p->io == PORT_PACKET)
		port_packet_close(p);
	else if (p->io != PORT_AUTO)
		port_xdp_close(p);
	p->io = PORT_AUTO;
}

unsigned int port_pollfds(const struct port *p, struct pollfd *fds)
{
	if (p->io == PORT_PACKET) {
		fds[0] = (struct pollfd){ .fd = p->fd, .events = POLLIN };
		return 1;
	}
	for (unsigned int i = 0; i < p->queues; i++)
		fds[i] = (struct pollfd){ .fd = xsk_socket__fd(p->queue[i].socket),
					  .events = POLLIN };
	return p->queues;
}

unsigned int port_receive(struct port *p, unsigned int queue, uint32_t *frames)
{
	unsigned int n = p->io == PORT_PACKET ? port_packet_receive(p, frames) :
						port_xdp_receive(p, queue, frames);

	p->stats.received += n;
	return n;
}

void port_send(struct port *p, unsigned int queue, uint32_t frame)
{
	if (p->io == PORT_PACKET)
		port_packet_send(p, frame);
	else
		port_xdp_send(p, queue % p->queues, frame);
}

void port_flush(struct port *p)
{
	if (p->io == PORT_PACKET)
		port_packet_flush(p);
	else
		port_xdp_flush(p);
}

void port_count(struct port *p)
{
	if (p->io == PORT_PACKET)
		p->stats.overrun += port_packet_overrun(p);
	else
		p->stats.overrun = port_xdp_overrun(p) - p->overrun_base;
}

void port_reset_stats(struct port *p)
{
	port_count(p);
	if (p->io != PORT_PACKET)
		p->overrun_base += p->stats.overrun;
	memset(&p->stats, 0, sizeof(p->stats));
}
