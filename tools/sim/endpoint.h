/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of connections: their cores, and their upper layers. */
#ifndef FALCON_SIM_ENDPOINT_H
#define FALCON_SIM_ENDPOINT_H

#include "config.h"
#include "known.h"
#include "../common/rng.h"

#include <core/core.h>
#include <io/frame.h>

enum endpoint_const {
	SIM_ULP_HDR = 8,	/* bytes: the transaction's number, and its complement */
	SIM_OVERLONG = 8,	/* bytes that a response may be too long by */
	SIM_OWED = 2 * FCORE_MAX_TXNS,	/* more than a core delivers unanswered */
};

struct sim;
struct host;

/* How large packets may be: bytes of payload, as an end's agent knows it. */
struct path {
	uint32_t len;		/* found; 0: not yet */
	uint32_t peer_len;	/* what the peer says of its direction; 0: nothing yet */
	uint32_t peer_mtu;	/* what it says of its link */
	uint32_t most;		/* of a transaction; 0: any */
	bool up;		/* the upper layer may begin */
	bool held;		/* ... for which it waits */
};

enum txn_state {
	TXN_NONE,	/* the target's upper layer knows nothing of it */
	TXN_DELIVERED,	/* it owes an answer */
	TXN_RNR,	/* it was not ready */
	TXN_ANSWERED,
};

struct txn {
	void *payload;		/* push: until completed */
	uint64_t submitted;	/* ns */
	uint64_t answer_at;	/* at the target, while TXN_DELIVERED */
	uint32_t psn;		/* of its request, as a distance; once sent */
	uint16_t most;		/* bytes that the path carried when it was submitted; 0: any */
	uint8_t state;		/* enum txn_state, at the target */
	bool completed;
	bool placed;		/* pull data was placed by XDP, ... */
	bool data;		/* ... or was delivered; both once the core has said so */
	bool resync;		/* a Resync of its request was sent */
	bool voided;		/* a Resync of its response was sent */
	bool filtered;		/* a filter of its initiator's has matched it */
	bool dropped;		/* its target has dropped it for a filter */
	bool rnr;		/* its target was not ready at least once, */
	uint64_t rnr_at;	/* ... and first then */
};

/* What the application sees: one transaction, or several that are parts of it. */
struct message {
	uint64_t arrived;	/* ns */
	uint32_t left;		/* parts not completed */
};

/* Results of the ends of a section's connections that submit. */
struct group {
	uint64_t *latency;	/* of messages, ns; NULL: not kept */
	uint64_t messages, size;
	uint64_t bytes;		/* completed well while results count */
	uint64_t rtt_sum, rtt_n;	/* of the fabric, ns, as the rate update engine is told */
};

/* One end of a connection: its core, its upper layer, and what must be true of it. */
struct endpoint {
	struct sim *sim;
	struct endpoint *peer;
	struct host *host;
	const struct sim_conn_cfg *cfg;
	struct group *group;
	uint32_t index;		/* connection * 2 + side */
	uint32_t nth;		/* of its host's */
	uint32_t salt;		/* properties of its transactions follow from this */
	uint32_t cid;
	struct fcore_conn *core;	/* NULL once closed */
	struct falcon_conn *shared;
	struct frame_template tpl, xdp_tpl;
	struct path path;
	bool dirty;		/* ACK state has changed */
	bool touched;		/* to be checked after the agent's turn */
	uint8_t turns;		/* of those checks */
	uint32_t incarnation;	/* how often it was opened before */
	uint32_t begun;		/* the first transaction of this incarnation */
	bool begins;		/* agreed on, and not open yet */
	bool gone;		/* it was closed for good */
	bool fatal;		/* on_fatal() was called */
	bool close_soon;	/* to be closed from within the next callback */
	bool closing;		/* fcore_conn_close() is under way, or over */
	struct rng rng;

	/* Initiator. */
	struct txn *txns;	/* a ring, of as many as may be of interest */
	uint32_t txn_mask;
	uint32_t ntxns, submitted, completed;	/* transactions */
	struct message *messages;
	uint32_t nmessages, arrived, ended;
	uint32_t parts;		/* transactions of a message */
	uint32_t first_rsn, next_tx;	/* next_tx: request to be sent first, as a number */
	uint32_t errors;
	bool blocked;		/* waits for on_xon() */
	bool submit_pending;	/* an EV_SUBMIT is under way */
	bool submitting;	/* within fcore_push() or fcore_pull() */
	bool turned_away;	/* ... which has ended the transaction before it had an RSN */
	bool cut;		/* ... which has ended it, for a filter, thereafter */
	uint64_t done_at;	/* last completion, ns */
	uint64_t latency_sum;	/* of messages, ns */
	uint64_t bytes;		/* completed well */
	uint64_t counted;	/* of them, those that count */

	/* Target; the numbers are those of the peer's transactions. */
	uint32_t cursor;	/* ordered: the next delivery */
	uint32_t owed[SIM_OWED];	/* ordered: answers owed, in the order to be given */
	uint32_t owed_head, owed_tail;
	uint32_t accepted;
	uint32_t responses;	/* lent to the core */

	/* Transmitter. */
	struct shadow data, req;
	uint32_t fcwnd, ncwnd;	/* as the core was told */
	struct told told[FALCON_MAX_FLOWS];
	uint32_t told_ncwnd, rue_info;
	uint64_t least_rto;	/* of all that it has had, ns */
	uint64_t acked;		/* packets, as the engine was told */
	const struct psn *sent_again;	/* the latest retransmission */
	struct turn turn;
	struct key_use keys;
	uint64_t iv_floor;	/* of sealed packets, behind a probe; 0: there was none */
	uint64_t pace_last[FALCON_MAX_FLOWS];	/* ns of the last packet under this gap; 0: none */

