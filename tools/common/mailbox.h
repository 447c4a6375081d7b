/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small messages to services at the far end: a part of the arena cut into slots, each free again
 * when its SEND has completed.
 */
#ifndef FALCON_TOOLS_MAILBOX_H
#define FALCON_TOOLS_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "falcon/falcon.h"

enum mailbox_const {
	MAILBOX_SLOTS = 256,
	MAILBOX_SLOT_SIZE = 1280,	/* bytes; fits a segment at the smallest IPv6 MTU or so */
	MAILBOX_BYTES = MAILBOX_SLOTS * MAILBOX_SLOT_SIZE,
};

/* Set in the cookie of every SEND of a mailbox; other operations must not have it. */
#define MAILBOX_COOKIE (1ULL << 63)

struct mailbox {
	struct falcon *f;
	uint64_t base;		/* bytes into the arena */
	uint32_t free;		/* slots */
	uint16_t stack[MAILBOX_SLOTS];
};

/* Where a message goes. */
struct mailbox_to {
	uint32_t conn;
	uint16_t service;
	uint64_t tag;
};

/* Use MAILBOX_BYTES of |f|'s arena from |base|. */
void mailbox_init(struct mailbox *mb, struct falcon *f, uint64_t base);

/*
 * Send |len| bytes, at most MAILBOX_SLOT_SIZE. |owner| (31 bits) comes back with the completion.
 * -EAGAIN: no slot or no place in the submission ring now; -EPIPE: the agent is gone.
 */
int mailbox_send(struct mailbox *mb, const struct mailbox_to *to, uint32_t owner,
		 const void *data, uint32_t len);

/* Whether |cqe| is of a mailbox; if so its slot is free again and |*owner| is set. */
bool mailbox_completed(struct mailbox *mb, const struct falcon_cqe *cqe, uint32_t *owner);

#endif /* FALCON_TOOLS_MAILBOX_H */
