/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for secrets: never swapped out, in no core dump, not inherited by children, wiped. */
#ifndef FALCON_CRYPTO_LOCKED_H
#define FALCON_CRYPTO_LOCKED_H

#include <stddef.h>

/*
 * Whole pages of zeroes, |size| bytes at least. NULL with errno set if the system does not give them
 * (ENOMEM, or EPERM and EAGAIN by RLIMIT_MEMLOCK) or cannot keep them as promised.
 */
void *locked_new(size_t size);

/* Wipe and give back; |size| as for locked_new(). NULL is allowed. */
void locked_free(void *p, size_t size);

#endif /* FALCON_CRYPTO_LOCKED_H */
