/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator: hosts that run the core (libfcore.a) and the receive path of include/falcon, in
 * virtual time, joined by switches. One event at a time, in the order of their times and, at one
 * time, of their making; nothing depends on addresses, on the clock or on the machine.
 *
 *   upper layer -- core -- agent's loop -- NIC --> switch ports, wires --> receive path -- ring --
 *                                                  (queues, faults)        (as in XDP)
 */
#ifndef FALCON_SIM_H
#define FALCON_SIM_H

#include "config.h"
#include "event.h"
#include "pool.h"
#include "rng.h"

#include <core/core.h>
#include <falcon/rx.h>
#include <io/frame.h>

enum sim_const {
	SIM_ULP_HDR = 8,	/* bytes: the transaction's number, and its complement */
	SIM_OVERLONG = 8,	/* bytes that a response may be too long by */
	SIM_OWED = 2 * FCORE_MAX_TXNS,	/* more than a core delivers unanswered */
};

struct sim;
struct host;
struct endpoint;

struct frame {
	struct frame *next;	/* in a host's ring, or on its way over a RIFL link */
	struct endpoint *verdict_ep;	/* in the ring: whose it is */
	uint64_t iv;		/* as it was sent, whatever has become of the bytes */
	uint64_t sent;		/* the virtual time of its T1 */
	uint64_t echoed;	/* ACKs: |sent| of the packet whose T1 they echo */
	uint32_t len;		/* bytes on the wire */
	uint32_t stored;	/* of them in |data|; without the payload if there is none */
	uint32_t label;		/* what ECMP hashes beside the hosts: flow label or source port */
	uint16_t src, dst;	/* hosts */
	uint16_t falcon_off, falcon_len;	/* in the ring: metadata, as XDP's */
	uint32_t incarnation;	/* of its sender's end */
	uint8_t verdict;
	uint8_t flow;		/* the same: of the sender, as its |path| */
	uint16_t path;
	uint8_t hops;		/* switches that it has passed */
	bool corrupt;
	bool marked;		/* ECN CE */
	uint64_t rx_ns;		/* by the receiver's clock */
	uint8_t data[] __attribute__((aligned(8)));
};

enum event_kind {
	EV_PORT,	/* a frame reaches a switch's port */
	EV_UPLINK,	/* a frame leaves a host's NIC for a link with bit errors */
	EV_HOP,		/* a slot of a RIFL link */
	EV_ARRIVE,	/* a frame reaches a host */
	EV_AGENT,	/* a host's agent has its turn */
	EV_ANSWER,	/* an upper layer answers */
	EV_SUBMIT,	/* an upper layer submits */
	EV_RUE,		/* a rate update of any kind */
	EV_ENGINE,	/* a rate update engine has a result */
	EV_CLOSE,	/* a connection's end is closed */
	EV_FILTER,	/* a host's filters come or go */
	EV_MTU,		/* a host's link has another MTU */
	EV_TOLD,	/* an end hears from its peer's agent how large packets may be */
	EV_MOVE,	/* a host has another address on its link, or its peers hear of it */
	EV_CRASH,	/* a host's agent dies, or the next one starts */
	EV_OPEN,	/* an end opens its next incarnation */
	EV_HEAL,	/* no more faults */
};

struct link_stats {
	uint64_t packets, bytes, lost, queue_full, too_large, corrupted, duplicated, reordered, marked;
	uint64_t queued;	/* bytes found waiting, summed up over packets */
	uint64_t max_queued;
	uint64_t damaged;	/* lost for bit errors; host links: the NIC's, too */
};

/* Bit errors of one direction. */
struct noise {
	struct rng rng;
	uint64_t gap;		/* bits up to the next one */
};

/* A switch's port and the wire behind it. */
struct link {
	const struct sim_link_cfg *cfg;
	struct rng rng;
	uint64_t busy_ps;	/* its queue is empty from here on */
	int32_t to_leaf;	/* the wire ends at this leaf, ... */
	int32_t to_spine;	/* ... at this spine; both -1: at a host */
	bool bad;		/* in a spell of loss */
	struct noise noise, uplink;	/* host links: the latter is of what the NIC sends */
	struct hop *hop;	/* NULL: no RIFL */
	uint32_t dir;		/* of the two directions of |hop|, ours */
	struct link_stats stats;
};

