/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RDMA upper layer (RDMA over Falcon 0.9) under the verbs API: what its parts are to each other.
 *
 *   ctx.c, command*.c, device.c   attached applications, their commands, the devices they see
 *   key.c, mr.c, mw.c, area.c     keys: who may reach which memory
 *   offload.c, resp_exec.c        memory that XDP reaches, and requests that it carries out
 *   mover.c                       application memory read and written, in batches
 *   cq.c, srq.c, wq.c, channel.c  completions, receive requests, events
 *   link*.c                       queue pairs and datagrams to Falcon connections (RDMA 6.6)
 *   qp*.c, req*.c, resp*.c, ud.c  queue pairs: states, the requesting and the responding side
 *   move.c, pool.c                their copies and their memory
 *
 * All is done by one thread, the shard's; with several shards there are as many layers (group.h). Nothing
 * here makes a system call itself; what does comes in as struct rdma_host, so that the simulator and the
 * tests run the very same objects.
 */
#ifndef FALCON_ULP_RDMA_RDMA_H
#define FALCON_ULP_RDMA_RDMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include "falcon/abi/stats.h"
#include "falcon/abi/verbs.h"
#include "falcon/abi/verbs_shm.h"
#include "ulp/rdma/group.h"
#include "ulp/ulp.h"

struct rdma;		/* the layer */
struct rdma_ctx;	/* an attached application */
struct rdma_pd;
struct rdma_mr;		/* a memory region or window */
struct rdma_cq;
struct rdma_srq;
struct rdma_xrcd;
struct rdma_channel;
struct rdma_ah;
struct rdma_qp;
struct rdma_link;	/* a Falcon connection as the layer sees it */
struct rdma_ring;	/* an application's queue */
struct falcon_region;
struct rdma_run;	/* copies that are made with one call */

/* What a layer has of what all its applications share. */
enum rdma_rooms {
	RDMA_CTXS_MAX = 1024,		/* applications */
	RDMA_CM_IDS_MAX = 65535,	/* ids of rdma_cm */
	RDMA_NUMBERS_MAX = 65534,	/* numbers of queue pairs, and as many of shared receive queues */
	RDMA_KEYS_MAX = (1 << 21) - 1,	/* of regions and windows; a layer that is alone has more */
};

/* What a user is charged for (agent/tenant/quota.h). */
enum rdma_charge {
	RDMA_CHARGE_QPS,		/* queue pairs and shared receive queues */
	RDMA_CHARGE_MRS,		/* memory regions and windows */
	RDMA_CHARGE_MEMORY,		/* bytes: areas, and regions of ordinary memory */
	RDMA_CHARGE_LINKS,		/* Falcon connections that it has */
	RDMA_CHARGE_CM_IDS,
	RDMA_CHARGE_CHANNELS,		/* of completions, and of rdma_cm: a descriptor each */
	RDMA_CHARGE_OBJECTS,		/* all else that has a handle, and areas */
	RDMA_CHARGES,
};

/* Which file a descriptor is of. */
struct fverbs_cm_addr;

struct rdma_file_id {
	uint64_t device, inode;
};

