/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages between falcon-cp and its server, carried by SEND. Data itself goes by PUT into, and
 * GET from, slots of CP_SLOT_SIZE bytes of the server's arena, which it lends to a session.
 *
 * Upload:    OPEN_PUT -> READY; for each chunk: PUT into a free slot, WRITE -> WROTE (slot free);
 *            after the last WROTE: END with the digest -> DONE (under its final name) or ABORT.
 * Download:  OPEN_GET -> READY; FILL for every slot -> CHUNK (slot filled), GET, FILL again;
 *            FILL at the end of the file -> END with the digest; DONE closes the session.
 * Either side says ABORT, with a sentence, when it cannot go on; that closes the session. PING
 * after CP_PING_MS of silence finds out that the connection, the peer or the session is no more. Between END
 * and DONE of an upload the server says it every CP_PING_MS, for as long as its disk takes.
 *
 * Nothing depends on the order of messages that are under way together, so that both ordered and
 * unordered connections do. The digest is XXH3-128 of the file, in canonical (big-endian) form; it
 * finds damage, and is no protection against intent.
 */
#ifndef FALCON_TOOLS_CP_PROTO_H
#define FALCON_TOOLS_CP_PROTO_H

#include <stdbool.h>
#include <stdint.h>

#include "falcon/types.h"

enum cp_const {
	CP_MAGIC = 0x46434f50,
	CP_VERSION = 1,
	CP_SLOT_SIZE = 1 << 20,		/* bytes; also of every chunk but the last */
	CP_SLOTS = 4,			/* of a session */
	CP_DIGEST = 16,			/* bytes */
	CP_PING_MS = 1000,
	CP_TEXT_MAX = 1024,		/* bytes of name or sentence */
};

enum cp_type {
	CP_OPEN_PUT = 1,	/* client: |text| of |size| bytes, permissions |mode| */
	CP_OPEN_GET = 2,	/* client: |text| please */
	/* Server: |session| has |slots| slots from |offset| in the arena; GET: |size|, |mode|. */
	CP_READY = 3,
	CP_WRITE = 4,		/* client: slot |slot| holds |len| bytes of the file at |offset| */
	CP_WROTE = 5,		/* server: slot |slot| is free again */
	CP_FILL = 6,		/* client: slot |slot| may be filled */
	CP_CHUNK = 7,		/* server: slot |slot| holds |len| bytes of the file at |offset| */
	CP_END = 8,		/* the source: that was all of |size| bytes, their |digest| */
	CP_DONE = 9,		/* the sink: |digest| was right and the file is in place */
	CP_ABORT = 10,		/* either: over, and |text| says why */
	CP_PING = 11,		/* either: are you there? Answered only if not, by ABORT */
	CP_TYPE_MAX = CP_PING,
};

/* On the wire, network byte order; |text_len| bytes of text follow. */
struct cp_wire {
	__be32 magic;
	__u8 version;
	__u8 type;
	__be16 text_len;
	__be64 session;
	__be64 offset;
	__be64 size;
	__be32 slot;
	__be32 slots;
	__be32 len;
	__be32 mode;
	__u8 digest[CP_DIGEST];
} FALCON_PACKED;
_Static_assert(sizeof(struct cp_wire) == 64, "falcon-cp message");

/* The same unpacked. Fields that a type does not use are 0. */
struct cp_msg {
	enum cp_type type;
	uint64_t session;	/* chosen by the server; 0 in OPEN_* and their refusal */
	uint64_t offset;
	uint64_t size;
	uint32_t slot;
	uint32_t slots;
	uint32_t len;
	uint32_t mode;
	uint8_t digest[CP_DIGEST];
	char text[CP_TEXT_MAX + 1];
};

enum { CP_MSG_MAX = sizeof(struct cp_wire) + CP_TEXT_MAX };

/* Pack |m| into |buf| of CP_MSG_MAX bytes; text that is too long is cut. Returns the length. */
uint32_t cp_pack(const struct cp_msg *m, void *buf);

/*
 * Unpack what a peer sent. 0; -EPROTONOSUPPORT: another version; -EBADMSG: not a message of this
 * protocol, or a length, type or text (a NUL in it) that cannot be.
 */
int cp_unpack(const void *buf, uint32_t len, struct cp_msg *m);

#endif /* FALCON_TOOLS_CP_PROTO_H */
