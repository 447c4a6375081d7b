/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * * Named sets of Swift's parameters, built in and from files.
 *
 * In a file, a line that starts in the first column with
 *
 * *       config = "NAME"
 *
 * opens a set, with defaults; any other text in the first column closes it and is otherwise
 * ignored. On the rest of the line, the name of another set takes over its values ("as in
 * default"), a parameter's name begins settings, and everything else is a remark. In the indented
 * lines after it, settings are NAME VALUE or NAME = VALUE, between them perhaps a remark in
 * parentheses. A comma after the value announces another setting, on this line or the next; what
 * else follows a value is a remark. Empty lines mean nothing, and neither do lines whose first word
 * is "parameter" or "derived", or names a parameter of the reference that Swift ignores.
 */
#ifndef FALCON_RUE_CONFIGS_H
#define FALCON_RUE_CONFIGS_H

#include <stddef.h>
#include <stdio.h>

#include "rue/swift.h"

enum {
	RUE_CONFIGS_MAX = 64,
	RUE_CONFIG_NAME = 32,
};

struct rue_config {
	char name[RUE_CONFIG_NAME];
	struct swift_params params;
};

struct rue_configs {
	size_t n;
	struct rue_config config[RUE_CONFIGS_MAX];
};

/*
 * The sets that the reference's vectors name: default, plb, eackdrop, alt; and software, falcond's own
 * default (README.md).
 */
void rue_configs_builtin(struct rue_configs *c);

/* The set called |name|, or NULL. */
const struct rue_config *rue_configs_find(const struct rue_configs *c, const char *name);

/*
 * Add the sets in |in|; one with a name that is there replaces it. Returns 0, or -EINVAL, -EIO with
 * the reason in |err|, the line's number first.
 */
int rue_configs_read(struct rue_configs *c, FILE *in, char *err, size_t size);

#endif /* FALCON_RUE_CONFIGS_H */
