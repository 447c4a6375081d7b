/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw upper layer's own structures, shared by its source files. */
#ifndef FALCON_ULP_RAW_PRIV_H
#define FALCON_ULP_RAW_PRIV_H

#include <sys/queue.h>

#include "ulp/raw.h"

enum raw_limits {
	RAW_TAKE_BUDGET = 128,		/* submissions taken of a client in one round */
	RAW_SUBMIT_BUDGET = 256,	/* transactions started on a connection in one round */
	RAW_RNR_CODE = 8,		/* 0.16 ms: about what waking the application takes */
};

/* A service that takes no message for this long is answered for with an error, not with RNR. */
#define RAW_STUCK_NS 5000000000ULL

/* An operation of an application, from client_take() to client_complete(). */
struct raw_op {
	struct raw_client *rc;
	struct raw_op *next;	/* in a connection's queue, or in the free list */
	struct falcon_sqe sqe;
	uint32_t submitted;	/* bytes handed to the core */
	uint32_t moved;		/* bytes whose transactions ended well */
	uint32_t inflight;	/* transactions in the core */
	bool started;		/* a transaction was handed to the core */
	bool queued;		/* in the connection's queue */
	uint8_t status;		/* the first error, or kCmplAck */
	uint8_t ulp_code;
};

/* An attached application. Lives until the last operation and response that refer to it end. */
struct raw_client {
	struct raw_ulp *ulp;
	struct client *cl;
	uint32_t refs;		/* 1 while attached + operations + responses in the core */
	bool detached;		/* and in |gone| */
	uint32_t uid;
	LIST_ENTRY(raw_client) link;
	void (*freed)(void *arg);	/* NULL: nobody wants to know */
	void *freed_arg;
	const char *broken;	/* why it is to be detached */
	uint64_t full_since;	/* ns: its message ring has been full; 0: it has not */
	struct raw_op *free_ops;
	struct raw_op ops[FALCON_CQ_ENTRIES];	/* as many as client_take() lets be outstanding */
};

/* A transaction of ours in the core; the cookie is its address. */
struct raw_seg {
	struct raw_op *op;
	struct raw_conn *conn;
	struct raw_seg *next;	/* in the connection's free list */
	uint64_t local;		/* bytes into the client's arena */
	uint32_t len;
	uint32_t got;		/* bytes of response that came: GET */
};

/*
 * A connection. Stays allocated from when it first comes up until raw_conn_gone(), so that cookies
 * stay valid; and there may be very many, most of them idle, so segments come with the first use.
 */
struct raw_conn {
	struct fcore_conn *c;	/* NULL: down */
	int64_t owner;		/* user whose applications may use it; -1: all may */
	uint32_t segment;
	bool blocked;		/* the core said -EAGAIN; on_xon() comes */
	bool ready;		/* in the list of those with something to submit */
	bool gone;		/* to be freed when that list is gone through */
	struct raw_op *head, **tail;
	struct raw_conn *next_ready;
	struct raw_seg *segs;	/* FCORE_MAX_TXNS of them, or NULL: none was needed yet */
	struct raw_seg *free_segs;
};

struct raw_ulp {
	const struct raw_ops *ops;
	void *arg;
	uint32_t max_conns;
	uint32_t clients_used;		/* slots ever used: how far to look */
	uint16_t next_service;		/* where to look for a free one */
	struct raw_conn *ready, **ready_tail;
	struct raw_client *clients[RAW_MAX_CLIENTS];
	LIST_HEAD(, raw_client) gone;	/* detached, with operations or responses in the core */
	struct raw_client *services[65536];
	struct raw_conn *conns[];	/* [max_conns] */
};

/* raw.c: drop a reference to |rc|. */
void raw_client_put(struct raw_client *rc);

/* raw_initiator.c */

/* Check operation |op|, just taken, and queue it on its connection, or complete it in error. */
void raw_op_start(struct raw_ulp *ulp, struct raw_op *op);
/* Free |conn|, which is in no list. */
void raw_conn_free(struct raw_conn *conn);
/* Start transactions of |conn| as long as the core takes them. Returns how many. */
uint32_t raw_conn_submit(struct raw_conn *conn, uint64_t now);
/* End the queued operations of |conn|, of |rc| only unless that is NULL, with kCmplDeadConn. */
void raw_conn_flush(struct raw_conn *conn, const struct raw_client *rc);
/* Put |conn| among those that raw_pump() looks at, if it can submit something. */
void raw_conn_kick(struct raw_ulp *ulp, struct raw_conn *conn);

#endif /* FALCON_ULP_RAW_PRIV_H */
