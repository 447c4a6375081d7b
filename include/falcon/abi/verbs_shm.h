/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that a verbs application and its agent share: queues of work requests and completions.
 *
 * It lies in areas: memfds made by the application's library, sealed against shrinking and numbered
 * by the agent (verbs.h). Area 0 begins with struct fverbs_ctx_shm. The queues of send queues,
 * receive queues, shared receive queues and completion queues are wherever the library has put them.
 * Opcodes, flags, states and statuses are the numbers of <infiniband/verbs.h>.
 *
 * Rings have one producer and one consumer; head and tail are free-running and start at 0. The
 * number of entries is a power of two. The agent believes nothing it reads here: it copies an entry
 * once, then checks every field.
 */
#ifndef FALCON_VERBS_SHM_H
#define FALCON_VERBS_SHM_H

#include "../shm.h"

enum fverbs_shm_const {
	FVERBS_SHM_MAGIC = 0x46565331,
	FVERBS_SHM_VERSION = 2,
	FVERBS_SLOTS = 16384,		/* queues of a context that work can be posted to */
	FVERBS_SLOT_WORDS = FVERBS_SLOTS / 64,
	FVERBS_SLOT_SUMMARY = FVERBS_SLOT_WORDS / 64,
	FVERBS_SGE_MAX = 32,		/* scatter/gather elements of a work request */
	FVERBS_INLINE_MAX = 1024,	/* bytes of inline data */
	FVERBS_WR_MAX = 32768,		/* entries of a send, receive or shared receive queue */
	FVERBS_CQE_MAX = 1 << 20,	/* entries of a completion queue */
};

/* The start of area 0. */
struct fverbs_ctx_shm {
	__u32 magic;			/* FVERBS_SHM_MAGIC; application, before attaching */
	__u32 version;
	/*
	 * Set to 1 by the agent when it is about to sleep, which then looks at |rung| once more;
	 * exchanged for 0 by whoever rings, who then writes the doorbell: one signal a sleep.
	 */
	__u32 agent_sleeping FALCON_ALIGNED;
	/*
	 * A futex, writer: agent. It changes at the end of every round that has shown the application
	 * something, completions or bytes in its memory, and then whoever sleeps on it is woken.
	 */
	__u32 news FALCON_ALIGNED;
	__u32 cpu_pressure;		/* writer: agent. 1: it has to wait for a CPU, so do not spin */
	/*
	 * Threads that sleep on |news|, or are about to: each counts itself, atomically, before it
	 * looks for the last time; the agent looks here after it has changed |news|, with a full
	 * barrier in between.
	 */
	__u32 nappers FALCON_ALIGNED;
	/*
	 * Which queue pairs have new work: a bit a slot, and above it a bit a word that is not 0.
	 * Whoever posts sets the slot's bit, then the word's, by atomic or, after the queue's new
	 * tail is visible; the agent exchanges the summary's words for 0, then those beneath. Any
	 * thread of the application may ring.
	 */
	__u64 summary[FVERBS_SLOT_SUMMARY] FALCON_ALIGNED;
	__u64 rung[FVERBS_SLOT_WORDS] FALCON_ALIGNED;
};

/*
 * A send, receive or shared receive queue: |entries| work requests of |stride| bytes each (as told
 * when it was created) follow. Producer: application, under a lock of its own. The agent moves
 * |head| past a send request when it has completed, past a receive request when a message has taken
 * it; what it has read of a request it keeps in memory of its own.
 */
struct fverbs_wq_shm {
	struct falcon_ring_idx idx;
	/*
	 * Of a receive queue, writer: agent. 1: ring after posting, for a message waits for it or
	 * what is posted is to be flushed. Otherwise receive queues are looked at when a message
	 * comes. Looked at after the new tail is visible, with a full barrier between the two.
	 * Send queues ring always, shared receive queues never.
	 */
	__u32 ring FALCON_ALIGNED;
};
_Static_assert(sizeof(struct fverbs_wq_shm) == 192, "entries follow at 192");

