/* SPDX-License-Identifier: BSD-2-Clause */
/* Verbs applications at the agent: attaching, their commands, and the devices they see. */
#ifndef FALCON_AGENT_RDMA_H
#define FALCON_AGENT_RDMA_H

#include "agent/agent.h"
#include "agent/log.h"
#include "agent/rdma_proc.h"
#include "ulp/rdma/rdma.h"

struct agent_rdma;

/* rdma.c: make the layer, and have the agent call it. 0 or -ENOMEM. The ports are open. */
int agent_rdma_open(struct agent *a);
/* Applications that are attached are detached. NULL as a->rdma is allowed. */
void agent_rdma_close(struct agent *a);
/* Links or addresses have changed. */
void agent_rdma_refresh(struct agent *a);

/* The time is a->now: whatever comes from outside of the loop's turns is about to be served. */
void agent_rdma_set_time(struct agent *a);
/* An epoll descriptor, readable when agent_rdma_process() has something to do. */
int agent_rdma_fd(const struct agent *a);
/* rdma_app.c: serve commands, and see who has gone. */
void agent_rdma_process(struct agent *a);
/* rdma_app.c: {"op":"verbs-attach"} with its four descriptors (falcon/verbs_abi.h). */
int agent_rdma_attach(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply);

/* rdma_device.c: struct rdma_host.devices. */
unsigned int agent_rdma_devices(void *arg, struct fverbs_device *out);

/* ---- for rdma*.c ------------------------------------------------------------------------- */

/* An attached application. */
struct rdma_app {
	struct agent_rdma *rdma;
	struct rdma_app *next, **pprev;
	struct rdma_ctx *ctx;
	struct rdma_proc *proc;
	int command, doorbell, async;
	pid_t pid;
	uid_t uid;
	uint64_t memory;		/* bytes of area 0 */
	uint64_t commands;		/* that were answered */
	int unsent;			/* bytes of |answer| that the socket had no room for; 0: none */
	uint64_t answer[FVERBS_MSG_MAX / 8];
};

/* rdma_app.c */
void agent_rdma_detach(struct rdma_app *app);

struct agent_rdma {
	struct agent *agent;
	struct rdma *layer;
	struct rdma_app *apps;
	unsigned int napps;
	int epoll_fd;
	struct log_limit limit;
};

#endif /* FALCON_AGENT_RDMA_H */
