/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of the core: what its parts offer one another. conn.h has what they work on. */
#ifndef FALCON_CORE_PARTS_H
#define FALCON_CORE_PARTS_H

#include "core/conn.h"

/* core.c: every entry point is bracketed, so that closing from a callback frees nothing in use. */
static inline void fc_enter(struct fcore *core)
{
	core->depth++;
}

void fc_leave(struct fcore *core);

/* Entries that a connection keeps, of |n|: bit by entry. Returns one past a free one, or 0. */
static inline uint16_t fc_entry_take(uint64_t *taken, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *word = &taken[i / 64], bit = 1ULL << (i % 64);

		if (*word & bit)
			continue;
		*word |= bit;
		return (uint16_t)(i + 1);
	}
	return 0;
}

/* Give back what fc_entry_take() has returned. */
static inline void fc_entry_give(uint64_t *taken, uint32_t entry)
{
	taken[(entry - 1) / 64] &= ~(1ULL << ((entry - 1) % 64));
}

/* sched.c: |c| may have something to send. */
void fc_sched_wake(struct fcore_conn *c);
void fc_sched_remove(struct fcore_conn *c);

/* exec.c */
/* Requests of |c| that XDP was given are ours again, and so are the numbers of the data window. */
void fc_exec_take(struct fcore_conn *c);

/* tx.c: something is queued that takes a number of the data window, which XDP may have. */
bool fc_tx_takes_data(const struct fcore_conn *c);

/* exec_data.c: Pull Data that XDP sends */
/* |e| is about to be given: may XDP answer pulls, too? */
void fc_exec_lend(struct fcore_conn *c, struct falcon_exec *e);
/* XDP gets no more pulls: what lending takes goes back. */
void fc_exec_unlend(struct fcore_conn *c);
/* What XDP has sent becomes part of the window. What is acknowledged ends, so |c| may close. */
void fc_exec_adopt(struct fcore_conn *c, uint64_t now);
/* ACKs were taken: watch over what XDP has sent, and say whether we want to hear more. */
void fc_exec_watch(struct fcore_conn *c, uint64_t now);
/* ACKs show that something that XDP has sent may be lost: what it sent later has arrived. */
bool fc_exec_missing(const struct fcore_conn *c);
/* The RTO timer has fired: adopt what was sent too long ago. When to look again, ns, or FCORE_NEVER. */
uint64_t fc_exec_timeout(struct fcore_conn *c, uint64_t now);
/* We are about to send in the request window, or a probe: XDP is to tell of every ACK. */
static inline void fc_exec_listen(struct fcore_conn *c)
{
	if (c->exec_pulls)
		falcon_store(&c->shared->exec.quiet, (__u8)0);
}
/* We are about to send: if we number a packet of the data window, that is ours again. |c| may close. */
static inline void fc_exec_before_tx(struct fcore_conn *c, uint64_t now)
{
	if (!c->exec_pulls && !c->exec_sent)
		return;
	if (!fc_tx_takes_data(c))
		return;
	if (c->exec_pulls)
		fc_exec_take(c);
	fc_exec_adopt(c, now);
}

/* sink.c: Pull Data that XDP places */
/* The data of |rsn|, a pull that was submitted just now, may go where |sink| says. */
void fc_sink_open(struct fcore_conn *c, uint32_t rsn, const struct falcon_sink *sink);
/* XDP has placed the data of |rsn|. */
bool fc_sink_is_placed(const struct fcore_conn *c, uint32_t rsn);
/* XDP places nothing for |rsn| from here on. True: it has. */
bool fc_sink_close(struct fcore_conn *c, uint32_t rsn);
/* All sinks are closed: what they took goes back. */
void fc_sink_unlend(struct fcore_conn *c);

/* acked.c: take in what the peer's base of |w| acknowledges. True if it moved; |c| may have closed. */
bool fc_acked_base(struct fcore_conn *c, struct fc_win *w, uint64_t now);
/* acked.c: something was acknowledged. */
void fc_acked_progress(struct fcore_conn *c, uint64_t now);

/* tx.c */
/* First transmission, on |f|, of the next packet that queues and windows allow (9.1.3). */
enum fc_sent fc_tx_new(struct fcore_conn *c, struct fc_flow *f, uint64_t now);
/* Send |psn|, first or again, on flow |f|. 0 or -EAGAIN. */
int fc_tx_packet(struct fcore_conn *c, struct fc_win *w, uint32_t psn, struct fc_flow *f, bool ar,
		 bool again);
