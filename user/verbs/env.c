// SPDX-License-Identifier: BSD-2-Clause
/* The table of environment variables. */
#include "verbs/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "falcon/falcon.h"

static const struct variable {
	const char *name;
	const char *values;	/* words, separated by '|'; NULL: a number up to |max|, or any string */
	unsigned long max;	/* of a number; 0: a string */
	const char *standard;	/* what it is if it is not set */
	const char *help;
} variables[FV_ENVS] = {
	[FV_ENV_SOCKET] = { "FALCON_SOCKET", NULL, 0, FALCON_DEFAULT_SOCKET,
		"control socket of the agent" },
	[FV_ENV_ORDERING] = { "FALCON_QP_ORDERING", "strong|weak|unordered", 0, "strong",
		"how queue pairs order what they do (RDMA 6.2)" },
	[FV_ENV_ERRORS] = { "FALCON_QP_ERRORS", "verbs|complete", 0, "verbs",
		"whether an error ends a queue pair or completes one request (RDMA 6.3)" },
	[FV_ENV_POLL] = { "FALCON_VERBS_POLL", "auto|nap|yield|spin", 0, "auto",
		"what polling an empty queue again and again does with the CPU" },
	[FV_ENV_COPY] = { "FALCON_VERBS_COPY", NULL, 1024, "256",
		"bytes of payload that are copied into the work request, at most" },
	[FV_ENV_MEMORY] = { "FALCON_VERBS_MEMORY", "auto|offload|shared|plain", 0, "plain",
		"where the pages of registered memory may go: what XDP reaches, or the agent" },
	[FV_ENV_THREAD] = { "FALCON_VERBS_THREAD", "auto|0|1|2|3|4|5|6|7", 0, "auto",
		"which of the agent's threads serves the application" },
};

static const char *set_to(enum fv_env which)
{
	const char *value = getenv(variables[which].name);

	return value && *value ? value : NULL;
}

/* Which of the words of |values| |value| is; -1: none. */
static int word_of(const char *values, const char *value)
{
	size_t len = strlen(value);
	int i = 0;

	for (const char *p = values; p; i++) {
		const char *end = strchrnul(p, '|');

		if ((size_t)(end - p) == len && !memcmp(p, value, len))
			return i;
		p = *end ? end + 1 : NULL;
	}
	return -1;
}

/* 0 and the number, or -1. */
static int number_of(const struct variable *v, const char *value, unsigned int *out)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (errno || *end || end == value || *value == '-' || n > v->max)
		return -1;
	*out = (unsigned int)n;
	return 0;
}

const char *fv_env_string(enum fv_env which)
{
	const char *value = set_to(which);

	return value ? value : variables[which].standard;
}

unsigned int fv_env_choice(enum fv_env which)
{
	const struct variable *v = &variables[which];
	int word = word_of(v->values, fv_env_string(which));

	return (unsigned int)(word >= 0 ? word : word_of(v->values, v->standard));
}

unsigned int fv_env_number(enum fv_env which)
{
	const struct variable *v = &variables[which];
	unsigned int n = 0;

	if (number_of(v, fv_env_string(which), &n))
		number_of(v, v->standard, &n);
	return n;
}

unsigned int fv_env_complain(FILE *out)
{
	unsigned int bad = 0, n;

	for (int i = 0; i < FV_ENVS; i++) {
		const struct variable *v = &variables[i];
		const char *value = set_to(i);

		if (!value)
			continue;
		if (v->values && word_of(v->values, value) < 0) {
			fprintf(out, "%s=%s: must be one of %s\n", v->name, value, v->values);
			bad++;
		} else if (v->max && number_of(v, value, &n)) {
			fprintf(out, "%s=%s: must be a number from 0 to %lu\n", v->name, value,
				v->max);
			bad++;
		}
	}
	return bad;
}

void fv_env_list(FILE *out)
{
	for (int i = 0; i < FV_ENVS; i++) {
		const struct variable *v = &variables[i];

		fprintf(out, "%s=%s\n    %s", v->name, fv_env_string(i), v->help);
		if (v->values)
			fprintf(out, ": %s", v->values);
		fprintf(out, " (default %s)\n", v->standard);
	}
}
