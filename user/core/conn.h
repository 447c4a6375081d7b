/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of the core: what a connection is made of. parts.h has what its parts offer one another.
 *
 * Everything a connection will ever need is allocated by fcore_conn_open(); its rings are fresh pages,
 * which cost nothing before they are used. Rings are indexed by
 * PSN or RSN modulo their size, so nothing is searched for and nothing shifts.
 */
#ifndef FALCON_CORE_CONN_H
#define FALCON_CORE_CONN_H

#include "core/core.h"
#include "core/flow.h"
#include "core/list.h"
#include "core/wheel.h"
#include "falcon/receive/ack.h"
#include "falcon/receive/window.h"

enum fc_const {
	FC_QUANTUM = 16,	/* packets a connection sends before the next has its turn (8.3) */
	FC_REFUSED_BACKOFF = 2,	/* doublings of the timeout of a packet that the peer refuses */
	FC_REFUSED_RTOS = 8,	/* so long is a refusal remembered */
	FC_NACK_BURST = 64,	/* NACKs of refused packets that a connection sends at once */
	FC_NACK_INTERVAL = 20000,	/* ns, between one and the next thereafter */
	FC_PATIENCE_MIN = 10000,	/* ns, until a push that the ULP was not ready for is delivered */
	FC_PATIENCE_MAX = 1000000,	/* ... again: at least and at most */
	FC_TXN_MASK = FCORE_MAX_TXNS - 1,
	FC_TXN_WORDS = FCORE_MAX_TXNS / 64,
	FC_MAX_WIN = FALCON_DATA_WINDOW,
	FC_SLAB_CONNS = 8,	/* connections whose rings are allocated together */
	FC_SLAB_ALL = (1 << FC_SLAB_CONNS) - 1,
	FC_RTO_MIN_RTTS = 2,	/* a packet is not timed out within so many smoothed RTTs */
	FC_RTO_BACKOFF = 6,	/* the timeout doubles with each attempt, at most this often */
	FC_RTT_SHIFT = 3,	/* weight of an RTT sample: 1/8 */
	FC_RTT_MAX_UNITS = 1 << 24,	/* a sample of more than 2.2 s is a clock that jumped */
	FC_EARLY_TRIES = 3,	/* early retransmissions of a packet, at most one a round trip, ... */
	FC_EARLY_BACKOFF = 16,	/* ... before that wait doubles with each, at most this often */
	FC_PATH_PROBES = 3,	/* of a size, unanswered: the path does not carry it (RFC 8899 5.1.2) */
	FC_PATH_SUSPICION = 3,	/* losses of a packet until the path's size is in doubt, each time */
	FC_PATH_HOPELESS = 6,	/* and until one that is larger than what a search found is given up */
	FC_EVENT_ACKED_MAX = (1 << FALCON_EV_num_packets_acked_WIDTH) - 1,
};

/* Transaction State at the initiator (Falcon 8.4.1). */
enum fc_initiator_state {
	FC_INITIATOR_FREE = 0,
	PullReqUlpRx,	/* received from the ULP */
	PullReqTx,	/* request sent */
	PullReqAckd,	/* request acknowledged */
	PullDataRx,	/* data received; on an ordered connection waits for its turn */
	PullDataUlpTx,	/* data delivered; the request's ACK is still to come */
	PushReqUlpRx,
	PushDataTx,
	PushDataAckd,
	PushCplTx,
};

/* Transaction State at the target (Falcon 8.5.1), and what it leaves unnamed. */
enum fc_target_state {
	FC_TARGET_FREE = 0,
	PullReqRx,	/* received; not delivered yet, or to be delivered again (RNR) */
	PullReqUlpTx,	/* delivered to the ULP */
	PullReqUlpAckd,	/* the ULP took it: passed through on the way to PullDataUlpRx */
	PullDataUlpRx,	/* response queued to the scheduler */
	PullDataTx,	/* response sent: tx_ctx and tx_resp carry on, the slot may be reused */
	PullDataAckd,
	PushDataRx,	/* received; not delivered yet, or to be delivered again (RNR) */
	PushReqUlpTx,	/* delivered to the ULP */
	PushReqUlpAckd,
	FC_TARGET_NACKED,	/* push ended in error: NACK sent, its Resync is awaited */
};