enum fverbs_send_flags {
	/* Beside IBV_SEND_*: after the SGEs follow the bytes that they name, |inline_len| of them. */
	FVERBS_SEND_COPIED = 0x8000,
};

struct fverbs_sge {
	__u64 addr;
	__u32 len;			/* bytes */
	__u32 lkey;
};

/*
 * A send request, followed by |num_sge| struct fverbs_sge; with IBV_SEND_INLINE by |inline_len| bytes
 * of data instead; with FVERBS_SEND_COPIED by both.
 */
struct fverbs_send_wqe {
	__u64 wr_id;
	__u8 opcode;			/* enum ibv_wr_opcode */
	__u8 num_sge;			/* 0..FVERBS_SGE_MAX */
	__u16 flags;			/* enum ibv_send_flags, enum fverbs_send_flags */
	__u32 inline_len;		/* bytes, 0..FVERBS_INLINE_MAX */
	__u32 imm;			/* immediate data, network order; key to invalidate */
	__u32 rkey;
	__u64 remote_addr;
	union {
		struct {
			__u64 compare_add;	/* atomics */
			__u64 swap;
		};
		struct {			/* IBV_WR_BIND_MW; |imm| has the new key, |rkey| the MR's */
			__u64 bind_addr;
			__u64 bind_len;		/* bytes; 0: unbind */
		};
	};
	union {
		struct {
			__u32 ah;		/* UD: handle of the address handle */
			__u32 remote_qpn;
			__u32 remote_qkey;
		};
		struct {
			__u32 mw;		/* IBV_WR_BIND_MW: handle of the memory window */
			__u32 bind_access;	/* enum ibv_access_flags */
		};
	};
	__u32 xrc_srqn;			/* XRC: shared receive queue at the far end */
};
_Static_assert(sizeof(struct fverbs_send_wqe) == 64, "a cache line");

/* A receive request, followed by |num_sge| struct fverbs_sge. */
struct fverbs_recv_wqe {
	__u64 wr_id;
	__u32 num_sge;			/* 0..FVERBS_SGE_MAX */
	__u32 pad;
};

/* Bytes from one entry to the next. |room| is the most that follows the fixed part. */
#define FVERBS_STRIDE(fixed, room) (((fixed) + (room) + 63u) & ~63u)

enum fverbs_armed {
	FVERBS_ARMED_NO = 0,
	FVERBS_ARMED_SOLICITED = 1,	/* solicited and unsuccessful completions only */
	FVERBS_ARMED_ANY = 2,
};

/*
 * A completion queue; |entries| struct fverbs_cqe follow. Producer: agent. |armed| is set by the
 * application (ibv_req_notify_cq) and exchanged for FVERBS_ARMED_NO by the agent, which then sends an
 * event to the queue's channel.
 */
struct fverbs_cq_shm {
	struct falcon_ring_idx idx;
	__u32 armed FALCON_ALIGNED;	/* enum fverbs_armed */
};
_Static_assert(sizeof(struct fverbs_cq_shm) == 192, "entries follow at 192");

struct fverbs_cqe {
	__u64 wr_id;
	__u64 timestamp;		/* ns, CLOCK_MONOTONIC, when it was written */
	__u64 qp_cookie;		/* as given when the queue pair was created */
	__u32 byte_len;
	__u32 imm;			/* network order; or the key that was invalidated */
	__u32 qp_num;
	__u32 src_qp;
	__u32 vendor_err;		/* enum falcon_completion_code of the transaction that failed */
	__u16 wc_flags;			/* enum ibv_wc_flags */
	__u16 pkey_index;
	__u16 slid;
	__u8 status;			/* enum ibv_wc_status */
	__u8 opcode;			/* enum ibv_wc_opcode */
	__u8 sl;
	__u8 dlid_path_bits;
	__u8 pad[10];
};
_Static_assert(sizeof(struct fverbs_cqe) == 64, "a cache line");

#endif /* FALCON_VERBS_SHM_H */
