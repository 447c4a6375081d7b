// SPDX-License-Identifier: BSD-2-Clause
#include "agent/own.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool own_all(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

bool own_sees(const struct agent_conn *c, uid_t uid)
{
	return !c->owned || c->owner == uid || own_all(uid);
}

bool own_changes(const struct agent_conn *c, uid_t uid)
{
	return own_all(uid) || (c->owned && c->owner == uid);
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

int own_add(struct agent *a, uid_t uid, const json_t *req, const struct conn_config *cfg, char *err,
	    size_t errlen)
{
	const char *key = forbidden_key(req);
	struct agent_conn *c;
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
	rc = quota_charge(a->quota, uid, QUOTA_CONNECTIONS, 1);
	if (rc < 0) {
		quota_explain(a->quota, uid, QUOTA_CONNECTIONS, err, errlen);
		return rc;
	}
	rc = agent_conn_add(a, cfg, err, errlen);
	if (rc < 0) {
		quota_uncharge(a->quota, uid, QUOTA_CONNECTIONS, 1);
		return rc;
	}
	c = agent_conn_named(a, cfg->name);
	c->owned = true;
	c->owner = uid;
	return 0;
}

/* The connection that a row is about, or NULL. */
static const struct agent_conn *conn_of_row(struct agent *a, const json_t *row)
{
	static const char title[] = "connection ";
	const char *name = json_string_value(json_object_get(row, "name"));
	const char *section = json_string_value(json_object_get(row, "section"));

	if (section && strncmp(section, title, strlen(title)) == 0)
		name = section + strlen(title);
	return name ? agent_conn_named(a, name) : NULL;
}

void own_filter(struct agent *a, uid_t uid, json_t *rows)
{
	for (size_t i = json_array_size(rows); !own_all(uid) && i-- > 0;) {
		const struct agent_conn *c = conn_of_row(a, json_array_get(rows, i));

		if (c && !own_sees(c, uid))
			json_array_remove(rows, i);
	}
}
