// SPDX-License-Identifier: BSD-2-Clause
/* Initiator and targets together: what is written is read, whatever happens on the way. */
#include "nvme_env.h"

#include <endian.h>
#include <errno.h>
#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, BATCH = 24 };

static void fill(uint8_t *p, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t r = unit_random(seed);

		memcpy(p + i, &r, 8);
	}
}

/* Random commands in batches over disjoint parts of the device; |model| is what it should hold. */
static void batch(struct env *e, uint8_t *model, uint8_t shift, uint64_t blocks, bool cut)
{
	static const uint8_t ops[] = { nvme_cmd_read, nvme_cmd_write, nvme_cmd_write,
				       nvme_cmd_write_zeroes, nvme_cmd_compare, nvme_cmd_verify,
				       nvme_cmd_flush };
	struct env_cmd *cmds = calloc(BATCH, sizeof(*cmds));
	uint8_t *data[BATCH], op[BATCH];
	uint64_t lba[BATCH], part = blocks / BATCH;
	uint32_t n[BATCH];
	unsigned int done = 0;

	for (unsigned int i = 0; i < BATCH; i++) {
		uint64_t max = (128 << 10) >> shift;

		op[i] = ops[unit_random(&e->seed) % ARRAY_SIZE(ops)];
		lba[i] = i * part + unit_random(&e->seed) % part;
		n[i] = (uint32_t)(unit_random(&e->seed) % max + 1);
		if (n[i] > (i + 1) * part - lba[i])
			n[i] = (uint32_t)((i + 1) * part - lba[i]);
		data[i] = malloc((size_t)n[i] << shift);
		if (op[i] == nvme_cmd_write) {
			fill(data[i], (size_t)n[i] << shift, &e->seed);
			memcpy(model + (lba[i] << shift), data[i], (size_t)n[i] << shift);
		} else if (op[i] == nvme_cmd_write_zeroes) {
			memset(model + (lba[i] << shift), 0, (size_t)n[i] << shift);
		} else if (op[i] == nvme_cmd_compare) {
			memcpy(data[i], model + (lba[i] << shift), (size_t)n[i] << shift);
		}
		env_start(e, &cmds[i], op[i], lba[i], n[i] - 1, data[i], &done);
	}
	if (cut)
		for (int k = 0; k < 3; k++) {
			for (uint64_t s = unit_random(&e->seed) % 300; s; s--)
				env_step(e);
			env_cut(e, (unsigned int)(unit_random(&e->seed) % ENV_TARGETS));
		}
	env_until(e, &done, BATCH);
	for (unsigned int i = 0; i < BATCH; i++) {
		assert_int_equal(cmds[i].status, 0);
		if (op[i] == nvme_cmd_read)
			assert_memory_equal(data[i], model + (lba[i] << shift),
					    (size_t)n[i] << shift);
		free(data[i]);
	}
	free(cmds);
}

static void random_commands(unsigned int targets, uint8_t shift, uint32_t max_len, bool cut)
{
	struct env *e = env_open(targets, MIB, shift, 256 << 10);
	struct nvme_dev_info info;
	uint8_t *model = calloc(targets, MIB);

	e->max_len = max_len;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	nvme_dev_info(e->dev, &info);
	assert_true(info.ready);
	assert_int_equal(info.blocks << shift, (uint64_t)targets * MIB);
	for (int i = 0; i < 20; i++)
		batch(e, model, shift, info.blocks, cut);
	nvme_dev_info(e->dev, &info);
	assert_int_equal(info.retried > 0, cut);
	assert_int_equal(info.errors + info.resets, 0);
	assert_int_equal(e->stores[targets - 1].flushes > 1, true);
	free(model);
	env_close(e);
}

static void one_target(void **state)
{
	(void)state;
	random_commands(1, 9, 1400, false);
	random_commands(1, 12, 3300, false);
	random_commands(1, 9, 9000, false);
}

static void four_targets(void **state)
{
	(void)state;
	random_commands(4, 9, 1400, false);
	random_commands(4, 12, 4300, false);
}

/* Connections are lost under commands: they end well all the same, and nothing old overtakes. */
static void lost_connections(void **state)
{
	(void)state;
	random_commands(1, 9, 1400, true);
	random_commands(4, 12, 3300, true);
}

