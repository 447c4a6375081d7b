/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links: what the layer needs of them, and what their sources share. rdma.h has what queue pairs do with
 * one, README.md how two ends come to have it.
 */
#ifndef FALCON_ULP_RDMA_LINK_H
#define FALCON_ULP_RDMA_LINK_H

#include <sys/queue.h>

#include "ulp/rdma/layer.h"

enum link_const {
	LINK_OFFER_LEN = 16,		/* bytes that an end's offer carries */
	LINK_OFFER_VERSION = 3,
	LINK_MAX_LEN = 16384,		/* bytes of a transaction that we take */
	LINK_MIN_LEN = 256,		/* that an end has to take: all headers, and some data */
	LINK_BUCKETS = 1024,
	LINK_REDIAL_MS = 1000,		/* first pause after a refusal, doubling up to ... */
	LINK_REDIAL_MAX_MS = 4000,
	LINK_HIGHER_MS = 500,		/* that the higher end waits longer than the lower one */
	LINK_IDLE_MS = 30000,		/* that datagrams' links outlive their last address handle */
	LINK_WAIT_MS = 3000,		/* that datagrams wait for their link, or for any room in it */
	LINK_HELD_MAX = 256,		/* of their datagrams that a link keeps, sends of which are over */
	LINK_LEAVE_MS = 1000,		/* that a connection outlives its queue pair */
	LINK_LEAVING_MAX = 256,		/* connections that do; with more, the oldest goes at once */
};

enum link_kind {
	LINK_RC = 1,			/* one queue pair at each end: RC, UC, XRC */
	LINK_DATAGRAM = 2,
};

/* What the sender of an offer understands beyond the specification; used where both ends do. */
enum link_extension {
	LINK_REASONS = 0x01,		/* |reason| in responses in error (falcon/rdma.h) */
	LINK_ROOM = 0x02,		/* |room| in responses */
	LINK_EXTENSIONS = LINK_REASONS | LINK_ROOM,
};

/* What an end's upper layer says with its offer of a connection. */
struct link_offer {
	uint8_t kind;			/* enum link_kind */
	uint8_t modes;			/* enum rdma_link_mode */
	uint8_t extensions;		/* enum link_extension; receivers ignore what they do not know */
	/* Of the sender's and the receiver's queue pair; datagrams: their layers' numbers (group.h). */
	uint32_t src_qpn, dst_qpn;
	uint32_t max_len;		/* bytes of a transaction that the sender takes */
};

enum link_state {
	LINK_IDLE,	/* datagrams that nobody sends: no connection */
	LINK_DIALLING,	/* our dial, |cid|, is under way */
	LINK_WAITING,	/* for the peer's dial, or until |redial_at| */
	LINK_ACCEPTED,	/* the peer's dial was accepted, as |cid| */
	LINK_UP,
	LINK_DEAD,	/* the owner has been told */
};

struct link_payer;

struct rdma_link {
	struct rdma *r;
	enum link_kind kind;
	enum link_state state;
	uint8_t modes;			/* enum rdma_link_mode */
	uint8_t extensions;		/* UP: enum link_extension that both ends have */
	struct ulp_ends ends;
	struct rdma_qp *qp;		/* NULL: datagrams */
	uint32_t qpn, dest_qpn;		/* datagrams: numbers of layers, as in struct link_offer */
	const struct rdma_link_ops *ops;
	void *owner;
	uint32_t cid;			/* of our connection; 0: none */
	/*
	 * Where both ends are this link, by the same number at the same address: the other end's
	 * connection, on which what we send arrives. 0: none.
	 */
	uint32_t twin;
	bool dialled;			/* |cid| was dialled here */
	bool timed;			/* in the list of those with a time to come */
	struct fcore_conn *core;	/* UP */
	uint32_t max_len;		/* UP: what the path carries, and the peer takes, */
	uint32_t peer_max_len;		/* which is this */
	uint32_t handles;		/* datagrams: address handles that use it */
	struct link_payer *payers;	/* users whom it is charged to */
	uint32_t pause_ms;		/* after the next refusal */
	uint64_t redial_at;		/* ns, WAITING; UINT64_MAX: the peer has to dial */
	uint64_t timeout;		/* ns from the first round on; 0: none */
	uint64_t give_up_at;		/* ns; 0: not known yet; UINT64_MAX: never */
	char why[128];			/* it is not up */
	bool unreachable;		/* datagrams have waited in vain, and it has not been up since */
	TAILQ_HEAD(, rdma_link_wait) waits;	/* oldest first */
	uint32_t nheld;			/* of |waits| */
	LIST_ENTRY(rdma_link) bucket;
	LIST_ENTRY(rdma_link) in_timed;
};

LIST_HEAD(link_list, rdma_link);
TAILQ_HEAD(link_leaving_list, link_leaving);

