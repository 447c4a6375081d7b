/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers' addresses, and the way to each: asked of the kernel once for all connections to it, and
 * again when something has changed. What follows from a change is done a little at a time, since
 * very many connections may follow.
 */
#ifndef FALCON_AGENT_CONN_REMOTES_H
#define FALCON_AGENT_CONN_REMOTES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/net/neigh.h"
#include "base/addr.h"
#include "base/hash.h"

struct agent_conn;

struct remote_key {
	struct falcon_addr addr;
	uint32_t family;	/* AF_INET or AF_INET6 */
};

TAILQ_HEAD(remote_conns, agent_conn);

struct remote {
	struct remote_key key;
	struct remote_conns conns;	/* by |of_remote|, oldest first; never empty */
	struct neigh_entry route;
	bool routed;			/* |route| is the kernel's answer; else there is none */
	bool known;			/* it was asked since the latest change */
	bool changed;			/* since then, or before; connections are to follow */
	bool stale;			/* in |stale|, not in |fresh| */
	struct agent_conn *next;	/* that is to follow; NULL: none is on its way */
	TAILQ_ENTRY(remote) link;	/* in |stale| or |fresh| */
	UT_hash_handle hh;
};

TAILQ_HEAD(remote_list, remote);

/* How connections find their remote. Zero is not a valid start: remotes_init(). */
struct remotes {
	struct remote *by_key;
	struct remote_list stale;	/* to be asked for, or to be followed */
	struct remote_list fresh;
	struct neigh *neigh;		/* whom to ask */
	void (*follow)(struct agent_conn *c);	/* the way of |c| has changed */
};

void remotes_init(struct remotes *t, void (*follow)(struct agent_conn *c));

/* The remote at |addr|, or NULL if no connection leads there. */
struct remote *remotes_find(const struct remotes *t, int family, const struct falcon_addr *addr);

/* Add |c| to the remote of its configuration, made if need be, and set c->remote. 0 or -ENOMEM. */
int remotes_join(struct remotes *t, struct agent_conn *c);
void remotes_leave(struct remotes *t, struct agent_conn *c);

/* The way to |r|, or NULL if there is none. */
const struct neigh_entry *remote_route(struct remotes *t, struct remote *r);

/* Routes or neighbours have changed, of whomever. */
void remotes_changed(struct remotes *t);

/* Go on with what changes make necessary. True: there is more to do. */
bool remotes_run(struct remotes *t);

#endif /* FALCON_AGENT_CONN_REMOTES_H */
