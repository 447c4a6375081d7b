/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of connections to this host (conn/loopback.h), which go through a queue in memory. By the shard. */
#ifndef FALCON_AGENT_SHARD_LOOPBACK_H
#define FALCON_AGENT_SHARD_LOOPBACK_H

#include <stdbool.h>
#include <stdint.h>

struct agent_conn;
struct fcore_packet;
struct shard;
struct xsk_frame;

/* struct fcore_ops.transmit, at |iv|, ps. */
int loopback_transmit(struct agent_conn *c, const struct fcore_packet *p, uint64_t iv);
/* Deliver a burst of packets. Returns how many. */
uint32_t loopback_run(struct shard *s);
/* Packets are on their way, or frames for them have become free. */
bool loopback_waiting(const struct shard *s);
/* Deliver the packet in |f|, a frame of such a connection that another shard has handed over. */
void loopback_deliver(struct shard *s, struct xsk_frame *f);
/* |s| needs |f|, a frame of such a connection, no more. */
void loopback_release(struct shard *s, struct xsk_frame *f);

#endif /* FALCON_AGENT_SHARD_LOOPBACK_H */
