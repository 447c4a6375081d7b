/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every packet of RDMA over Falcon 0.9, section 8: layout, pack, unpack. They are the upper-layer
 * part of Falcon's packets of protocol type FALCON_PROTO_RDMA.
 *
 * The structs are the wire, in network byte order. The specification numbers bit 0 as the most
 * significant of a word. What it leaves open is decided in README.md in this directory.
 */
#ifndef FALCON_RDMA_H
#define FALCON_RDMA_H

#include "../codes.h"
#include "../types.h"

enum falcon_rdma_const {
	FALCON_RDMA_VERSION = 1,
	FALCON_RDMA_QPN_MASK = 0xffffff,	/* queue pair and SRQ numbers: 24 bits */
	FALCON_RDMA_MAX_HDR = 60,		/* of all packets: an atomic request of XRC */
	FALCON_RDMA_MAX_RESPONSE_HDR = 32,	/* RBTH, AtomicAckETH, STETH */
	FALCON_RDMA_READ_HDR = 24,		/* of READ responses: RBTH, STETH */
	FALCON_RDMA_PAD_UNIT = 4,		/* what padding aligns the end of a packet to */
};

/* RDMA 8.1.3, opcode bits 7:5: the transport; UC (1) and RD (2) are reserved. */
enum falcon_rdma_transport {
	FALCON_RDMA_RC = 0 << 5,
	FALCON_RDMA_UD = 3 << 5,
	FALCON_RDMA_XRC = 5 << 5,		/* as in InfiniBand (README.md) */
};

/* RDMA 8.1.3, opcode bits 4:0; if you add a value, also edit falcon_rdma_headers() and falcon_rdma.lua. */
enum falcon_rdma_opcode {
	FALCON_RDMA_SEND_FIRST = 0,
	FALCON_RDMA_SEND_MIDDLE = 1,
	FALCON_RDMA_SEND_LAST = 2,
	FALCON_RDMA_SEND_LAST_IMM = 3,
	FALCON_RDMA_SEND_ONLY = 4,
	FALCON_RDMA_SEND_ONLY_IMM = 5,
	FALCON_RDMA_WRITE_FIRST = 6,
	FALCON_RDMA_WRITE_MIDDLE = 7,
	FALCON_RDMA_WRITE_LAST = 8,
	FALCON_RDMA_WRITE_LAST_IMM = 9,
	FALCON_RDMA_WRITE_ONLY = 10,
	FALCON_RDMA_WRITE_ONLY_IMM = 11,
	FALCON_RDMA_READ_REQUEST = 12,
	FALCON_RDMA_READ_RESPONSE_FIRST = 13,
	FALCON_RDMA_READ_RESPONSE_MIDDLE = 14,
	FALCON_RDMA_READ_RESPONSE_LAST = 15,
	FALCON_RDMA_READ_RESPONSE_ONLY = 16,
	FALCON_RDMA_ATOMIC_RESPONSE = 18,
	FALCON_RDMA_CMP_SWAP = 19,
	FALCON_RDMA_FETCH_ADD = 20,
	FALCON_RDMA_SEND_LAST_INV = 22,
	FALCON_RDMA_SEND_ONLY_INV = 23,
	FALCON_RDMA_OPCODE_MASK = 0x1f,
	FALCON_RDMA_TRANSPORT_MASK = 0xe0,
};

/*
 * Why a target refuses: the ULP NACK code of a push (Falcon 7.8), |reason| of a pull's response in
 * error. The numbers are those of InfiniBand's NAK syndromes.
 */
enum falcon_rdma_nak {
	FALCON_RDMA_NAK_SEQUENCE = 0,	/* a sequence number is missing */
	FALCON_RDMA_NAK_INVALID = 1,	/* invalid request */
	FALCON_RDMA_NAK_ACCESS = 2,	/* remote access error */
	FALCON_RDMA_NAK_OPERATION = 3,	/* remote operational error */
};

/* RDMA 8.2 */
struct falcon_rdma_rbth {
	/* version(4) reserved(10) room(1) reason(4) CE(1) pad(2) R(1) SE(1) opcode(8) */
	__be32 word0;
	__be32 dest_qp;		/* destination QP(24) reserved(8) */
	__be32 sn;
};
_Static_assert(sizeof(struct falcon_rdma_rbth) == 12, "RDMA 8.2: 3 words");

struct falcon_rdma_reth {	/* RDMA 8.3.1 */
	__be32 va_hi, va_lo;
	__be32 rkey;
	__be32 length;
};
_Static_assert(sizeof(struct falcon_rdma_reth) == 16, "RDMA 8.3.1: 4 words");

