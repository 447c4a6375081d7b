/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* BPF ONLY. Requests that are carried out here: WRITEs into offload memory, READs and atomics of it. */
#ifndef FALCON_BPF_EXEC_H
#define FALCON_BPF_EXEC_H

#include "falcon/receive/exec.h"
#include "falcon_maps.h"
#include "falcon_memory.h"
#include "falcon_notify.h"
#include "falcon_pull.h"
#include "falcon_request.h"
#include "falcon_sink.h"
#include "falcon_work.h"

/* We own the connection's requests, and |write| is the next: place it if it may be placed. */
FALCON_INLINE bool falcon_place_write(struct xdp_md *ctx, const struct falcon_exec *e,
				      const struct falcon_write *write, __u32 from)
{
	const struct falcon_region *r = bpf_map_lookup_elem(&falcon_regions, &write->rkey);

	return r && falcon_exec_expects(e, write) && falcon_region_allows(r, e, write) &&
	       falcon_copy_in(ctx, r->memory, from, r->offset + (write->va - r->iova), write->len) == 0;
}

/* A WRITE of connection |c|, whose requests we own. Returns enum falcon_executed. */
FALCON_INLINE int falcon_write_one(struct xdp_md *ctx, struct falcon_conn *c,
				   const struct falcon_request *q)
{
	const struct falcon_hdr hdr = { .type = FALCON_PUSH_DATA, .psn = q->psn };
	struct falcon_write write = {};
	struct falcon_write_hdr h;

	if (bpf_xdp_load_bytes(ctx, q->off, &h, sizeof(h)) || !falcon_write_unpack(&h, q->len, &write) ||
	    !falcon_place_write(ctx, &c->exec, &write, q->off + FALCON_WRITE_HDR) ||
	    falcon_rx_window(c, &hdr) != FALCON_V_rx_data)
		return FALCON_EXECUTED_NOT;
	falcon_exec_wrote(c, &write, q->psn);
	if (falcon_exec_owe(c, q->flow, q->asked, q->now))
		return FALCON_EXECUTED_DUE;
	return write.last ? FALCON_EXECUTED_LAST : FALCON_EXECUTED;
}

/*
 * It is placed before it is claimed: a request that is the next one was never carried out, and a copy cut
 * short is made again by whoever gets the packet next. If its PSN was claimed before, a packet with it is
 * on its way to the agent.
 */
FALCON_ALONE int falcon_write_next(struct xdp_md *ctx)
{
	const struct falcon_scratch *s = falcon_scratch_get();
	struct falcon_conn *c;
	__u32 cid, rsn, next;
	int done;

	if (!s)
		return FALCON_EXECUTED_NOT;
	cid = s->request.cid;
	rsn = s->request.rsn;
	c = bpf_map_lookup_elem(&falcon_conns, &cid);
	if (!c || !falcon_exec_take(&c->exec, rsn))
		return FALCON_EXECUTED_NOT;
	done = falcon_write_one(ctx, c, &s->request);
	next = done != FALCON_EXECUTED_NOT;
	falcon_exec_free(&c->exec, rsn, rsn + next);
	return done;
}

/* Leave what the functions that carry it out want to know of the request in this CPU's scratch. */
FALCON_INLINE void falcon_describe(const struct falcon_work *w)
{
	const struct falcon_hdr *h = &w->rx.hdr;
	const struct falcon_frame *f = &w->rx.frame;
	__u32 hdr_len = falcon_hdr_len(h->type);

	w->scratch->request = (struct falcon_request){
		.cid = f->cid,
		.rsn = h->rsn,
		.psn = h->psn,
		.flow = f->flow,
		.off = f->falcon_off + hdr_len,
		.len = f->falcon_len - hdr_len,
		.falcon_off = f->falcon_off,
		.request_len = h->request_len,
		.asked = h->ar,
		.now = w->rx.now,
	};
}

/* Carry out the push, or leave it alone with FALCON_V_rx_data. */
FALCON_INLINE enum falcon_verdict falcon_execute_push(struct xdp_md *ctx, struct falcon_work *w)
{
	int done = falcon_write_next(ctx);

	if (done == FALCON_EXECUTED_NOT)
		return FALCON_V_rx_data;
	if (done == FALCON_EXECUTED_DUE)
		w->scratch->next = FALCON_NEXT_ACK;
	if (done == FALCON_EXECUTED_LAST && falcon_exec_watch(w->rx.conn, w->rx.frame.flow))
		falcon_mark_dirty(w);
	return FALCON_V_xdp_placed;
}

/* Carry out the pull, or leave it alone with FALCON_V_rx_data. The frame is then the response. */
FALCON_INLINE enum falcon_verdict falcon_execute_pull(struct xdp_md *ctx, struct falcon_work *w)
{
	__u32 flow = w->rx.frame.flow, len = w->rx.frame.falcon_len;
	struct falcon_conn *c = w->rx.conn;
	int done = falcon_pull_next(ctx);
	bool dirty;

	if (done == FALCON_PULLED_NOT)
		return FALCON_V_rx_data;
	if (done == FALCON_PULLED)
		w->scratch->next = FALCON_NEXT_RESPONSE;
	/* Both are to be asked. */
	dirty = falcon_exec_watch_sent(c);
	dirty |= falcon_exec_leave_ack(c, flow, w->rx.hdr.ar);
	if (dirty)
		falcon_mark_dirty(w);
	if (len == sizeof(struct falcon_pull_req_hdr) + sizeof(struct falcon_read_hdr))
		return FALCON_V_xdp_read;
	return FALCON_V_xdp_atomic;
}

/* Place the Pull Data, or leave them alone with FALCON_V_rx_data. The agent goes on with the pull. */
FALCON_INLINE enum falcon_verdict falcon_execute_response(struct xdp_md *ctx, struct falcon_work *w)
{
	int done = falcon_sink_next(ctx);

	if (done == FALCON_EXECUTED_NOT)
		return FALCON_V_rx_data;
	if (done == FALCON_EXECUTED_DUE)
		w->scratch->next = FALCON_NEXT_ACK;
	else
		falcon_exec_watch(w->rx.conn, w->rx.frame.flow);
	falcon_mark_dirty(w);
	return FALCON_V_xdp_placed;
}

FALCON_INLINE enum falcon_verdict falcon_execute_request(struct xdp_md *ctx, struct falcon_work *w)
{
	const struct falcon_hdr *h = &w->rx.hdr;
	bool response = h->type == FALCON_PULL_DATA;

	if (h->proto != FALCON_PROTO_RDMA || (response && !falcon_load(&w->rx.conn->cc.sinks)))
		return FALCON_V_rx_data;
	if (!response && falcon_load(&w->rx.conn->exec.owner) != falcon_exec_word(FALCON_EXEC_FREE, h->rsn))
		return FALCON_V_rx_data;
	falcon_describe(w);
	if (response)
		return falcon_execute_response(ctx, w);
	if (h->type == FALCON_PUSH_DATA)
		return falcon_execute_push(ctx, w);
	if (h->type == FALCON_PULL_REQUEST)
		return falcon_execute_pull(ctx, w);
	return FALCON_V_rx_data;
}

/* Carry out the request, or leave it alone with FALCON_V_rx_data. */
static __noinline enum falcon_verdict falcon_execute(struct xdp_md *ctx, struct falcon_work *w)
{
	falcon_store(&w->scratch->verdict, (__u32)falcon_execute_request(ctx, w));
	return falcon_load(&w->scratch->verdict);
}

#endif /* FALCON_BPF_EXEC_H */
