/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA connection management: ids with ports, and what the managers of two hosts say to each other
 * about them. README.md has the messages and who sends which when.
 */
#ifndef FALCON_ULP_RDMA_CM_H
#define FALCON_ULP_RDMA_CM_H

#include <sys/queue.h>

#include "falcon/abi/rdmacm.h"
#include "ulp/rdma/objects.h"

/* ---- what rdma.c calls, with r->now set ------------------------------------------------------------ */

int rdma_cm_open(struct rdma *r);
void rdma_cm_close(struct rdma *r);
uint32_t rdma_cm_run(struct rdma *r);
uint64_t rdma_cm_deadline(const struct rdma *r);
void rdma_cm_note(struct rdma *r, const struct ulp_note *note);
/* As struct ulp_ops.note_for(). */
int rdma_cm_note_for(const struct rdma *r, const struct ulp_note *note, bool all);

/* ---- cm_wire.c: messages ---------------------------------------------------------------------------- */

enum rcm_const {
	RCM_VERSION = 1,
	RCM_HEADER = 32,		/* bytes before private data */
	RCM_IDS = RDMA_CM_IDS_MAX + 1,	/* of a layer, with 0 */
	RCM_PORTS = 1 << 16,
	RCM_EVENTS_MAX = 64,		/* of an id that commands have caused and nobody has fetched */
	RCM_CHANNELS_MAX = 4096,	/* of an application */
	RCM_BACKLOG_MAX = 1024,
	RCM_RESEND_MS = 2000,		/* until an answer is asked for again */
	RCM_TRIES = 8,			/* a message is sent so often */
	RCM_RETRY_MS = 1,		/* until a channel's full socket is tried again */
	RCM_DRAIN_MS = 1,		/* between looks at the queue pair of an id in DREQ_RCVD, ... */
	RCM_DRAIN_SENDS_MS = 1000,	/* ... for so long at its requests: the peer's LINK_LEAVE_MS; ... */
	RCM_DRAIN_POLLS_MS = 100,	/* ... and then at its completion queues */
	RCM_PORT_FIRST = 32768,		/* of ports that are chosen here */
	RCM_PORT_LAST = 60999,
	RCM_TIMEOUT = 14,		/* 4.096 us * 2^14, unless the application has another */
	RCM_OUT_MAX = 4096,		/* messages that wait for the next round */
};

enum rcm_type {
	RCM_REQ = 1,			/* connect to a port */
	RCM_REP,			/* accepted */
	RCM_RTU,			/* and known to be */
	RCM_REJ,			/* not accepted, for |reason| */
	RCM_DREQ,			/* disconnect */
	RCM_DREP,			/* disconnected, or not known */
	RCM_SIDR_REQ,			/* which queue pair serves a port? */
	RCM_SIDR_REP,			/* that one, or not, for |reason| */
	RCM_TYPES = RCM_SIDR_REP,
};

/* Reasons of REJ are those of InfiniBand 12.6.7.2. */
enum rcm_reason {
	RCM_REJ_NO_RESOURCES = 3,
	RCM_REJ_INVALID_ID = 6,
	RCM_REJ_INVALID_SERVICE = 8,
	RCM_REJ_CONSUMER = 28,
	RCM_SIDR_UNSUPPORTED = 1,	/* of SIDR_REP; 0: it is served */
	RCM_SIDR_REJECT = 2,
};

struct rcm_msg {
	uint8_t type;			/* enum rcm_type */
	uint8_t qp_type;		/* enum ibv_qp_type */
	uint32_t src_id, dst_id;	/* sender's and receiver's; the latter 0 in REQ and SIDR_REQ */
	uint16_t ps;
	uint16_t src_port, dst_port;	/* REQ, SIDR_REQ; host order */
	uint16_t reason;
	struct fverbs_cm_param param;
};

/* Write |m| to |out|, which has room for ULP_NOTE_MAX bytes. Returns its length. */
uint16_t rcm_pack(const struct rcm_msg *m, uint8_t *out);
/* False: |len| bytes at |in| are no message. */
bool rcm_unpack(const uint8_t *in, size_t len, struct rcm_msg *m);

