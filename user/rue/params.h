/* SPDX-License-Identifier: BSD-2-Clause */
/* Swift's parameters by name: units, ranges, defaults (Falcon 10.5). */
#ifndef FALCON_RUE_PARAMS_H
#define FALCON_RUE_PARAMS_H

#include <stddef.h>

#include "rue/swift.h"

enum swift_param_type {
	SWIFT_REAL,
	SWIFT_UINT,
	SWIFT_BOOL,
};

struct swift_param {
	const char *name;
	const char *spec;	/* the specification's name, accepted too; NULL if it has none */
	const char *unit;	/* "" for a plain number */
	const char *help;
	enum swift_param_type type;
	size_t offset;		/* in struct swift_params */
	double min, max;
	bool above_min;		/* more than |min|, not equal */
	bool below_max;
	double def;
};

enum { SWIFT_PARAM_TEXT = 64 };	/* bytes that hold any value or range as text */

/* The table; |*n| becomes its length. */
const struct swift_param *swift_params_table(size_t *n);

/* The entry called |name| (|len| bytes), or NULL. */
const struct swift_param *swift_params_find(const char *name, size_t len);

/* All parameters at their defaults. */
void swift_params_default(struct swift_params *p);

/*
 * * Set the parameter of entry |param| from |text|: a number, or for a switch on, off, true, false,
 * 1 or 0. Returns 0, or -EINVAL with the reason in |err|: not a value of its type, or out of range.
 */
int swift_params_set(struct swift_params *p, const struct swift_param *param, const char *text,
		     char *err, size_t size);

/* As above from "name=value"; also -EINVAL if there is no such name. */
int swift_params_set_pair(struct swift_params *p, const char *pair, char *err, size_t size);

/*
 * Check all of |p|: ranges, and what parameters ask of each other. Returns 0, or -EINVAL with the
 * reason in |err|.
 */
int swift_params_check(const struct swift_params *p, char *err, size_t size);

/* The value of |param| in |p|, a switch as 0 or 1. */
double swift_params_get(const struct swift_params *p, const struct swift_param *param);

/* |value| of |param| as swift_params_set() would read it back to the same bits, in |text|. */
const char *swift_params_format(const struct swift_param *param, double value,
				char text[SWIFT_PARAM_TEXT]);

/* The range as an interval, "(0, 1)" without and "[0, 1]" with its ends, in |text|. */
const char *swift_params_range(const struct swift_param *param, char text[SWIFT_PARAM_TEXT]);

#endif /* FALCON_RUE_PARAMS_H */