/* What the layer needs from its surroundings. |arg| is what came with this. */
struct rdma_host {
	const struct ulp_host *ulp;	/* NULL: there are only links that tests make */
	void *agent;			/* goes with |ulp| */
	/*
	 * Copy between our memory and that of process |proc| (as given to rdma_ctx_open()), as
	 * process_vm_readv() and process_vm_writev() do: |nlocal| pieces here and |nremote| there, each
	 * at most IOV_MAX, of the same bytes in all. Returns bytes copied, from the first on, or a
	 * negative errno: -EFAULT, -ESRCH.
	 */
	ssize_t (*read)(void *arg, void *proc, const struct iovec *local, unsigned nlocal,
			const struct iovec *remote, unsigned nremote);
	ssize_t (*write)(void *arg, void *proc, const struct iovec *local, unsigned nlocal,
			 const struct iovec *remote, unsigned nremote);
	/*
	 * Until when no such call is to be made for |proc|, ns: its user's memory has kept them waiting.
	 * What is past, or 0: now. NULL: nothing of the kind.
	 */
	uint64_t (*rest)(void *arg, void *proc);
	/*
	 * The application has said how to reach its memory, before any other command: |fd| or -1. 0, it is
	 * taken over; 1, it is not needed; or a negative errno with a sentence in |err|. NULL: there is
	 * no need to.
	 */
	int (*memory)(void *arg, void *proc, int fd, char *err, size_t errlen);
	/*
	 * The devices now; returns how many, at most FVERBS_DEVICES_MAX. Those once returned stay, in
	 * that order. To be filled in: name, netdev, mac, port_state, active_mtu, ifindex, max_msg,
	 * speed_mbps, gids and ngids, in the order in which they are to be numbered at first.
	 */
	unsigned (*devices)(void *arg, struct fverbs_device *out);
	/*
	 * Fill in the address, of |dst|'s family, from which packets to |dst| leave by this host's routes.
	 * 0 or a negative errno. NULL: there are no routes.
	 */
	int (*source)(void *arg, const struct fverbs_cm_addr *dst, struct fverbs_cm_addr *src);
	/* Send |len| bytes on socket |fd| whole, without blocking. 0, -EAGAIN or another errno. */
	int (*send)(void *arg, int fd, const void *data, size_t len);
	/*
	 * Map the memfd |fd|, which must be such that no access can fault (sealed against shrinking),
	 * and close it. NULL with a sentence in |err|, in which case it stays the caller's.
	 */
	void *(*map)(void *arg, int fd, uint64_t *size, char *err, size_t errlen);
	void (*unmap)(void *arg, void *base, uint64_t size);
	/* Wake everybody who sleeps on the futex |word| in such memory. NULL: nobody does. */
	void (*wake)(void *arg, uint32_t *word);
	/* |uid|'s application has sent it: whatever closing takes is not waited for. */
	void (*close)(void *arg, uint32_t uid, int fd);
	/* 0 or a negative errno; its server is not asked. */
	int (*file_id)(void *arg, int fd, struct rdma_file_id *out);
	/* Whether |fd| is a Unix stream socket: what send() may be called with. */
	bool (*is_socket)(void *arg, int fd);
	/*
	 * |uid| is to hold |amount| more, or less, of |what|. 0 or a negative errno with a sentence.
	 * NULL: there are no limits.
	 */
	int (*charge)(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount, char *err,
		      size_t errlen);
	void (*uncharge)(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount);
	/*
	 * Offload memory (falcon/maps.h): make some for one application, of |size| bytes, whole blocks.
	 * Returns its index, with what we reach it by in *|base| and a descriptor for the application in
	 * *|fd|; or a negative errno with a sentence in |err|. All four NULL: there is none.
	 */
	int (*memory_new)(void *arg, uint64_t size, void **base, int *fd, char *err, size_t errlen);
	/* Nobody uses it any more, but for applications that have mapped it. */
	void (*memory_free)(void *arg, uint32_t index, void *base, uint64_t size);
	/* Peers may reach it by |key|. 0 or a negative errno. */
	int (*region_add)(void *arg, uint32_t key, const struct falcon_region *region);
	/* Requests that begin after this find it no more. */
	void (*region_del)(void *arg, uint32_t key);
	bool tight;			/* XDP has no room behind the frames that come */
	uint64_t boot;			/* random: for keys, and to tell runs of the agent apart */
	struct rdma_group *group;	/* that the layer joins; NULL: it is alone */
	void *arg;
};

/* ---- mr.c, mw.c: keys -------------------------------------------------------------------- */

/* Why an access is refused. */
enum rdma_fault {
	RDMA_FAULT_NONE,
	RDMA_FAULT_KEY,			/* no such key, or no longer */
	RDMA_FAULT_PD,			/* of another protection domain, or another queue pair's window */
	RDMA_FAULT_BOUNDS,
	RDMA_FAULT_ACCESS,		/* not opened for that */
};

/* A piece of an application's memory that may be accessed. Holds a reference to |mr|. */
struct rdma_span {
	struct rdma_mr *mr;		/* NULL: of no bytes */
	uint64_t addr;			/* in the process; meaningless if |direct| */
	uint8_t *direct;		/* memory that it shares with us; NULL: through rdma_host */
	uint32_t len;			/* bytes */
};

