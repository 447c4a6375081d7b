/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What queue pairs are made of, for their own sources.
 *
 * Requester: a work request becomes an op; an op is cut into transactions (RDMA 6.7), which wait in
 * order until their bytes have been fetched, then go to the core. Ops end in order, unless unordered.
 *
 * Responder: each received packet becomes an item. Items stand in a ring by sequence number; what they
 * carry is placed at once, what they cause (completions, errors) happens when all before it is placed.
 *
 * Transactions and items may outlive their queue pair: the core and the mover refer to them.
 */
#ifndef FALCON_ULP_RDMA_QP_H
#define FALCON_ULP_RDMA_QP_H

#include <infiniband/verbs.h>

#include "falcon/wire/rdma.h"
#include "ulp/rdma/layer.h"

enum rdma_qp_const {
	QP_FIRST_INDEX = 2,		/* 0 and 1 are special in InfiniBand */
	QP_BUDGET = 64,			/* transactions a queue pair prepares in a turn */
	QP_FLUSH_BUDGET = 4096,		/* completions that a flush gives in a turn */
	QP_WINDOW = FCORE_MAX_TXNS,	/* sequence numbers that may be under way */
	QP_LOOSE_MAX = 4 * FCORE_MAX_TXNS,	/* datagrams with the core whose sends are over */
	QP_MSGS = 64,			/* messages under way to an unordered responder */
	QP_SEGMENT_MAX = 9216,		/* bytes of payload of a transaction */
	QP_MESSAGE_MAX = 1U << 31,	/* bytes (InfiniBand 9.7.7.1) */
	QP_GRH = 40,			/* bytes in front of a datagram */
};

/* ---- pool.c --------------------------------------------------------------------------------- */

/* Elements of one size, made in chunks, never given back before the end. */
struct rdma_slab {
	void *free;			/* first word of an element: the next */
	void *chunks;			/* first word of a chunk: the next */
	uint32_t size;			/* bytes of an element */
	uint32_t used, made, max;	/* elements */
};

enum { POOL_CLASSES = 3 };

/* Buffers for payload between applications and the core. */
struct rdma_pool {
	struct rdma_slab slab[POOL_CLASSES];
};

void rdma_slab_init(struct rdma_slab *s, uint32_t size, uint32_t max);
/* An element, zeroed as far as |zero| bytes; NULL: |max| are in use, or memory is short. */
void *rdma_slab_get(struct rdma_slab *s, uint32_t zero);
void rdma_slab_put(struct rdma_slab *s, void *e);
void rdma_slab_free(struct rdma_slab *s);

void rdma_pool_init(struct rdma_pool *p);
/*
 * A buffer of at least |len| bytes, at most QP_SEGMENT_MAX + QP_GRH, for who has |held| of them already
 * and may have no more than are free. NULL: come again later.
 */
void *rdma_pool_get(struct rdma_pool *p, uint32_t len, uint32_t held);
/* |len| as it was given to rdma_pool_get(). NULL is nothing. */
void rdma_pool_put(struct rdma_pool *p, void *buf, uint32_t len);
void rdma_pool_free(struct rdma_pool *p);

/* ---- move.c --------------------------------------------------------------------------------- */

struct rdma_move;

struct rdma_piece {
	struct rdma_copy copy;
	struct rdma_move *move;
	struct rdma_piece *next;	/* of the same move */
};

/* Copies between one piece of our memory and pieces of an application's, that end together. */
struct rdma_move {
	struct rdma_qps *qps;
	void (*done)(struct rdma_move *m);	/* the last of them has ended */
	uint32_t pending;		/* copies */
	int error;			/* the first one's: 0 or a negative errno */
	struct rdma_piece *pieces;	/* all of them; |first| is one */
	struct rdma_piece first;
	void *kept;			/* our memory's bytes, once its owner took it back; malloc()'s */
};

void rdma_move_init(struct rdma_move *m, struct rdma_qps *qps, void (*done)(struct rdma_move *m));
/* One more copy. Takes |span| over. 0 or -ENOMEM. */
int rdma_move_add(struct rdma_move *m, enum rdma_copy_kind kind, struct rdma_span *span,
		  void *local);
