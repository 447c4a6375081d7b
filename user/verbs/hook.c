// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls of the application's, and of its memory allocator, that would do something else to memory that has
 * been moved than to other. The C library's own calls do not come here: movable.c leaves out what it makes
 * them for.
 */
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs/fv.h"
#include "verbs/moved.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

/* What is discarded reads as zero, which shared memory does not, and a BPF map's does not read at all. */
FV_EXPORT int madvise(void *addr, size_t len, int advice)
{
	bool discards = advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED || advice == MADV_FREE;

	if (!fv_moved_any() || !fv_moved_has((uintptr_t)addr, len))
		return (int)syscall(SYS_madvise, addr, len, advice);
	if (discards)
		return fv_moved_discard((uintptr_t)addr, len, advice);
	/* A child would share it with its parent. */
	if (advice == MADV_DOFORK)
		return 0;
	return (int)syscall(SYS_madvise, addr, len, advice);
}

/* Memory that grows leaves its area: behind it is what is not the application's. */
static void *grow(void *old, size_t old_size, size_t new_size, int flags, void *fixed)
{
	int where = flags & MREMAP_FIXED ? MAP_FIXED : 0;
	void *mem;

	if (!(flags & MREMAP_MAYMOVE)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	mem = mmap(fixed, new_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | where, -1, 0);
	if (mem == MAP_FAILED)
		return mem;
	memcpy(mem, old, old_size);
	munmap(old, old_size);
	return mem;
}

FV_EXPORT void *mremap(void *old, size_t old_size, size_t new_size, int flags, ...)
{
	void *fixed = NULL;
	va_list ap;

	if (flags & MREMAP_FIXED) {
		va_start(ap, flags);
		fixed = va_arg(ap, void *);
		va_end(ap);
	}
	if (new_size > old_size && old_size && fv_moved_any() && fv_moved_has((uintptr_t)old, old_size))
		return grow(old, old_size, new_size, flags, fixed);
	return (void *)syscall(SYS_mremap, old, old_size, new_size, flags, fixed);
}

/* It discards pages of what is free in the heap, where regions may still be. */
FV_EXPORT int malloc_trim(size_t pad)
{
	static void *seen;
	int (*real)(size_t) = (__typeof__(real))fv_real_once(&seen, "malloc_trim");

	return fv_moved_any() || !real ? 0 : real(pad);
}