/* One packet sequence number, as its transmitter and the receiver's receive path have seen it. */
struct psn {
	uint32_t rsn;
	uint8_t type;		/* enum falcon_packet_type of the original */
	uint8_t flags;		/* enum psn_flag */
	uint8_t resync_code;
	uint8_t came;		/* how it was delivered last: flow, and enum psn_came */
	uint32_t sends;
	uint32_t claims;	/* by the receiver's receive path */
	uint32_t resyncs;	/* sends as a Resync */
	uint32_t early;		/* sends before its timeout, since the receiver was not ready for it */
	uint64_t last;		/* ns of the latest send */
	uint64_t hold;		/* RNR: not again before, by its sender's clock */
};

enum psn_flag {
	PSN_ARRIVED = 0x01,	/* claimed in the receiver's window, perhaps lost thereafter */
	PSN_DELIVERED = 0x02,	/* handed to the receiver's core */
	PSN_DONE = 0x04,	/* may be acknowledged */
	PSN_RETX = 0x08,	/* retransmitted */
	PSN_TAKEN = 0x10,	/* push: kept by the receiver's core at least once */
};

enum psn_came {
	PSN_CAME_AR = 0x10,	/* beside the flow */
};

/* What one end sends in one of the windows, and what is known of it. */
struct shadow {
	struct psn *psn;	/* by distance from |first| */
	uint32_t first;
	uint32_t next;		/* how many were sent */
	uint32_t size;		/* how many there can be */
	uint32_t floor;		/* all below this were found PSN_DONE: how far a base may be */
	uint32_t stated;	/* the highest base that the receiver has stated */
	uint32_t seen_tx, seen_rx;	/* bases last seen, to check that they only grow */
};

/* What the next ACK of a flow has to echo. */
struct measured {
	uint32_t t1, t2, ecn;
	uint32_t hops;		/* switches on its way */
	uint64_t sent;		/* the virtual time of |t1| */
	bool any;		/* a packet has come */
};

/* What the rate update engine has told a flow, in the units of its results. */
struct told {
	uint32_t fcwnd;		/* 11.10 fixed point */
	uint32_t gap, rto, target, delay_state, rtt_state;
};

/* The ACK that is owed to a flow. */
struct due_ack {
	uint64_t due;		/* by the clock of its host */
	uint32_t count;		/* packets that it acknowledges */
	bool ar;		/* it was requested */
};

/* The packet that an end is about to answer. */
struct judged {
	const struct falcon_hdr *hdr;	/* NULL: none */
	uint32_t len;		/* bytes behind the header */
	enum falcon_verdict verdict;
	bool fresh;		/* a request that has not been here, or was refused */
};

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

/* Frames in the order of their coming. */
struct ring {
	struct frame *first, **end;
};

