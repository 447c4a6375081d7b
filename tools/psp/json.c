// SPDX-License-Identifier: BSD-2-Clause
#include "psp.h"

void print_json(json_t *value)
{
	json_dumpf(value, stdout, 0);
	putchar('\n');
	json_decref(value);
}
