// SPDX-License-Identifier: BSD-2-Clause
/*
 * Applications of NVMe devices: entries through shared memory, and what an application that writes
 * anything there can do, which is nothing to others.
 */
#include "nvme_env.h"

#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

#include "agent/nvme_app.h"
#include "loop/app.h"

enum { MIB = 1 << 20, ARENA = 1 << 20 };

struct world {
	struct env *e;
	struct nvme_apps *apps;
	struct nvme_app *na;	/* NULL: detached */
	struct app app;
	unsigned int broken;
};

static void broken(void *arg, struct nvme_app *na, const char *why)
{
	struct world *w = arg;

	assert_non_null(why);
	w->broken++;
	nvme_app_detach(na);
	w->na = NULL;
}

static void step(struct world *w)
{
	nvme_apps_pump(w->apps, w->e->now);
	env_step(w->e);
}

static int set_up_with(void **state, struct env *e)
{
	struct world *w = calloc(1, sizeof(*w));
	char err[256];

	w->e = e;
	w->apps = nvme_apps_create(broken, w);
	app_make(&w->app, ARENA, true);
	w->na = nvme_app_attach(w->apps, w->e->dev, w->app.memfd, w->app.doorbell,
				w->app.agent_event, err, sizeof(err));
	assert_non_null(w->na);
	*state = w;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, env_open(1, MIB, 9, MIB));
}

static int set_up_protected(void **state)
{
	const struct env_format f = { .host = 1 };

	return set_up_with(state, env_open_format(1, MIB, 9, MIB, &f));
}

static int tear_down(void **state)
{
	struct world *w = *state;

	if (w->na)
		nvme_app_detach(w->na);
	env_close(w->e);
	nvme_apps_destroy(w->apps);
	app_drop(&w->app);
	free(w);
	return 0;
}

static void submit(struct world *w, const struct falcon_nvme_sqe *sqe)
{
	struct falcon_sqe slot;

	memcpy(&slot, sqe, sizeof(slot));
	app_submit(&w->app, &slot);
}

/* Submit |sqe| and run until its completion. Its status. */
static uint16_t run(struct world *w, struct falcon_nvme_sqe sqe, uint32_t *result)
{
	struct falcon_nvme_cqe cqe;
	struct falcon_cqe slot;

	sqe.cid = 0x1234;
	submit(w, &sqe);
	for (int i = 0; i < 100000; i++) {
		step(w);
		if (!app_complete(&w->app, &slot))
			continue;
		memcpy(&cqe, &slot, sizeof(cqe));
		assert_int_equal(cqe.cid, 0x1234);
		assert_int_equal(cqe.sqid, sqe.qid);
		assert_int_equal(cqe.status & 1, 0);
		if (result)
			*result = cqe.result;
		return cqe.status >> 1;
	}
	fail_msg("no completion");
	return 0;
}

static void reach(struct world *w)
{
	for (int i = 0; i < 10000 && !nvme_dev_ready(w->e->dev); i++)
		step(w);
	assert_true(nvme_dev_ready(w->e->dev));
}

/* Metadata are where |mptr| says, in the arena, and nowhere else. */
static void metadata(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1, .prp1 = 4096,
				      .cdw10 = 5, .cdw14 = 5, .mptr = ARENA - 16,
				      .cdw12 = 1 | NVME_PRINFO_CHECK << 26 };
	const struct nvme_pi_tags t = { .type = 1, .reftag = 5 };
	struct world *w = *state;
	struct nvme_pi *md = (struct nvme_pi *)(w->app.arena + ARENA - 16), *back;

	reach(w);
	memset(w->app.arena + 4096, 0x77, 1024);
	for (uint32_t i = 0; i < 2; i++)
		md[i] = nvme_pi_make(&t, i, nvme_pi_crc(0, w->app.arena + 4096, 512));
	assert_int_equal(run(w, io, NULL), 0);
	io.opcode = nvme_cmd_read;
	io.mptr = 0;
	back = (struct nvme_pi *)w->app.arena;
	assert_int_equal(run(w, io, NULL), 0);
	assert_memory_equal(back, md, 2 * sizeof(*md));
	io.mptr = ARENA - 12;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.mptr = UINT64_MAX - 7;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.mptr = 2;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	/* Made by the agent: none in the application. */
	io.cdw12 |= NVME_PRINFO_ACT << 26;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.mptr = 0;
	assert_int_equal(run(w, io, NULL), 0);
}

