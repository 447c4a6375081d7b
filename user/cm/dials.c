// SPDX-License-Identifier: BSD-2-Clause
/*
 * Dials under way: OPENs that leave the choice of a CID to the peer. It answers them in their order, each
 * with an OPEN of its own or a REJECT. A connection may have been reset, or removed and its CID be another's,
 * before the answer comes: so a session knows what each of its answers is for.
 */
#include <stdlib.h>

#include "cm/priv.h"

struct cm_dial {
	TAILQ_ENTRY(cm_dial) of_session;
	struct cm_owner *owner;
	uint32_t cid;			/* ours */
	uint64_t incarnation;		/* of the offer */
};

bool cm_dial_begin(struct cm_conn *c)
{
	struct cm_dial *d = malloc(sizeof(*d));

	if (!d)
		return false;
	*d = (struct cm_dial){ .owner = c->owner, .cid = c->cfg.local_cid,
			       .incarnation = c->ours.incarnation };
	d->owner->ndials++;
	TAILQ_INSERT_TAIL(&c->session->dials, d, of_session);
	return true;
}

static void end(struct cm_session *s, struct cm_dial *d)
{
	TAILQ_REMOVE(&s->dials, d, of_session);
	d->owner->ndials--;
	cm_owner_put(d->owner);
	free(d);
}

/* The earliest of |cid|. */
static struct cm_dial *find(const struct cm_session *s, uint32_t cid)
{
	struct cm_dial *d;

	TAILQ_FOREACH(d, &s->dials, of_session)
		if (d->cid == cid)
			return d;
	return NULL;
}

uint64_t cm_dial_answered(struct cm_session *s, uint32_t cid)
{
	struct cm_dial *d = find(s, cid);
	uint64_t incarnation = d ? d->incarnation : 0;

	if (d)
		end(s, d);
	return incarnation;
}

void cm_dial_refused(struct cm_session *s, uint32_t cid, uint64_t incarnation)
{
	struct cm_dial *d = find(s, cid);

	if (d && d->incarnation == incarnation)
		end(s, d);
}

void cm_dials_void(struct cm_session *s)
{
	struct cm_dial *d;

	while ((d = TAILQ_FIRST(&s->dials)))
		end(s, d);
}
