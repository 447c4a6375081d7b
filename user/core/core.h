/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol core: transaction and packet delivery sublayers (Falcon 8 and 9) without I/O.
 *
 * No system calls, no clock, no allocation once a connection is open. Time comes in as an argument
 * (nanoseconds of CLOCK_MONOTONIC, or of a simulation), received packets come in already claimed
 * in the receive window (include/falcon/receive/rx.h), and effects leave through struct fcore_ops. One
 * thread at a time.
 */
#ifndef FALCON_CORE_H
#define FALCON_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/resource.h"
#include "core/xlr.h"
#include "falcon/abi/maps.h"
#include "falcon/abi/stats.h"
#include "falcon/codes.h"
#include "falcon/rue.h"
#include "falcon/wire/wire.h"

#define FCORE_NEVER UINT64_MAX

enum fcore_const {
	FCORE_MAX_TXNS = 256,	/* transactions outstanding a connection and direction: RSN ring */
	FCORE_MAX_ULP_HDR = 64,	/* bytes of ULP header copied into a transaction */
	FCORE_MAX_RESP_HDR = 40,	/* bytes of ULP header copied into a response */
	FCORE_PATH_SIZES = 16,	/* that a search for the path's largest packet chooses among */
	FCORE_PATH_MAX_LEN = 9216,	/* bytes, the largest of them */
	FCORE_MAX_RETX = 254,		/* Max Retransmit Attempts that can be had */
};

struct fcore;
struct fcore_conn;
struct fcore_response;

/* A packet to send. Pointers are valid only during the call. */
struct fcore_packet {
	uint8_t hdr[FALCON_MAX_HDR_LEN];	/* packed Falcon header */
	uint32_t hdr_len;			/* bytes */
	const void *ulp_hdr;			/* goes between header and payload; may be NULL */
	uint32_t ulp_hdr_len;			/* bytes */
	const void *payload;			/* may be NULL */
	uint32_t payload_len;			/* bytes */
	uint8_t type;				/* enum falcon_packet_type */
	uint32_t room;				/* bytes of zeros behind it in its frame, if it is clear */
	uint8_t flow;				/* index, 0..FALCON_MAX_FLOWS - 1 */
	uint16_t path;				/* what switches hash, beside |flow|: parse.h */
	bool retransmission;
	/*
	 * It asks what the path carries. transmit() puts its T1, which no packet of the connection's last
	 * 500 s has, into shared->cc.probe_t1 before it leaves.
	 */
	bool probe;
};

/* A received reliable packet that has been claimed in the receive window. */
struct fcore_rx {
	struct falcon_hdr hdr;
	const void *payload;	/* after the Falcon header */
	uint32_t len;		/* bytes of payload */
	uint8_t flow;		/* the packet's, falcon_frame.flow */
	uint16_t path;		/* and falcon_frame.path */
	void *frame;		/* owner's handle of the memory, given back by frame_put() */
	uint64_t now;		/* reception time, ns */
};

/* How the ULP answers a push (Falcon 8.5.3). */
enum fcore_push_outcome {
	FCORE_PUSH_ACK,		/* accepted: acknowledge it */
	FCORE_PUSH_RNR,		/* receiver not ready: deliver again; RNR NACK after rnr_patience_ns */
	FCORE_PUSH_CIE,		/* complete in error */
	FCORE_PUSH_NRE,		/* non-recoverable error */
	FCORE_PUSH_INVALID_CID,	/* not a connection for this ULP */
};

/* What exec_give() says. */
enum fcore_exec {
	FCORE_EXEC_NEVER,	/* not before the connection is offered again */
	FCORE_EXEC_LATER,	/* ask again in the next round */
	FCORE_EXEC_GIVE,
};

/*
 * Effects. All are called from within an fcore_* call, with the arg of fcore_create(). They may
 * call back into the core, fcore_conn_close() included; transmit() alone may not. rue_event(),
 * on_xon(), on_rnr(), on_zone(), on_rx_level(), exec_give() with exec_taken(), on_path() and on_fatal()
 * may be NULL.
 */
