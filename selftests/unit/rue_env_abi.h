/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the shared objects are that tests of loading load. */
#ifndef FALCON_SELFTESTS_RUE_ENV_ABI_H
#define FALCON_SELFTESTS_RUE_ENV_ABI_H

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "unit.h"

/* |file| in the build directory, of which this program is in selftests/unit/. */
static inline const char *built(const char *file)
{
	static char path[PATH_MAX + 64];
	char self[PATH_MAX] = "";

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(path, sizeof(path), "%s/../../%s", dirname(self), file);
	return path;
}

#endif /* FALCON_SELFTESTS_RUE_ENV_ABI_H */
