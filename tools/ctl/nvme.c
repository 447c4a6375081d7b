// SPDX-License-Identifier: BSD-2-Clause
/* falconctl nvme connect, discover, disconnect and reset, namespace set and resize. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl.h"

enum { DISCOVER_TRIES = 300, DISCOVER_PAUSE_NS = 50000000 };	/* 15 s: a target may take 10 to answer */

static int send_keys(const struct options *o, const char *op, const char *usage, int argc,
		     char **argv)
{
	json_t *req = ctl_keys(op, "name", usage, argc, argv);

	return req ? ctl_send(o, req) : CTL_USAGE;
}

int ctl_nvme_connect(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	return send_keys(o, "nvme-connect", "nvme connect NAME KEY=VALUE ...: cannot use \"%s\"",
			 argc, argv);
}

int ctl_namespace_set(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	return send_keys(o, "namespace-set", "namespace set NAME KEY=VALUE ...: cannot use \"%s\"",
			 argc, argv);
}

/* "64M": bytes, or 0. */
static json_int_t size_of(const char *text)
{
	static const char units[] = "KMGT";
	char *end;
	unsigned long long n = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	int shift = unit ? 10 * (int)(unit - units + 1) : 0;

	if (text[0] < '0' || text[0] > '9' || (*end && (!unit || end[1])) ||
	    n > (unsigned long long)INT64_MAX >> shift)
		return 0;
	return (json_int_t)(n << shift);
}

int ctl_namespace_resize(const struct options *o, const struct object *obj, int argc, char **argv)
{
	json_int_t bytes = argc == 2 ? size_of(argv[1]) : 0;

	(void)obj;
	if (!bytes)
		return ctl_usage_error("%s needs a namespace's name and its bytes, as in 64M",
				       "resize");
	return ctl_send(o, json_pack("{s:s, s:s, s:I}", "op", "namespace-resize", "name", argv[0],
				     "bytes", bytes));
}

static int send_name(const struct options *o, const char *op, const char *action, int argc,
		     char **argv)
{
	if (argc != 1)
		return ctl_usage_error("%s needs the name of a device", action);
	return ctl_send(o, json_pack("{s:s, s:s}", "op", op, "name", argv[0]));
}

/* Ask again until the agent knows. NULL after a sentence. */
static json_t *discovered(const struct options *o, json_t *req)
{
	const struct timespec pause = { .tv_nsec = DISCOVER_PAUSE_NS };
	const char *reason = "";
	struct ipc_client agent;
	json_t *reply = NULL;

	if (ctl_connect(&agent, o->socket))
		return NULL;
	for (unsigned int i = 0; i < DISCOVER_TRIES; i++) {
		json_decref(reply);
		reply = ctl_call(&agent, json_deep_copy(req), -1);
		if (!reply || json_is_true(json_object_get(reply, "done")))
			break;
		reason = json_string_value(json_object_get(reply, "reason"));
		nanosleep(&pause, NULL);
	}
	if (reply && !json_is_true(json_object_get(reply, "done"))) {
		fprintf(stderr, "falconctl: the target has not answered: %s\n", reason ? reason : "");
		json_decref(reply);
		reply = NULL;
	}
	ipc_client_close(&agent);
	return reply;
}

int ctl_nvme_discover(const struct options *o, const struct object *obj, int argc, char **argv)
{
	static const struct ctl_column columns[] = {
		{"nsid", "NSID"},      {"bytes", "BYTES"},	   {"block_size", "BLOCK"},
		{"read_only", "RO"},   {"protected", "PROTECTED"}, {NULL, NULL},
	};
	json_t *req = ctl_keys("nvme-discover", "targets",
			       "nvme discover ADDRESS [KEY=VALUE ...]: cannot use \"%s\"", argc, argv);
	const char *target = json_string_value(json_object_get(req, "targets"));
	json_t *reply, *rows;

	(void)obj;
	if (!req)
		return CTL_USAGE;
	if (!target) {
		json_decref(req);
		return ctl_usage_error("%s needs the address of a target", "discover");
	}
	json_object_set_new(req, "name", json_string("discover"));
	/* The agent's keys have a namespace behind the address; any will do. */
	json_object_set_new(req, "targets", json_sprintf("%s/1", target));
	reply = discovered(o, req);
	json_decref(req);
	rows = json_object_get(reply, "rows");
	if (rows && o->json)
		ctl_print_json(o, rows);
	else if (rows)
		ctl_print_table(rows, columns);
	json_decref(reply);
	return rows ? CTL_OK : CTL_FAILED;
}

int ctl_nvme_disconnect(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	return send_name(o, "nvme-disconnect", "disconnect", argc, argv);
}

int ctl_nvme_reset(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	return send_name(o, "nvme-reset", "reset", argc, argv);
}
