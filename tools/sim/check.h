/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The promises of the protocol, held against what every party is seen to do. Each check names its
 * section; all report through sim_fail(). Of a scenario without checks they look at nothing.
 */
#ifndef FALCON_SIM_CHECK_H
#define FALCON_SIM_CHECK_H

#include "secure.h"
#include "sim.h"

/* check_ack.c */
/* |e| has heard |a| on |flow|, |took| ns by its clock after the packet whose T1 it echoes. */
void check_heard(struct endpoint *e, uint32_t flow, const struct falcon_ack *a, uint64_t took);
/* The core of |e| is about to hear of NACK |a|. */
void check_nacked(struct endpoint *e, const struct falcon_ack *a);
/* |e| states |a| to |flow|: the core, or the receive path. */
void check_ack(struct endpoint *e, const struct falcon_ack *a, uint32_t flow);
/* |e| states that what the peer has sent below |base| is acknowledged. */
void check_stated(struct endpoint *e, bool req, uint32_t base);

/* check_due.c */
/* |e| owes |flow| an ACK: there is news, |count| packets more to acknowledge, and if |ar|, at once. */
void check_owe(struct endpoint *e, uint32_t flow, uint32_t count, bool ar);
/* An ACK to |flow| has left. */
void check_acked(struct endpoint *e, uint32_t flow);
/* A reliable packet leaves. */
void check_piggybacked(struct endpoint *e);
/* The agent of |h| begins a turn. */
void check_awake(struct host *h);
/* ... and has ended it; |refused| transmissions were refused before, |spent|: it has sent all that it may. */
void check_turn(struct host *h, uint64_t refused, bool spent);
/* When all is over. */
void check_nothing_owed(const struct endpoint *e);

/* check_fair.c: it knows the core's inside, too. */
/* The core of |e| sends |p|; of another connection, the other queue or another flow it was not the turn. */
void check_served(struct endpoint *e, const struct fcore_packet *p);
/* |e| sends a request, or a response, for the first time. */
void check_alternates(struct endpoint *e, bool response);
/* A packet of |e| was refused; |chance|: whether or not others had filled the link. */
void check_not_served(struct endpoint *e, bool chance);
/* The core of |h| has sent what it could. */
void check_served_all(struct host *h);

/* check_secure.c */
/* |e| has a new key, of |len| |bytes|, under which it accepts packets. Its number. */
uint64_t check_key_made(struct endpoint *e, const uint8_t *bytes, uint32_t len);
/* |e| seals with |key| from now on; false: it does so already. */
bool check_key_taken(struct endpoint *e, uint64_t key);
/* |e| knows that. */
void check_key_answered(struct endpoint *e);
/* The agent of |e| has had its turn, and has a key beside the current one if |two|. */
void check_keys(struct endpoint *e, bool two);
/* |e| may have no packets sealed any more, for |err|. */
void check_worn(struct endpoint *e, int err);
/* |f| of |e| was sealed. */
void check_sealed(struct endpoint *e, struct frame *f);
/* |f| came to an end with verdict |v|, as a packet to |e|, which may be NULL. */
void check_opened(struct endpoint *e, const struct frame *f, enum falcon_verdict v);

/* check_event.c */
/* The engine has told |e| |r|; and what holds before it does. */
void check_told(struct endpoint *e, const struct falcon_rue_result *r);
void check_told_first(struct endpoint *e);
/* |ev| shows the engine what it has told last. */
void check_event_state(const struct endpoint *e, const struct falcon_rue_event *ev);
/* |ev| is of |a|, which came on |flow|, sent with IV |t3| and received at |t4|. */
void check_event_ack(const struct endpoint *e, uint32_t flow, const struct falcon_ack *a, uint64_t t3,
		     uint64_t t4, const struct falcon_rue_event *ev);
