// SPDX-License-Identifier: BSD-2-Clause
/* The other end of the control socket: falcon-wire set, show, reset. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "emulator.h"

static int usage(void)
{
	fprintf(stderr, "usage: falcon-wire set --control SOCKET [path=N|all] [to=INTERFACE] KEY=VALUE...\n"
			"       falcon-wire show --control SOCKET [-j]\n"
			"       falcon-wire reset --control SOCKET\n");
	return 2;
}

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
	const char *path = NULL;
	char line[CONTROL_LINE];
	size_t len = (size_t)snprintf(line, sizeof(line), "%s", argv[1]);
	bool json = false;
	json_t *reply;
	int rc = 1;

	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--control") && i + 1 < argc) {
			path = argv[++i];
		} else if (!strcmp(argv[i], "-j") || !strcmp(argv[i], "--json")) {
			json = true;
		} else if (argv[i][0] == '-' || len + strlen(argv[i]) + 2 >= sizeof(line)) {
			return usage();
		} else {
			len += (size_t)sprintf(line + len, " %s", argv[i]);
		}
	}
	if (!path)
		return usage();
	strcpy(line + len, "\n");
	reply = ask(path, line);
	if (reply)
		rc = finish(reply, json);
	json_decref(reply);
	return rc;
}