/*
 * Find what a key opens at [addr, addr + len) for |access| (enum ibv_access_flags; 0: local reading).
 * |rkey|: a peer of |qp| has sent it; |pd| is the queue pair's, or with XRC that of the shared receive
 * queue that the request names. |lkey|: of a request of |pd|. On RDMA_FAULT_NONE *|out| is to be given
 * back with rdma_span_put(), which rdma_copies_run() does for spans that it was given. |len| 0 is
 * never refused (InfiniBand 9.7.5.2) and needs no key. Not dependent on the state of the process.
 */
enum rdma_fault rdma_resolve_local(struct rdma_pd *pd, uint32_t lkey, uint64_t addr, uint32_t len,
				   uint32_t access, struct rdma_span *out);
enum rdma_fault rdma_resolve_remote(struct rdma_qp *qp, struct rdma_pd *pd, uint32_t rkey,
				    uint64_t addr, uint32_t len, uint32_t access,
				    struct rdma_span *out);
void rdma_span_put(struct rdma_span *span);

/* IBV_WR_BIND_MW and ibv_bind_mw(), on |qp|, whose PD must be the window's. 0, or enum ibv_wc_status. */
int rdma_mw_bind(struct rdma_qp *qp, const struct fverbs_send_wqe *wqe);
/* IBV_WR_LOCAL_INV (|remote| false) or SEND with invalidate that arrived. Likewise. */
int rdma_key_invalidate(struct rdma_qp *qp, uint32_t key, bool remote);

/* ---- mover.c: copies ---------------------------------------------------------------------- */

enum rdma_copy_kind {
	RDMA_COPY_READ,			/* application memory to |local| */
	RDMA_COPY_WRITE,		/* |local| to application memory */
	/* The span has 8 bytes, a number in host order; the first of |local| becomes what it was. */
	RDMA_COPY_CMP_SWAP,		/* |local|: two numbers, compare and swap */
	RDMA_COPY_FETCH_ADD,		/* |local|: a number, what to add */
};

/*
 * A copy, owned by whoever queues it until |done|. Copies are made in the order in which they were
 * queued, as far as they concern the same process: what is read later sees what was written earlier.
 *
 * Its owner may call rdma_span_put() for the span of a copy that is queued: it then touches neither
 * memory, and |local| may go; done() still comes. Also from within another copy's done(). Only of a copy
 * whose call is late (rdma_stalled()), |local| is still in use: memory of pools stays until done(), frames
 * are looked after by rdma_late_uses().
 */
struct rdma_copy {
	struct rdma_copy *next;		/* the mover's */
	enum rdma_copy_kind kind;
	struct rdma_span span;		/* the mover puts it back */
	void *local;			/* must stay until |done| */
	/*
	 * |error| 0; -EFAULT: the memory is not there any more; -ESRCH: the process is not; or what else the
	 * host has said. In the order
	 * in which the process's copies were queued. Called from rdma_copies_run(), never from within
	 * rdma_copy_queue(); may do anything but destroy contexts. |copy| is its owner's again.
	 */
	void (*done)(struct rdma_copy *copy, int error);
};

void rdma_copy_queue(struct rdma *r, struct rdma_copy *copy);

/*
 * The thread that is in a call of rdma_host.read() or write() will not return to it for long, and another
 * has taken its place: the process's copies wait, those of others go on. What was under way is ended by
 * rdma_resumed(), with what the call has come to, also if the process has gone meanwhile.
 */
struct rdma_run *rdma_stalled(struct rdma *r);
void rdma_resumed(struct rdma_run *run, ssize_t got);
/* A call that is late still has to do with memory of ours in [base, base + len). */
bool rdma_late_uses(const struct rdma *r, const void *base, size_t len);

/* Make all copies that are queued; done() may queue more, which are made too. Returns how many. */
uint32_t rdma_copies_run(struct rdma *r);
/* When it has more to do, ns, beside what is queued; UINT64_MAX: not. */
uint64_t rdma_copies_deadline(const struct rdma *r);

/* ---- cq.c, srq.c, channel.c ---------------------------------------------------------------- */

/*
 * Write a completion; |cqe|'s timestamp is set here. An overrun puts |cq| into error, with its events
 * (IBV_EVENT_CQ_ERR, and fatal errors of its queue pairs). |solicited|: also for who waits for those.
 */