/* ---- cm_id.c: ids, channels, ports -------------------------------------------------------------------- */

enum rcm_state {
	RCM_IDLE,
	RCM_BOUND,		/* has a port */
	RCM_ADDR_RESOLVED,	/* and a peer's address, and a device */
	RCM_ROUTE_RESOLVED,
	RCM_LISTEN,
	RCM_REQ_SENT,		/* REQ or SIDR_REQ; REP is awaited */
	RCM_REP_RCVD,		/* the application is to ACCEPT */
	RCM_REQ_RCVD,		/* the application is to ACCEPT or REJECT */
	RCM_REP_SENT,		/* RTU is awaited */
	RCM_CONNECTED,
	RCM_DREQ_SENT,
	RCM_DREQ_RCVD,		/* what was sent to the peer is to end, and to be polled, first */
	RCM_DONE,		/* disconnected, rejected, failed; datagrams: answered */
};

struct rcm_event {
	TAILQ_ENTRY(rcm_event) entry;	/* of the channel */
	TAILQ_ENTRY(rcm_event) in_id;
	struct rcm_id *of;		/* who has caused it: counted there */
	struct rcm_id *child;		/* connection request: the new id, nobody's until it is fetched */
	struct fverbs_cm_event event;
};
TAILQ_HEAD(rcm_events, rcm_event);

/* Where an application waits for events. */
struct rcm_channel {
	LIST_ENTRY(rcm_channel) entry;	/* all of |ctx| */
	LIST_ENTRY(rcm_channel) in_owing;	/* |owed| is not 0 */
	struct rdma_ctx *ctx;
	LIST_HEAD(, rcm_id) ids;
	uint32_t number;
	int fd;				/* ours */
	uint32_t owed;			/* bytes that the socket had no room for */
	struct rcm_events events;
};

struct rcm_id {
	LIST_ENTRY(rcm_id) in_channel;
	LIST_ENTRY(rcm_id) in_port;	/* |listed| */
	LIST_ENTRY(rcm_id) in_timed;	/* |at| is not UINT64_MAX */
	struct rdma *r;
	struct rcm_channel *channel;
	uint32_t number;		/* 16 bits of place, 13 of generation, 3 of the layer's number */
	enum rcm_state state;
	uint64_t cookie;
	uint16_t ps;
	uint8_t qp_type;
	bool datagram;			/* port space UDP */
	uint8_t timeout;		/* of queue pairs: 4.096 us * 2^timeout */
	bool reuse;			/* its port may be another's, too */
	bool any;			/* bound to no address */
	bool bound;			/* to |device| */
	uint32_t device, sgid_index;
	struct fverbs_cm_addr src, dst;
	struct rcm_id *listener;	/* whose request this is, until it is answered */
	struct rcm_event *request;	/* ... that says so, until it is fetched */
	LIST_ENTRY(rcm_id) in_listener;
	LIST_HEAD(, rcm_id) requests;	/* LISTEN: those, as many as |children| */
	uint32_t children, backlog;
	struct rcm_events events;	/* on |channel| that are this one's */
	uint32_t unfetched;		/* of them */
	bool listed;			/* it has a port, as |src| says */
	uint32_t reported;		/* events that were fetched */
	uint32_t peer;			/* the other end's number; 0: not known */
	struct fverbs_cm_param local, remote;
	struct rcm_msg last;		/* that is sent again */
	uint32_t tries;			/* more of it */
	uint64_t at;			/* ns, when: rcm_set_time() */
	struct rdma_drain drain;	/* DREQ_RCVD: what is waited for, ... */
	uint64_t drain_until;		/* ... ns, until then at most */
};

LIST_HEAD(rcm_list, rcm_id);

struct rdma_cm {
	LIST_HEAD(, rcm_id) timed;
	LIST_HEAD(, rcm_channel) owing;
	struct rcm_id *by_place[RCM_IDS];
	struct rcm_list by_port[RCM_PORTS];	/* network order */
	uint16_t generation[RCM_IDS];
	uint32_t last_place, last_channel, last_port;
	uint64_t next_at;		/* ns, no time of |timed| and |owing| is earlier */
	STAILQ_HEAD(, rcm_out) out;	/* to be sent in the next round */
	uint32_t nout;
};

