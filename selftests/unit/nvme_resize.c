// SPDX-License-Identifier: BSD-2-Clause
/* Namespaces that change while they are in use: their size, and their limits. */
#include "nvme_env.h"

#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

#include <falcon/wire/nvme.h>

enum { MIB = 1 << 20, CODE = 0x7ff };

static uint64_t blocks(struct env *e)
{
	struct nvme_dev_info info;

	nvme_dev_info(e->dev, &info);
	return info.blocks;
}

/* Steps until the device has |n| blocks. */
static void until(struct env *e, uint64_t n)
{
	for (int i = 0; i < 100000 && blocks(e) != n; i++)
		env_step(e);
	assert_int_equal(blocks(e), n);
}

static void resize(struct env *e, unsigned int i, uint64_t n)
{
	assert_true(n * 512 <= MIB);
	nvme_target_set_blocks(e->far[i].target, 0, n);
}

static void grows_and_shrinks(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	struct nvme_dev_info info;
	uint8_t data[512] = { 1 };

	(void)state;
	resize(e, 0, 1000);
	until(e, 1000);
	assert_int_equal(env_do(e, nvme_cmd_write, 1000, 0, data) & CODE, NVME_SC_LBA_RANGE);
	resize(e, 0, 2048);
	until(e, 2048);
	assert_int_equal(env_do(e, nvme_cmd_write, 1000, 0, data), 0);
	resize(e, 0, 500);
	/* Before it has heard of it. */
	assert_int_equal(env_do(e, nvme_cmd_write, 999, 0, data) & CODE, NVME_SC_LBA_RANGE);
	until(e, 500);
	nvme_dev_info(e->dev, &info);
	/* The first size that it saw was no change. */
	assert_int_equal(info.resized, 2);
	assert_int_equal(info.malformed, 0);
	/* Many times in a row: the latest is what it is. */
	for (uint64_t n = 100; n < 300; n += 3) {
		resize(e, 0, n);
		if (n % 2)
			env_step(e);
	}
	until(e, 298);
	env_close(e);
}

/* The smallest of striped targets counts, and is known after its connection was lost as well. */
static void striped(void **state)
{
	struct env *e = env_open(4, MIB, 9, MIB);

	(void)state;
	until(e, 4 * 2048);
	resize(e, 2, 1024);
	until(e, 4 * 1024);
	e->refuse = true;
	env_cut(e, 2);
	resize(e, 2, 1536);
	for (int i = 0; i < 100; i++)
		env_step(e);
	e->refuse = false;
	until(e, 4 * 1536);
	env_close(e);
}

/* What has been admitted when a namespace becomes smaller does not reach beyond its end. */
static void cut_off_under_way(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	struct env_cmd cmds[8];
	uint8_t data[512] = { 0x5a };
	unsigned int done = 0;

	(void)state;
	until(e, 2048);
	e->stores[0].full = true;
	for (unsigned int i = 0; i < 8; i++)
		env_start(e, &cmds[i], nvme_cmd_write, 996 + i, 0, data, &done);
	for (int i = 0; i < 3000; i++)
		env_step(e);
	resize(e, 0, 1000);
	e->stores[0].full = false;
	env_until(e, &done, 8);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(cmds[i].status & CODE, i < 4 ? 0 : NVME_SC_LBA_RANGE);
		assert_int_equal(e->stores[0].bytes[(996 + i) * 512], i < 4 ? 0x5a : 0);
	}
	env_close(e);
}

/* What the store has when a namespace becomes smaller is known until it has ended, also if its host goes. */
static void beyond_the_end(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	const struct nvme_target *t = e->far[0].target;
	struct env_cmd cmd;
	uint8_t data[1024] = { 0x5a };
	unsigned int done = 0;

	(void)state;
	until(e, 2048);
	assert_false(nvme_target_beyond(t, 0, 1));
	e->stores[0].frozen = true;
	env_start(e, &cmd, nvme_cmd_write, 999, 1, data, &done);
	while (!e->nios)
		env_step(e);
	resize(e, 0, 1000);
	assert_true(nvme_target_beyond(t, 0, 1000));
	assert_false(nvme_target_beyond(t, 0, 1001));
	env_cut(e, 0);
	for (int i = 0; i < 3000; i++)
		env_step(e);
	assert_true(nvme_target_beyond(t, 0, 1000));
	e->stores[0].frozen = false;
	env_until(e, &done, 1);
	assert_int_equal(cmd.status & CODE, NVME_SC_LBA_RANGE);
	assert_false(nvme_target_beyond(t, 0, 1000));
	env_close(e);
}

/* The status of an Asynchronous Event Request beside the initiator's own. */
static void one_event_request(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	const struct falcon_nvme_hdr h = { .type = FALCON_NVME_COMMAND, .icmd = 0x800000 };
	const struct falcon_nvme_cmd c = { .initiator_nsid = 1, .target_nsid = 7, .admin = 1,
					   .opcode = nvme_admin_async_event };
	struct fcore_conn *far = &e->links[0].far;
	struct falcon_nvme_request w;
	bool found = false;

	(void)state;
	until(e, 2048);
	for (int i = 0; i < 1000; i++)
		env_step(e);
	falcon_nvme_request_pack(&h, &c, &w);
	nvme_ulp_ops.on_push(far->ulp, far, 0, &w, sizeof(w), e->now);
	assert_int_equal(far->outcome, FCORE_PUSH_ACK);
	for (int step = 0; step < 1000 && !found; step++, env_step(e))
		for (unsigned int i = 0; i < e->limit && !found; i++) {
			const struct falcon_nvme_response *r = (void *)far->txns[i].hdr;
			struct falcon_nvme_hdr got;

			found = far->txns[i].used &&
				falcon_nvme_nbth_unpack(r, sizeof(*r), &got) && got.icmd == h.icmd;
			if (found)
				assert_int_equal(falcon_nvme_status(r) & CODE,
						 NVME_SCT_CMD_SPECIFIC << 8 | NVME_SC_ASYNC_LIMIT);
		}
	assert_true(found);
	env_close(e);
}

/* Other limits count at once, also for what waits. */
static void limits(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	struct env_cmd *cmds = calloc(50, sizeof(*cmds));
	unsigned int done = 0;
	uint8_t data[512];
	uint64_t start;

	(void)state;
	until(e, 2048);
	nvme_target_set_limits(e->far[0].target, 0, 1, 0);
	for (int i = 0; i < 50; i++)
		env_start(e, &cmds[i], nvme_cmd_read, 0, 0, data, &done);
	for (int i = 0; i < 1000; i++)
		env_step(e);
	assert_in_range(done, 1, 2);
	start = e->now;
	nvme_target_set_limits(e->far[0].target, 0, 1000, 0);
	env_until(e, &done, 50);
	assert_in_range(e->now - start, 30000000, 60000000);
	nvme_target_set_limits(e->far[0].target, 0, 0, 512 * 1000);
	done = 0;
	start = e->now;
	for (int i = 0; i < 50; i++)
		env_start(e, &cmds[i], nvme_cmd_read, 0, 0, data, &done);
	env_until(e, &done, 50);
	assert_in_range(e->now - start, 30000000, 60000000);
	free(cmds);
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENV_BOTH(grows_and_shrinks), ENV_BOTH(striped),
		ENV_BOTH(cut_off_under_way), ENV_BOTH(beyond_the_end), ENV_BOTH(one_event_request),
		ENV_BOTH(limits),
	};

	return unit_run(tests);
}
