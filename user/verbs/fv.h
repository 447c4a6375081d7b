/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our verbs objects. Each begins with what applications see of it. Objects that are not ours, of
 * real adapters, come through the same functions and go on to the real library.
 */
#ifndef FALCON_VERBS_FV_H
#define FALCON_VERBS_FV_H

#include <infiniband/verbs.h>

#include "verbs/agent.h"
#include "verbs/env.h"

/* What a name is that <infiniband/verbs.h> makes a macro of: we define the function. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define FV_EXPORT __attribute__((visibility("default")))

enum fv_const {
	FV_PKEY_DEFAULT = 0xffff,
	FV_TABLE_MAX = 1 << 20,	/* queue pairs, completion queues and SRQs of a context */
	FV_DM_MAX = 64 << 20,	/* bytes of "device" memory */
};

/* ---- the real library ---- */

/* The function of that name in the library behind us; NULL: there is none. */
void *fv_real(const char *name);

/* The same, looked up once: |*seen| keeps it. Several threads may be the first. */
static inline void *fv_real_once(void **seen, const char *name)
{
	void *f = __atomic_load_n(seen, __ATOMIC_RELAXED);

	if (!f) {
		f = fv_real(name);
		__atomic_store_n(seen, f, __ATOMIC_RELAXED);
	}
	return f;
}

/*
 * End the function that this stands in by calling its real twin, or, if there is none, with |none|
 * and ENOSYS.
 */
#define FV_FORWARD(name, none, ...) \
	do { \
		static void *seen; \
		__typeof__(&name) real; \
		real = (__typeof__(&name))fv_real_once(&seen, #name); \
		if (real) \
			return real(__VA_ARGS__); \
		errno = ENOSYS; \
		return none; \
	} while (0)

/* ---- objects ---- */

/* A lock that a thread domain makes unnecessary. */
struct fv_lock {
	pthread_mutex_t mutex;
	bool off;		/* one thread only */
};

static inline void fv_lock(struct fv_lock *l)
{
	if (!l->off)
		pthread_mutex_lock(&l->mutex);
}

static inline void fv_unlock(struct fv_lock *l)
{
	if (!l->off)
		pthread_mutex_unlock(&l->mutex);
}

void fv_lock_init(struct fv_lock *l, bool off);
void fv_lock_destroy(struct fv_lock *l);

struct fv_device {
	struct ibv_device dev;
	struct fverbs_device attr;	/* as it was when it was listed */
	uint32_t index;			/* the agent's */
	int refs;			/* lists and contexts */
};

enum fv_kind {
	FV_KIND_NONE,
	FV_KIND_CQ,
	FV_KIND_QP,
	FV_KIND_SRQ,
};

/* What a cookie in an event stands for: the place in the table, and above it the generation. */
struct fv_entry {
	void *object;		/* NULL: free */
	uint32_t kind;		/* enum fv_kind */
	uint32_t generation;
};

struct fv_mr;

/* What polling an empty queue again and again does; the order is that of FALCON_VERBS_POLL's words. */
enum fv_poll {
	FV_POLL_AUTO,		/* yields; naps while the agent is short of CPU */
	FV_POLL_NAP,
	FV_POLL_YIELD,
	FV_POLL_SPIN,
};

struct fv_ctx {
	struct verbs_context v;
	struct fv_agent agent;
	struct fv_device *device;
	pthread_mutex_t lock;		/* of all below */
	struct fv_entry *table;
	uint32_t table_size;
	uint64_t slots[FVERBS_SLOT_WORDS];	/* in use */
	struct fv_channel *channels;
	struct fv_qp *qps;
	struct fv_mr **mrs;		/* hash by lkey, |mr_buckets| chains */
	uint32_t mr_generation;		/* changes whenever a region does; falcon_load() */
	uint32_t copy_max;		/* bytes of payload to copy into a work request */
	uint8_t poll;			/* enum fv_poll */
	uint8_t memory;			/* enum fv_memory: where regions' memory may go */
};

struct fv_pd {
	struct ibv_pd pd;
	struct fv_pd *parent;		/* NULL: a protection domain of the agent's */
	struct fv_td *td;		/* NULL: any thread */
	int refs;			/* parent domains made of it */
};

struct fv_td {
	struct ibv_td td;
	int refs;			/* parent domains made of it */
};

struct fv_mr {
	struct ibv_mr mr;
	struct fv_mr *next;		/* in the hash */
	uint64_t iova;
	uint32_t access;		/* enum ibv_access_flags */
	bool implicit;			/* all memory */
	bool shared;			/* lies in an area: the agent reads it directly */
	bool noted;			/* known to moved.c */
	bool dm;			/* device memory */
	struct fv_dm *of;		/* whose */
};

struct fv_dm {
	struct ibv_dm dm;
	uint8_t *mem;
	bool offload;			/* in an area of such memory; else of malloc()'s */
	size_t length;			/* bytes */
	int refs;			/* regions in it */
};

struct fv_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t handle;
};

