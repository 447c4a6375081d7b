// SPDX-License-Identifier: BSD-2-Clause
/*
 * Transactions that a filter ends before their submission returns (Falcon 11): neither end loses a
 * command or its memory over them.
 */
#include "nvme_env.h"

#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, COMMANDS = 24, BLOCKS = 128, BYTES = BLOCKS * 512 };

/* Requests that were filtered are sent again, over a connection that the initiator dials anew. */
static void requests(bool at_once)
{
	struct env *e = env_open(1, 2 * MIB, 9, MIB);
	uint8_t *data = malloc(COMMANDS * BYTES), *back = calloc(COMMANDS, BYTES);
	struct env_cmd cmds[COMMANDS];
	struct nvme_dev_info info;
	unsigned int done = 0;

	for (uint32_t i = 0; i < COMMANDS * BYTES; i++)
		data[i] = (uint8_t)(i * 7 + (i >> 9));
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	e->hangs_up_at_once = at_once;
	e->filtered_near = 2;
	for (uint32_t i = 0; i < COMMANDS; i++)
		env_start(e, &cmds[i], nvme_cmd_write, i * BLOCKS, BLOCKS - 1, data + i * BYTES, &done);
	for (int i = 0; i < 2000; i++)
		env_step(e);
	e->filtered_near = 0;
	env_until(e, &done, COMMANDS);
	for (uint32_t i = 0; i < COMMANDS; i++) {
		assert_int_equal(cmds[i].status, 0);
		assert_int_equal(env_do(e, nvme_cmd_read, i * BLOCKS, BLOCKS - 1, back + i * BYTES), 0);
	}
	assert_memory_equal(back, data, COMMANDS * BYTES);
	nvme_dev_info(e->dev, &info);
	assert_true(info.resets > 0);
	assert_true(info.retried > 0);
	free(data);
	free(back);
	env_close(e);
}

static void filtered_requests(void **state)
{
	(void)state;
	requests(false);
	requests(true);
}

/* A write of which some data cannot be fetched ends with that error, and its memory is free again. */
static void filtered_pulls(void **state)
{
	static const unsigned int percents[] = { 100, 10 };
	struct env *e = env_open(1, 2 * MIB, 9, MIB);
	uint8_t *data = calloc(1, BYTES);

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(percents); i++) {
		e->filtered_far_pulls = percents[i];
		for (int k = 0; k < COMMANDS; k++)
			assert_int_equal(env_do(e, nvme_cmd_write, 0, BLOCKS - 1, data) & 0x7ff,
					 NVME_SC_DATA_XFER_ERROR);
		e->filtered_far_pulls = 0;
		assert_int_equal(env_do(e, nvme_cmd_write, 0, BLOCKS - 1, data), 0);
	}
	free(data);
	env_close(e);
}

/* An answer that was filtered is one that was lost: the command ends by its timeout. */
static void filtered_answers(void **state)
{
	static const unsigned int percents[] = { 100, 10 };
	struct env *e = env_open(1, 2 * MIB, 9, MIB);
	uint8_t *data = calloc(1, BYTES);

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(percents); i++) {
		struct env_cmd cmd;
		unsigned int done = 0;

		assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
		e->filtered_far_pushes = percents[i];
		env_start(e, &cmd, nvme_cmd_read, 0, BLOCKS - 1, data, &done);
		for (int k = 0; k < 3000; k++)
			env_step(e);
		assert_int_equal(done, 0);
		e->filtered_far_pushes = 0;
		e->now += 31000000000ULL;
		env_until(e, &done, 1);
		assert_int_equal(cmd.status, NVME_SCT_PATH << 8 | NVME_SC_HOST_PATH_ERROR);
	}
	assert_int_equal(env_do(e, nvme_cmd_read, 0, BLOCKS - 1, data), 0);
	free(data);
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENV_BOTH(filtered_requests),
		ENV_STANDARD(filtered_pulls),
		ENV_BOTH(filtered_answers),
	};

	return unit_run(tests);
}
