/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP sockets and addresses, as channels need them. */
#ifndef FALCON_CM_NET_H
#define FALCON_CM_NET_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/addr.h"

union net_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

enum net_const {
	NET_MAX_SEGMENT = 1280 - 40 - 20,	/* bytes that fit the least MTU of IPv6 */
};

socklen_t net_addr_fill(union net_addr *a, int family, const struct falcon_addr *addr, uint16_t port);
void net_addr_get(const union net_addr *a, struct falcon_addr *out);
const char *net_addr_text(int family, const struct falcon_addr *addr, char text[INET6_ADDRSTRLEN]);
int net_set_option(int fd, int level, int name, int value);
/* A TCP socket whose segments, both ways, fit every path; -1 with errno set. */
int net_socket(int family);
/* Messages go out at once, and a peer that is gone is noticed within CM_ALIVE_MS. */
void net_tune(int fd);
/* Listen on |port| of |addr|, which the host may get later. Returns a socket or a negative errno. */
int net_listen(int family, const struct falcon_addr *addr, uint16_t port);

#endif /* FALCON_CM_NET_H */
