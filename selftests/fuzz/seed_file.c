// SPDX-License-Identifier: BSD-2-Clause
#include "seed_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void seed_write(const char *dir, const char *kind, unsigned int n, const void *data, size_t len)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, kind);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/seed-%u", dir, kind, n);
	f = fopen(path, "wb");
	if (!f || fwrite(data, 1, len, f) != len || fclose(f)) {
		perror(path);
		exit(1);
	}
}
