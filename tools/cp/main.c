// SPDX-License-Identifier: BSD-2-Clause
/* falcon-cp: copies files over raw transactions. This file: the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cli.h"
#include "cp.h"

enum option_id {
	OPT_SERVE = 256,
	OPT_TIMEOUT,
	OPT_SERVICE,
};

/* The command line. */
struct line {
	struct cp_config *cfg;
	const char *name[2];
	unsigned int names;
};

static const struct argp_option options[] = {
	{ .name = "serve", .key = OPT_SERVE, .arg = "DIR", .doc = "Be the host: serve directory DIR" },
	{ .name = "timeout", .key = OPT_TIMEOUT, .arg = "S",
	  .doc = "Give up after S seconds without progress (30)" },
	{ .name = "service", .key = OPT_SERVICE, .arg = "N",
	  .doc = "Service number at the far end, or to serve under (2)" },
	{ .name = "json", .key = 'j', .doc = "Print what was copied as a JSON object" },
	{},
};

/* A local target that is a directory is to be completed like one that ends in '/'. */
static void mark_directory(char *path, size_t size)
{
	size_t len = strlen(path);
	struct stat st;

	if (len && path[len - 1] != '/' && len + 1 < size && !stat(path, &st) &&
	    S_ISDIR(st.st_mode))
		strcat(path, "/");
}

static void set_names(const struct argp_state *state, struct cp_config *cfg, const char *from, const char *to)
{
	bool completed;

	if (cp_split_remote(from, cfg)) {
		if (strlen(to) >= sizeof(cfg->local))
			argp_error(state, "the name is too long");
		strcpy(cfg->local, to);
		mark_directory(cfg->local, sizeof(cfg->local));
		completed = cp_complete_name(cfg->local, sizeof(cfg->local), cfg->remote);
	} else if (cp_split_remote(to, cfg)) {
		if (strlen(from) >= sizeof(cfg->local))
			argp_error(state, "the name is too long");
		cfg->upload = true;
		strcpy(cfg->local, from);
		completed = cp_complete_name(cfg->remote, sizeof(cfg->remote), from);
	} else {
		argp_error(state, "one of the two must be HOST:NAME");
		return;
	}
	if (!completed)
		argp_error(state, "that names no file");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct line *line = state->input;
	struct cp_config *cfg = line->cfg;

	switch (key) {
	case OPT_SERVE: cfg->dir = arg; break;
	case OPT_TIMEOUT: cfg->timeout = cli_number(state, "--timeout", arg, 1, 1000000); break;
	case OPT_SERVICE: cfg->service = (uint16_t)cli_number(state, "--service", arg, 1, 65535); break;
	case 'j': cfg->json = true; break;
	case ARGP_KEY_ARG:
		if (line->names < 2)
			line->name[line->names] = arg;
		line->names++;
		break;
	case ARGP_KEY_END:
		if (cfg->dir && line->names)
			argp_error(state, "--serve DIR takes no more names");
		if (!cfg->dir && line->names != 2)
			argp_error(state, "name a source and a target");
		if (!cfg->dir)
			set_names(state, cfg, line->name[0], line->name[1]);
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options, .parser = parse_option,
	.args_doc = "FILE HOST:[NAME]\nHOST:NAME FILE\n--serve DIR",
	.doc = "Copy a file to a host, which is a connection's name, or from one, where another falcon-cp "
	       "serves.",
};

int main(int argc, char **argv)
{
	static struct cp_config cfg = { .service = APP_CP_SERVICE, .timeout = 30 };
	struct line line = { .cfg = &cfg };

	cli_parse(&argp, 0, argc, argv, &line);
	app_catch_signals();
	return cfg.dir ? cp_serve(&cfg) : cp_client(&cfg);
}