struct falcon_rdma_seth {	/* RDMA 8.3.2 */
	__be32 rmsn;
};
_Static_assert(sizeof(struct falcon_rdma_seth) == 4, "RDMA 8.3.2: 1 word");

struct falcon_rdma_oeth {	/* RDMA 8.3.3 */
	__be32 offset;
};
_Static_assert(sizeof(struct falcon_rdma_oeth) == 4, "RDMA 8.3.3: 1 word");

struct falcon_rdma_steth {	/* RDMA 8.3.4 */
	__be32 va_hi, va_lo;
	__be32 lkey;
};
_Static_assert(sizeof(struct falcon_rdma_steth) == 12, "RDMA 8.3.4: 3 words");

struct falcon_rdma_immdt {	/* RDMA 8.3.5 */
	__be32 imm;
};
_Static_assert(sizeof(struct falcon_rdma_immdt) == 4, "RDMA 8.3.5: 1 word");

struct falcon_rdma_atomiceth {	/* RDMA 8.3.6 */
	__be32 va_hi, va_lo;
	__be32 rkey;
	__be32 swap_add_hi, swap_add_lo;
	__be32 compare_hi, compare_lo;
};
_Static_assert(sizeof(struct falcon_rdma_atomiceth) == 28, "RDMA 8.3.6: 7 words");

struct falcon_rdma_atomicacketh {	/* RDMA 8.3.7 */
	__be32 original_hi, original_lo;
};
_Static_assert(sizeof(struct falcon_rdma_atomicacketh) == 8, "RDMA 8.3.7: 2 words");

struct falcon_rdma_ieth {	/* RDMA 8.3.8 */
	__be32 rkey;
};
_Static_assert(sizeof(struct falcon_rdma_ieth) == 4, "RDMA 8.3.8: 1 word");

struct falcon_rdma_xrceth {	/* RDMA 8.3.9 */
	__be32 srq;		/* XRC SRQ(24) reserved(8) */
};
_Static_assert(sizeof(struct falcon_rdma_xrceth) == 4, "RDMA 8.3.9: 1 word");

struct falcon_rdma_deth {	/* RDMA 8.3.10 */
	__be32 qkey;
	__be32 src_qp;		/* source QP(24) reserved(8) */
};
_Static_assert(sizeof(struct falcon_rdma_deth) == 8, "RDMA 8.3.10: 2 words");

/* Which headers follow the RBTH, in this order. */
enum falcon_rdma_eth {
	FALCON_RDMA_HAS_XRCETH = 0x001,
	FALCON_RDMA_HAS_DETH = 0x002,
	FALCON_RDMA_HAS_RETH = 0x004,
	FALCON_RDMA_HAS_ATOMICETH = 0x008,
	FALCON_RDMA_HAS_ATOMICACKETH = 0x010,
	FALCON_RDMA_HAS_SETH = 0x020,
	FALCON_RDMA_HAS_OETH = 0x040,
	FALCON_RDMA_HAS_STETH = 0x080,
	FALCON_RDMA_HAS_IMMDT = 0x100,
	FALCON_RDMA_HAS_IETH = 0x200,
	FALCON_RDMA_KNOWN = 0x400,	/* the opcode is not reserved */
};

/* The headers of a packet, in host order; those that it does not have mean nothing. */
struct falcon_rdma_hdr {
	__u8 opcode;		/* enum falcon_rdma_transport | enum falcon_rdma_opcode */
	__u8 ce;		/* the message completes in error */
	__u8 pad;		/* bytes at the end, 0..3 */
	__u8 reason;		/* 4 bits; extension: enum falcon_rdma_nak of a response with |ce| */
	__u8 se;		/* solicited event */
	__u8 room;		/* extension of responses: frames of requests are to be as long */
	__u32 dest_qp;		/* 24 bits */
	__u32 sn;
	__u32 xrc_srq;		/* XRCETH, 24 bits */
	__u32 qkey, src_qp;	/* DETH; |src_qp| 24 bits */
	__u64 va;		/* RETH, AtomicETH */
	__u32 rkey;		/* RETH, AtomicETH */
	__u32 length;		/* RETH: bytes of the operation from |va| on (README.md) */
	__u64 swap_add, compare;	/* AtomicETH */
	__u64 original;		/* AtomicAckETH */
	__u32 rmsn;		/* SETH */
	__u32 offset;		/* OETH: bytes into the message */
	__u64 sink_va;		/* STETH */
	__u32 sink_lkey;	/* STETH */
	__be32 imm;		/* ImmDt, as the application has given it */
	__u32 inv_rkey;		/* IETH */
};

