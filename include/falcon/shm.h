/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that an application and its agent share: one memfd, made by the application, sealed
 * against shrinking, mapped by both, handed over with "attach" on the control socket together with
 * an eventfd that wakes the agent and an end of a Unix stream socket pair that wakes the
 * application (and tells it by EOF that the agent has gone). Three single-producer
 * single-consumer rings and the arena, at fixed offsets:
 *
 *   struct falcon_shm | submissions | completions | messages | arena ...
 *
 * Head and tail start at 0 and are free-running; an index is taken modulo the ring's size. The
 * agent believes nothing it reads here: it copies an entry once, then checks every field.
 */
#ifndef FALCON_SHM_H
#define FALCON_SHM_H

#include "types.h"

enum falcon_shm_const {
	FALCON_SHM_MAGIC = 0x46534831,
	FALCON_SHM_VERSION = 1,
	FALCON_SQ_ENTRIES = 1024,
	FALCON_CQ_ENTRIES = 2048,
	FALCON_RQ_ENTRIES = 256,
	FALCON_MSG_MAX = 4096 - 32,	/* room for a message's payload, bytes */
};

#define FALCON_ARENA_MAX (1ULL << 36)	/* bytes of arena that an agent accepts */

/* A ring's two indexes, on a line each. */
struct falcon_ring_idx {
	__u32 tail FALCON_ALIGNED;	/* next to write; writer: producer */
	__u32 head FALCON_ALIGNED;	/* next to read; writer: consumer */
};

/* One submission. Writer: application. */
struct falcon_sqe {
	__u8 op;		/* enum falcon_raw_op */
	__u8 pad;
	__u16 dst_service;	/* service at the far end */
	__u32 conn;		/* connection, as "lookup" returned it */
	__u64 local;		/* bytes into our arena: where PUT, SEND read and GET writes */
	__u64 remote;		/* bytes into the far arena; the tag of a SEND */
	__u32 len;		/* bytes; PUT and GET any size, SEND at most the segment size */
	__u32 pad2;
	__u64 cookie;		/* returned in the completion */
	__u64 reserved[3];
};
_Static_assert(sizeof(struct falcon_sqe) == 64, "a cache line");

/* One completion: all of the operation's transactions have ended. Writer: agent. */
struct falcon_cqe {
	__u64 cookie;
	__u32 conn;
	__u32 len;		/* bytes moved; less than asked only with an error status */
	__u8 status;		/* enum falcon_completion_code */
	__u8 ulp_code;		/* enum falcon_raw_error with kCmplTargetNackCIE */
	__u8 pad[14];
};
_Static_assert(sizeof(struct falcon_cqe) == 32, "half a cache line");

/* One received message. Writer: agent. */
struct falcon_msg {
	__u32 conn;		/* connection it came on: answer there */
	__u16 src_service;	/* service to answer to */
	__u16 len;		/* bytes of payload */
	__u64 tag;		/* as the sender gave it */
	__u64 reserved[2];
	__u8 payload[FALCON_MSG_MAX];
};
_Static_assert(sizeof(struct falcon_msg) == 4096, "a page");

struct falcon_shm {
	__u32 magic;		/* FALCON_SHM_MAGIC; application, before attach */
	__u32 version;
	__u64 arena_size;	/* bytes */
	/* What others may do with the arena, fixed at attach. */
	__u64 remote_offset;	/* bytes; start of the range opened for remote access */
	__u64 remote_len;	/* bytes; 0: none */
	__u32 remote_write;	/* 1: PUT allowed */
	__u32 remote_read;	/* 1: GET allowed */
	struct falcon_ring_idx sq;	/* producer: application */
	struct falcon_ring_idx cq;	/* producer: agent */
	struct falcon_ring_idx rq;	/* producer: agent */
	/*
	 * Set to 1 by the one about to sleep, who then looks at the rings once more; exchanged
	 * for 0 by the other, who then sends the signal: one signal a sleep.
	 */
	__u32 agent_sleeping FALCON_ALIGNED;	/* ring the doorbell after submitting */
	__u32 app_sleeping FALCON_ALIGNED;	/* signal the event after producing */
};

#define FALCON_SHM_ROUND(n) (((n) + 4095ULL) & ~4095ULL)
#define FALCON_SHM_SQ FALCON_SHM_ROUND(sizeof(struct falcon_shm))
#define FALCON_SHM_CQ (FALCON_SHM_SQ + FALCON_SQ_ENTRIES * sizeof(struct falcon_sqe))
#define FALCON_SHM_RQ (FALCON_SHM_CQ + FALCON_CQ_ENTRIES * sizeof(struct falcon_cqe))
#define FALCON_SHM_ARENA (FALCON_SHM_RQ + FALCON_RQ_ENTRIES * sizeof(struct falcon_msg))

#endif /* FALCON_SHM_H */
