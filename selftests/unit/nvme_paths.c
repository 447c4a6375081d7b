// SPDX-License-Identifier: BSD-2-Clause
/* Several paths to one namespace: one is in use, and another is taken when that is of no use. */
#include "nvme_env.h"

#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

enum {
	BYTES = 1 << 18,
	SHIFT = 9,
	SHARED = 2,		/* the store that targets 0 and 1 have in common */
	MS = 1000000,		/* ns */
};

static const uint8_t guid[NVME_NGUID_BYTES] = "a namespace";

static void export(struct env *e, unsigned int target, uint32_t nsid, const uint8_t *nguid)
{
	struct nvme_ns_attr ns = { .name = "shared", .peers = "near", .store = &e->stores[SHARED].store,
				   .nsid = nsid, .block_shift = SHIFT };
	char err[160];

	if (nguid)
		memcpy(ns.nguid, nguid, sizeof(ns.nguid));
	assert_int_equal(nvme_target_add(e->far[target].target, &ns, err, sizeof(err)), 0);
}

/* A device on the namespace that target 0 has as 8 and target 1, which says |nguid|, as 9. */
static struct env *set_stage(const uint8_t *nguid, uint32_t npaths)
{
	struct env *e = env_open(1, BYTES, SHIFT, 1 << 20);
	struct nvme_dev_attr attr = *nvme_dev_attr(e->dev);
	struct nvme_target_attr *t = &attr.targets[0];
	char err[160];

	export(e, 0, 8, guid);
	export(e, 1, 9, nguid);
	strcpy(attr.name, "paths");
	t->npaths = npaths;
	t->paths[1] = t->paths[0];
	t->paths[0].nsid = 8;
	t->paths[1].nsid = 9;
	t->paths[1].ends.remote.b[3] = 1;
	assert_int_equal(nvme_initiator_add(e->near.initiator, &attr, err, sizeof(err)), 0);
	e->dev = nvme_dev_find(e->near.initiator, "paths");
	return e;
}

static struct nvme_dev_info info_of(const struct env *e)
{
	struct nvme_dev_info info;

	nvme_dev_info(e->dev, &info);
	return info;
}

/* Steps of a millisecond each, until |*done| commands have ended; at most a minute. */
static void wait_for(struct env *e, const unsigned int *done, unsigned int n)
{
	for (int i = 0; i < 60000 && *done < n; i++) {
		e->now += MS;
		for (int k = 0; k < 20; k++)
			env_step(e);
	}
	assert_int_equal(*done, n);
}

/* The status of a command that may have to wait for a path. */
static uint16_t run(struct env *e, uint8_t opcode, uint64_t lba, void *data)
{
	unsigned int done = 0;
	struct env_cmd cmd;

	env_start(e, &cmd, opcode, lba, 0, data, &done);
	wait_for(e, &done, 1);
	return cmd.status;
}

static void check_works(struct env *e, uint8_t mark)
{
	uint8_t data[512], back[512] = {};

	memset(data, mark, sizeof(data));
	assert_int_equal(run(e, nvme_cmd_write, mark, data), 0);
	assert_int_equal(run(e, nvme_cmd_read, mark, back), 0);
	assert_memory_equal(data, back, sizeof(data));
	assert_int_equal(e->stores[SHARED].bytes[mark << SHIFT], mark);
}

static uint32_t path_nsid(const struct env *e)
{
	return nvme_dev_path(e->dev, 0)->nsid;
}

