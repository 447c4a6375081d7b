/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects of applications, for the sources that make and change them. */
#ifndef FALCON_ULP_RDMA_OBJECTS_H
#define FALCON_ULP_RDMA_OBJECTS_H

#include "ulp/rdma/layer.h"

/* Limits of one context; what a device says of itself (device.c). */
enum rdma_limits {
	RDMA_MAX_HANDLES = 1 << 18,
	RDMA_MAX_AREAS = 64,
	RDMA_MAX_PDS = 1024,
	RDMA_MAX_MRS = 1 << 17,
	RDMA_MAX_MWS = 1 << 16,
	RDMA_MAX_CQS = 8192,
	RDMA_MAX_CHANNELS = 1024,
	RDMA_MAX_SRQS = 4096,
	RDMA_MAX_XRCDS = 256,
	RDMA_MAX_QPS = FVERBS_SLOTS,
	RDMA_MAX_AHS = 1 << 16,
	RDMA_MAX_ASYNC = 1024,		/* asynchronous events that wait for the application */
	RDMA_SRQN_BITS = 16,		/* of the number of a shared receive queue */
	RDMA_MAX_RD_ATOMIC = 128,	/* READs and atomics outstanding of a queue pair */
	RDMA_ANY_LEN = 0xffff,		/* struct rdma_command_def: the handler looks */
};

/* What remote peers may do, and local requests, beyond reading. Of enum ibv_access_flags. */
#define RDMA_ACCESS_REMOTE                                                                         \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

enum rdma_kind {
	RDMA_KIND_NONE,
	RDMA_KIND_PD,
	RDMA_KIND_MR,
	RDMA_KIND_MW,
	RDMA_KIND_CHANNEL,
	RDMA_KIND_CQ,
	RDMA_KIND_SRQ,
	RDMA_KIND_XRCD,
	RDMA_KIND_QP,
	RDMA_KIND_AH,
	RDMA_KINDS,
};

/* An element of a context's table of handles. */
struct rdma_handle {
	enum rdma_kind kind;
	uint32_t next;			/* free ones: the next free one, 0: none */
	void *object;
};

/* Memory that an application shares with us. */
struct rdma_area {
	struct rdma *r;
	uint8_t *base;
	uint64_t size;			/* bytes */
	uint32_t memory;		/* index of offload memory, plus 1; 0: it is none */
	uint32_t uses;			/* rings and regions that lie in it */
	uint32_t refs;			/* 1 of the context, 1 of each use, 1 of each span */
};

/* An asynchronous event that is not delivered yet. */
struct rdma_event {
	struct rdma_event *next;
	struct fverbs_async_event event;
	uint32_t *counter;		/* of the object; NULL: of none */
};

struct rdma_ctx {
	struct rdma *r;
	struct rdma_ctx *next, **pprev;	/* of the layer's list */
	struct rdma_owner owner;
	struct fverbs_ctx_shm *shm;	/* the start of area 0 */
	int async_fd;
	bool shown;			/* this round it was shown something: |news| is to change */
	uint32_t news;			/* as it is in |shm| */
	bool hello;			/* FVERBS_HELLO has been answered */
	struct rdma_handle *handles;	/* [0] is never given */
	uint32_t handles_size;		/* elements */
	uint32_t handles_free;		/* first free one, 0: none */
	uint32_t counts[RDMA_KINDS];	/* objects */
	struct rdma_area *areas[RDMA_MAX_AREAS];
	struct rdma_qp_object *qps;	/* that it has created: command_qp.c */
	struct rdma_qp *slots[FVERBS_SLOTS];	/* whose bit in |rung| it is; NULL: nobody's */
	struct rdma_copy *copies, **copies_tail;	/* queued: mover.c */
	struct rdma_ctx *copying_next;
	bool copying;			/* in r->copying */
	bool resting;			/* in r->resting: no copies until |rest_until|, ns */
	uint64_t rest_until;
	LIST_ENTRY(rdma_ctx) in_resting;
	struct rdma_run *late;		/* copies whose call is late: all others wait; NULL: none */
	struct rdma_event *events, **events_tail;	/* that the socket had no room for */
	uint32_t nevents;
	LIST_HEAD(, rcm_channel) cm_channels;	/* cm.h */
	uint32_t ncm_channels;
};

