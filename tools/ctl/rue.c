// SPDX-License-Identifier: BSD-2-Clause
/* falconctl conn set, falconctl rue set: changing congestion control while connections live. */
#include <string.h>

#include "ctl.h"

int ctl_conn_set(const struct options *o, const struct object *obj, int argc, char **argv)
{
	json_t *req;

	(void)obj;
	if (argc < 2)
		return ctl_usage_error("conn %s needs a connection and KEY=VALUE", "set");
	req = json_pack("{s:s, s:s}", "op", "conn-set", "name", argv[0]);
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value || json_object_get(req, (*value++ = 0, argv[i]))) {
			json_decref(req);
			return ctl_usage_error("conn set NAME KEY=VALUE ...: cannot use \"%s\"",
					       argv[i]);
		}
		json_object_set_new(req, argv[i], json_string(value));
	}
	return ctl_send(o, req);
}

int ctl_rue_set(const struct options *o, const struct object *obj, int argc, char **argv)
{
	json_t *req;

	(void)obj;
	if (argc < 2 || argc > 3)
		return ctl_usage_error("rue %s NAME ALGORITHM [PROFILE]", "set");
	req = json_pack("{s:s, s:s, s:s}", "op", "conn-set", "name", argv[0], "cc", argv[1]);
	if (argc == 3)
		json_object_set_new(req, "cc_profile", json_string(argv[2]));
	return ctl_send(o, req);
}