/* Nothing is touched any more. done() comes if anything is pending. */
void rdma_move_cancel(struct rdma_move *m);
/*
 * Our memory goes, from which |m| copies to applications: what is pending is copied from a duplicate, or
 * cancelled if there is no memory for that. No copy is made here.
 */
void rdma_move_keep(struct rdma_move *m);

/* ---- objects -------------------------------------------------------------------------------- */

/* A work request of the send queue, from fetching to completion. Ring slot: its position. */
struct rdma_op {
	uint64_t wr_id;
	uint32_t left;			/* transactions that have not ended */
	uint32_t byte_len;
	uint8_t opcode;			/* enum ibv_wr_opcode */
	uint8_t status;			/* enum ibv_wc_status */
	uint8_t vendor;			/* enum falcon_completion_code that caused it */
	bool signaled;
	bool reading;			/* counts for max_rd_atomic */
	bool sending;			/* counts for the messages under way */
	bool cut;			/* all its transactions have been made */
	bool done;			/* nothing more will change |status| */
	bool posted;			/* its completion has been given, ahead of others (unordered) */
};

/* The work request that is being cut. */
struct rdma_cut {
	struct fverbs_send_wqe wqe;
	struct fverbs_sge sge[FVERBS_SGE_MAX];
	struct rdma_op *op;		/* NULL: none */
	bool started;			/* checked: transactions can be made */
	const uint8_t *inline_data;	/* in the ring; NULL: take |sge| */
	uint32_t nsge, at_sge, at_off;	/* where the next byte is; bytes into it */
	uint32_t total, sent;		/* bytes of the message */
	uint32_t rmsn;
};

enum rdma_txn_state {
	RDMA_TXN_FETCH,			/* its bytes are being copied */
	RDMA_TXN_READY,			/* waits for its turn, or for room in the core */
	RDMA_TXN_HELD,			/* a datagram that waits for its link */
	RDMA_TXN_CORE,
	RDMA_TXN_SINK,			/* its response is being copied to the application */
};

/* A transaction of ours. Cookie of the core. */
struct rdma_txn {
	struct rdma_qps *qps;
	struct rdma_qp *qp;		/* NULL: has lost interest */
	struct rdma_op *op;		/* valid while |qp|; NULL: its send is over, a datagram is not */
	LIST_ENTRY(rdma_txn) all;	/* of |qp| */
	STAILQ_ENTRY(rdma_txn) queue;	/* of |qp|, until the core has it */
	struct rdma_move move;
	struct falcon_rdma_hdr hdr;
	uint32_t ah;			/* |datagram|: handle of the address handle */
	struct rdma_link_wait wait;	/* HELD */
	struct rdma_span span;		/* READ: where it goes; direct: what keeps the memory */
	void *buf;			/* of the pool; NULL: none */
	uint32_t buf_len;		/* as the pool was asked */
	const void *payload;
	uint32_t len;			/* bytes of payload; pull: of the response, all in all */
	uint8_t state;			/* enum rdma_txn_state */
	uint8_t status;			/* enum ibv_wc_status that the response gave */
	bool pull, datagram;
	bool loose;			/* counts for |qp->nloose| */
	bool answered;			/* pull: a response has come */
};

/* A packet that a peer has sent. Cookie of responses. */
struct rdma_item {
	struct rdma_qps *qps;
	struct rdma_qp *qp;		/* NULL: has lost interest */
	LIST_ENTRY(rdma_item) all;	/* of |qp| */
	STAILQ_ENTRY(rdma_item) wait;	/* of |qp|: for a buffer; datagrams: for its completion */
	struct rdma_move move;
	struct rdma_span span;		/* READ: what keeps direct memory */
	struct rdma_cq *cq;		/* NULL: no completion is to be given */
	struct rdma_srq *srq;		/* that gave the receive request, with |cq| */
	struct fverbs_cqe cqe;
	uint64_t sink_va;		/* STETH */
	uint32_t sink_lkey;
	uint32_t rsn, sn, rmsn;
	uint64_t number[2];		/* atomic: operands, then what was there */
	void *buf;
	uint32_t len;			/* bytes: of the payload, or to be read */
	uint32_t inv_rkey;
	int16_t event;			/* enum ibv_event_type if it fails; -1: none */
	uint8_t opcode;			/* of the packet */
	uint8_t pad;			/* bytes behind a READ's response, 0..3 */
	uint8_t nak;			/* enum falcon_rdma_nak, with |failed| */
	bool failed;
	bool room;			/* READ: XDP would have answered it, had its frame been longer */
	bool se;			/* solicited */
	bool invalidate;
	bool in_ring;
	bool placed;
	bool answered;			/* the core has heard */
	bool in_core;			/* a response that is not acknowledged */
	bool waits;			/* in the queue for a buffer */
};

