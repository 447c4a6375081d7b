/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * READs and atomics that XDP answers: which they are, and what is noted of the answers. falcon/exec.h says
 * who may; falcon/maps.h has the state.
 */
#ifndef FALCON_PULL_H
#define FALCON_PULL_H

#include "exec.h"
#include "rx.h"

/* The headers of a Pull Request, as they are in the packet. */
struct falcon_read_hdr {
	struct falcon_rdma_rbth rbth;
	struct falcon_rdma_reth reth;
	struct falcon_rdma_seth seth;
	struct falcon_rdma_steth steth;
};
_Static_assert(sizeof(struct falcon_read_hdr) == 44, "no padding");

struct falcon_atomic_hdr {
	struct falcon_rdma_rbth rbth;
	struct falcon_rdma_atomiceth atomic;
	struct falcon_rdma_seth seth;
	struct falcon_rdma_steth steth;
};
_Static_assert(sizeof(struct falcon_atomic_hdr) == 56, "no padding");

union falcon_pull_hdr {
	struct falcon_rdma_rbth rbth;
	struct falcon_read_hdr read;
	struct falcon_atomic_hdr atomic;
};

/* The headers of the Pull Data that answers it: of an atomic all, of a READ as far as |steth|. */
struct falcon_read_response_hdr {
	struct falcon_rdma_rbth rbth;
	struct falcon_rdma_steth steth;
};
_Static_assert(sizeof(struct falcon_read_response_hdr) == FALCON_RDMA_READ_HDR, "no padding");

struct falcon_atomic_response_hdr {
	struct falcon_rdma_rbth rbth;
	struct falcon_rdma_atomicacketh ack;
	struct falcon_rdma_steth steth;
};
_Static_assert(sizeof(struct falcon_atomic_response_hdr) == FALCON_RDMA_MAX_RESPONSE_HDR, "no padding");

/* A READ or atomic on an RC queue pair. */
struct falcon_pull {
	__u64 va;
	__u64 swap_add, compare;	/* atomic */
	__u64 sink_va;
	__u32 sink_lkey;
	__u32 rkey;
	__u32 qp;
	__u32 sn;
	__u32 rmsn;
	__u32 length;		/* bytes that are read or changed: 1..FALCON_COPY_MAX, of an atomic 8 */
	__u8 opcode;		/* enum falcon_rdma_opcode */
};

FALCON_INLINE bool falcon_pull_is_read(const struct falcon_pull *p)
{
	return p->opcode == FALCON_RDMA_READ_REQUEST;
}

FALCON_INLINE __u64 falcon_words(__be32 hi, __be32 lo)
{
	return (__u64)falcon_ntoh32(hi) << 32 | falcon_ntoh32(lo);
}

FALCON_INLINE void falcon_pull_unpack_tail(const struct falcon_rdma_seth *seth,
					   const struct falcon_rdma_steth *steth, struct falcon_pull *p)
{
	p->rmsn = falcon_ntoh32(seth->rmsn);
	p->sink_va = falcon_words(steth->va_hi, steth->va_lo);
	p->sink_lkey = falcon_ntoh32(steth->lkey);
}

/* Bytes of the response to |p|, RDMA's headers and padding included. */
FALCON_INLINE __u32 falcon_pull_response_len(const struct falcon_pull *p)
{
	return falcon_pull_is_read(p) ? FALCON_RDMA_READ_HDR + p->length + falcon_rdma_pad(p->length)
				      : FALCON_RDMA_MAX_RESPONSE_HDR;
}

/*
 * Read the |len| bytes behind the header of a Pull Request that wants |request_len| bytes; of |h|, so many
 * are set. False: it is none that XDP could answer, which may be wrong or not; who else looks at it will
 * know.
 */
FALCON_INLINE bool falcon_pull_unpack(const union falcon_pull_hdr *h, __u32 len, __u32 request_len,
				      struct falcon_pull *p)
{
	__u32 word = falcon_ntoh32(h->rbth.word0);
	bool error = word >> 12 & 1, pad = word >> 10 & 3;

