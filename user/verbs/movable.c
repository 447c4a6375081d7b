// SPDX-License-Identifier: BSD-2-Clause
/*
 * Moved memory differs from other in that other processes share it: shared futexes there have other names,
 * and what the C library gives back to the kernel (MADV_DONTNEED) is gone from a BPF map for good. So
 * nothing is moved but pages that are the region's alone, and nothing of threads' stacks and of the C
 * library's arenas.
 */
#include "verbs/movable.h"

#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs/vma.h"

enum {
	CHUNK_HEADER = 16,		/* bytes before what malloc() returns */
	CHUNK_FLAGS = 7,		/* in the low bits of its size */
	CHUNK_MAPPED = 2,		/* the chunk is a mapping of its own */
	ARENA_SHIFT_MIN = 20, ARENA_SHIFT_MAX = 36,	/* heaps of arenas are aligned to a power of two */
	ARENA_AT_MIN = 16, ARENA_AT_MAX = 256,	/* bytes into its first heap: where an arena begins */
};

/* What an allocator has there is nobody else's to read, as sanitizers know. */
__attribute__((no_sanitize("address", "thread")))
static uint64_t word(uintptr_t at)
{
	return *(const volatile uint64_t *)at;
}

/* glibc: a chunk that is a mapping of its own has its header at |at|, and all of [start, end). */
static bool chunk_has(uintptr_t at, uintptr_t start, uintptr_t end)
{
	uint64_t before, size;

	if (!fv_vma_allows(FV_VMA_BEST, at, CHUNK_HEADER, false))
		return false;
	before = word(at);
	size = word(at + sizeof(size));
	if ((size & CHUNK_FLAGS) != CHUNK_MAPPED)
		return false;
	size &= ~(uint64_t)CHUNK_FLAGS;
	return before <= at && size <= UINTPTR_MAX - at && (at - before) % FV_PAGE == 0 &&
	       (at + size) % FV_PAGE == 0 && at - before <= start && at + size >= end;
}

/* The pages [start, end) have nothing but the region [addr, ...), or but what malloc() needs for it. */
static bool alone(uintptr_t addr, uintptr_t last, uintptr_t start, uintptr_t end)
{
	if (addr == start && last == end)
		return true;
	return chunk_has(start, start, end) ||
	       (addr >= CHUNK_HEADER && chunk_has(addr - CHUNK_HEADER, start, end));
}

/* glibc: a heap of an arena begins with the arena's address, which lies at the start of its first heap. */
static bool in_arena(uintptr_t at, uintptr_t mapping)
{
	for (unsigned int shift = ARENA_SHIFT_MIN; shift <= ARENA_SHIFT_MAX; shift++) {
		uintptr_t align = (uintptr_t)1 << shift, heap = at & ~(align - 1), into;

		if (heap < mapping)
			break;
		into = word(heap) & (align - 1);
		if (word(heap) > align && into >= ARENA_AT_MIN && into <= ARENA_AT_MAX && into % 16 == 0)
			return true;
	}
	return false;
}

/* The mappings of a range. */
struct mappings {
	uintptr_t at;			/* the range's start */
	uintptr_t start, end;		/* theirs, together */
	bool arena;
};

static bool look(void *arg, const struct fv_vma *m)
{
	struct mappings *all = arg;

	if (!all->end)
		all->start = m->start;
	all->end = m->end;
	all->arena = in_arena(all->at > m->start ? all->at : m->start, m->start);
	return !all->arena;
}

/* Whether a thread's descriptor, in which is the list of its robust mutexes, lies in [start, end). */
static bool has_thread(pid_t tid, uintptr_t start, uintptr_t end)
{
	struct robust_list_head *head = NULL;
	size_t size;

	if (syscall(SYS_get_robust_list, tid, &head, &size))
		return errno != ESRCH;
	return (uintptr_t)head >= start && (uintptr_t)head < end;
}

/*
 * Whether one of the mappings is a thread's stack, which ends with its descriptor. The first thread's lies
 * where it may have come to lie beside anything.
 */
static bool of_threads(const struct mappings *all, uintptr_t start, uintptr_t end)
{
	bool found = has_thread(getpid(), start, end);
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *e;

	if (!tasks)
		return true;
	while (!found && (e = readdir(tasks)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != getpid())
			found = has_thread(atoi(e->d_name), all->start, all->end);
	closedir(tasks);
	return found;
}

bool fv_movable(uintptr_t addr, size_t len, uintptr_t *start, uintptr_t *end)
{
	struct mappings all;

	*start = addr & ~(uintptr_t)(FV_PAGE - 1);
	*end = (addr + len + FV_PAGE - 1) & ~(uintptr_t)(FV_PAGE - 1);
	if (*end < *start || !alone(addr, addr + len, *start, *end) ||
	    !fv_vma_private(FV_VMA_BEST, *start, *end - *start))
		return false;
	all = (struct mappings){ .at = *start };
	return fv_vma_each(FV_VMA_BEST, *start, *end - *start, look, &all) && !all.arena &&
	       !of_threads(&all, *start, *end);
}
