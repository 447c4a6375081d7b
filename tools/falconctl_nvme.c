// SPDX-License-Identifier: BSD-2-Clause
/* falconctl nvme connect and disconnect. */
#include <string.h>

#include "falconctl.h"

int ctl_nvme_connect(const struct options *o, const struct object *obj, int argc, char **argv)
{
	json_t *req = json_pack("{s:s}", "op", "nvme-connect");

	(void)obj;
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		const char *key = value ? argv[i] : "name";

		if (value)
			*value++ = 0;
		if ((!value && i > 0) || strcmp(key, "op") == 0 || json_object_get(req, key)) {
			json_decref(req);
			return ctl_usage_error("nvme connect NAME KEY=VALUE ...: cannot use \"%s\"",
					       argv[i]);
		}
		json_object_set_new(req, key, json_string(value ? value : argv[i]));
	}
	return ctl_send(o, req);
}

int ctl_nvme_disconnect(const struct options *o, const struct object *obj, int argc, char **argv)
{
	(void)obj;
	if (argc != 1)
		return ctl_usage_error("%s needs the name of a device", "disconnect");
	return ctl_send(o, json_pack("{s:s, s:s}", "op", "nvme-disconnect", "name", argv[0]));
}
