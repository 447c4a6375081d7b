/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pull Data that XDP places in our place (falcon/sink.h): where each pull's go. The data of a pull that is
 * done, or of which the upper layer does not want to hear any more, XDP leaves to us.
 */
#include "falcon/receive/sink.h"
#include "core/parts.h"

_Static_assert((int)FALCON_SINK_RSNS == (int)FCORE_MAX_TXNS, "a sink for each transaction under way");

static struct falcon_sink *sink_at(const struct fcore_conn *c, uint32_t rsn)
{
	return falcon_sink_at(&c->core->sinks[c->sinks - 1], rsn);
}

/* An entry for |c|, all of whose sinks are closed. False: all are taken. */
static bool lend(struct fcore_conn *c)
{
	struct fcore *core = c->core;

	if (c->sinks)
		return true;
	c->sinks = fc_entry_take(core->sinks_taken, core->sinks_count);
	if (!c->sinks)
		return false;
	falcon_store(&c->shared->cc.sinks, core->first_sink + c->sinks);
	return true;
}

void fc_sink_unlend(struct fcore_conn *c)
{
	if (!c->sinks)
		return;
	falcon_store(&c->shared->cc.sinks, 0U);
	fc_entry_give(c->core->sinks_taken, c->sinks);
	c->sinks = 0;
}

/* XDP reads what comes on |c|, rather than hand it on as it is. */
static bool suits(const struct fcore_conn *c)
{
	uint32_t flags = falcon_load(&c->shared->id.flags);

	return c->ordered && (flags & (FALCON_CONN_CLEAR | FALCON_CONN_STEER)) == FALCON_CONN_CLEAR;
}

void fc_sink_open(struct fcore_conn *c, uint32_t rsn, const struct falcon_sink *sink)
{
	struct falcon_sink *s;

	if (!suits(c) || !lend(c))
		return;
	s = sink_at(c, rsn);
	s->offset = sink->offset;
	s->memory = sink->memory;
	s->length = sink->length;
	s->atomic = sink->atomic;
	memcpy(s->rbth, sink->rbth, sizeof(s->rbth));
	memcpy(s->steth, sink->steth, sizeof(s->steth));
	fc_itxn(c, rsn)->flags |= FC_ITXN_SINK;
	falcon_sink_open(s, rsn);
}

bool fc_sink_is_placed(const struct fcore_conn *c, uint32_t rsn)
{
	return c->itxn[rsn & FC_TXN_MASK].flags & FC_ITXN_SINK && falcon_sink_is_placed(sink_at(c, rsn), rsn);
}

bool fc_sink_close(struct fcore_conn *c, uint32_t rsn)
{
	struct fc_itxn *t = fc_itxn(c, rsn);

	if (!(t->flags & FC_ITXN_SINK))
		return false;
	t->flags &= (uint8_t)~FC_ITXN_SINK;
	return falcon_sink_close(sink_at(c, rsn));
}
