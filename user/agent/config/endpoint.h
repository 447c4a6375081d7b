/* SPDX-License-Identifier: BSD-2-Clause */
/* ADDRESS:PORT as text: 192.0.2.1:9464, or [2001:db8::1]:9464. */
#ifndef FALCON_AGENT_CONFIG_ENDPOINT_H
#define FALCON_AGENT_CONFIG_ENDPOINT_H

#include <stdbool.h>
#include <sys/socket.h>

/* |text| as an address for bind() and |*len| its bytes. False: it is none. */
bool endpoint_parse(const char *text, struct sockaddr_storage *out, socklen_t *len);

#endif /* FALCON_AGENT_CONFIG_ENDPOINT_H */