struct rdma_pd {
	struct rdma_ctx *ctx;
	uint64_t number;		/* no other ever had it */
	uint32_t uses;			/* objects made in it */
	uint32_t offloaded;		/* regions that XDP knows */
	uint32_t device;		/* index */
	bool loose;			/* its latest queue pair of datagrams is not strongly ordered */
};

enum rdma_mr_kind {
	RDMA_MR_REGION,
	RDMA_MR_WINDOW_1,
	RDMA_MR_WINDOW_2,
};

/* A memory region, or a window onto one. */
struct rdma_mr {
	struct rdma_ctx *ctx;
	struct rdma_pd *pd;
	enum rdma_mr_kind kind;
	uint32_t key;			/* lkey and rkey */
	uint32_t handle;
	uint32_t refs;			/* 1 while it exists, 1 of each span */
	bool dead;			/* it exists for spans only: nothing may be accessed any more */
	bool implicit;			/* all of the process's memory */
	bool bound;			/* window: opens something */
	bool offloaded;			/* region: XDP knows it */
	uint32_t access;		/* enum ibv_access_flags */
	uint64_t iova, length;		/* bytes: what requests may name */
	uint64_t addr;			/* of it in the process, or bytes into |area| */
	struct rdma_area *area;		/* NULL: ordinary memory */
	struct fverbs_reg_mr made;	/* region: the request */
	uint32_t windows;		/* region: windows bound to it */
	struct rdma_mr *region;		/* window: that it is bound to */
	struct rdma_qp *qp;		/* window of type 2: whose peers may use it */
	struct rdma_mr *next, **pprev;	/* bound window of type 2: in its queue pair's list */
};

struct rdma_channel {
	struct rdma_ctx *ctx;
	int fd;				/* ours */
	uint32_t uses;			/* completion queues */
	struct rdma_cq *owing, **owing_tail;	/* whose events the socket had no room for */
	uint64_t sent;			/* events */
};

struct rdma_cq {
	struct rdma_ctx *ctx;
	struct rdma_ring ring;
	struct rdma_channel *channel;	/* NULL: none */
	uint64_t cookie;
	uint32_t handle;
	uint32_t uses;			/* queue pairs and SRQs */
	uint32_t published;		/* tail as the application sees it */
	uint32_t owed;			/* events that the channel is to send */
	bool ignore_overrun;
	bool failed;			/* it has overrun */
	bool solicited;			/* of what is not published, some count as solicited */
	bool dirty;			/* in r->dirty_cqs */
	STAILQ_ENTRY(rdma_cq) dirty_link;
	struct rdma_cq *failed_next;	/* in r->failed_cqs */
	bool failing;			/* in r->failed_cqs */
	struct rdma_cq *owing_next;	/* in the channel's list */
	struct fverbs_events events;	/* that were sent */
	struct rdma_cq_stats stats;
};

struct rdma_srq {
	struct rdma_ctx *ctx;
	struct rdma_pd *pd;
	struct rdma_ring ring;
	struct rdma_xrcd *xrcd;		/* NULL: basic */
	struct rdma_cq *cq;		/* XRC */
	uint64_t cookie;
	uint32_t handle;
	uint32_t num;
	uint32_t max_wr, max_sge;
	uint32_t limit;			/* 0: not armed */
	uint32_t uses;			/* queue pairs */
	uint32_t async;			/* events sent */
	bool failed;			/* its ring is broken, and the application was told */
	uint64_t taken;			/* requests */
};

/* An XRC domain: one object, however many contexts have a handle of it. */
struct rdma_xrcd {
	struct rdma_xrcd *next, **pprev;
	uint32_t device;		/* index */
	bool named;			/* by a file, |file| */
	struct rdma_file_id file;
	uint32_t handles;
	uint32_t uses;			/* SRQs and queue pairs */
};

struct rdma_ah {
	struct rdma_ctx *ctx;
	struct rdma_pd *pd;
	struct fverbs_ah_attr attr;
	/* In any order, and strongly ordered, by the peer's layers; NULL: not used yet. */
	struct rdma_link *links[2][RDMA_GROUP_MAX];
};

/* ---- ctx.c ----------------------------------------------------------------------------------- */

/* |ctx|'s user is to hold |amount| more of |what|. 0, or a negative errno with a sentence in |err|. */
static inline int rdma_ctx_charge(const struct rdma_ctx *ctx, enum rdma_charge what, uint64_t amount,
				  char *err, size_t errlen)
{
	const struct rdma_host *h = &ctx->r->host;

	return h->charge ? h->charge(h->arg, ctx->owner.uid, what, amount, err, errlen) : 0;
}

