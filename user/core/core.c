/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance and its connections: creation, opening, closing, parameters from outside. */
#include "core/parts.h"

#include <stdlib.h>

void fcore_params_default(struct fcore_params *p)
{
	*p = (struct fcore_params){
		.ordered = true,
		.pool_percent = 100,
		.alpha_percent = 100,
		.data_window = FALCON_DATA_WINDOW,
		.req_window = FALCON_REQ_WINDOW,
		.fcwnd = FALCON_DATA_WINDOW,
		.ncwnd = FALCON_DATA_WINDOW,
		.rto_ns = 4000000,
		.max_retx = 16,
		.txn_timeout_ns = 30000000000ULL,
		.rnr_patience_ns = 100000000,
		.ack_timeout_ns = 64000,
		.ack_count = 16,
		.ar_fcwnd = 8,
		.ar_percent = 10,
		.ooo_threshold = 2,
		.early_retx = FCORE_EARLY_RACK,
		.flows = 1,
		.prr_threshold = 2,
	};
}

struct fcore *fcore_create(const struct fcore_ops *ops, void *arg,
			   const struct fcore_config *config)
{
	struct fcore *core = fc_res_config_ok(config) ? calloc(1, sizeof(*core)) : NULL;

	if (!core)
		return NULL;
	core->conns = calloc(FALCON_MAX_CONNS, sizeof(*core->conns));
	core->host = calloc(config->hosts + config->functions, sizeof(*core->host));
	if (!core->conns || !core->host) {
		fcore_destroy(core);
		return NULL;
	}
	core->ops = *ops;
	core->arg = arg;
	core->max_conns = config->max_conns;
	fc_list_init(&core->active);
	fc_list_init(&core->stalled[0]);
	fc_list_init(&core->stalled[1]);
	fc_list_init(&core->slabs);
	fc_list_init(&core->offered);
	core->responses = config->responses;
	core->first_response = config->first_response;
	core->responses_count = config->responses ? config->responses_count : 0;
	core->sinks = config->sinks;
	core->first_sink = config->first_sink;
	core->sinks_count = config->sinks ? config->sinks_count : 0;
	fc_res_open(core, config);
	return core;
}

void fcore_destroy(struct fcore *core)
{
	if (!core)
		return;
	free(core->host);
	free(core->conns);
	free(core);
}

/* The shared windows and congestion state of a connection that is not alive yet. */
static void init_shared(struct falcon_conn *s, const struct fcore_params *p)
{
	memset(&s->rx, 0, sizeof(s->rx));
	memset(&s->rx_acked, 0, sizeof(s->rx_acked));
	memset(&s->tx_acked, 0, sizeof(s->tx_acked));
	memset(&s->cc, 0, sizeof(s->cc));
	memset(&s->cc_event, 0, sizeof(s->cc_event));
	memset(&s->exec, 0, sizeof(s->exec));
	falcon_ring_init(s->rx.data_rx, FALCON_DATA_WORDS, p->rx_data_psn);
	falcon_ring_init(s->rx.req_rx, FALCON_REQ_WORDS, p->rx_req_psn);
	falcon_ring_init(s->rx_acked.data_ack, FALCON_DATA_WORDS, p->rx_data_psn);
	falcon_ring_init(s->rx_acked.req_ack, FALCON_REQ_WORDS, p->rx_req_psn);
	falcon_ring_init(s->tx_acked.data_ack, FALCON_DATA_WORDS, p->tx_data_psn);
	falcon_ring_init(s->tx_acked.data_rx, FALCON_DATA_WORDS, p->tx_data_psn);
	falcon_ring_init(s->tx_acked.req_ack, FALCON_REQ_WORDS, p->tx_req_psn);
	s->rx_acked.data_base = p->rx_data_psn;
	s->rx_acked.req_base = p->rx_req_psn;
	s->rx_acked.next_rsn = p->rx_rsn;
	s->rx_acked.ack_count = p->ack_count;
	s->tx_acked.data_base = s->cc.data_next = p->tx_data_psn;
	s->tx_acked.req_base = s->cc.req_next = p->tx_req_psn;
	/* What falcon_ack_total() gives before anything was acknowledged. */
	s->cc_event.last_acked = p->tx_data_psn + p->tx_req_psn;
}

static uint32_t most_of(uint32_t peer, uint32_t size)
{
	return peer && peer < size ? peer : size;
}

