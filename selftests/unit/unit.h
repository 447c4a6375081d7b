/* SPDX-License-Identifier: BSD-2-Clause */
/* What every cmocka test here starts with. */
#ifndef FALCON_SELFTESTS_UNIT_H
#define FALCON_SELFTESTS_UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Run the array of tests |tests|, results in TAP. For use as "return unit_run(tests);". */
#define unit_run(tests)                                                                            \
	(cmocka_set_message_output(CM_OUTPUT_TAP), cmocka_run_group_tests(tests, NULL, NULL))

/* The next of a fixed pseudo-random sequence (xorshift64); |*state| starts non-zero. */
static inline uint64_t unit_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

enum { UNIT_PATH = 80 };	/* bytes: a socket in such a folder has a name that fits */

/*
 * Make |path|, of UNIT_PATH bytes, a template for mkdtemp() or mkstemp(), where temporary files belong: the
 * runner looks there for what a test has left behind.
 */
static inline char *unit_template(char *path, const char *name)
{
	const char *folder = getenv("TMPDIR");

	snprintf(path, UNIT_PATH, "%s/%s-XXXXXX", folder ? folder : "/tmp", name);
	return path;
}

#endif /* FALCON_SELFTESTS_UNIT_H */