static void refused_commands(void **state)
{
	struct env *e = env_open(2, MIB, 9, MIB);
	uint64_t blocks = 2 * MIB / 512;
	uint8_t *data = calloc(1, 2 * MIB);
	struct nvme_dev_info info;

	(void)state;
	assert_int_equal(env_do(e, nvme_cmd_read, blocks - 8, 7, data), 0);
	assert_int_equal(env_do(e, nvme_cmd_read, blocks - 8, 8, data) & 0xfff, NVME_SC_LBA_RANGE);
	assert_int_equal(env_do(e, nvme_cmd_write, blocks, 0, data) & 0xfff, NVME_SC_LBA_RANGE);
	assert_int_equal(env_do(e, nvme_cmd_write, UINT64_MAX, 0, data) & 0xfff,
			 NVME_SC_LBA_RANGE);
	assert_int_equal(env_do(e, nvme_cmd_read, 0, 256, data) & 0xfff, NVME_SC_INVALID_FIELD);
	assert_int_equal(env_do(e, 0x7f, 0, 0, data) & 0xfff, NVME_SC_INVALID_OPCODE);
	assert_int_equal(env_do(e, nvme_cmd_read, 0, 1U << 26, data) & 0xfff,
			 NVME_SC_INVALID_FIELD);
	nvme_dev_info(e->dev, &info);
	assert_int_equal(info.errors, 6);
	e->stores[0].fail = -EIO;
	assert_int_equal(env_do(e, nvme_cmd_read, 0, 0, data) & 0x7ff, 0x281);
	assert_int_equal(env_do(e, nvme_cmd_write, 0, 0, data) & 0x7ff, 0x280);
	/* The other target's stripe. */
	assert_int_equal(env_do(e, nvme_cmd_read, 512, 0, data), 0);
	e->stores[0].fail = -ENOSPC;
	assert_int_equal(env_do(e, nvme_cmd_write, 0, 0, data) & 0x7ff, NVME_SC_CAP_EXCEEDED);
	e->stores[0].fail = 0;
	data[600] = 1;
	assert_int_equal(env_do(e, nvme_cmd_compare, 0, 3, data) & 0x7ff, 0x285);
	free(data);
	env_close(e);
}

static void flush_and_fua(void **state)
{
	struct env *e = env_open(2, MIB, 12, MIB);
	uint8_t *data = calloc(1, 128 << 10);
	unsigned int done = 0;
	struct env_cmd cmd;

	(void)state;
	assert_int_equal(env_do(e, nvme_cmd_write, 0, 31, data), 0);
	assert_int_equal(e->stores[0].fuas, 0);
	assert_int_equal(env_do(e, nvme_cmd_write, 0, 1U << 30, data), 0);
	assert_int_equal(e->stores[0].fuas, 1);
	assert_int_equal(e->stores[1].fuas, 0);
	/* Across the stripe boundary: both halves. */
	assert_int_equal(env_do(e, nvme_cmd_write, 60, 7 | 1U << 30, data), 0);
	assert_int_equal(e->stores[0].fuas, 2);
	assert_int_equal(e->stores[1].fuas, 1);
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	assert_int_equal(e->stores[0].flushes, 1);
	assert_int_equal(e->stores[1].flushes, 1);
	/* Both targets at the same time. */
	e->stores[0].frozen = e->stores[1].frozen = true;
	env_start(e, &cmd, nvme_cmd_flush, 0, 0, NULL, &done);
	for (int i = 0; i < 2000; i++)
		env_step(e);
	assert_int_equal(e->nios, 2);
	e->stores[0].frozen = e->stores[1].frozen = false;
	env_until(e, &done, 1);
	assert_int_equal(cmd.status, 0);
	free(data);
	env_close(e);
}

static void deallocate(void **state)
{
	struct env *e = env_open(2, MIB, 9, MIB);
	struct nvme_dsm_range r[256] = {};
	uint8_t *data = malloc(2 * MIB);
	struct env_cmd cmd;
	unsigned int done = 0;

	(void)state;
	for (uint64_t i = 0; i < 2 * MIB / 512; i += 128) {
		memset(data, 0xaa, 64 << 10);
		assert_int_equal(env_do(e, nvme_cmd_write, i, 127, data), 0);
	}
	/* Ranges of any length: over several stripes, empty, to the end. */
	r[0] = (struct nvme_dsm_range){ .slba = 100, .nlb = 1000 };
	r[1] = (struct nvme_dsm_range){ .slba = 2000, .nlb = 0 };
	r[2] = (struct nvme_dsm_range){ .slba = 4000, .nlb = 96 };
	env_start(e, &cmd, nvme_cmd_dsm, 0, 0, r, NULL);
	cmd.done = &done;
	env_until(e, &done, !cmd.ended);
	/* Without the attribute nothing happens. */
	assert_int_equal(env_do(e, nvme_cmd_read, 100, 0, data), 0);
	assert_int_equal(data[0], 0xaa);
	done = 0;
	cmd = (struct env_cmd){ .icmd = cmd.icmd, .done = &done };
	cmd.icmd.sqe.cdw10 = 2;
	cmd.icmd.sqe.cdw11 = 4;
	nvme_dev_submit(e->dev, &cmd.icmd, e->now);
	env_until(e, &done, 1);
	assert_int_equal(cmd.status, 0);
	for (uint64_t i = 0; i < 2 * MIB / 512; i++) {
		assert_int_equal(env_do(e, nvme_cmd_read, i, 0, data), 0);
		assert_int_equal(data[511], (i >= 100 && i < 1100) || i >= 4000 ? 0 : 0xaa);
	}
	r[2].nlb = 97;
	done = 0;
	cmd = (struct env_cmd){ .icmd = cmd.icmd, .done = &done };
	nvme_dev_submit(e->dev, &cmd.icmd, e->now);
	env_until(e, &done, 1);
	assert_int_equal(cmd.status & 0xfff, NVME_SC_LBA_RANGE);
	free(data);
	env_close(e);
}

