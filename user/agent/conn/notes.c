// SPDX-License-Identifier: BSD-2-Clause
/* Notes between upper layers: over the session with the peer's agent, or straight to our own. */
#include "agent/conn/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "agent/agent.h"
#include "agent/config/policy.h"
#include "agent/shard/shard.h"

_Static_assert((int)ULP_NOTE_MAX == (int)CM_NOTE_MAX, "the session carries what upper layers say");

enum notes_const {
	NOTES_MAX = 256,		/* to ourselves that wait */
};

struct own_note {
	STAILQ_ENTRY(own_note) entry;
	uint8_t proto;
	struct ulp_note note;		/* as the receiver sees it */
};

struct notes {
	STAILQ_HEAD(, own_note) own;
	unsigned int n;
};

static int keep(struct agent *a, uint8_t proto, const struct ulp_note *note)
{
	struct own_note *own;

	if (!a->notes) {
		a->notes = calloc(1, sizeof(*a->notes));
		if (!a->notes)
			return -ENOBUFS;
		STAILQ_INIT(&a->notes->own);
	}
	own = a->notes->n < NOTES_MAX ? calloc(1, sizeof(*own)) : NULL;
	if (!own)
		return -ENOBUFS;
	own->proto = proto;
	own->note = *note;
	own->note.local = note->remote;
	own->note.remote = note->local;
	STAILQ_INSERT_TAIL(&a->notes->own, own, entry);
	a->notes->n++;
	return 0;
}

int agent_send_note(struct agent *a, uint8_t proto, const struct ulp_note *note, char *err,
		    size_t errlen)
{
	struct neigh_entry route;
	struct cm_note out = { .family = note->family, .proto = proto, .len = note->len };
	bool here = neigh_resolve(a->neigh, note->family, &note->remote, &route) == 0 && route.local;

	neigh_release(&route);
	if (here) {
		if (keep(a, proto, note) == 0)
			return 0;
		snprintf(err, errlen, "too many messages to this host itself");
		return -ENOBUFS;
	}
	out.local_addr = note->local;
	out.peer_addr = note->remote;
	memcpy(out.data, note->data, note->len);
	return cm_send_note(a->cm, &out, err, errlen);
}

struct delivery {
	struct agent *agent;
	uint8_t proto;
	const struct ulp *ulp;
	const struct ulp_note *note;
	const char *peer;
};

/* In a call. */
static void hand_over(void *arg)
{
	const struct delivery *d = arg;

	d->ulp->ops->note(d->ulp->self, d->note, d->peer);
}

static struct shard *shard_at(struct agent *a, int i)
{
	return &a->plane.shards[i > 0 && (unsigned int)i < a->plane.nshards ? i : 0];
}

/* In a call of all shards. */
static void find_and_hand_over(void *arg)
{
	struct delivery *d = arg;
	int i = d->ulp->ops->note_for(d->ulp->self, d->note, true);

	d->ulp = agent_ulp(shard_at(d->agent, i), d->proto);
	hand_over(d);
}

static void deliver(struct agent *a, uint8_t proto, const struct ulp_note *note, const char *peer)
{
	const struct ulp *first = agent_ulp(&a->plane.shards[0], proto);
	struct delivery d = { .agent = a, .proto = proto, .ulp = first, .note = note, .peer = peer };
	int i = 0;

	if (!first || !first->ops->note)
		return;
	if (a->plane.nshards > 1 && first->ops->note_for)
		i = first->ops->note_for(first->self, note, false);
	if (i < 0)
		return plane_call(&a->plane, find_and_hand_over, &d);
	d.ulp = agent_ulp(shard_at(a, i), proto);
	call_run(&shard_at(a, i)->call, hand_over, &d);
}

void agent_take_note(void *arg, const struct cm_note *in, const struct chan_identity *who)
{
	struct agent *a = arg;
	struct ulp_note note = { .family = in->family, .len = in->len };

	if (!policy_admits(&a->config, who)) {
		a->stats.dials_refused++;
		return;
	}
	note.local = in->local_addr;
	note.remote = in->peer_addr;
	memcpy(note.data, in->data, in->len);
	deliver(a, in->proto, &note, who->nnames ? who->names[0] : "");
}

uint32_t agent_notes_run(struct agent *a)
{
	uint32_t n = a->notes ? a->notes->n : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct own_note *own = STAILQ_FIRST(&a->notes->own);

		STAILQ_REMOVE_HEAD(&a->notes->own, entry);
		a->notes->n--;
		deliver(a, own->proto, &own->note, "");
		free(own);
	}
	return n;
}

bool agent_notes_waiting(const struct agent *a)
{
	return a->notes && a->notes->n;
}

void agent_notes_close(struct agent *a)
{
	struct own_note *own;

	while (a->notes && (own = STAILQ_FIRST(&a->notes->own))) {
		STAILQ_REMOVE_HEAD(&a->notes->own, entry);
		free(own);
	}
	free(a->notes);
	a->notes = NULL;
}