/* Why a packet is to be sent again; also which counter counts it. */
enum fc_retx_reason {
	FC_RETX_RTO,
	FC_RETX_EARLY,
	FC_RETX_OWN,
	FC_RETX_RACK,
	FC_RETX_PROBE,	/* no loss known: the peer is asked for news */
	FC_RETX_RESYNC,	/* not a loss: the packet became a Resync */
};

enum fc_ctx_flag {
	FC_CTX_RESYNC = 0x01,	/* send a Resync in its place (9.1.8) */
	FC_CTX_COUNTED = 0x02,	/* retransmitted request, counted in [R/D]ORRC */
	FC_CTX_AGAIN = 0x04,	/* sent more than once */
	FC_CTX_RACK = 0x08,	/* the latest time because RACK held it for lost */
	FC_CTX_XDP = 0x10,	/* XDP sent it first: its response holds no resources */
};

/* A packet on the wire: what it takes to build it again. Ring slot: PSN modulo the window. */
struct fc_ctx {
	uint64_t last_tx;	/* ns of the latest transmission */
	uint64_t hold;		/* RNR: not due before, ns; 0: last_tx and RTO decide */
	uint32_t rsn;
	uint32_t order;		/* of the latest transmission among all of the connection */
	uint8_t type;		/* enum falcon_packet_type of the original */
	uint8_t proto;
	uint8_t flags;		/* enum fc_ctx_flag */
	uint8_t retx;		/* Retransmit Counter: timeouts since the first or the Resync */
	uint8_t resync_code;	/* enum falcon_resync_code, with FC_CTX_RESYNC */
	uint8_t reason;		/* enum fc_retx_reason, while pending */
	uint8_t flow;		/* that the latest transmission took */
	uint8_t lost;		/* times that it was sent again early, before its timeout; at most 255 */
};

/* A transmitter window (Falcon 9.1.1). Bitmaps: word (psn / 32) modulo words, bit psn % 32. */
struct fc_win {
	uint32_t base;		/* RBPSN or DBPSN, as far as the core has processed it */
	uint32_t ack_base;	/* that of the latest ACK packet, at or below */
	uint32_t next;		/* RNPSN or DNPSN */
	uint32_t limit;		/* min(fcwnd, most): at most so many from |base| on */
	uint32_t size;		/* FALCON_DATA_WINDOW or FALCON_REQ_WINDOW */
	uint32_t most;		/* what the peer's window takes, 1..|size| */
	uint32_t orc;		/* RORC or DORC: requests sent and not acknowledged */
	uint32_t orrc;		/* RORRC or DORRC: those of them retransmitted */
	uint32_t npending;	/* bits set in |pending| */
	uint32_t words;		/* of |acked_ring| and |rx_ring| */
	uint32_t done[FC_MAX_WIN / 32];		/* acknowledged ahead of |base| */
	uint32_t pending[FC_MAX_WIN / 32];	/* to be retransmitted */
	uint32_t heard[FC_MAX_WIN / 32];	/* reported as received, and RACK has seen it */
	uint32_t arrived_end;	/* one past the highest PSN known to have arrived, or |base| */
	struct fc_ctx *ctx;	/* |size| of them */
	uint32_t *shared_next;	/* cc.data_next or cc.req_next */
	const uint32_t *shared_base;	/* tx_acked.data_base or .req_base */
	const __u64 *acked_ring;	/* tx_acked: what EACKs acknowledged */
	const __u64 *rx_ring;	/* tx_acked: what EACKs reported as received */
};

/* The response in a Pull Data packet on the wire. Ring slot: data PSN modulo the window. */
struct fc_resp {
	const void *payload;
	uint64_t cookie;
	uint32_t len;		/* bytes at |payload| */
	uint32_t hdr_len;	/* bytes in front of it */
	uint8_t hdr[FCORE_MAX_RESP_HDR];
};