/* RDMA 8.1.3 of RC: enum falcon_rdma_eth of opcode bits 4:0, 0 if they are reserved. */
FALCON_INLINE __u32 falcon_rdma_rc_headers(__u8 op)
{
	enum {
		SEND = FALCON_RDMA_KNOWN | FALCON_RDMA_HAS_SETH | FALCON_RDMA_HAS_OETH,
		WRITE = FALCON_RDMA_KNOWN | FALCON_RDMA_HAS_RETH,
		PULL = FALCON_RDMA_KNOWN | FALCON_RDMA_HAS_SETH | FALCON_RDMA_HAS_STETH,
		RESPONSE = FALCON_RDMA_KNOWN | FALCON_RDMA_HAS_STETH,
	};
	static const __u16 headers[] = {
		[FALCON_RDMA_SEND_FIRST] = SEND,
		[FALCON_RDMA_SEND_MIDDLE] = SEND,
		[FALCON_RDMA_SEND_LAST] = SEND,
		[FALCON_RDMA_SEND_LAST_IMM] = SEND | FALCON_RDMA_HAS_IMMDT,
		[FALCON_RDMA_SEND_ONLY] = SEND,
		[FALCON_RDMA_SEND_ONLY_IMM] = SEND | FALCON_RDMA_HAS_IMMDT,
		[FALCON_RDMA_WRITE_FIRST] = WRITE,
		[FALCON_RDMA_WRITE_MIDDLE] = WRITE,
		[FALCON_RDMA_WRITE_LAST] = WRITE,
		[FALCON_RDMA_WRITE_LAST_IMM] = WRITE | FALCON_RDMA_HAS_SETH | FALCON_RDMA_HAS_IMMDT,
		[FALCON_RDMA_WRITE_ONLY] = WRITE,
		[FALCON_RDMA_WRITE_ONLY_IMM] = WRITE | FALCON_RDMA_HAS_SETH | FALCON_RDMA_HAS_IMMDT,
		[FALCON_RDMA_READ_REQUEST] = PULL | FALCON_RDMA_HAS_RETH,
		[FALCON_RDMA_READ_RESPONSE_FIRST] = RESPONSE,
		[FALCON_RDMA_READ_RESPONSE_MIDDLE] = RESPONSE,
		[FALCON_RDMA_READ_RESPONSE_LAST] = RESPONSE,
		[FALCON_RDMA_READ_RESPONSE_ONLY] = RESPONSE,
		[FALCON_RDMA_ATOMIC_RESPONSE] = RESPONSE | FALCON_RDMA_HAS_ATOMICACKETH,
		[FALCON_RDMA_CMP_SWAP] = PULL | FALCON_RDMA_HAS_ATOMICETH,
		[FALCON_RDMA_FETCH_ADD] = PULL | FALCON_RDMA_HAS_ATOMICETH,
		[FALCON_RDMA_SEND_LAST_INV] = SEND | FALCON_RDMA_HAS_IETH,
		[FALCON_RDMA_SEND_ONLY_INV] = SEND | FALCON_RDMA_HAS_IETH,
		[FALCON_RDMA_OPCODE_MASK] = 0,
	};

	return headers[op & FALCON_RDMA_OPCODE_MASK];
}

/* Pull Data carries it, not a request. */
FALCON_INLINE bool falcon_rdma_is_response(__u8 opcode)
{
	__u8 op = opcode & FALCON_RDMA_OPCODE_MASK;

	return op >= FALCON_RDMA_READ_RESPONSE_FIRST && op <= FALCON_RDMA_ATOMIC_RESPONSE;
}

/* A Pull Request carries it. */
FALCON_INLINE bool falcon_rdma_is_pull(__u8 opcode)
{
	__u8 op = opcode & FALCON_RDMA_OPCODE_MASK;

	return op == FALCON_RDMA_READ_REQUEST || op == FALCON_RDMA_CMP_SWAP ||
	       op == FALCON_RDMA_FETCH_ADD;
}

/* RDMA 8.1.3: enum falcon_rdma_eth of a packet with |opcode|, 0 if that is reserved. */
FALCON_INLINE __u32 falcon_rdma_headers(__u8 opcode)
{
	__u8 op = opcode & FALCON_RDMA_OPCODE_MASK;
	__u32 rc = falcon_rdma_rc_headers(op);

	switch (opcode & FALCON_RDMA_TRANSPORT_MASK) {
	case FALCON_RDMA_RC:
		return rc;
	case FALCON_RDMA_XRC:
		return rc && !falcon_rdma_is_response(op) ? rc | FALCON_RDMA_HAS_XRCETH : rc;
	case FALCON_RDMA_UD:
		if (op == FALCON_RDMA_SEND_ONLY)
			return FALCON_RDMA_KNOWN | FALCON_RDMA_HAS_DETH;
		if (op == FALCON_RDMA_SEND_ONLY_IMM)
			return FALCON_RDMA_KNOWN | FALCON_RDMA_HAS_DETH | FALCON_RDMA_HAS_IMMDT;
		return 0;
	default:
		return 0;
	}
}

