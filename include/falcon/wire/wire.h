/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every packet of Falcon section 7: layout, pack, unpack, validate.
 *
 * The structs are the wire, in network byte order; sub-byte fields go through the accessors below.
 * The specification numbers bit 0 as the most significant of a word. Where its text and figures
 * disagree, README.md in this directory says what was chosen.
 */
#ifndef FALCON_WIRE_H
#define FALCON_WIRE_H

#include "../codes.h"
#include "../types.h"
#include "psp.h"

enum falcon_wire_const {
	FALCON_VERSION = 1,
	FALCON_CID_MASK = 0xffffff,		/* 24 bits */
	FALCON_FUNCTION_MASK = 0xffffff,	/* 24 bits */
	FALCON_REQ_WINDOW = 64,			/* receiver request window, packets (Falcon 9) */
	FALCON_DATA_WINDOW = 128,		/* receiver data window, packets (Falcon 9) */
	FALCON_MAX_HDR_LEN = 72,		/* EACK, the longest Falcon header */
	FALCON_MAX_REQUEST_LEN = 0xffff,	/* Request Length is 16 bits */
};

/* Falcon 7.2. The first two words are common to all packets, ACK and NACK too. */
struct falcon_base_hdr {
	__be32 ver_cid;		/* version(4) reserved(4) destination CID(24) */
	__be32 func_type;	/* destination function(24) protocol(3) packet type(4) AR(1) */
	__be32 rdbpsn;		/* Receiver Data Window Base PSN */
	__be32 rrbpsn;		/* Receiver Request Window Base PSN */
	__be32 psn;		/* Packet Sequence Number */
	__be32 rsn;		/* Request Sequence Number */
};
_Static_assert(sizeof(struct falcon_base_hdr) == 24, "Falcon 7.2: 192 bits");

/* Falcon 7.3. The ULP's header follows. */
struct falcon_pull_req_hdr {
	struct falcon_base_hdr base;
	__be16 reserved;
	__be16 request_len;	/* bytes the pull data payload will have */
	__be32 reserved2;
};
_Static_assert(sizeof(struct falcon_pull_req_hdr) == 32, "Falcon 7.3");

/* Falcon 7.4 is the base header and payload. Falcon 7.5: */
struct falcon_push_hdr {
	struct falcon_base_hdr base;
	__be16 reserved;
	__be16 request_len;	/* bytes of payload in this packet */
};
_Static_assert(sizeof(struct falcon_push_hdr) == 28, "Falcon 7.5");

/* Falcon 7.6 */
struct falcon_resync_hdr {
	struct falcon_base_hdr base;
	__u8 code;		/* enum falcon_resync_code */
	__u8 type;		/* high 4 bits: packet type of the packet it replaces */
	__be16 reserved;
	__be32 vendor;
};
_Static_assert(sizeof(struct falcon_resync_hdr) == 32, "Falcon 7.6");

/* Falcon 7.7.1 */
struct falcon_back_hdr {
	__be32 ver_cid;		/* version(4) reserved(4) connection ID(24) */
	__be32 type;		/* reserved(27) packet type(4) reserved(1) */
	__be32 rdbpsn;
	__be32 rrbpsn;
	__be32 t1;		/* units of 131.072 ns */
	__be32 t2;
	__be32 cc_hi;		/* hop count(4) buffer occupancy(5) ECN count(14) reserved(9) */
	__be32 cc_lo;		/* reserved(8) RUE info(22) OWN(2) */
};
_Static_assert(sizeof(struct falcon_back_hdr) == 32, "Falcon 7.7.1: 256 bits");

/* Falcon 7.7.2. Word 0 of an array here holds bits 31:0, though it is sent last. */
struct falcon_eack_hdr {
	struct falcon_back_hdr back;
	__be32 data_ack[4];	/* wire order: bits 127:96 first */
	__be32 data_rx[4];
	__be32 req[2];
};
_Static_assert(sizeof(struct falcon_eack_hdr) == 72, "Falcon 7.7.2");

/* Falcon 7.8 */
struct falcon_nack_hdr {
	__be32 ver_cid;
	__be32 type;
	__be32 rdbpsn;
	__be32 rrbpsn;
	__be32 t1;
	__be32 t2;
	__be32 cc_hi;
	__be32 cc_lo;		/* reserved(8) RUE info(24) */
	__be32 psn;		/* the packet being NACKed */
	__u8 code;		/* enum falcon_nack_code */
	__u8 rnr;		/* reserved(3) RNR NACK timeout(5) */
	__u8 window;		/* W(1) reserved(7); W set: request window */
	__u8 ulp_code;
};
_Static_assert(sizeof(struct falcon_nack_hdr) == 40, "Falcon 7.8");

