// SPDX-License-Identifier: BSD-2-Clause
#include "mailbox.h"

#include <errno.h>
#include <string.h>

/* Cookie: MAILBOX_COOKIE, 31 bits of owner from bit 32, the slot below. */

void mailbox_init(struct mailbox *mb, struct falcon *f, uint64_t base)
{
	mb->f = f;
	mb->base = base;
	mb->free = MAILBOX_SLOTS;
	for (uint32_t i = 0; i < MAILBOX_SLOTS; i++)
		mb->stack[i] = (uint16_t)i;
}

int mailbox_send(struct mailbox *mb, const struct mailbox_to *to, uint32_t owner,
		 const void *data, uint32_t len)
{
	struct falcon_sqe sqe = {
		.op = FALCON_RAW_SEND,
		.conn = to->conn,
		.dst_service = to->service,
		.remote = to->tag,
		.len = len,
	};
	uint16_t slot;
	int rc;

	if (!mb->free)
		return -EAGAIN;
	slot = mb->stack[mb->free - 1];
	sqe.local = mb->base + (uint64_t)slot * MAILBOX_SLOT_SIZE;
	sqe.cookie = MAILBOX_COOKIE | (uint64_t)owner << 32 | slot;
	memcpy((uint8_t *)falcon_arena(mb->f) + sqe.local, data, len);
	rc = falcon_submit(mb->f, &sqe);
	if (!rc)
		mb->free--;
	return rc;
}

bool mailbox_completed(struct mailbox *mb, const struct falcon_cqe *cqe, uint32_t *owner)
{
	if (!(cqe->cookie & MAILBOX_COOKIE))
		return false;
	mb->stack[mb->free++] = (uint16_t)cqe->cookie;
	*owner = (uint32_t)(cqe->cookie >> 32) & 0x7fffffff;
	return true;
}
