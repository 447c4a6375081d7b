/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of the handshake between agents; PROTOCOL.md has the layouts. Pack, unpack, validate;
 * no state and no I/O. If you add a message, edit cm_wire.c's tables and PROTOCOL.md too.
 */
#ifndef FALCON_AGENT_CM_WIRE_H
#define FALCON_AGENT_CM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cm.h"

enum cm_wire_const {
	CM_WIRE_VERSION = 1,
	CM_WIRE_MAGIC = 0x46434d48,	/* "FCMH" */
	CM_WIRE_HEADER = 4,		/* bytes: length(2) version(1) type(1) */
	CM_WIRE_MAX = 256,		/* bytes of the longest message */
	CM_WIRE_TEXT_MAX = 159,		/* bytes of a text, without a final 0 */
};

enum cm_msg_type {
	CM_MSG_HELLO = 1,	/* first on a session, once each way */
	CM_MSG_OPEN = 2,	/* what the sender brings into an incarnation */
	CM_MSG_READY = 3,	/* the sender receives on this pair of incarnations */
	CM_MSG_CLOSE = 4,	/* the sender's incarnation is over */
	CM_MSG_REJECT = 5,	/* the receiver's OPEN is refused */
};

enum cm_ordering {
	CM_UNORDERED = 0,
	CM_ORDERED = 1,
};

enum cm_security {
	CM_SECURITY_CLEAR = 0,	/* PSP version 15 */
};

enum cm_code {
	CM_CODE_REMOVED = 1,		/* CLOSE: connection or agent goes away */
	CM_CODE_RESET = 2,		/* CLOSE: starts over */
	CM_CODE_UNKNOWN_CID = 3,	/* REJECT: no connection of these two hosts has that CID */
	CM_CODE_CID_MISMATCH = 4,	/* REJECT: the CID belongs with another remote CID */
	CM_CODE_ORDERING = 5,		/* REJECT: ordered against unordered */
	CM_CODE_SECURITY = 6,		/* REJECT: another security than configured */
	CM_CODE_FAILED = 7,		/* REJECT: setting it up failed; it is tried again */
	CM_CODE_MAX = CM_CODE_FAILED,
};

struct cm_msg {
	enum cm_msg_type type;
	/* All but HELLO: */
	uint32_t src_cid;		/* the sender's CID, 24 bits, not 0 */
	uint32_t dst_cid;		/* the receiver's CID, 24 bits, not 0 */
	/* The sender's, in a REJECT that of the refused OPEN; not 0. */
	uint64_t incarnation;
	uint64_t peer_incarnation;	/* READY: the receiver's, not 0 */
	/* OPEN */
	uint8_t ordering;		/* enum cm_ordering */
	uint8_t security;		/* enum cm_security */
	uint32_t spi;			/* not 0 */
	uint32_t data_psn;
	uint32_t req_psn;
	uint32_t rsn;
	uint32_t mtu;			/* 0: not known */
	/* CLOSE, REJECT */
	uint8_t code;			/* enum cm_code */
	char text[CM_WIRE_TEXT_MAX + 1];	/* printable ASCII */
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

#endif /* FALCON_AGENT_CM_WIRE_H */