/* Bits of the OWN field (Falcon 7.7.1): "Bit 0 is for the Request Window" */
enum falcon_own {
	FALCON_OWN_REQ = 0x1,
	FALCON_OWN_DATA = 0x2,
};

/* A reliable packet's header in host order: types Pull Request, Pull Data, Push Data, Resync. */
struct falcon_hdr {
	__u32 cid;		/* destination CID, 24 bits */
	__u32 function;		/* destination function, 24 bits */
	__u8 proto;		/* enum falcon_protocol_type, 3 bits */
	__u8 type;		/* enum falcon_packet_type */
	__u8 ar;		/* Ack Req */
	__u8 resync_code;	/* Resync only */
	__u8 resync_type;	/* Resync only: type of the packet it replaces */
	__u16 request_len;	/* Pull Request and Push Data only, bytes */
	__u32 rdbpsn;
	__u32 rrbpsn;
	__u32 psn;
	__u32 rsn;
	__u32 vendor;		/* Resync only */
};

/* A BACK, EACK or NACK in host order. */
struct falcon_ack {
	__u32 cid;
	__u8 type;		/* FALCON_BACK, FALCON_EACK or FALCON_NACK */
	__u8 hops;		/* forward path hop count, 4 bits */
	__u8 buffer_level;	/* quantized receive buffer occupancy, 5 bits */
	__u8 own;		/* enum falcon_own; BACK and EACK */
	__u32 rdbpsn;
	__u32 rrbpsn;
	__u32 t1;		/* units of 131.072 ns */
	__u32 t2;
	__u32 ecn;		/* ECN-marked packets received, 14 bits, cumulative */
	__u32 rue_info;		/* 22 bits in BACK and EACK, 24 in NACK */
	/* EACK; word 0 is bits 31:0, bit n is the PSN base + n */
	__u32 data_ack[4];
	__u32 data_rx[4];
	__u32 req[2];
	/* NACK */
	__u32 nack_psn;
	__u8 nack_code;		/* enum falcon_nack_code */
	__u8 rnr;		/* RNR timeout code, 5 bits */
	__u8 nack_req_window;	/* 1: nack_psn is of the request window */
	__u8 ulp_code;
};

/* Packet type out of the second word, which all packets share. */
FALCON_INLINE __u8 falcon_wire_type(__be32 word1)
{
	return (falcon_ntoh32(word1) >> 1) & 0xf;
}

FALCON_INLINE __u8 falcon_wire_version(__be32 word0)
{
	return falcon_ntoh32(word0) >> 28;
}

FALCON_INLINE __u32 falcon_wire_cid(__be32 word0)
{
	return falcon_ntoh32(word0) & FALCON_CID_MASK;
}

/* Header length in bytes of packet type |type|; 0 if the type is reserved. */
FALCON_INLINE __u32 falcon_hdr_len(__u8 type)
{
	switch (type) {
	case FALCON_PULL_REQUEST: return sizeof(struct falcon_pull_req_hdr);
	case FALCON_PULL_DATA: return sizeof(struct falcon_base_hdr);
	case FALCON_PUSH_DATA: return sizeof(struct falcon_push_hdr);
	case FALCON_RESYNC: return sizeof(struct falcon_resync_hdr);
	case FALCON_NACK: return sizeof(struct falcon_nack_hdr);
	case FALCON_BACK: return sizeof(struct falcon_back_hdr);
	case FALCON_EACK: return sizeof(struct falcon_eack_hdr);
	default: return 0;
	}
}

FALCON_INLINE bool falcon_type_is_ack(__u8 type)
{
	return type == FALCON_BACK || type == FALCON_EACK || type == FALCON_NACK;
}

/* Pull Requests alone use the request window (Falcon 9); a Resync that of what it replaces. */
FALCON_INLINE bool falcon_in_req_window(__u8 type, __u8 resync_type)
{
	return type == FALCON_PULL_REQUEST ||
	       (type == FALCON_RESYNC && resync_type == FALCON_PULL_REQUEST);
}