/* Bytes of RBTH and |headers| (enum falcon_rdma_eth). */
FALCON_INLINE __u32 falcon_rdma_hdr_len(__u32 headers)
{
	return (__u32)sizeof(struct falcon_rdma_rbth) +
	       (headers & FALCON_RDMA_HAS_XRCETH ? (__u32)sizeof(struct falcon_rdma_xrceth) : 0) +
	       (headers & FALCON_RDMA_HAS_DETH ? (__u32)sizeof(struct falcon_rdma_deth) : 0) +
	       (headers & FALCON_RDMA_HAS_RETH ? (__u32)sizeof(struct falcon_rdma_reth) : 0) +
	       (headers & FALCON_RDMA_HAS_ATOMICETH ?
			(__u32)sizeof(struct falcon_rdma_atomiceth) : 0) +
	       (headers & FALCON_RDMA_HAS_ATOMICACKETH ?
			(__u32)sizeof(struct falcon_rdma_atomicacketh) : 0) +
	       (headers & FALCON_RDMA_HAS_SETH ? (__u32)sizeof(struct falcon_rdma_seth) : 0) +
	       (headers & FALCON_RDMA_HAS_OETH ? (__u32)sizeof(struct falcon_rdma_oeth) : 0) +
	       (headers & FALCON_RDMA_HAS_STETH ? (__u32)sizeof(struct falcon_rdma_steth) : 0) +
	       (headers & FALCON_RDMA_HAS_IMMDT ? (__u32)sizeof(struct falcon_rdma_immdt) : 0) +
	       (headers & FALCON_RDMA_HAS_IETH ? (__u32)sizeof(struct falcon_rdma_ieth) : 0);
}

/* Bytes of padding behind |len| bytes of payload: headers are whole words (RDMA 8.2). */
FALCON_INLINE __u32 falcon_rdma_pad(__u32 len)
{
	return -len % FALCON_RDMA_PAD_UNIT;
}

/* Append a word, or two for 64 bits. */
FALCON_INLINE __u8 *falcon_rdma_put32(__u8 *at, __u32 v)
{
	__be32 w = falcon_hton32(v);

	__builtin_memcpy(at, &w, sizeof(w));
	return at + sizeof(w);
}

FALCON_INLINE __u8 *falcon_rdma_put64(__u8 *at, __u64 v)
{
	__be64 w = falcon_hton64(v);

	__builtin_memcpy(at, &w, sizeof(w));
	return at + sizeof(w);
}

FALCON_INLINE const __u8 *falcon_rdma_get32(const __u8 *at, __u32 *v)
{
	__be32 w;

	__builtin_memcpy(&w, at, sizeof(w));
	*v = falcon_ntoh32(w);
	return at + sizeof(w);
}

FALCON_INLINE const __u8 *falcon_rdma_get64(const __u8 *at, __u64 *v)
{
	__be64 w;

	__builtin_memcpy(&w, at, sizeof(w));
	*v = falcon_ntoh64(w);
	return at + sizeof(w);
}

/*
 * Write the headers of |h| to |out|, which has room for FALCON_RDMA_MAX_HDR bytes. Returns their
 * length, 0 if the opcode is reserved.
 */
