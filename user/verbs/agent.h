/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process has with its agent: the command socket, the doorbell and the memory they share
 * (falcon/abi/verbs.h, falcon/abi/verbs_shm.h). Each open device has one of its own.
 */
#ifndef FALCON_VERBS_AGENT_H
#define FALCON_VERBS_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "falcon/abi/verbs.h"
#include "falcon/abi/verbs_shm.h"

enum fv_state {
	FV_LIVE,
	FV_DEAD,		/* the agent has gone, or answers nonsense */
	FV_FORKED,		/* this process is a child of the one that attached */
};

/* A piece of shared memory in use: a queue, or memory that the application asked for. */
struct fv_room {
	struct fv_room *next;	/* of the same area, by offset */
	uint64_t offset;	/* bytes into the area */
	uint64_t size;		/* bytes, whole pages */
};

/* Memory that the agent knows: a memfd, or offload memory. */
struct fv_area {
	struct fv_area *next;
	bool offload;		/* XDP reaches it, too: no queues lie there */
	uint32_t number;	/* the agent's */
	int fd;			/* of all of it */
	uint8_t *base;
	uint64_t size;		/* bytes */
	struct fv_room *rooms;
};

struct fv_agent {
	uint32_t state;			/* enum fv_state; falcon_load() */
	int cmd;			/* SOCK_SEQPACKET: commands and answers */
	int doorbell;			/* eventfd */
	int async;			/* SOCK_STREAM: struct fverbs_async_event */
	int async_local;		/* the agent is gone: our own end of |async|; -1 before */
	pthread_mutex_t lock;		/* of commands: one is under way at a time */
	uint32_t tag;
	pthread_mutex_t area_lock;
	struct fv_area *areas;		/* area 0 last */
	struct fverbs_ctx_shm *shm;	/* at the start of area 0 */
	uint32_t devices;
	bool settled;			/* |lost| has returned; falcon_load() */
	void (*lost)(struct fv_agent *agent);	/* the state is FV_DEAD now; once; may be NULL */
	struct fv_agent *next;		/* all of the process */
};

/*
 * Attach to the agent at FALCON_SOCKET, or at the usual place. 0 or an errno value, with a sentence
 * in fv_error(). |lost| may be NULL.
 */
int fv_agent_open(struct fv_agent *agent, void (*lost)(struct fv_agent *agent));
void fv_agent_close(struct fv_agent *agent);

/*
 * Do command |op| with |len| bytes of |req| and descriptor |fd| (-1: none; it stays the caller's).
 * 0, with |answer_len| bytes in |answer|; EIO if the agent is gone; or the errno value that it gave.
 * Sets errno likewise, and fv_error().
 */
int fv_call(struct fv_agent *agent, enum fverbs_op op, const void *req, size_t len, int fd,
	    void *answer, size_t answer_len);
/* The same, with the answer's descriptor, the caller's to close, in *|answer_fd|; -1: it has none. */
int fv_call_fd(struct fv_agent *agent, enum fverbs_op op, const void *req, size_t len, void *answer,
	       size_t answer_len, int *answer_fd);
/* The same for what names one object and has no answer. */
int fv_call_handle(struct fv_agent *agent, enum fverbs_op op, uint32_t handle);
/* To destroy an object: 0 also if the agent is gone, and the object with it. */
int fv_call_destroy(struct fv_agent *agent, enum fverbs_op op, uint32_t handle);

/* What went wrong last in this thread. */
const char *fv_error(void);
__attribute__((format(printf, 2, 3)))
int fv_fail(int err, const char *fmt, ...);	/* sets fv_error() and errno, returns |err| */

/* Whether |agent| can be talked to. EIO and errno if not. */
int fv_agent_usable(struct fv_agent *agent);
static inline bool fv_live(const struct fv_agent *agent)
{
	return __builtin_expect(falcon_load(&agent->state) == FV_LIVE, 1);
}
/* Whether the parent process attached: |agent|'s shared memory is none, and reads as zero. */
static inline bool fv_forked(const struct fv_agent *agent)
{
	return falcon_load(&agent->state) == FV_FORKED;
}
/* Nothing has happened for long: see whether it is still there. */
void fv_agent_check(struct fv_agent *agent);
/* Call |fn| with all of the process, until it returns true. Returns whether it did. */
bool fv_agent_any(bool (*fn)(struct fv_agent *agent, void *arg), void *arg);
/* It is gone. */
void fv_agent_dead(struct fv_agent *agent);

/* There is new work in |slot|; the queue's tail has been stored. */
void fv_ring(struct fv_agent *agent, uint32_t slot);

/* ---- area.c ---- */

/* Area 0, for fv_agent_open(). 0 or an errno value; its memfd in *|memfd|. */
int fv_areas_init(struct fv_agent *agent, int *memfd);
void fv_areas_free(struct fv_agent *agent);
/* In a child of fork(): nothing of |agent|'s memory is shared any more, all of it is zero. */
void fv_areas_unshare(struct fv_agent *agent);
/*
 * |size| bytes of zeroed shared memory, aligned to pages; where they are for the agent is in *|area|
 * and *|offset|. NULL with errno.
 */
void *fv_area_alloc(struct fv_agent *agent, uint64_t size, uint32_t *area, __u64 *offset);
void fv_area_free(struct fv_agent *agent, void *mem);
/* |size| bytes of zeroed offload memory, likewise. NULL with errno: EOPNOTSUPP: the agent has none. */
void *fv_offload_alloc(struct fv_agent *agent, uint64_t size);
/* A piece of an area, as who maps it once more needs to know it. */
struct fv_place {
	uint32_t area;			/* number of the area */
	int fd;				/* of it, the area's */
	__u64 offset;			/* bytes into it */
	uint8_t *mem;			/* where that is mapped: zeroed, whole pages */
};
/* |size| bytes of offload or of shared memory. False with errno. */
bool fv_place_alloc(struct fv_agent *agent, bool offload, uint64_t size, struct fv_place *place);
/* Whether [addr, addr + len) is shared memory, and where. */
bool fv_area_find(struct fv_agent *agent, const void *addr, uint64_t len, uint32_t *area,
		  __u64 *offset);
/* Whether an area of any agent's is mapped from |start| on. */
bool fv_area_at(uintptr_t start);

#endif /* FALCON_VERBS_AGENT_H */