FALCON_INLINE void falcon_base_pack(const struct falcon_hdr *h, struct falcon_base_hdr *w)
{
	w->ver_cid = falcon_hton32((__u32)FALCON_VERSION << 28 | (h->cid & FALCON_CID_MASK));
	w->func_type = falcon_hton32((h->function & FALCON_FUNCTION_MASK) << 8 |
				     (__u32)(h->proto & 7) << 5 | (__u32)(h->type & 0xf) << 1 |
				     (h->ar & 1));
	w->rdbpsn = falcon_hton32(h->rdbpsn);
	w->rrbpsn = falcon_hton32(h->rrbpsn);
	w->psn = falcon_hton32(h->psn);
	w->rsn = falcon_hton32(h->rsn);
}

/*
 * Write the header of a reliable packet to |out|, which has room for FALCON_MAX_HDR_LEN bytes.
 * Returns its length, 0 if the type is not one of Falcon 7.3 to 7.6.
 */
FALCON_INLINE __u32 falcon_hdr_pack(const struct falcon_hdr *h, void *out)
{
	falcon_base_pack(h, out);
	switch (h->type) {
	case FALCON_PULL_DATA:
		return sizeof(struct falcon_base_hdr);
	case FALCON_PULL_REQUEST: {
		struct falcon_pull_req_hdr *w = out;

		w->reserved = 0;
		w->request_len = falcon_hton16(h->request_len);
		w->reserved2 = 0;
		return sizeof(*w);
	}
	case FALCON_PUSH_DATA: {
		struct falcon_push_hdr *w = out;

		w->reserved = 0;
		w->request_len = falcon_hton16(h->request_len);
		return sizeof(*w);
	}
	case FALCON_RESYNC: {
		struct falcon_resync_hdr *w = out;

		w->code = h->resync_code;
		w->type = (__u8)(h->resync_type << 4);
		w->reserved = 0;
		w->vendor = falcon_hton32(h->vendor);
		return sizeof(*w);
	}
	default:
		return 0;
	}
}

FALCON_INLINE void falcon_base_unpack(const struct falcon_base_hdr *w, struct falcon_hdr *h)
{
	__u32 word1 = falcon_ntoh32(w->func_type);

	h->cid = falcon_wire_cid(w->ver_cid);
	h->function = word1 >> 8;
	h->proto = (word1 >> 5) & 7;
	h->type = (word1 >> 1) & 0xf;
	h->ar = word1 & 1;
	h->rdbpsn = falcon_ntoh32(w->rdbpsn);
	h->rrbpsn = falcon_ntoh32(w->rrbpsn);
	h->psn = falcon_ntoh32(w->psn);
	h->rsn = falcon_ntoh32(w->rsn);
	h->resync_code = 0;
	h->resync_type = 0;
	h->request_len = 0;
	h->vendor = 0;
}

/* Fill the first eight words, the same in BACK, EACK and NACK but for the end of word 7. */
FALCON_INLINE void falcon_back_pack(const struct falcon_ack *a, struct falcon_back_hdr *w)
{
	w->ver_cid = falcon_hton32((__u32)FALCON_VERSION << 28 | (a->cid & FALCON_CID_MASK));
	w->type = falcon_hton32((__u32)(a->type & 0xf) << 1);
	w->rdbpsn = falcon_hton32(a->rdbpsn);
	w->rrbpsn = falcon_hton32(a->rrbpsn);
	w->t1 = falcon_hton32(a->t1);
	w->t2 = falcon_hton32(a->t2);
	w->cc_hi = falcon_hton32((__u32)(a->hops & 0xf) << 28 |
				 (__u32)(a->buffer_level & 0x1f) << 23 | (a->ecn & 0x3fff) << 9);
	if (a->type == FALCON_NACK)
		w->cc_lo = falcon_hton32(a->rue_info & 0xffffff);
	else
		w->cc_lo = falcon_hton32((a->rue_info & 0x3fffff) << 2 | (a->own & 3));
}

