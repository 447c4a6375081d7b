// SPDX-License-Identifier: BSD-2-Clause
/* falcon-cp: copies files over raw transactions. This file: the command line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cp.h"

static const char usage_text[] =
"falcon-cp FILE HOST:[NAME]     copy a file to a host (a connection's name)\n"
"falcon-cp HOST:NAME FILE       copy a file from a host\n"
"falcon-cp --serve DIR          be the host: serve directory DIR\n"
"\n"
"  --timeout S    give up after S seconds without progress (30)\n"
"  --service N    service number at the far end, or to serve under (2)\n"
"  -j, --json     print what was copied as a JSON object\n"
"  -h, --help     print this\n";

enum option_id {
	OPT_SERVE = 256,
	OPT_TIMEOUT,
	OPT_SERVICE,
};

static const struct option options[] = {
	{ "serve", required_argument, NULL, OPT_SERVE },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "service", required_argument, NULL, OPT_SERVICE },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void __attribute__((noreturn)) bad_usage(const char *why)
{
	app_warn("%s; see --help", why);
	exit(2);
}

static uint64_t number(const char *text, uint64_t max)
{
	uint64_t n;

	if (app_parse_number(text, 1, max, &n))
		bad_usage("not a number in range");
	return n;
}

static void set_option(struct cp_config *cfg, int opt, const char *arg)
{
	switch (opt) {
	case OPT_SERVE: cfg->dir = arg; break;
	case OPT_TIMEOUT: cfg->timeout = number(arg, 1000000); break;
	case OPT_SERVICE: cfg->service = (uint16_t)number(arg, 65535); break;
	case 'j': cfg->json = true; break;
	case 'h': fputs(usage_text, stdout); exit(0);
	default: exit(2);
	}
}

/* A local target that is a directory is to be completed like one that ends in '/'. */
static void mark_directory(char *path, size_t size)
{
	size_t len = strlen(path);
	struct stat st;

	if (len && path[len - 1] != '/' && len + 1 < size && !stat(path, &st) &&
	    S_ISDIR(st.st_mode))
		strcat(path, "/");
}

static void set_names(struct cp_config *cfg, const char *from, const char *to)
{
	bool completed;

	if (cp_split_remote(from, cfg)) {
		if (strlen(to) >= sizeof(cfg->local))
			bad_usage("the name is too long");
		strcpy(cfg->local, to);
		mark_directory(cfg->local, sizeof(cfg->local));
		completed = cp_complete_name(cfg->local, sizeof(cfg->local), cfg->remote);
	} else if (cp_split_remote(to, cfg)) {
		if (strlen(from) >= sizeof(cfg->local))
			bad_usage("the name is too long");
		cfg->upload = true;
		strcpy(cfg->local, from);
		completed = cp_complete_name(cfg->remote, sizeof(cfg->remote), from);
	} else {
		bad_usage("one of the two must be HOST:NAME");
	}
	if (!completed)
		bad_usage("that names no file");
}

int main(int argc, char **argv)
{
	static struct cp_config cfg = { .service = APP_CP_SERVICE, .timeout = 30 };
	int opt;

	while ((opt = getopt_long(argc, argv, "jh", options, NULL)) != -1)
		set_option(&cfg, opt, optarg);
	app_catch_signals();
	if (cfg.dir) {
		if (optind != argc)
			bad_usage("--serve DIR takes no more names");
		return cp_serve(&cfg);
	}
	if (argc - optind != 2)
		bad_usage("name a source and a target");
	set_names(&cfg, argv[optind], argv[optind + 1]);
	return cp_client(&cfg);
}