void rdma_cq_post(struct rdma_cq *cq, const struct fverbs_cqe *cqe, bool solicited);
/* The context that |cq| belongs to. */
struct rdma_ctx *rdma_cq_ctx(const struct rdma_cq *cq);
/* How many completions it has been given, ever, and how many of them its application has taken. */
uint64_t rdma_cq_written(const struct rdma_cq *cq);
uint64_t rdma_cq_polled(const struct rdma_cq *cq);

/* A receive request, checked; a copy. */
struct rdma_recv {
	uint64_t wr_id;
	uint32_t num_sge;
	uint32_t total;			/* bytes that it has room for */
	struct fverbs_sge sge[FVERBS_SGE_MAX];
};

/*
 * Take the next request of a receive queue, of at most |max_sge| elements. 1: *|out| is it; 0: there
 * is none; -EPROTO: the ring is broken (whoever calls fails the queue pair); -EINVAL: this request is
 * malformed, it has been taken, |out->wr_id| is valid. The ring's head as the application sees it is the
 * caller's: what has been taken and not completed is still to be flushed should the agent die.
 */
int rdma_recv_take(struct rdma_ring *ring, uint32_t max_sge, struct rdma_recv *out);
/* Likewise. The limit's event is sent here. */
int rdma_srq_take(struct rdma_srq *srq, struct rdma_recv *out);

/* The shared receive queue of that number, or NULL: for XRC. */
struct rdma_srq *rdma_srq_find(struct rdma *r, uint32_t num);
uint32_t rdma_srq_num(const struct rdma_srq *srq);
struct rdma_pd *rdma_srq_pd(const struct rdma_srq *srq);
/* XRC: its completion queue and domain; else NULL. */
struct rdma_cq *rdma_srq_cq(const struct rdma_srq *srq);
struct rdma_xrcd *rdma_srq_xrcd(const struct rdma_srq *srq);

/*
 * Tell the application: |type| is an enum ibv_event_type about the object that it knows as |cookie|.
 * |counter|, which may be NULL, counts the object's events; rdma_async_forget() before it goes.
 */
void rdma_async_event(struct rdma_ctx *ctx, uint64_t cookie, uint32_t type, uint32_t *counter);
/* Drop events that still wait to be sent and count for |counter|. */
void rdma_async_forget(struct rdma_ctx *ctx, const uint32_t *counter);

/* The address handle |handle| of |ctx|, or NULL; its PD. */
struct rdma_ah *rdma_ah_find(struct rdma_ctx *ctx, uint32_t handle);
struct rdma_pd *rdma_ah_pd(const struct rdma_ah *ah);
/*
 * The link that strongly ordered datagrams to queue pair |qpn| take, or others. NULL: it cannot be made at
 * the moment.
 */
struct rdma_link *rdma_ah_link(struct rdma_ah *ah, uint32_t qpn, bool ordered);

/* Whether the command of |len| bytes at |msg| looks at all layers of the group: none may run meanwhile. */
bool rdma_command_of_group(const void *msg, size_t len);

/* Device |index|, or NULL. */
const struct fverbs_device *rdma_device(const struct rdma *r, uint32_t index);

/* ---- areas ---------------------------------------------------------------------------------- */

/* A ring of an application's, mapped: a header (verbs_shm.h) of 192 bytes, then the entries. */
struct rdma_ring {
	uint8_t *base;			/* NULL: none */
	struct rdma_area *area;		/* holds a reference */
	uint32_t entries;		/* a power of two */
	uint32_t stride;		/* bytes */
	uint32_t pos;			/* our own index: the consumer's head, the producer's tail */
};

enum rdma_ring_const { RDMA_RING_HDR = 192 };

/*
 * The ring at |place| of |ctx|, whose entries, at most |max|, have at least |fixed| bytes. The area
 * stays until rdma_ring_close(), which empties |ring|. 0, or -EINVAL with a sentence in |err|.
 */
int rdma_ring_open(struct rdma_ctx *ctx, const struct fverbs_place *place, uint32_t fixed,
		   uint32_t max, struct rdma_ring *out, char *err, size_t errlen);
void rdma_ring_close(struct rdma_ring *ring);

/* Its header's indexes, and entry |pos|. */
static inline struct falcon_ring_idx *rdma_ring_idx(const struct rdma_ring *ring)
{
	return (struct falcon_ring_idx *)ring->base;
}

