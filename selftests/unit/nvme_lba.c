// SPDX-License-Identifier: BSD-2-Clause
/*
 * The address arithmetic of NVMe over Falcon against an oracle that knows no bits: it deals blocks
 * out stripe by stripe, in bytes, as the text of NVMe 6.6.1 tells it.
 */
#include "unit.h"

#include <stdlib.h>

#include <ulp/nvme/lba.h>

enum { COMMANDS = 1000000, MAX_ROWS = 64 };

/* Where byte |at| is: which of the chunks, counted in the order of the table, and where in it. */
static void oracle(const struct nvme_nsid_row *ns, uint64_t at, uint64_t *chunk, uint64_t *byte)
{
	uint64_t chunk_bytes = 1073741824ULL, stripe_bytes = 262144, members = 1;

	for (int i = 0; i < ns->chunk_shift; i++)
		chunk_bytes *= 2;
	for (int i = 0; i < ns->stripe_shift; i++)
		stripe_bytes *= 2;
	for (int i = 0; i < ns->group_shift; i++)
		members *= 2;
	uint64_t group = at / (chunk_bytes * members), in_group = at % (chunk_bytes * members);
	uint64_t stripe = in_group / stripe_bytes;

	*chunk = group * members + stripe % members;
	*byte = stripe / members * stripe_bytes + in_group % stripe_bytes;
}

static void random_ns(struct nvme_nsid_row *ns, struct nvme_map_row *rows, uint64_t *seed)
{
	do {
		*ns = (struct nvme_nsid_row){
			.start = (uint32_t)(unit_random(seed) % 8),
			.chunk_shift = (uint8_t)(unit_random(seed) % 4),
			.stripe_shift = (uint8_t)(unit_random(seed) % 14),
			.group_shift = (uint8_t)(unit_random(seed) % 4),
			.block_shift = unit_random(seed) % 2 ? 9 : 12,
		};
	} while (!nvme_nsid_row_valid(ns));
	ns->blocks = unit_random(seed) % (3ULL << (ns->chunk_shift + ns->group_shift +
						   NVME_CHUNK_UNIT_SHIFT - ns->block_shift)) + 1;
	assert_true(ns->start + nvme_lba_rows(ns) <= MAX_ROWS);
	for (uint32_t i = 0; i < MAX_ROWS; i++)
		rows[i] = (struct nvme_map_row){ .valid = true, .conn = (uint16_t)i,
						 .chunk = (uint32_t)unit_random(seed) };
}

/* A command of up to |nlb| blocks at |lba|, run by run: each block of a run is where it should be. */
static unsigned int check_command(const struct nvme_nsid_row *ns, const struct nvme_map_row *rows,
				  uint64_t lba, uint64_t nlb)
{
	uint64_t chunk, byte, chunk2, byte2, chunk_bytes;
	unsigned int pieces = 0;

	chunk_bytes = 1073741824ULL << ns->chunk_shift;
	while (nlb) {
		uint64_t n = nvme_lba_run(ns, lba);
		struct nvme_place p;

		n = n < nlb ? n : nlb;
		assert_true(nvme_lba_translate(ns, rows, MAX_ROWS, lba, &p));
		oracle(ns, lba << ns->block_shift, &chunk, &byte);
		assert_int_equal(p.row - rows, ns->start + chunk);
		assert_int_equal(p.lba << ns->block_shift, p.row->chunk * chunk_bytes + byte);
		oracle(ns, (lba + n - 1) << ns->block_shift, &chunk2, &byte2);
		assert_int_equal(chunk2, chunk);
		assert_int_equal(byte2 - byte, (n - 1) << ns->block_shift);
		lba += n;
		nlb -= n;
		pieces++;
		/* It was not cut too early: the next block begins a stripe. */
		oracle(ns, lba << ns->block_shift, &chunk2, &byte2);
		if (nlb)
			assert_int_equal(byte2 % (262144ULL << ns->stripe_shift), 0);
	}
	return pieces;
}

