// SPDX-License-Identifier: BSD-2-Clause
/*
 * Flows: the paths of a connection (paper 4.3), and what the rate update engine says of each.
 *
 * The windows of PSNs are the connection's: it may have as many packets on the wire as its flows
 * together allow. A packet takes the flow with the most room, so a path that is slow or loses
 * packets, and whose window shrinks, draws less of them. A connection with one flow pays for none
 * of this: flow 0 is all it looks at.
 */
#include "core/parts.h"

enum fc_flow_const {
	FRACTION = FALCON_EV_fcwnd_fraction_WIDTH,
	FC_FLOW_SILENT = 2,	/* timeouts in a row that make a path suspect */
	FC_FLOW_IDLE_RTOS = 2,	/* a flow that carried nothing for so long has its turn */
};

/* Falcon time units to ns. */
static uint64_t units_ns(uint32_t units)
{
	return ((uint64_t)units << FALCON_TIME_SHIFT) / FALCON_PS_PER_NS;
}

/* splitmix64: paths have to differ from one another and from draw to draw, no more. */
static uint16_t draw_path(uint64_t seed, uint32_t flow, uint32_t draw)
{
	uint64_t x = seed + ((uint64_t)draw << 32 | (flow + 1)) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (uint16_t)(x >> 47);
}

uint16_t fc_flow_path(const struct fcore_conn *c, uint32_t flow)
{
	return flow < c->nflows ? c->flow[flow].path : draw_path(c->params.path_seed, flow, 0);
}

void fc_flow_repath(struct fcore_conn *c, struct fc_flow *f)
{
	uint16_t old = f->path;

	f->path = draw_path(c->params.path_seed, f->index, ++f->draws);
	if (f->path == old)
		f->path ^= 1;
	f->timeouts = 0;
	/* Another path, another least round trip. */
	f->rack.epoch_end = 0;
	f->rack.min_rtt = 0;
	c->stats.repaths++;
}

uint64_t fc_flow_rtt(const struct fcore_conn *c, const struct fc_flow *f)
{
	uint64_t other = c->stats.rtt_ns;

	if (f->srtt)
		return f->srtt > f->rtt ? f->srtt : f->rtt;
	return f->rto > other ? f->rto : other;
}

void fc_flow_timed_out(struct fcore_conn *c, struct fc_flow *f, uint64_t now)
{
	/* All that was due at once is one timeout of the path. */
	if (f->timeouts && f->last_timeout == now)
		return;
	f->last_timeout = now;
	f->timeouts++;
	f->silent += f->silent < UINT8_MAX;
	if (c->params.prr_threshold && f->timeouts >= c->params.prr_threshold)
		fc_flow_repath(c, f);
}

/* Its path may be dead: too early for another packet to find out. */
static bool is_suspect(const struct fc_flow *f, uint64_t now)
{
	if (f->silent < FC_FLOW_SILENT)
		return false;
	/* A new path is tried at once. */
	return f->outstanding ||
	       (f->timeouts &&
		now < f->last_timeout + (f->rto << fc_min(f->silent, FC_RTO_BACKOFF)));
}

/* Its open window, packets as |fcwnd|; the most there is for one that has long been idle. */
static int32_t open_window(const struct fc_flow *f, uint64_t now)
{
	if (!f->outstanding && f->pace_from && now > f->pace_from + f->rto * FC_FLOW_IDLE_RTOS)
		return INT32_MAX;
	return (int32_t)f->share - (int32_t)(f->outstanding << FRACTION);
}

struct fc_flow *fc_flow_choose(struct fcore_conn *c, uint64_t now)
{
	struct fc_flow *best = NULL, *suspect = NULL;
	int32_t most = INT32_MIN;
	uint32_t i = c->last_flow, live = 0;

	for (uint32_t n = 0; n < c->nflows; n++) {
		struct fc_flow *f;
		int32_t open;

		i = i + 1 < c->nflows ? i + 1 : 0;
		f = &c->flow[i];
		if (is_suspect(f, now)) {
			suspect = fc_flow_paced(f, now) ? suspect : f;
			continue;
		}
		live++;
		open = open_window(f, now);
		if (open > most && !fc_flow_paced(f, now)) {
			most = open;
			best = f;
		}
	}
	return live ? best : suspect;
}