/* A target that does not answer: the command ends with an error, the connection is reset. */
static void timeouts(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	uint8_t data[512] = { 1 };
	struct nvme_dev_info info;

	(void)state;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	e->stores[0].frozen = true;
	for (int i = 0; i < 2; i++) {
		struct env_cmd cmd;
		unsigned int done = 0;

		env_start(e, &cmd, nvme_cmd_write, 0, 0, data, &done);
		/* Long enough to be dialled again. */
		for (int k = 0; k < 3000; k++, e->now += i * 1000000)
			env_step(e);
		/* Nothing new begins while the store has what the lost connection left there. */
		assert_int_equal(e->nios, 1);
		assert_int_equal(done, 0);
		e->now += 31000000000ULL;
		env_until(e, &done, 1);
		assert_int_equal(cmd.status, 0x370);
	}
	nvme_dev_info(e->dev, &info);
	assert_true(info.resets >= 1);
	e->stores[0].frozen = false;
	assert_int_equal(env_do(e, nvme_cmd_read, 0, 0, data), 0);
	env_close(e);
}

/* The machine was stopped for longer than the timeout: what the target has said meanwhile is to come. */
static void was_away(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	uint8_t data[512] = { 1 };
	struct nvme_dev_info info;
	unsigned int done = 0;
	struct env_cmd cmd;

	(void)state;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	e->stores[0].frozen = true;
	env_start(e, &cmd, nvme_cmd_write, 0, 0, data, &done);
	for (int k = 0; k < 3000; k++)
		env_step(e);
	nvme_initiator_was_away(e->near.initiator, 31000000000ULL);
	e->now += 31000000000ULL;
	for (int k = 0; k < 3000; k++)
		env_step(e);
	assert_int_equal(done, 0);
	e->stores[0].frozen = false;
	env_until(e, &done, 1);
	assert_int_equal(cmd.status, 0);
	nvme_dev_info(e->dev, &info);
	assert_int_equal(info.resets, 0);
	env_close(e);
}

static void not_connected(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	struct env_cmd cmd;
	unsigned int done = 0;
	uint8_t data[512];

	(void)state;
	e->refuse = true;
	env_start(e, &cmd, nvme_cmd_read, 0, 0, data, &done);
	for (int i = 0; i < 1000; i++)
		env_step(e);
	assert_int_equal(done, 0);
	assert_true(nvme_initiator_deadline(e->near.initiator) <= cmd.icmd.deadline);
	e->now += 31000000000ULL;
	env_step(e);
	assert_int_equal(done, 1);
	assert_int_equal(cmd.status, 0x370);
	env_start(e, &cmd, nvme_cmd_read, 0, 0, data, &done);
	assert_true(nvme_dev_abort(&cmd.icmd));
	assert_int_equal(cmd.status, NVME_SC_ABORT_REQ);
	e->refuse = false;
	assert_int_equal(env_do(e, nvme_cmd_read, 0, 0, data), 0);
	env_close(e);
}