FALCON_INLINE void falcon_back_unpack(const struct falcon_back_hdr *w, struct falcon_ack *a)
{
	__u32 hi = falcon_ntoh32(w->cc_hi), lo = falcon_ntoh32(w->cc_lo);

	a->cid = falcon_wire_cid(w->ver_cid);
	a->type = falcon_wire_type(w->type);
	a->rdbpsn = falcon_ntoh32(w->rdbpsn);
	a->rrbpsn = falcon_ntoh32(w->rrbpsn);
	a->t1 = falcon_ntoh32(w->t1);
	a->t2 = falcon_ntoh32(w->t2);
	a->hops = hi >> 28;
	a->buffer_level = (hi >> 23) & 0x1f;
	a->ecn = (hi >> 9) & 0x3fff;
	if (a->type == FALCON_NACK) {
		a->rue_info = lo & 0xffffff;
		a->own = 0;
	} else {
		a->rue_info = (lo >> 2) & 0x3fffff;
		a->own = lo & 3;
	}
}

FALCON_INLINE void falcon_eack_pack(const struct falcon_ack *a, struct falcon_eack_hdr *w)
{
	falcon_back_pack(a, &w->back);
	for (int i = 0; i < 4; i++) {
		w->data_ack[i] = falcon_hton32(a->data_ack[3 - i]);
		w->data_rx[i] = falcon_hton32(a->data_rx[3 - i]);
	}
	w->req[0] = falcon_hton32(a->req[1]);
	w->req[1] = falcon_hton32(a->req[0]);
}

FALCON_INLINE void falcon_eack_unpack(const struct falcon_eack_hdr *w, struct falcon_ack *a)
{
	falcon_back_unpack(&w->back, a);
	for (int i = 0; i < 4; i++) {
		a->data_ack[i] = falcon_ntoh32(w->data_ack[3 - i]);
		a->data_rx[i] = falcon_ntoh32(w->data_rx[3 - i]);
	}
	a->req[0] = falcon_ntoh32(w->req[1]);
	a->req[1] = falcon_ntoh32(w->req[0]);
}

FALCON_INLINE void falcon_nack_pack(const struct falcon_ack *a, struct falcon_nack_hdr *w)
{
	falcon_back_pack(a, (struct falcon_back_hdr *)w);
	w->psn = falcon_hton32(a->nack_psn);
	w->code = a->nack_code;
	w->rnr = a->rnr & 0x1f;
	w->window = a->nack_req_window ? 0x80 : 0;
	w->ulp_code = a->ulp_code;
}

FALCON_INLINE void falcon_nack_unpack(const struct falcon_nack_hdr *w, struct falcon_ack *a)
{
	falcon_back_unpack((const struct falcon_back_hdr *)w, a);
	a->nack_psn = falcon_ntoh32(w->psn);
	a->nack_code = w->code;
	a->rnr = w->rnr & 0x1f;
	a->nack_req_window = w->window >> 7;
	a->ulp_code = w->ulp_code;
}

/*
 * Write a BACK, EACK or NACK to |out|, which has room for FALCON_MAX_HDR_LEN bytes.
 * Returns its length, 0 if |a->type| is none of the three.
 */
FALCON_INLINE __u32 falcon_ack_pack(const struct falcon_ack *a, void *out)
{
	switch (a->type) {
	case FALCON_BACK:
		falcon_back_pack(a, out);
		return sizeof(struct falcon_back_hdr);
	case FALCON_EACK:
		falcon_eack_pack(a, out);
		return sizeof(struct falcon_eack_hdr);
	case FALCON_NACK:
		falcon_nack_pack(a, out);
		return sizeof(struct falcon_nack_hdr);
	default:
		return 0;
	}
}

/* Why a header was refused; each has its counter (see maps.h). */
enum falcon_wire_error {
	FALCON_WIRE_OK = 0,
	FALCON_WIRE_TRUNCATED = -1,	/* fewer bytes than its type's header, or than announced */
	FALCON_WIRE_VERSION = -2,	/* version is not 1 */
	FALCON_WIRE_TYPE = -3,		/* reserved packet type */
	FALCON_WIRE_LENGTH = -4,	/* Request Length contradicts the payload, or bytes too many */
	FALCON_WIRE_CODE = -5,		/* reserved Resync or NACK code, or reserved replaced type */
};

FALCON_INLINE int falcon_resync_unpack(const struct falcon_resync_hdr *w, struct falcon_hdr *h)
{
	h->resync_code = w->code;
	h->resync_type = w->type >> 4;
	h->vendor = falcon_ntoh32(w->vendor);
	if (h->resync_code == 0 || h->resync_code > FALCON_RESYNC_MAX)
		return FALCON_WIRE_CODE;
	if (h->resync_type != FALCON_PULL_REQUEST && h->resync_type != FALCON_PULL_DATA &&
	    h->resync_type != FALCON_PUSH_DATA)
		return FALCON_WIRE_CODE;
	return FALCON_WIRE_OK;
}

