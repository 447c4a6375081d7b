/* SPDX-License-Identifier: BSD-2-Clause */
/* falconctl(8): asking the agent (falconctl_request.c), printing (falconctl_table.c). */
#ifndef FALCON_TOOLS_FALCONCTL_H
#define FALCON_TOOLS_FALCONCTL_H

#include <jansson.h>
#include <stdbool.h>

/* Exit statuses, as ip(8) has them. */
enum ctl_exit {
	CTL_OK = 0,
	CTL_USAGE = 1,		/* the command line is wrong */
	CTL_FAILED = 2,		/* the agent refuses, or there is none */
};

/*
 * Send |req|, which is released, to the agent at |path| and wait for its reply. The reply, to be
 * released by the caller, if the agent says "ok"; otherwise NULL, after a sentence on stderr.
 */
json_t *ctl_request(const char *path, json_t *req);

/* A column of a table: the member that it shows, and its heading. */
struct ctl_column {
	const char *key;
	const char *title;
};

/* Print |rows|, an array of objects, as a table; |columns| ends with a NULL key. */
void ctl_print_table(const json_t *rows, const struct ctl_column *columns);

/* Print every member of each row as "key: value", a blank line between rows. */
void ctl_print_list(const json_t *rows);

/* True if all of the row's numbers are 0. */
bool ctl_row_is_zero(const json_t *row);

#endif /* FALCON_TOOLS_FALCONCTL_H */
