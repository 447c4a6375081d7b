/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests of RDMA that XDP carries out: which they are, and who may. falcon/maps.h has the state,
 * struct falcon_exec and struct falcon_region.
 */
#ifndef FALCON_EXEC_H
#define FALCON_EXEC_H

#include "../abi/maps.h"
#include "../wire/rdma.h"
#include "ack.h"

FALCON_INLINE __u64 falcon_exec_word(enum falcon_exec_owner owner, __u32 rsn)
{
	return (__u64)owner << 32 | rsn;
}

/* XDP: own |e| for the request |rsn|. False: it is not the next one, or somebody else's. */
FALCON_INLINE bool falcon_exec_take(struct falcon_exec *e, __u32 rsn)
{
	__u64 want = falcon_exec_word(FALCON_EXEC_FREE, rsn);

	return falcon_load(&e->owner) == want &&
	       falcon_cas(&e->owner, want, falcon_exec_word(FALCON_EXEC_XDP, rsn)) == want;
}

/* XDP, which owns |e| for |rsn|: the next request is |next|, which is |rsn| if nothing was done. */
FALCON_INLINE void falcon_exec_free(struct falcon_exec *e, __u32 rsn, __u32 next)
{
	/* Nobody else changes it meanwhile: this is a store that nothing before it passes. */
	falcon_cas(&e->owner, falcon_exec_word(FALCON_EXEC_XDP, rsn),
		   falcon_exec_word(FALCON_EXEC_FREE, next));
}

#ifndef __bpf__
static inline bool falcon_exec_is_xdp(__u64 owner)
{
	return owner >> 32 == FALCON_EXEC_XDP;
}

/* Agent: an XDP program is amid a request, for less than a microsecond, and nothing of ours can stop it. */
static inline void falcon_exec_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Agent: own |e|, which it has freed. Returns the RSN of the next request. */
static inline __u32 falcon_exec_seize(struct falcon_exec *e)
{
	for (;;) {
		__u64 owner = falcon_load(&e->owner);
		__u64 ours = falcon_exec_word(FALCON_EXEC_AGENT, (__u32)owner);

		if (!falcon_exec_is_xdp(owner) && falcon_cas(&e->owner, owner, ours) == owner)
			return (__u32)owner;
		falcon_exec_relax();
	}
}

/* Agent, which owns |e|: the next request is |next|, and may be XDP's. */
static inline void falcon_exec_release(struct falcon_exec *e, __u32 next)
{
	falcon_store(&e->owner, falcon_exec_word(FALCON_EXEC_FREE, next));
}

/* Agent: return once XDP is not amid a request that it had begun when this was called. */
static inline void falcon_exec_wait(const struct falcon_exec *e)
{
	/* What was withdrawn before is seen by every request that begins after this. */
	__sync_synchronize();
	while (falcon_exec_is_xdp(falcon_load(&e->owner)))
		falcon_exec_relax();
}
#endif

enum falcon_exec_const {
	FALCON_WRITE_HDR = sizeof(struct falcon_rdma_rbth) + sizeof(struct falcon_rdma_reth),
	FALCON_COPY_MAX = 4095,		/* bytes of payload that XDP copies */
};

/* The headers of a WRITE, as they are in the packet. */
struct falcon_write_hdr {
	struct falcon_rdma_rbth rbth;
	struct falcon_rdma_reth reth;
};
_Static_assert(sizeof(struct falcon_write_hdr) == FALCON_WRITE_HDR, "no padding");

/* A packet of a WRITE on an RC queue pair, without immediate data. */
struct falcon_write {
	__u64 va;
	__u32 rkey;
	__u32 qp;
	__u32 sn;
	__u32 length;		/* bytes of the WRITE from |va| on */
	__u32 len;		/* bytes of payload, without padding, 1..FALCON_COPY_MAX */
	bool first, last;	/* packet of the WRITE */
};

/*
 * Read the headers of a packet with |len| bytes behind Falcon's. False: it is none that XDP could carry
 * out, which may be wrong or not; who else looks at it will know.
 */