static inline void rdma_ctx_uncharge(const struct rdma_ctx *ctx, enum rdma_charge what, uint64_t amount)
{
	const struct rdma_host *h = &ctx->r->host;

	if (h->charge)
		h->uncharge(h->arg, ctx->owner.uid, what, amount);
}

/* What a user is charged for a handle of |kind|; RDMA_CHARGES: for its object, by whoever makes that. */
enum rdma_charge rdma_kind_charge(enum rdma_kind kind);
/*
 * A handle for |object|, which has been charged; or 0: RDMA_MAX_HANDLES or |max| of its kind are there, or
 * memory is short. rdma_handle_free() uncharges it.
 */
uint32_t rdma_handle_new(struct rdma_ctx *ctx, enum rdma_kind kind, void *object, uint32_t max);
/* NULL: no such handle, or not of that kind. */
void *rdma_handle_get(const struct rdma_ctx *ctx, enum rdma_kind kind, uint32_t handle);
void rdma_handle_free(struct rdma_ctx *ctx, uint32_t handle);
/* Ring for queue pairs that were rung. Returns how many. */
uint32_t rdma_ctx_poll(struct rdma_ctx *ctx);
/* Have the application ring its doorbell. False: something was rung already. */
bool rdma_ctx_sleep_begin(struct rdma_ctx *ctx);
void rdma_ctx_sleep_end(struct rdma_ctx *ctx);
/* Once a round, at its end: wake those who wait for what it has shown. */
void rdma_ctx_tell(struct rdma_ctx *ctx);

/* ---- area.c ---------------------------------------------------------------------------------- */

struct rdma_area *rdma_area_new(struct rdma *r, void *base, uint64_t size);
/* The same of offload memory |index|. */
struct rdma_area *rdma_area_of_memory(struct rdma *r, void *base, uint64_t size, uint32_t index);
void rdma_area_put(struct rdma_area *area);
/* command_memory.c: take area |number| from |ctx|, if it is there. */
void rdma_area_drop(struct rdma_ctx *ctx, uint32_t number);

/* ---- offload.c ------------------------------------------------------------------------------- */

/* enum falcon_region_access of |access|, enum ibv_access_flags. */
uint32_t rdma_offload_access(uint32_t access);
/* |mr|, a region that has its key, may be reached by XDP if it is such. */
void rdma_offload_region(struct rdma_mr *mr);
/* No longer: when this returns, XDP neither reaches it nor will. */
void rdma_unoffload_region(struct rdma_mr *mr);
/* resp_exec.c: return once XDP is not amid a request of |qp| that it began before. */
void rdma_exec_wait(struct rdma_qp *qp);
/* resp_exec.c: |qp|'s requests are the agent's until the end of the round; its counters are complete. */
void rdma_exec_recall(const struct rdma_qp *qp);
/* command_qp.c: call |fn| with each queue pair that |ctx| has created. */
void rdma_ctx_each_qp(const struct rdma_ctx *ctx, void (*fn)(struct rdma_qp *qp));

/* ---- key.c: which key stands for what -------------------------------------------------------- */

int rdma_keys_open(struct rdma *r);
void rdma_keys_close(struct rdma *r);
/* Give |mr| a key, in |mr->key|. 0, or -ENOMEM. */
int rdma_key_new(struct rdma *r, struct rdma_mr *mr);
void rdma_key_free(struct rdma *r, uint32_t key);
/* The object with exactly that key, or NULL. */
struct rdma_mr *rdma_key_find(const struct rdma *r, uint32_t key);
/* Give |mr| the key |key|, of the same index. */
void rdma_key_change(struct rdma *r, struct rdma_mr *mr, uint32_t key);
/* |mr| stands for the key that |old| had. */
void rdma_key_replace(struct rdma *r, struct rdma_mr *old, struct rdma_mr *mr);

/* ---- mr.c, mw.c ------------------------------------------------------------------------------ */

/* It no longer exists; spans of it lead nowhere. */
void rdma_mr_kill(struct rdma_mr *mr);
/* Access flags that may go together (InfiniBand 10.6.3). */
bool rdma_access_valid(uint32_t access);
void rdma_mw_unbind(struct rdma_mr *mw);
/* |qp| is no more: what is bound to it opens nothing. */
void rdma_mws_qp_gone(struct rdma_qp *qp);

