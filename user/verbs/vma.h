/* SPDX-License-Identifier: BSD-2-Clause */
/* The process's own mappings. */
#ifndef FALCON_VERBS_VMA_H
#define FALCON_VERBS_VMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether all of [addr, addr + len) is mapped so that it may be written (|write|), or read. True also if
 * that cannot be found out, as without /proc.
 */
bool fv_vma_allows(uintptr_t addr, size_t len, bool write);
/* The same, as kernels before 6.11 have it told. */
bool fv_vma_allows_by_text(uintptr_t addr, size_t len, bool write);

#endif /* FALCON_VERBS_VMA_H */
