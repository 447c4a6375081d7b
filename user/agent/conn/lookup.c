// SPDX-License-Identifier: BSD-2-Clause
/*
 * Connections by what people and programs call them: a name, or the address of the peer.
 *
 * What is an address is never a name. Sections and falconctl cannot name a connection so, but the name of one
 * that was accepted begins with the peer's, and nobody is to answer for addresses by what he is called.
 */
#include "agent/conn/conn.h"

#include <arpa/inet.h>
#include <string.h>

#include "agent/agent.h"

struct agent_conn *agent_conn_named(const struct agent *a, const char *name)
{
	struct agent_conn *c;

	HASH_FIND(by_name, a->conn_names, name, strlen(name), c);
	return c;
}

/* The oldest to |r| that is nobody's; NULL if all are users'. */
static struct agent_conn *common(const struct remote *r)
{
	struct agent_conn *c;

	TAILQ_FOREACH(c, &r->conns, of_remote) {
		if (!c->owned)
			break;
	}
	return c;
}

static struct agent_conn *owned_by(const struct remote *r, uid_t uid)
{
	struct agent_conn *c;

	TAILQ_FOREACH(c, &r->conns, of_remote) {
		if (c->owned && c->owner == uid)
			break;
	}
	return c;
}

/* True if |text| is an address; *|r| is that of connections there, or NULL. */
static bool is_address(const struct agent *a, const char *text, struct remote **r)
{
	struct falcon_addr addr = {};
	int family = AF_INET;

	if (inet_pton(AF_INET, text, addr.b) != 1) {
		family = AF_INET6;
		if (inet_pton(AF_INET6, text, addr.b) != 1)
			return false;
	}
	*r = remotes_find(&a->remotes, family, &addr);
	return true;
}

struct agent_conn *agent_conn_find(const struct agent *a, const char *name)
{
	struct agent_conn *c;
	struct remote *r;

	if (!is_address(a, name, &r))
		return agent_conn_named(a, name);
	c = r ? common(r) : NULL;
	return r && !c ? TAILQ_FIRST(&r->conns) : c;
}

struct agent_conn *agent_conn_find_for(const struct agent *a, const char *name, uid_t uid)
{
	struct agent_conn *c;
	struct remote *r;

	if (!is_address(a, name, &r))
		return agent_conn_named(a, name);
	c = r ? common(r) : NULL;
	return r && !c ? owned_by(r, uid) : c;
}
