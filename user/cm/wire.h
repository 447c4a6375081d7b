/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of the control protocol between agents; PROTOCOL.md has the layouts. Pack, unpack,
 * validate; no state and no I/O. If you add a message, edit wire.c's tables and PROTOCOL.md too.
 */
#ifndef FALCON_CM_WIRE_H
#define FALCON_CM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cm/cm.h"

enum cm_wire_const {
	CM_WIRE_VERSION = 4,
	CM_WIRE_MAGIC = 0x46434d48,	/* "FCMH" */
	CM_WIRE_HEADER = 4,		/* bytes: length(2) version(1) type(1) */
	CM_WIRE_MAX = 512,		/* bytes of the longest message, a NOTE */
	CM_WIRE_TEXT_MAX = 159,		/* bytes of a text, without a final 0 */
	CM_WIRE_HELLO_LEN = 20,		/* bytes of a HELLO */
};

enum cm_msg_type {
	CM_MSG_HELLO = 1,	/* first on a session, once each way */
	CM_MSG_OPEN = 2,	/* what the sender brings into an incarnation */
	CM_MSG_READY = 3,	/* the sender receives on this pair of incarnations */
	CM_MSG_CLOSE = 4,	/* the sender's incarnation is over */
	CM_MSG_REJECT = 5,	/* the receiver's OPEN or RESUME is refused */
	CM_MSG_REKEY = 6,	/* the sender receives with a new SPI and key */
	CM_MSG_REKEYED = 7,	/* the sender of this transmits with them */
	CM_MSG_RESUME = 8,	/* on a new session: the sender still holds this pair */
	CM_MSG_KEEPALIVE = 9,	/* the sender is there */
	CM_MSG_NOTE = 10,	/* from the sender's upper layer to the receiver's */
	CM_MSG_PATH = 11,	/* what the path from the sender to the receiver carries */
	CM_MSG_MAX = CM_MSG_PATH,
};

enum cm_ordering {
	CM_UNORDERED = 0,
	CM_ORDERED = 1,
};

enum cm_code {
	CM_CODE_REMOVED = 1,		/* CLOSE: connection or agent goes away */
	CM_CODE_RESET = 2,		/* CLOSE: starts over */
	CM_CODE_UNKNOWN_CID = 3,	/* REJECT: no connection of these two hosts has that CID */
	CM_CODE_CID_MISMATCH = 4,	/* REJECT: the CID belongs with another remote CID */
	CM_CODE_ORDERING = 5,		/* REJECT: ordered against unordered */
	CM_CODE_SECURITY = 6,		/* REJECT: another security than configured */
	CM_CODE_FAILED = 7,		/* REJECT: setting it up failed; it is tried again */
	CM_CODE_STALE = 8,		/* REJECT: RESUME of a pair that is not up here, late answer */
	CM_CODE_PEER = 9,		/* REJECT: the connection is for another peer's name */
	CM_CODE_POLICY = 10,		/* REJECT: the peer may not connect so */
	CM_CODE_ULP = 11,		/* REJECT: the connection is another upper layer's */
	CM_CODE_MAX = CM_CODE_ULP,
};

struct cm_msg {
	enum cm_msg_type type;
	/* HELLO */
	uint64_t boot;			/* of the sender's agent: random at its start, not 0 */
	uint32_t alive_ms;		/* the sender's silence after which it is lost, not 0 */
	/* All but HELLO, KEEPALIVE and NOTE: */
	uint32_t src_cid;		/* the sender's CID, 24 bits */
	/* The receiver's CID, 24 bits; 0: in an OPEN, choose one. REJECTs return the CIDs. */
	uint32_t dst_cid;
	/* The sender's, in a REJECT that of the refused OPEN or RESUME; not 0. */
	uint64_t incarnation;
	/* READY, RESUME, REKEY, REKEYED, PATH: the receiver's, not 0 */
	uint64_t peer_incarnation;
	/* OPEN */
	uint8_t ordering;		/* enum cm_ordering */
	uint8_t kind;			/* enum cm_security_kind */
	uint32_t data_psn;
	uint32_t req_psn;
	uint32_t rsn;
	uint32_t function;
	struct cm_params params;
	struct cm_ulp ulp;
	/* OPEN, REKEY; REKEYED: SPI and generation */
	struct cm_security security;
	/* PATH */
	struct cm_path path;
	/* CLOSE, REJECT */
	uint8_t code;			/* enum cm_code */
	char text[CM_WIRE_TEXT_MAX + 1];	/* printable ASCII */
	/* NOTE */
	uint8_t proto;			/* enum falcon_protocol_type: whose it is */
	uint16_t note_len;		/* bytes of |note| */
	uint8_t note[CM_NOTE_MAX];
};

/* Write |m| to |out|, which has room for CM_WIRE_MAX bytes. Returns its length. */
size_t cm_msg_pack(const struct cm_msg *m, uint8_t *out);

/*
 * Read the message at the start of |len| bytes. Returns its length, 0 if it is not complete yet, or
 * -1 if the bytes are no message of this version, in which case *|why| says what is wrong.
 */
int cm_msg_unpack(const uint8_t *in, size_t len, struct cm_msg *m, const char **why);

/* What |code| means, for people. */
const char *cm_code_text(uint8_t code);

#endif /* FALCON_CM_WIRE_H */
