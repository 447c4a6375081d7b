// SPDX-License-Identifier: BSD-2-Clause
/* falcon-cp FILE HOST:NAME */
#include <string.h>

#include "client.h"

/* Fill slots that are free with what comes next, and send it off. */
static void send_chunks(struct cp_copy *c)
{
	for (uint32_t i = 0; i < c->slots && c->source.offset < c->size && !c->failed; i++) {
		uint64_t left = c->size - c->source.offset;
		struct cp_slot *s = &c->slot[i];
		int rc;

		if (s->busy)
			continue;
		s->busy = true;
		s->offset = c->source.offset;
		s->len = left < CP_SLOT_SIZE ? (uint32_t)left : CP_SLOT_SIZE;
		rc = cp_source_read(&c->source, cp_slot_data(c, i), s->len);
		if (rc)
			cp_fail(c, "%s: %s", c->cfg->local, cp_strerror(rc));
		else
			cp_move(c, i);
	}
}

static void end_if_all_is_written(struct cp_copy *c)
{
	struct cp_msg end = { .type = CP_END, .size = c->size };

	if (c->ended || c->copied < c->size)
		return;
	c->ended = true;
	cp_source_digest(&c->source, c->digest);
	memcpy(end.digest, c->digest, CP_DIGEST);
	cp_say(c, &end);
}

static void upload_start(struct cp_copy *c, const struct cp_msg *ready)
{
	(void)ready;
	send_chunks(c);
	end_if_all_is_written(c);
}

static void upload_moved(struct cp_copy *c, uint32_t i)
{
	struct cp_msg write = {
		.type = CP_WRITE, .slot = i, .offset = c->slot[i].offset, .len = c->slot[i].len,
	};

	cp_say(c, &write);
}

static void upload_message(struct cp_copy *c, const struct cp_msg *m)
{
	if (m->type == CP_WROTE && m->slot < c->slots && c->slot[m->slot].busy) {
		c->slot[m->slot].busy = false;
		c->copied += c->slot[m->slot].len;
		send_chunks(c);
		end_if_all_is_written(c);
	} else if (m->type == CP_DONE && c->ended) {
		c->done = true;
	} else {
		cp_fail(c, "the server sent a message that has no place here");
	}
}

const struct cp_direction cp_upload = {
	.start = upload_start,
	.message = upload_message,
	.moved = upload_moved,
};
