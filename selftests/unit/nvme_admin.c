// SPDX-License-Identifier: BSD-2-Clause
/* What the virtual controller answers by itself: log pages, features, events. */
#include "nvme_env.h"

#include <endian.h>
#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, CODE = 0x7ff };
#define ALL UINT32_MAX

/* A device that has been reached. */
static struct env *reach(void)
{
	struct env *e = env_open(1, MIB, 9, MIB);

	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	return e;
}

static uint16_t admin(struct env *e, struct falcon_nvme_sqe sqe, void *data, uint32_t *result)
{
	struct env_cmd *cmd = calloc(1, sizeof(*cmd));
	uint16_t status;

	cmd->icmd.sqe = sqe;
	cmd->icmd.data = data;
	env_submit(e, cmd);
	status = cmd->status & CODE;
	if (result)
		*result = cmd->result;
	free(cmd);
	return status;
}

/* |bytes| of log page |lid| from |from| on. */
static uint16_t get_log(struct env *e, uint8_t lid, uint32_t nsid, uint64_t from, uint32_t bytes, void *data)
{
	const uint32_t dwords = bytes / 4 - 1;

	return admin(e, (struct falcon_nvme_sqe){ .opcode = nvme_admin_get_log_page, .nsid = htole32(nsid),
						  .cdw10 = htole32(lid | dwords << 16),
						  .cdw11 = htole32(dwords >> 16),
						  .cdw12 = htole32((uint32_t)from),
						  .cdw13 = htole32((uint32_t)(from >> 32)) }, data, NULL);
}

static uint64_t sum(const uint8_t *field)
{
	uint64_t v;

	memcpy(&v, field, sizeof(v));
	return le64toh(v);
}

static void smart(void **state)
{
	struct env *e = reach();
	struct nvme_smart_log log;
	uint8_t *data = calloc(1, 65536);

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(env_do(e, nvme_cmd_write, 0, 127, data), 0);
	assert_int_equal(env_do(e, nvme_cmd_read, 0, 127, data), 0);
	for (unsigned int k = 0; k < 3; k++) {
		static const uint32_t nsids[] = { 0, 1, ALL };

		memset(&log, 0xff, sizeof(log));
		assert_int_equal(get_log(e, NVME_LOG_LID_SMART, nsids[k], 0, sizeof(log), &log), 0);
		assert_int_equal(sum(log.host_writes), 10);
		assert_int_equal(sum(log.host_reads), 1);
		/* 655,360 bytes are two units of 512,000. */
		assert_int_equal(sum(log.data_units_written), 2);
		assert_int_equal(sum(log.data_units_read), 1);
		assert_int_equal(sum(log.media_errors) | log.critical_warning, 0);
		assert_int_equal(log.avail_spare, 100);
	}
	free(data);
	env_close(e);
}

/* Parts of a page, more than a page, pages that there are not, and of others. */
static void pages(void **state)
{
	struct env *e = reach();
	uint8_t *page = malloc(FALCON_NVME_MDTS);

	(void)state;
	assert_int_equal(get_log(e, NVME_LOG_LID_FW_SLOT, 0, 0, 512, page), 0);
	assert_int_equal(page[0], 1);
	assert_memory_equal(page + 8, "1       ", 8);
	assert_int_equal(get_log(e, NVME_LOG_LID_FW_SLOT, 0, 8, 8, page), 0);
	assert_memory_equal(page, "1       ", 8);
	memset(page, 0xff, FALCON_NVME_MDTS);
	assert_int_equal(get_log(e, NVME_LOG_LID_ERROR, ALL, 4092, FALCON_NVME_MDTS, page), 0);
	for (int i = 0; i < FALCON_NVME_MDTS; i++)
		assert_int_equal(page[i], 0);
	assert_int_equal(get_log(e, NVME_LOG_LID_ERROR, ALL, 4096, 4, page), 0);
	assert_int_equal(get_log(e, NVME_LOG_LID_ERROR, ALL, 4100, 4, page), NVME_SC_INVALID_FIELD);
	assert_int_equal(get_log(e, NVME_LOG_LID_ERROR, ALL, 2, 4, page), NVME_SC_INVALID_FIELD);
	assert_int_equal(get_log(e, NVME_LOG_LID_ERROR, ALL, 0, FALCON_NVME_MDTS + 4, page),
			 NVME_SC_INVALID_FIELD);
	assert_int_equal(get_log(e, NVME_LOG_LID_SMART, 5, 0, 512, page), NVME_SC_INVALID_NS);
	assert_int_equal(get_log(e, NVME_LOG_LID_TELEMETRY_HOST, ALL, 0, 512, page),
			 NVME_SCT_CMD_SPECIFIC << 8 | NVME_SC_INVALID_LOG_PAGE);
	free(page);
	env_close(e);
}

