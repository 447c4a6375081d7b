/* SPDX-License-Identifier: BSD-2-Clause */
/* Verbs applications at the agent: attaching, their commands, and the devices they see. */
#ifndef FALCON_AGENT_RDMA_H
#define FALCON_AGENT_RDMA_H

#include <jansson.h>
#include <stdbool.h>

struct agent;
struct control_client;
struct fverbs_cm_addr;
struct fverbs_device;
struct shard;
struct stall_call;
struct xsk_frame;

/* rdma.c: make the layer, and have the agent call it. 0 or -ENOMEM. The ports are open. */
int agent_rdma_open(struct shard *s);
/* Applications that are attached are detached. NULL as s->rdma is allowed. */
void agent_rdma_close(struct shard *s);
/* Links or addresses have changed. */
void agent_rdma_refresh(struct shard *s);

/* Whether the agent has to wait for a CPU (agent/shard/cpu_pressure.h), when that has changed. */
void agent_rdma_set_cpu_pressure(struct shard *s, bool pressure);
/*
 * stall.c: the loop's thread is held up in |call|, for an application's memory; another goes on.
 * agent_rdma_late() looks, now and then, what has become of such calls; both by the shard. Control's part is
 * agent_rdma_reap(): who takes too long is detached, and what was kept for a call that is over is freed.
 */
void agent_rdma_stalled(struct shard *s, struct stall_call *call);
void agent_rdma_late(struct shard *s);
void agent_rdma_reap(struct shard *s);
/* |frame|, of the core's, is in use by such a call: it is given back later. */
bool agent_rdma_keeps(struct shard *s, struct xsk_frame *frame);

/* An epoll descriptor, readable when agent_rdma_process() has something to do. */
int agent_rdma_fd(const struct shard *s);
/* app.c: serve commands, and see who has gone. */
void agent_rdma_process(struct shard *s);
/* app.c: {"op":"verbs-attach"} with its four descriptors (falcon/abi/verbs.h). */
int agent_rdma_attach(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply);

/* device.c: the ports as devices, as they are now. Returns how many, at most FVERBS_DEVICES_MAX. */
unsigned int agent_rdma_look(const struct agent *a, struct fverbs_device *out);
/* device.c: struct rdma_host.source. */
int agent_rdma_source(void *arg, const struct fverbs_cm_addr *dst, struct fverbs_cm_addr *src);

#endif /* FALCON_AGENT_RDMA_H */
