// SPDX-License-Identifier: BSD-2-Clause
/* falconctl metrics: the agent's metrics, as it has written them. */
#include <stdio.h>

#include "ctl.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	bool *connections = state->input;

	(void)arg;
	if (key != 'c')
		return ARGP_ERR_UNKNOWN;
	*connections = true;
	return 0;
}

int ctl_metrics(const struct options *o, const struct object *obj, int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "connections", 'c', NULL, 0, "Those of each connection, too", 0 },
		{},
	};
	static const struct argp argp = {
		.options = options, .parser = parse, .doc = "Print the agent's metrics, as OpenMetrics.",
	};
	bool connections = false;
	json_t *req, *reply, *text;
	bool written;

	(void)obj;
	ctl_parse("metrics", &argp, argc, argv, &connections);
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
