// SPDX-License-Identifier: BSD-2-Clause
/* The verbs library: where registered memory goes, and what is known of it. */
#include "verbs/env.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "verbs/fake_priv.h"
#include "verbs/fv.h"
#include "verbs/moved.h"
#include "verbs/ranges.h"
#include "verbs/swap.h"
#include "verbs/vma.h"

enum {
	PAGE = 4096,
	BYTES = 16 * PAGE,
	LARGE = 8 << 20,		/* more than there is room for in area 0 */
	PEERS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
};

enum place { PLAIN, SHARED, OFFLOAD };

static uint8_t *map(size_t len)
{
	uint8_t *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	return mem;
}

/* Where a region of |len| bytes lies, as the agent has been told; it is given back. */
static enum place place_of(struct env *e, size_t len, int access)
{
	uint8_t *mem = map(len);
	uint32_t memories = fake_memories();
	struct ibv_mr *mr = ibv_reg_mr(e->pd, mem, len, access);
	struct fverbs_reg_mr told;

	assert_non_null(mr);
	told = fake_object(mr->handle, FAKE_MR)->mr;
	if (!told.area_plus_1)
		assert_int_equal(told.addr, (uintptr_t)mem);
	memset(mem, 7, len);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	for (size_t i = 0; i < len; i += PAGE)
		assert_int_equal(mem[i], 7);
	munmap(mem, len);
	return !told.area_plus_1 ? PLAIN : fake_memories() > memories ? OFFLOAD : SHARED;
}

static void need_swap(void)
{
	if (fv_swap_possible())
		return;
	print_message("# skip: this process may not move pages: root, and Linux 6.8\n");
	skip();
}

/* A region that peers reach, and one of our own. */
static void expect(struct env *e, enum fv_memory to, size_t len, enum place peers, enum place own)
{
	fv_ctx_of(e->ctx)->memory = (uint8_t)to;
	assert_int_equal(place_of(e, len, PEERS), peers);
	assert_int_equal(place_of(e, len, IBV_ACCESS_LOCAL_WRITE), own);
}

static void every_setting(void **state)
{
	struct env *e = *state;

	need_swap();
	expect(e, FV_MEMORY_AUTO, BYTES, OFFLOAD, SHARED);
	expect(e, FV_MEMORY_AUTO, PAGE, OFFLOAD, SHARED);
	expect(e, FV_MEMORY_OFFLOAD, BYTES, OFFLOAD, OFFLOAD);
	expect(e, FV_MEMORY_SHARED, LARGE, SHARED, SHARED);
	expect(e, FV_MEMORY_PLAIN, BYTES, PLAIN, PLAIN);
	fv_ctx_of(e->ctx)->memory = FV_MEMORY_AUTO;
	assert_int_equal(place_of(e, BYTES, PEERS | IBV_ACCESS_ON_DEMAND), PLAIN);
}

/* What the agent has no room for goes to the next best, or stays. */
static void no_room(void **state)
{
	struct env *e = *state;

	need_swap();
	fake_fail(FVERBS_NEW_AREA, FAKE_FAULT_REFUSE);
	expect(e, FV_MEMORY_AUTO, BYTES, SHARED, SHARED);
	expect(e, FV_MEMORY_OFFLOAD, BYTES, PLAIN, PLAIN);
	fake_fail(FVERBS_NEW_AREA, FAKE_FAULT_NO_FD);
	expect(e, FV_MEMORY_OFFLOAD, BYTES, PLAIN, PLAIN);
	fake_fail(FVERBS_ADD_AREA, FAKE_FAULT_REFUSE);
	expect(e, FV_MEMORY_AUTO, LARGE, OFFLOAD, PLAIN);
	expect(e, FV_MEMORY_SHARED, LARGE, PLAIN, PLAIN);
	fake_fail(0, FAKE_FAULT_NONE);
}

/* The agent takes no region: its memory is as it was, and may be registered later. */
static void refused(void **state)
{
	struct env *e = *state;
	uint8_t *mem = map(BYTES);

	need_swap();
	memset(mem, 5, BYTES);
	fake_fail(FVERBS_REG_MR, FAKE_FAULT_REFUSE);
	assert_null(ibv_reg_mr(e->pd, mem, BYTES, PEERS));
	assert_int_equal(errno, ENOSPC);
	fake_fail(0, FAKE_FAULT_NONE);
	assert_true(fv_vma_private(FV_VMA_BEST, (uintptr_t)mem, BYTES));
	assert_true(fv_vma_private(FV_VMA_TEXT, (uintptr_t)mem, BYTES));
	assert_int_equal(mem[BYTES - 1], 5);
	munmap(mem, BYTES);
	assert_int_equal(place_of(e, BYTES, PEERS), OFFLOAD);
}

