// SPDX-License-Identifier: BSD-2-Clause
/* Sockets and addresses, as sessions and listeners need them. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cm/priv.h"

socklen_t cm_addr_fill(union cm_addr *a, int family, const uint8_t *bytes, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	a->sa.sa_family = (sa_family_t)family;
	if (family == AF_INET6) {
		memcpy(&a->in6.sin6_addr, bytes, 16);
		a->in6.sin6_port = htons(port);
		return sizeof(a->in6);
	}
	memcpy(&a->in.sin_addr, bytes, 4);
	a->in.sin_port = htons(port);
	return sizeof(a->in);
}

void cm_addr_bytes(const union cm_addr *a, uint8_t *bytes)
{
	memset(bytes, 0, 16);
	if (a->sa.sa_family == AF_INET6)
		memcpy(bytes, &a->in6.sin6_addr, 16);
	else
		memcpy(bytes, &a->in.sin_addr, 4);
}

const char *cm_addr_text(int family, const uint8_t *bytes, char text[INET6_ADDRSTRLEN])
{
	return inet_ntop(family, bytes, text, INET6_ADDRSTRLEN) ? text : "?";
}

int cm_set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

int cm_watch_fd(struct cm *cm, int op, int fd, uint32_t events, void *what)
{
	struct epoll_event ev = {.events = events, .data.ptr = what};

	return epoll_ctl(cm->epoll_fd, op, fd, &ev);
}

uint64_t cm_after_ms(const struct cm *cm, uint64_t ms)
{
	return cm->now + ms * 1000000;
}

int cm_socket(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd >= 0 && family == AF_INET6)
		cm_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	return fd;
}

void cm_tune(int fd)
{
	cm_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	cm_set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	cm_set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	cm_set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	cm_set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, CM_ALIVE_MS / 1000 - 1);
	cm_set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, CM_ALIVE_MS);
}
