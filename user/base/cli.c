// SPDX-License-Identifier: BSD-2-Clause
#include "base/cli.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/version.h"

enum cli_const {
	KEY_USAGE = 0x100000,	/* beyond those of all programs */
	EXIT_WRONG_LINE = 2,
};

static const struct argp_option common[] = {
	{ .name = "help", .key = 'h', .doc = "Print this and exit", .group = -1 },
	{ .name = "usage", .key = KEY_USAGE, .doc = "Print the options in short and exit", .group = -1 },
	{ .name = "version", .key = 'V', .doc = "Print the version and exit", .group = -1 },
	{},
};

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case 'V':
		printf("%s %s\n", state->name, FALCON_VERSION_STRING);
		exit(EXIT_SUCCESS);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void cli_parse(const struct argp *argp, unsigned int flags, int argc, char **argv, void *input)
{
	const struct argp own = { .options = argp->options, .parser = argp->parser };
	const struct argp_child children[] = { { .argp = &own }, {} };
	const struct argp all = {
		.options = common, .parser = parse_common, .args_doc = argp->args_doc, .doc = argp->doc,
		.children = children, .help_filter = argp->help_filter,
	};

	if (argp_err_exit_status == EX_USAGE)
		argp_err_exit_status = EXIT_WRONG_LINE;
	/* Only memory can be short: what is wrong with the line has ended the program. */
	if (argp_parse(&all, argc, argv, flags | ARGP_NO_HELP, NULL, input)) {
		fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
		exit(argp_err_exit_status);
	}
}

static bool read_digits(const char *text, char **end, uint64_t *out)
{
	int base = text[0] == '0' && text[1] == 'x' ? 16 : 10;

	/* strtoull() would take blanks and signs. */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, end, base);
	return !errno;
}

int cli_read_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	return read_digits(text, &end, out) && !*end && *out >= min && *out <= max ? 0 : -EINVAL;
}

static bool read_size(const char *text, uint64_t *out)
{
	unsigned int shift = 0;
	char *end;

	if (!read_digits(text, &end, out))
		return false;
	switch (*end) {
	case 'K': shift = 10; break;
	case 'M': shift = 20; break;
	case 'G': shift = 30; break;
	}
	if (shift)
		end++;
	if (*end || *out > UINT64_MAX >> shift)
		return false;
	*out <<= shift;
	return true;
}

uint64_t cli_number(const struct argp_state *state, const char *name, const char *text, uint64_t min,
		    uint64_t max)
{
	uint64_t n = 0;

	if (cli_read_number(text, min, max, &n))
		argp_error(state, "%s: \"%s\" is not a number from %llu to %llu", name, text,
			   (unsigned long long)min, (unsigned long long)max);
	return n;
}

uint64_t cli_size(const struct argp_state *state, const char *name, const char *text, uint64_t min,
		  uint64_t max)
{
	uint64_t n = 0;

	if (!read_size(text, &n) || n < min || n > max)
		argp_error(state, "%s: \"%s\" is not a size from %llu to %llu bytes", name, text,
			   (unsigned long long)min, (unsigned long long)max);
	return n;
}

double cli_real(const struct argp_state *state, const char *name, const char *text, double min, double max)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text || *end || !(n >= min && n <= max))
		argp_error(state, "%s: \"%s\" is not a number from %g to %g", name, text, min, max);
	return n;
}
