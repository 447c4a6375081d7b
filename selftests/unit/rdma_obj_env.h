/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An RDMA layer without an agent: applications whose memory, sockets and descriptors are arrays here,
 * and queue pairs and links that only take note of what they are told.
 */
#ifndef FALCON_SELFTESTS_RDMA_OBJ_ENV_H
#define FALCON_SELFTESTS_RDMA_OBJ_ENV_H

#include "unit.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/abi/maps.h>
#include <ulp/rdma/link.h>
#include <ulp/rdma/objects.h>

enum env_const {
	ENV_PROCS = 2,
	ENV_PROC_BASE = 0x10000,	/* where a process's memory begins */
	ENV_PROC_SIZE = 0x10000,
	ENV_AREA_SIZE = 1 << 20,
	ENV_FDS = 2048,
	ENV_SENT_MAX = 512,		/* bytes that a socket holds */
	ENV_QPS = 64,
	ENV_HOLES = 4,
	ENV_MEMORY = 5,			/* index of the first offload memory */
};

/* A descriptor: a socket, a memfd or a file. */
struct env_fd {
	enum { ENV_CLOSED, ENV_SOCKET, ENV_MEMFD, ENV_FILE } kind;
	uint8_t sent[ENV_SENT_MAX];
	size_t nsent, room;		/* bytes */
	uint64_t inode;
};

struct env_proc {
	uint8_t memory[ENV_PROC_SIZE];
	bool gone;
	struct { uint64_t from, to; } holes[ENV_HOLES];	/* addresses that are not there */
	bool memory_refused;
};

/* A context and what the application's side has of it. */
struct env_app {
	struct rdma_ctx *ctx;
	struct env_proc *proc;
	uint8_t *area;			/* area 0 */
	int async;
	union {
		struct fverbs_reply reply;
		uint8_t bytes[FVERBS_MSG_MAX];
		uint64_t aligned;
	} answer;
	const char *error;		/* of the latest command: its sentence, or "" */
	uint32_t next_offset;		/* bytes of area 0 in use */
};

struct rdma_qp {
	struct rdma_qp_init init;
	struct rdma_mr *windows;
	uint32_t num;
	unsigned int rung, fatal;
	int event;			/* of the latest rdma_qp_fatal() */
	uint8_t state;
};

struct env {
	struct rdma *r;
	struct env_proc procs[ENV_PROCS];
	struct env_fd fds[ENV_FDS];
	struct rdma_qp *qps[ENV_QPS];	/* by number */
	unsigned int reads, writes;	/* calls of the host */
	uint64_t rest[ENV_PROCS];	/* ns, until when it wants no more of them */
	unsigned int tires_after;	/* with so many it wants none for |rest_for|; 0: it goes on */
	uint64_t rest_for;		/* ns */
	jmp_buf *late;			/* where a call is left that does not return; NULL: they do */
	unsigned int wakes;		/* of those who sleep on a futex */
	unsigned int pieces;		/* of remote memory, in all of them */
	unsigned int maps, links, srqs_gone;
	unsigned int memories, memories_freed;	/* of offload memory, made and freed */
	bool memory_refused, regions_refused;
	unsigned int regions;		/* that XDP knows */
	uint32_t region_key;		/* of the latest; 0: it does not any more */
	struct falcon_region region;
	unsigned int waits;		/* for XDP to end what it was at */
	uint64_t charged[RDMA_CHARGES];
	uint64_t limit[RDMA_CHARGES];
	unsigned int ndevices;
	struct fverbs_device devices[FVERBS_DEVICES_MAX];
};

extern struct env env;

/* Begin and end; the end checks that nothing has been left over. */
void env_open(void);
void env_close(void);
/* An application of process |proc|, which has said hello. */
void env_attach(struct env_app *app, unsigned int proc);
void env_detach(struct env_app *app);

/* For cmocka: the stage with one application; with ctx NULL it is gone already. */
extern struct env_app app;
int env_set_up(void **state);
int env_tear_down(void **state);

int env_fd(int kind, size_t room);
/* Close a descriptor that came with an answer; -1: none did. */
void env_close_answer(int fd);
/* Take 8 or 16 bytes off what socket |fd| was sent. False: nothing there. */
bool env_take(int fd, void *out, size_t len);

/* A command; returns the error, 0 or positive. The answer is at env_answer(). */
int env_call(struct env_app *app, uint16_t op, const void *req, size_t len, int fd);
const void *env_answer(const struct env_app *app);
/* A command of one handle that answers with one; must succeed. */
uint32_t env_handle(struct env_app *app, uint16_t op, uint32_t arg);
int env_drop(struct env_app *app, uint16_t op, uint32_t handle);

struct fverbs_place env_place(struct env_app *app, uint32_t entries, uint32_t stride);
uint32_t env_pd(struct env_app *app);
/* A region of the process's memory; its key. */
struct fverbs_mr env_reg(struct env_app *app, uint32_t pd, uint64_t addr, uint64_t len,
			 uint32_t access);
uint32_t env_cq(struct env_app *app, uint32_t entries, uint32_t channel_plus_1,
		struct fverbs_place *place);
/* A queue pair of type RC over |pd| and |cq|, in slot |slot|; its handle. */
uint32_t env_qp(struct env_app *app, uint32_t pd, uint32_t cq, uint32_t slot);
struct rdma_qp *env_qp_of(struct env_app *app, uint32_t handle);
void *env_at(const struct env_app *app, const struct fverbs_place *place);

#endif /* FALCON_SELFTESTS_RDMA_OBJ_ENV_H */
