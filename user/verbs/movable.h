/* SPDX-License-Identifier: BSD-2-Clause */
/* Which memory may be moved without its process noticing. */
#ifndef FALCON_VERBS_MOVABLE_H
#define FALCON_VERBS_MOVABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FV_PAGE = 4096 };

/*
 * Whether the pages that have [addr, addr + len) may be moved, as README.md says ("Where memory lies"). Then
 * they are [*start, *end). Reads [addr, addr + len), which is there.
 */
bool fv_movable(uintptr_t addr, size_t len, uintptr_t *start, uintptr_t *end);

#endif /* FALCON_VERBS_MOVABLE_H */