/* A receive request that has been taken for a message. */
struct rdma_msg {
	bool used;
	bool given;			/* the last packet's item has its completion, or had it */
	uint32_t rmsn;
	uint32_t got, total;		/* bytes; |total| is UINT32_MAX until the last packet has come */
	uint32_t end;			/* bytes: ordered, where the next packet begins */
	struct rdma_recv recv;
	struct rdma_srq *srq;		/* that it was taken from */
};

enum rdma_rx_kind {
	RDMA_RX_IDLE,			/* between messages */
	RDMA_RX_SEND,
	RDMA_RX_WRITE,
};

struct rdma_qp {
	struct rdma_qps *qps;
	struct rdma *r;
	struct rdma_qp_init init;
	struct rdma_mr *windows;	/* mw.c's */
	uint32_t num;
	uint8_t type;			/* enum ibv_qp_type */
	uint8_t state;			/* enum ibv_qp_state */
	uint8_t transport;		/* enum falcon_rdma_transport */
	bool ordered;			/* its connection is */
	bool unordered;			/* completions are not in order either (RDMA 6.2) */
	bool cie;			/* complete-in-error mode (RDMA 6.3) */
	bool draining;			/* SQD: SQ_DRAINED is to come */
	bool comm_est;			/* the event was given */
	struct fverbs_qp_attr attr;
	uint32_t async_events;		/* given, for FVERBS_DESTROY_QP */
	struct rdma_qp_stats stats;

	struct rdma_link *link;		/* not UD */
	struct fcore_conn *core;	/* that we send on, while it is up */
	struct fcore_conn *rx_core;	/* that packets come on; another one if the peer is |qp| itself */
	bool lost;			/* the link went down: nothing can be sent any more */
	uint32_t segment;		/* bytes of payload of a transaction, whole words; 0: not up yet */
	uint64_t deadline;		/* ns: requests wait for the link until then; 0: none do */

	/* In the list of those with something to do, or of those that wait for buffers. */
	TAILQ_ENTRY(rdma_qp) ready;
	bool is_ready;
	bool flushing;			/* requests are left to be flushed */
	uint32_t buffers;		/* of the pool, that its transactions and items hold */
	LIST_ENTRY(rdma_qp) timed;	/* with |deadline| */

	/* Requester */
	struct rdma_op *ops;		/* init.sq.entries of them */
	uint32_t op_head;		/* oldest that has not been completed; init.sq.pos is next */
	struct rdma_cut cut;
	STAILQ_HEAD(, rdma_txn) txq;	/* made, and not in the core */
	LIST_HEAD(, rdma_txn) txns;
	uint32_t ntxns;			/* that have an op */
	uint32_t reads;			/* ops under way that count for max_rd_atomic */
	uint32_t tx_sn, tx_rmsn, tx_read_rmsn;
	uint32_t sends;			/* unordered: messages under way that take a receive request */
	bool blocked;			/* the core had no room; on_xon() comes */
	bool stopped;			/* a request has failed: none is started any more */
	uint32_t nheld;			/* UD: places of links that its datagrams have */
	uint32_t nloose;		/* UD: datagrams that the core has and whose sends are over */

	/* Responder */
	LIST_HEAD(, rdma_item) items;
	STAILQ_HEAD(, rdma_item) parked;	/* READs that wait for a buffer */
	STAILQ_HEAD(, rdma_item) arrived;	/* datagrams that have not been completed, oldest first */
	struct rdma_item **ring;	/* QP_WINDOW of them, by sequence number */
	uint32_t rx_base, rx_next;	/* oldest not retired; one past the latest received */
	uint32_t rx_rmsn, rx_read_rmsn;	/* next that a receive request is taken for; next READ */
	struct rdma_msg *msgs;		/* 1, or QP_MSGS of them: by RMSN */
	uint32_t nmsgs;
	uint32_t rq_done;		/* of the receive queue: requests that have been completed */
	uint32_t write_len;		/* bytes of the WRITE that is being retired */
	uint8_t rx_kind;		/* enum rdma_rx_kind; ordered */
	bool rx_stopped;		/* an item has failed that is not retired yet */
};