/* The target goes in the middle of commands: they end by the other path, and so does what comes then. */
static void target_dies(void **state)
{
	struct env *e = set_stage(guid, 2);
	uint8_t data[8][512], back[512];
	struct env_cmd cmds[8];
	unsigned int done = 0;

	(void)state;
	check_works(e, 1);
	e->stores[SHARED].frozen = true;
	for (unsigned int i = 0; i < 8; i++) {
		memset(data[i], 0x40 + (int)i, sizeof(data[i]));
		env_start(e, &cmds[i], nvme_cmd_write, 16 + i, 0, data[i], &done);
	}
	while (!e->nios)
		env_step(e);
	env_dark(e, 0, true);
	e->stores[SHARED].frozen = false;
	wait_for(e, &done, 8);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(cmds[i].status, 0);
		assert_int_equal(run(e, nvme_cmd_read, 16 + i, back), 0);
		assert_memory_equal(data[i], back, sizeof(back));
	}
	assert_int_equal(path_nsid(e), 9);
	assert_int_equal(info_of(e).failovers, 1);
	assert_true(info_of(e).retried);
	/* It stays, also when the first one works again, until it fails itself. */
	env_dark(e, 0, false);
	check_works(e, 2);
	assert_int_equal(path_nsid(e), 9);
	env_dark(e, 1, true);
	check_works(e, 3);
	assert_int_equal(path_nsid(e), 8);
	env_close(e);
}

/* A path that never comes up is left, too; and none is given up for good. */
static void silent_at_first(void **state)
{
	struct env *e = set_stage(guid, 2);

	(void)state;
	env_dark(e, 0, true);
	check_works(e, 1);
	assert_int_equal(info_of(e).failovers, 1);
	env_dark(e, 1, true);
	for (int i = 0; i < 20000; i++) {
		e->now += MS;
		env_step(e);
	}
	assert_true(info_of(e).failovers > 2);
	env_dark(e, 0, false);
	check_works(e, 2);
	assert_int_equal(path_nsid(e), 8);
	env_close(e);
}

/* What has not the namespace's NGUID, or says none, is another disk, whatever its size. */
static void another_disk(void **state)
{
	static const uint8_t other[NVME_NGUID_BYTES] = "another one";
	const uint8_t *says[] = { other, NULL };

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct env *e = set_stage(says[i], 2);
		unsigned int done = 0;
		uint8_t data[512] = {};
		struct env_cmd cmd;

		check_works(e, 1);
		env_dark(e, 0, true);
		env_start(e, &cmd, nvme_cmd_write, 5, 0, data, &done);
		for (int k = 0; k < 20000 && !info_of(e).refused; k++) {
			e->now += MS;
			env_step(e);
		}
		assert_true(info_of(e).refused && strstr(info_of(e).reason, "nguid"));
		assert_int_equal(done, 0);
		env_dark(e, 0, false);
		wait_for(e, &done, 1);
		assert_int_equal(cmd.status, 0);
		assert_int_equal(path_nsid(e), 8);
		env_close(e);
	}
}

/* With one path a namespace may say no NGUID, but not another one than before. */
static void another_disk_later(void **state)
{
	static const uint8_t other[NVME_NGUID_BYTES] = "another one";
	struct env *e = set_stage(guid, 1);

	(void)state;
	check_works(e, 1);
	env_dark(e, 0, true);
	env_new_target(e, 0);
	export(e, 0, 8, other);
	env_dark(e, 0, false);
	for (int k = 0; k < 20000 && !info_of(e).refused; k++) {
		e->now += MS;
		env_step(e);
	}
	assert_string_equal(info_of(e).reason, "the namespace has another nguid than before");
	env_close(e);
}

static void set_inaccessible(struct env *e, unsigned int target, bool inaccessible)
{
	/* Namespace 7, then the shared one. */
	nvme_target_set_inaccessible(e->far[target].target, 1, inaccessible);
}

