// SPDX-License-Identifier: BSD-2-Clause
/* falconctl metrics: the agent's metrics, as it has written them. */
#include <stdio.h>
#include <string.h>

#include "ctl.h"

int ctl_metrics(const struct options *o, const struct object *obj, int argc, char **argv)
{
	bool connections = argc > 0 && strcmp(argv[0], "--connections") == 0;
	json_t *req, *reply, *text;
	bool written;

	(void)obj;
	if (argc > connections)
		return ctl_usage_error("unexpected argument \"%s\"", argv[connections]);
	req = json_pack("{s:s, s:b}", "op", "metrics", "connections", connections);
	reply = ctl_request(o->socket, req);
	if (!reply)
		return CTL_FAILED;
	text = json_object_get(reply, "text");
	if (!json_is_string(text)) {
		fputs("falconctl: the agent's answer has no metrics in it\n", stderr);
		json_decref(reply);
		return CTL_FAILED;
	}
	fwrite(json_string_value(text), 1, json_string_length(text), stdout);
	written = fflush(stdout) == 0 && !ferror(stdout);
	json_decref(reply);
	return written ? CTL_OK : CTL_FAILED;
}
