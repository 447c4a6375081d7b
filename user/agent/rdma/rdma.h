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

/* rdma.c: make the layer, and have the agent call it. 0 or -ENOMEM. The ports are open. */
int agent_rdma_open(struct shard *s);
/* Applications that are attached are detached. NULL as s->rdma is allowed. */
void agent_rdma_close(struct shard *s);
/* Links or addresses have changed. */
void agent_rdma_refresh(struct shard *s);

/*
 * stall.c: of calls that applications' memory has held up, control's part: who takes too long is detached,
 * and what was kept for a call that is over is freed.
 */
void agent_rdma_reap(struct shard *s);

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