struct fcore_ops {
	/* Send |p| on |c|. 0, or -EAGAIN if there is no room: it is tried again at fcore_run(). */
	int (*transmit)(void *arg, struct fcore_conn *c, const struct fcore_packet *p);
	/* The core no longer needs a received frame. */
	void (*frame_put)(void *arg, void *frame);
	/*
	 * Fresh pages of zeroes, |bytes| of them, which cost nothing before they are used, for what
	 * only busy connections need; and back. Both NULL: from the heap.
	 */
	void *(*pages_new)(size_t bytes);
	void (*pages_free)(void *pages, size_t bytes);
	/* A RUE event of the core's own (retransmissions; Falcon 10.6.2.1). */
	void (*rue_event)(void *arg, struct fcore_conn *c, const struct falcon_rue_event *e);

	/*
	 * Target side. A push transaction, in RSN order on an ordered connection. The ULP answers
	 * with fcore_push_done(), now or later; |payload| is valid until then.
	 */
	void (*on_push)(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn,
			const void *payload, uint32_t len);
	/*
	 * Target side. A pull transaction that wants at most |request_len| bytes. The ULP answers
	 * with fcore_pull_respond() or fcore_pull_rnr(); |hdr| is valid until then.
	 */
	void (*on_pull)(void *arg, struct fcore_conn *c, uint8_t proto, uint32_t rsn,
			const void *hdr, uint32_t hdr_len, uint16_t request_len);
	/* Target side. The response's memory is no longer needed: it was acknowledged, or died. */
	void (*on_response_done)(void *arg, struct fcore_conn *c, uint64_t cookie);

	/*
	 * Initiator side. Pull data, just before its on_completion(); valid during the call. |payload| NULL:
	 * XDP has placed them as fcore_txn.sink said.
	 */
	void (*on_pull_data)(void *arg, struct fcore_conn *c, uint64_t cookie,
			     const void *payload, uint32_t len);
	/* Initiator side. A transaction has ended; in RSN order on an ordered connection. */
	void (*on_completion)(void *arg, struct fcore_conn *c, uint64_t cookie,
			      enum falcon_completion_code code, uint8_t ulp_code);
	/* Initiator side. A submission that was refused with -EAGAIN may be tried again. */
	void (*on_xon)(void *arg, struct fcore_conn *c);
	/*
	 * Initiator side. The target is not ready for a push (8.4.3.4), and was not |times| times, at
	 * most 255; NACKs within one RNR timeout count as one. On an ordered connection only the oldest
	 * transaction counts: the target RNRs those behind it, too, whether or not the ULP is ready for
	 * them. The push is tried again. True: the transaction timeout of the push, and on an ordered
	 * connection of all after it, begins anew; false, or no on_rnr(): it runs on. A ULP that wants the
	 * push to end sooner closes the connection.
	 */
	bool (*on_rnr)(void *arg, struct fcore_conn *c, uint64_t cookie, uint8_t times);
	/* Target side. What all connections together may be sent: for falcon_shard.zone. */
	void (*on_zone)(void *arg, enum falcon_zone zone);
	/* Target side. fcore_rx_level() has become |level|: for falcon_shard.rx_level. */
	void (*on_rx_level)(void *arg, uint32_t level);

	/*
	 * Target side. XDP may carry out the next requests of |c| if the ULP wants that and is done with all
	 * that it was given: then it fills |e| as far as |in_write|, |access|, |peer_qp|, |read_rmsn| and
	 * |room|, but for the owner. Called from fcore_exec_run(), for connections that fcore_exec_offer()
	 * has named.
	 */
	enum fcore_exec (*exec_give)(void *arg, struct fcore_conn *c, struct falcon_exec *e);
	/* Target side. XDP carries out no more; |e| says how far it has come. Before what comes next. */
	void (*exec_taken)(void *arg, struct fcore_conn *c, const struct falcon_exec *e);
	/*
	 * Target side. XDP has sent the response |r|, and it may have to be sent again: with what? As that
	 * of fcore_pull_respond(), on_response_done() included, but that the header goes to |hdr|. It may
	 * not call back. May be NULL if the core was given no part of falcon_responses.
	 */
	void (*exec_response)(void *arg, struct fcore_conn *c, const struct falcon_response *r,
			      uint8_t hdr[FCORE_MAX_RESP_HDR], struct fcore_response *out);

	/*
	 * A search has ended: the path carries packets of |len| bytes of payload; 0: nothing was ever
	 * answered. See fcore_path_search().
	 */
	void (*on_path)(void *arg, struct fcore_conn *c, uint32_t len);

