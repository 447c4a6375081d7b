// SPDX-License-Identifier: BSD-2-Clause
/*
 * Connections whose owner cannot set them up yet: packets of the incarnation before may still be under way
 * in XDP. What the peer says of such a one meanwhile waits, in order: its OPEN, and what follows on it. A
 * CLOSE or REJECT does not wait, nor does another OPEN: they make void what waits.
 */
#include <stdlib.h>
#include <string.h>

#include "cm/priv.h"

struct cm_held {
	STAILQ_ENTRY(cm_held) entry;
	struct cm_msg m;
};

bool cm_hold(struct cm *cm, struct cm_conn *c, const struct cm_msg *m)
{
	struct cm_held *held = c->nheld < CM_HELD_MAX ? malloc(sizeof(*held)) : NULL;

	if (!held)
		return false;
	held->m = *m;
	if (!c->nheld)
		LIST_INSERT_HEAD(&cm->holding, c, in_holding);
	STAILQ_INSERT_TAIL(&c->held, held, entry);
	c->nheld++;
	return true;
}

static void release(struct cm_held *held)
{
	explicit_bzero(held, sizeof(*held));
	free(held);
}

void cm_unhold(struct cm_conn *c)
{
	struct cm_held *held;

	if (!c->nheld)
		return;
	LIST_REMOVE(c, in_holding);
	c->nheld = 0;
	while ((held = STAILQ_FIRST(&c->held))) {
		STAILQ_REMOVE_HEAD(&c->held, entry);
		release(held);
	}
}

/* Again what |c| could not do; the connection stays. */
static void resume(struct cm *cm, struct cm_conn *c)
{
	STAILQ_HEAD(, cm_held) all = STAILQ_HEAD_INITIALIZER(all);
	struct cm_session *s = c->session;
	uint32_t cid = c->cfg.local_cid;
	struct cm_held *held;

	STAILQ_CONCAT(&all, &c->held);
	LIST_REMOVE(c, in_holding);
	c->nheld = 0;
	while ((held = STAILQ_FIRST(&all))) {
		STAILQ_REMOVE_HEAD(&all, entry);
		/* It may have gone with a message before, or the session failed. */
		if (cm->conns[cid] == c && s->phase == CM_OPEN) {
			if (held->m.type == CM_MSG_OPEN)
				cm_conn_establish(cm, c, &held->m);
			else
				cm_on_message(cm, s, &held->m);
		}
		release(held);
	}
}

void cm_settled(struct cm *cm)
{
	struct cm_conn_list all = cm->holding;
	struct cm_conn *c;

	if (LIST_EMPTY(&all))
		return;
	LIST_FIRST(&all)->in_holding.le_prev = &LIST_FIRST(&all);
	LIST_INIT(&cm->holding);
	while ((c = LIST_FIRST(&all)))
		resume(cm, c);
}