/* fcwnd allows |psn| (9.1.2). */
static inline bool fc_tx_fits(const struct fc_win *w, uint32_t psn)
{
	return psn - w->base < w->limit;
}
/* The timer has something to do at |deadline|. */
static inline void fc_arm(struct fcore_conn *c, enum fc_timer_kind kind, uint64_t deadline)
{
	fc_timer_arm_earlier(&c->core->wheel, &c->timer[kind], deadline);
}

/* fc_flow_choose(), at no cost where there is no choice. */
static inline struct fc_flow *fc_flow_pick(struct fcore_conn *c, uint64_t now)
{
	if (c->nflows > 1)
		return fc_flow_choose(c, now);
	return fc_flow_paced(c->flow, now) ? NULL : c->flow;
}

/* retx.c: the queue of retransmissions */
/* Queue |psn| for retransmission; nothing happens if it is queued already. */
void fc_retx_mark(struct fcore_conn *c, struct fc_win *w, uint32_t psn, enum fc_retx_reason why);
/* Take |psn| out of the queue again. */
void fc_retx_unmark(struct fc_win *w, uint32_t psn);
/* No longer an outstanding retransmission in the sense of [R/D]ORRC (9.1.2). */
void fc_retx_uncount(struct fc_win *w, struct fc_ctx *ctx);
/* Send a Resync in the place of |psn| from now on (9.1.8). */
void fc_retx_resync(struct fcore_conn *c, struct fc_win *w, uint32_t psn,
		    enum falcon_resync_code code);
/* Send, on |f|, the next queued retransmission that the gates of 9.1.2 allow. */
enum fc_sent fc_retx_send(struct fcore_conn *c, struct fc_flow *f, uint64_t now);
/* ACKs were taken, a resource NACK among them if |again|: more or fewer retransmissions at a time. */
void fc_retx_adapt(struct fcore_conn *c, bool again, uint64_t now);
/* Bits of group |g| of what is on the wire in |w|, has not arrived and is not queued. */
static inline uint32_t fc_missing(const struct fc_win *w, uint32_t g)
{
	uint32_t i = g & (w->size / 32 - 1);

	return ~(fc_ring_bits(w, w->rx_ring, g) | w->done[i] | w->pending[i]);
}

/* rto.c */
/* The connection cannot go on, for |why|: on_fatal(). */
void fc_fail(struct fcore_conn *c, const char *why);
void fc_rto_timeout(struct fcore_conn *c, uint64_t now);
/* When the packet in |ctx| is due again, ns. */
uint64_t fc_rto_deadline(const struct fcore_conn *c, const struct fc_ctx *ctx);
/* The retransmission timeout on |f|, ns, before it doubles. */
uint64_t fc_rto(const struct fc_flow *f);

/* early.c: an EACK has come; |own| are the OWN bits taken (9.1.4). */
void fc_early(struct fcore_conn *c, uint32_t own, uint64_t now);
/* The oldest packet of |w| that the peer is not known to have is due, unless it was sent just now. */
void fc_early_oldest(struct fcore_conn *c, struct fc_win *w, uint64_t now);

/* tlp.c */
void fc_tlp_timeout(struct fcore_conn *c, uint64_t now);
/* A first transmission, or an acknowledgment: the Probe Timeout begins anew. */
void fc_tlp_sent(struct fcore_conn *c, uint64_t now);
void fc_tlp_progress(struct fcore_conn *c, uint64_t now);
/*
 * The packet in |ctx| has timed out. True if the peer has been silent since it was sent, and was not
 * asked: then a probe is sent first.
 */
bool fc_tlp_first(struct fcore_conn *c, const struct fc_ctx *ctx, uint64_t now);

/* path.c */
void fc_path_timeout(struct fcore_conn *c, uint64_t now);
/* ACKs were taken: the answer to the probe may be among them. */
void fc_path_acked(struct fcore_conn *c, uint64_t now);
/* |psn|, in |ctx|, was lost for the |times|th time: search again if that may be because of its size. */
void fc_path_suspect(struct fcore_conn *c, uint32_t psn, const struct fc_ctx *ctx, uint32_t times,
		     uint64_t now);
/*
 * ACKs were taken. The oldest packet may have been found lost again and again by what comes after it, so that
 * it does not time out. The owner may close |c| on hearing it.
 */