	/*
	 * Retransmissions are exhausted (Falcon 9.1.5): the connection should be torn down, now or
	 * later. Until then it sends nothing and gives received frames back unread.
	 */
	void (*on_fatal)(void *arg, struct fcore_conn *c, const char *why);
};

/* Which heuristic finds lost packets before their timeout. */
enum fcore_early_retx {
	FCORE_EARLY_OOO,	/* OOO distance (Falcon 9.1.4) */
	FCORE_EARLY_RACK,	/* RACK-TLP (paper 4.1, RFC 8985) */
};

/* Per-connection parameters (Falcon 9.1.1), fixed while the connection lives. */
struct fcore_params {
	bool ordered;
	bool no_flow_control;		/* many upper-layer queues a connection (8.2.3) */
	uint32_t function;		/* Destination Function, 24 bits */
	uint32_t host, local_function;	/* whose accounts, resource.h: below config's |hosts|, ... */
	uint32_t pool_percent;		/* of each pool, what it may hold; 0 and 100: no limit */
	uint32_t alpha_percent;		/* what it may hold in proportion to what is free; 0: config's */
	uint32_t tx_data_psn;		/* our first data PSN */
	uint32_t tx_req_psn;		/* our first request PSN */
	uint32_t rx_data_psn;		/* the peer's first data PSN */
	uint32_t rx_req_psn;		/* the peer's first request PSN */
	uint32_t tx_rsn;		/* our first RSN */
	uint32_t rx_rsn;		/* the peer's first RSN */
	/* What the peer's receive windows take, packets; 0 and more than ours: as many as ours. */
	uint32_t data_window, req_window;
	uint32_t fcwnd;			/* initial fabric congestion window, packets, 1..255 */
	uint32_t ncwnd;			/* initial NIC congestion window, packets, 1..1023 */
	uint64_t rto_ns;		/* initial Retransmit Timeout */
	uint32_t max_retx;		/* Max Retransmit Attempts, then Resync, then fatal */
	uint64_t txn_timeout_ns;	/* transaction timeout (Falcon 11): kCmplLocalTO */
	/*
	 * How long the target holds a push for which the ULP is not ready, and delivers it again at
	 * intervals, before it sends an RNR NACK (8.5.3.4); 0: none. A push that is held keeps what every
	 * received request has: a frame and its cells of the Net Req pools.
	 */
	uint64_t rnr_patience_ns;
	uint64_t ack_timeout_ns;	/* ACK Coalescing Timeout */
	uint32_t ack_count;		/* packets that make a coalesced ACK due at once */
	uint32_t ar_fcwnd;		/* ACK Request Fcwnd Threshold, packets */
	uint32_t ar_percent;		/* ACK Request Percent, 0..100 */
	uint32_t ooo_threshold;		/* Out-of-order Distance Threshold, PSNs */
	enum fcore_early_retx early_retx;
	uint64_t rack_rto_ns;		/* RACK: a packet is lost after; 0: RTT and reordering window */
	uint64_t tlp_ns;		/* RACK: silence after which a probe is sent; 0: from the RTT */
	uint32_t flows;			/* paths used at a time, 1..FALCON_MAX_FLOWS (paper 4.3) */
	uint32_t prr_threshold;		/* timeouts in a row until a flow changes its path; 0: never */
	uint64_t path_seed;		/* what the flows' paths are drawn from: any number */
};

/* Set |p| to the defaults: ordered, the largest fixed windows; PSNs and RSNs 0. */
void fcore_params_default(struct fcore_params *p);

/* A transaction to start. */
struct fcore_txn {
	uint8_t proto;			/* enum falcon_protocol_type */
	const void *ulp_hdr;		/* copied; at most FCORE_MAX_ULP_HDR bytes */
	uint32_t ulp_hdr_len;
	const void *payload;		/* push: must stay until on_completion() */
	uint32_t len;			/* push: bytes of payload; pull: bytes wanted */
	uint64_t cookie;		/* the ULP's, handed back at completion */
	/*
	 * Pull: where XDP may place the data on an ordered connection, but for |state|; copied. The memory
	 * stays until on_completion() or fcore_sinks_close(). NULL: nowhere.
	 */
	const struct falcon_sink *sink;
};