FALCON_INLINE bool falcon_write_unpack(const struct falcon_write_hdr *h, __u32 len, struct falcon_write *w)
{
	__u32 word = falcon_ntoh32(h->rbth.word0), op = word & 0xff, pad = word >> 10 & 3;
	bool error = word >> 12 & 1;

	/* RC is 0. */
	if (word >> 28 != FALCON_RDMA_VERSION || error || len <= FALCON_WRITE_HDR + pad)
		return false;
	if (op != FALCON_RDMA_WRITE_FIRST && op != FALCON_RDMA_WRITE_MIDDLE &&
	    op != FALCON_RDMA_WRITE_LAST && op != FALCON_RDMA_WRITE_ONLY)
		return false;
	w->first = op == FALCON_RDMA_WRITE_FIRST || op == FALCON_RDMA_WRITE_ONLY;
	w->last = op == FALCON_RDMA_WRITE_LAST || op == FALCON_RDMA_WRITE_ONLY;
	w->qp = falcon_ntoh32(h->rbth.dest_qp) >> 8;
	w->sn = falcon_ntoh32(h->rbth.sn);
	w->va = (__u64)falcon_ntoh32(h->reth.va_hi) << 32 | falcon_ntoh32(h->reth.va_lo);
	w->rkey = falcon_ntoh32(h->reth.rkey);
	w->length = falcon_ntoh32(h->reth.length);
	w->len = len - FALCON_WRITE_HDR - pad;
	if (w->len > FALCON_COPY_MAX || w->len > w->length)
		return false;
	return !w->first || !w->last || w->len == w->length;
}

/* |w| continues what has come. The owner's to ask. */
FALCON_INLINE bool falcon_exec_expects(const struct falcon_exec *e, const struct falcon_write *w)
{
	return w->qp == e->qp && w->sn == e->sn && w->first == !e->in_write;
}

/* The |len| bytes at |va| are in |r|, and the peer may do |access| with them. */
FALCON_INLINE bool falcon_region_has(const struct falcon_region *r, const struct falcon_exec *e,
				     enum falcon_region_access access, __u64 va, __u64 len)
{
	__u64 in = va - r->iova;

	return r->pd == e->pd && r->access & e->access & access && va >= r->iova && in <= r->length &&
	       len <= r->length - in;
}

/* |w| may write to |r|: the first packet must be allowed all of the WRITE. */
FALCON_INLINE bool falcon_region_allows(const struct falcon_region *r, const struct falcon_exec *e,
					const struct falcon_write *w)
{
	return falcon_region_has(r, e, FALCON_REGION_WRITE, w->va, w->first ? w->length : w->len);
}

/* |w|, whose packet |psn| is claimed, is carried out. The owner's to say. */
FALCON_INLINE void falcon_exec_wrote(struct falcon_conn *c, const struct falcon_write *w, __u32 psn)
{
	struct falcon_exec *e = &c->exec;

	e->sn++;
	e->write_len = w->first ? w->len : e->write_len + w->len;
	e->in_write = !w->last;
	e->packets++;
	e->bytes += w->len;
	falcon_rx_acknowledge(c, false, psn);
}

/*
 * A packet of |flow|, which has come at |now_ns|, is carried out and acknowledged. |asked|: it asks for an
 * ACK. True if an ACK is due now.
 */
FALCON_INLINE bool falcon_exec_owe(struct falcon_conn *c, __u32 flow, bool asked, __u64 now_ns)
{
	return falcon_ack_owe(c, flow, now_ns) >= falcon_load(&c->rx_acked.ack_count) || asked;
}

/*
 * An ACK of |flow| is owed, and is not due yet. True if the agent is to be told, which then watches over
 * it: of what it watches already it need not hear.
 */
FALCON_INLINE bool falcon_exec_watch(struct falcon_conn *c, __u32 flow)
{
	__u32 bit = 1U << (flow & (FALCON_MAX_FLOWS - 1));

	return !(falcon_fetch_or(&c->rx.acks_watched, bit) & bit);
}

#endif /* FALCON_EXEC_H */
