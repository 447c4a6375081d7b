/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections to an address of this host. Both ends are this agent's: two connections, of one shard's core
 * or of two, whose packets go through a queue in memory, in the clear, as they do not leave the host. XDP
 * takes no part: to it neither of the two is alive.
 */
#ifndef FALCON_AGENT_CONN_LOOPBACK_H
#define FALCON_AGENT_CONN_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct agent_conn;

/* Whether |c|, which is to dial, leads to this host. */
bool loopback_wanted(const struct agent_conn *c);
/* Have the other end made soon. 0, or -ENOMEM with a sentence in |err|. */
int loopback_start(struct agent_conn *c, char *err, size_t errlen);
/* |c| is down for |why|: so will be its other end. What was dialled is dialled again in a while. */
void loopback_part(struct agent_conn *c, const char *why);
/* Make the other ends that are due; and when that is needed, ns; UINT64_MAX: never. */
void loopback_dial(struct agent *a);
uint64_t loopback_deadline(const struct agent *a);
/* All connections have gone. */
void loopback_close(struct agent *a);

#endif /* FALCON_AGENT_CONN_LOOPBACK_H */
