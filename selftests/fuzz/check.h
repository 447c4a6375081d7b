/* SPDX-License-Identifier: BSD-2-Clause */
/* What the fuzzers check their invariants with. */
#ifndef FALCON_FUZZ_CHECK_H
#define FALCON_FUZZ_CHECK_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/* End the run, which libFuzzer then reports with its input, unless |x| holds. */
#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #x);                    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

enum { FDS_WATCHED = 256 };

/* How many descriptors with numbers below FDS_WATCHED are open. */
static inline unsigned int open_fds(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < FDS_WATCHED; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#endif /* FALCON_FUZZ_CHECK_H */
