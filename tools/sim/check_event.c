// SPDX-License-Identifier: BSD-2-Clause
/* Events for the rate update engine: what they say of the packet and of the flow (10.6.2.1). */
#include "check.h"

#include <falcon/receive/ack.h>

#define TIME_MASK 0xffffffU

static void expect(const struct endpoint *e, const char *field, uint64_t is, uint64_t want)
{
	if (is != want)
		sim_fail(e->sim, e, "RUE event with %s %llu, not %llu", field, (unsigned long long)is,
			 (unsigned long long)want);
}

/* The connection's window is the sum of its flows'; no less than one packet. */
static void sum_up(struct endpoint *e)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < e->cfg->flows; i++)
		sum += e->told[i].fcwnd;
	sum >>= FALCON_EV_fcwnd_fraction_WIDTH;
	e->fcwnd = sum ? sum : 1;
}

static void check_rto(struct endpoint *e, uint32_t units)
{
	uint64_t rto = ((uint64_t)units << FALCON_TIME_SHIFT) / FALCON_PS_PER_NS;

	e->least_rto = rto < e->least_rto ? rto : e->least_rto;
}

void check_told(struct endpoint *e, const struct falcon_rue_result *r)
{
	struct told *t = &e->told[falcon_rue_flow((uint32_t)falcon_res_get(r, connection_id))];
	uint32_t rto = (uint32_t)falcon_res_get(r, retransmit_timeout);

	t->fcwnd = (uint32_t)(falcon_res_get(r, fcwnd) << FALCON_EV_fcwnd_fraction_WIDTH |
			      falcon_res_get(r, fcwnd_fraction));
	t->gap = (uint32_t)falcon_res_get(r, inter_packet_gap);
	t->rto = rto ? rto : t->rto;
	check_rto(e, t->rto);
	t->target = (uint32_t)falcon_res_get(r, base_delay_target);
	t->delay_state = (uint32_t)falcon_res_get(r, delay_state);
	t->rtt_state = (uint32_t)falcon_res_get(r, rtt_state);
	sum_up(e);
	e->told_ncwnd = (uint32_t)falcon_res_get(r, ncwnd);
	e->rue_info = (uint32_t)falcon_res_get(r, cc_metadata) & ((1U << FALCON_RUE_METADATA_BITS) - 1);
}

void check_told_first(struct endpoint *e)
{
	for (uint32_t i = 0; i < e->cfg->flows; i++)
		e->told[i] = (struct told){
			.fcwnd = (uint32_t)((e->cfg->fcwnd << FALCON_EV_fcwnd_fraction_WIDTH) /
					    e->cfg->flows),
			.rto = falcon_time_of_ns(e->cfg->rto) & TIME_MASK,
		};
	sum_up(e);
	e->told_ncwnd = (uint32_t)e->cfg->ncwnd;
	e->least_rto = e->cfg->rto;
}

void check_event_state(const struct endpoint *e, const struct falcon_rue_event *ev)
{
	uint32_t id = (uint32_t)falcon_ev_get(ev, connection_id), flow = falcon_rue_flow(id);
	const struct told *t = &e->told[flow];
	uint32_t fcwnd = (uint32_t)(falcon_ev_get(ev, fcwnd_integer) << FALCON_EV_fcwnd_fraction_WIDTH |
				    falcon_ev_get(ev, fcwnd_fraction));

	if (!e->sim->cfg->checks)
		return;
	expect(e, "connection", id & FALCON_RUE_CID_MASK, e->cid);
	if (flow >= e->cfg->flows) {
		sim_fail(e->sim, e, "RUE event of flow %u", flow);
		return;
	}
	expect(e, "fcwnd", fcwnd, t->fcwnd);
	expect(e, "gap", falcon_ev_get(ev, inter_packet_gap), t->gap);
	expect(e, "RTO", falcon_ev_get(ev, retransmit_timeout), t->rto);
	expect(e, "base delay", falcon_ev_get(ev, base_delay_target), t->target);
	expect(e, "delay state", falcon_ev_get(ev, delay_state), t->delay_state);
	expect(e, "RTT state", falcon_ev_get(ev, rtt_state), t->rtt_state);
}

