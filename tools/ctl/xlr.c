// SPDX-License-Identifier: BSD-2-Clause
/* falconctl xlr add and del: filters that drop transactions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl.h"

/* Prints the number by which the filter is deleted again. */
int ctl_xlr_add(const struct options *o, const struct object *obj, int argc, char **argv)
{
	json_t *req, *reply;

	(void)obj;
	if (!argc)
		return ctl_usage_error("xlr %s needs initiator or target", "add");
	req = ctl_keys("xlr-add", "where",
		       "xlr add initiator|target KEY=VALUE ...: cannot use \"%s\"", argc, argv);
	if (!req)
		return CTL_USAGE;
	reply = ctl_request(o->socket, req);
	if (!reply)
		return CTL_FAILED;
	printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(json_object_get(reply, "number")));
	json_decref(reply);
	return fflush(stdout) == 0 ? CTL_OK : CTL_FAILED;
}

int ctl_xlr_del(const struct options *o, const struct object *obj, int argc, char **argv)
{
	unsigned long number;
	char *end;

	(void)obj;
	if (argc != 1)
		return ctl_usage_error("xlr %s needs the number of a filter", "del");
	errno = 0;
	number = strtoul(argv[0], &end, 10);
	if (argv[0][0] < '0' || argv[0][0] > '9' || *end || errno)
		return ctl_usage_error("xlr del needs the number of a filter, not \"%s\"", argv[0]);
	return ctl_send(o, json_pack("{s:s, s:I}", "op", "xlr-del", "number", (json_int_t)number));
}
