/* SPDX-License-Identifier: BSD-2-Clause */
/* Environment variables that the library and falcon-run look at: all of them, and nowhere else. */
#ifndef FALCON_VERBS_ENV_H
#define FALCON_VERBS_ENV_H

#include <stdio.h>

enum fv_env {
	FV_ENV_SOCKET,
	FV_ENV_ORDERING,
	FV_ENV_ERRORS,
	FV_ENV_POLL,
	FV_ENV_COPY,
	FV_ENV_MEMORY,
	FV_ENV_THREAD,
	FV_ENVS,
};

/* The value, or the default. */
const char *fv_env_string(enum fv_env which);
/* Of a variable that is one word of a list: which, from 0; the default's if it is none of them. */
unsigned int fv_env_choice(enum fv_env which);
/* Of a number; the default if it is none or out of range. */
unsigned int fv_env_number(enum fv_env which);
/* One line a variable that is set to what it cannot be; returns how many. */
unsigned int fv_env_complain(FILE *out);
/* All variables with their values, defaults and meanings. */
void fv_env_list(FILE *out);

#endif /* FALCON_VERBS_ENV_H */