static inline uint8_t *rdma_ring_at(const struct rdma_ring *ring, uint32_t pos)
{
	return ring->base + RDMA_RING_HDR + (uint64_t)(pos & (ring->entries - 1)) * ring->stride;
}

/* ---- qp.c: what commands need ------------------------------------------------------------------ */

/* What a queue pair is made of; the objects are of |ctx| or, for XRC, shared with it. */
struct rdma_qp_init {
	struct rdma_ctx *ctx;
	struct rdma_pd *pd;		/* NULL: XRC receive */
	struct rdma_cq *send_cq, *recv_cq;	/* NULL: XRC has one side only */
	struct rdma_srq *srq;		/* NULL: its own receive queue */
	struct rdma_xrcd *xrcd;		/* NULL: not XRC receive */
	uint32_t device;		/* index */
	struct fverbs_create_qp req;	/* as it came; handles in it mean nothing any more */
	struct rdma_ring sq, rq;	/* opened; the queue pair owns them on success */
};

/* In INIT's predecessor state RESET, with a number of its own. 0, -EINVAL, -ENOMEM, -ENOSPC; |err|. */
int rdma_qp_create(struct rdma *r, const struct rdma_qp_init *init, struct rdma_qp **out, char *err,
		   size_t errlen);
/* All its work vanishes without completions. The caller drops its references afterwards. */
void rdma_qp_destroy(struct rdma_qp *qp);
/* 0, -EINVAL with a sentence: not a transition of InfiniBand 10.3.1, or attributes out of range. */
int rdma_qp_modify(struct rdma_qp *qp, uint32_t mask, const struct fverbs_qp_attr *attr, char *err,
		   size_t errlen);
void rdma_qp_query(const struct rdma_qp *qp, struct fverbs_qp_attr *out);
/* The application has rung for it. */
void rdma_qp_rung(struct rdma_qp *qp);
/* To IBV_QPS_ERR, with |event| (enum ibv_event_type) if not negative; flushes. */
void rdma_qp_fatal(struct rdma_qp *qp, int event);
uint32_t rdma_qp_num(const struct rdma_qp *qp);
/* Asynchronous events that it has caused. */
uint32_t rdma_qp_events(const struct rdma_qp *qp);

/* Of a queue pair (stats.h). */
#define RDMA_QP_STATS(V)										\
	V(counter, tx_packets, none, "transactions that the core has taken")				\
	V(counter, tx_bytes, bytes, "payload of pushes among them")					\
	V(counter, rx_packets, none, "requests of the peer; of those that XDP carries out, late") \
	V(counter, rx_bytes, bytes, "payload of these")							\
	V(counter, sent, none, "requests of the send queue that ended well")				\
	V(counter, sent_in_error, none, "requests of the send queue that ended in error, not flushed")	\
	V(counter, received, none, "messages that took a receive request")				\
	V(counter, received_in_error, none, "receive requests that ended in error")			\
	V(counter, flushed, none, "requests of both queues that were flushed")				\
	V(counter, refused, none, "requests of the peer refused with a NAK")				\
	V(counter, not_ready, none, "requests of the peer refused for want of a receive request")	\
	V(counter, lost, none, "datagrams that never went to their peer, which was not there")		\
	V(counter, copies_failed, none, "copies to or from memory of the application that failed")

struct rdma_qp_stats {
	RDMA_QP_STATS(STAT_MEMBER)
	int copy_error;			/* of the latest of |copies_failed|: an errno, negative; 0: none */
};

/* Of a completion queue (stats.h). */
#define RDMA_CQ_STATS(V)										\
	V(counter, completions, none, "completions written")						\
	V(counter, dropped, none, "completions not written because the queue had overrun")

struct rdma_cq_stats {
	RDMA_CQ_STATS(STAT_MEMBER)
};

/* What queue pairs and completion queues had counted when they were destroyed, all together. */
struct rdma_past_stats {
	struct rdma_qp_stats qp;
	struct rdma_cq_stats cq;
};
const struct rdma_past_stats *rdma_past_stats(const struct rdma *r);
const struct rdma_qp_stats *rdma_qp_stats(const struct rdma_qp *qp);
struct rdma_qp *rdma_qp_find(struct rdma *r, uint32_t num);