static void init_windows(struct fcore_conn *c, struct fc_ctx *ctx)
{
	struct falcon_conn *s = c->shared;

	c->data = (struct fc_win){
		.base = c->params.tx_data_psn,
		.next = c->params.tx_data_psn,
		.size = FALCON_DATA_WINDOW,
		.most = most_of(c->params.data_window, FALCON_DATA_WINDOW),
		.words = FALCON_DATA_WORDS,
		.ctx = ctx,
		.shared_next = &s->cc.data_next,
		.shared_base = &s->tx_acked.data_base,
		.acked_ring = s->tx_acked.data_ack,
		.rx_ring = s->tx_acked.data_rx,
		.arrived_end = c->params.tx_data_psn,
	};
	c->req = (struct fc_win){
		.base = c->params.tx_req_psn,
		.next = c->params.tx_req_psn,
		.size = FALCON_REQ_WINDOW,
		.most = most_of(c->params.req_window, FALCON_REQ_WINDOW),
		.words = FALCON_REQ_WORDS,
		.ctx = ctx + FALCON_DATA_WINDOW,
		.shared_next = &s->cc.req_next,
		.shared_base = &s->tx_acked.req_base,
		.acked_ring = s->tx_acked.req_ack,
		.rx_ring = s->tx_acked.req_ack,
		.arrived_end = c->params.tx_req_psn,
	};
	falcon_ring_init(c->arrived_data, FALCON_DATA_WORDS, c->params.rx_data_psn);
	falcon_ring_init(c->arrived_req, FALCON_REQ_WORDS, c->params.rx_req_psn);
}

/* What a connection's packets and transactions take; most connections of very many are idle. */
struct rings {
	struct fc_ttxn ttxn[FCORE_MAX_TXNS] FALCON_ALIGNED;
	struct fc_ctx ctx[FALCON_DATA_WINDOW + FALCON_REQ_WINDOW];
	struct fc_resp resp[FALCON_DATA_WINDOW];
	struct fc_itxn itxn[FCORE_MAX_TXNS];
	uint32_t resp_queue[FCORE_MAX_TXNS];
	uint8_t resp_hdr[FCORE_MAX_TXNS][FCORE_MAX_RESP_HDR];
};

/* The rings of several connections: in pages of their own, which cost nothing until they are used. */
struct fc_slab {
	struct fc_list link;		/* in core->slabs unless all is taken; the first member */
	void *memory;			/* what to free */
	uint8_t taken;			/* one bit a connection */
	uint8_t dirty;			/* rings that are no longer zero */
	struct rings rings[FC_SLAB_CONNS];
};

enum { SLAB_BYTES = sizeof(struct fc_slab) + FALCON_CACHE_LINE };

static struct fc_slab *slab_new(struct fcore *core)
{
	void *memory = core->ops.pages_new ? core->ops.pages_new(SLAB_BYTES)
					   : calloc(1, SLAB_BYTES);
	struct fc_slab *s;

	if (!memory)
		return NULL;
	s = (struct fc_slab *)(((uintptr_t)memory + FALCON_CACHE_LINE - 1) &
			       ~(uintptr_t)(FALCON_CACHE_LINE - 1));
	s->memory = memory;
	fc_list_init(&s->link);
	fc_list_append(&core->slabs, &s->link);
	return s;
}

static bool take_rings(struct fcore *core, struct fcore_conn *c)
{
	struct fc_slab *s = fc_list_empty(&core->slabs)
				    ? slab_new(core)
				    : (struct fc_slab *)core->slabs.next;
	struct rings *r;

	if (!s)
		return false;
	c->slot = (uint8_t)__builtin_ctz(~(uint32_t)s->taken);
	c->slab = s;
	s->taken |= (uint8_t)(1U << c->slot);
	if (s->taken == FC_SLAB_ALL)
		fc_list_remove(&s->link);
	r = &s->rings[c->slot];
	if (s->dirty & 1U << c->slot)
		memset(r, 0, sizeof(*r));
	s->dirty |= (uint8_t)(1U << c->slot);
	c->resp_queue = r->resp_queue;
	c->resp_hdr = r->resp_hdr;
	c->resp = r->resp;
	c->itxn = r->itxn;
	c->ttxn = r->ttxn;
	c->data.ctx = r->ctx;
	return true;
}

/* Nothing was sent, received or submitted. */
static bool is_unused(const struct fcore_conn *c)
{
	return c->init_next == c->params.tx_rsn && !c->stats.rx_packets && !c->resp_end;
}

static void give_rings(struct fcore_conn *c)
{
	struct fc_slab *s = c->slab;

	if (s->taken == FC_SLAB_ALL)
		fc_list_append(&c->core->slabs, &s->link);
	s->taken &= (uint8_t)~(1U << c->slot);
	if (is_unused(c))
		s->dirty &= (uint8_t)~(1U << c->slot);
	if (s->taken)
		return;
	fc_list_remove(&s->link);
	if (c->core->ops.pages_free)
		c->core->ops.pages_free(s->memory, SLAB_BYTES);
	else
		free(s->memory);
}

static struct fcore_conn *conn_alloc(struct fcore *core, uint32_t flows)
{
	size_t size = sizeof(struct fcore_conn) + flows * sizeof(struct fc_flow);
	void *memory = calloc(1, size + FALCON_CACHE_LINE);
	struct fcore_conn *c;

