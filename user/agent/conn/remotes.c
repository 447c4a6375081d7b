// SPDX-License-Identifier: BSD-2-Clause
#include "agent/conn/remotes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conn/conn.h"


/* What remotes_run() does at once: connections, and how many of them asking the kernel is worth. */
enum { STEPS = 128, ASKING = 8 };

void remotes_init(struct remotes *t, void (*follow)(struct agent_conn *c))
{
	*t = (struct remotes){ .follow = follow };
	TAILQ_INIT(&t->stale);
	TAILQ_INIT(&t->fresh);
}

static struct remote_key key_of(int family, const struct falcon_addr *addr)
{
	return (struct remote_key){ .addr = *addr, .family = (uint32_t)family };
}

struct remote *remotes_find(const struct remotes *t, int family, const struct falcon_addr *addr)
{
	struct remote_key key = key_of(family, addr);
	struct remote *r;

	HASH_FIND(hh, t->by_key, &key, sizeof(key), r);
	return r;
}

static void ask(struct remotes *t, struct remote *r)
{
	struct neigh_entry route;
	bool routed;

	if (r->known)
		return;
	routed = neigh_resolve(t->neigh, (int)r->key.family, &r->key.addr, &route) == 0;
	r->changed |= routed != r->routed ||
		      (routed && memcmp(&route, &r->route, sizeof(route)) != 0);
	r->known = true;
	r->routed = routed;
	neigh_release(&r->route);
	r->route = route;
}

static struct remote *obtain(struct remotes *t, int family, const struct falcon_addr *addr)
{
	struct remote *r = remotes_find(t, family, addr);

	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->key = key_of(family, addr);
	TAILQ_INIT(&r->conns);
	HASH_ADD(hh, t->by_key, key, sizeof(r->key), r);
	if (!r->hh.tbl) {
		free(r);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&t->fresh, r, link);
	ask(t, r);
	r->changed = false;
	return r;
}

int remotes_join(struct remotes *t, struct agent_conn *c)
{
	c->remote = obtain(t, c->cfg.family, &c->cfg.remote);
	if (!c->remote)
		return -ENOMEM;
	TAILQ_INSERT_TAIL(&c->remote->conns, c, of_remote);
	return 0;
}

void remotes_leave(struct remotes *t, struct agent_conn *c)
{
	struct remote *r = c->remote;

	if (!r)
		return;
	if (r->next == c)
		r->next = TAILQ_NEXT(c, of_remote);
	TAILQ_REMOVE(&r->conns, c, of_remote);
	c->remote = NULL;
	if (!TAILQ_EMPTY(&r->conns))
		return;
	if (r->stale)
		TAILQ_REMOVE(&t->stale, r, link);
	else
		TAILQ_REMOVE(&t->fresh, r, link);
	HASH_DEL(t->by_key, r);
	neigh_release(&r->route);
	free(r);
}

const struct neigh_entry *remote_route(struct remotes *t, struct remote *r)
{
	ask(t, r);
	return r->routed ? &r->route : NULL;
}

void remotes_changed(struct remotes *t)
{
	struct remote *r, *next;

	HASH_ITER(hh, t->by_key, r, next) {
		r->known = false;
		r->stale = true;
	}
	TAILQ_CONCAT(&t->stale, &t->fresh, link);
}

/* Let the connections to |r| follow, at most |steps| of them. Returns the steps left. */
static int follow(struct remotes *t, struct remote *r, int steps)
{
	for (; steps > 0 && r->next; steps--) {
		struct agent_conn *c = r->next;

		r->next = TAILQ_NEXT(c, of_remote);
		t->follow(c);
	}
	return steps;
}

bool remotes_run(struct remotes *t)
{
	struct remote *r;

	for (int steps = STEPS; steps > 0 && (r = TAILQ_FIRST(&t->stale)); ) {
		if (!r->known)
			steps -= ASKING;
		ask(t, r);
		if (r->changed)
			r->next = TAILQ_FIRST(&r->conns);
		r->changed = false;
		steps = follow(t, r, steps);
		if (r->next)
			continue;
		TAILQ_REMOVE(&t->stale, r, link);
		TAILQ_INSERT_TAIL(&t->fresh, r, link);
		r->stale = false;
	}
	return !TAILQ_EMPTY(&t->stale);
}
