/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the RDMA layer's host share. */
#ifndef FALCON_AGENT_RDMA_PRIV_H
#define FALCON_AGENT_RDMA_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "agent/rdma/proc.h"
#include "agent/rdma/rdma.h"
#include "agent/rdma/rest.h"
#include "agent/shard/stall.h"
#include "base/log.h"
#include "falcon/abi/verbs.h"
#include "ulp/rdma/rdma.h"

struct xsk_frame;

/* Whoever has applications at a shard. */
struct rdma_user {
	LIST_ENTRY(rdma_user) entry;
	uid_t uid;
	unsigned int apps;		/* control's */
	struct rdma_rest rest;		/* the shard's */
};

/* An attached application. */
struct rdma_app {
	struct agent_rdma *rdma;
	struct rdma_user *user;
	struct rdma_app *next, **pprev;
	struct rdma_ctx *ctx;
	struct rdma_proc *proc;
	int command, doorbell, async;
	pid_t pid;
	uid_t uid;
	uint32_t number;		/* of those of |rdma|, in the order in which they came */
	uint64_t memory;		/* bytes of area 0 */
	uint64_t commands;		/* that were answered */
	struct stall_call call;		/* for its memory */
	struct rdma_run *late;		/* what such a call was for that is not over; NULL: none */
	uint64_t late_since;		/* ns */
	bool overdue;			/* that is too long ago */
	bool gone;			/* detached, and kept only until |late| is over */
	int answer_fd;			/* goes with |answer|; -1: none */
	int unsent;			/* bytes of |answer| that the socket had no room for; 0: none */
	uint64_t answer[FVERBS_MSG_MAX / 8];
};

/* app.c: everything of |app| goes, but for what a late call still needs. */
void agent_rdma_detach(struct rdma_app *app);
/* The rest of it, at last. */
void agent_rdma_free(struct rdma_app *app);
/* stall.c: of struct shard_memory_ops. */
void agent_rdma_stalled(struct shard *s, struct stall_call *call);
void agent_rdma_late(struct shard *s);
bool agent_rdma_keeps(struct shard *s, struct xsk_frame *frame);
/* stall.c: how many detached applications of |uid| still have a thread waiting for them. */
unsigned int agent_rdma_held(const struct agent_rdma *v, uid_t uid);

/* What control has made ready for the command that it is about to have carried out. */
struct rdma_prepared {
	enum rdma_area_wanted kind;	/* RDMA_AREA_NONE: nothing, or it was taken */
	void *base;			/* NULL: failed, |err| says why */
	uint64_t size;			/* bytes */
	int index, fd;			/* of offload memory; |index| negative: failed, as above */
	uid_t uid;
	char err[160];
};

/* What nobody uses any more, for control to give back to the kernel. */
struct rdma_let_go {
	STAILQ_ENTRY(rdma_let_go) entry;
	int fd;				/* to be closed, for |uid|; -1: memory */
	uid_t uid;
	bool offload;			/* the memory is piece |index| of offload memory */
	uint32_t index;
	void *base;
	uint64_t size;			/* bytes */
};

STAILQ_HEAD(rdma_let_gos, rdma_let_go);

/* area.c, control: make ready what command |msg| of |app| needs; and give up what it did not take. */
void agent_rdma_prepare(struct rdma_app *app, const void *msg, size_t len, int fd);
void agent_rdma_unprepare(struct rdma_app *app);
/* area.c, in a call: take it; the descriptor |fd| goes with it. As struct rdma_host.map, .memory_new. */
void *agent_rdma_take_map(struct agent_rdma *v, int fd, uint64_t *size, char *err, size_t errlen);
int agent_rdma_take_memory(struct agent_rdma *v, void **base, int *fd, char *err, size_t errlen);
/* area.c: the shard lets go of |what|; control gives a list of such back, which it took in a call. */
void agent_rdma_let_go(struct agent_rdma *v, const struct rdma_let_go *what);
void agent_rdma_give_back(struct agent_rdma *v, struct rdma_let_gos *list);

struct agent_rdma {
	struct agent *agent;
	struct shard *shard;
	struct rdma *layer;
	struct rdma_app *apps;		/* the latest first */
	unsigned int napps;
	uint32_t last_number;		/* that was given to an application */
	LIST_HEAD(, rdma_user) users;
	int epoll_fd;
	struct log_limit limit;		/* control's */
	struct log_limit stall_limit;	/* the shard's */
	struct rdma_app *gone;		/* detached while a call was late; |next| and |pprev| */
	unsigned int nlate;		/* applications whose call is late */
	uint64_t stalls;		/* calls that were */
	uint64_t rests;			/* of users who have gone: rest.h */
	struct kept_frame *kept;	/* stall.c's */
	struct rdma_prepared prepared;	/* control's, and the shard's in calls */
	struct rdma_let_gos let_go;	/* the shard's, and control's in calls */
	struct fverbs_device devices[FVERBS_DEVICES_MAX];	/* as control has found them last */
	unsigned int ndevices;
};

#endif /* FALCON_AGENT_RDMA_PRIV_H */
