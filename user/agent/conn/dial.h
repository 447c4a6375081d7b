/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that upper layers ask for. */
#ifndef FALCON_AGENT_CONN_DIAL_H
#define FALCON_AGENT_CONN_DIAL_H

#include <stddef.h>
#include <stdint.h>

struct agent_conn;
struct shard;
struct ulp_data;
struct ulp_dial;

/* struct ulp_host.dial, but in a call only. The connection is the shard's. */
int agent_dial(struct shard *s, const struct ulp_dial *d, char *err, size_t errlen);
/* The same for |cid|, which is reserved; the upper layer hears what comes of it. In a call. */
void agent_dial_reserved(struct shard *s, uint32_t cid, const struct ulp_dial *d);

#endif /* FALCON_AGENT_CONN_DIAL_H */
