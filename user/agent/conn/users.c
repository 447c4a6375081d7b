// SPDX-License-Identifier: BSD-2-Clause
#include "agent/conn/users.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/tenant/operator.h"
#include "agent/tenant/quota.h"

bool user_sees_conn(const struct agent_conn *c, uid_t uid)
{
	return !c->owned || c->owner == uid || user_is_operator(uid);
}

bool user_changes_conn(const struct agent_conn *c, uid_t uid)
{
	return user_is_operator(uid) || (c->owned && c->owner == uid);
}

/* What an ordinary user may not say of a connection, as that would be at the cost of others. */
static const char *forbidden_key(const json_t *req)
{
	static const char *const allowed[] = { "op", "name", "local", "remote", "peer", "ordering",
					       "security", "function" };
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)req, key, value) {
		bool found = false;

		for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
			found |= strcmp(key, allowed[i]) == 0;
		if (!found)
			return key;
	}
	return NULL;
}

/*
 * Whether |cfg| is from an address of this host. The agent listens at others, too, in case that they come
 * later; but which those are is for the operator to say.
 */
static int check_local(struct agent *a, const struct conn_config *cfg, char *err, size_t errlen)
{
	char text[INET6_ADDRSTRLEN] = "?";
	struct neigh_entry way;
	bool ours = neigh_resolve(a->neigh, cfg->family, &cfg->local, &way) == 0 && way.local;

	neigh_release(&way);
	if (ours)
		return 0;
	inet_ntop(cfg->family, cfg->local.b, text, sizeof(text));
	snprintf(err, errlen, "%s is no address of this host, and others are for root", text);
	return -EPERM;
}

int user_conn_add(struct agent *a, uid_t uid, const json_t *req, const struct conn_config *cfg, char *err,
		  size_t errlen)
{
	const char *key = forbidden_key(req);
	int rc;

	if (!quota_restricts(a->quota)) {
		snprintf(err, errlen, "conn-add is for root, and users with a [user] or [group] section");
		return -EPERM;
	}
	if (key || cfg->local_cid || cfg->security == CONFIG_SECURITY_CLEAR) {
		snprintf(err, errlen, "connections of users are dialled and encrypted; %s is for root",
			 key ? key : "security = clear");
		return -EPERM;
	}
	rc = check_local(a, cfg, err, errlen);
	if (rc < 0)
		return rc;
	rc = quota_charge(a->quota, uid, QUOTA_CONNECTIONS, 1);
	if (rc < 0) {
		quota_explain(a->quota, uid, QUOTA_CONNECTIONS, err, errlen);
		return rc;
	}
	rc = agent_conn_add(a, cfg, uid, err, errlen);
	if (rc < 0) {
		quota_uncharge(a->quota, uid, QUOTA_CONNECTIONS, 1);
		return rc;
	}
	agent_conn_named(a, cfg->name)->owned = true;
	return 0;
}