/* 1000 commands a second are 1000 commands a second, and the others' memory is not held. */
static void limits(void **state)
{
	struct env *e = env_open(1, MIB, 9, 128 << 10);
	struct nvme_ns_attr ns = { .name = "slow", .peers = "any", .store = &e->stores[1].store,
				   .nsid = 7, .block_shift = 9, .iops = 1000 };
	struct nvme_target *t = nvme_target_create(0, 128 << 10);
	struct env_cmd *cmds = calloc(100, sizeof(*cmds));
	unsigned int done = 0;
	uint8_t data[512];
	char err[160];
	uint64_t start;

	(void)state;
	nvme_target_set_host(t, NULL, NULL);
	assert_int_equal(nvme_target_add(t, &ns, err, sizeof(err)), 0);
	assert_true(nvme_target_add(t, &ns, err, sizeof(err)) < 0);
	nvme_target_destroy(e->far[0].target);
	e->far[0].target = t;
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	start = e->now;
	for (int i = 0; i < 100; i++)
		env_start(e, &cmds[i], nvme_cmd_read, 0, 0, data, &done);
	env_until(e, &done, 100);
	assert_in_range(e->now - start, 80000000, 110000000);
	free(cmds);
	env_close(e);
}

/* What commands held at most stays known after they have ended. */
static void memory(void **state)
{
	struct env *e = env_open(1, MIB, 9, 256 << 10);
	struct nvme_target_stats s;
	struct env_cmd cmds[3];
	unsigned int done = 0;
	uint8_t *data = calloc(1, 64 << 10);

	(void)state;
	nvme_target_stats(e->far[0].target, &s);
	assert_int_equal(s.memory_most, 0);
	assert_int_equal(env_do(e, nvme_cmd_write, 0, 127, data), 0);
	e->stores[0].frozen = true;
	for (int i = 0; i < 3; i++)
		env_start(e, &cmds[i], nvme_cmd_read, 0, 0, data, &done);
	for (int i = 0; i < 1000; i++)
		env_step(e);
	nvme_target_stats(e->far[0].target, &s);
	assert_int_equal(s.memory_used, 3 * 4096);
	assert_int_equal(s.memory_most, 64 << 10);
	e->stores[0].frozen = false;
	env_until(e, &done, 3);
	nvme_target_stats(e->far[0].target, &s);
	assert_int_equal(s.memory_used, 0);
	assert_int_equal(s.memory_most, 64 << 10);
	free(data);
	env_close(e);
}

/* Who is named nowhere sees nothing. */
static void strangers(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	struct ulp_request req = { .peer = "near2", .cid = 9 };
	struct ulp_data reply;
	char err[160];

	(void)state;
	for (int i = 0; i < 1000; i++)
		env_step(e);
	req.data = e->links[0].dial.data;
	assert_int_equal(nvme_ulp_ops.accept(&e->far[0], &req, &reply, err, sizeof(err)), -EPERM);
	req.peer = "";
	assert_int_equal(nvme_ulp_ops.accept(&e->far[0], &req, &reply, err, sizeof(err)), -EPERM);
	req.peer = "near";
	req.data.bytes[4] = 2;
	assert_int_equal(nvme_ulp_ops.accept(&e->far[0], &req, &reply, err, sizeof(err)), -EPROTO);
	env_close(e);
}

/* Why a device cannot be used is to be seen all the time, also while its connection is dialled once more. */
static void stays_refused(void **state)
{
	struct env *e = env_open(1, MIB, 9, MIB);
	struct nvme_dev_attr attr = *nvme_dev_attr(e->dev);
	struct nvme_dev_info info = {};
	struct nvme_dev *dev;
	bool seen = false;
	char err[160];

	(void)state;
	strcpy(attr.name, "absent");
	attr.targets[0].paths[0].nsid = 9;
	assert_int_equal(nvme_initiator_add(e->near.initiator, &attr, err, sizeof(err)), 0);
	dev = nvme_dev_find(e->near.initiator, "absent");
	while (info.resets < 3) {
		env_step(e);
		nvme_dev_info(dev, &info);
		seen |= info.resets > 0;
		assert_int_equal(info.refused, seen);
		if (seen)
			assert_non_null(strstr(info.reason, "refuses namespace 9"));
		else
			assert_string_equal(info.reason, "being dialled");
	}
	nvme_initiator_remove(dev);
	assert_int_equal(env_do(e, nvme_cmd_flush, 0, 0, NULL), 0);
	nvme_dev_info(e->dev, &info);
	assert_string_equal(info.reason, "");
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENV_BOTH(one_target),
		ENV_BOTH(four_targets),
		ENV_BOTH(lost_connections),
		ENV_BOTH(refused_commands),
		ENV_BOTH(stays_refused),
		ENV_BOTH(flush_and_fua),
		ENV_BOTH(deallocate),
		ENV_BOTH(timeouts),
		ENV_BOTH(was_away),
		ENV_BOTH(not_connected),
		ENV_BOTH(limits),
		ENV_BOTH(memory),
		ENV_BOTH(strangers),
	};

	return unit_run(tests);
}
