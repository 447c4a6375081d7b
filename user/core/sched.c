/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection scheduler (Falcon 8.3), and the core's heartbeat.
 *
 * Two levels of round-robin: between connections here, a quantum of packets each; between a
 * connection's two queues, packet by packet, in tx.c. A connection is in the active list only while
 * it may have something to send; windows that are full take it out, an ACK puts it back.
 */
#include "core/parts.h"

static struct fcore_conn *conn_of(struct fc_list *l)
{
	return (struct fcore_conn *)((char *)l - offsetof(struct fcore_conn, link));
}

void fc_sched_wake(struct fcore_conn *c)
{
	if (fc_list_empty(&c->link) && !c->dead)
		fc_list_append(&c->core->active, &c->link);
}

void fc_sched_remove(struct fcore_conn *c)
{
	fc_list_remove(&c->link);
}

/* Retransmissions before new packets: they come first in RSN order. */
static enum fc_sent send_one(struct fcore_conn *c, uint64_t now)
{
	enum fc_sent r = FC_IDLE;
	struct fc_flow *f;

	fc_exec_before_tx(c, now);
	if (c->dead)
		return FC_IDLE;
	if (c->nack_owed)
		r = fc_nack_send(c);
	if (r != FC_IDLE)
		return r;
	f = fc_flow_pick(c, now);
	if (!f) {
		fc_arm(c, FC_TIMER_PACE, fc_flow_departure(c, now));
		return FC_IDLE;
	}
	if (c->data.npending | c->req.npending)
		r = fc_retx_send(c, f, now);
	if (r == FC_IDLE)
		r = fc_tx_new(c, f, now);
	if (r == FC_SENT)
		f->pace_from = now;
	return r;
}

/*
 * One turn of |c|: at most |quota| packets. The ACK that is due goes last, since a data packet may
 * make it unnecessary; its place in the quota is kept.
 */
static uint32_t serve(struct fcore_conn *c, uint64_t now, uint32_t quota, enum fc_sent *last)
{
	uint32_t n = 0, reserve = fc_ack_is_due(c);

	*last = FC_SENT;
	while (n + reserve < quota && *last == FC_SENT) {
		*last = send_one(c, now);
		n += *last == FC_SENT;
	}
	while (fc_ack_is_due(c) && *last != FC_STALLED && n < quota) {
		if (fc_ack_send(c) == FC_SENT)
			n++;
		else
			*last = FC_STALLED;
	}
	/* ACKs of other flows: the quota is spent, if nothing else is there to be sent. */
	if (c->ack_due && *last == FC_IDLE)
		*last = FC_SENT;
	return n;
}

/* Where |c| goes after its turn, in which it has sent |n| packets. */
static void requeue(struct fcore *core, struct fcore_conn *c, enum fc_sent last, uint32_t n)
{
	fc_list_remove(&c->link);
	if (c->dead)
		return;
	if (last == FC_STALLED)
		fc_list_append(&core->stalled[n > 0], &c->link);
	else if (last == FC_SENT)
		fc_list_append(&core->active, &c->link);
}

static void activate(struct fcore *core, struct fc_list *stalled)
{
	while (!fc_list_empty(stalled)) {
		struct fc_list *l = stalled->next;

		fc_list_remove(l);
		fc_list_append(&core->active, l);
	}
}

/*
 * Those that found no room have their next try at the next fcore_run(), in the same order, but whose turn had
 * begun after those who had none: else who fills what room there is would do so each time.
 */
static void unstall(struct fcore *core)
{
	activate(core, &core->stalled[0]);
	activate(core, &core->stalled[1]);
}

static void fire(void *arg, struct fc_timer *t, uint64_t now)
{
	struct fcore_conn *c = (struct fcore_conn *)((char *)(t - t->kind) -
						     offsetof(struct fcore_conn, timer));

	(void)arg;
	switch (t->kind) {
	case FC_TIMER_RTO:
		fc_rto_timeout(c, now);
		break;
	case FC_TIMER_ACK:
		fc_ack_timeout(c, now);
		break;
	case FC_TIMER_TXN:
		fc_init_timeout(c, now);
		break;
	case FC_TIMER_RACK:
		fc_rack_timeout(c, now);
		break;
	case FC_TIMER_TLP:
		fc_tlp_timeout(c, now);
		break;
	case FC_TIMER_RNR:
		fc_tgt_timeout(c, now);
		break;
	case FC_TIMER_PATH:
		fc_path_timeout(c, now);
		break;
	default:
		fc_sched_wake(c);
		break;
	}
}

uint32_t fcore_run(struct fcore *core, uint64_t now, uint32_t budget)
{
	uint32_t sent = 0;

	fc_enter(core);
	fc_wheel_advance(&core->wheel, now, fire, NULL);
	fc_res_serve(core);
	while (sent < budget && !fc_list_empty(&core->active)) {
		struct fcore_conn *c = conn_of(core->active.next);
		uint32_t room = budget - sent, n;
		enum fc_sent last;

		n = serve(c, now, room < FC_QUANTUM ? room : FC_QUANTUM, &last);
		requeue(core, c, last, n);
		sent += n;
	}
	unstall(core);
	fc_leave(core);
	return sent;
}

uint64_t fcore_next_deadline(const struct fcore *core, uint64_t now)
{
	if (!fc_list_empty(&core->active) || core->xon.scan || core->data.scan)
		return now;
	return fc_wheel_next(&core->wheel);
}
