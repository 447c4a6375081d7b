/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BPF ONLY. READs and atomics that are carried out here: the frame of the Pull Request becomes the Pull Data
 * that answers it, Falcon packet first, what is around it in falcon_turn.h.
 */
#ifndef FALCON_BPF_PULL_H
#define FALCON_BPF_PULL_H

#include "falcon/receive/pull.h"
#include "falcon_maps.h"
#include "falcon_memory.h"
#include "falcon_request.h"
#include "falcon_work.h"

/* Read the headers of RDMA. False: it is none that could be answered here. */
FALCON_INLINE bool falcon_pull_load(struct xdp_md *ctx, const struct falcon_request *q,
				    struct falcon_scratch *s)
{
	if (q->len == sizeof(s->in.atomic)) {
		if (bpf_xdp_load_bytes(ctx, q->off, &s->in, sizeof(s->in.atomic)))
			return false;
	} else if (q->len != sizeof(s->in.read) ||
		   bpf_xdp_load_bytes(ctx, q->off, &s->in, sizeof(s->in.read))) {
		return false;
	}
	return falcon_pull_unpack(&s->in, q->len, q->request_len, &s->pull);
}

/* What an atomic finds. */
FALCON_INLINE __u64 falcon_pull_atomic(__u64 *word, const struct falcon_pull *p)
{
	if (p->opcode == FALCON_RDMA_FETCH_ADD)
		return falcon_fetch_add(word, p->swap_add);
	return falcon_cas(word, p->compare, p->swap_add);
}

/* Write the headers of the response in place of the request's. */
static __noinline bool falcon_pull_headers(struct xdp_md *ctx, struct falcon_conn *c,
					   const struct falcon_request *q, struct falcon_scratch *s,
					   __u64 original)
{
	falcon_response_hdr(c, q->rsn, &s->hdr);
	falcon_exec_tell(c, q->flow, q->now, &s->hdr);
	falcon_base_pack(&s->hdr, &s->out.base);
	if (falcon_response_pack(&c->exec, &s->pull, original, &s->out.rdma) == FALCON_RDMA_READ_HDR)
		return bpf_xdp_store_bytes(ctx, q->falcon_off, &s->out,
					   sizeof(s->out.base) + FALCON_RDMA_READ_HDR) == 0;
	return bpf_xdp_store_bytes(ctx, q->falcon_off, &s->out, sizeof(s->out)) == 0;
}

/* Put what a READ wants behind the headers of the response. */
FALCON_INLINE bool falcon_pull_payload(struct xdp_md *ctx, const struct falcon_request *q,
				       const struct falcon_pull *p, const struct falcon_region *r)
{
	__u32 to = q->falcon_off + sizeof(struct falcon_base_hdr) + FALCON_RDMA_READ_HDR;
	__u32 pad = falcon_rdma_pad(p->length), zero = 0;

	if (falcon_copy_out(ctx, r->memory, to, r->offset + (p->va - r->iova), p->length))
		return false;
	return !pad || bpf_xdp_store_bytes(ctx, to + p->length, &zero, ((pad - 1) & 3) + 1) == 0;
}

/*
 * The request is claimed. Whatever fails from here on is a packet lost on its way: it is noted, and the agent
 * sends it again.
 */
FALCON_INLINE int falcon_pull_answer(struct xdp_md *ctx, struct falcon_conn *c,
				     const struct falcon_request *q, struct falcon_scratch *s,
				     const struct falcon_region *r, struct falcon_responses *responses,
				     __u64 *word)
{
	bool read = falcon_pull_is_read(&s->pull), whole;
	__u64 original = read ? 0 : falcon_pull_atomic(word, &s->pull);

	falcon_rx_acknowledge(c, true, q->psn);
	whole = falcon_pull_headers(ctx, c, q, s, original);
	if (read && whole)
		whole = falcon_pull_payload(ctx, q, &s->pull, r);
	falcon_exec_answered(c, responses, &s->pull, q->rsn, original, q->now);
	return whole ? FALCON_PULLED : FALCON_PULLED_LOST;
}

/* Make the frame as long as the response, if that is longer. What was there before stays as it was. */
FALCON_INLINE bool falcon_pull_grow(struct xdp_md *ctx, int by)
{
	return by <= 0 || bpf_xdp_adjust_tail(ctx, by) == 0;
}

/* |s->pull| may have what it wants of |r|: claim, and answer. */
FALCON_INLINE int falcon_pull_allowed(struct xdp_md *ctx, struct falcon_conn *c,
				      const struct falcon_request *q, struct falcon_scratch *s,
				      const struct falcon_region *r, struct falcon_responses *responses)
{
	const struct falcon_hdr hdr = { .type = FALCON_PULL_REQUEST, .psn = q->psn };
	int grow = (int)(sizeof(struct falcon_base_hdr) + falcon_pull_response_len(&s->pull)) -
		   (int)(sizeof(struct falcon_pull_req_hdr) + q->len);
	__u64 *word = falcon_memory_word(r->memory, r->offset + (s->pull.va - r->iova));
	int done;

	if (!word || !falcon_pull_grow(ctx, grow))
		return FALCON_PULLED_NOT;
	if (falcon_rx_window(c, &hdr) != FALCON_V_rx_request) {
		if (grow > 0)
			bpf_xdp_adjust_tail(ctx, -grow);
		return FALCON_PULLED_NOT;
	}
	done = falcon_pull_answer(ctx, c, q, s, r, responses, word);
	if (grow < 0)
		bpf_xdp_adjust_tail(ctx, grow);
	return done;
}

/* A pull of connection |c|, whose requests we own. Returns enum falcon_pulled. */
FALCON_INLINE int falcon_pull_one(struct xdp_md *ctx, struct falcon_conn *c, struct falcon_scratch *s)
{
	__u32 entry = c->exec.responses - 1;
	struct falcon_responses *responses = bpf_map_lookup_elem(&falcon_responses, &entry);
	const struct falcon_request *q = &s->request;
	const struct falcon_region *r;

	if (!responses || !falcon_pull_load(ctx, q, s) ||
	    !falcon_exec_expects_pull(&c->exec, &s->pull) || !falcon_exec_window_open(c, q->flow))
		return FALCON_PULLED_NOT;
	r = bpf_map_lookup_elem(&falcon_regions, &s->pull.rkey);
	if (!r || !falcon_region_allows_pull(r, &c->exec, &s->pull))
		return FALCON_PULLED_NOT;
	return falcon_pull_allowed(ctx, c, q, s, r, responses);
}

/*
 * It is claimed before it is carried out: of atomics, each takes effect once. Where a packet with its PSN is
 * on its way to the agent, it is left to that.
 */
FALCON_ALONE int falcon_pull_next(struct xdp_md *ctx)
{
	struct falcon_scratch *s = falcon_scratch_get();
	struct falcon_conn *c;
	__u32 cid, rsn, next;
	int done;

	if (!s)
		return FALCON_PULLED_NOT;
	cid = s->request.cid;
	rsn = s->request.rsn;
	c = bpf_map_lookup_elem(&falcon_conns, &cid);
	if (!c || !c->exec.responses || !falcon_exec_take(&c->exec, rsn))
		return FALCON_PULLED_NOT;
	done = falcon_pull_one(ctx, c, s);
	next = done != FALCON_PULLED_NOT;
	falcon_exec_free(&c->exec, rsn, rsn + next);
	return done;
}

#endif /* FALCON_BPF_PULL_H */