/* 9.1.4: some packet has arrived further from the first that is missing than |most|. */
static bool has_hole(const uint32_t *bits, uint32_t words, uint32_t most)
{
	uint32_t missing = 0;

	while (missing < words * 32 && bits[missing / 32] >> missing % 32 & 1)
		missing++;
	for (uint32_t i = missing + most + 1; i < words * 32; i++)
		if (bits[i / 32] >> i % 32 & 1)
			return true;
	return false;
}

void check_event_ack(const struct endpoint *e, uint32_t flow, const struct falcon_ack *a, uint64_t t3,
		     uint64_t t4, const struct falcon_rue_event *ev)
{
	uint32_t most = (uint32_t)e->cfg->ooo_threshold;
	bool eack = a->type == FALCON_EACK;

	if (!e->sim->cfg->checks)
		return;
	expect(e, "flow", falcon_rue_flow((uint32_t)falcon_ev_get(ev, connection_id)),
	       flow < e->cfg->flows ? flow : 0);
	expect(e, "ncwnd", falcon_ev_get(ev, ncwnd), e->told_ncwnd);
	expect(e, "type", falcon_ev_get(ev, event_type),
	       a->type == FALCON_NACK ? kRueEventTypeNack : kRueEventTypeAck);
	expect(e, "T1", falcon_ev_get(ev, t1), a->t1 & TIME_MASK);
	expect(e, "T2", falcon_ev_get(ev, t2), a->t2 & TIME_MASK);
	expect(e, "T3", falcon_ev_get(ev, t3), falcon_time_of_iv(t3) & TIME_MASK);
	expect(e, "T4", falcon_ev_get(ev, t4), falcon_time_of_ns(t4) & TIME_MASK);
	expect(e, "NACK code", falcon_ev_get(ev, nack_code), a->nack_code);
	expect(e, "hops", falcon_ev_get(ev, forward_hops), a->hops);
	expect(e, "buffer level", falcon_ev_get(ev, rx_buffer_level), a->buffer_level);
	expect(e, "metadata", falcon_ev_get(ev, cc_metadata), a->rue_info);
	expect(e, "ECN count", falcon_ev_get(ev, ecn_accumulated), a->ecn);
	expect(e, "EACK", falcon_ev_get(ev, eack), eack);
	expect(e, "drop", falcon_ev_get(ev, eack_drop),
	       eack && (has_hole(a->data_rx, 4, most) || has_hole(a->req, 2, most)));
}

void check_event_retx(const struct endpoint *e, const struct falcon_rue_event *ev)
{
	const struct psn *p = e->sent_again;

	if (!e->sim->cfg->checks)
		return;
	if (!p || falcon_ev_get(ev, retransmit_count) > p->sends - 1)
		sim_fail(e->sim, e, "RUE event of %u timeouts after %u transmissions",
			 (uint32_t)falcon_ev_get(ev, retransmit_count), p ? p->sends : 0);
	expect(e, "ncwnd", falcon_ev_get(ev, ncwnd), e->told_ncwnd);
	check_event_state(e, ev);
}

void check_event_read(struct endpoint *e, const struct falcon_rue_event *ev)
{
	if (!e->sim->cfg->checks)
		return;
	if (e->cfg->flows > 1)
		check_event_state(e, ev);
	e->acked += falcon_ev_get(ev, num_packets_acked);
	if (e->acked > (uint64_t)e->data.next + e->req.next)
		sim_fail(e->sim, e, "RUE events of %llu packets acknowledged, of %u sent",
			 (unsigned long long)e->acked, e->data.next + e->req.next);
}