static uint16_t feature(struct env *e, uint8_t opcode, uint8_t fid, uint32_t value, uint32_t *result)
{
	return admin(e, (struct falcon_nvme_sqe){ .opcode = opcode, .cdw10 = htole32(fid),
						  .cdw11 = htole32(value) }, NULL, result);
}

static void features(void **state)
{
	const uint8_t get = nvme_admin_get_features, set = nvme_admin_set_features;
	const uint16_t fixed = NVME_SCT_CMD_SPECIFIC << 8 | NVME_SC_FEATURE_NOT_CHANGEABLE;
	struct env *e = reach();
	uint32_t r;

	(void)state;
	assert_int_equal(feature(e, get, NVME_FEAT_FID_VOLATILE_WC, 0, &r), 0);
	assert_int_equal(r, 1);
	assert_int_equal(feature(e, set, NVME_FEAT_FID_VOLATILE_WC, 1, &r), 0);
	assert_int_equal(feature(e, set, NVME_FEAT_FID_VOLATILE_WC, 0, &r), fixed);
	assert_int_equal(feature(e, set, NVME_FEAT_FID_NUM_QUEUES, 0x00070007, &r), 0);
	assert_int_equal(r, 0xfffefffe);
	assert_int_equal(feature(e, get, NVME_FEAT_FID_ASYNC_EVENT, 0, &r), 0);
	assert_int_equal(r, NVME_CTRL_OAES_NA);
	assert_int_equal(feature(e, set, NVME_FEAT_FID_ASYNC_EVENT, 0, &r), fixed);
	assert_int_equal(feature(e, get, NVME_FEAT_FID_ARBITRATION, 0, &r), NVME_SC_INVALID_FIELD);
	env_close(e);
}

static void ask_for_event(struct env *e, struct env_cmd *cmd, unsigned int *done)
{
	*cmd = (struct env_cmd){ .done = done,
				 .icmd.sqe.opcode = nvme_admin_async_event };
	env_start_admin(e, cmd);
}

static bool has_changed(struct env *e, bool look)
{
	struct nvme_ns_list list = { .ns[0] = ALL };
	const struct falcon_nvme_sqe sqe = {
		.opcode = nvme_admin_get_log_page,
		.cdw10 = htole32(NVME_LOG_LID_CHANGED_NS | (uint32_t)look << 15 | 1023 << 16),
	};

	assert_int_equal(admin(e, sqe, &list, NULL), 0);
	assert_int_equal(list.ns[1], 0);
	return le32toh(list.ns[0]) == 1;
}

static void resize(struct env *e, uint64_t blocks)
{
	uint64_t was = 0, i;
	struct nvme_dev_info info;

	nvme_dev_info(e->dev, &info);
	was = info.resized;
	nvme_target_set_blocks(e->far[0].target, 0, blocks);
	for (i = 0; i < 100000 && info.resized == was; i++) {
		env_step(e);
		nvme_dev_info(e->dev, &info);
	}
	assert_int_equal(info.blocks, blocks);
}

/* Requests are held until a namespace has changed; one that comes after that is told at once, once. */
static void events(void **state)
{
	const uint32_t notice = 2 | NVME_LOG_LID_CHANGED_NS << 16;
	struct env *e = reach();
	struct env_cmd cmds[4];
	unsigned int done = 0;

	(void)state;
	assert_false(has_changed(e, false));
	ask_for_event(e, &cmds[0], &done);
	ask_for_event(e, &cmds[1], &done);
	for (int i = 0; i < 1000; i++)
		env_step(e);
	/* It has no timeout. */
	e->now += 100000000000ULL;
	for (int i = 0; i < 1000; i++)
		env_step(e);
	assert_int_equal(done, 0);
	resize(e, 1000);
	assert_int_equal(done, 2);
	assert_int_equal(cmds[0].status | cmds[1].status, 0);
	assert_int_equal(cmds[0].result, notice);
	assert_true(has_changed(e, true));
	assert_true(has_changed(e, false));
	assert_false(has_changed(e, false));
	resize(e, 900);
	ask_for_event(e, &cmds[2], &done);
	assert_int_equal(done, 3);
	assert_int_equal(cmds[2].result, notice);
	/* Aborted, and with its device. */
	ask_for_event(e, &cmds[2], &done);
	assert_int_equal(done, 3);
	assert_true(nvme_dev_abort(&cmds[2].icmd));
	assert_int_equal(cmds[2].status & CODE, NVME_SC_ABORT_REQ);
	ask_for_event(e, &cmds[3], &done);
	nvme_initiator_remove(e->dev);
	env_until(e, &done, 5);
	assert_int_not_equal(cmds[3].status, 0);
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smart),
		cmocka_unit_test(pages),
		cmocka_unit_test(features),
		cmocka_unit_test(events),
	};

	return unit_run(tests);
}
