/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* BPF ONLY. Pull Data that is placed here, at the initiator: in offload memory, where its request said. */
#ifndef FALCON_BPF_SINK_H
#define FALCON_BPF_SINK_H

#include "falcon/receive/sink.h"
#include "falcon_maps.h"
#include "falcon_memory.h"
#include "falcon_request.h"

/* The packet is the response that |sink| expects. Its RDMA headers are in |s| then. */
FALCON_INLINE bool falcon_sink_suits(struct xdp_md *ctx, const struct falcon_request *q,
				     struct falcon_scratch *s, const struct falcon_sink *sink)
{
	if (q->len != falcon_sink_response_len(sink))
		return false;
	if (sink->atomic) {
		if (bpf_xdp_load_bytes(ctx, q->off, &s->response, sizeof(s->response)))
			return false;
	} else if (bpf_xdp_load_bytes(ctx, q->off, &s->response, FALCON_RDMA_READ_HDR)) {
		return false;
	}
	return falcon_sink_expects(sink, &s->response);
}

/* What an atomic has found goes where the host's CPUs look for a number. */
FALCON_INLINE bool falcon_sink_original(const struct falcon_sink *sink,
					const struct falcon_atomic_response_hdr *in)
{
	__u64 *word = falcon_memory_word(sink->memory, sink->offset);

	if (word)
		falcon_store(word, falcon_words(in->ack.original_hi, in->ack.original_lo));
	return word;
}

FALCON_INLINE bool falcon_sink_copy(struct xdp_md *ctx, const struct falcon_request *q,
				    const struct falcon_scratch *s, const struct falcon_sink *sink)
{
	if (sink->atomic)
		return falcon_sink_original(sink, &s->response);
	return falcon_copy_in(ctx, sink->memory, q->off + FALCON_RDMA_READ_HDR, sink->offset,
			      sink->length) == 0;
}

/* We own |sink|, of connection |c|. Returns enum falcon_executed. */
FALCON_INLINE int falcon_sink_one(struct xdp_md *ctx, struct falcon_conn *c, struct falcon_scratch *s,
				  const struct falcon_sink *sink)
{
	const struct falcon_request *q = &s->request;
	const struct falcon_hdr hdr = { .type = FALCON_PULL_DATA, .psn = q->psn };

	if (!falcon_sink_suits(ctx, q, s, sink) || !falcon_sink_copy(ctx, q, s, sink) ||
	    falcon_rx_window(c, &hdr) != FALCON_V_rx_data)
		return FALCON_EXECUTED_NOT;
	falcon_rx_acknowledge(c, false, q->psn);
	return falcon_exec_owe(c, q->flow, q->asked, q->now) ? FALCON_EXECUTED_DUE : FALCON_EXECUTED;
}

/*
 * They are placed before they are claimed: while the sink is open, nobody has looked there. If their PSN was
 * claimed before, a packet with it is on its way to the agent, and brings the same.
 */
FALCON_ALONE int falcon_sink_next(struct xdp_md *ctx)
{
	struct falcon_scratch *s = falcon_scratch_get();
	struct falcon_sinks *sinks;
	struct falcon_sink *sink;
	struct falcon_conn *c;
	__u32 cid, rsn, entry;
	int done;

	if (!s)
		return FALCON_EXECUTED_NOT;
	cid = s->request.cid;
	rsn = s->request.rsn;
	c = bpf_map_lookup_elem(&falcon_conns, &cid);
	if (!c)
		return FALCON_EXECUTED_NOT;
	entry = falcon_load(&c->cc.sinks) - 1;
	sinks = bpf_map_lookup_elem(&falcon_sinks, &entry);
	if (!sinks)
		return FALCON_EXECUTED_NOT;
	sink = falcon_sink_at(sinks, rsn);
	if (!falcon_sink_take(sink, rsn))
		return FALCON_EXECUTED_NOT;
	done = falcon_sink_one(ctx, c, s, sink);
	falcon_sink_leave(sink, rsn, done != FALCON_EXECUTED_NOT);
	return done;
}

#endif /* FALCON_BPF_SINK_H */