/*
 * The answer to a pull. One of no bytes at all is the pull's complete-in-error (Falcon 8.5.3.5); one
 * longer than what was asked for is discarded by the peer.
 */
struct fcore_response {
	const void *ulp_hdr;		/* in front of |payload|; copied; at most FCORE_MAX_RESP_HDR */
	uint32_t ulp_hdr_len;		/* bytes */
	uint32_t len;			/* bytes at |payload| */
	const void *payload;		/* must stay until on_response_done() with |cookie| */
	uint64_t cookie;
};

/* Of a connection (stats.h). */
#define FCORE_STATS(V)											\
	V(counter, tx_packets, none, "reliable packets sent for the first time")			\
	V(counter, tx_retx_rto, none, "packets retransmitted on timeout")				\
	V(counter, tx_retx_early, none, "packets retransmitted early: OOO distance")			\
	V(counter, tx_retx_own, none, "packets retransmitted early: EACK-OWN")				\
	V(counter, tx_retx_rack, none, "packets retransmitted early: RACK")				\
	V(counter, tx_probes, none, "packets retransmitted to get news: tail loss probes")		\
	V(counter, tx_path_probes, none, "probes of what the path carries")				\
	V(counter, rack_spurious, none, "times RACK proved hasty and allowed more reordering")		\
	V(counter, tx_acks, none, "BACKs and EACKs sent by the core")					\
	V(counter, tx_nacks, none, "NACKs sent by the core")						\
	V(counter, nacks_withheld, none, "NACKs not sent: the peer is refused too often to be told")	\
	V(counter, tx_resyncs, none, "Resyncs sent")							\
	V(counter, rx_packets, none, "claimed packets handed to the core")				\
	V(counter, rx_discarded, none, "pull data without a request or too long (Falcon 8.4.3.2)")	\
	V(counter, push_submitted, none, "pushes that the upper layer has started")			\
	V(counter, pull_submitted, none, "pulls that the upper layer has started")			\
	V(counter, push_received, none, "pushes delivered to the upper layer")				\
	V(counter, pull_received, none, "pulls delivered to the upper layer")				\
	V(counter, completed, none, "transactions that have ended")					\
	V(counter, completed_in_error, none, "transactions among them that ended with an error")	\
	V(counter, rnr_nacks_sent, none, "NACKs sent because the receiver was not ready")		\
	V(counter, rnr_nacks_received, none, "NACKs received because the receiver was not ready")	\
	V(counter, claims_released, none, "claims of packets that a socket has dropped")		\
	V(counter, repaths, none, "flows sent another way: PLB or Protective ReRoute")			\
	V(gauge, rtt_ns, ns, "smoothed round-trip time of the latest sample; 0: none yet")

struct fcore_stats {
	FCORE_STATS(STAT_MEMBER)
};

enum {
	FCORE_RTT_BUCKETS = 18,
	FCORE_RTT_SHIFT = 11,	/* log2 of the first bucket's limit, ns */
};

/* Round-trip times of a core's packets: one an ACK that tells of a packet that no ACK told of before. */
struct fcore_rtt {
	uint64_t bucket[FCORE_RTT_BUCKETS];	/* of at most 2^(FCORE_RTT_SHIFT + i) ns; the last: of more */
	uint64_t sum_ns;
};

/* Of a flow (stats.h). */
#define FCORE_FLOW_STATS(V)										\
	V(gauge, rtt_ns, ns_us, "smoothed round-trip time of the flow; 0: none yet")			\
	V(gauge, rto_ns, ns_us, "retransmission timeout of the flow")					\
	V(counter, sent, none, "packets sent on the flow, retransmissions among them")			\
	V(counter, lost, none, "packets of those that timed out or were found lost")

/* A flow at this moment. */
struct fcore_flow_stats {
	uint32_t fcwnd;			/* packets, 11.10 fixed point */
	uint32_t outstanding;		/* packets last sent on it and not acknowledged */
	uint16_t path;			/* fcore_packet.path of its next packet */
	FCORE_FLOW_STATS(STAT_MEMBER)
};

/* A core, or NULL if memory is short or |config| is out of its bounds (resource.h). */
struct fcore *fcore_create(const struct fcore_ops *ops, void *arg,
			   const struct fcore_config *config);