enum fc_itxn_flag {
	FC_ITXN_PULL = 0x01,
	FC_ITXN_DONE = 0x02,	/* its result is known: |code| */
	FC_ITXN_TOLD = 0x04,	/* completion delivered */
	FC_ITXN_SENT = 0x08,	/* has left the scheduler: |psn| is valid */
	FC_ITXN_WIRE = 0x10,	/* its packet is not acknowledged */
	FC_ITXN_TX = 0x20,	/* holds Tx resources */
	FC_ITXN_RX = 0x40,	/* holds Rx resources */
	FC_ITXN_SINK = 0x80,	/* XDP may place its Pull Data, or has */
};

/* A transaction of ours. Ring slot: RSN modulo FCORE_MAX_TXNS. */
struct fc_itxn {
	uint64_t cookie;
	const void *payload;	/* push: to send */
	uint64_t deadline;	/* transaction timeout, ns, less core->away */
	void *frame;		/* pull: received data until it is delivered */
	const void *data;
	uint32_t data_len;
	uint32_t len;		/* push: bytes of payload; pull: bytes wanted */
	uint32_t psn;
	uint8_t state;		/* enum fc_initiator_state */
	uint8_t flags;		/* enum fc_itxn_flag */
	uint8_t code;		/* enum falcon_completion_code */
	uint8_t ulp_code;
	uint8_t proto;
	uint8_t resync_code;	/* timed out before it was sent: goes out as this Resync */
	uint8_t rnr;		/* times that the target was not ready, at most 255 */
	uint8_t hdr_len;
	uint8_t hdr[FCORE_MAX_ULP_HDR];
};

/* A transaction of the peer's. Ring slot: RSN modulo FCORE_MAX_TXNS. */
struct fc_ttxn {
	void *frame;		/* held until the ULP is done with it */
	const void *payload;
	const void *resp;	/* pull: the response while queued */
	union {
		uint64_t cookie;	/* pull: the response's */
		uint64_t refused_at;	/* push: when the ULP was first not ready, ns; 0: never */
	};
	uint64_t redeliver;	/* RNR: when to deliver it again, ns */
	uint32_t rsn;
	uint32_t psn;
	union {
		uint32_t len;		/* bytes at |payload| */
		uint32_t resp_hdr_len;	/* pull: thereafter, of the response's header */
	};
	union {
		uint32_t cells;		/* Net Req Buf Rx, held with |frame| */
		uint32_t resp_len;	/* thereafter: bytes at |resp| */
	};
	uint16_t request_len;
	uint8_t state;		/* enum fc_target_state */
	uint8_t proto;
	uint8_t ar : 1;		/* push: its AR bit, honoured when the ULP has acknowledged */
	uint8_t flow : 4;	/* that its packet came on */
	uint8_t patient : 1;	/* push: waits for the ULP, and the peer has not been told */
	uint8_t nack_code;	/* enum falcon_nack_code while its NACK is owed */
	uint8_t rnr;
	uint8_t ulp_code;
};
_Static_assert(sizeof(struct fc_ttxn) == 64, "one cache line");

/* Bytes of |t|'s response, which is queued. */
static inline uint32_t fc_resp_len(const struct fc_ttxn *t)
{
	return t->resp_hdr_len + t->resp_len;
}

/* An allocation: |of| the |n| resources from |first| on. */
struct fc_need {
	uint8_t first, n;
	uint32_t of[4];
};

/* Connections that wait for resources, in round-robin order. */
struct fc_waiters {
	struct fc_list list;
	uint32_t count;
	uint32_t scan;		/* so many are to be looked at: something was given back */
};

/* A drop filter. */
struct fc_xlr {
	struct fcore_xlr_rule rule;
	uint64_t hits;
	bool used;
};

/* The search for the largest packet that the path carries: path.c. Lengths are bytes of payload. */
struct fc_path {
	uint64_t due;		/* next probe, or end of the wait for the latest one, ns */
	uint32_t len;		/* largest answered in the latest search that heard anything; 0: none yet */
	uint16_t len_of[FCORE_PATH_SIZES];	/* the sizes to choose among, ascending */
	uint8_t sizes;		/* how many; 0: nothing is searched */
	uint8_t proto;		/* enum falcon_protocol_type of the probes */
	uint8_t trying;		/* index of the size that is probed */
	uint8_t probes;		/* of that size, sent and not answered, 0..FC_PATH_PROBES */
	uint8_t found;		/* one past the index of the largest size answered; 0: none yet */
	bool searching;
	bool heard;		/* an ACK of the peer's: it is there */
	uint32_t stuck;		/* PSN of the oldest packet when it was last looked at, ... */
	uint8_t stuck_lost;	/* ... and how often it was found lost by then */
	bool climbing;		/* the link's size has failed: from the smallest one up */
};