struct fv_channel {
	struct ibv_comp_channel channel;
	struct fv_channel *next;	/* of the context */
	uint32_t handle;
	int local;			/* the agent is gone: our own end of |channel.fd|; -1 before */
};

struct fv_ah {
	struct ibv_ah ah;
};

/* A ring that work requests are put in. */
struct fv_wq {
	struct fverbs_wq_shm *shm;	/* NULL: none */
	uint8_t *entries;
	uint32_t mask;			/* number of entries - 1 */
	uint32_t stride;		/* bytes */
	uint32_t tail;			/* next to fill; falcon_load() without the queue's lock */
	uint32_t max_sge;
	uint32_t room;			/* bytes behind the fixed part of an entry */
	uint32_t flushed;		/* once the agent is gone: next to complete as flushed */
	struct fverbs_place place;
};

struct fv_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	struct fv_lock lock;
	struct fverbs_cq_shm *shm;	/* changes with |lock| and |cq.mutex|, so either will do */
	struct fverbs_cqe *entries;
	uint32_t mask;
	uint32_t head;			/* next to read */
	uint32_t idle;			/* polls that found nothing */
	uint32_t under_way;		/* requests of the send queue that was posted to last, then */
	struct fverbs_place place;
	uint64_t cookie;
	struct fverbs_cqe now;		/* what start_poll() and next_poll() are at */
	int64_t wallclock;		/* ns, CLOCK_REALTIME minus CLOCK_MONOTONIC */
	uint32_t comp_events;		/* given to the application; context's lock */
	uint32_t async_events;
	bool flushing;			/* the agent is gone and |fv_wq.flushed| of its queues is set */
};

struct fv_srq {
	struct ibv_srq srq;
	struct fv_lock lock;
	struct fv_wq wq;
	uint32_t num;
	uint32_t type;			/* enum ibv_srq_type */
	struct ibv_srq_attr attr;
	uint64_t cookie;
	uint32_t async_events;
};

struct fv_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
	};
	struct fv_qp *next;		/* of the context */
	struct fv_ctx *ctx;
	struct fv_lock sq_lock, rq_lock;
	struct fv_wq sq, rq;
	uint32_t slot;
	uint32_t max_inline;		/* bytes */
	uint32_t copy_max;		/* bytes of payload to copy */
	uint32_t mr_generation;		/* of |known| */
	struct fv_mr known;		/* the region used last; lkey 0: none */
	bool sig_all;
	bool is_ex;			/* ibv_wr_*() may be used */
	bool opened;			/* ibv_open_qp(): another's queue pair */
	uint64_t cookie;
	uint32_t async_events;
	struct ibv_qp_cap cap;
	/* Between ibv_wr_start() and ibv_wr_complete(). */
	uint32_t new_tail;
	int wr_error;			/* errno value; 0: none so far */
	struct fverbs_send_wqe *wqe;	/* being built; NULL: none */
};

/* ---- whose is it, and what is it ---- */

struct fv_ctx *fv_ctx_of(struct ibv_context *context);	/* NULL: not ours */
bool fv_device_mine(const struct ibv_device *device);

#define FV_CAST(type, member, ptr) \
	((type *)(void *)((char *)(ptr) - offsetof(type, member)))

static inline struct fv_pd *fv_pd(struct ibv_pd *pd)
{
	return (struct fv_pd *)pd;
}

static inline struct fv_cq *fv_cq(struct ibv_cq *cq)
{
	return (struct fv_cq *)cq;
}

static inline struct fv_qp *fv_qp(struct ibv_qp *qp)
{
	return (struct fv_qp *)qp;
}

static inline struct fv_srq *fv_srq(struct ibv_srq *srq)
{
	return (struct fv_srq *)srq;
}

/* ---- object.c: cookies, slots, rings ---- */