static void million(void **state)
{
	struct nvme_map_row *rows = calloc(MAX_ROWS, sizeof(*rows));
	uint64_t seed = 0x2545f4914f6cdd1d, split = 0;
	struct nvme_nsid_row ns = {};

	(void)state;
	for (int i = 0; i < COMMANDS; i++) {
		if (i % 100 == 0)
			random_ns(&ns, rows, &seed);
		uint64_t stripe = nvme_lba_run(&ns, 0), lba = unit_random(&seed) % ns.blocks;
		uint64_t nlb = unit_random(&seed) % stripe + 1;
		unsigned int pieces;

		/* One in two begins close before a boundary. */
		if (i % 2)
			lba = lba / stripe * stripe + stripe - 1 - unit_random(&seed) % 8;
		if (lba >= ns.blocks)
			continue;
		nlb = nlb < ns.blocks - lba ? nlb : ns.blocks - lba;
		pieces = check_command(&ns, rows, lba, nlb);
		assert_in_range(pieces, 1, 2);
		split += pieces == 2;
	}
	assert_true(split > COMMANDS / 10);
	free(rows);
}

/* NVMe 6.6.1's own example: stripes of 1 MiB over four chunks. */
static void example(void **state)
{
	const struct nvme_nsid_row ns = { .stripe_shift = 2, .group_shift = 2, .block_shift = 12,
					  .blocks = 4ULL << 18 };
	struct nvme_map_row rows[4];
	struct nvme_place p;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		rows[i] = (struct nvme_map_row){ .valid = true, .chunk = 0 };
	assert_int_equal(nvme_lba_rows(&ns), 4);
	for (uint64_t mib = 0; mib < 9; mib++) {
		assert_true(nvme_lba_translate(&ns, rows, 4, mib * 256 + 7, &p));
		assert_int_equal(p.row - rows, mib % 4);
		assert_int_equal(p.lba, mib / 4 * 256 + 7);
	}
	/* The last block of a 256-block command at 255 is alone beyond the boundary. */
	assert_int_equal(nvme_lba_run(&ns, 1), 255);
	assert_int_equal(nvme_lba_run(&ns, 256), 256);
}

/*
 * Where a stripe is a whole chunk, the pseudocode's stripe numbers are all 0: the boundary is one all
 * the same.
 */
static void whole_chunk_stripe(void **state)
{
	const struct nvme_nsid_row ns = { .stripe_shift = 12, .block_shift = 9,
					  .blocks = 2ULL << 21 };

	(void)state;
	assert_true(nvme_nsid_row_valid(&ns));
	assert_int_equal(nvme_lba_rows(&ns), 2);
	assert_int_equal(nvme_lba_run(&ns, (1ULL << 21) - 3), 3);
	assert_int_equal(nvme_lba_index(&ns, (1ULL << 21) - 1), 0);
	assert_int_equal(nvme_lba_index(&ns, 1ULL << 21), 1);
}

static void not_mapped(void **state)
{
	struct nvme_nsid_row ns = { .start = 1, .block_shift = 12, .blocks = 3ULL << 18 };
	struct nvme_map_row rows[3] = { { .valid = true }, { .valid = true }, { .valid = false } };
	struct nvme_place p;

	(void)state;
	assert_true(nvme_lba_translate(&ns, rows, 3, 0, &p));
	assert_ptr_equal(p.row, &rows[1]);
	assert_false(nvme_lba_translate(&ns, rows, 3, 1ULL << 18, &p));
	assert_false(nvme_lba_translate(&ns, rows, 3, 2ULL << 18, &p));
	assert_false(nvme_lba_translate(&ns, rows, 3, UINT64_MAX, &p));
	ns.stripe_shift = 13;
	assert_false(nvme_nsid_row_valid(&ns));
	ns.blocks = 0;
	assert_int_equal(nvme_lba_rows(&ns), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(million),
		cmocka_unit_test(example),
		cmocka_unit_test(whole_chunk_stripe),
		cmocka_unit_test(not_mapped),
	};

	return unit_run(tests);
}