struct rdma_qp_slot {
	struct rdma_qp *qp;
	uint32_t next;			/* free ones */
	uint8_t variant;
};

struct rdma_qps {
	struct rdma *r;
	struct rdma_qp_slot *slots;
	uint32_t nslots, free_slot;	/* 0: none */
	TAILQ_HEAD(rdma_qp_list, rdma_qp) ready;
	LIST_HEAD(, rdma_qp) timed;
	struct rdma_slab txns, items, pieces;
	struct rdma_pool pool;
	bool starved;			/* somebody waits for what the pools give back, ... */
	bool fed;			/* ... and something was given back since */
};

/* ---- qp.c ------------------------------------------------------------------------------------- */

/* Look at |qp| in the next round. */
void rdma_qp_kick(struct rdma_qp *qp);
/* Tell the application: |type| is an enum ibv_event_type. */
void rdma_qp_event(struct rdma_qp *qp, uint32_t type);
/* A completion of |qp| with what all have in common. */
struct fverbs_cqe rdma_qp_cqe(const struct rdma_qp *qp, struct rdma_cq *cq, uint64_t wr_id,
			      uint8_t status);
static inline bool rdma_qp_receives(const struct rdma_qp *qp)
{
	return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD ||
	       qp->state == IBV_QPS_SQE;
}

/* ---- qp_state.c, qp_modify.c -------------------------------------------------------------------- */

/* NULL, or why a queue pair of |type| may not go from |from| to |to| with the attributes |mask|. */
const char *rdma_qp_transition(uint8_t type, uint8_t from, uint8_t to, uint32_t mask);

/* Requests wait for the link: as long as retries of a peer that is not there would take. */
void rdma_qp_await_link(struct rdma_qp *qp);
/* Bytes of payload, padding included, of a transaction on a link that carries |max_len|. */
uint32_t rdma_qp_segment(uint32_t max_len);

/* ---- qp_flush.c ------------------------------------------------------------------------------------ */

/* All that is under way loses interest in |qp|; without completions unless |flush|. */
void rdma_qp_abandon(struct rdma_qp *qp, bool flush);
/* Flush what has been posted since, as much as goes in a turn. Returns how many. */
uint32_t rdma_qp_flush(struct rdma_qp *qp);
/* UD: an error of the send queue alone. */
void rdma_qp_send_error(struct rdma_qp *qp);

/* ---- req*.c --------------------------------------------------------------------------------------- */

/* Start requests and hand transactions to the core. Returns how much was done. */
uint32_t rdma_req_run(struct rdma_qp *qp);
/* Check qp->cut and count its bytes. Returns enum ibv_wc_status. */
uint8_t rdma_req_check(struct rdma_qp *qp);
/* Make the next transaction of qp->cut. False: nothing to make it of now. */
bool rdma_req_cut(struct rdma_qp *qp);
/* Opcode bits 4:0 of a packet of work request |wr|: First, Middle, Last or Only; what comes with the end. */
uint8_t rdma_push_opcode(uint8_t wr, bool first, bool last);
/* Hand what is ready to the core. Returns how many. */
uint32_t rdma_req_submit(struct rdma_qp *qp);
/* |op| has failed, before its transactions, if any, have ended. */
void rdma_req_fail(struct rdma_qp *qp, struct rdma_op *op, uint8_t status, uint8_t vendor);
/* Give completions of what is done. */
void rdma_req_retire(struct rdma_qp *qp);
/* Hand |t| to the core, to |c|. 0 or a negative errno; it may end before this returns. */
int rdma_txn_submit(struct rdma_txn *t, struct fcore_conn *c);
/* One transaction of |op| less is under way: the request may be over before the transaction is. */
void rdma_op_left(struct rdma_qp *qp, struct rdma_op *op);
/* |t| has ended with |status|. It is freed. */
void rdma_txn_end(struct rdma_txn *t, uint8_t status, uint8_t vendor);
void rdma_txn_free(struct rdma_txn *t);
/* It is of no interest to its queue pair any more. */
void rdma_txn_orphan(struct rdma_txn *t);
/* A buffer of |t| for |len| bytes. False: there is none. */
bool rdma_txn_buffer(struct rdma_txn *t, uint32_t len);
/* A transaction of qp->cut, or NULL. */
struct rdma_txn *rdma_txn_new(struct rdma_qp *qp);
/* All copies of a push have ended. */
void rdma_txn_fetched(struct rdma_move *m);