/* The engine reads |ev|. No packet is acknowledged to it twice. */
void check_event_read(struct endpoint *e, const struct falcon_rue_event *ev);
/* |ev| is of the packet that was sent again just now. */
void check_event_retx(const struct endpoint *e, const struct falcon_rue_event *ev);

/* check_tx.c */
/* The core of |e| sends |p|. Called before the packet leaves. */
void check_tx(struct endpoint *e, const struct fcore_packet *p);
/* XDP does, in the core's place: it is nobody's turn. */
void check_tx_xdp(struct endpoint *e, const struct fcore_packet *p);
/* The receive path of |e| has claimed the packet with header |h| in its window. */
void check_claimed(struct endpoint *e, const struct falcon_hdr *h);
/* The agent of |e| is about to hand |rx| to its core, and has done so. */
void check_arriving(struct endpoint *e, const struct fcore_rx *rx);
void check_delivered(struct endpoint *e, const struct fcore_rx *rx);
/* The upper layer of |e| has accepted the peer's push |i|. */
void check_accepted(struct endpoint *e, uint32_t i);
/* XDP has carried it out: its packet, which asks for an ACK or not, came on |flow|. */
void check_executed(struct endpoint *e, uint32_t i, uint32_t flow, bool ar);
/* Pull Data |h|, which came on |flow|, are placed: XDP has acknowledged them. */
void check_placed(struct endpoint *e, const struct falcon_hdr *h, uint32_t flow);
/* The packet sequence number |psn| of |e|, or NULL if it was never sent. */
struct psn *check_psn(struct endpoint *e, bool req, uint32_t psn);

/* check_ulp.c */
/* The peer's request |i| is delivered to the upper layer of |e|. False: out of the question. */
bool check_request(struct endpoint *e, uint32_t i, bool pull);
/* Transaction |i| of |e| ends. */
bool check_completion(struct endpoint *e, uint32_t i, enum falcon_completion_code code,
		      uint8_t ulp_code);
/* on_fatal(), for |why|, is justified. */
void check_fatal(struct endpoint *e, const char *why);
/* Nothing was lost or late, so nothing was sent twice; when all is over. */
void check_clean(struct endpoint *e);

/* path.c */
/* |e| sends a probe with |h|, of |len| bytes: what the path carries is searched for. */
void check_probe(struct endpoint *e, const struct falcon_hdr *h, uint32_t len);
/* All paths carry all sizes, and |e| has found out. */
void check_path(const struct endpoint *e);

/* crash.c */
/* Verdict |v| on |f| is not that it was accepted, unless it is of this incarnation of |e|. */
void check_incarnation(const struct endpoint *e, const struct frame *f, enum falcon_verdict v);

/* pools.c */
/* No account of |h| holds more than it may; |whole|: and the connections' add up at every level. */
void check_pools(struct host *h, bool whole);
/* Nothing is held by anybody; |when| is for the message. */
void check_pools_full(struct host *h, const char *when);
/* The zones of the NIC and of |e|, as their accounts are now, do not admit |h| (8.2.4). */
bool pool_zone_refuses(const struct endpoint *e, const struct falcon_hdr *h);
/* Request |h| with |len| bytes is beyond a limit at some level, or the share of |e|. */
bool pool_refuses(const struct endpoint *e, const struct falcon_hdr *h, uint32_t len);

/* check_core.c: it knows the core's inside. */
/* |psn|, last sent at |last|, is sent again: gates, order, not too early and not too often (9.1.2, 9.1.4). */
void check_retx(struct endpoint *e, bool req, uint32_t psn, uint64_t last);
/* The bases of |e| say all that there is to say (9.1.6). */
bool check_all_told(const struct endpoint *e);
/* The target's slot of |rsn| is in use by another transaction. */
bool check_slot_taken(const struct endpoint *e, uint32_t rsn);
/* Counters agree with what they count, bases with one another. |whole|: also the costly ones. */
void check_state(struct endpoint *e, bool whole);

#endif /* FALCON_SIM_CHECK_H */