	if (!memory)
		return NULL;
	c = (struct fcore_conn *)(((uintptr_t)memory + FALCON_CACHE_LINE - 1) &
				  ~(uintptr_t)(FALCON_CACHE_LINE - 1));
	c->memory = memory;
	if (!take_rings(core, c)) {
		free(memory);
		return NULL;
	}
	c->core = core;
	c->flow = (struct fc_flow *)(c + 1);
	c->nflows = (uint8_t)flows;
	return c;
}

static void conn_free(struct fcore_conn *c)
{
	give_rings(c);
	free(c->memory);
}

void fc_leave(struct fcore *core)
{
	if (--core->depth)
		return;
	while (core->closed) {
		struct fcore_conn *c = core->closed;

		core->closed = c->next_closed;
		conn_free(c);
	}
}

struct fcore_conn *fcore_conn_open(struct fcore *core, uint32_t cid, struct falcon_conn *shared,
				   const struct fcore_params *params, uint64_t now)
{
	struct fcore_conn *c;

	if (cid >= FALCON_MAX_CONNS || core->conns[cid] || core->nconns >= core->max_conns)
		return NULL;
	c = conn_alloc(core, params->flows ? fc_min(params->flows, FALCON_MAX_FLOWS) : 1);
	if (!c)
		return NULL;
	c->cid = cid;
	c->shared = shared;
	c->params = *params;
	if (!fc_res_conn_open(c)) {
		conn_free(c);
		return NULL;
	}
	c->params.max_retx = fc_min(params->max_retx, FCORE_MAX_RETX);
	c->params.ar_percent = fc_min(params->ar_percent, 100);
	c->ordered = params->ordered;
	c->last_ack = now;
	c->rack = params->early_retx == FCORE_EARLY_RACK;
	c->retx_room = UINT32_MAX;
	c->init_base = c->init_told = c->init_send = c->init_next = params->tx_rsn;
	c->tgt_cursor = c->tgt_next = params->rx_rsn;
	fc_list_init(&c->link);
	fc_list_init(&c->exec_link);
	for (uint8_t kind = 0; kind < FC_TIMERS; kind++)
		c->timer[kind].kind = kind;
	init_shared(shared, params);
	init_windows(c, c->data.ctx);
	fc_flow_init(c);
	core->conns[cid] = c;
	core->nconns++;
	return c;
}

/* Give back the responses that are on the wire and not acknowledged. */
static void close_responses(struct fcore_conn *c)
{
	struct fc_win *w = &c->data;

	for (uint32_t psn = w->base; psn != w->next; psn++) {
		uint32_t bit = 1U << (psn & 31);

		if (fc_ctx(w, psn)->type == FALCON_PULL_DATA &&
		    !(*fc_bits(w, w->done, psn >> FALCON_GROUP_SHIFT) & bit)) {
			const struct fc_resp *r = &c->resp[psn & (w->size - 1)];

			if (!(fc_ctx(w, psn)->flags & FC_CTX_XDP))
				fc_res_give_data(c, r->hdr_len + r->len);
			c->core->ops.on_response_done(c->core->arg, c, r->cookie);
		}
	}
}

static void keep_stats(struct fcore_stats *sum, const struct fcore_stats *s)
{
	FCORE_STATS(STAT_ADD)
}

void fcore_conn_close(struct fcore_conn *c, enum falcon_completion_code code)
{
	struct fcore *core = c->core;

	if (c->closed)
		return;
	fc_enter(core);
	fcore_exec_withdraw(c);
	fc_exec_unlend(c);
	c->dead = c->closed = true;
	fc_sched_remove(c);
	fc_waiters_remove(&core->xon, &c->xon_link);
	fc_waiters_remove(&core->data, &c->data_link);
	for (int kind = 0; kind < FC_TIMERS; kind++)
		fc_timer_cancel(&core->wheel, &c->timer[kind]);
	fc_init_close(c, code);
	fc_sink_unlend(c);
	fc_tgt_close(c);
	close_responses(c);
	keep_stats(&core->past, &c->stats);
	core->conns[c->cid] = NULL;
	core->nconns--;
	c->next_closed = core->closed;
	core->closed = c;
	fc_leave(core);
}

struct fcore_conn *fcore_conn_lookup(struct fcore *core, uint32_t cid)
{
	return cid < FALCON_MAX_CONNS ? core->conns[cid] : NULL;
}

uint32_t fcore_conn_cid(const struct fcore_conn *c)
{
	return c->cid;
}

struct falcon_conn *fcore_conn_shared(struct fcore_conn *c)
{
	return c->shared;
}

const struct fcore_stats *fcore_conn_stats(const struct fcore_conn *c)
{
	return &c->stats;
}

const struct fcore_stats *fcore_past_stats(const struct fcore *core)
{
	return &core->past;
}

const struct fcore_rtt *fcore_rtt(const struct fcore *core)
{
	return &core->rtt;
}

void fcore_conn_set_user(struct fcore_conn *c, void *user)
{
	c->user = user;
}

void *fcore_conn_user(const struct fcore_conn *c)
{
	return c->user;
}
