// SPDX-License-Identifier: BSD-2-Clause
/*
 * What fuzz_tenants.c measures: the heap in use, by the sanitizers' hooks, and the work of a turn,
 * by the edges between basic blocks that are taken: as many with the same input, whatever else the
 * machine does.
 */
#include <sanitizer/allocator_interface.h>

#include "tenants.h"

/* Edges in a call of a layer or the core, or in a command. */
enum { TURN_MAX = 1000000 };

/* Of the thread that runs the inputs: libFuzzer has another one, which allocates as it starts. */
static _Thread_local bool counted;
static int64_t heap;
void __wrap___sanitizer_cov_trace_pc(void);

static uint64_t edges, from;

static void allocated(const volatile void *p, size_t size)
{
	if (p && counted)
		heap += (int64_t)size;
}

static void freed(const volatile void *p)
{
	if (p && counted)
		heap -= (int64_t)__sanitizer_get_allocated_size(p);
}

void meter_open(void)
{
	counted = true;
	CHECK(__sanitizer_install_malloc_and_free_hooks(allocated, freed));
}

int64_t meter_heap(void)
{
	return heap;
}

void meter_turn(const char *what, bool begins)
{
	uint64_t n = edges - from;

	if (begins) {
		from = edges;
		return;
	}
	if (n > TURN_MAX)
		fprintf(stderr, "%s: %llu edges\n", what, (unsigned long long)n);
	CHECK(n <= TURN_MAX);
}

/* The compiler has every edge call it (build.mk). */
__attribute__((no_sanitize("coverage"))) void __wrap___sanitizer_cov_trace_pc(void)
{
	edges++;
}
