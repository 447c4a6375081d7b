/* SPDX-License-Identifier: BSD-2-Clause */
/* What every cmocka test here starts with. */
#ifndef FALCON_SELFTESTS_UNIT_H
#define FALCON_SELFTESTS_UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

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

#endif /* FALCON_SELFTESTS_UNIT_H */