struct rcm_out {
	STAILQ_ENTRY(rcm_out) entry;
	struct ulp_note note;
};

/* An id of |ch|, charged to its user. 0; -ENOSPC, -EDQUOT, -ENOMEM, with a sentence. */
int rcm_id_new(struct rcm_channel *ch, uint16_t ps, uint8_t qp_type, struct rcm_id **out, char *err,
	       size_t errlen);
/* With its children, and events that were not fetched. Tells the peer if there is one. */
void rcm_id_free(struct rcm_id *id);
/* It is a request that waits on its channel: nobody has seen it. */
bool rcm_is_unfetched(const struct rcm_id *id);
struct rcm_id *rcm_id_find(const struct rdma *r, uint32_t number);
/* A channel of |ctx|, charged to its user, over |fd|, which it takes over. Fails like rcm_id_new(). */
int rcm_channel_new(struct rdma_ctx *ctx, int fd, struct rcm_channel **out, char *err, size_t errlen);
void rcm_channel_free(struct rcm_channel *ch);
struct rcm_channel *rcm_channel_find(const struct rdma_ctx *ctx, uint32_t number);
/* An event of |id| with its |remote| parameters; |child|: connection request. */
void rcm_event(struct rcm_id *id, uint32_t type, int status, struct rcm_id *child);
/* The next of |ch| to |out|; false: there is none. */
bool rcm_event_take(struct rcm_channel *ch, struct fverbs_cm_event *out);
void rcm_migrate(struct rcm_id *id, struct rcm_channel *to);
/* Have rdma_cm_run() look at |id| at |at|, ns; UINT64_MAX: not at all. */
void rcm_set_time(struct rcm_id *id, uint64_t at);
/* |id| waits for an answer as a request of |listener|. */
void rcm_ask(struct rcm_id *id, struct rcm_id *listener);
/* Where |id| goes from is said now: |id->src|, with a port. */
void rcm_list_port(struct rcm_id *id);
/* Bytes that channels owe. False: some socket is still full. */
bool rcm_settle(struct rdma *r);
/* 0, -EADDRINUSE, -EADDRNOTAVAIL. No port is twice in a group: none of its layers runs meanwhile. */
int rcm_bind(struct rcm_id *id, const struct fverbs_cm_addr *addr);
/* The device and GID that has the address |id->src|. 0 or -ENODEV. */
int rcm_find_device(struct rcm_id *id);
/* Whether two are the same address; ports are not looked at. */
bool rcm_is_any(const struct fverbs_cm_addr *a);
bool rcm_same_addr(const struct fverbs_cm_addr *a, const struct fverbs_cm_addr *b);
struct rcm_id *rcm_listener(const struct rdma *r, uint16_t ps, const struct fverbs_cm_addr *at);

/* ---- cm_msg.c: the exchange --------------------------------------------------------------------------- */

/* With the next round. */
void rcm_send(struct rdma *r, const struct fverbs_cm_addr *from, const struct fverbs_cm_addr *to,
	      const struct rcm_msg *m);
/* The last message of |id| once more, if there was one. */
void rcm_say_again(struct rcm_id *id);
void rcm_hush(struct rcm_id *id);
/* What the application wants. 0 or a negative errno. */
int rcm_connect(struct rcm_id *id, const struct fverbs_cm_param *p);
int rcm_accept(struct rcm_id *id, const struct fverbs_cm_param *p);
int rcm_reject(struct rcm_id *id, const struct fverbs_cm_param *p, uint16_t reason);
int rcm_disconnect(struct rcm_id *id);
/* |id| goes: tell the peer, once. */
void rcm_leave(struct rcm_id *id);
/* |id| is no longer its listener's. */
void rcm_answered(struct rcm_id *id);
/* Have rdma_cm_run() look at |at|, ns. */
void rcm_later(struct rdma *r, uint64_t at);

#endif /* FALCON_ULP_RDMA_CM_H */
