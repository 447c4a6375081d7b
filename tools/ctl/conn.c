// SPDX-License-Identifier: BSD-2-Clause
/* falconctl conn: adding and deleting connections, one or a whole series. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

enum { UNDER_WAY = 32 };	/* requests that wait for their replies, of a series */

/* NAME alone if |count| is 0, else NAME.1 to NAME.COUNT. */
struct series {
	const char *name;
	unsigned long count;
};

/* |text| is the value of count=. */
static bool set_count(struct series *s, const char *text)
{
	char *end;

	errno = 0;
	s->count = strtoul(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno && s->count > 0;
}

static int ask(struct ipc_client *agent, const struct series *s, unsigned long i, json_t *req)
{
	char name[128];

	snprintf(name, sizeof(name), "%s.%lu", s->name, i);
	json_object_set_new(req, "name", json_string(name));
	return ctl_ask(agent, json_incref(req));
}

static int answer(struct ipc_client *agent)
{
	json_t *reply = ctl_answer(agent);

	json_decref(reply);
	return reply ? 0 : -1;
}

/* Send |req|, which is released, for each name of the series, over one connection to the agent. */
static int send_series(const struct options *o, const struct series *s, json_t *req)
{
	struct ipc_client agent;
	int rc = ctl_connect(&agent, o->socket);

	for (unsigned long i = 1; i <= s->count + UNDER_WAY && rc == 0; i++) {
		if (i <= s->count)
			rc = ask(&agent, s, i, req);
		if (i > UNDER_WAY && rc == 0)
			rc = answer(&agent);
	}
	ipc_client_close(&agent);
	json_decref(req);
	return rc < 0 ? CTL_FAILED : CTL_OK;
}

static int send_for(const struct options *o, const struct series *s, json_t *req)
{
	if (s->count)
		return send_series(o, s, req);
	json_object_set_new(req, "name", json_string(s->name));
	return ctl_send(o, req);
}

int ctl_conn_add(const struct options *o, const struct object *obj, int argc, char **argv)
{
	json_t *req = json_pack("{s:s}", "op", "conn-add");
	struct series s = {0};

	(void)obj;
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		bool good;

		if (value)
			*value++ = 0;
		if (!value || strcmp(argv[i], "name") == 0)
			good = i == 0 && (s.name = value ? value : argv[i]);
		else if (strcmp(argv[i], "count") == 0)
			good = !s.count && set_count(&s, value);
		else
			good = strcmp(argv[i], "op") && !json_object_get(req, argv[i]) &&
			       json_object_set_new(req, argv[i], json_string(value)) == 0;
		if (!good) {
			json_decref(req);
			return ctl_usage_error("conn add NAME [count=N] KEY=VALUE ...: cannot use "
					       "\"%s\"", argv[i]);
		}
	}
	if (s.name)
		return send_for(o, &s, req);
	return ctl_send(o, req);
}

static int by_name(const struct options *o, const char *op, int argc, char **argv)
{
	struct series s = {.name = argc > 0 ? argv[0] : NULL};

	if (argc < 1 || argc > 2)
		return ctl_usage_error("%s needs the name of a connection", op);
	if (argc == 2 && (strncmp(argv[1], "count=", 6) || !set_count(&s, argv[1] + 6)))
		return ctl_usage_error("unexpected argument \"%s\"; count=N is for NAME.1 to NAME.N",
				       argv[1]);
	return send_for(o, &s, json_pack("{s:s}", "op", op));
}

int ctl_conn_del(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	return by_name(o, "conn-del", argc, argv);
}

int ctl_conn_reset(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	return by_name(o, "conn-reset", argc, argv);
}
