// SPDX-License-Identifier: BSD-2-Clause
/* Get LBA Status: a virtual device's list of allocated blocks is that of its targets' together. */
#include "nvme_env.h"

#include <endian.h>
#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, LIST = 4096, ALLOCATED = 2, INCOMPLETE = 1, COMPLETE = 2 };

static uint16_t ask(struct env *e, uint64_t lba, uint16_t n, uint32_t bytes, uint8_t type, void *list)
{
	struct env_cmd cmd = { .icmd = { .sqe = {
		.opcode = nvme_admin_get_lba_status, .nsid = 1, .cdw10 = (uint32_t)lba,
		.cdw11 = (uint32_t)(lba >> 32), .cdw12 = bytes / 4 - 1,
		.cdw13 = n | (uint32_t)type << 24 }, .data = list } };

	env_submit(e, &cmd);
	return cmd.status & 0x7ff;
}

/* |on| blocks of each |period| are written; what is asked of them is answered so. */
static void pattern(unsigned int targets, uint8_t shift, uint64_t period, uint64_t on)
{
	struct env *e = env_open(targets, MIB, shift, 256 << 10);
	uint64_t blocks = targets * MIB >> shift;
	struct nvme_lba_status *list = malloc(LIST);
	uint8_t *data = malloc(on << shift);

	memset(data, 1, on << shift);
	for (uint64_t i = 0; i < blocks; i += period)
		assert_int_equal(env_do(e, nvme_cmd_write, i, (uint32_t)on - 1, data), 0);
	for (int round = 0; round < 20; round++) {
		uint64_t lba = unit_random(&e->seed) % blocks, at = lba;
		uint16_t n = (uint16_t)(unit_random(&e->seed) % (blocks - lba));
		uint64_t end = n ? lba + n : blocks;

		while (at < end) {
			assert_int_equal(ask(e, at, (uint16_t)(n ? end - at : 0), LIST, ALLOCATED, list), 0);
			for (uint32_t i = 0; i < list->nlsd; i++) {
				uint64_t from = list->descs[i].dslba, left = list->descs[i].nlb;

				assert_int_equal(list->descs[i].status, 2);
				for (; at < from; at++)
					assert_true(at % period >= on);
				for (; left; left--, at++)
					assert_true(at % period < on);
			}
			if (list->cmpc == INCOMPLETE)
				continue;
			assert_int_equal(list->cmpc, COMPLETE);
			for (; at < end; at++)
				assert_true(at % period >= on);
		}
		assert_int_equal(at, end);
	}
	free(data);
	free(list);
	env_close(e);
}

static void lists(void **state)
{
	(void)state;
	pattern(1, 9, 64, 10);
	pattern(1, 12, 16, 16);
	pattern(4, 9, 64, 10);
	pattern(2, 12, 3, 1);
	/* More pieces than a list has room for. */
	pattern(1, 9, 2, 1);
}

static void deallocated(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	struct nvme_lba_status *list = malloc(LIST);
	uint8_t data[8 * 512] = {};

	(void)state;
	assert_int_equal(ask(e, 0, 0, LIST, ALLOCATED, list), 0);
	assert_int_equal(list->nlsd, 0);
	/* A block of which but the last byte is there. */
	data[3 * 512 - 1] = 1;
	assert_int_equal(env_do(e, nvme_cmd_write, 100, 7, data), 0);
	assert_int_equal(ask(e, 0, 0, LIST, ALLOCATED, list), 0);
	assert_int_equal(list->nlsd, 1);
	assert_int_equal(list->descs[0].dslba, 102);
	assert_int_equal(list->descs[0].nlb, 1);
	assert_int_equal(e->stores[0].deallocations, 0);
	assert_int_equal(env_do(e, nvme_cmd_write_zeroes, 100, 7 | 1 << 25, NULL), 0);
	assert_int_equal(e->stores[0].deallocations, 1);
	assert_int_equal(env_do(e, nvme_cmd_write_zeroes, 100, 7, NULL), 0);
	assert_int_equal(e->stores[0].deallocations, 1);
	assert_int_equal(ask(e, 0, 0, LIST, ALLOCATED, list), 0);
	assert_int_equal(list->nlsd, 0);
	free(list);
	env_close(e);
}

static void wrong_questions(void **state)
{
	struct nvme_cipher cipher = {};
	struct env *e = env_open(1, MIB, 9, MIB);
	struct nvme_lba_status *list = malloc(LIST);

	(void)state;
	assert_int_equal(ask(e, 0, 1, LIST, 0x10, list), NVME_SC_INVALID_FIELD);
	assert_int_equal(ask(e, 0, 1, 4, ALLOCATED, list), NVME_SC_INVALID_FIELD);
	assert_int_equal(ask(e, 2048, 0, LIST, ALLOCATED, list), NVME_SC_LBA_RANGE);
	assert_int_equal(ask(e, 2040, 9, LIST, ALLOCATED, list), NVME_SC_LBA_RANGE);
	assert_int_equal(ask(e, 2040, 8, LIST, ALLOCATED, list), 0);
	/* The same number among the I/O commands is none. */
	assert_int_equal(env_do(e, nvme_admin_get_lba_status, 0, 0, list) & 0x7ff,
			 NVME_SC_INVALID_OPCODE);
	env_close(e);
	e = env_open_with(1, MIB, 9, MIB, &cipher);
	assert_int_equal(ask(e, 0, 1, LIST, ALLOCATED, list), NVME_SC_INVALID_OPCODE);
	env_close(e);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(deallocated),
		cmocka_unit_test(wrong_questions),
	};

	return unit_run(tests);
}
