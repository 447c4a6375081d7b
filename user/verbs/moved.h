/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of the process that has been moved to areas, because it was registered (README.md, "Where memory
 * lies"). All contexts of the process together.
 */
#ifndef FALCON_VERBS_MOVED_H
#define FALCON_VERBS_MOVED_H

#include "verbs/agent.h"

/* Where registered memory may go; the order is that of FALCON_VERBS_MEMORY's words. */
enum fv_memory {
	FV_MEMORY_AUTO,
	FV_MEMORY_OFFLOAD,
	FV_MEMORY_SHARED,
	FV_MEMORY_PLAIN,
};

/*
 * A region of |agent|'s is to be made of [addr, addr + len), which lies in no area of its own accord. Moves
 * it if |to| allows that and it may be moved; |remote|: peers may reach it. 0: it lies in area
 * |*area|; -ENOENT: where it always did; -ENOMEM. Unless it was the last, fv_moved_put() when the region
 * is no more.
 */
int fv_moved_get(struct fv_agent *agent, const void *addr, size_t len, enum fv_memory to, bool remote,
		 uint32_t *area, __u64 *offset);
/* When no region has any of its pages any more, moved memory goes back to where it was. */
void fv_moved_put(struct fv_agent *agent, const void *addr, size_t len);
/* |agent|'s areas are to be unmapped, and it has no regions any more. */
void fv_moved_leave(struct fv_agent *agent);

/* ---- for hook.c: allocate nothing ---- */

/* Whether anything is moved. */
bool fv_moved_any(void);
/* Whether any of [addr, addr + len) is. */
bool fv_moved_has(uintptr_t addr, size_t len);
/* madvise() of MADV_DONTNEED and its like, where moved memory becomes zero in its place. */
int fv_moved_discard(uintptr_t addr, size_t len, int advice);

#endif /* FALCON_VERBS_MOVED_H */
