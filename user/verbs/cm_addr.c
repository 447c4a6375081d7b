// SPDX-License-Identifier: BSD-2-Clause
/* Addresses of connection management. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "verbs/cm.h"

bool fv_cm_addr_in(const void *sockaddr, struct fverbs_cm_addr *out)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	memset(out, 0, sizeof(*out));
	memcpy(&in, sockaddr, sizeof(in));
	out->family = in.sin_family;
	out->port = in.sin_port;
	if (in.sin_family == AF_INET) {
		memcpy(out->addr, &in.sin_addr, 4);
		return true;
	}
	if (in.sin_family != AF_INET6)
		return false;
	memcpy(&in6, sockaddr, sizeof(in6));
	memcpy(out->addr, &in6.sin6_addr, 16);
	out->scope = in6.sin6_scope_id;
	return true;
}

void fv_cm_addr_out(const struct fverbs_cm_addr *addr, void *sockaddr)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = addr->port,
				    .sin6_scope_id = addr->scope };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = addr->port };

	memset(sockaddr, 0, sizeof(in6));
	memcpy(&in.sin_addr, addr->addr, 4);
	memcpy(&in6.sin6_addr, addr->addr, 16);
	if (addr->family == AF_INET)
		memcpy(sockaddr, &in, sizeof(in));
	else if (addr->family == AF_INET6)
		memcpy(sockaddr, &in6, sizeof(in6));
}

void fv_cm_gid(const struct fverbs_cm_addr *addr, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (addr->family == AF_INET6) {
		memcpy(gid, addr->addr, 16);
	} else if (addr->family == AF_INET) {
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, addr->addr, 4);
	}
}

void fv_cm_addr_map(struct fverbs_cm_addr *addr)
{
	bool own = addr->family == AF_INET ? addr->addr[0] == 127
					   : !memcmp(addr->addr, &in6addr_loopback, 16);
	uint8_t ours[16];

	if (own && fv_cm_own_address(addr->family, ours))
		memcpy(addr->addr, ours, 16);
}