/* What a queue pair had under way at a moment, to tell when it and its application are through with it. */
struct rdma_drain {
	uint32_t sends;			/* requests of the send queue, ever, that are to end; modulo 2^32 */
	bool ended;			/* they have, and |polled| is valid */
	uint64_t polled[2];		/* completions of send and receive CQ, ever, that are to be polled */
};

enum rdma_drain_state {
	RDMA_DRAIN_SENDING,		/* requests have not ended */
	RDMA_DRAIN_UNPOLLED,		/* they have; the application has not polled all completions since */
	RDMA_DRAIN_DONE,		/* it has, or there is no such queue pair */
};

/* Take down in |d| what queue pair |num| has under way now; rdma_qp_drain() tells how far it is since. */
void rdma_qp_drain_begin(struct rdma *r, uint32_t num, struct rdma_drain *d);
enum rdma_drain_state rdma_qp_drain(struct rdma *r, uint32_t num, struct rdma_drain *d);

const struct rdma_qp_init *rdma_qp_parts(const struct rdma_qp *qp);
/* The list of what mw.c has bound to it. */
struct rdma_mr **rdma_qp_windows(struct rdma_qp *qp);

/* ---- link.c: connections ------------------------------------------------------------------------- */

/* How a queue pair orders requests, what its errors do, and its service; both ends' must be the same. */
enum rdma_link_mode {
	RDMA_LINK_ORDERED = 0x01,	/* strongly ordered; without one of the two: weakly (RDMA 6.2) */
	RDMA_LINK_UNORDERED = 0x02,
	RDMA_LINK_CIE = 0x04,		/* complete-in-error; else verbs compatible (RDMA 6.3) */
	RDMA_LINK_XRC = 0x08,
	RDMA_LINK_MODES = 0x0f,
};

/*
 * A Falcon connection for queue pairs. RC, UC and XRC have one each, made when the queue pair goes to
 * RTR, by whichever end comes first; datagrams share one with each peer (RDMA 6.6.3). A link exists
 * from its first use; it comes up later, or does not.
 */
struct rdma_link_ops {
	/* It is up: transactions of rdma_link_max_len() bytes may be started. */
	void (*up)(void *owner, struct rdma_link *link);
	/* rdma_link_max_len() has changed. */
	void (*resized)(void *owner, struct rdma_link *link);
	/* It has been lost, or could not be made in time. No further calls; it is still to be put. */
	void (*down)(void *owner, struct rdma_link *link, const char *why);
};

/*
 * For |qp| at RTR: the connection to queue pair |dest_qpn| behind |ah|. |modes|: enum rdma_link_mode,
 * which the peer's queue pair must have, too. |timeout_ns|: down() if it is not up until then, 0: when it
 * is lost only. It is charged to |qp|'s user. NULL with a sentence in |err| and errno set if it cannot be
 * made: EDQUOT or ENOMEM; EINVAL for all else.
 */
struct rdma_link *rdma_link_connect(struct rdma_qp *qp, const struct fverbs_ah_attr *ah,
				    uint32_t dest_qpn, uint8_t modes, uint64_t timeout_ns,
				    const struct rdma_link_ops *ops, void *owner, char *err,
				    size_t errlen);
/*
 * For address handles: the connection shared by all datagrams to |ah|'s host that are strongly ordered, or by
 * all others, to layer |peer_member| there (group.h). It is made anew by itself when it is lost.
 * rdma_link_put_datagram() ends it. It is charged to |ctx|'s user. Fails like rdma_link_connect().
 */
struct rdma_link *rdma_link_datagram(struct rdma_ctx *ctx, uint32_t device, const struct fverbs_ah_attr *ah,
				     uint32_t peer_member, bool ordered, char *err, size_t errlen);

/* A datagram that waits for its link, or for room in it. */
struct rdma_link_wait {
	TAILQ_ENTRY(rdma_link_wait) entry;	/* the link's */
	struct rdma_link *link;
	bool held;			/* takes one of the link's places */
	/*
	 * |up|: the link may have room; false: it has none, and |w| goes on waiting, before the others. Else
	 * the peer is not to be reached, and what waits is lost on the way.
	 */
	bool (*done)(struct rdma_link_wait *w, bool up);
};