/* Free a core; its connections must be closed. */
void fcore_destroy(struct fcore *core);

/*
 * Open connection |cid| over shared state |shared|, whose windows this call initializes; the
 * caller has filled |shared->id| and makes it alive afterwards. NULL if memory is short, |cid| is
 * taken or not below FALCON_MAX_CONNS, |max_conns| connections are open, or there is no such host
 * or function.
 */
struct fcore_conn *fcore_conn_open(struct fcore *core, uint32_t cid, struct falcon_conn *shared,
				   const struct fcore_params *params, uint64_t now);
/* End every transaction with |code|, give back every frame and response, and free |c|. */
void fcore_conn_close(struct fcore_conn *c, enum falcon_completion_code code);

struct fcore_conn *fcore_conn_lookup(struct fcore *core, uint32_t cid);
uint32_t fcore_conn_cid(const struct fcore_conn *c);
struct falcon_conn *fcore_conn_shared(struct fcore_conn *c);
const struct fcore_stats *fcore_conn_stats(const struct fcore_conn *c);
/* What connections had counted when they were closed, all together; gauges mean nothing. */
const struct fcore_stats *fcore_past_stats(const struct fcore *core);
const struct fcore_rtt *fcore_rtt(const struct fcore *core);
/* The owner's pointer, NULL until set. */
void fcore_conn_set_user(struct fcore_conn *c, void *user);
void *fcore_conn_user(const struct fcore_conn *c);

/*
 * Start a transaction (Falcon 8.4.3). 0, -EAGAIN if FCORE_MAX_TXNS are outstanding or resources are
 * used up (Xoff: on_xon() follows), -EMSGSIZE if it is longer than the configured |max_len| or the
 * ULP header is too long, -ENOTCONN after on_fatal() or from within fcore_conn_close(). Nothing is
 * sent before fcore_run(). Without flow control, instead of -EAGAIN, the transaction ends before
 * this returns, with kCmplLocalRsrc and out of the order of the others (8.2.3).
 */
int fcore_push(struct fcore_conn *c, const struct fcore_txn *t, uint64_t now);
int fcore_pull(struct fcore_conn *c, const struct fcore_txn *t, uint64_t now);

/* Answer on_push(). |rnr| is the RNR timeout code, |ulp_code| the ULP NACK code. */
void fcore_push_done(struct fcore_conn *c, uint32_t rsn, enum fcore_push_outcome outcome,
		     uint8_t rnr, uint8_t ulp_code, uint64_t now);
/*
 * Answer on_pull(). Never refused: where the ULP Data region has no room, responses wait in the
 * order in which they came; there are at most as many as pulls were delivered.
 */
void fcore_pull_respond(struct fcore_conn *c, uint32_t rsn, const struct fcore_response *resp,
			uint64_t now);
/* Answer on_pull(): receiver not ready; it is delivered again after the timeout (8.5.3.4). */
void fcore_pull_rnr(struct fcore_conn *c, uint32_t rsn, uint8_t rnr, uint64_t now);

/*
 * Answer on_pull(): not a connection for this ULP. What the request holds is given back (11). There
 * is nothing to tell the peer with: its request is acknowledged, its transaction times out.
 */
void fcore_pull_invalid_cid(struct fcore_conn *c, uint32_t rsn);

/*
 * Attempts to send a packet of |c| to a peer that is silent are exhausted (11) when they have taken |ns|, but
 * not before there were as many as max_retx of its parameters says, nor after FCORE_MAX_RETX.
 */
void fcore_conn_be_patient(struct fcore_conn *c, uint64_t ns);
/*
 * The owner has just not run for |ns|: it was stopped, its machine was, or others had the CPU. Transactions
 * have so much more time (11): what has come for them meanwhile is still to be received.
 */
void fcore_was_away(struct fcore *core, uint64_t ns);

/* A claimed reliable packet has arrived. The core owns rx->frame until frame_put(). */
void fcore_receive(struct fcore_conn *c, const struct fcore_rx *rx);
/*
 * XDP has marked |c| dirty: shared->tx_acked may have changed, so free what was acknowledged and retransmit
 * what was lost; or an answer that XDP could not give is owed. False: it concerned packets of XDP's alone,
 * and the owner need not wait for more.
 */