/* A path that is taken out of use: what is under way ends there, before anything goes the other way. */
static void switched(void **state)
{
	struct env *e = set_stage(guid, 2);
	unsigned int done = 0;
	uint8_t data[512], later[512], back[512];
	struct env_cmd old, new;

	(void)state;
	check_works(e, 1);
	memset(data, 0x11, sizeof(data));
	memset(later, 0x22, sizeof(later));
	e->stores[SHARED].frozen = true;
	env_start(e, &old, nvme_cmd_write, 40, 0, data, &done);
	while (!e->nios)
		env_step(e);
	set_inaccessible(e, 0, true);
	env_start(e, &new, nvme_cmd_write, 40, 0, later, &done);
	for (int i = 0; i < 5000; i++) {
		e->now += MS;
		env_step(e);
	}
	assert_true(!done && e->nios == 1 && path_nsid(e) == 8);
	e->stores[SHARED].frozen = false;
	wait_for(e, &done, 2);
	assert_int_equal(old.status + new.status, 0);
	assert_int_equal(run(e, nvme_cmd_read, 40, back), 0);
	assert_memory_equal(back, later, sizeof(back));
	assert_int_equal(path_nsid(e), 9);
	set_inaccessible(e, 0, false);
	set_inaccessible(e, 1, true);
	check_works(e, 2);
	assert_int_equal(path_nsid(e), 8);
	env_close(e);
}

/* No path at all: commands wait, and end when there is one, or at their timeout. */
static void nowhere(void **state)
{
	struct env *e = set_stage(guid, 1);
	unsigned int done = 0;
	uint8_t data[512] = { 7 };
	struct env_cmd cmd;

	(void)state;
	check_works(e, 1);
	set_inaccessible(e, 0, true);
	env_start(e, &cmd, nvme_cmd_write, 3, 0, data, &done);
	for (int i = 0; i < 5000; i++) {
		e->now += MS;
		env_step(e);
	}
	assert_int_equal(done, 0);
	assert_non_null(strstr(info_of(e).reason, "not accessible"));
	set_inaccessible(e, 0, false);
	wait_for(e, &done, 1);
	assert_int_equal(cmd.status, 0);
	set_inaccessible(e, 0, true);
	assert_int_equal(run(e, nvme_cmd_write, 3, data), NVME_SCT_PATH << 8 | NVME_SC_HOST_PATH_ERROR);
	env_close(e);
}

enum { ROUNDS = 400, AT_ONCE = 8, EACH = 8, BLOCKS = AT_ONCE * EACH };

/* Writes of blocks of their own, while targets die, come back, and are taken out of use, one at a time. */
static void at_random(void **state)
{
	struct env *e = set_stage(guid, 2);
	uint8_t model[BLOCKS] = {}, data[AT_ONCE][512], back[512];
	struct env_cmd cmds[AT_ONCE];

	(void)state;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		unsigned int done = 0, victim = (unsigned int)(unit_random(&e->seed) % 2);
		bool dies = unit_random(&e->seed) % 2, happens = unit_random(&e->seed) % 100 < 10;

		for (unsigned int i = 0; i < AT_ONCE; i++) {
			unsigned int block = i * EACH + (unsigned int)(unit_random(&e->seed) % EACH);

			model[block] = (uint8_t)unit_random(&e->seed);
			memset(data[i], model[block], sizeof(data[i]));
			env_start(e, &cmds[i], nvme_cmd_write, block, 0, data[i], &done);
		}
		for (unsigned int k = unit_random(&e->seed) % 50; k; k--)
			env_step(e);
		if (happens && dies)
			env_dark(e, victim, true);
		else if (happens)
			set_inaccessible(e, victim, true);
		wait_for(e, &done, AT_ONCE);
		for (unsigned int i = 0; i < AT_ONCE; i++)
			assert_int_equal(cmds[i].status, 0);
		env_dark(e, victim, false);
		set_inaccessible(e, victim, false);
	}
	for (unsigned int block = 0; block < BLOCKS; block++) {
		assert_int_equal(run(e, nvme_cmd_read, block, back), 0);
		assert_int_equal(back[0], model[block]);
		assert_int_equal(back[511], model[block]);
	}
	assert_true(info_of(e).failovers > 5);
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENV_BOTH(target_dies),	  ENV_BOTH(silent_at_first), ENV_BOTH(another_disk),
		ENV_STANDARD(another_disk_later),		     ENV_BOTH(switched),
		ENV_BOTH(nowhere),	  ENV_BOTH(at_random),
	};

	return unit_run(tests);
}