uint64_t fc_flow_departure(const struct fcore_conn *c, uint64_t now)
{
	uint64_t earliest = FCORE_NEVER;

	for (uint32_t i = 0; i < c->nflows; i++) {
		uint64_t t = c->flow[i].pace_from + c->flow[i].pace_gap;

		if (fc_flow_paced(&c->flow[i], now) && t < earliest)
			earliest = t;
	}
	return earliest;
}

void fc_flow_windows(struct fcore_conn *c, uint32_t ncwnd)
{
	const uint32_t most = FALCON_DATA_WINDOW << FRACTION;
	uint64_t part = 1ULL << 32;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < c->nflows; i++)
		sum += c->flow[i].fcwnd;
	if (sum > most)
		part = ((uint64_t)most << 32) / sum;
	for (uint32_t i = 0; i < c->nflows; i++)
		c->flow[i].share = (uint32_t)(c->flow[i].fcwnd * part >> 32);
	falcon_store(&c->shared->cc.fcwnd, sum);
	falcon_store(&c->shared->cc.ncwnd, ncwnd);
	/* Below one packet means one packet, paced; no window may stop a connection for good. */
	c->fcwnd = sum >> FRACTION ? sum >> FRACTION : 1;
	c->ncwnd = ncwnd ? ncwnd : 1;
	c->data.limit = fc_min(c->fcwnd, c->data.most);
	c->req.limit = fc_min(c->fcwnd, c->req.most);
	/* XDP neither paces nor chooses among flows. */
	falcon_store(&c->shared->cc.xdp_window, c->nflows == 1 && !c->flow->pace_gap ? c->data.limit : 0);
}

void fc_flow_init(struct fcore_conn *c)
{
	const struct fcore_params *p = &c->params;

	for (uint32_t i = 0; i < c->nflows; i++) {
		struct fc_flow *f = &c->flow[i];

		f->index = (uint8_t)i;
		f->fcwnd = (p->fcwnd << FRACTION) / c->nflows;
		f->rto = p->rto_ns;
		f->rue.rto = falcon_time_of_ns(p->rto_ns);
		f->path = draw_path(p->path_seed, i, 0);
	}
	falcon_store(&c->shared->cc.rto, c->flow[0].rue.rto);
	c->shared->cc.flows = (uint8_t)c->nflows;
	c->shared->cc.ooo_threshold = (uint8_t)p->ooo_threshold;
	fc_flow_windows(c, p->ncwnd);
}

/*
 * What the next RUE event hands back to the RUE. A connection with one flow has it in the shared
 * state, where XDP takes it from. What is of the receiving NIC, ncwnd and its guard, is the
 * connection's: all flows end there.
 */
static void keep_state(struct fcore_conn *c, struct fc_flow *f, const struct falcon_rue_result *r)
{
	struct falcon_cc *cc = &c->shared->cc;

	f->rue = (struct fc_rue){
		.gap = (uint32_t)falcon_res_get(r, inter_packet_gap),
		.rto = f->rue.rto,
		.window_time_marker = (uint32_t)falcon_res_get(r, fabric_window_time_marker),
		.base_delay_target = (uint32_t)falcon_res_get(r, base_delay_target),
		.delay_state = (uint32_t)falcon_res_get(r, delay_state),
		.rtt_state = (uint32_t)falcon_res_get(r, rtt_state),
		.cc_opaque = (uint8_t)falcon_res_get(r, cc_opaque),
	};
	falcon_store(&cc->inter_packet_gap, f->rue.gap);
	falcon_store(&cc->fabric_window_time_marker, f->rue.window_time_marker);
	falcon_store(&cc->nic_window_time_marker, (__u32)falcon_res_get(r, nic_window_time_marker));
	falcon_store(&cc->base_delay_target, f->rue.base_delay_target);
	falcon_store(&cc->delay_state, f->rue.delay_state);
	falcon_store(&cc->rtt_state, f->rue.rtt_state);
	falcon_store(&cc->ncwnd_direction, (__u8)falcon_res_get(r, ncwnd_direction));
	falcon_store(&cc->cc_opaque, f->rue.cc_opaque);
	falcon_store(&c->shared->rx_acked.rue_info, (__u32)falcon_res_get(r, cc_metadata));
}

/* 10.6.2.2: a new RTO is for packets on their way, too. */
static void set_rto(struct fcore_conn *c, struct fc_flow *f, uint32_t units, uint64_t now)
{
	if (!units)
		return;
	f->rue.rto = units;
	f->rto = units_ns(units);
	falcon_store(&c->shared->cc.rto, units);
	if (c->data.base != c->data.next || c->req.base != c->req.next)
		fc_arm(c, FC_TIMER_RTO, now + f->rto);
}