/*
 * Read and validate the header of a reliable packet. |data| to |end| is the Falcon packet without
 * ICV and without link padding; a Resync fills it exactly. Fills |h| and returns FALCON_WIRE_OK, or
 * an enum falcon_wire_error. The bounds checks are written the way the BPF verifier follows them.
 */
FALCON_INLINE int falcon_hdr_unpack(const void *data, const void *end, struct falcon_hdr *h)
{
	const struct falcon_base_hdr *b = data;

	if ((const void *)(b + 1) > end)
		return FALCON_WIRE_TRUNCATED;
	if (falcon_wire_version(b->ver_cid) != FALCON_VERSION)
		return FALCON_WIRE_VERSION;
	falcon_base_unpack(b, h);
	switch (h->type) {
	case FALCON_PULL_DATA:
		return FALCON_WIRE_OK;
	case FALCON_PULL_REQUEST: {
		const struct falcon_pull_req_hdr *w = data;

		if ((const void *)(w + 1) > end)
			return FALCON_WIRE_TRUNCATED;
		h->request_len = falcon_ntoh16(w->request_len);
		return FALCON_WIRE_OK;
	}
	case FALCON_PUSH_DATA: {
		const struct falcon_push_hdr *w = data;

		if ((const void *)(w + 1) > end)
			return FALCON_WIRE_TRUNCATED;
		h->request_len = falcon_ntoh16(w->request_len);
		if (h->request_len != (const char *)end - (const char *)(w + 1))
			return FALCON_WIRE_LENGTH;
		return FALCON_WIRE_OK;
	}
	case FALCON_RESYNC: {
		const struct falcon_resync_hdr *w = data;

		if ((const void *)(w + 1) > end)
			return FALCON_WIRE_TRUNCATED;
		if ((const void *)(w + 1) != end)
			return FALCON_WIRE_LENGTH;
		return falcon_resync_unpack(w, h);
	}
	default:
		return FALCON_WIRE_TYPE;
	}
}

FALCON_INLINE bool falcon_nack_code_valid(__u8 code)
{
	return code == FALCON_NACK_RESOURCE || code == FALCON_NACK_RNR ||
	       code == FALCON_NACK_XLR_DROP || code == FALCON_NACK_CIE ||
	       code == FALCON_NACK_NRE || code == FALCON_NACK_INVALID_CID;
}

/*
 * Read and validate a BACK, EACK or NACK, which fill their packet exactly. Fills |a| (the bitmaps
 * with zeros for a BACK) and returns FALCON_WIRE_OK, or an enum falcon_wire_error.
 */
FALCON_INLINE int falcon_ack_unpack(const void *data, const void *end, struct falcon_ack *a)
{
	const struct falcon_back_hdr *b = data;

	if ((const void *)(b + 1) > end)
		return FALCON_WIRE_TRUNCATED;
	if (falcon_wire_version(b->ver_cid) != FALCON_VERSION)
		return FALCON_WIRE_VERSION;
	__builtin_memset(a, 0, sizeof(*a));
	switch (falcon_wire_type(b->type)) {
	case FALCON_BACK:
		if ((const void *)(b + 1) != end)
			return FALCON_WIRE_LENGTH;
		falcon_back_unpack(b, a);
		return FALCON_WIRE_OK;
	case FALCON_EACK: {
		const struct falcon_eack_hdr *w = data;

		if ((const void *)(w + 1) > end)
			return FALCON_WIRE_TRUNCATED;
		if ((const void *)(w + 1) != end)
			return FALCON_WIRE_LENGTH;
		falcon_eack_unpack(w, a);
		return FALCON_WIRE_OK;
	}
	case FALCON_NACK: {
		const struct falcon_nack_hdr *w = data;

		if ((const void *)(w + 1) > end)
			return FALCON_WIRE_TRUNCATED;
		if ((const void *)(w + 1) != end)
			return FALCON_WIRE_LENGTH;
		falcon_nack_unpack(w, a);
		return falcon_nack_code_valid(a->nack_code) ? FALCON_WIRE_OK : FALCON_WIRE_CODE;
	}
	default:
		return FALCON_WIRE_TYPE;
	}
}

#endif /* FALCON_WIRE_H */