void fc_path_stuck(struct fcore_conn *c, uint64_t now);

/* ack.c */
/*
 * The peer's |flow| is to hear of a packet that came on it: it is |acknowledged| now, or there is something
 * else to tell of it. |ar|: at once.
 */
void fc_ack_owe(struct fcore_conn *c, uint32_t flow, uint64_t now, bool acknowledged, bool ar);
/*
 * To which flows (bits) a packet that carries our bases tells all that they are to hear; asked before the
 * bases are read, since they may move. |acked| is filled in for fc_ack_piggybacked().
 */
uint32_t fc_ack_in_bases(const struct fcore_conn *c, uint32_t acked[FALCON_MAX_FLOWS]);
/* The packet was sent. */
void fc_ack_piggybacked(struct fcore_conn *c, uint32_t mask, const uint32_t acked[FALCON_MAX_FLOWS]);
void fc_ack_timeout(struct fcore_conn *c, uint64_t now);
/* XDP has told of ACKs that it owes: the timer is ours. */
void fc_ack_watch(struct fcore_conn *c);
/* An ACK is due, and not told meanwhile by the receive path. */
bool fc_ack_is_due(struct fcore_conn *c);
/* Send it. */
enum fc_sent fc_ack_send(struct fcore_conn *c);
/* Send a NACK of a packet of |flow|; |nack| carries the NACK fields. 0 or -EAGAIN. */
int fc_ack_send_nack(struct fcore_conn *c, uint32_t flow, const struct falcon_ack *nack);

/* rx.c */
/* Is |psn|, which has arrived, acknowledged? */
bool fc_rx_is_acked(const struct fcore_conn *c, bool req, uint32_t psn);
/* Mark |psn| acknowledged in the receive window and move its base (9.2.2.4); once is enough. */
void fc_rx_ack_psn(struct fcore_conn *c, bool req, uint32_t psn);
/* PSNs arrived or acknowledged, and not below a base: 0 means empty bitmaps. */
uint32_t fc_rx_ahead(const struct fcore_conn *c);
/* Forget that |psn| was received, so that a retransmission of it is taken. */
void fc_rx_release(struct fcore_conn *c, bool req, uint32_t psn);
/* Undo fc_rx_release() for a data PSN. */
void fc_rx_claim_again(struct fcore_conn *c, uint32_t psn);
/* Give this packet back as if it had been dropped, and say why (8.5.3, 9.1.7). */
void fc_rx_refuse(struct fcore_conn *c, const struct fcore_rx *rx, enum falcon_nack_code code);
/* Acknowledge a packet and throw it away. */
void fc_rx_discard(struct fcore_conn *c, const struct fcore_rx *rx);
/* Acknowledge what is acknowledged by its arrival: all but push data. */
void fc_rx_accept(struct fcore_conn *c, const struct fcore_rx *rx, bool ar);

/* resource.c; |len| in bytes */
bool fc_res_config_ok(const struct fcore_config *cfg);
/* core->host has room for the accounts of |cfg|'s hosts and functions, all zero. */
void fc_res_open(struct fcore *core, const struct fcore_config *cfg);
/* rx_level.c: pools' sizes are set; what network requests hold at the NIC has changed. */
void fc_rx_level_open(struct fcore *core, const uint32_t percent[2]);
void fc_rx_level_update(struct fcore *core);
/* False: no such host or function. */
bool fc_res_conn_open(struct fcore_conn *c);
/* What a Push or Pull Request of |len| takes of the ULP Requests region (8.2.3). */
/* The engine has a new mind on the share of |c|'s flows: paper 4.6. */
void fc_scale_alpha(struct fcore_conn *c);
struct fc_need fc_need_request(const struct fcore *core, bool pull, uint32_t len);
/* Would fc_res_take_request() succeed now? */
bool fc_res_fits(struct fcore_conn *c, const struct fc_need *k);
/* Allocate; false, with nothing allocated, if a limit or the connection's share is exceeded. */
bool fc_res_take_request(struct fcore_conn *c, const struct fc_need *k);
void fc_res_give_request_tx(struct fcore_conn *c, bool pull, uint32_t len);
void fc_res_give_request_rx(struct fcore_conn *c, bool pull, uint32_t len);
bool fc_res_take_data(struct fcore_conn *c, uint32_t len);
void fc_res_give_data(struct fcore_conn *c, uint32_t len);
#define FC_RES_REFUSED UINT32_MAX
/* For a received request (8.2.4): the cells taken, or FC_RES_REFUSED. |hol|: head of line. */
uint32_t fc_res_take_net(struct fcore_conn *c, bool pull, uint32_t len, bool hol);
void fc_res_give_net(struct fcore_conn *c, uint32_t cells);
/* 11: all Tx resources of |c| go back at once; it sends nothing any more. */
void fc_res_reclaim_tx(struct fcore_conn *c);

