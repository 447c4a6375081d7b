/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that an application and its agent share: one memfd, made by the application, sealed
 * against shrinking, mapped by both, handed over with "attach" on the control socket together with
 * an eventfd that wakes the agent and an end of a Unix stream socket pair that wakes the
 * application (and tells it by EOF that the agent has gone). At fixed offsets it holds a ring set
 * for each of the agent's threads that carry packets, each with three single-producer
 * single-consumer rings, and the arena, which all of them use:
 *
 *   struct falcon_shm | ring set 0 | ring set 1 ... | arena ...
 *   ring set: struct falcon_ring_set | submissions | completions | messages
 *
 * A connection belongs to one thread: its operations, completions and messages go through that
 * thread's ring set, whose number is in the connection's handle (FALCON_CONN_SET). Each ring set has
 * a doorbell; one event socket serves them all.
 *
 * Head and tail start at 0 and are free-running; an index is taken modulo the ring's size. The
 * agent believes nothing it reads here: it copies an entry once, then checks every field.
 */
#ifndef FALCON_SHM_H
#define FALCON_SHM_H

#include "types.h"

enum falcon_shm_const {
	FALCON_SHM_MAGIC = 0x46534831,
	FALCON_SHM_VERSION = 2,
	FALCON_RING_SETS_MAX = 8,
	FALCON_SQ_ENTRIES = 1024,
	FALCON_CQ_ENTRIES = 2048,
	FALCON_RQ_ENTRIES = 256,
	FALCON_MSG_MAX = 4096 - 32,	/* room for a message's payload, bytes */
	FALCON_GRANTS_MAX = 256,	/* slots of the range that peers may reach */
};

/* What the agent understands beside what the version says: |agent_features|. */
enum falcon_shm_feature {
	FALCON_SHM_GRANTS = 1,		/* |slot_bytes| and |grants| */
};

/* A grant: the slot is for operations on connection |conn|, a handle, of |service| there; 0: for none. */
#define FALCON_GRANT(conn, service) ((__u64)(conn) << 32 | (__u64)(service) << 16 | 1)

#define FALCON_ARENA_MAX (1ULL << 36)	/* bytes of arena that an agent accepts */

/* A ring's two indexes, on a line each. */
struct falcon_ring_idx {
	__u32 tail FALCON_ALIGNED;	/* next to write; writer: producer */
	__u32 head FALCON_ALIGNED;	/* next to read; writer: consumer */
};

/*
 * A connection's handle, as "lookup" returns it: its CID, and above it the ring set of the thread that
 * has the connection.
 */
#define FALCON_CONN_SET_SHIFT 28
#define FALCON_CONN_HANDLE(set, cid) ((__u32)(set) << FALCON_CONN_SET_SHIFT | (cid))
#define FALCON_CONN_SET(handle) ((handle) >> FALCON_CONN_SET_SHIFT)
#define FALCON_CONN_CID(handle) ((handle) & ((1U << FALCON_CONN_SET_SHIFT) - 1))

/* One submission. Writer: application. */
struct falcon_sqe {
	__u8 op;		/* enum falcon_raw_op */
	__u8 pad;
	__u16 dst_service;	/* service at the far end */
	__u32 conn;		/* handle, as "lookup" returned it */
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
	__u32 conn;		/* handle of the connection it came on: answer there */
	__u16 src_service;	/* service to answer to */
	__u16 len;		/* bytes of payload */
	__u64 tag;		/* as the sender gave it */
	__u64 reserved[2];
	__u8 payload[FALCON_MSG_MAX];
};
_Static_assert(sizeof(struct falcon_msg) == 4096, "a page");

/* What the rings of one set share, at the set's start. */
struct falcon_ring_set {
	struct falcon_ring_idx sq;	/* producer: application */
	struct falcon_ring_idx cq;	/* producer: agent */
	struct falcon_ring_idx rq;	/* producer: agent */
	/*
	 * Set to 1 by the agent's thread when it is about to sleep, which then looks at the rings once
	 * more; exchanged for 0 by the application, which then rings the doorbell: one a sleep.
	 */
	__u32 agent_sleeping FALCON_ALIGNED;
};

struct falcon_shm {
	__u32 magic;		/* FALCON_SHM_MAGIC; application, before attach */
	__u32 version;
	__u64 arena_size;	/* bytes */
	/* What others may do with the arena, fixed at attach. */
	__u64 remote_offset;	/* bytes; start of the range opened for remote access */
	__u64 remote_len;	/* bytes; 0: none */
	__u32 remote_write;	/* 1: PUT allowed */
	__u32 remote_read;	/* 1: GET allowed */
	__u32 ring_sets;	/* 1 to FALCON_RING_SETS_MAX; fixed at attach */
	/*
	 * The same as agent_sleeping for the application, whatever ring set the agent has something in:
	 * the thread that exchanges it for 0 signals the event.
	 */
	__u32 app_sleeping FALCON_ALIGNED;
	__u32 agent_features;	/* enum falcon_shm_feature; agent, at attach */
	/*
	 * Not 0: the range opened for remote access is slots of so many bytes, and an operation has to keep
	 * to one of those that are granted to whoever has sent it. Application, at any time.
	 */
	__u64 slot_bytes;
	__u64 grants[FALCON_GRANTS_MAX];	/* FALCON_GRANT() */
};
_Static_assert(sizeof(struct falcon_shm) <= 4096, "ring sets stay where they are");

#define FALCON_SHM_ROUND(n) (((n) + 4095ULL) & ~4095ULL)
/* Bytes into a ring set. */
#define FALCON_SET_SQ FALCON_SHM_ROUND(sizeof(struct falcon_ring_set))
#define FALCON_SET_CQ (FALCON_SET_SQ + FALCON_SQ_ENTRIES * sizeof(struct falcon_sqe))
#define FALCON_SET_RQ (FALCON_SET_CQ + FALCON_CQ_ENTRIES * sizeof(struct falcon_cqe))
#define FALCON_SET_SIZE (FALCON_SET_RQ + FALCON_RQ_ENTRIES * sizeof(struct falcon_msg))
/* Bytes into the memory: ring set |i|, and the arena behind |sets| of them. */
#define FALCON_SHM_SET(i) (FALCON_SHM_ROUND(sizeof(struct falcon_shm)) + (i) * FALCON_SET_SIZE)
#define FALCON_SHM_ARENA(sets) FALCON_SHM_SET(sets)

#endif /* FALCON_SHM_H */