static void commands(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1, .prp1 = 4096,
				      .cdw10 = 5, .cdw12 = 7 };
	const struct falcon_nvme_sqe id = { .opcode = nvme_admin_identify, .nsid = 1 };
	struct world *w = *state;
	struct nvme_id_ns *ns = (struct nvme_id_ns *)w->app.arena;
	uint32_t result;

	assert_int_equal(run(w, io, NULL), NVME_SC_NS_NOT_READY);
	reach(w);
	memset(w->app.arena, 0x77, 8192);
	assert_int_equal(run(w, io, NULL), 0);
	io.opcode = nvme_cmd_read;
	io.prp1 = ARENA - 4096;
	assert_int_equal(run(w, io, NULL), 0);
	assert_memory_equal(w->app.arena + ARENA - 4096, w->app.arena + 4096, 4096);
	assert_int_equal(run(w, id, NULL), 0);
	assert_int_equal(ns->nsze, MIB / 512);
	assert_int_equal(ns->lbaf[0].ds, 9);
	io.prp1 = ARENA - 4095;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.prp1 = UINT64_MAX;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.prp1 = 0;
	io.prp2 = 1;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_FIELD);
	io.prp2 = 0;
	io.nsid = 2;
	assert_int_equal(run(w, io, NULL) & 0x7ff, NVME_SC_INVALID_NS);
	/* Nothing to abort. */
	assert_int_equal(run(w, (struct falcon_nvme_sqe){ .opcode = nvme_admin_abort_cmd }, &result),
			 0);
	assert_int_equal(result, 1);
}

/* It goes while its commands are under way: they end, and its memory after them. */
static void gone(void **state)
{
	struct falcon_nvme_sqe io = { .opcode = nvme_cmd_write, .qid = 1, .nsid = 1, .cdw12 = 200 };
	struct world *w = *state;

	reach(w);
	for (int i = 0; i < 20; i++, io.cdw10 += 50)
		submit(w, &io);
	for (int i = 0; i < 5; i++)
		step(w);
	nvme_app_detach(w->na);
	w->na = NULL;
	for (int i = 0; i < 20000; i++)
		step(w);
}

/* Random entries and indexes. */
static void hostile(void **state)
{
	struct world *w = *state;
	struct falcon_cqe cqe;
	uint64_t seed = 0x2545f4914f6cdd1d;

	reach(w);
	for (int i = 0; i < 3000; i++) {
		struct falcon_nvme_sqe sqe;
		uint64_t *words = (uint64_t *)&sqe;

		for (size_t k = 0; k < sizeof(sqe) / 8; k++)
			words[k] = unit_random(&seed);
		sqe.opcode = unit_random(&seed) % 16;
		sqe.qid = unit_random(&seed) % 2;
		sqe.nsid = 1;
		sqe.flags = 0;
		sqe.prp2 = sqe.mptr = sqe.cdw3 = 0;
		sqe.prp1 = unit_random(&seed) % (2 * ARENA);
		sqe.cdw10 %= 4096;
		sqe.cdw11 %= 8;
		sqe.cdw12 &= 0x400003ff;
		submit(w, &sqe);
		for (int k = 0; k < 4; k++)
			step(w);
		/* Data change under way. */
		w->app.arena[unit_random(&seed) % ARENA] ^= 0xff;
		while (app_complete(&w->app, &cqe))
			;
	}
	assert_int_equal(w->broken, 0);
	w->app.shm->sq.tail += FALCON_SQ_ENTRIES + 1;
	for (int i = 0; i < 20000; i++)
		step(w);
	assert_int_equal(w->broken, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(commands, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hostile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(metadata, set_up_protected, tear_down),
	};

	return unit_run(tests);
}