enum fc_timer_kind {
	FC_TIMER_RTO,	/* earliest retransmission; armed by sending, fires fc_rto_timeout() */
	FC_TIMER_ACK,	/* ACK Coalescing Timer; armed by receiving, fires fc_ack_timeout() */
	FC_TIMER_TXN,	/* oldest transaction; armed by submitting, fires fc_init_timeout() */
	FC_TIMER_RNR,	/* earliest redelivery; armed by an RNR answer, fires fc_tgt_timeout() */
	FC_TIMER_RACK,	/* next packet that may be late no more; fires fc_rack_timeout() */
	FC_TIMER_TLP,	/* Probe Timeout; armed by sending and by progress, fires fc_tlp_timeout() */
	FC_TIMER_PATH,	/* next probe of the path's size, or end of the wait; fires fc_path_timeout() */
	FC_TIMER_PACE,	/* next departure on a paced flow; fires fc_sched_wake() */
	FC_TIMERS,
};

/* Who carries out the peer's requests. */
enum fc_exec {
	FC_EXEC_OURS,
	FC_EXEC_OFFERED,	/* ours, until the ULP agrees to XDP */
	FC_EXEC_GIVEN,		/* XDP, as long as they are such as it can do */
};

struct fcore_conn {
	/* What every packet touches. */
	struct fcore *core;
	struct falcon_conn *shared;
	struct fc_list link;	/* in core->active or core->stalled; self-linked: in none */
	bool dead;		/* closed or failed: sends nothing any more */
	bool closed;		/* memory goes back when the outermost call returns */
	bool ordered;
	bool turn;		/* pull data's turn (8.3: round-robin between the two queues) */
	bool xoff;		/* a submission was refused: on_xon() follows */
	bool pad_pulls;		/* frames of Pull Requests are as long as those of the responses */
	uint8_t nflows;		/* of ours, 1..FALCON_MAX_FLOWS */
	uint8_t last_flow;	/* that a packet took */
	/* Bit n is the peer's flow n: it does not know our latest receive state, ... */
	uint16_t ack_owed;
	uint16_t ack_due;	/* ... its ACK goes out now, by count, time or request, ... */
	uint16_t ack_ar;	/* ... by request: only an ACK packet will do */
	uint16_t ack_news;	/* there is more to tell than what is acknowledged (falcon_ack_untold()) */
	uint32_t cid;
	uint32_t fcwnd;		/* packets, of all flows together, at least 1 */
	uint32_t ncwnd;		/* packets, at least 1 */
	/* Queue of responses, free-running: those from |resp_tail| on wait for resources. */
	uint32_t resp_head, resp_tail, resp_end;
	/* Initiator: base <= told, send <= next; BRSN is base, NRSN is next. */
	uint32_t init_base, init_told, init_send, init_next;
	/* Target: next delivery (ordered), first RSN never delivered (NRSN). */
	uint32_t tgt_cursor, tgt_next;
	bool tgt_delivering;
	uint32_t tgt_waiting;	/* bits set in |tgt_wait| */
	uint32_t tgt_early;	/* ordered: requests that have come before their turn */
	uint32_t tgt_voids;	/* bits set in |tgt_void| */
	enum fc_exec exec;
	bool exec_pulls;	/* GIVEN, and XDP numbers the packets of the data window */
	bool exec_sent;		/* XDP may have sent some, from data.next on: to be adopted */
	bool exec_adopted;	/* there are some in the window now, and EACKs may have told of them before */
	uint16_t responses;	/* one past our entry of core->responses; 0: none */
	uint16_t sinks;		/* one past our entry of core->sinks; 0: none */
	struct fc_list exec_link;	/* OFFERED: in core->offered; else self-linked */
	struct fc_flow *flow;	/* |nflows| of them, behind the connection */
	struct fc_win data FALCON_ALIGNED;
	struct fc_win req FALCON_ALIGNED;

