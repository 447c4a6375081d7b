/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The raw upper layer's header, protocol type FALCON_PROTO_RAW: after the Falcon header of a Pull
 * Request, and at the start of every Push Data payload. Pull Data carries the bytes alone.
 * Numbers are in network byte order.
 *
 * A service is a 16-bit name that an application attached to its agent under. PUT and GET reach the
 * part of that application's arena that it opened for remote access, and are served by the agent
 * without waking it; SEND is a message into its receive ring.
 */
#ifndef FALCON_RAW_H
#define FALCON_RAW_H

#include "types.h"

enum falcon_raw_op {
	FALCON_RAW_PUT = 1,	/* push: payload goes to |offset| in the service's arena */
	FALCON_RAW_GET = 2,	/* pull: payload comes from |offset| in the service's arena */
	FALCON_RAW_SEND = 3,	/* push: payload is a message; |offset| is an opaque tag */
};

/*
 * Carried as the ULP NACK code of a Complete-in-Error (Falcon 8.5.3.5), except FALCON_RAW_SHORT: a
 * pull's complete-in-error is a response without bytes, in which a code has no place, so the
 * initiator's agent says that.
 */
enum falcon_raw_error {
	FALCON_RAW_OK = 0,
	FALCON_RAW_NO_SERVICE = 1,	/* nobody attached under that service */
	FALCON_RAW_NO_ACCESS = 2,	/* range not opened for this operation */
	FALCON_RAW_MALFORMED = 3,	/* header too short, operation unknown, message too long */
	FALCON_RAW_STUCK = 4,		/* the service has not taken a message for a long time */
	FALCON_RAW_SHORT = 5,		/* GET refused: no such service, or range not opened */
};

struct falcon_raw_hdr {
	__u8 op;		/* enum falcon_raw_op */
	__u8 flags;		/* 0 */
	__be16 dst_service;	/* whom it is for */
	__be16 src_service;	/* where answers go */
	__be16 reserved;	/* 0 */
	__be64 offset;		/* bytes into the arena; a tag for SEND */
} FALCON_PACKED;
_Static_assert(sizeof(struct falcon_raw_hdr) == 16, "raw header");

#endif /* FALCON_RAW_H */
