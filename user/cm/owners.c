// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whose connection is begun next. A session has one channel for the connections of all users: what one of
 * them dials and resets without end would stand in it, and at the peer, before what others dial. So owners
 * take turns, and of each no more than CM_OFFERS_MAX offers are under way.
 *
 * Offers end in many ways. Those that have are not looked for before there are so many. Dials count until
 * they are answered, even if they are given up before that (dials.c): until then they are the peer's work.
 */
#include <stdlib.h>

#include "cm/priv.h"

static struct cm_owner *find(const struct cm_session *s, uint32_t id)
{
	struct cm_owner *o;

	LIST_FOREACH(o, &s->owners, of_session)
		if (o->id == id)
			return o;
	return NULL;
}

bool cm_owner_join(struct cm_conn *c)
{
	struct cm_session *s = c->session;
	struct cm_owner *o = find(s, c->cfg.owner);

	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o)
			return false;
		o->id = c->cfg.owner;
		TAILQ_INIT(&o->pending);
		TAILQ_INIT(&o->offered);
		LIST_INSERT_HEAD(&s->owners, o, of_session);
	}
	o->nconns++;
	c->owner = o;
	return true;
}

static void offer_ended(struct cm_conn *c)
{
	TAILQ_REMOVE(&c->owner->offered, c, in_offered);
	c->owner->noffered--;
	c->offered = false;
}

void cm_owner_leave(struct cm_conn *c)
{
	struct cm_owner *o = c->owner;

	cm_conn_not_due(c);
	if (c->offered)
		offer_ended(c);
	o->nconns--;
	cm_owner_put(o);
}

void cm_owner_put(struct cm_owner *o)
{
	if (o->nconns || o->ndials)
		return;
	LIST_REMOVE(o, of_session);
	free(o);
}

void cm_conn_due(struct cm_conn *c)
{
	struct cm_owner *o = c->owner;

	if (c->pending)
		return;
	c->pending = true;
	if (TAILQ_EMPTY(&o->pending))
		TAILQ_INSERT_TAIL(&c->session->turns, o, in_turns);
	/* What needs no answer does not wait behind what does. */
	if (cm_conn_to_offer(c))
		TAILQ_INSERT_TAIL(&o->pending, c, in_pending);
	else
		TAILQ_INSERT_HEAD(&o->pending, c, in_pending);
}

void cm_conn_not_due(struct cm_conn *c)
{
	struct cm_owner *o = c->owner;

	if (!c->pending)
		return;
	c->pending = false;
	TAILQ_REMOVE(&o->pending, c, in_pending);
	if (TAILQ_EMPTY(&o->pending))
		TAILQ_REMOVE(&c->session->turns, o, in_turns);
}

bool cm_conn_to_offer(const struct cm_conn *c)
{
	return c->state == CM_OPENING && !c->ours.incarnation;
}

void cm_conn_offered(struct cm_conn *c)
{
	if (c->offered)
		return;
	c->offered = true;
	c->owner->noffered++;
	TAILQ_INSERT_TAIL(&c->owner->offered, c, in_offered);
}

static bool may_offer(struct cm_owner *o)
{
	struct cm_conn *c, *next;

	if (o->noffered + o->ndials < CM_OFFERS_MAX)
		return true;
	for (c = TAILQ_FIRST(&o->offered); c; c = next) {
		next = TAILQ_NEXT(c, in_offered);
		if (c->state != CM_OPENING || !c->ours.incarnation)
			offer_ended(c);
	}
	return o->noffered + o->ndials < CM_OFFERS_MAX;
}

struct cm_conn *cm_owner_next(const struct cm_session *s)
{
	struct cm_owner *o;

	TAILQ_FOREACH(o, &s->turns, in_turns) {
		struct cm_conn *c = TAILQ_FIRST(&o->pending);

		if (!cm_conn_to_offer(c) || may_offer(o))
			return c;
	}
	return NULL;
}

void cm_owner_took_turn(struct cm_session *s, struct cm_conn *c)
{
	struct cm_owner *o = c->owner;

	cm_conn_not_due(c);
	if (TAILQ_EMPTY(&o->pending))
		return;
	TAILQ_REMOVE(&s->turns, o, in_turns);
	TAILQ_INSERT_TAIL(&s->turns, o, in_turns);
}