	__u64 arrived_data[FALCON_DATA_WORDS];	/* claims that reached the core */
	__u64 arrived_req[FALCON_REQ_WORDS];
	uint64_t tgt_nack[FC_TXN_WORDS];	/* slots whose NACK is owed */
	uint64_t tgt_void[FC_TXN_WORDS];	/* RSNs to come that a Resync has voided: skipped */
	uint64_t tgt_wait[FC_TXN_WORDS];	/* slots that wait for redelivery */
	bool nack_owed;				/* a bit of |tgt_nack| is set */
	uint64_t nack_from;			/* ns: what went by since may be spent on NACKs */
	uint32_t seen_acks, seen_eacks;		/* tx_acked counters last processed */
	uint64_t last_ack;			/* ns when an ACK was last seen */
	uint64_t patience;			/* ns that attempts to reach a silent peer take at least */
	bool rack;				/* FCORE_EARLY_RACK */
	bool rack_all;				/* a retransmission arrived: all on the wire are suspect */
	bool probed;				/* since the latest progress a probe was sent */
	uint64_t active;			/* ns of the latest progress: first transmission or ACK */
	uint64_t probe_at;			/* ns of the latest probe */
	uint64_t tlp;				/* TLP timeout that the RUE has set, ns; 0: none */
	uint32_t tx_order;			/* transmissions of reliable packets */
	uint32_t retx_room;			/* [R/D]ORRC stays below; resource NACKs lower it */
	uint64_t refused_at;			/* ns of the latest resource NACK seen; 0: none yet */
	uint64_t retx_room_at;			/* ns when |retx_room| last changed */
	uint32_t seen_refused;			/* tx_acked.nacks_resource last processed */
	struct fc_ack ack[FALCON_MAX_FLOWS];	/* of the peer's flows, however many it has */
	struct fc_timer timer[FC_TIMERS];
	struct fc_path path;
	struct fcore_account *account[FCORE_LEVELS];	/* |own| is the last */
	struct fcore_account own;
	uint32_t alpha;				/* 1/FCORE_ALPHA_ONE, as configured */
	uint32_t scaled_alpha;			/* the same times the flows' mean |alpha_scale| */
	bool tx_reclaimed;			/* Tx resources were given back all at once (11) */
	struct fc_need xoff_need;		/* what was refused, with |xoff| */
	struct fc_list xon_link;		/* in core->xon while that may take shared resources */
	struct fc_list data_link;		/* in core->data while responses wait for resources */
	struct fcore_params params;
	struct fcore_stats stats;
	void *user;
	struct fcore_conn *next_closed;
	void *memory;		/* what to free */
	struct fc_slab *slab;	/* where the rings are */
	uint8_t slot;		/* in the slab */

	/* Rings. */
	uint32_t *resp_queue;	/* RSNs of queued responses; FCORE_MAX_TXNS */
	uint8_t (*resp_hdr)[FCORE_MAX_RESP_HDR];	/* their headers, by RSN; FCORE_MAX_TXNS */
	struct fc_resp *resp;	/* FALCON_DATA_WINDOW */
	struct fc_itxn *itxn;	/* FCORE_MAX_TXNS */
	struct fc_ttxn *ttxn;	/* FCORE_MAX_TXNS */
};

