// SPDX-License-Identifier: BSD-2-Clause
/* falconctl nvme connect and disconnect, namespace set and resize. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

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