/* credit.c */
void fc_waiters_add(struct fc_waiters *w, struct fc_list *link);
void fc_waiters_remove(struct fc_waiters *w, struct fc_list *link);
/* Something was given back that those in |w| may be waiting for. */
static inline void fc_waiters_scan(struct fc_waiters *w)
{
	w->scan = w->count;
}
/* Give responses of |c| the resources they wait for, in order, as far as there are any. */
void fc_res_fund(struct fcore_conn *c);
/* Look at a few of those that wait. */
void fc_res_serve(struct fcore *core);

/* xlr.c */
/* A filter at |where| matches a transaction of |c|; |type| is its request's. */
bool fc_xlr_match(struct fcore_conn *c, enum fcore_xlr_where where, uint32_t function,
		  uint8_t proto, uint8_t type);

/* initiator.c */
/* The packet of |rsn|, or the Resync in its place, was acknowledged. */
void fc_init_acked(struct fcore_conn *c, uint32_t rsn);
/*
 * The packet of |rsn| becomes a Resync, which takes no Tx resources: how the transaction will end
 * once that is acknowledged.
 */
void fc_init_fail(struct fcore_conn *c, uint32_t rsn, enum falcon_completion_code code,
		  uint8_t ulp_code);
void fc_init_pull_data(struct fcore_conn *c, const struct fcore_rx *rx);
/* The target was not ready for |rsn|, a push, at |now|. */
void fc_init_not_ready(struct fcore_conn *c, uint32_t rsn, uint64_t now);
/* The target gave up on the data of |rsn|. */
void fc_init_voided(struct fcore_conn *c, uint32_t rsn);
/* Deliver what an ordered connection may deliver, what XDP has placed included, and lift backpressure. */
void fc_init_settle(struct fcore_conn *c);
/* Lift backpressure if what was refused would fit; else |c| waits among core->xon. */
void fc_init_xon(struct fcore_conn *c);
/* A filter was added: end what it matches. */
void fc_init_xlr(struct fcore_conn *c);
void fc_init_timeout(struct fcore_conn *c, uint64_t now);
void fc_init_close(struct fcore_conn *c, enum falcon_completion_code code);

/* target.c */
/* The upper layer has said no more of |t| since the NACK that is owed; if it has, none is due. */
bool fc_tgt_is_nacked(const struct fcore_conn *c, const struct fc_ttxn *t);
/* Ordered: all that has come was delivered, and nothing is to be delivered again. */
bool fc_tgt_is_idle(const struct fcore_conn *c);
/* Idle: what comes before |rsn| was carried out elsewhere; |pulls| of that were pulls. */
void fc_tgt_skip(struct fcore_conn *c, uint32_t rsn, uint32_t pulls);
void fc_tgt_request(struct fcore_conn *c, const struct fcore_rx *rx);
void fc_tgt_resync(struct fcore_conn *c, const struct fcore_rx *rx);
void fc_tgt_timeout(struct fcore_conn *c, uint64_t now);
void fc_tgt_close(struct fcore_conn *c);

/* nack.c */
/* Owe the NACK that slot |t| describes. */
void fc_nack_owe(struct fcore_conn *c, struct fc_ttxn *t);
void fc_nack_forget(struct fcore_conn *c, uint32_t rsn);
/*
 * Has the peer refused packets for want of resources since |since|, ns? What was sent then and is
 * not acknowledged has not failed: it was in vain, and is to be sent again.
 */
static inline bool fc_nack_refused_since(const struct fcore_conn *c, uint64_t since)
{
	return c->refused_at && c->refused_at >= since;
}
/* ACKs were taken, resource NACKs perhaps among them. */
void fc_nack_resource(struct fcore_conn *c, uint64_t now);
/* Send the next NACK that is owed. */
enum fc_sent fc_nack_send(struct fcore_conn *c);

#endif /* FALCON_CORE_PARTS_H */