struct fcore {
	struct fcore_ops ops;
	void *arg;
	uint32_t depth;		/* nesting of calls: callbacks may call back */
	uint32_t nconns, max_conns;
	struct fc_list active;	/* may have something to send, in round-robin order */
	/* Refused with -EAGAIN during this fcore_run(): without a packet in their turn, and after some. */
	struct fc_list stalled[2];
	struct fcore_conn *closed;	/* to be freed when |depth| is back at 0 */
	bool exec_chasing;	/* fcore_exec_chasing() */
	uint64_t away;		/* ns, fcore_was_away() in all */
	struct falcon_responses *responses;	/* |responses_count| of them */
	uint32_t first_response, responses_count;
	uint64_t responses_taken[FALCON_RESPONSES / 64];	/* bit by entry */
	struct falcon_sinks *sinks;	/* |sinks_count| of them */
	uint32_t first_sink, sinks_count;
	uint64_t sinks_taken[FALCON_SINKS / 64];	/* bit by entry */
	struct fc_list offered;	/* whose requests XDP may carry out once all that came is done */
	struct fc_list slabs;	/* with room for the rings of a connection */
	struct fc_waiters xon;	/* Xoff; woken by what is given back to ULP Requests */
	struct fc_waiters data;	/* responses; woken by what is given back to ULP Data */
	struct fcore_account nic;
	struct fcore_occupancy rx_occupancy[2];	/* of Net Req Pkt Rx and Net Req Buf Rx, at the NIC */
	uint32_t rx_waiting;	/* as fcore_rx_waiting() was told */
	uint32_t rx_level;	/* the highest of the three; as on_rx_level() was told */
	struct fcore_account *host, *function;	/* one allocation; |hosts| and |functions| of them */
	uint32_t hosts, functions;
	uint32_t tx_shift, rx_shift;	/* log2 of the cell sizes */
	uint32_t max_len;	/* bytes of the largest transaction */
	uint32_t alpha;		/* of new connections */
	uint32_t keep_nic[2];	/* Net Req Pkt and Buf Rx kept for head-of-line requests: red zone */
	uint32_t keep[2];	/* the same at lower levels */
	uint32_t xlr_rules[FCORE_XLR_WHERES];	/* how many of |xlr| are in use, by |where| */
	struct fc_xlr xlr[FCORE_XLR_RULES];
	enum falcon_zone zone;	/* as last told to on_zone() */
	struct fcore_stats past;	/* of connections that were closed */
	struct fcore_rtt rtt;
	struct fc_wheel wheel;
	struct fcore_conn **conns;	/* FALCON_MAX_CONNS, by CID */
};

/* What an attempt to send one packet came to. */
enum fc_sent {
	FC_SENT,
	FC_IDLE,	/* nothing to send, or nothing the windows allow */
	FC_STALLED,	/* -EAGAIN */
};

static inline uint32_t fc_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline struct fc_itxn *fc_itxn(struct fcore_conn *c, uint32_t rsn)
{
	return &c->itxn[rsn & FC_TXN_MASK];
}

static inline struct fc_ttxn *fc_ttxn(struct fcore_conn *c, uint32_t rsn)
{
	return &c->ttxn[rsn & FC_TXN_MASK];
}

static inline struct fc_ctx *fc_ctx(struct fc_win *w, uint32_t psn)
{
	return &w->ctx[psn & (w->size - 1)];
}

static inline bool fc_is_request(uint8_t type)
{
	return type != FALCON_PULL_DATA;
}

/* Bits of group |g| (PSNs g * 32 ...) that lie in [from, to), a range of at most a window. */
static inline uint32_t fc_group_mask(uint32_t g, uint32_t from, uint32_t to)
{
	int32_t lo = falcon_seq_diff(from, g << FALCON_GROUP_SHIFT);
	int32_t hi = falcon_seq_diff(to, g << FALCON_GROUP_SHIFT);
	uint32_t m = ~0U;

	if (lo > 0)
		m &= lo < 32 ? ~0U << lo : 0;
	if (hi < 32)
		m &= hi > 0 ? (1U << hi) - 1 : 0;
	return m;
}

/* The word of a window's bitmap that holds group |g|. */
static inline uint32_t *fc_bits(const struct fc_win *w, uint32_t *map, uint32_t g)
{
	return &map[g & (w->size / 32 - 1)];
}

/* The bits of group |g| in a shared ring; 0 if its slot holds another group. */
static inline uint32_t fc_ring_bits(const struct fc_win *w, const __u64 *ring, uint32_t g)
{
	uint64_t word = falcon_load(&ring[g & (w->words - 1)]);

	g &= ~0U >> FALCON_GROUP_SHIFT;
	return (uint32_t)(word >> 32) == g ? (uint32_t)word : 0;
}

#endif /* FALCON_CORE_CONN_H */