/* All of a layer. */
struct rdma_links {
	struct link_list buckets[LINK_BUCKETS];
	struct link_list timed;		/* those that rdma_links_run() looks at */
	uint64_t next_at;		/* ns: no earlier time is in that list; 0: look */
	struct rdma_link **by_cid;	/* NULL: that connection is nobody's */
	uint32_t ncids;			/* elements */
	struct link_leaving_list leaving;	/* connections whose queue pair has gone */
	uint32_t nleaving;
};

/* ---- what rdma.c calls, with r->now set ------------------------------------------------------------ */

int rdma_links_open(struct rdma *r);
void rdma_links_close(struct rdma *r);
uint32_t rdma_links_run(struct rdma *r);
uint64_t rdma_links_deadline(const struct rdma *r);
/* As functions of struct ulp_ops: dial_for(), accept(), conn_up(), conn_resized(), conn_down(), ... */
uint32_t rdma_links_dial_for(const struct ulp_data *data);
int rdma_links_accept(struct rdma *r, const struct ulp_request *req, struct ulp_data *reply,
		      char *err, size_t errlen);
int rdma_links_conn_up(struct rdma *r, const struct ulp_conn *conn);
void rdma_links_conn_resized(struct rdma *r, uint32_t cid, uint32_t max_len);
void rdma_links_conn_down(struct rdma *r, uint32_t cid, const char *why);
void rdma_links_refused(struct rdma *r, uint32_t cid, const char *why);
void rdma_links_conn_gone(struct rdma *r, uint32_t cid);

/* ---- link_leave.c: connections that outlive their queue pair ---------------------------------------- */

/* Take |link|'s connection from it, to be hung up later. Short of memory it stays with the link. */
void link_leave(struct rdma_link *link);
/* Connection |cid|, which is no link's, is down: it is hung up now, and forgotten. */
void link_left(struct rdma *r, uint32_t cid);
/* Hang up what has stayed long enough; at UINT64_MAX, all. */
void link_leave_run(struct rdma *r, uint64_t now);
uint64_t link_leave_deadline(const struct rdma_links *l);

/* ---- link_payer.c: users whom a link is charged to --------------------------------------------------- */

/* One more queue pair or address handle of |uid| uses |link|. 0, or a negative errno with a sentence. */
int link_pay(struct rdma_link *link, uint32_t uid, char *err, size_t errlen);
/* One less. */
void link_unpay(struct rdma_link *link, uint32_t uid);
/* A user who pays for |link|; nobody does: 0. */
uint32_t link_payer(const struct rdma_link *link);
/* It goes. */
void link_unpay_all(struct rdma_link *link);

/* ---- link_offer.c: bytes and addresses ------------------------------------------------------------ */

void link_offer_pack(const struct link_offer *o, struct ulp_data *out);
/* 0, or -EPROTO with a sentence for the peer in |err|. */
int link_offer_unpack(const struct ulp_data *in, struct link_offer *o, char *err, size_t errlen);
/* The two addresses of a path from device |device|. 0, or -EINVAL with a sentence. */
int link_ends(const struct rdma *r, uint32_t device, const struct fverbs_ah_attr *ah,
	      struct ulp_ends *out, char *err, size_t errlen);
void link_gid(int family, const struct falcon_addr *addr, uint8_t gid[16]);

/* ---- link_dial.c: how a link gets its connection ---------------------------------------------------- */

/* Dial now. 0, or a negative errno with a sentence. */
int link_dial(struct rdma_link *link, char *err, size_t errlen);
/* Whether both of its ends are this link. */
bool link_to_itself(const struct rdma_link *link);
/* End its connection, if it has one. */
void link_hang_up(struct rdma_link *link, const char *why);
/* Have rdma_links_run() look at |link|. */
void link_due(struct rdma_link *link);

/* ---- link.c ------------------------------------------------------------------------------------------ */

/* A new link, IDLE. NULL if memory is short. */
struct rdma_link *link_new(struct rdma *r, enum link_kind kind, const struct ulp_ends *ends,
			   uint32_t qpn, uint32_t dest_qpn);
/* Likewise, for datagrams between two layers, ordered or not as |ends| says. */
struct rdma_link *link_new_datagram(struct rdma *r, const struct ulp_ends *ends, uint32_t member,
				    uint32_t peer_member);
/*
 * That of our |qpn| with the peer's |dest_qpn|, or of datagrams between these layers. |ends|: the addresses,
 * and for datagrams the order.
 */
struct rdma_link *link_find(const struct rdma_links *l, enum link_kind kind, const struct ulp_ends *ends,
			    uint32_t qpn, uint32_t dest_qpn);
/* Ends its connection. Whoever waits for it does no longer. */
void link_free(struct rdma_link *link, const char *why);
/* Tell those who wait; |up|: until the link is full. */
void link_wake(struct rdma_link *link, bool up);

#endif /* FALCON_ULP_RDMA_LINK_H */
