// SPDX-License-Identifier: BSD-2-Clause
/* The other end of the control socket: falcon-wire set, show, reset. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cli.h"
#include "control.h"
#include "emulator.h"

enum { OPT_CONTROL = 256 };

static const struct argp_option options[] = {
	{ .name = "control", .key = OPT_CONTROL, .arg = "SOCKET",
	  .doc = "That of the falcon-wire that runs" },
	{ .name = "json", .key = 'j', .doc = "Reports as JSON" },
	{},
};

struct request {
	const char *path;		/* of the socket */
	bool json;
	char line[CONTROL_LINE];
	size_t len;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct request *r = state->input;

	switch (key) {
	case OPT_CONTROL: r->path = arg; break;
	case 'j': r->json = true; break;
	case ARGP_KEY_ARG:
		if (r->len + strlen(arg) + 2 >= sizeof(r->line))
			argp_error(state, "that is too long");
		else
			r->len += (size_t)sprintf(r->line + r->len, " %s", arg);
		break;
	case ARGP_KEY_END:
		if (!r->path)
			argp_error(state, "--control SOCKET is missing");
		strcpy(r->line + r->len, "\n");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options, .parser = parse_option, .args_doc = "[path=N|all] [to=INTERFACE] [KEY=VALUE...]",
	.doc = "Ask a falcon-wire that runs: set changes links, show reports what they have counted, reset "
	       "begins to count anew.",
};

static int connect_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(addr.sun_path)) {
		close(fd);
		return -ENAMETOOLONG;
	}
	strcpy(addr.sun_path, path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	close(fd);
	return -errno;
}

/* Send |line|, and parse what comes back. NULL after a message. */
static json_t *ask(const char *path, const char *line)
{
	int fd = connect_to(path);
	json_error_t error;
	json_t *reply;
	FILE *in;

	if (fd < 0) {
		fprintf(stderr, "falcon-wire: control socket %s: %s\n", path, strerror(-fd));
		return NULL;
	}
	in = fdopen(fd, "r");
	if (!in || send(fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line)) {
		fprintf(stderr, "falcon-wire: control socket %s: %s\n", path, strerror(errno));
		return NULL;
	}
	reply = json_loadf(in, 0, &error);
	fclose(in);
	if (!reply)
		fprintf(stderr, "falcon-wire: control socket %s: no answer\n", path);
	return reply;
}

/* 0 if |reply| is no error; prints it if it is a report. */
static int finish(const json_t *reply, bool json)
{
	const char *error = json_string_value(json_object_get(reply, "error"));

	if (error) {
		fprintf(stderr, "falcon-wire: %s\n", error);
		return 1;
	}
	if (!json_object_get(reply, "links"))
		return 0;
	if (!json) {
		report_text(reply, stdout);
		return 0;
	}
	json_dumpf(reply, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	putchar('\n');
	return 0;
}

int client_main(int argc, char **argv)
{
	struct request r = {};
	json_t *reply;
	char name[64];
	int rc = 1;

	r.len = (size_t)snprintf(r.line, sizeof(r.line), "%s", argv[1]);
	snprintf(name, sizeof(name), "falcon-wire %s", argv[1]);
	argv[1] = name;
	cli_parse(&argp, 0, argc - 1, argv + 1, &r);
	reply = ask(r.path, r.line);
	if (reply)
		rc = finish(reply, r.json);
	json_decref(reply);
	return rc;
}