FALCON_INLINE __u32 falcon_rdma_pack(const struct falcon_rdma_hdr *h, void *out)
{
	__u32 has = falcon_rdma_headers(h->opcode);
	__u8 *p = (__u8 *)out;

	if (!has)
		return 0;
	p = falcon_rdma_put32(p, (__u32)FALCON_RDMA_VERSION << 28 | (__u32)(h->room & 1) << 17 |
					 (__u32)(h->reason & 15) << 13 | (__u32)(h->ce & 1) << 12 |
					 (__u32)(h->pad & 3) << 10 | (__u32)(h->se & 1) << 8 |
					 h->opcode);
	p = falcon_rdma_put32(p, h->dest_qp << 8);
	p = falcon_rdma_put32(p, h->sn);
	if (has & FALCON_RDMA_HAS_XRCETH)
		p = falcon_rdma_put32(p, h->xrc_srq << 8);
	if (has & FALCON_RDMA_HAS_DETH)
		p = falcon_rdma_put32(falcon_rdma_put32(p, h->qkey), h->src_qp << 8);
	if (has & (FALCON_RDMA_HAS_RETH | FALCON_RDMA_HAS_ATOMICETH))
		p = falcon_rdma_put32(falcon_rdma_put64(p, h->va), h->rkey);
	if (has & FALCON_RDMA_HAS_RETH)
		p = falcon_rdma_put32(p, h->length);
	if (has & FALCON_RDMA_HAS_ATOMICETH)
		p = falcon_rdma_put64(falcon_rdma_put64(p, h->swap_add), h->compare);
	if (has & FALCON_RDMA_HAS_ATOMICACKETH)
		p = falcon_rdma_put64(p, h->original);
	if (has & FALCON_RDMA_HAS_SETH)
		p = falcon_rdma_put32(p, h->rmsn);
	if (has & FALCON_RDMA_HAS_OETH)
		p = falcon_rdma_put32(p, h->offset);
	if (has & FALCON_RDMA_HAS_STETH)
		p = falcon_rdma_put32(falcon_rdma_put64(p, h->sink_va), h->sink_lkey);
	if (has & FALCON_RDMA_HAS_IMMDT) {
		__builtin_memcpy(p, &h->imm, sizeof(h->imm));
		p += sizeof(h->imm);
	}
	if (has & FALCON_RDMA_HAS_IETH)
		p = falcon_rdma_put32(p, h->inv_rkey);
	return (__u32)(p - (__u8 *)out);
}

/*
 * Read the headers of a packet of |len| bytes. Returns their length, or 0: too short for the opcode,
 * that is reserved, another version, or more padding than there are bytes after the headers.
 */
FALCON_INLINE __u32 falcon_rdma_unpack(const void *packet, __u32 len, struct falcon_rdma_hdr *h)
{
	const __u8 *p = (const __u8 *)packet;
	__u32 word0, has, hdr_len;

	if (len < sizeof(struct falcon_rdma_rbth))
		return 0;
	p = falcon_rdma_get32(p, &word0);
	h->opcode = (__u8)word0;
	h->room = (word0 >> 17) & 1;
	h->reason = (word0 >> 13) & 15;
	h->ce = (word0 >> 12) & 1;
	h->pad = (word0 >> 10) & 3;
	h->se = (word0 >> 8) & 1;
	has = falcon_rdma_headers(h->opcode);
	hdr_len = falcon_rdma_hdr_len(has);
	if (word0 >> 28 != FALCON_RDMA_VERSION || !has || len < hdr_len + h->pad)
		return 0;
	p = falcon_rdma_get32(p, &h->dest_qp);
	h->dest_qp >>= 8;
	p = falcon_rdma_get32(p, &h->sn);
	if (has & FALCON_RDMA_HAS_XRCETH) {
		p = falcon_rdma_get32(p, &h->xrc_srq);
		h->xrc_srq >>= 8;
	}
	if (has & FALCON_RDMA_HAS_DETH) {
		p = falcon_rdma_get32(falcon_rdma_get32(p, &h->qkey), &h->src_qp);
		h->src_qp >>= 8;
	}
	if (has & (FALCON_RDMA_HAS_RETH | FALCON_RDMA_HAS_ATOMICETH))
		p = falcon_rdma_get32(falcon_rdma_get64(p, &h->va), &h->rkey);
	if (has & FALCON_RDMA_HAS_RETH)
		p = falcon_rdma_get32(p, &h->length);
	if (has & FALCON_RDMA_HAS_ATOMICETH)
		p = falcon_rdma_get64(falcon_rdma_get64(p, &h->swap_add), &h->compare);
	if (has & FALCON_RDMA_HAS_ATOMICACKETH)
		p = falcon_rdma_get64(p, &h->original);
	if (has & FALCON_RDMA_HAS_SETH)
		p = falcon_rdma_get32(p, &h->rmsn);
	if (has & FALCON_RDMA_HAS_OETH)
		p = falcon_rdma_get32(p, &h->offset);
	if (has & FALCON_RDMA_HAS_STETH)
		p = falcon_rdma_get32(falcon_rdma_get64(p, &h->sink_va), &h->sink_lkey);
	if (has & FALCON_RDMA_HAS_IMMDT) {
		__builtin_memcpy(&h->imm, p, sizeof(h->imm));
		p += sizeof(h->imm);
	}
	if (has & FALCON_RDMA_HAS_IETH)
		p = falcon_rdma_get32(p, &h->inv_rkey);
	return (__u32)(p - (const __u8 *)packet);
}

#endif /* FALCON_RDMA_H */