struct txn {
	void *payload;		/* push: until completed */
	uint64_t submitted;	/* ns */
	uint64_t answer_at;	/* at the target, while TXN_DELIVERED */
	uint32_t psn;		/* of its request, as a distance; once sent */
	uint16_t most;		/* bytes that the path carried when it was submitted; 0: any */
	uint8_t state;		/* enum txn_state, at the target */
	bool completed;
	bool data;		/* pull data was delivered */
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

struct host {
	struct sim *sim;
	const struct sim_host_cfg *cfg;
	uint32_t index;
	struct fcore *core;	/* NULL while there is no agent */
	struct rng rng;
	struct falcon_config config;
	struct endpoint **by_cid;
	struct endpoint **ep;	/* its ends of connections */
	uint32_t neps, ncids;
	uint64_t counters[FALCON_VERDICT_COUNT];
	uint64_t nic_busy_ps;
	uint64_t agent_at;	/* when the agent's next turn is; FCORE_NEVER: asleep */
	uint32_t agent_event;
	uint64_t next_pause;
	uint64_t credits;
	struct ring ring[SIM_MAX_QUEUES];	/* to the agent */
	struct ring wire;	/* what XDP has while the agent is in its turn */
	bool racing;		/* it does so now */
	bool dropped;		/* claimed frames were lost since the agent last looked */
	long frames;		/* lent to the core */
	uint64_t lent;		/* bytes of them */
	uint64_t level;		/* moving average of |lent|, times 16 */
	uint64_t mem_busy;	/* everything pushed so far is in memory, ns */
	struct endpoint **dirty;	/* those with |dirty| set */
	uint32_t ndirty;
	struct endpoint **touched;	/* those with |touched| set */
	uint32_t ntouched;
	uint32_t checks;	/* of its pools */
	uint32_t filter[SIM_FILTERS];	/* rules of its core ... */
	uint8_t filters;	/* ... that there are */
	uint32_t mtu;		/* of its link */
	uint64_t changed_at;	/* when it became so */
	uint8_t station;	/* which of its addresses it has */
	uint64_t ack_due;	/* no ACK is due before this, by its clock */
	bool at_ease;		/* in its latest turn nothing held the core back */
	struct engine *engine;	/* rate update; NULL: none of its connections has one */
	uint64_t tx_frames, tx_refused;
};

/* What a run has gone through; added up over a soak, it shows what the soak has reached. */
struct sim_totals {
	uint64_t events, packet_events, packets;
	uint64_t completions[16];	/* by enum falcon_completion_code */
	uint64_t rnr, fatal, refused, pauses, rue;
	uint64_t unanswered;	/* answers that were left to the core */
	uint64_t executed;	/* pushes that XDP has carried out */
	uint64_t raced;		/* packets that XDP had within an agent's turn */
	uint64_t crashes;	/* of agents */
	uint64_t searches;	/* of what a path carries */
	uint64_t wraps;		/* ACKs between whose T1 and T4 the clock has wrapped */
	uint64_t retx_rto, retx_early, retx_own, retx_rack, resyncs, released;
	uint64_t verdicts[FALCON_VERDICT_COUNT];
};

struct sim {
	const struct sim_cfg *cfg;
	uint64_t now;
	uint64_t start;		/* |now| at the beginning */
	struct event_queue events;
	struct pool frames, payloads;
	uint32_t frame_len;	/* bytes of the longest frame */
	void *blank;		/* payload of those who have none */
	bool healed;
	bool widened;		/* all paths carry all sizes */
	uint64_t widened_at;
	bool measure;		/* keep latencies */
	struct host *hosts;
	struct link *links;	/* to hosts, from leaves to spines, from spines to leaves */
	uint32_t nlinks;
	struct group *groups;	/* by section */
	struct endpoint *ep;	/* two a connection */
	uint32_t neps;
	uint64_t hash;		/* of the trace so far */
	FILE *trace;
	struct sim_totals totals;
	bool failed;
	uint64_t failed_at;	/* ns since the beginning */
	int failed_ep;		/* -1: no connection's */
	char why[200];
};

/* sim.c */
/*
 * Prepare |s| to run |cfg|, which must stay; |trace| may be NULL. |measure|: keep what the report's
 * percentiles take.
 */
void sim_open(struct sim *s, const struct sim_cfg *cfg, FILE *trace, bool measure);
/* Run to the end, or to the first violation. */
void sim_run(struct sim *s);
/* Nothing of |e| is under way any more. */
bool sim_ep_drained(const struct endpoint *e);

/* A promise was broken. The first one counts; |e| may be NULL. */
void sim_fail(struct sim *s, const struct endpoint *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline uint32_t sim_at(struct sim *s, uint64_t at, enum event_kind kind, void *p, uint32_t n)
{
	return event_add(&s->events, at, (uint8_t)kind, p, n);
}

/* open.c */
void sim_close(struct sim *s);

/* A host's address, or its peer's, has changed: also before the first packet. */
void set_route(struct endpoint *e);

/* |e|, of which everything else is as it shall begin, has a core again. */
void open_incarnation(struct endpoint *e);

/* crash.c */
/* What is to come of the agent of |h|. */
void crash_open(struct host *h);
/* The agent of |h| dies, or |again| is there. */
void crash_event(struct host *h, bool again);
/* It is time for |e| to open |incarnation|. */
void crash_open_ep(struct endpoint *e, uint32_t incarnation);

/* pools.c */
/* The core of |h|, with the resources that are configured. */
void pool_config(struct host *h);
/* The function of |e|, whose accounts it uses. */
uint32_t pool_function(const struct endpoint *e);
/* The limits of connection |e|. */
void pool_limit(struct endpoint *e);

/* filter.c */
/* The filters of |h| will come and go. */
void filter_open(struct host *h);
void filter_set(struct host *h, bool on);
/* A rule of the host of |e|, at |where|, matches pushes or pulls of |e|, or of its peer. */
bool filter_matches(const struct endpoint *e, enum fcore_xlr_where where, bool pull);

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

/* nic.c */
/* A frame for packet |p| of |e|, built with |t|, that leaves now or when the NIC sends it. */
struct frame *nic_frame(const struct endpoint *e, const struct fcore_packet *p,
			struct frame_template *t);
/* Give |f| to the NIC of |h|, whose queue has room. */
void nic_send(struct host *h, struct frame *f);
bool nic_full(const struct host *h);
/* How many packets of |len| bytes the queue takes, at least; UINT32_MAX if any number. */
uint32_t nic_room(const struct host *h, uint32_t len);
/* When half of its queue is sent. */
uint64_t nic_relief(const struct host *h);
/* Time that |len| bytes take at |rate|, ps; 0 if it is infinite. */
uint64_t wire_ps(uint64_t rate, uint32_t len);
/* Bytes waiting before something that is busy until |busy_ps|. */
uint64_t backlog(uint64_t rate, uint64_t busy_ps, uint64_t now);

/* link.c */
/* The links of |s->cfg|'s topology. */
void link_open(struct sim *s);
void link_close(struct sim *s);
/* The first port on the way of |f|. */
uint32_t link_first(const struct sim *s, const struct frame *f);
/* Frames of port |n|, and of the NIC behind it, with bit errors: RIFL's, or Ethernet's, which are lost. */
uint64_t link_damaged(const struct sim *s, uint32_t n);
/* |f| reaches port |n|. */
void link_port(struct sim *s, struct frame *f, uint32_t n);
/* |f| has left the NIC of its host, whose link has bit errors or speaks RIFL. */
void link_uplink(struct sim *s, struct frame *f);
/* |f| is through the RIFL link of port |n| at |at|. */
void link_out(struct sim *s, uint32_t n, struct frame *f, uint64_t at);
/* The shortest way between two hosts, ns of propagation. */
uint64_t link_delay(const struct sim *s, uint32_t from, uint32_t to);

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

/* host.c */
extern const struct fcore_ops host_ops;
/* The agent has something to do at |at|. */
void host_kick(struct host *h, uint64_t at);
/* One turn of the agent's loop. */
void host_turn(struct host *h);
/* A frame that the receive path has accepted goes to the core. */
void host_accept(struct host *h, struct frame *f);
/* Close this end with everything that is under way; for good, and as an incarnation. */
void host_close_ep(struct endpoint *e);
void host_end_ep(struct endpoint *e);
/* |f| has come: XDP has it, at once or in the middle of the agent's next turn. */
void host_arrive(struct host *h, struct frame *f);
/* Frame |f| waits for the agent, in one of its rings. */
void host_queue(struct host *h, struct frame *f);
bool host_waits(const struct host *h);
/* XDP takes what has come: some of it by chance, or all; as if the agent were in the middle of its turn. */
void host_race(struct host *h, bool all);
/* Frames of |h| that are on their way inside of it are lost. */
void host_lose_frames(struct host *h);
/* Take all that is in the rings of |h|. */
void host_drain(struct host *h);
/* |e| is to be checked after this turn. */
void host_touch(struct endpoint *e);

/* clock.c */
/* What the clock of |h| shows at virtual time |at|, and now. */
uint64_t host_clock(const struct host *h, uint64_t at);
uint64_t host_now(const struct host *h);
/* What has passed by the clock of |h| since virtual time |then|. */
uint64_t host_since(const struct host *h, uint64_t then);
/* The virtual time at which the clock of |h| first shows |shows|; FCORE_NEVER is never. */
uint64_t host_when(const struct host *h, uint64_t shows);

/* xdp.c */
/*
 * The receive path, as bpf/falcon.bpf.c has it; with |agent| as user/agent/rx.c, for a frame from
 * the ring that was only steered there.
 */
void xdp_receive(struct host *h, struct frame *f, bool agent);

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

/* trace.c */
/* What happened, with up to four numbers; |what| is one of the few literals of the man page. */
void sim_trace(struct sim *s, const char *what, const struct endpoint *e, uint64_t a, uint64_t b,
	       uint64_t c);

static inline struct endpoint *ep_of(struct fcore_conn *c)
{
	return fcore_conn_user(c);
}

static inline struct txn *txn_of(const struct endpoint *e, uint32_t i)
{
	return &e->txns[i & e->txn_mask];
}

#endif /* FALCON_SIM_H */