	/* Receiver: what the next ACK has to echo, by the peer's flows, whatever it says that they are. */
	struct measured flow[FALCON_FLOW_MASK + 1];
	uint64_t heard[FALCON_MAX_FLOWS];	/* what the latest ACK took, from its T1 on, by our clock; */
	uint32_t heard_t1[FALCON_MAX_FLOWS];	/* of those with this T1, the longest */
	uint32_t own;		/* enum falcon_own */
	struct judged judged;
	const struct falcon_hdr *arriving;	/* what its core is receiving just now, ... */
	uint32_t claims;	/* ... how often that was claimed by then, */
	uint16_t answered;	/* ... and the flows that XDP has answered meanwhile */
	struct due_ack ack[FALCON_FLOW_MASK + 1];
	uint16_t unanswered;	/* flows whose answer XDP has left to the core */
	uint16_t owing;		/* a bit for each flow: |ack| holds */
	struct fcore_stats stats;	/* kept when it closes */
};

static inline struct endpoint *ep_of(struct fcore_conn *c)
{
	return fcore_conn_user(c);
}

static inline struct txn *txn_of(const struct endpoint *e, uint32_t i)
{
	return &e->txns[i & e->txn_mask];
}

/* open.c */
/* A host's address, or its peer's, has changed: also before the first packet. */
void set_route(struct endpoint *e);

/* |e|, of which everything else is as it shall begin, has a core again. */
void open_incarnation(struct endpoint *e);

/* path.c */
/* MTU of |c| now; UINT32_MAX: any. */
uint32_t path_mtu(const struct sim *s, const struct sim_link_cfg *c);
/* What the links of |e| and its peer allow, bytes of payload. */
uint32_t path_link_len(const struct endpoint *e);
/* What is to come of the link of |h|. */
void path_open_host(struct host *h);
/* The search for what |e| may send begins. */
void path_open(struct endpoint *e);
/* The upper layer of |e| may begin. */
bool path_is_up(const struct endpoint *e);
void path_on_found(void *arg, struct fcore_conn *c, uint32_t len);
/* The peer's agent has said |what|: length in the upper 16 bits, MTU in the lower. */
void path_told(struct endpoint *e, uint32_t what);
/* The link of |h| has |mtu|. */
void path_changes(struct host *h, uint32_t mtu);
/* From now on all paths carry all sizes. */
void path_widen(struct sim *s);
/* |h| has another address on its link; |heard|: and its peers know. */
void route_moved(struct host *h, bool heard);

/* engine.c */
/* Open the rate update engines of all hosts that need one. Complains, and false, if it cannot. */
bool engine_open(struct sim *s);
void engine_close(struct host *h);
/* |ev| of |e| is written to the event queue, if the policy of 10.6.1 wants it. */
void engine_ack(struct endpoint *e, uint32_t flow, const struct falcon_ack *a, uint64_t iv,
		uint64_t now);
void engine_event(struct endpoint *e, const struct falcon_rue_event *ev);
/* The oldest event has its result. */
void engine_result(struct host *h);
/* |r| comes into force, and into what the checks know. */
void engine_apply(struct endpoint *e, const struct falcon_rue_result *r);

/* ulp.c */
bool ulp_is_pull(const struct endpoint *e, uint32_t i);
/* Bytes of transaction |i| of |e|, whichever way they go; given back with ulp_put_bytes(). */
void *ulp_make_bytes(const struct endpoint *e, uint32_t i, uint32_t len);
void ulp_put_bytes(const struct endpoint *e, void *bytes);
bool ulp_bytes_good(const struct endpoint *e, uint32_t i, const void *bytes, uint32_t len);
/* Length of transaction |i| of |e|: of a push, or asked for by a pull, bytes. */
uint32_t ulp_length(const struct endpoint *e, uint32_t i);
/* The response to pull |i| of |e| is longer than what was asked for. */
bool ulp_is_overlong(const struct endpoint *e, uint32_t i);
/* Length of the response to pull |i| of |e|, bytes. */
uint32_t ulp_response_len(const struct endpoint *e, uint32_t i);
/* How the target answers push |i| of |e|, when it is ready. */
enum fcore_push_outcome ulp_outcome(const struct endpoint *e, uint32_t i);
/* Prepare the messages of |e|. */
void ulp_open(struct endpoint *e);
void ulp_close(struct endpoint *e);
/* It is time for the upper layer of |e| to submit. */
void ulp_submit(struct endpoint *e);
/* It goes on in another incarnation. */
void ulp_resume(struct endpoint *e);
/* ... for which it has waited, if it has. */
void ulp_begin(struct endpoint *e);
void ulp_answer(struct endpoint *e, uint32_t i);
void ulp_on_push(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn, const void *payload,
		 uint32_t len);
void ulp_on_pull(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn, const void *hdr,
		 uint32_t hdr_len, uint16_t request_len);
void ulp_on_response_done(void *arg, struct fcore_conn *c, uint64_t cookie);
void ulp_on_pull_data(void *arg, struct fcore_conn *c, uint64_t cookie, const void *payload,
		      uint32_t len);
void ulp_on_completion(void *arg, struct fcore_conn *c, uint64_t cookie,
		       enum falcon_completion_code code, uint8_t ulp_code);
void ulp_on_xon(void *arg, struct fcore_conn *c);

#endif /* FALCON_SIM_ENDPOINT_H */
