// SPDX-License-Identifier: BSD-2-Clause
/* falcon-cp HOST:NAME FILE */
#include <fcntl.h>
#include <string.h>

#include "client.h"

static void ask_for(struct cp_copy *c, uint32_t i)
{
	struct cp_msg fill = { .type = CP_FILL, .slot = i };

	c->slot[i].busy = c->slot[i].arrived = false;
	cp_say(c, &fill);
}

static void download_start(struct cp_copy *c, const struct cp_msg *ready)
{
	int rc = cp_sink_open(&c->sink, AT_FDCWD, c->cfg->local, ready->size, ready->mode);

	if (rc) {
		cp_fail(c, "%s: %s", c->cfg->local, cp_strerror(rc));
		return;
	}
	c->file_open = true;
	c->size = ready->size;
	for (uint32_t i = 0; i < c->slots; i++)
		ask_for(c, i);
}

static void commit_if_complete(struct cp_copy *c)
{
	struct cp_msg done = { .type = CP_DONE };
	int rc;

	if (!c->ended || c->copied < c->size || c->failed)
		return;
	rc = cp_sink_commit(&c->sink, c->digest);
	if (rc) {
		cp_fail(c, "%s: %s", c->cfg->local, cp_strerror(rc));
		return;
	}
	cp_say(c, &done);
	c->done = true;
}

/* The slot whose chunk comes next in the file, or NULL. */
static struct cp_slot *next_slot(struct cp_copy *c)
{
	for (uint32_t i = 0; i < c->slots; i++)
		if (c->slot[i].arrived && c->slot[i].offset == c->sink.offset)
			return &c->slot[i];
	return NULL;
}

static void download_moved(struct cp_copy *c, uint32_t i)
{
	struct cp_slot *s;

	c->slot[i].arrived = true;
	while (!c->failed && (s = next_slot(c))) {
		uint32_t n = (uint32_t)(s - c->slot);
		int rc = cp_sink_write(&c->sink, cp_slot_data(c, n), s->len);

		if (rc) {
			cp_fail(c, "%s: %s", c->cfg->local, cp_strerror(rc));
			return;
		}
		c->copied = c->sink.offset;
		ask_for(c, n);
	}
	commit_if_complete(c);
}

static bool chunk_is_valid(const struct cp_copy *c, const struct cp_msg *m)
{
	return m->slot < c->slots && !c->slot[m->slot].busy && m->len && m->len <= CP_SLOT_SIZE &&
	       m->offset >= c->copied && m->offset <= c->size && m->len <= c->size - m->offset;
}

static void download_message(struct cp_copy *c, const struct cp_msg *m)
{
	if (m->type == CP_CHUNK && chunk_is_valid(c, m)) {
		c->slot[m->slot].busy = true;
		c->slot[m->slot].offset = m->offset;
		c->slot[m->slot].len = m->len;
		cp_move(c, m->slot);
	} else if (m->type == CP_END && !c->ended) {
		c->ended = true;
		memcpy(c->digest, m->digest, CP_DIGEST);
		commit_if_complete(c);
	} else {
		cp_fail(c, "the server sent a message that has no place here");
	}
}

const struct cp_direction cp_download = {
	.start = download_start,
	.message = download_message,
	.moved = download_moved,
};
