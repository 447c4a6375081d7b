// SPDX-License-Identifier: BSD-2-Clause
#include "agent/config/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool parse_port(const char *text, in_port_t *port)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*port = htons((uint16_t)n);
	return strspn(text, "0123456789") == strlen(text) && !*end && n > 0 && n <= UINT16_MAX;
}

static bool parse_v4(const char *host, const char *port, struct sockaddr_in *out)
{
	*out = (struct sockaddr_in){ .sin_family = AF_INET };
	return inet_pton(AF_INET, host, &out->sin_addr) == 1 && parse_port(port, &out->sin_port);
}

static bool parse_v6(const char *host, const char *port, struct sockaddr_in6 *out)
{
	*out = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	return inet_pton(AF_INET6, host, &out->sin6_addr) == 1 && parse_port(port, &out->sin6_port);
}

bool endpoint_parse(const char *text, struct sockaddr_storage *out, socklen_t *len)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	char host[INET6_ADDRSTRLEN + 2];

	if (n == 0 || n >= sizeof(host))
		return false;
	memcpy(host, text, n);
	host[n] = 0;
	if (host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = 0;
		*len = sizeof(struct sockaddr_in6);
		return parse_v6(host + 1, colon + 1, (struct sockaddr_in6 *)(void *)out);
	}
	*len = sizeof(struct sockaddr_in);
	return parse_v4(host, colon + 1, (struct sockaddr_in *)(void *)out);
}