void fcore_rue_result(struct fcore_conn *c, const struct falcon_rue_result *r, uint64_t now)
{
	uint32_t flow = (uint32_t)falcon_res_get(r, connection_id) >> FALCON_RUE_FLOW_SHIFT;
	uint32_t fcwnd = (uint32_t)falcon_res_get(r, fcwnd);
	uint16_t alpha_scale = (uint16_t)falcon_res_get(r, alpha_scale);
	struct fc_flow *f = &c->flow[flow];

	if (flow >= c->nflows)
		return;
	if (alpha_scale > FALCON_RUE_ALPHA_WHOLE)
		alpha_scale = FALCON_RUE_ALPHA_WHOLE;
	keep_state(c, f, r);
	set_rto(c, f, (uint32_t)falcon_res_get(r, retransmit_timeout), now);
	f->rack.rto = units_ns((uint32_t)falcon_res_get(r, rack_rto));
	c->tlp = units_ns((uint32_t)falcon_res_get(r, tlp_timeout));
	f->ar_percent = (uint8_t)fc_min((uint32_t)falcon_res_get(r, ar_percent), 100);
	if (f->alpha_scale != alpha_scale) {
		f->alpha_scale = alpha_scale;
		fc_scale_alpha(c);
	}
	if (falcon_res_get(r, randomize_path))
		fc_flow_repath(c, f);
	f->fcwnd = fcwnd << FRACTION | (uint32_t)falcon_res_get(r, fcwnd_fraction);
	/* 10.6.2.1: a window of at least one packet is not paced. */
	f->pace_gap = fcwnd ? 0 : (uint64_t)f->rue.gap * FALCON_RUE_GAP_NS;
	fc_flow_windows(c, (uint32_t)falcon_res_get(r, ncwnd));
	fc_sched_wake(c);
}

void fc_flow_event(const struct fcore_conn *c, const struct fc_flow *f, struct falcon_rue_event *e)
{
	if (c->nflows == 1)
		return;
	falcon_ev_set(e, fcwnd_fraction, f->fcwnd);
	falcon_ev_set(e, fcwnd_integer, f->fcwnd >> FRACTION);
	falcon_ev_set(e, inter_packet_gap, f->rue.gap);
	falcon_ev_set(e, retransmit_timeout, f->rue.rto);
	falcon_ev_set(e, fabric_window_time_marker, f->rue.window_time_marker);
	falcon_ev_set(e, base_delay_target, f->rue.base_delay_target);
	falcon_ev_set(e, delay_state, f->rue.delay_state);
	falcon_ev_set(e, rtt_state, f->rue.rtt_state);
	falcon_ev_set(e, cc_opaque, f->rue.cc_opaque);
}

bool fcore_rue_event(struct fcore *core, struct falcon_rue_event *e)
{
	uint32_t id = (uint32_t)falcon_ev_get(e, connection_id);
	struct fcore_conn *c = fcore_conn_lookup(core, id & FALCON_RUE_CID_MASK);
	uint32_t flow = id >> FALCON_RUE_FLOW_SHIFT;

	if (!c || flow >= c->nflows)
		return false;
	if (c->nflows > 1) {
		struct fc_flow *f = &c->flow[flow];

		fc_flow_event(c, f, e);
		falcon_ev_set(e, num_packets_acked, fc_min(f->acked, FC_EVENT_ACKED_MAX));
		f->acked = 0;
	}
	return true;
}

void fcore_rue_base(struct fcore_conn *c, uint32_t flow, uint32_t base_delay_target)
{
	if (flow >= c->nflows)
		return;
	c->flow[flow].rue.base_delay_target = base_delay_target;
	if (c->nflows == 1)
		falcon_store(&c->shared->cc.base_delay_target, base_delay_target);
}

uint32_t fcore_conn_flow(const struct fcore_conn *c, uint32_t flow, struct fcore_flow_stats *s)
{
	if (flow < c->nflows) {
		const struct fc_flow *f = &c->flow[flow];

		*s = (struct fcore_flow_stats){
			.fcwnd = f->fcwnd,
			.outstanding = f->outstanding,
			.path = f->path,
			.rtt_ns = f->srtt,
			.rto_ns = f->rto,
			.sent = f->sent,
			.lost = f->lost,
		};
	}
	return c->nflows;
}