/* ---- mover.c --------------------------------------------------------------------------------- */

int rdma_mover_open(struct rdma *r);
void rdma_mover_close(struct rdma *r);
/* Copies of |ctx| that are queued will fail. */
void rdma_copies_orphan(struct rdma_ctx *ctx);

/* ---- cq.c, channel.c, srq.c ------------------------------------------------------------------ */

/* Once a round, at its end: show what was posted, and send events. Returns how many queues had news. */
uint32_t rdma_cqs_publish(struct rdma *r);
/* Move what is unread into |ring|, which is opened; the old one is closed. -EINVAL: it does not fit. */
int rdma_cq_move(struct rdma_cq *cq, struct rdma_ring *ring);
/* |cq| goes: nothing of the layer knows it any more. */
void rdma_cq_forget(struct rdma_cq *cq);
/* Send an event of |cq|, now or when there is room. */
void rdma_channel_notify(struct rdma_cq *cq);
/* |cq| goes: its channel owes nothing for it. */
void rdma_channel_forget(struct rdma_cq *cq);
/* |type| about device |device|. */
void rdma_async_device(struct rdma_ctx *ctx, uint32_t device, uint32_t type);
/* Send what the sockets had no room for, if it is time. */
void rdma_events_retry(struct rdma *r);
void rdma_async_drop_all(struct rdma_ctx *ctx);
/* A number for |srq|. 0 or -ENOSPC, -ENOMEM. */
int rdma_srq_number(struct rdma *r, struct rdma_srq *srq);
/* The limit's event is due now if fewer wait already (InfiniBand 10.2.9.1). */
void rdma_srq_arm(struct rdma_srq *srq, uint32_t limit);
/* As rdma_cq_move(); of requests that no message has taken. */
int rdma_srq_move(struct rdma_srq *srq, struct rdma_ring *ring);

/* ---- command_*.c ----------------------------------------------------------------------------- */

typedef int (*rdma_handler)(struct rdma_call *call);

struct rdma_command_def {
	uint16_t op;			/* enum fverbs_op */
	uint16_t len;			/* bytes of the request, or RDMA_ANY_LEN */
	bool fd;			/* a descriptor may come along */
	rdma_handler fn;
};

extern const struct rdma_command_def rdma_memory_commands[], rdma_queue_commands[],
	rdma_qp_commands[], rdma_cm_commands[];
extern const unsigned int rdma_memory_ncommands, rdma_queue_ncommands, rdma_qp_ncommands,
	rdma_cm_ncommands;

/* The object of |handle|, or NULL with the reason in |call|. */
void *rdma_call_object(struct rdma_call *call, enum rdma_kind kind, uint32_t handle);
/* Charge the application's user: 0, or a negative errno with the reason in |call|. */
int rdma_call_charge(struct rdma_call *call, enum rdma_charge what, uint64_t amount);
/* A new handle for |object|, charged: 0, or -EDQUOT, -ENOMEM or -ENOSPC with the reason in |call|. */
int rdma_call_handle(struct rdma_call *call, enum rdma_kind kind, void *object, uint32_t max,
		     uint32_t *handle);

/* Refuse to destroy what |uses| others use: -EBUSY. */
int rdma_call_busy(struct rdma_call *call, enum rdma_kind kind, uint32_t uses);
/* The answer will have |len| bytes, which are 0. */
void *rdma_call_answer(struct rdma_call *call, size_t len);

/* One less in |count|, of handles or uses of |x|, which goes with the last of both. */
void rdma_xrcd_put(struct rdma_xrcd *x, uint32_t *count);

/* Remove object |handle|, which nothing uses any more: its context ends. */
void rdma_memory_drop(struct rdma_ctx *ctx, enum rdma_kind kind, uint32_t handle);
void rdma_queue_drop(struct rdma_ctx *ctx, enum rdma_kind kind, uint32_t handle);
void rdma_qp_drop(struct rdma_ctx *ctx, enum rdma_kind kind, uint32_t handle);
/* All queue pairs of |ctx| go; handles of them stay, and stand for nothing. */
void rdma_qps_drop(struct rdma_ctx *ctx);

/* The queue pair that |ctx| has created under |handle|, or NULL. */
struct rdma_qp *rdma_qp_of_handle(const struct rdma_ctx *ctx, uint32_t handle);

#endif /* FALCON_ULP_RDMA_OBJECTS_H */