/* Its regions gone with the agent, memory comes back all the same. */
static void agent_gone(void **state)
{
	struct env *e = *state;
	uint8_t *mem = map(BYTES);
	struct ibv_mr *mr = ibv_reg_mr(e->pd, mem, BYTES, PEERS);

	assert_non_null(mr);
	memset(mem, 6, BYTES);
	fake_stop();
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_true(fv_vma_private(FV_VMA_BEST, (uintptr_t)mem, BYTES));
	assert_int_equal(mem[BYTES - 1], 6);
	munmap(mem, BYTES);
}

static void device_memory(void **state)
{
	struct env *e = *state;
	struct ibv_alloc_dm_attr attr = { .length = 128 };
	struct ibv_dm *dm = ibv_alloc_dm(e->ctx, &attr);
	struct ibv_mr *mr;
	uint32_t memories = fake_memories();

	assert_int_equal(memories, 1);
	mr = ibv_reg_dm_mr(e->pd, dm, 0, 128, IBV_ACCESS_ZERO_BASED | PEERS);
	assert_non_null(mr);
	assert_int_not_equal(fake_object(mr->handle, FAKE_MR)->mr.area_plus_1, 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
	/* There is none, or none of such alignment. */
	fake_fail(FVERBS_NEW_AREA, FAKE_FAULT_REFUSE);
	dm = ibv_alloc_dm(e->ctx, &attr);
	fake_fail(0, FAKE_FAULT_NONE);
	mr = ibv_reg_dm_mr(e->pd, dm, 0, 128, IBV_ACCESS_ZERO_BASED | PEERS);
	assert_int_equal(fake_object(mr->handle, FAKE_MR)->mr.area_plus_1, 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
	attr.log_align_req = 16;
	dm = ibv_alloc_dm(e->ctx, &attr);
	assert_non_null(dm);
	assert_int_equal(fake_memories(), memories);
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* Against an array with a number for every address. */
static void counts_of_regions(void **state)
{
	enum { END = 64, REGIONS = 32, STEPS = 20000 };
	struct fv_ranges counts = { NULL };
	struct fv_range regions[REGIONS] = { { 0, 0 } };
	int model[END] = { 0 };
	unsigned int seed = 1;

	(void)state;
	for (int i = 0; i < STEPS; i++) {
		struct fv_range *r = &regions[rand_r(&seed) % REGIONS];
		bool there = r->end;
		uintptr_t at = (uintptr_t)rand_r(&seed) % END, first = at;

		if (!there) {
			r->start = (uintptr_t)rand_r(&seed) % END;
			r->end = r->start + 1 + (uintptr_t)rand_r(&seed) % (END - r->start);
			assert_true(fv_count_add(&counts, r->start, r->end));
		} else {
			fv_count_sub(&counts, r->start, r->end);
		}
		for (uintptr_t a = r->start; a < r->end; a++)
			model[a] += there ? -1 : 1;
		if (there)
			r->end = 0;
		while (first < END && !model[first])
			first++;
		if (first == END)
			assert_null(fv_ranges_first(&counts, at, END));
		else
			assert_in_range(first, at > fv_ranges_first(&counts, at, END)->start ? at :
					fv_ranges_first(&counts, at, END)->start,
					fv_ranges_first(&counts, at, END)->end - 1);
	}
	for (int i = 0; i < REGIONS; i++)
		if (regions[i].end)
			fv_count_sub(&counts, regions[i].start, regions[i].end);
	assert_null(counts.root);
}

#define T(name) cmocka_unit_test_setup_teardown(name, env_setup, env_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_setting), T(no_room), T(refused), T(device_memory),
		cmocka_unit_test(counts_of_regions),
		cmocka_unit_test_setup_teardown(agent_gone, env_setup, env_teardown_dead),
	};

	setenv("FALCON_VERBS_MEMORY", "auto", 1);
	return unit_run(tests);
}