/* A cookie for |object|, 0: no room. Until it is forgotten, events about it are heard. */
uint64_t fv_cookie_new(struct fv_ctx *ctx, void *object, enum fv_kind kind);
void fv_cookie_forget(struct fv_ctx *ctx, uint64_t cookie);
/* With the context's lock held. NULL: no such object, or of another kind. */
void *fv_cookie_find(struct fv_ctx *ctx, uint64_t cookie, enum fv_kind kind);
int fv_slot_new(struct fv_ctx *ctx);	/* -1: all are in use */
void fv_slot_free(struct fv_ctx *ctx, uint32_t slot);
/*
 * Make a ring for |wr| requests at least, with |fixed| bytes each and |room| behind. 0 or an errno
 * value.
 */
int fv_wq_init(struct fv_ctx *ctx, struct fv_wq *wq, uint32_t wr, uint32_t fixed, uint32_t room);
void fv_wq_free(struct fv_ctx *ctx, struct fv_wq *wq);
uint32_t fv_pow2(uint32_t n);		/* the power of two that is not less, 1 at least */
/* Wait until |*acked|, guarded by |mutex|, is |given|. */
void fv_wait_acked(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acked,
		   uint32_t given);

/* ---- what the context's operations point at ---- */

int fv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int fv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int fv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int fv_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int fv_req_notify_cq(struct ibv_cq *cq, int solicited_only);
struct ibv_mw *fv_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int fv_dealloc_mw(struct ibv_mw *mw);
int fv_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int fv_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t len);
int fv_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		       struct ibv_device_attr_ex *attr, size_t size);
int fv_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);
int fv_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		 struct ibv_sge *sg_list, uint32_t num_sge);
struct ibv_dm *fv_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int fv_free_dm(struct ibv_dm *dm);
struct ibv_mr *fv_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			    unsigned int access);
struct ibv_td *fv_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int fv_dealloc_td(struct ibv_td *td);
struct ibv_pd *fv_alloc_parent_domain(struct ibv_context *context,
				      struct ibv_parent_domain_init_attr *attr);
struct ibv_xrcd *fv_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int fv_close_xrcd(struct ibv_xrcd *xrcd);
struct ibv_srq *fv_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int fv_get_srq_num(struct ibv_srq *srq, uint32_t *num);
struct ibv_cq_ex *fv_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
int fv_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_qp *fv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *fv_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/* ---- among the files ---- */

/* Operations that a queue pair of |type| has; enum ibv_qp_create_send_ops_flags. */
uint64_t fv_qp_ex_ops(enum ibv_qp_type type);
/* Fill in what ibv_wr_*() jumps through for |ops|. */
void fv_qp_ex_fill(struct fv_qp *qp, uint64_t ops);
/* Fill in what ibv_start_poll() and its relatives jump through. */
void fv_cq_ex_fill(struct fv_cq *cq, uint64_t wc_flags);
/* Arm for |want|, enum fverbs_armed, or more; with |cq.mutex| held. */
void fv_cq_arm(struct fv_cq *cq, uint32_t want);
/* Drop the completions of a queue pair that is no more. */
void fv_cq_clean(struct fv_cq *cq, uint64_t qp_cookie);
/* Take the next completion, with the lock held. False: there is none. */
bool fv_cq_take(struct fv_cq *cq, struct fverbs_cqe *out);
/* Nothing was there: let others, who may be what is waited for, have the CPU. Without the lock. */
void fv_cq_idle(struct fv_cq *cq);
/* The calling thread has found or posted something: it does not wait. */
void fv_busy(void);
/* The agent is gone: the next request of a queue of |cq|'s that never completed. */
bool fv_flush_next(struct fv_cq *cq, struct fverbs_cqe *out);
bool fv_flush_pending(struct fv_cq *cq);
/* The agent is gone: tell who waits for |cq|, if somebody does. With the context's lock held. */
void fv_wake_waiter(struct fv_cq *cq);
/* The same without that lock: a request of |cq|'s came after lost() had told everybody. */
void fv_wake_late(struct fv_cq *cq);
/* Fill |attr| with what the agent says about the device now. */
int fv_device_now(struct fv_ctx *ctx, struct fverbs_device *attr);
struct fverbs_ah_attr fv_ah_to_wire(const struct ibv_ah_attr *attr);
struct ibv_ah_attr fv_ah_from_wire(const struct fverbs_ah_attr *attr);
/* Where |sge| lies if it may be read here and now: in a region that |qp| may name. NULL if not. */
const void *fv_mr_memory(struct fv_qp *qp, const struct ibv_sge *sge);
/* The context is to be closed: regions that it still has are none any more. */
void fv_mr_leave(struct fv_ctx *ctx);
void fv_device_put(struct fv_device *device);

#endif /* FALCON_VERBS_FV_H */