/* ---- resp*.c ------------------------------------------------------------------------------------- */

/* An item for a packet of |qp| that was accepted; NULL: none can be made. */
struct rdma_item *rdma_item_new(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn);
/* A copy for |qp| has ended with |error|, negative: what a completion's status does not tell. */
static inline void rdma_copy_failed(struct rdma_qp *qp, int error)
{
	qp->stats.copies_failed++;
	qp->stats.copy_error = error;
}
/* A request of |qp|'s own receive queue, if it has one, is about to be completed. */
static inline void rdma_rq_done(struct rdma_qp *qp)
{
	if (qp->init.rq.base)
		falcon_store(&rdma_ring_idx(&qp->init.rq)->head, ++qp->rq_done);
}
/* Give |it|'s completion, which it has, and count it. */
void rdma_resp_complete(struct rdma_item *it, struct rdma_qp *qp);
/* Nothing refers to it any more: free it. Else later. */
void rdma_item_put(struct rdma_item *it);
void rdma_item_fail(struct rdma_item *it, enum falcon_rdma_nak nak, int event);
/* |it| is placed, or has failed: retire what can be. */
void rdma_item_placed(struct rdma_item *it);
void rdma_resp_send(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn,
		    const uint8_t *data, uint32_t len);
void rdma_resp_write(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn,
		     const uint8_t *data, uint32_t len);
void rdma_resp_pull(struct rdma_qp *qp, const struct falcon_rdma_hdr *h, uint32_t rsn,
		    uint32_t request_len);
/* READs that waited for buffers. */
void rdma_resp_unpark(struct rdma_qp *qp);
/* Answer a pull with the error |it->nak|. */
void rdma_resp_error(struct rdma_item *it, struct fcore_conn *c);
/* Copy |len| bytes to |off| of what |recv| names. enum ibv_wc_status. */
uint8_t rdma_scatter(struct rdma_move *m, struct rdma_pd *pd, const struct rdma_recv *recv,
		     uint32_t off, const uint8_t *data, uint32_t len);
/* The packets of |qp| go, with their connection: what they bring is placed all the same. */
void rdma_resp_keep(struct rdma_qp *qp);
/* The packet counts: the sequence goes on behind it. */
void rdma_resp_took(struct rdma_qp *qp, const struct falcon_rdma_hdr *h);
/* Whose memory requests of peers reach; with XRC the SRQ's. NULL: no such SRQ. */
struct rdma_pd *rdma_qp_remote_pd(struct rdma_qp *qp, const struct falcon_rdma_hdr *h);

/* ---- resp_exec.c ------------------------------------------------------------------------------------ */

/* A request has come for |qp|: later ones may be such as XDP can carry out. */
void rdma_exec_offer(struct rdma_qp *qp);
/* |qp| changes: XDP carries out nothing of it, unless it is offered again. */
void rdma_exec_withdraw(struct rdma_qp *qp);

/* ---- ud_send.c -------------------------------------------------------------------------------------- */

/* qp->cut is a datagram: how long may it be? False: it has failed. */
bool rdma_ud_begin(struct rdma_qp *qp);
/* |t| is READY, in no queue: it is sent, held or lost. */
void rdma_ud_submit(struct rdma_txn *t);
/* |t|, HELD, is held no more. */
void rdma_ud_unhold(struct rdma_txn *t);

/* ---- ud.c ------------------------------------------------------------------------------------------- */

/* A datagram has come on |link|; it may always be dropped. */
void rdma_ud_receive(struct rdma *r, struct rdma_link *link, const struct falcon_rdma_hdr *h,
		     const uint8_t *data, uint32_t len);

#endif /* FALCON_ULP_RDMA_QP_H */