	/* RC is 0. */
	p->opcode = (__u8)word;
	if (word >> 28 != FALCON_RDMA_VERSION || error || pad)
		return false;
	p->qp = falcon_ntoh32(h->rbth.dest_qp) >> 8;
	p->sn = falcon_ntoh32(h->rbth.sn);
	if (falcon_pull_is_read(p)) {
		if (len != sizeof(h->read))
			return false;
		p->va = falcon_words(h->read.reth.va_hi, h->read.reth.va_lo);
		p->rkey = falcon_ntoh32(h->read.reth.rkey);
		p->length = falcon_ntoh32(h->read.reth.length);
		falcon_pull_unpack_tail(&h->read.seth, &h->read.steth, p);
	} else {
		if ((p->opcode != FALCON_RDMA_FETCH_ADD && p->opcode != FALCON_RDMA_CMP_SWAP) ||
		    len != sizeof(h->atomic))
			return false;
		p->va = falcon_words(h->atomic.atomic.va_hi, h->atomic.atomic.va_lo);
		p->rkey = falcon_ntoh32(h->atomic.atomic.rkey);
		p->swap_add = falcon_words(h->atomic.atomic.swap_add_hi, h->atomic.atomic.swap_add_lo);
		p->compare = falcon_words(h->atomic.atomic.compare_hi, h->atomic.atomic.compare_lo);
		p->length = sizeof(__u64);
		falcon_pull_unpack_tail(&h->atomic.seth, &h->atomic.steth, p);
	}
	return p->length && p->length <= FALCON_COPY_MAX && request_len == falcon_pull_response_len(p);
}

/* |p| is what comes next. The owner's to ask. */
FALCON_INLINE bool falcon_exec_expects_pull(const struct falcon_exec *e, const struct falcon_pull *p)
{
	return p->qp == e->qp && p->sn == e->sn && p->rmsn == e->read_rmsn && !e->in_write;
}

/* |p| may have what it wants of |r|. */
FALCON_INLINE bool falcon_region_allows_pull(const struct falcon_region *r, const struct falcon_exec *e,
					     const struct falcon_pull *p)
{
	if (falcon_pull_is_read(p))
		return falcon_region_has(r, e, FALCON_REGION_READ, p->va, p->length);
	return falcon_region_has(r, e, FALCON_REGION_ATOMIC, p->va, p->length) &&
	       (p->va | (r->offset + (p->va - r->iova))) % sizeof(__u64) == 0;
}

/*
 * Fabric and peer allow one more packet of the data window, on |flow|, on which its request has come. The
 * owner's to ask.
 */
FALCON_INLINE bool falcon_exec_window_open(const struct falcon_conn *c, __u32 flow)
{
	__u32 base = falcon_load(&c->tx_acked.data_base);

	return flow < c->cc.flows && falcon_load(&c->cc.data_next) - base < falcon_load(&c->cc.xdp_window);
}

/* Falcon 9.1.3.1: does the next packet ask for an ACK? The owner's to ask, once a packet. */
FALCON_INLINE bool falcon_exec_asks(struct falcon_conn *c)
{
	__u32 out = falcon_load(&c->cc.data_next) + 1 - falcon_load(&c->tx_acked.data_base);
	struct falcon_exec *e = &c->exec;

	if (falcon_load(&c->cc.fcwnd) >> FALCON_EV_fcwnd_fraction_WIDTH <= e->ar_fcwnd ||
	    out >= falcon_load(&c->cc.xdp_window))
		return true;
	e->ar_credit = (__u8)(e->ar_credit + e->ar_percent);
	if (e->ar_credit < 100)
		return false;
	e->ar_credit = (__u8)(e->ar_credit - 100);
	return true;
}

/* The Falcon header of the Pull Data that answers |rsn|; the owner's to make. */
FALCON_INLINE void falcon_response_hdr(struct falcon_conn *c, __u32 rsn, struct falcon_hdr *h)
{
	__builtin_memset(h, 0, sizeof(*h));
	h->cid = c->id.peer_cid;
	h->function = c->id.function;
	h->proto = FALCON_PROTO_RDMA;
	h->type = FALCON_PULL_DATA;
	h->ar = falcon_exec_asks(c);
	h->rdbpsn = falcon_load(&c->rx_acked.data_base);
	h->rrbpsn = falcon_load(&c->rx_acked.req_base);
	h->psn = falcon_load(&c->cc.data_next);
	h->rsn = rsn;
}

/*
 * RDMA's headers of the response to |p|, |original| being what an atomic has found. |out| has room for
 * those of an atomic. Returns their length.
 */