bool fcore_acked(struct fcore_conn *c, uint64_t now);
/* A NACK with an upper-layer code; its bases are applied already. */
void fcore_nacked(struct fcore_conn *c, const struct falcon_ack *nack, uint64_t now);
/*
 * Complete |e|, which the receive path made (ack.h), before an engine sees it: of a connection with
 * several flows, it needs the flow's own state and packets acknowledged. False if no such connection
 * or flow is open: the event is to be dropped.
 */
bool fcore_rue_event(struct fcore *core, struct falcon_rue_event *e);
/* What base_delay_target |flow|'s events have until a result says otherwise. */
void fcore_rue_base(struct fcore_conn *c, uint32_t flow, uint32_t base_delay_target);
/* Fill |s| for our |flow|, if there is one. Returns how many flows |c| has. */
uint32_t fcore_conn_flow(const struct fcore_conn *c, uint32_t flow, struct fcore_flow_stats *s);
/*
 * A RUE result (Falcon 10.6.2.2) for the flow that connection_id names: windows, RTO, pacing, path.
 * ncwnd is the connection's, whichever flow it comes with.
 */
void fcore_rue_result(struct fcore_conn *c, const struct falcon_rue_result *r, uint64_t now);
/*
 * Find out which of |sizes| payload lengths, in bytes and ascending, the path carries (RFC 8899); the last
 * is what the link allows. on_path() follows with the largest that was answered; if none was, with the
 * result of the search before this one. The core repeats the search by itself, and calls on_path() again:
 * when the peer is first heard of; every ten minutes while the result is below the last size; and when a
 * packet is lost so often that the path may have become smaller. A packet under way that is larger than
 * the result, and is not acknowledged all the same, is on_fatal(). |proto| is the upper layer's protocol
 * type. A search under way starts over. 0; -EINVAL: more than FCORE_PATH_SIZES sizes, none, one above
 * FCORE_PATH_MAX_LEN, or no on_path().
 */
int fcore_path_search(struct fcore_conn *c, const uint16_t *len_of, uint32_t sizes, uint8_t proto,
		      uint64_t now);
/*
 * XDP may carry out requests of |c|, which is ordered, when exec_give() agrees (falcon/exec.h). A request
 * that XDP leaves alone takes them back. On connections that are not ordered nothing happens.
 */
void fcore_exec_offer(struct fcore_conn *c);
/*
 * From now on frames of Pull Requests of |c| are as long as those of their responses, or no longer: the
 * target's XDP may have to answer in the frame that it got.
 */
void fcore_conn_pad_pulls(struct fcore_conn *c, bool on);
bool fcore_conn_pads_pulls(const struct fcore_conn *c);
/* XDP places no data of pulls that were submitted on |c| before this. */
void fcore_sinks_close(struct fcore_conn *c);
/* XDP carries out nothing of |c| any more, unless it is offered again: exec_taken() is called if it did. */
void fcore_exec_withdraw(struct fcore_conn *c);
/* The same, but what was given to XDP is offered again by itself. */
void fcore_exec_recall(struct fcore_conn *c);
/* Return once XDP does not carry out a request of |c| that it had begun when this was called. */
void fcore_exec_wait(const struct fcore_conn *c);
/*
 * Pull Requests have come, since the last round, that XDP would have answered had it had the requests before
 * them. It gets the next one only if none comes to the core after fcore_exec_run(): the owner is to hand in
 * all that waits, before the core's answers, which are not to leave yet, bring more.
 */
bool fcore_exec_chasing(const struct fcore *core);
/* The end of a round: give to XDP what was offered. */
void fcore_exec_run(struct fcore *core);

/* Release claims whose packets never came. Only when every received frame has been handed in. */
void fcore_release_claims(struct fcore_conn *c);

/*
 * Run timers that are due and send what the windows allow, round-robin (Falcon 8.3), at most
 * |budget| packets. Returns how many packets were sent; |budget| means there may be more to do.
 */
uint32_t fcore_run(struct fcore *core, uint64_t now, uint32_t budget);
/* When fcore_run() is needed next, FCORE_NEVER if nothing is pending; at most |now| if at once. */
uint64_t fcore_next_deadline(const struct fcore *core, uint64_t now);

#endif /* FALCON_CORE_H */