/* |w|, with done() and |held| filled in, stays until done() returns true, or rdma_link_unwait(). */
void rdma_link_wait(struct rdma_link *link, struct rdma_link_wait *w);
void rdma_link_unwait(struct rdma_link_wait *w);
/* Somebody waits: who comes now has to go behind. */
bool rdma_link_has_waits(const struct rdma_link *link);
/* It is not up, and datagrams have waited long enough to say that it will not be. */
bool rdma_link_unreachable(const struct rdma_link *link);
/* How many more may be held. */
uint32_t rdma_link_places(const struct rdma_link *link);
/* The core may take more. */
void rdma_link_room(struct rdma_link *link);

/* The queue pair is done with it. May be called from anywhere, its own down() included. */
void rdma_link_put(struct rdma_link *link);
/* An address handle of |ctx|'s is. */
void rdma_link_put_datagram(struct rdma_link *link, const struct rdma_ctx *ctx);
/* NULL while it is not up. */
struct fcore_conn *rdma_link_core(const struct rdma_link *link);
/* Bytes of a transaction: the layer's header and payload. 0 while it is not up. */
uint32_t rdma_link_max_len(const struct rdma_link *link);
/* UP: the peer reads the reason in responses in error (falcon/rdma.h). */
bool rdma_link_reasons(const struct rdma_link *link);
/* Both ends know what |room| of a response means. */
bool rdma_link_pads(const struct rdma_link *link);
/* Who is at the other end, as GIDs, for completions and the global routing header of datagrams. */
void rdma_link_gids(const struct rdma_link *link, uint8_t local[16], uint8_t remote[16]);
/* The queue pair that the link belongs to; NULL: datagrams. */
struct rdma_qp *rdma_link_qp(const struct rdma_link *link);
/*
 * The link that a connection of the core belongs to: for the callbacks of struct ulp_ops. NULL: it was
 * put, and the connection is about to go.
 */
struct rdma_link *rdma_link_of(struct rdma *r, const struct fcore_conn *c);

/* ---- the layer -------------------------------------------------------------------------------------- */

/* NULL if memory is short. |host| is copied. */
struct rdma *rdma_create(const struct rdma_host *host);
/* Closes all contexts. */
void rdma_destroy(struct rdma *r);
/* The agent has to wait for a CPU, or no longer: applications that poll are to know. */
void rdma_set_cpu_pressure(struct rdma *r, bool pressure);
/* The devices or their addresses may have changed: tell the applications if so. */
void rdma_devices_refresh(struct rdma *r);
extern const struct ulp_ops rdma_ulp_ops;

/* The user and process that a context belongs to. */
struct rdma_owner {
	void *proc;			/* for rdma_host.read() and write() */
	uint32_t uid;
	int pid;
};

/*
 * Attach an application: |area0| is mapped memory of |area0_size| bytes that begins with a struct
 * fverbs_ctx_shm, to be unmapped by the layer when nothing refers to it any more; |async_fd| is the
 * socket for asynchronous events, the caller's until rdma_ctx_close(). NULL with a sentence in |err|,
 * in which case the memory stays the caller's.
 */
struct rdma_ctx *rdma_ctx_open(struct rdma *r, const struct rdma_owner *owner, void *area0,
			       uint64_t area0_size, int async_fd, char *err, size_t errlen);
/* The application has gone: everything of it vanishes. */
void rdma_ctx_close(struct rdma_ctx *ctx);
/*
 * A command of |len| bytes, with |fd| (-1: none), which the callee takes over. The answer is written
 * to |out|, which has room for FVERBS_MSG_MAX bytes, and its descriptor, the caller's to close, to
 * *|out_fd| (-1: none). Returns its length, or -EPROTO: the application breaks the rules, close it.
 */
int rdma_command(struct rdma_ctx *ctx, const void *cmd, size_t len, int fd, void *out, int *out_fd);

/* What rdma_command() will ask of its host with a command, which the host may prepare. */
enum rdma_area_wanted {
	RDMA_AREA_NONE,
	RDMA_AREA_SHARED,	/* rdma_host.map(), of the command's descriptor */
	RDMA_AREA_OFFLOAD,	/* rdma_host.memory_new(), of *|size| bytes */
};
enum rdma_area_wanted rdma_command_area(const void *cmd, size_t len, uint64_t *size);

#endif /* FALCON_ULP_RDMA_RDMA_H */