FALCON_INLINE __u32 falcon_response_pack(const struct falcon_exec *e, const struct falcon_pull *p,
					 __u64 original, struct falcon_atomic_response_hdr *out)
{
	__u32 word = (__u32)FALCON_RDMA_VERSION << 28;
	bool read = falcon_pull_is_read(p);
	const struct falcon_rdma_steth steth = {
		.va_hi = falcon_hton32((__u32)(p->sink_va >> 32)),
		.va_lo = falcon_hton32((__u32)p->sink_va),
		.lkey = falcon_hton32(p->sink_lkey),
	};

	word |= read ? (__u32)(e->room & 1) << 17 | falcon_rdma_pad(p->length) << 10 |
			       FALCON_RDMA_READ_RESPONSE_ONLY :
		       FALCON_RDMA_ATOMIC_RESPONSE;
	out->rbth.word0 = falcon_hton32(word);
	out->rbth.dest_qp = falcon_hton32(e->peer_qp << 8);
	out->rbth.sn = falcon_hton32(p->sn);
	if (read) {
		((struct falcon_read_response_hdr *)out)->steth = steth;
		return sizeof(struct falcon_read_response_hdr);
	}
	out->ack.original_hi = falcon_hton32((__u32)(original >> 32));
	out->ack.original_lo = falcon_hton32((__u32)original);
	out->steth = steth;
	return sizeof(*out);
}

/*
 * |p|, the request |rsn|, is answered in the next packet of the data window: note in |r| what it takes to
 * send that again, at |now_ns|. The owner's to do, before it sends the packet.
 */
FALCON_INLINE void falcon_exec_answered(struct falcon_conn *c, struct falcon_responses *r,
					const struct falcon_pull *p, __u32 rsn, __u64 original, __u64 now_ns)
{
	__u32 psn = falcon_load(&c->cc.data_next);
	struct falcon_response *at = &r->at[psn & (FALCON_DATA_WINDOW - 1)];
	struct falcon_exec *e = &c->exec;

	at->sent_ns = now_ns;
	at->va = p->va;
	at->sink_va = p->sink_va;
	at->original = original;
	at->sink_lkey = p->sink_lkey;
	at->rsn = rsn;
	at->sn = p->sn;
	at->rkey = p->rkey;
	at->length = p->length;
	at->opcode = p->opcode;
	e->sn++;
	e->read_rmsn++;
	e->packets++;
	e->pulls++;
	/* The record before the number: the peer may answer before we return. */
	falcon_store(&c->cc.data_next, psn + 1);
}

/*
 * The Pull Request that came on |flow| is acknowledged, at |now_ns|; its response, with header |h|, tells of
 * it if nothing else is untold: another packet may want an ACK, with its times.
 */
FALCON_INLINE void falcon_exec_tell(struct falcon_conn *c, __u32 flow, __u64 now_ns,
				    const struct falcon_hdr *h)
{
	__u32 acked;

	if (falcon_ack_owe_as(c, flow, now_ns, &acked) == 1 && falcon_ack_in_bases(c, h->rdbpsn, h->rrbpsn))
		falcon_ack_told(c, flow, acked);
}

/* XDP: the agent need not hear of what moves the bases of the transmitter: it is of XDP's own packets. */
FALCON_INLINE bool falcon_exec_quiet(const struct falcon_conn *c)
{
	return falcon_load(&c->exec.owner) >> 32 != FALCON_EXEC_AGENT && falcon_load(&c->exec.quiet);
}

/*
 * The response to a request that came on |flow| is on its way, which |asked| for an ACK or not. Leave to the
 * agent what it does not tell; true if the agent is to hear of that now. What was told already, the agent's
 * ACK tells once more, for its times: that can wait until the agent looks next.
 */
FALCON_INLINE bool falcon_exec_leave_ack(struct falcon_conn *c, __u32 flow, bool asked)
{
	__u32 untold = falcon_ack_untold(c, flow);

	if (!asked && untold < falcon_load(&c->rx_acked.ack_count))
		return untold && falcon_exec_watch(c, flow);
	falcon_rx_owe_answer(c, flow);
	return untold || !falcon_exec_quiet(c);
}

/*
 * Pull Data was sent. True if the agent is to be told, whose timer then watches over all that follow until
 * it finds nothing on the wire.
 */
FALCON_INLINE bool falcon_exec_watch_sent(struct falcon_conn *c)
{
	return !falcon_load(&c->tx_acked.watched) && !falcon_fetch_or(&c->tx_acked.watched, 1U);
}

#endif /* FALCON_PULL_H */
