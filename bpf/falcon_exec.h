/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* BPF ONLY. Requests that are carried out here: WRITEs into offload memory (RDMA 6.7). */
#ifndef FALCON_BPF_EXEC_H
#define FALCON_BPF_EXEC_H

#include "falcon/exec.h"
#include "falcon_maps.h"
#include "falcon_notify.h"
#include "falcon_work.h"

/* Where in a frame bytes go to which place of a block. */
struct falcon_copy {
	__u32 from, off, n;
};

/*
 * Copy pieces of |size| bytes as long as there are any. The masks change nothing; they have all rounds look
 * alike to the verifier, which then need not follow each combination of them.
 */
FALCON_INLINE bool falcon_place_pieces(struct xdp_md *ctx, __u8 *block, struct falcon_copy *c,
				       const __u32 size, const __u32 rounds)
{
	for (__u32 i = 0; i < rounds; i++) {
		c->off &= FALCON_MEMORY_BLOCK - 1;
		c->n &= FALCON_WRITE_MAX;
		c->from &= 0xffff;
		if (c->n < size)
			return true;
		if (c->off > FALCON_MEMORY_BLOCK - size ||
		    bpf_xdp_load_bytes(ctx, c->from, block + c->off, size))
			return false;
		c->off += size;
		c->from += size;
		c->n -= size;
	}
	return true;
}

/*
 * Copy |n| bytes, 1 to FALCON_WRITE_MAX, from |from| on of the frame to a block, at |at| modulo its size.
 * Where the block may end amid FALCON_WRITE_MAX bytes, the verifier wants constant lengths.
 */
static __noinline bool falcon_place_block(struct xdp_md *ctx, __u8 *block, __u32 from, __u64 at, __u32 n)
{
	struct falcon_copy c = { from, (__u32)at & (FALCON_MEMORY_BLOCK - 1), n };
	__u32 off = (__u32)at & (FALCON_MEMORY_BLOCK - 1);

	/* It is at least 1, which old kernels do not conclude from a comparison. */
	n = ((n - 1) & FALCON_WRITE_MAX) + 1;
	if (off < FALCON_MEMORY_BLOCK - FALCON_WRITE_MAX)
		return bpf_xdp_load_bytes(ctx, from, block + off, n) == 0;
	return falcon_place_pieces(ctx, block, &c, 64, 64) && falcon_place_pieces(ctx, block, &c, 8, 8) &&
	       falcon_place_pieces(ctx, block, &c, 1, 8);
}

/* Copy |len| bytes, at most FALCON_WRITE_MAX, from |from| on of the frame to |at| of |memory|. 0: done. */
FALCON_ALONE int falcon_place(struct xdp_md *ctx, __u32 memory, __u32 from, __u64 at, __u32 len)
{
	void *map = bpf_map_lookup_elem(&falcon_memory, &memory);
	__u32 block = (__u32)(at >> FALCON_MEMORY_SHIFT);
	__u32 n = FALCON_MEMORY_BLOCK - ((__u32)at & (FALCON_MEMORY_BLOCK - 1));
	__u8 *to;

	if (!map)
		return -1;
	if (n > len)
		n = len;
	to = bpf_map_lookup_elem(map, &block);
	if (!to || !falcon_place_block(ctx, to, from, at, n))
		return -1;
	if (n == len)
		return 0;
	block++;
	to = bpf_map_lookup_elem(map, &block);
	return to && falcon_place_block(ctx, to, from + n, 0, len - n) ? 0 : -1;
}

/* A request: what its Falcon header says, and where that of RDMA is. */
struct falcon_request {
	__u32 cid;
	__u32 rsn;
	__u32 psn;
	__u32 flow;
	__u32 off, len;		/* of what is behind Falcon's header, bytes */
	__u32 asked;		/* 1: for an ACK */
	__u64 now;		/* CLOCK_MONOTONIC at reception, ns */
};

/* We own the connection's requests, and |write| is the next: place it if it may be placed. */
FALCON_INLINE bool falcon_place_write(struct xdp_md *ctx, const struct falcon_exec *e,
				      const struct falcon_write *write, __u32 from)
{
	const struct falcon_region *r = bpf_map_lookup_elem(&falcon_regions, &write->rkey);

	return r && falcon_exec_expects(e, write) && falcon_region_allows(r, e, write) &&
	       falcon_place(ctx, r->memory, from, r->offset + (write->va - r->iova), write->len) == 0;
}

enum falcon_executed {
	FALCON_EXECUTED_NOT,		/* it is not for us: nothing has changed */
	FALCON_EXECUTED,		/* an ACK is owed, and not due yet */
	FALCON_EXECUTED_LAST,		/* likewise, and nothing need follow soon */
	FALCON_EXECUTED_DUE,		/* an ACK is due */
};

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
FALCON_ALONE int falcon_write_next(struct xdp_md *ctx, const struct falcon_request *q)
{
	struct falcon_conn *c;
	__u32 cid, rsn, next;
	int done;

	if (!q)
		return FALCON_EXECUTED_NOT;
	cid = q->cid;
	rsn = q->rsn;
	c = bpf_map_lookup_elem(&falcon_conns, &cid);
	if (!c || !falcon_exec_take(&c->exec, rsn))
		return FALCON_EXECUTED_NOT;
	done = falcon_write_one(ctx, c, q);
	next = done != FALCON_EXECUTED_NOT;
	falcon_exec_free(&c->exec, rsn, rsn + next);
	return done;
}

/* Carry out the request, or leave it alone with FALCON_V_rx_data. */
static __noinline enum falcon_verdict falcon_execute(struct xdp_md *ctx, struct falcon_work *w)
{
	const struct falcon_hdr *h = &w->rx.hdr;
	const struct falcon_frame *f = &w->rx.frame;
	struct falcon_request q = {
		.cid = f->cid,
		.rsn = h->rsn,
		.psn = h->psn,
		.flow = f->flow,
		.off = f->falcon_off + falcon_hdr_len(FALCON_PUSH_DATA),
		.len = f->falcon_len - falcon_hdr_len(FALCON_PUSH_DATA),
		.asked = h->ar,
		.now = w->rx.now,
	};
	int done;

	if (h->type != FALCON_PUSH_DATA || h->proto != FALCON_PROTO_RDMA ||
	    falcon_load(&w->rx.conn->exec.owner) != falcon_exec_word(FALCON_EXEC_FREE, q.rsn))
		return FALCON_V_rx_data;
	done = falcon_write_next(ctx, &q);
	if (done == FALCON_EXECUTED_NOT)
		return FALCON_V_rx_data;
	w->ack_due = done == FALCON_EXECUTED_DUE;
	if (done == FALCON_EXECUTED_LAST && falcon_exec_watch(w->rx.conn, q.flow))
		falcon_mark_dirty(w);
	return FALCON_V_xdp_placed;
}

#endif /* FALCON_BPF_EXEC_H */
