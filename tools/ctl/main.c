// SPDX-License-Identifier: BSD-2-Clause
/*
 * falconctl: falconctl [OPTIONS] OBJECT ACTION ..., in the manner of ip(8) and bpftool(8): the command line,
 * abbreviations and help.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/keys.h"
#include "falcon/falcon.h"
#include "object.h"

struct command_line {
	struct options options;
	int argc;		/* the object, and what follows */
	char **argv;
};

int ctl_usage_error(const char *fmt, const char *what)
{
	fputs("falconctl: ", stderr);
	fprintf(stderr, fmt, what);
	fputs("; try falconctl --help\n", stderr);
	return CTL_USAGE;
}

void ctl_parse(const char *name, const struct argp *argp, int argc, char **argv, void *input)
{
	char program[64];

	snprintf(program, sizeof(program), "falconctl %s", name);
	/* The word before is the object's or the action's; argp takes it for the program's name. */
	argv[-1] = program;
	cli_parse(argp, 0, argc + 1, argv - 1, input);
}

static int help_add(void)
{
	const struct config_section *s = &config_sections[CONFIG_CONNECTION];
	const struct config_key *k;
	size_t offset;

	puts("Usage: falconctl conn add NAME KEY=VALUE ...\n\nKeys, as in falcon.conf(5):");
	for (unsigned int i = 0; (k = config_key_at(s, i, &offset)); i++)
		printf("  %-15s %s%s%s%s\n", k->name, k->help, k->unit ? " (" : "",
		       k->unit ? k->unit : "", k->unit ? ")" : "");
	return CTL_OK;
}

static void help_object(const struct object *obj)
{
	for (int i = 0; i < ACTIONS_MAX && obj->actions[i].name; i++) {
		const struct action *a = &obj->actions[i];
		char command[64];

		snprintf(command, sizeof(command), "%s %s %s", obj->name, a->name, a->args);
		printf("  falconctl %-34s %s\n", command, a->help);
	}
}

static void help_all(void)
{
	puts("Usage: falconctl [OPTION...] OBJECT ACTION ...\n"
	     "Objects and actions may be abbreviated; the first action is the default, also where\n"
	     "an abbreviation fits another one, too. The options are in falconctl --help.\n");
	for (int i = 0; i < ctl_nobjects; i++)
		help_object(&ctl_objects[i]);
}

/*
 * Index of the word that |text| is or abbreviates, among |n| whose names |name_at| gives; -1 after
 * a message if there is none or more than one.
 */
static int match(const char *text, int n, const char *(*name_at)(const void *of, int i),
		 const void *of, const char *kind)
{
	int found = -1, candidates = 0;

	for (int i = 0; i < n && name_at(of, i); i++) {
		if (strcmp(name_at(of, i), text) == 0)
			return i;
		if (strncmp(name_at(of, i), text, strlen(text)) == 0) {
			found = i;
			candidates++;
		}
	}
	if (candidates == 1)
		return found;
	fprintf(stderr, "falconctl: %s %s \"%s\"; there are", candidates ? "ambiguous" : "unknown",
		kind, text);
	for (int i = 0; i < n && name_at(of, i); i++)
		fprintf(stderr, " %s", name_at(of, i));
	fputc('\n', stderr);
	return -1;
}

static const char *object_name(const void *of, int i)
{
	return ((const struct object *)of)[i].name;
}

static const char *action_name(const void *of, int i)
{
	return ((const struct action *)of)[i].name;
}

/* |a| is the action that would have the words. One with options has its own answer to --help. */
static bool wants_help(const struct action *a, int argc, char **argv)
{
	if (argc == 0)
		return false;
	return !strcmp(argv[0], "help") ||
	       (!strstr(a->args, OPTIONS) && (!strcmp(argv[0], "-h") || !strcmp(argv[0], "--help")));
}

static int run_object(const struct options *o, const struct object *obj, int argc, char **argv)
{
	const struct action *a = &obj->actions[0];

	if (wants_help(a, argc, argv)) {
		help_object(obj);
		return CTL_OK;
	}
	/* Options belong to the default action. */
	if (argc > 0 && argv[0][0] != '-') {
		bool first = strncmp(a->name, argv[0], strlen(argv[0])) == 0;
		int i = first ? 0 : match(argv[0], ACTIONS_MAX, action_name, obj->actions, "action");

		if (i < 0)
			return CTL_USAGE;
		a = &obj->actions[i];
		argc--;
		argv++;
	}
	if (wants_help(a, argc, argv) && a->run == ctl_conn_add)
		return help_add();
	if (wants_help(a, argc, argv)) {
		printf("Usage: falconctl %s %s %s\n%s\n", obj->name, a->name, a->args, a->help);
		return CTL_OK;
	}
	return a->run(o, obj, argc, argv);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_line *line = state->input;

	switch (key) {
	case 'p': line->options.pretty = true; /* fall through */
	case 'j': line->options.json = true; return 0;
	case 's': line->options.socket = arg; return 0;
	case ARGP_KEY_ARG:
		/* The object: what follows is its own. */
		line->argc = state->argc - state->next + 1;
		line->argv = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_state_help(state, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC |
				ARGP_HELP_EXIT_ERR);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* The objects, at the end of --help. */
static char *help_objects(int key, const char *text, void *input)
{
	char *list = NULL;
	size_t size;
	FILE *f;

	(void)input;
	if (key != ARGP_KEY_HELP_EXTRA)
		return (char *)text;
	f = open_memstream(&list, &size);
	if (!f)
		return NULL;
	fputs("Objects, whose actions \"falconctl help\" lists:\n", f);
	for (int i = 0; i < ctl_nobjects; i++)
		fprintf(f, "\n  %-10s %s", ctl_objects[i].name, ctl_objects[i].help);
	fclose(f);
	return list;
}

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "pretty", 'p', NULL, 0, "Print JSON for people", 0 },
	{ "socket", 's', "SOCKET", 0,
	  "The agent's; default $FALCON_SOCKET, else " FALCON_DEFAULT_SOCKET, 0 },
	{},
};

static const struct argp argp = {
	.options = options, .parser = parse, .args_doc = "OBJECT [ACTION] ...",
	.doc = "Look into the Falcon agent and change its connections: falconctl(8).",
	.help_filter = help_objects,
};

int main(int argc, char **argv)
{
	struct command_line line = { .argc = 0 };
	int i;

	argp_err_exit_status = CTL_USAGE;
	cli_parse(&argp, ARGP_IN_ORDER, argc, argv, &line);
	if (!strcmp(line.argv[0], "help")) {
		help_all();
		return CTL_OK;
	}
	i = match(line.argv[0], ctl_nobjects, object_name, ctl_objects, "object");
	if (i < 0)
		return CTL_USAGE;
	return run_object(&line.options, &ctl_objects[i], line.argc - 1, line.argv + 1);
}
