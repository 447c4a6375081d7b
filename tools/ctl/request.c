// SPDX-License-Identifier: BSD-2-Clause
/* falconctl: one request to the agent, one reply. What goes wrong is said on standard error. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"

/* |rc| is what a function of |agent| has returned. */
static int checked(const struct ipc_client *agent, int rc)
{
	if (rc)
		fprintf(stderr, "falconctl: %s\n", agent->err);
	return rc ? -1 : 0;
}

int ctl_reach(struct ipc_client *agent, const char *path)
{
	int rc = ipc_client_connect(agent, path);

	if (rc == -ENOENT || rc == -ECONNREFUSED) {
		size_t len = strlen(agent->err);

		snprintf(agent->err + len, sizeof(agent->err) - len, ", and so does -s SOCKET");
	}
	return rc;
}

int ctl_connect(struct ipc_client *agent, const char *path)
{
	return checked(agent, ctl_reach(agent, path));
}

int ctl_ask(struct ipc_client *agent, json_t *req)
{
	return checked(agent, ipc_client_ask(agent, req, NULL, 0));
}

json_t *ctl_answer(struct ipc_client *agent)
{
	json_t *reply;

	checked(agent, ipc_client_answer(agent, &reply));
	return reply;
}

json_t *ctl_call(struct ipc_client *agent, json_t *req, int pass)
{
	json_t *reply;

	checked(agent, ipc_client_call(agent, req, &pass, pass >= 0, &reply));
	return reply;
}

json_t *ctl_pages(struct ipc_client *agent, const char *object, const char *name)
{
	json_t *rows = json_array(), *from = NULL, *reply = NULL;
	int rc;

	do {
		json_t *req = json_pack("{s:s, s:s, s:s*, s:o*}", "op", "show", "object", object,
					"name", name, "from", from);

		rc = ipc_client_call(agent, req, NULL, 0, &reply);
		from = json_incref(json_object_get(reply, "next"));
		json_array_extend(rows, json_object_get(reply, "rows"));
		json_decref(reply);
	} while (!rc && from);
	if (!rc)
		return rows;
	json_decref(rows);
	return NULL;
}

json_t *ctl_keys(const char *op, const char *first, const char *usage, int argc, char **argv)
{
	json_t *req = json_pack("{s:s}", "op", op);

	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		const char *key = value ? argv[i] : first;

		if (value)
			*value++ = 0;
		if ((!value && i > 0) || strcmp(key, "op") == 0 || json_object_get(req, key)) {
			json_decref(req);
			ctl_usage_error(usage, argv[i]);
			return NULL;
		}
		json_object_set_new(req, key, json_string(value ? value : argv[i]));
	}
	return req;
}

json_t *ctl_request(const char *path, json_t *req)
{
	struct ipc_client agent;
	json_t *reply;

	if (ctl_connect(&agent, path) < 0) {
		json_decref(req);
		return NULL;
	}
	reply = ctl_call(&agent, req, -1);
	ipc_client_close(&agent);
	return reply;
}

json_t *ctl_rows(const struct options *o, const char *object, const char *name)
{
	struct ipc_client agent;
	json_t *rows;

	if (ctl_connect(&agent, o->socket) < 0)
		return NULL;
	rows = ctl_pages(&agent, object, name);
	if (!rows)
		fprintf(stderr, "falconctl: %s\n", agent.err);
	ipc_client_close(&agent);
	return rows;
}

int ctl_send(const struct options *o, json_t *req)
{
	json_t *reply = ctl_request(o->socket, req);

	json_decref(reply);
	return reply ? CTL_OK : CTL_FAILED;
}
