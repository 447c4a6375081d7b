// SPDX-License-Identifier: BSD-2-Clause
/* falcon-run CMD ...: run a verbs application over Falcon, having said what is missing. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/sched_attr.h"
#include "verbs/agent.h"
#include "verbs/env.h"
#include "verbs/tree.h"

enum {
	EXIT_OURS = 125,	/* as env(1): we failed, */
	EXIT_CANNOT = 126,	/* the command cannot be run, */
	EXIT_NOT_FOUND = 127,	/* there is none of that name */
};

struct options {
	const char *library;
	bool check, list;
	char **command;		/* NULL: none */
};

static const struct argp_option options[] = {
	{ .name = "socket", .key = 's', .arg = "SOCKET",
	  .doc = "The agent's control socket (FALCON_SOCKET)" },
	{ .name = "library", .key = 'l', .arg = "LIBRARY",
	  .doc = "libfalcon_verbs.so, if it is not beside this program or installed" },
	{ .name = "slice", .key = 't', .arg = "US",
	  .doc = "Time slices of so many microseconds, 100 to 100000, for CMD" },
	{ .name = "check", .key = 'c', .doc = "Check only, and list the devices" },
	{ .name = "environment", .key = 'e', .doc = "List the environment variables" },
	{},
};

__attribute__((format(printf, 1, 2)))
static void complain(const char *fmt, ...)
{
	va_list ap;

	fputs("falcon-run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* Where the library is: beside us as built, or where "make install" puts it. */
static bool find_library(char *out, size_t size)
{
	static const char *const places[] = {
		"libfalcon_verbs.so", "../lib/" VERBS_LIBRARY, "../lib64/" VERBS_LIBRARY,
		"../lib/" MULTIARCH "/" VERBS_LIBRARY,
	};
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0)
		return false;
	self[n] = 0;
	slash = strrchr(self, '/');
	*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char real[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", self, places[i]);
		if (realpath(path, real) && strlen(real) < size) {
			strcpy(out, real);
			return true;
		}
	}
	return false;
}

/* Why the agent cannot be attached to, and what would help. */
static void explain(int err)
{
	const char *path = fv_env_string(FV_ENV_SOCKET);

	switch (err) {
	case ENOENT:
	case ECONNREFUSED:
		complain("there is no agent at %s", path);
		complain("start falcond(8), or name another socket with --socket or FALCON_SOCKET");
		break;
	case EACCES:
	case EPERM:
		complain("no permission to use the agent at %s: %s", path, fv_error());
		complain("see socket_group and users in falcon.conf(5)");
		break;
	default:
		complain("%s", fv_error());
	}
}

/* Have the tree that stands for sysfs ready; |show|: and print a line. */
static int note_device(struct fv_agent *agent, uint32_t index, bool show)
{
	const struct fverbs_handle req = { .handle = index };
	struct fverbs_device d;

	if (fv_call(agent, FVERBS_QUERY_DEVICE, &req, sizeof(req), -1, &d, sizeof(d)))
		return -1;
	fv_tree_write(&d);
	if (!show)
		return 0;
	printf("%.*s: interface %.*s, %s, %u GIDs\n", FVERBS_NAME_MAX, d.name, (int)sizeof(d.netdev),
	       d.netdev, d.port_state == 4 ? "active" : "down", d.ngids);
	return 0;
}

/* Whether the agent can be attached to and has a device; |list|: and which. */
static bool check_agent(bool list)
{
	struct fv_agent agent;
	uint32_t n;
	int rc;

	rc = fv_agent_open(&agent, NULL);
	if (rc) {
		explain(rc);
		return false;
	}
	n = agent.devices;
	for (uint32_t i = 0; i < n; i++)
		note_device(&agent, i, list);
	fv_agent_close(&agent);
	if (!n)
		complain("the agent serves no interface: add a [port] section to falcon.conf(5) and start it "
			 "again");
	return n != 0;
}

/* A program that gets other rights than ours is not given our library by the dynamic linker. */
static void warn_of_rights(const char *cmd)
{
	char path[PATH_MAX];
	struct stat st;
	const char *dirs = getenv("PATH");

	if (strchr(cmd, '/'))
		snprintf(path, sizeof(path), "%s", cmd);
	else
		path[0] = 0;
	while (dirs && !path[0] && *dirs) {
		size_t len = strcspn(dirs, ":");

		snprintf(path, sizeof(path), "%.*s/%s", (int)len, dirs, cmd);
		if (access(path, X_OK))
			path[0] = 0;
		dirs += len + (dirs[len] == ':');
	}
	if (path[0] && !stat(path, &st) &&
	    ((st.st_mode & S_ISUID && st.st_uid != getuid()) ||
	     (st.st_mode & S_ISGID && st.st_gid != getgid())))
		complain("%s changes user or group: it will not find Falcon's devices", path);
}

static int preload(const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	char *value;
	int rc;

	if (asprintf(&value, "%s%s%s", library, before && *before ? ":" : "",
		     before ? before : "") < 0)
		return -1;
	rc = setenv("LD_PRELOAD", value, 1);
	free(value);
	return rc;
}

/* What CMD inherits. 0, or a negative errno. */
static int set_slice(uint64_t ns)
{
	struct sched_attributes a = {};
	int rc = sched_get_attributes(&a);

	a.flags = 0;
	a.runtime = ns;
	if (rc < 0)
		return rc;
	return a.policy == SCHED_OTHER || a.policy == SCHED_BATCH ? sched_set_attributes(&a) : -EINVAL;
}

/* |text|: microseconds. */
static void take_slice(const struct argp_state *state, const char *text)
{
	uint64_t us = cli_number(state, "--slice", text, SCHED_ATTR_SLICE_MIN / 1000,
				 SCHED_ATTR_SLICE_MAX / 1000);
	int rc = set_slice(us * 1000);

	if (rc < 0)
		argp_failure(state, EXIT_OURS, 0, "--slice %s: %s", text,
			     rc == -EINVAL ? "this process is not scheduled by time slices" : strerror(-rc));
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 's': setenv("FALCON_SOCKET", arg, 1); break;
	case 'l': o->library = arg; break;
	case 't': take_slice(state, arg); break;
	case 'c': o->check = true; break;
	case 'e': o->list = true; break;
	case ARGP_KEY_ARGS: o->command = state->argv + state->next; break;
	case ARGP_KEY_END:
		if (!o->command && !o->check && !o->list)
			argp_error(state, "name a command");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options, .parser = parse_option, .args_doc = "CMD [ARG...]\n-c\n-e",
	.doc = "Run CMD so that it finds Falcon's devices where it looks for RDMA adapters.",
};

static int run(char **argv, const char *library)
{
	char found[PATH_MAX];

	if (!library) {
		if (!find_library(found, sizeof(found))) {
			complain("libfalcon_verbs.so is not beside this program, nor installed: --library");
			return EXIT_OURS;
		}
		library = found;
	} else if (access(library, R_OK)) {
		complain("%s: %s", library, strerror(errno));
		return EXIT_OURS;
	}
	if (fv_env_complain(stderr) || !check_agent(false))
		return EXIT_OURS;
	warn_of_rights(argv[0]);
	if (preload(library)) {
		complain("out of memory");
		return EXIT_OURS;
	}
	execvp(argv[0], argv);
	complain("%s: %s", argv[0], strerror(errno));
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT;
}

int main(int argc, char **argv)
{
	struct options o = {};

	argp_err_exit_status = EXIT_OURS;
	cli_parse(&argp, ARGP_IN_ORDER, argc, argv, &o);
	if (o.list) {
		fv_env_list(stdout);
		return 0;
	}
	if (o.check)
		return fv_env_complain(stderr) || !check_agent(true) ? EXIT_OURS : 0;
	return run(o.command, o.library);
}
