// SPDX-License-Identifier: BSD-2-Clause
/* TCP sockets and addresses, as channels need them. */
#include "cm/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "cm/cm.h"

enum { BACKLOG = 64 };

socklen_t net_addr_fill(union net_addr *a, int family, const struct falcon_addr *addr, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	a->sa.sa_family = (sa_family_t)family;
	if (family == AF_INET6) {
		memcpy(&a->in6.sin6_addr, addr->b, 16);
		a->in6.sin6_port = htons(port);
		return sizeof(a->in6);
	}
	memcpy(&a->in.sin_addr, addr->b, 4);
	a->in.sin_port = htons(port);
	return sizeof(a->in);
}

void net_addr_get(const union net_addr *a, struct falcon_addr *out)
{
	*out = (struct falcon_addr){ 0 };
	if (a->sa.sa_family == AF_INET6)
		memcpy(out->b, &a->in6.sin6_addr, 16);
	else
		memcpy(out->b, &a->in.sin_addr, 4);
}

const char *net_addr_text(int family, const struct falcon_addr *addr, char text[INET6_ADDRSTRLEN])
{
	return inet_ntop(family, addr->b, text, INET6_ADDRSTRLEN) ? text : "?";
}

int net_set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

int net_socket(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd < 0)
		return fd;
	if (family == AF_INET6)
		net_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	/* As with packets, no ICMP is needed to get through a path that carries less than the link. */
	net_set_option(fd, IPPROTO_TCP, TCP_MAXSEG, NET_MAX_SEGMENT);
	return fd;
}

void net_tune(int fd)
{
	net_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	net_set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	net_set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	net_set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	net_set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, CM_ALIVE_MS / 1000 - 1);
	net_set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, CM_ALIVE_MS);
}

int net_listen(int family, const struct falcon_addr *addr, uint16_t port)
{
	union net_addr a;
	socklen_t len = net_addr_fill(&a, family, addr, port);
	int fd = net_socket(family), ret;

	if (fd < 0)
		return -errno;
	net_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	/* The address may come later than the agent. */
	if (family == AF_INET6)
		net_set_option(fd, IPPROTO_IPV6, IPV6_FREEBIND, 1);
	else
		net_set_option(fd, IPPROTO_IP, IP_FREEBIND, 1);
	if (bind(fd, &a.sa, len) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}
